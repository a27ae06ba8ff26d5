//! Tests of derivatives, decoding and training.

mod derivatives;
mod forms;
mod training;

use super::{Network, Trainer};
use crate::{
    kinds::{
        language::backend::{Batch, Hyper, Lengths, MatrixUpdate},
        synaptic::{
            backend::{Dynamics, StepInput},
            experts::{FEATURES, RouterState},
            model::{Config, Layout, init},
            presynaptic::Mode,
        },
    },
    nn::real::Real,
};
use std::sync::Arc;

/// Returns pseudo-random values in -1..1.
fn noise(n: usize, seed: u32) -> Vec<f64> {
    let word = |i: u32| {
        (i ^ seed.wrapping_mul(0x9E37_79B9)).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85EB_CA6B)
    };
    (0..n as u32).map(|i| f64::from(word(i) >> 8) / f64::from(1 << 23) - 1.0).collect()
}

/// Returns a small model with two query heads per key/value head.
fn tiny() -> Config {
    Config {
        vocab: 19,
        context: 12,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        width: 16,
        experts: 4,
        top_k: 2,
        hidden: 12,
        ..Config::nano(19)
    }
}

fn router(config: &Config, layer: usize) -> RouterState {
    let embeddings = noise(config.experts * FEATURES, 90 + layer as u32).into_iter().map(|x| x as f32).collect();
    let mut state = RouterState::new(config.experts, embeddings);
    state.fatigue.iter_mut().enumerate().for_each(|(e, x)| *x = 0.1 * (e + 1) as f32);
    state.energy.iter_mut().enumerate().for_each(|(e, x)| *x = 0.9 - 0.05 * e as f32);
    state
}

/// Returns a trainer whose weights differ from the initial ones, so that no symmetry remains.
fn trainer<R: Real + Default>(config: &Config, dynamics: &Dynamics) -> Trainer<R> {
    let layout = Arc::new(Layout::new(config).expect("it fits"));
    let mut trainer = Trainer::new(config, &layout, dynamics, 5).expect("it fits");
    let first = init(config, &layout, 3);
    let values = first.values().iter().zip(noise(layout.map.len(), 4));
    let mut weights: Vec<R> = values.map(|(w, n)| R::of(f64::from(*w) + 0.1 * n)).collect();
    for view in [layout.wte, layout.lm_head] {
        let range = layout.map.view(view).range();
        weights[range.start + config.vocab * config.width..range.end].fill(R::zero());
    }
    trainer.network.weights = weights;
    trainer.network.routers = (0..config.layers).map(|layer| router(config, layer)).collect();
    trainer
}

fn dynamics(config: &Config, mode: Mode) -> Dynamics {
    let mut dynamics = Dynamics::new(config);
    dynamics.presynaptic.mode = mode;
    dynamics.aux_weight = 0.05;
    dynamics
}

/// Returns tokens and targets of random sequences.
fn tokens(config: &Config, sequences: usize, seq_len: usize, seed: u32) -> (Vec<u32>, Vec<i32>) {
    let all = noise(sequences * (seq_len + 1), seed);
    let all: Vec<u32> = all.iter().map(|x| ((x + 1.0) / 2.0 * config.vocab as f64) as u32).collect();
    let rows = || all.chunks_exact(seq_len + 1);
    let tokens = rows().flat_map(|row| row[..seq_len].to_vec()).collect();
    (tokens, rows().flat_map(|row| row[1..].iter().map(|t| *t as i32).collect::<Vec<_>>()).collect())
}

fn batch<'a>(sequences: usize, tokens: &'a [u32], targets: &'a [i32]) -> Batch<'a> {
    Batch { sequences, seq_len: tokens.len() / sequences, tokens, targets, lengths: Lengths::Full }
}

const HYPER: Hyper = Hyper {
    learning_rate: 3e-3,
    beta1: 0.9,
    beta2: 0.95,
    eps: 1e-8,
    weight_decay: 0.0,
    clip: 1.0,
    dropout: 0.0,
    attention_dropout: 0.0,
    matrices: MatrixUpdate::AdamW,
};

fn step<'a>(step: u64, batches: &'a [Batch<'a>], hyper: &'a Hyper) -> StepInput<'a> {
    StepInput { step, batches, hyper, frozen: &[], frozen_experts: &[], measures: false }
}

/// Computes the logits of all tokens of one sequence in the training pass, `[tokens, padded vocabulary]`.
fn logits<R: Real + Default>(network: &Network<R>, tokens: &[u32]) -> Vec<f64> {
    let acts = network.activations(tokens).expect("it fits");
    let mut logits = vec![R::zero(); tokens.len() * network.config.padded_vocab()];
    network.logits(&acts.head.norm_f[..tokens.len() * network.config.width], &mut logits).expect("it fits");
    logits.iter().map(|x| x.f64()).collect()
}
