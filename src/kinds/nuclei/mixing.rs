//! Several fields of phases on the same nuclei: how much each field acts on each other.
//!
//! ```text
//! S_j^a = Σ_b G_ab Σ_k J_jk e^{i(φ_k^b - φ_j^a)}
//! ```
//!
//! [`Sent::Double`](super::Sent) has the same with doubled phases: the origin's e^{i(2φ_k - φ_j)}, which it added without
//! turning it back, seen from the nucleus.
//!
//! Fitness and entropy belong to nuclei, not to fields, so J is the same for all of them. The first field is the one that
//! barriers look at, and that fuses and is shown where a nucleus has one phase. No row of G sums to more than 1, so
//! |S_j^a| ≤ d_j, and orders stay between 0 and 1.

use super::{
    Coupling, Dynamics, Mixing, Params,
    draw::{Draw, Stream},
};
use crate::sim::SimError;

/// Most fields of phases.
pub const MOST: usize = 8;

/// Numbers that say where a field lies, for [`Mixing::Embedded`].
const PLACE: usize = 16;

/// Fields of phases, at least one.
pub fn fields(params: &Params) -> usize {
    (params.coupling.fields as usize).clamp(1, MOST)
}

/// G, `[F × F]` row by row; symmetric.
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

/// softmax over b of ((cos_ab + 1) / 2) / τ for places drawn from the seed, made symmetric, over the largest sum of a row.
fn embedded(fields: usize, sharpness: f64, seed: u64) -> Vec<f64> {
    let draw = Draw { seed, stream: Stream::FieldPlace, generation: 0 };
    let mut places = vec![[0.0; PLACE]; fields];
    for (field, place) in places.iter_mut().enumerate() {
        draw.each_normal(field as u32, PLACE, |d, x| place[d] = x);
    }
    let dot = |a: &[f64; PLACE], b: &[f64; PLACE]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let near = |a: usize, b: usize| {
        let cos = dot(&places[a], &places[b]) / (dot(&places[a], &places[a]) * dot(&places[b], &places[b])).sqrt();
        // A place is nearest to itself: what is subtracted keeps exponents below 0.
        ((0.5 * (cos + 1.0) - 1.0) / sharpness).exp()
    };
    let total: Vec<f64> = (0..fields).map(|a| (0..fields).map(|b| near(a, b)).sum()).collect();
    let mut g = vec![0.0; fields * fields];
    for a in 0..fields {
        for b in 0..fields {
            g[a * fields + b] = 0.5 * (near(a, b) / total[a] + near(b, a) / total[b]);
        }
    }
    let most = g.chunks(fields).map(|row| row.iter().sum::<f64>()).fold(0.0, f64::max);
    g.iter_mut().for_each(|g| *g /= most);
    g
}

/// Refuses what several fields cannot do.
pub fn check(params: &Params) -> Result<(), SimError> {
    let is_map = matches!(params.phases.dynamics, Dynamics::QkmCovariant | Dynamics::QkmCompat);
    if fields(params) > 1 && is_map {
        return Err(SimError::Input(
            "the quantum-Kuramoto maps move one field of phases: set phases.dynamics to Kuramoto, or coupling.fields to 1"
                .to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_pulled_by_more_than_the_whole() {
        for fields in 1..=MOST {
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
    fn sharp_places_leave_fields_alone_and_blunt_ones_make_them_one() {
        let sharp = embedded(4, 0.01, 3);
        assert!(sharp.chunks(4).enumerate().all(|(a, row)| row[a] > 0.99));
        let blunt = embedded(4, 1e3, 3);
        assert!(blunt.iter().all(|g| (g - 0.25).abs() < 1e-3));
    }
}
