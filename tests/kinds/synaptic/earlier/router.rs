//! The router of the earlier model: that of the synaptic kind with other terms and updates.
//!
//! | | |
//! | --- | --- |
//! | logit | the fatigue term is `- m fatigue_e`, without the fair load; twice 0.02 of the mean input is added, for all experts alike |
//! | fatigue | `(1 - a_f) fatigue + a_f u`, with u the share of the tokens, of at least one token |
//! | energy | `(1 - a_e) energy + a_e (1 - u)` |
//! | embeddings | [`move_embeddings`], whose pull is always 0 and whose push attracts |

use neuropil::{
    kinds::synaptic::experts::{
        ExpertsError, FEATURES, GENES, LoadStatistics, Phenotype, Router, RouterState, Routing, contrastive,
        router::{self, RouterWeights},
    },
    nn::real::Real,
};

/// Rate of the rule of embeddings.
pub const EMBEDDING_RATE: f64 = 1e-4;
/// Factor of its push.
pub const EMBEDDING_PUSH: f64 = 0.1;
/// Factor of the mean input in the logits.
const MEAN_INPUT: f64 = 0.04;

/// Routes tokens x `[N, C]`.
pub fn forward<R: Real + Default>(
    op: &Router,
    x: &[R],
    weights: RouterWeights<'_, R>,
    state: &RouterState,
    out: &mut Routing<R>,
) -> Result<(), ExpertsError> {
    // The kind multiplies fatigue by A / k.
    let scale = op.top_k as f64 / state.n_alive().max(1) as f64;
    let fatigue = state.fatigue.iter().map(|x| (scale * f64::from(*x)) as f32).collect();
    router::forward(op, x, weights, &RouterState { fatigue, ..state.clone() }, out)?;
    for (logits, x) in out.logits.chunks_exact_mut(op.experts).zip(x.chunks_exact(op.width)) {
        let mean = MEAN_INPUT * x.iter().map(|x| x.f64()).sum::<f64>() / op.width as f64;
        logits.iter_mut().for_each(|logit| *logit += R::of(mean));
    }
    Ok(())
}

/// Updates fatigue, energy and embeddings from the statistics of a call.
pub fn update<R: Real>(op: &Router, statistics: &LoadStatistics, genome: &[R], state: &mut RouterState) {
    let one_token = 1.0 / statistics.tokens.max(1) as f64;
    for (e, genes) in genome.chunks_exact(GENES).enumerate() {
        let (rates, load) = (Phenotype::of(genes), statistics.load(e).max(one_token));
        average(&mut state.fatigue[e], rates.fatigue_rate, load);
        average(&mut state.energy[e], rates.energy_rate, 1.0 - load);
    }
    let gates: Vec<f64> = (0..op.experts).map(|e| statistics.mean_gate(e)).collect();
    move_embeddings(&mut state.embeddings, &gates, EMBEDDING_RATE, EMBEDDING_PUSH);
}

/// Moves a value in 0..=1 to a target.
fn average(value: &mut f32, rate: f64, target: f64) {
    *value = (f64::from(*value) * (1.0 - rate) + rate * target).clamp(0.0, 1.0) as f32;
}

/// Moves unit vectors `[E, 24]`, with mean gates P `[E]`:
///
/// ```text
/// S = emb embᵀ,  G = diag(P) (S - 1) - push (1 - diag(P)) (S + 0.3)  less its mean over all entries (elementwise products)
/// emb -= rate G emb,   then normalised
/// ```
pub fn move_embeddings(embeddings: &mut [f32], mean_gates: &[f64], rate: f64, push: f64) {
    let n = mean_gates.len();
    embeddings.chunks_exact_mut(FEATURES).for_each(contrastive::normalize);
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
        let norm = dot(&after, &after).sqrt();
        out.iter_mut().zip(after).for_each(|(out, x)| *out = (x / norm) as f32);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
