//! Backward pass of the router, and the contribution of experts.
//!
//! With `g` the gates of a token and `dg` their gradients:
//!
//! ```text
//! daux/dg_e = A count_e / N²
//! dlogit_e = g_e (dg_e - Σ g dg)             0 for experts that are not selected
//! dz = dlogit,  dcos_e = 0.02 dlogit_e
//! dp = Σ_e dcos_e (embedding_e - cos_e p / |p|) / |p|
//! dx += dz W_r + dp W_p,  dW_r += dzᵀ x,  dW_p += dpᵀ x
//! ```

use super::{
    ExpertsError, FEATURES, GENES, Phenotype, Router, Routing, resize,
    router::{RouterWeights, check},
};
use crate::nn::{
    gemm::{Epilogue, Gemm, cpu::gemm},
    lengths,
    real::Real,
};
use rayon::prelude::*;

/// Number of tokens per parallel task.
const TASK: usize = 64;

/// Buffers to which the gradients of the router's weights are added.
#[derive(Debug)]
pub struct RouterGradients<'a, R> {
    /// Gradient of `W_r`, `[E, C]`.
    pub router: &'a mut [R],
    /// Gradient of `W_p`, `[24, C]`.
    pub probe: &'a mut [R],
    /// Gradient of the genomes, `[E, 4]`; `None` if it is not computed. Genes 2 and 3 have no gradient.
    pub genome: Option<&'a mut [R]>,
}

/// Workspace of the backward pass, reusable for any layer.
#[derive(Clone, Debug, Default)]
pub struct RouterWork<R> {
    logits: Vec<R>,
    features: Vec<R>,
}

/// Adds the gradients of input and weights. `dgates` (`[N, k]`) excludes the auxiliary loss, whose weight is `aux_weight`.
/// Fails if a length does not fit.
pub fn backward<R: Real + Default>(
    op: &Router,
    x: &[R],
    weights: RouterWeights<'_, R>,
    routing: &Routing<R>,
    (dgates, aux_weight): (&[R], f64),
    work: &mut RouterWork<R>,
    dx: &mut [R],
    gradients: RouterGradients<'_, R>,
) -> Result<(), ExpertsError> {
    let (tokens, experts, width) = (routing.tokens, op.experts, op.width);
    check(op, tokens, x.len(), &weights)?;
    lengths::check([
        ("the gradient of gates", &[tokens, op.top_k], dgates.len()),
        ("the gradient of the input of a router", &[tokens, width], dx.len()),
        ("the gradient of the weight of a router", &[experts, width], gradients.router.len()),
        ("the gradient of the probe of a router", &[FEATURES, width], gradients.probe.len()),
    ])?;
    resize(&mut work.logits, tokens * experts)?;
    resize(&mut work.features, tokens * FEATURES)?;
    differentiate(op, routing, dgates, aux_weight, work);
    if let Some(genome) = gradients.genome {
        lengths::check([("the gradient of genomes", &[experts, GENES], genome.len())])?;
        add_gene_gradients(op, weights.genome, &work.logits, genome);
    }
    for (d, weight, n) in [(&work.logits, weights.router, experts), (&work.features, weights.probe, FEATURES)] {
        gemm(&Gemm::new(tokens, width, n).scaled(R::one(), R::one()), d, weight, dx, Epilogue::None)?;
    }
    for (d, out, n) in [(&work.logits, gradients.router, experts), (&work.features, gradients.probe, FEATURES)] {
        let op = Gemm::new(n, width, tokens).transposed_a().scaled(R::one(), R::one());
        gemm(&op, d, x, out, Epilogue::None)?;
    }
    Ok(())
}

/// Computes the gradients of logits and probe features.
fn differentiate<R: Real>(op: &Router, routing: &Routing<R>, dgates: &[R], aux_weight: f64, work: &mut RouterWork<R>) {
    let (e, k, tokens) = (op.experts, op.top_k, routing.tokens as f64);
    let aux = |e: u32| aux_weight * routing.n_alive as f64 * f64::from(routing.counts[e as usize]) / (tokens * tokens);
    let tasks = work.logits.par_chunks_mut(TASK * e).zip(work.features.par_chunks_mut(TASK * FEATURES));
    tasks.enumerate().for_each(|(task, (dlogits, dfeatures))| {
        dlogits.fill(R::zero());
        let rows = dlogits.chunks_exact_mut(e).zip(dfeatures.chunks_exact_mut(FEATURES));
        for (token, (dlogits, dfeatures)) in (task * TASK..).zip(rows) {
            let slots = token * k..(token + 1) * k;
            let (gates, selected) = (&routing.gates[slots.clone()], &routing.indices[slots.clone()]);
            let dgate = |slot: usize| dgates[token * k + slot].f64() + aux(selected[slot]);
            let mean: f64 = (0..k).map(|slot| gates[slot].f64() * dgate(slot)).sum();
            let inverse = routing.inverse_norms[token].f64();
            // `along` is the component of the gradient of p along p; `across` is the gradient without this component.
            let (mut across, mut along) = ([0.0; FEATURES], 0.0);
            for (slot, expert) in selected.iter().map(|e| *e as usize).enumerate() {
                let dlogit = gates[slot].f64() * (dgate(slot) - mean);
                dlogits[expert] = R::of(dlogit);
                let dcos = op.align * dlogit;
                along += dcos * routing.cosines[token * e + expert].f64();
                let embedding = &routing.embeddings[expert * FEATURES..][..FEATURES];
                across.iter_mut().zip(embedding).for_each(|(d, x)| *d += dcos * x.f64());
            }
            let features = &routing.features[token * FEATURES..][..FEATURES];
            for ((d, across), p) in dfeatures.iter_mut().zip(across).zip(features) {
                *d = R::of((across - along * p.f64() * inverse) * inverse);
            }
        }
    });
}

/// Adds the gradients of the genes; the gene bias `gene (a_e - a_f)` is equal for all tokens.
fn add_gene_gradients<R: Real>(op: &Router, genome: &[R], dlogits: &[R], dgenome: &mut [R]) {
    for (e, (genes, d)) in genome.chunks_exact(GENES).zip(dgenome.chunks_exact_mut(GENES)).enumerate() {
        let sum: f64 = dlogits.iter().skip(e).step_by(op.experts).map(|d| d.f64()).sum();
        let [fatigue, energy] = Phenotype::slopes(genes);
        d[0] += R::of(-op.gene * fatigue * sum);
        d[1] += R::of(op.gene * energy * sum);
    }
}

/// Adds the contribution of every expert, `-Σ_t gate · dL/dgate`, to `sums` (`[E]`): the first-order rise of the loss if
/// the expert is removed. `dgates` excludes the auxiliary loss.
pub fn contribution<R: Real>(routing: &Routing<R>, dgates: &[R], sums: &mut [f64]) {
    for (e, sum) in sums.iter_mut().enumerate().take(routing.counts.len()) {
        let of = |a: &u32| routing.gates[*a as usize].f64() * dgates[*a as usize].f64();
        *sum -= routing.group(e).iter().map(of).sum::<f64>();
    }
}
