//! Coupling between several phase fields of the same nuclei.
//!
//! ```text
//! S_j^a = Σ_b G_ab Σ_k J_jk e^{i(φ_k^b - φ_j^a)}
//! ```
//!
//! With [`SentPhase::Double`](super::SentPhase), the transmitted phases are doubled: e^{i(2φ_k - φ_j)} as in the original model,
//! in the frame of the receiving nucleus.
//!
//! Fitness and entropy belong to nuclei, so J is the same for all fields. The first field determines the barrier, and the phase
//! of a nucleus in views that show one phase. No row of G sums to more than 1, so |S_j^a| ≤ d_j, and order parameters stay
//! between 0 and 1.

use super::{
    choices::{Dynamics, Mixing},
    params::{Coupling, Params},
    random::{RandomAddress, RandomStream},
};
use crate::sim::SimError;

/// Maximum number of phase fields.
pub const MAX_FIELDS: usize = 8;

/// Dimensions of the embedding vector of a field, for [`Mixing::Embedded`].
const EMBEDDING_DIM: usize = 16;

/// Returns the number of phase fields, at least one.
pub fn fields(params: &Params) -> usize {
    (params.coupling.fields as usize).clamp(1, MAX_FIELDS)
}

/// Returns the symmetric matrix G, `[F × F]` row by row.
pub fn matrix(coupling: &Coupling, fields: usize, seed: u64) -> Vec<f64> {
    match coupling.mixing {
        Mixing::Even => even(fields, coupling.between),
        Mixing::Embedded => embedded(fields, coupling.sharpness, seed),
    }
}

fn even(fields: usize, between: f64) -> Vec<f64> {
    let others = between / (fields - 1).max(1) as f64;
    let own = if fields == 1 { 1.0 } else { 1.0 - between };
    (0..fields * fields).map(|i| if i / fields == i % fields { own } else { others }).collect()
}

/// Computes the softmax over b of ((cos_ab + 1) / 2) / τ of embedding vectors drawn from the seed, symmetrised and divided by
/// the largest row sum.
fn embedded(fields: usize, sharpness: f64, seed: u64) -> Vec<f64> {
    let draw = RandomAddress { seed, stream: RandomStream::FieldPosition, generation: 0 };
    let mut vectors = vec![[0.0; EMBEDDING_DIM]; fields];
    for (field, vector) in vectors.iter_mut().enumerate() {
        draw.each_normal(field as u32, EMBEDDING_DIM, |d, x| vector[d] = x);
    }
    let dot = |a: &[f64; EMBEDDING_DIM], b: &[f64; EMBEDDING_DIM]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let similarity = |a: usize, b: usize| {
        let cos =
            dot(&vectors[a], &vectors[b]) / (dot(&vectors[a], &vectors[a]) * dot(&vectors[b], &vectors[b])).sqrt();
        // The largest value is 1 (a = b). It is subtracted, so that exponents are at most 0.
        ((0.5 * (cos + 1.0) - 1.0) / sharpness).exp()
    };
    let total: Vec<f64> = (0..fields).map(|a| (0..fields).map(|b| similarity(a, b)).sum()).collect();
    let mut g = vec![0.0; fields * fields];
    for a in 0..fields {
        for b in 0..fields {
            g[a * fields + b] = 0.5 * (similarity(a, b) / total[a] + similarity(b, a) / total[b]);
        }
    }
    let largest = g.chunks(fields).map(|row| row.iter().sum::<f64>()).fold(0.0, f64::max);
    g.iter_mut().for_each(|g| *g /= largest);
    g
}

/// Returns an error if the phase dynamics do not support several phase fields.
pub fn check(params: &Params) -> Result<(), SimError> {
    let is_map = matches!(params.phases.dynamics, Dynamics::QkmCovariant | Dynamics::QkmCompat);
    if fields(params) > 1 && is_map {
        return Err(SimError::Input(
            "the quantum-Kuramoto maps support one phase field only: set phases.dynamics to Kuramoto, or coupling.fields to 1"
                .to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_field_coupling_sum_to_at_most_one() {
        for fields in 1..=MAX_FIELDS {
            let mut coupling = Coupling { between: 0.3, ..Coupling::default() };
            for mixing in [Mixing::Even, Mixing::Embedded] {
                coupling.mixing = mixing;
                let g = matrix(&coupling, fields, 7);
                for a in 0..fields {
                    let row = &g[a * fields..][..fields];
                    assert!(row.iter().all(|g| *g >= 0.0) && row.iter().sum::<f64>() <= 1.0 + 1e-12, "{mixing:?}");
                    assert!((0..fields).all(|b| g[a * fields + b] == g[b * fields + a]), "{mixing:?} is symmetric");
                }
            }
        }
        assert_eq!(even(1, 0.9), [1.0]);
        assert_eq!(even(3, 0.5), [0.5, 0.25, 0.25, 0.25, 0.5, 0.25, 0.25, 0.25, 0.5]);
    }

    #[test]
    fn low_temperature_decouples_fields_and_high_temperature_couples_them_equally() {
        let sharp = embedded(4, 0.01, 3);
        assert!(sharp.chunks(4).enumerate().all(|(a, row)| row[a] > 0.99));
        let blunt = embedded(4, 1e3, 3);
        assert!(blunt.iter().all(|g| (g - 0.25).abs() < 1e-3));
    }
}
