//! Forward pass of the router: logits, top-k, gates, groups. Matrices are multiplied by `nn::gemm`; other values are
//! computed in f64 and rounded once.

use super::{ExpertsError, FEATURES, GENES, Phenotype, Router, RouterState, resize};
use crate::nn::{
    gemm::{Epilogue, Gemm, cpu::gemm},
    lengths,
    real::{Real, wide},
};
use rayon::prelude::*;

/// Number of tokens per parallel task.
const TASK: usize = 64;
/// Smallest norm of probe features that have a direction.
const SHORTEST: f64 = 1e-8;

/// Routing of a batch, with the intermediates of its backward pass. Buffers are reused from batch to batch.
#[derive(Clone, Debug, Default)]
pub struct Routing<R> {
    /// Number of tokens, N.
    pub tokens: usize,
    /// Number of living experts, A.
    pub n_alive: usize,
    /// Selected experts, the one with the largest logit first, `[N, k]`.
    pub indices: Vec<u32>,
    /// Gates of the selected experts, whose sum is 1, `[N, k]`.
    pub gates: Vec<R>,
    /// Number of tokens per expert, `[E]`.
    pub counts: Vec<u32>,
    /// First row of each expert and the number of rows, `[E + 1]`.
    pub offsets: Vec<u32>,
    /// Assignment (`token · k + slot`) of each row, `[N k]`.
    pub order: Vec<u32>,
    /// Row of each assignment, `[N k]`.
    pub ranks: Vec<u32>,
    /// Router terms `W_r x`, `[N, E]`.
    pub z: Vec<R>,
    /// Cosines of probe features with embeddings, `[N, E]`.
    pub cosines: Vec<R>,
    /// Logits without balance, `[N, E]`; -∞ for empty slots.
    pub logits: Vec<R>,
    /// Probe features `W_p x`, `[N, 24]`.
    pub features: Vec<R>,
    /// Reciprocal norms of the probe features, `[N]`.
    pub inverse_norms: Vec<R>,
    /// Router embeddings that were used, `[E, 24]`.
    pub embeddings: Vec<R>,
    /// Terms of the logits that are equal for all tokens.
    pub terms: SharedTerms<R>,
}

/// Terms of the logits that are equal for all tokens, scaled by their factors.
#[derive(Clone, Debug, Default)]
pub struct SharedTerms<R> {
    /// Gene bias, `[E]`.
    pub gene: Vec<R>,
    /// Energy terms, positive, `[E]`.
    pub energy: Vec<R>,
    /// Fatigue terms, negative, `[E]`.
    pub fatigue: Vec<R>,
    /// Balance terms, which only selection uses, `[E]`.
    pub balance: Vec<R>,
}

impl<R: Real + Default> Routing<R> {
    /// Resizes the buffers for a batch of `tokens` tokens. Fails if memory is exhausted.
    fn resize(&mut self, op: &Router, tokens: usize) -> Result<(), ExpertsError> {
        let (rows, all) = (op.rows(tokens), tokens.saturating_mul(op.experts));
        self.tokens = tokens;
        for buffer in [&mut self.indices, &mut self.order, &mut self.ranks] {
            resize(buffer, rows)?;
        }
        resize(&mut self.counts, op.experts)?;
        resize(&mut self.offsets, op.experts + 1)?;
        for buffer in [&mut self.z, &mut self.cosines, &mut self.logits] {
            resize(buffer, all)?;
        }
        resize(&mut self.gates, rows)?;
        resize(&mut self.features, tokens.saturating_mul(FEATURES))?;
        resize(&mut self.inverse_norms, tokens)
    }

    fn share(&mut self, op: &Router, genome: &[R], state: &RouterState) {
        self.n_alive = state.n_alive();
        let fatigue_scale = self.n_alive as f64 / op.top_k as f64;
        let of = |values: &[f32], factor: f64| values.iter().map(|x| R::of(factor * f64::from(*x))).collect();
        let rates = genome.chunks_exact(GENES).map(Phenotype::of);
        self.terms = SharedTerms {
            gene: rates.map(|p| R::of(op.gene * (p.energy_rate - p.fatigue_rate))).collect(),
            energy: of(&state.energy, op.metabolic_bias),
            fatigue: of(&state.fatigue, -op.metabolic_bias * fatigue_scale),
            balance: of(&state.balance, 1.0),
        };
        self.embeddings = of(&state.embeddings, 1.0);
    }
}

