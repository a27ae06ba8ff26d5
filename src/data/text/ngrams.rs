//! Computes reference losses of n-gram models with n = 1, 2 and 3.
//!
//! ```text
//! p₁(c)     = (n(c) + 1) / (N + V)
//! p₂(c|b)   = (n(bc) + α₂ p₁(c)) / (n(b) + α₂)
//! p₃(c|ab)  = (n(abc) + α₃ p₂(c|b)) / (n(ab) + α₃)
//! ```
//!
//! Counts are of the training part. Each concentration α is the power of two, among a few, with the highest leave-one-out
//! likelihood of the training part: a token's own count is removed from all n before the token is predicted (MacKay and Peto
//! 1995 give the Dirichlet form). The losses are over the held-out part.

use crate::data::{DataError, ProgressFn, report};
use std::collections::HashMap;

/// Held-out losses, nats per token.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Yardsticks {
    /// Loss of equally likely tokens.
    pub uniform: f64,
    /// Loss with the frequencies of single tokens.
    pub unigram: f64,
    /// Loss with the frequencies of pairs.
    pub bigram: f64,
    /// Loss with the frequencies of triples.
    pub trigram: f64,
}

/// Maximum number of training tokens that are counted; the last tokens are used.
const MAX_TRAIN: usize = 1 << 22;
/// Maximum number of held-out tokens that are predicted; the first tokens are used.
const MAX_HELD_OUT: usize = 1 << 20;
/// Maximum number of training tokens for fitting concentrations.
const MAX_FIT: usize = 1 << 15;
/// Maximum number of entries in a dense table of counts.
const MAX_DENSE: u64 = 1 << 25;

/// Counts by key.
enum Counts {
    Dense(Vec<u32>),
    Sparse(HashMap<u64, u32>),
}

impl Counts {
    fn new(keys: u64) -> Self {
        if keys <= MAX_DENSE { Self::Dense(vec![0; keys as usize]) } else { Self::Sparse(HashMap::new()) }
    }

    fn add(&mut self, key: u64) {
        match self {
            Self::Dense(counts) => counts[key as usize] += 1,
            Self::Sparse(counts) => *counts.entry(key).or_default() += 1,
        }
    }

    fn get(&self, key: u64) -> f64 {
        match self {
            Self::Dense(counts) => counts[key as usize].into(),
            Self::Sparse(counts) => counts.get(&key).copied().unwrap_or_default().into(),
        }
    }
}

/// Counts of tokens, pairs and triples. Its methods return probabilities; their argument `own` is 1 to exclude the predicted
/// token's own count, otherwise 0.
struct Model {
    n_vocab: f64,
    /// Number of distinct tokens that occur, which is the base of the keys.
    base: u64,
    n: f64,
    counts: [Counts; 3],
    concentrations: [f64; 2],
}

impl Model {
    fn p1(&self, c: u64, own: f64) -> f64 {
        (self.counts[0].get(c) - own + 1.0) / (self.n - own + self.n_vocab)
    }

    fn p2(&self, b: u64, c: u64, own: f64) -> f64 {
        let alpha = self.concentrations[0];
        let pair = self.counts[1].get(b * self.base + c) - own;
        (pair + alpha * self.p1(c, own)) / (self.counts[0].get(b) - own + alpha)
    }

    fn p3(&self, a: u64, b: u64, c: u64, own: f64) -> f64 {
        let (alpha, pair) = (self.concentrations[1], a * self.base + b);
        let triple = self.counts[2].get(pair * self.base + c) - own;
        (triple + alpha * self.p2(b, c, own)) / (self.counts[1].get(pair) - own + alpha)
    }
}

