//! Small models and batches.

use crate::settings;
use neuropil::{
    gpu::Pass,
    kinds::transformer::{
        Params,
        backend::{Batch, Hyper, Lengths, MatrixUpdate, StepInput},
        cpu::Trainer,
        model::{Config, Layout, init},
    },
    nn::real::Real,
    num::rng::{Draw, Purpose},
};
use std::sync::Arc;

/// Default parameters with these set, as for `--set`.
pub fn params(set: &[&str]) -> Params {
    let mut params = Params::default();
    settings::set(&mut params, set);
    params
}

/// A model of 2 layers with these parameters set besides.
pub fn config(set: &[&str], vocab: usize) -> Config {
    let small = ["model.layers=2", "model.heads=3", "model.width=48", "model.context=24"];
    Config::new(&params(&[&small, set].concat()), vocab).expect("a model")
}

/// A model with drawn weights; biases and norms too, so that all of them matter.
pub fn trainer<R: Real + Default>(config: &Config) -> Trainer<R> {
    let layout = Arc::new(Layout::new(config).expect("a model"));
    let mut trainer = Trainer::<R>::new(config, &layout, 5).expect("memory");
    let weights = init(config, &layout, 3);
    for (to, from) in trainer.network.weights.iter_mut().zip(weights.values()) {
        *to = R::of(f64::from(*from) * 4.0);
    }
    for view in layout.map.views().filter(|view| view.shape.len() == 1) {
        for (i, x) in trainer.network.weights[view.range()].iter_mut().enumerate() {
            let centre = if view.name.ends_with("weight") { 1.0 } else { 0.0 };
            *x = R::of(centre + 0.3 * (i as f64 * 1.7 + view.start as f64).sin());
        }
    }
    trainer
}

/// Sequences with drawn tokens.
#[derive(Clone, Debug)]
pub struct Text {
    pub sequences: usize,
    pub seq_len: usize,
    pub tokens: Vec<u32>,
    pub targets: Vec<i32>,
}

impl Text {
    pub fn new(sequences: usize, seq_len: usize, vocab: usize, seed: u64) -> Self {
        let word =
            |i: usize| Draw { seed, purpose: Purpose::Choice, step: 0, lane: i as u32 }.words()[0] as usize % vocab;
        let n = sequences * seq_len;
        let tokens = (0..n).map(|i| word(i) as u32).collect();
        Self { sequences, seq_len, tokens, targets: (0..n).map(|i| word(n + i) as i32).collect() }
    }

    pub fn batch(&self) -> Batch<'_> {
        self.with(Lengths::Full)
    }

    pub fn with<'a>(&'a self, lengths: Lengths<'a>) -> Batch<'a> {
        let Self { sequences, seq_len, tokens, targets } = self;
        Batch { sequences: *sequences, seq_len: *seq_len, tokens, targets, lengths }
    }

    /// These sequences only.
    pub fn part(&self, sequences: std::ops::Range<usize>) -> Self {
        let range = sequences.start * self.seq_len..sequences.end * self.seq_len;
        Self {
            sequences: sequences.len(),
            seq_len: self.seq_len,
            tokens: self.tokens[range.clone()].to_vec(),
            targets: self.targets[range].to_vec(),
        }
    }
}

pub const HYPER: Hyper = Hyper {
    learning_rate: 3e-3,
    beta1: 0.9,
    beta2: 0.95,
    eps: 1e-8,
    weight_decay: 0.1,
    clip: 1.0,
    dropout: 0.0,
    attention_dropout: 0.0,
    matrices: MatrixUpdate::AdamW,
};

/// The mean loss of batches, with the gradient left in the trainer.
pub fn gradients<R: Real + Default>(trainer: &mut Trainer<R>, batches: &[Batch<'_>], dropout: Option<f32>) -> f64 {
    gradients_with(trainer, batches, [dropout.unwrap_or(0.0), 0.0])
}

/// The same with dropout of elements and of attention probabilities.
pub fn gradients_with<R: Real + Default>(trainer: &mut Trainer<R>, batches: &[Batch<'_>], dropout: [f32; 2]) -> f64 {
    trainer.gradients(batches, 7, dropout, &[], &mut Pass::default()).expect("it fits").expect("not stopped")
}

/// A training step; its loss and gradient norm.
pub fn step<R: Real + Default>(
    trainer: &mut Trainer<R>,
    step: u64,
    hyper: &Hyper,
    batches: &[Batch<'_>],
) -> (f32, f32) {
    let input = StepInput { step, batches, hyper, frozen: &[], measures: false };
    trainer.step(&input, &mut Pass::default()).expect("it fits");
    let mut stats = vec![];
    stats.append(&mut trainer.state.stats);
    assert!(!stats[0].is_skipped());
    (stats[0].loss, stats[0].gradient.expect("a gradient").norm)
}
