//! Permutations of counts and of signs, which keep the connected pairs.

use super::{Edges, LABEL, STRETCH, Stage, below, words};
use crate::data::{DataError, ProgressFn, report};

/// Permutes the counts among the connections of each sign. Fails if `watch` cancels.
pub(super) fn shuffle_counts(edges: &mut Edges, seed: u64, watch: &ProgressFn) -> Result<(), DataError> {
    for (part, sign) in [(0, 1), (1, -1)] {
        let own = |at: &u32| edges.counts[*at as usize].signum() == sign;
        let places: Vec<u32> = (0..edges.counts.len() as u32).filter(own).collect();
        let counts = &mut edges.counts;
        each_exchange(places.len(), seed, (Stage::Counts, part), watch, |a, b| {
            counts.swap(places[a] as usize, places[b] as usize);
        })?;
    }
    Ok(())
}

/// Permutes the signs among the neurons that have one. All outgoing counts of a neuron are negated if its new sign is the other
/// one. Fails if `watch` cancels.
pub(super) fn shuffle_signs(edges: &mut Edges, seed: u64, watch: &ProgressFn) -> Result<(), DataError> {
    let sign = |pre: u32| edges.counts[edges.range(pre)].iter().map(|count| i64::from(*count)).sum::<i64>().signum();
    let old: Vec<(u32, i64)> = (0..edges.n()).map(|pre| (pre, sign(pre))).filter(|(_, sign)| *sign != 0).collect();
    let mut new: Vec<i64> = old.iter().map(|(_, sign)| *sign).collect();
    each_exchange(new.len(), seed, (Stage::Signs, 0), watch, |a, b| new.swap(a, b))?;
    for ((pre, _), _) in old.iter().zip(new).filter(|((_, old), new)| old != new) {
        let row = edges.range(*pre);
        // A file may hold the lowest integer, which has no opposite.
        edges.counts[row].iter_mut().for_each(|count| *count = count.saturating_neg());
    }
    Ok(())
}

/// Calls `exchange` with each exchange of a random permutation of `0..n` (Fisher & Yates). Fails if `watch` cancels.
fn each_exchange(
    n: usize,
    seed: u64,
    (stage, part): (Stage, u32),
    watch: &ProgressFn,
    mut exchange: impl FnMut(usize, usize),
) -> Result<(), DataError> {
    for last in (1..n).rev() {
        if last.is_multiple_of(STRETCH) {
            report(watch, LABEL, 0.05 + 0.9 * (1.0 - last as f32 / n as f32))?;
        }
        exchange(last, below(words(seed, stage, part, last as u32), last as u64 + 1) as usize);
    }
    Ok(())
}
