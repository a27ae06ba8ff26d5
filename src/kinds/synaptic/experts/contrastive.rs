//! Update of router embeddings after a step: unit vectors, one per expert.
//!
//! The recommended rule, for living experts, with `f_e` the gate-weighted mean of the normalised probe features of the
//! tokens of e, `P_e` its mean gate over all tokens or over its own ([`PullOver`]), and all embeddings on the right from
//! before the step:
//!
//! ```text
//! emb_e += pull P_e (f_e - emb_e) - push Σ_j≠e max(cos(e, j), 0) emb_j,   then normalised
//! ```
//!
//! Similar embeddings then mean that experts serve similar tokens. The reference rule is different: its pull is always 0,
//! and its push attracts:
//!
//! ```text
//! S = emb embᵀ,  G = diag(P) (S - 1) - 0.1 (1 - diag(P)) (S + 0.3)  less its mean over all entries (elementwise products)
//! emb -= rate G emb,   then normalised
//! ```

use super::{FEATURES, LoadStatistics, PullOver, Router, RouterState, Rules};

/// Rate of the reference rule in the earlier model.
pub const REFERENCE_RATE: f64 = 1e-4;
/// Factor of the push in the reference rule.
pub const REFERENCE_PUSH: f64 = 0.1;
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
    match op.rules {
        Rules::Recommended => recommended(op, statistics, state),
        Rules::Reference => {
            let gates: Vec<f64> = (0..op.experts).map(|e| statistics.mean_gate(e)).collect();
            reference(&mut state.embeddings, &gates, REFERENCE_RATE, REFERENCE_PUSH);
        }
    }
}

fn recommended(op: &Router, statistics: &LoadStatistics, state: &mut RouterState) {
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

/// Applies the reference rule to unit vectors `[E, 24]`, with mean gates `[E]`.
pub fn reference(embeddings: &mut [f32], mean_gates: &[f64], rate: f64, push: f64) {
    let n = mean_gates.len();
    embeddings.chunks_exact_mut(FEATURES).for_each(normalize);
    let before: Vec<f64> = embeddings.iter().map(|x| f64::from(*x)).collect();
    let row = |e: usize| &before[e * FEATURES..][..FEATURES];
    let mut g = vec![0.0; n * n];
    for (at, g) in g.iter_mut().enumerate() {
        let (i, j) = (at / n, at % n);
        let (s, p) = (dot(row(i), row(j)), if i == j { mean_gates[i] } else { 0.0 });
        *g = p * (s - 1.0) - push * (1.0 - p) * (s + 0.3);
    }
    let mean = g.iter().sum::<f64>() / (n * n) as f64;
    for (i, out) in embeddings.chunks_exact_mut(FEATURES).enumerate() {
        let mut after: [f64; FEATURES] = std::array::from_fn(|c| row(i)[c]);
        for j in 0..n {
            let step = rate * (g[i * n + j] - mean);
            after.iter_mut().zip(row(j)).for_each(|(x, other)| *x -= step * other);
        }
        store(out, &after);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Normalises in f64 and rounds once to f32.
fn store(out: &mut [f32], x: &[f64]) {
    let norm = dot(x, x).sqrt();
    if norm > SHORTEST {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = (x / norm) as f32);
    }
}