impl<R> Routing<R> {
    /// Returns the assignments of an expert in the order of tokens.
    pub fn group(&self, expert: usize) -> &[u32] {
        &self.order[self.rows(expert)]
    }

    /// Returns the range of the rows of an expert.
    pub fn rows(&self, expert: usize) -> std::ops::Range<usize> {
        self.offsets[expert] as usize..self.offsets[expert + 1] as usize
    }

    /// Returns the memory held by the buffers in bytes.
    pub const fn n_bytes(&self) -> u64 {
        let words = self.indices.len() + self.order.len() + self.ranks.len() + self.counts.len() + self.offsets.len();
        let reals = self.gates.len()
            + self.z.len()
            + self.cosines.len()
            + self.logits.len()
            + self.features.len()
            + self.inverse_norms.len()
            + self.embeddings.len();
        (words * 4 + reals * size_of::<R>()) as u64
    }
}

/// Weights of a router.
#[derive(Clone, Copy, Debug)]
pub struct RouterWeights<'a, R> {
    /// Router matrix `W_r`, `[E, C]`.
    pub router: &'a [R],
    /// Probe matrix `W_p`, `[24, C]`.
    pub probe: &'a [R],
    /// Genomes of experts, `[E, 4]`.
    pub genome: &'a [R],
}

/// Checks the lengths of input and weights. Fails for the first length that does not fit.
pub(super) fn check<R>(
    op: &Router,
    tokens: usize,
    x: usize,
    weights: &RouterWeights<'_, R>,
) -> Result<(), ExpertsError> {
    Ok(lengths::check([
        ("the input of a router", &[tokens, op.width], x),
        ("the weight of a router", &[op.experts, op.width], weights.router.len()),
        ("the probe of a router", &[FEATURES, op.width], weights.probe.len()),
        ("the genomes of a router", &[op.experts, GENES], weights.genome.len()),
    ])?)
}

/// Routes the tokens x `[N, C]` without changing the state. Fails if a length does not fit, memory is exhausted, or tokens
/// need more experts than are alive.
pub fn forward<R: Real + Default>(
    op: &Router,
    x: &[R],
    weights: RouterWeights<'_, R>,
    state: &RouterState,
    out: &mut Routing<R>,
) -> Result<(), ExpertsError> {
    let (tokens, experts) = (x.len() / op.width.max(1), op.experts);
    check(op, tokens, x.len(), &weights)?;
    lengths::check([
        ("the embeddings of a router", &[experts, FEATURES], state.embeddings.len()),
        ("the fatigue of experts", &[experts], state.fatigue.len()),
        ("the energy of experts", &[experts], state.energy.len()),
        ("the balance of experts", &[experts], state.balance.len()),
        ("the living experts", &[experts], state.alive.len()),
    ])?;
    if state.n_alive() < op.top_k {
        return Err(ExpertsError::TooFewAlive { top_k: op.top_k, alive: state.n_alive() });
    }
    out.resize(op, tokens)?;
    out.share(op, weights.genome, state);
    let multiply = |a: &[R], b: &[R], (n, k): (usize, usize), c: &mut [R]| {
        gemm(&Gemm::new(tokens, n, k).transposed_b(), a, b, c, Epilogue::None)
    };
    multiply(x, weights.router, (experts, op.width), &mut out.z)?;
    multiply(x, weights.probe, (FEATURES, op.width), &mut out.features)?;
    multiply(&out.features, &out.embeddings, (experts, FEATURES), &mut out.cosines)?;
    decide(op, state, out);
    sort(op, out);
    Ok(())
}

