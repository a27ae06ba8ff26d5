//! Scores, choices and moves of the earlier model. Its thresholds never let a balanced layer split, and a later stage of a call
//! overwrites what an earlier one made.

use super::{linear::SynapticLinear, mixture::ReferenceMixture};
use neuropil::{
    kinds::synaptic::{experts::FEATURES, life::score},
    nn::real::Real,
};

/// Factor of averages per step.
const DECAY: f64 = 0.99;

/// Averages of a layer, one entry per expert.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReferenceScore {
    /// Average of the mean gate over all tokens. No loss enters.
    pub contribution: Vec<f64>,
    /// Average of selections per token.
    pub frequency: Vec<f64>,
    /// `1 - cos(mean input of its tokens, mean input of all)`, 1 of an expert without a token.
    pub specialization: Vec<f64>,
    /// Contribution per energy.
    pub efficiency: Vec<f64>,
    /// Average of `1 / (|change of the contribution| + 1e-6)`: largest for an expert that is never used.
    pub resilience: Vec<f64>,
}

impl ReferenceScore {
    /// Of that many experts.
    pub fn new(experts: usize) -> Self {
        let zeros = vec![0.0; experts];
        Self {
            contribution: zeros.clone(),
            frequency: zeros.clone(),
            specialization: zeros.clone(),
            efficiency: zeros.clone(),
            resilience: zeros,
        }
    }

    /// Adds a step: selected experts and gates `[N, k]`, inputs `[N, C]`, energy `[E]`.
    pub fn update<R: Real>(&mut self, indices: &[u32], gates: &[R], top_k: usize, x: &[R], energy: &[R]) {
        let tokens = indices.len() / top_k.max(1);
        let mean_of_all = mean_input(x, 0..tokens, tokens);
        for (e, energy) in energy.iter().enumerate().take(self.contribution.len()) {
            let selected: Vec<usize> = (0..indices.len()).filter(|slot| indices[*slot] as usize == e).collect();
            let gate: f64 = selected.iter().map(|slot| gates[*slot].f64()).sum();
            let before = self.contribution[e];
            self.contribution[e] = DECAY * before + (1.0 - DECAY) * gate / tokens as f64;
            self.frequency[e] = DECAY * self.frequency[e] + (1.0 - DECAY) * selected.len() as f64 / tokens as f64;
            self.efficiency[e] = self.contribution[e] / (energy.f64() + 1e-6);
            let change = (self.contribution[e] - before).abs();
            self.resilience[e] = DECAY * self.resilience[e] + (1.0 - DECAY) / (change + 1e-6);
            let mean = mean_input(x, selected.iter().map(|slot| slot / top_k), tokens);
            self.specialization[e] = 1.0 - cosine(&mean, &mean_of_all);
        }
    }

    /// Inequality of the frequencies.
    pub fn gini(&self) -> f64 {
        score::gini(&self.frequency)
    }
}

/// Mean of some of the inputs `[N, C]`; zeros of none.
fn mean_input<R: Real>(x: &[R], of: impl IntoIterator<Item = usize>, tokens: usize) -> Vec<f64> {
    let width = x.len() / tokens.max(1);
    let (mut sum, mut n) = (vec![0.0; width], 0.0_f64);
    for token in of {
        sum.iter_mut().zip(&x[token * width..]).for_each(|(sum, x)| *sum += x.f64());
        n += 1.0;
    }
    sum.iter_mut().for_each(|sum| *sum /= n.max(1.0));
    sum
}

/// Cosine of two vectors; 0 where one has no direction.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a).sqrt().max(score::SHORTEST) * dot(b, b).sqrt().max(score::SHORTEST))
}

/// Thresholds and numbers of moves per call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// Cosine above which weak experts merge.
    pub similar: f64,
    /// Health up to which they do.
    pub weak: f64,
    /// Health from which an expert splits.
    pub healthy: f64,
    /// Health up to which an expert is reset.
    pub dead: f64,
    /// Merges, splits and resets per call.
    pub per_call: usize,
}

impl Default for Selection {
    fn default() -> Self {
        Self { similar: 0.85, weak: 0.25, healthy: 0.8, dead: 0.02, per_call: 1 }
    }
}

/// `clip(fatigue) clip(energy)`.
pub fn health(fatigue: &[f32], energy: &[f32]) -> Vec<f64> {
    let clip = |x: f32| f64::from(x).clamp(0.0, 1.0);
    fatigue.iter().zip(energy).map(|(f, e)| clip(*f) * clip(*e)).collect()
}