/// Computes the losses on the held-out part, which must follow the training part. Fails if `watch` cancels.
pub fn yardsticks(
    train: &[u32],
    held_out: &[u32],
    n_vocab: usize,
    watch: &ProgressFn,
) -> Result<Yardsticks, DataError> {
    let train = &train[train.len().saturating_sub(MAX_TRAIN)..];
    let held_out = &held_out[..held_out.len().min(MAX_HELD_OUT)];
    // The tokens that occur get consecutive numbers.
    let mut ids = vec![u32::MAX; n_vocab];
    let mut base = 0;
    let all: Vec<u64> = train
        .iter()
        .chain(held_out)
        .map(|token| {
            let id = &mut ids[*token as usize];
            if *id == u32::MAX {
                (*id, base) = (base, base + 1);
            }
            u64::from(*id)
        })
        .collect();
    let base = u64::from(base);
    let mut model = Model {
        n_vocab: n_vocab as f64,
        base,
        n: train.len() as f64,
        counts: [1, 2, 3].map(|order| Counts::new(base.saturating_pow(order))),
        concentrations: [1.0; 2],
    };
    for (i, token) in all[..train.len()].iter().enumerate() {
        if i.is_multiple_of(1 << 17) {
            report(watch, "counting tokens", i as f32 / train.len() as f32)?;
        }
        model.counts[0].add(*token);
        if i >= 1 {
            model.counts[1].add(all[i - 1] * base + token);
        }
        if i >= 2 {
            model.counts[2].add((all[i - 2] * base + all[i - 1]) * base + token);
        }
    }
    fit(&mut model, &all[..train.len()], watch)?;
    report(watch, "counting tokens", 1.0)?;
    let places = train.len()..all.len();
    let n = places.len().max(1) as f64;
    let mean = |p: &dyn Fn(usize) -> f64| places.clone().map(|i| -p(i).ln()).sum::<f64>() / n;
    Ok(Yardsticks {
        uniform: (n_vocab as f64).ln(),
        unigram: mean(&|i| model.p1(all[i], 0.0)),
        bigram: mean(&|i| model.p2(all[i - 1], all[i], 0.0)),
        trigram: mean(&|i| model.p3(all[i - 2], all[i - 1], all[i], 0.0)),
    })
}

/// Chooses the concentrations that maximise the leave-one-out likelihood. Fails if `watch` cancels.
fn fit(model: &mut Model, train: &[u64], watch: &ProgressFn) -> Result<(), DataError> {
    let stride = train.len().div_ceil(MAX_FIT).max(1);
    for order in [0, 1] {
        let mut best = (f64::NEG_INFINITY, 1.0);
        for power in -2..=10 {
            report(watch, "fitting the yardsticks", 0.5)?;
            let alpha = 2_f64.powi(power);
            model.concentrations[order] = alpha;
            let log_p = |i: usize| match order {
                0 => model.p2(train[i - 1], train[i], 1.0).ln(),
                _ => model.p3(train[i - 2], train[i - 1], train[i], 1.0).ln(),
            };
            let likelihood: f64 = (2..train.len()).step_by(stride).map(log_p).sum();
            if likelihood > best.0 {
                best = (likelihood, alpha);
            }
        }
        model.concentrations[order] = best.1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::rng::{Draw, Purpose};

    /// In this chain, a token follows from the two tokens before it except in one of eight cases. Two ranges of tokens test
    /// tables and maps.
    #[test]
    fn a_chain_of_order_two_needs_triples() {
        for (n_vocab, spread) in [(16_u32, 1), (1 << 16, 4000)] {
            let mut tokens = vec![0_u32, 1];
            for step in 2..60_000_u64 {
                let word = Draw { seed: 1, purpose: Purpose::Start, step, lane: 0 }.words()[0];
                let (a, b) = (tokens[tokens.len() - 2] / spread, tokens[tokens.len() - 1] / spread);
                let next = if word < 1 << 29 { word % 16 } else { (3 * a + 5 * b + 1) % 16 };
                tokens.push(next * spread);
            }
            let (train, held_out) = tokens.split_at(54_000);
            let y = yardsticks(train, held_out, n_vocab as usize, &|_, _| true).unwrap();
            let p = 1.0 / 128.0;
            let entropy = -(0.875 + p) * (0.875_f64 + p).ln() - 15.0 * p * f64::ln(p);
            assert!((y.trigram - entropy).abs() < 0.04, "{y:?}, entropy {entropy}");
            assert!(y.bigram > 2.0 && y.unigram > 2.7 && y.uniform > 2.7, "{y:?}");
        }
    }
}
