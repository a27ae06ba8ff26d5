//! Update of router embeddings after a step: unit vectors, one per expert.
//!
//! For living experts, `f_e` is the gate-weighted mean of the normalised probe features of the tokens of e, and `P_e` is
//! the mean gate of e over all tokens or over the tokens of e ([`PullOver`]). All embeddings on the right are those before
//! the step:
//!
//! ```text
//! emb_e += pull P_e (f_e - emb_e) - push Σ_j≠e max(cos(e, j), 0) emb_j,   then normalised
//! ```
//!
//! Similar embeddings thus mean that experts serve similar tokens.

use super::{FEATURES, LoadStatistics, PullOver, Router, RouterState};

/// Smallest norm of a vector that is normalised.
const SHORTEST: f64 = 1e-8;

/// Normalises a vector; a vector of norm 0 becomes the first unit vector.
pub fn normalize(x: &mut [f32]) {
    let norm = x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if norm > SHORTEST {
        x.iter_mut().for_each(|x| *x = (f64::from(*x) / norm) as f32);
    } else if let Some((first, rest)) = x.split_first_mut() {
        *first = 1.0;
        rest.fill(0.0);
    }
}

/// Updates the embeddings of living experts.
pub fn update(op: &Router, statistics: &LoadStatistics, state: &mut RouterState) {
    let before: Vec<[f64; FEATURES]> =
        (0..op.experts).map(|e| std::array::from_fn(|c| f64::from(state.embedding(e)[c]))).collect();
    let is_alive = |e: &usize| state.alive[*e] != 0;
    let alive: Vec<usize> = (0..op.experts).filter(is_alive).collect();
    for e in alive.iter().copied() {
        let mut after = before[e];
        let gates = statistics.gates[e];
        let mean_gate = match op.pull_over {
            PullOver::AllTokens => statistics.mean_gate(e),
            PullOver::OwnTokens => gates / statistics.counts[e].max(1) as f64,
        };
        if gates > 0.0 {
            let served = &statistics.features[e * FEATURES..][..FEATURES];
            after.iter_mut().zip(served).for_each(|(x, sum)| *x += op.pull * mean_gate * (sum / gates - *x));
        }
        for other in alive.iter().filter(|j| **j != e).map(|j| &before[*j]) {
            let push = op.push * dot(&before[e], other).max(0.0);
            after.iter_mut().zip(other).for_each(|(x, other)| *x -= push * other);
        }
        store(&mut state.embeddings[e * FEATURES..][..FEATURES], &after);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Normalises `x` in f64 and rounds once to f32. A vector without direction leaves `out` unchanged.
fn store(out: &mut [f32], x: &[f64]) {
    let norm = dot(x, x).sqrt();
    if norm > SHORTEST {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = (x / norm) as f32);
    }
}