/// Computes the logits, selected experts and gates of every token.
fn decide<R: Real + Default>(op: &Router, state: &RouterState, out: &mut Routing<R>) {
    let (e, k) = (op.experts, op.top_k);
    let SharedTerms { gene, energy, fatigue, balance } = &out.terms;
    let shared: Vec<f64> = (0..e).map(|e| gene[e].f64() + energy[e].f64() + fatigue[e].f64()).collect();
    let tasks = out.logits.par_chunks_mut(TASK * e).zip(out.cosines.par_chunks_mut(TASK * e));
    let tasks = tasks.zip(out.z.par_chunks(TASK * e)).zip(out.features.par_chunks(TASK * FEATURES));
    let tasks = tasks.zip(out.inverse_norms.par_chunks_mut(TASK));
    let tasks = tasks.zip(out.indices.par_chunks_mut(TASK * k)).zip(out.gates.par_chunks_mut(TASK * k));
    tasks.for_each(|((((((logits, cosines), z), features), norms), indices), gates)| {
        for t in 0..norms.len() {
            let features = &features[t * FEATURES..][..FEATURES];
            let length = features.iter().map(|p| p.f64() * p.f64()).sum::<f64>().sqrt();
            norms[t] = R::of(1.0 / length.max(SHORTEST));
            let (logits, cosines, z) = (&mut logits[t * e..][..e], &mut cosines[t * e..][..e], &z[t * e..][..e]);
            let inverse = norms[t].f64();
            wide(|| {
                for (((logit, cosine), z), shared) in logits.iter_mut().zip(cosines).zip(z).zip(&shared) {
                    let aligned = cosine.f64() * inverse;
                    *cosine = R::of(aligned);
                    *logit = R::of(z.f64() + op.align * aligned + shared);
                }
            });
            for (logit, _) in logits.iter_mut().zip(&state.alive).filter(|(_, alive)| **alive == 0) {
                *logit = R::neg_infinity();
            }
            select(logits, balance, &state.alive, &mut indices[t * k..][..k]);
            softmax(logits, &indices[t * k..][..k], &mut gates[t * k..][..k]);
        }
    });
}

/// Selects the living experts with the largest sums of logit and balance, in descending order. Among equal sums, the lower index
/// comes first.
fn select<R: Real>(logits: &[R], balance: &[R], alive: &[u8], selected: &mut [u32]) {
    let score = |e: u32| logits[e as usize] + balance[e as usize];
    let mut len = 0;
    for e in (0..logits.len() as u32).filter(|e| alive[*e as usize] != 0) {
        let own = score(e);
        if len < selected.len() {
            len += 1;
        } else if !selected.last().is_some_and(|last| own > score(*last)) {
            continue;
        }
        let mut slot = len - 1;
        while slot > 0 && own > score(selected[slot - 1]) {
            selected[slot] = selected[slot - 1];
            slot -= 1;
        }
        selected[slot] = e;
    }
}

/// Computes the softmax of the selected logits.
fn softmax<R: Real>(logits: &[R], selected: &[u32], gates: &mut [R]) {
    let of = |e: &u32| logits[*e as usize].f64();
    let largest = selected.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = selected.iter().map(|e| R::exp_wide(of(e) - largest)).sum();
    gates.iter_mut().zip(selected).for_each(|(gate, e)| *gate = R::of(R::exp_wide(of(e) - largest) / sum));
}

/// Sorts assignments by expert, then by token.
fn sort<R>(op: &Router, out: &mut Routing<R>) {
    out.counts.fill(0);
    out.indices.iter().for_each(|e| out.counts[*e as usize] += 1);
    let mut next = 0;
    for (offset, count) in out.offsets.iter_mut().zip(&out.counts) {
        *offset = next;
        next += count;
    }
    out.offsets[op.experts] = next;
    let mut free = out.offsets.clone();
    for (assignment, e) in out.indices.iter().enumerate() {
        let row = &mut free[*e as usize];
        out.order[*row as usize] = assignment as u32;
        out.ranks[assignment] = *row;
        *row += 1;
    }
}

/// Computes the auxiliary loss `A Σ_e mean(gate_e) count_e / N` of a batch. The loss is k if the load is balanced, larger
/// otherwise, and 0 without tokens.
pub fn aux_loss<R: Real>(routing: &Routing<R>) -> f64 {
    let tokens = routing.tokens.max(1) as f64;
    let of = |e: usize| {
        let gates: f64 = routing.group(e).iter().map(|a| routing.gates[*a as usize].f64()).sum();
        gates / tokens * f64::from(routing.counts[e]) / tokens
    };
    routing.n_alive as f64 * (0..routing.counts.len()).map(of).sum::<f64>()
}
