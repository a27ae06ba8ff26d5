//! Routing decisions and gates for display, as plain data.

use super::{Router, Routing};
use crate::nn::real::Real;

/// Terms of the logit of one expert for one token.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decision {
    /// Router term, `W_r x`.
    pub z: f32,
    /// Gene bias term.
    pub gene: f32,
    /// Alignment term, from the router embedding.
    pub align: f32,
    /// Energy term, positive.
    pub energy: f32,
    /// Fatigue term, negative.
    pub fatigue: f32,
    /// Balance term, which only selection uses.
    pub balance: f32,
    /// Sum of the terms without balance; -∞ for an empty slot.
    pub logit: f32,
    /// Gate; 0 unless selected.
    pub gate: f32,
    /// Whether the expert was selected.
    pub selected: bool,
}

/// Names of the terms of [`Decision::terms`], as labels.
pub const TERM_NAMES: [&str; 6] = ["Router", "Genes", "Alignment", "Energy", "Fatigue", "Balance"];

impl Decision {
    /// Returns the terms in the order of [`TERM_NAMES`].
    pub const fn terms(&self) -> [f32; 6] {
        [self.z, self.gene, self.align, self.energy, self.fatigue, self.balance]
    }
}

/// Returns the decision for a token, one entry per expert; empty if the token is beyond the batch.
pub fn decisions<R: Real>(op: &Router, routing: &Routing<R>, token: usize) -> Vec<Decision> {
    if token >= routing.tokens {
        return Vec::new();
    }
    let float = |x: R| x.f64() as f32;
    let of = |e: usize| {
        let at = token * op.experts + e;
        Decision {
            z: float(routing.z[at]),
            gene: float(routing.terms.gene[e]),
            align: (op.align * routing.cosines[at].f64()) as f32,
            energy: float(routing.terms.energy[e]),
            fatigue: float(routing.terms.fatigue[e]),
            balance: float(routing.terms.balance[e]),
            logit: float(routing.logits[at]),
            ..Decision::default()
        }
    };
    let mut all: Vec<Decision> = (0..op.experts).map(of).collect();
    for slot in token * op.top_k..(token + 1) * op.top_k {
        let one = &mut all[routing.indices[slot] as usize];
        (one.gate, one.selected) = (float(routing.gates[slot]), true);
    }
    all
}

/// Returns the gates of the last `tokens` tokens of a batch by expert, `[E, n]` with `n <= tokens`; 0 where an expert was
/// not selected.
pub fn gate_raster<R: Real>(op: &Router, routing: &Routing<R>, tokens: usize) -> Vec<f32> {
    let n = tokens.min(routing.tokens);
    let first = routing.tokens - n;
    let mut raster = vec![0.0; op.experts * n];
    for column in 0..n {
        let token = first + column;
        for slot in token * op.top_k..(token + 1) * op.top_k {
            raster[routing.indices[slot] as usize * n + column] = routing.gates[slot].f64() as f32;
        }
    }
    raster
}