impl Selection {
    /// Pairs to merge, the most similar first, each expert at most once; the lower slot first.
    pub fn pairs(&self, health: &[f64], embeddings: &[f32]) -> Vec<[usize; 2]> {
        let wide: Vec<f64> = embeddings.iter().map(|x| f64::from(*x)).collect();
        let width = wide.len() / health.len().max(1);
        let row = |e: usize| &wide[e * width..(e + 1) * width];
        let weak: Vec<usize> = (0..health.len()).filter(|e| health[*e] <= self.weak).collect();
        let pairs = weak.iter().enumerate().flat_map(|(i, a)| weak[i + 1..].iter().map(move |b| [*a, *b]));
        let mut similar: Vec<(f64, [usize; 2])> =
            pairs.map(|pair| (cosine(row(pair[0]), row(pair[1])), pair)).collect();
        similar.retain(|(cosine, _)| *cosine > self.similar);
        similar.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut chosen: Vec<[usize; 2]> = vec![];
        for (_, pair) in similar {
            let is_used = chosen.iter().flatten().any(|e| pair.contains(e));
            if !is_used && chosen.len() < self.per_call {
                chosen.push(pair);
            }
        }
        chosen
    }

    /// Experts to split, the healthiest first.
    pub fn sources(&self, health: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..health.len()).filter(|e| health[*e] >= self.healthy).collect();
        order.sort_by(|a, b| health[*b].total_cmp(&health[*a]));
        order.truncate(self.per_call);
        order
    }

    /// The weakest slots, into which sources split.
    pub fn weakest(&self, health: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..health.len()).collect();
        order.sort_by(|a, b| health[*a].total_cmp(&health[*b]));
        order.truncate(self.per_call);
        order
    }

    /// Experts to reset, the weakest first.
    pub fn dead(&self, health: &[f64]) -> Vec<usize> {
        let mut weakest = Self { per_call: health.len(), ..*self }.weakest(health);
        weakest.retain(|e| health[*e] <= self.dead);
        weakest.truncate(self.per_call);
        weakest
    }
}

/// Part of the winner of a merge: its share of the utilisation of both.
pub fn merge_alpha(winner: f64, loser: f64) -> f64 {
    if winner + loser > 1e-6 { winner / (winner + loser) } else { 0.5 }
}

fn mix<R: Real>(to: &mut [R], from: &[R], alpha: f64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = R::of(alpha * to.f64() + (1.0 - alpha) * from.f64()));
}

fn merge_linear<R: Real>(winner: &mut SynapticLinear<R>, loser: &SynapticLinear<R>, alpha: f64) {
    let (w, l) = (&mut winner.unit, &loser.unit);
    for (to, from) in [
        (&mut winner.w_slow, &loser.w_slow),
        (&mut winner.w_fast, &loser.w_fast),
        (&mut winner.bias, &loser.bias),
        (&mut w.u, &l.u),
        (&mut w.v, &l.v),
        (&mut w.fast, &l.fast),
        (&mut w.slow, &l.slow),
    ] {
        mix(to, from, alpha);
    }
    for (to, from) in [(&mut w.camkii, &l.camkii), (&mut w.pp1, &l.pp1), (&mut w.bdnf, &l.bdnf)] {
        mix(to, from, 0.9);
    }
}

/// A copy without traces and fast gains.
fn clone_linear<R: Real>(from: &SynapticLinear<R>) -> SynapticLinear<R> {
    let mut copy = from.clone();
    for zero in [&mut copy.unit.fast, &mut copy.u_trace, &mut copy.v_trace] {
        zero.fill(R::zero());
    }
    for half in [&mut copy.unit.u, &mut copy.unit.v] {
        half.iter_mut().for_each(|x| *x *= R::of(0.5));
    }
    copy
}

/// Copies an expert to another slot without noise, with its row of the router and its embedding. The genome stays.
pub fn split<R: Real>(layer: &mut ReferenceMixture<R>, parent: usize, child: usize) {
    let copy = layer.experts[parent].each_ref().map(clone_linear);
    layer.experts[child] = copy;
    let width = layer.router.len() / layer.op.experts;
    layer.router.copy_within(parent * width..(parent + 1) * width, child * width);
    layer.state.embeddings.copy_within(parent * FEATURES..(parent + 1) * FEATURES, child * FEATURES);
    (layer.state.fatigue[child], layer.state.energy[child]) = (0.0, 1.0);
}

/// Mixes the loser into the winner, then copies the winner to the slot of the loser, without noise.
pub fn merge<R: Real>(layer: &mut ReferenceMixture<R>, winner: usize, loser: usize) {
    let alpha = merge_alpha(layer.state.fatigue[winner].into(), layer.state.fatigue[loser].into());
    let of_loser = layer.experts[loser].clone();
    for (to, from) in layer.experts[winner].iter_mut().zip(&of_loser) {
        merge_linear(to, from, alpha);
    }
    let width = layer.router.len() / layer.op.experts;
    let row = layer.router[loser * width..(loser + 1) * width].to_vec();
    mix(&mut layer.router[winner * width..(winner + 1) * width], &row, alpha);
    split(layer, winner, loser);
}
