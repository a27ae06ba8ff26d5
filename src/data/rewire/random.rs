//! Random network with the numbers of neurons and connections of another one (Erdős & Rényi 1959).

use super::{Edges, LABEL, STRETCH, Stage, words};
use crate::{
    data::{DataError, ProgressFn, messages, report},
    num::permutation::Permutation,
};
use rayon::prelude::*;
use std::path::Path;

/// Draws different pairs of different neurons: the images of a permutation of all pairs. Connection `k` has the count that
/// connection `k` of `edges` has. Fails if there are fewer pairs than connections, or `watch` cancels.
pub(super) fn draw(edges: Edges, seed: u64, watch: &ProgressFn) -> Result<Edges, DataError> {
    let n = u64::from(edges.n());
    let (n_pairs, n_connections) = (n * n.saturating_sub(1), edges.counts.len() as u64);
    if n_connections > n_pairs {
        let [connections, pairs] = [n_connections, n_pairs].map(messages::group_digits);
        let what = format!("{connections} connections do not fit the {pairs} pairs of different neurons");
        return Err(DataError::format(Path::new("null wiring"), what));
    }
    let pairs = Permutation::new(words(seed, Stage::Pairs, 0, 0), n_pairs);
    let mut drawn: Vec<(u64, i32)> = Vec::with_capacity(edges.counts.len());
    for first in (0..edges.counts.len()).step_by(16 * STRETCH) {
        report(watch, LABEL, 0.05 + 0.6 * first as f32 / edges.counts.len() as f32)?;
        let end = edges.counts.len().min(first + 16 * STRETCH);
        let image = |at: usize| (pairs.image(at as u64), edges.counts[at]);
        drawn.par_extend((first..end).into_par_iter().map(image));
    }
    report(watch, LABEL, 0.7)?;
    drawn.par_sort_unstable();
    let mut rows = vec![0_u32; edges.rows.len()];
    let mut targets = edges.targets;
    for (target, (pair, _)) in targets.iter_mut().zip(&drawn) {
        let (pre, other) = (pair / (n - 1), pair % (n - 1));
        rows[pre as usize + 1] += 1;
        // Targets are numbered without the presynaptic neuron.
        *target = (other + u64::from(other >= pre)) as u32;
    }
    (1..rows.len()).for_each(|i| rows[i] += rows[i - 1]);
    Ok(Edges { rows, targets, counts: drawn.into_iter().map(|(_, count)| count).collect() })
}
