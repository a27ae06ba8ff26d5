//! The synaptic model on a GPU against the CPU, which is the definition: gradients, training.

use super::cuda::{NEAR, near, noise};
use crate::device::gpu;
use neuropil::{
    gpu::{Gpu, Pass},
    kinds::{
        language::backend::{Batch, Hyper, Lengths, MatrixUpdate, Outcome, StateBuffer, StepStats},
        synaptic::{
            Precision,
            backend::{Backend, Dynamics, StepInput},
            cpu::CpuBackend,
            cuda,
            experts::{Balancing, FEATURES, RouterState},
            life::Edit,
            model::{Config, Layout, init},
            presynaptic::{Edges, Mode, Presynaptic, Release},
        },
    },
};
use std::sync::Arc;

pub const HYPER: Hyper = Hyper {
    learning_rate: 3e-3,
    beta1: 0.9,
    beta2: 0.95,
    eps: 1e-8,
    weight_decay: 0.01,
    clip: 1.0,
    dropout: 0.0,
    attention_dropout: 0.0,
    matrices: MatrixUpdate::AdamW,
};

/// A step in which nothing is frozen and norms are not measured.
pub fn step_input<'a>(step: u32, batches: &'a [Batch<'a>]) -> StepInput<'a> {
    StepInput { step: step.into(), batches, hyper: &HYPER, frozen: &[], frozen_experts: &[], measures: false }
}

/// Layers and experts of which the embedding and one expert of the second block are frozen.
pub fn freeze_some(config: &Config) -> (Vec<bool>, Vec<bool>) {
    let (mut layers, mut experts) = (vec![false; config.layers + 2], vec![false; config.layers * config.experts]);
    (layers[0], experts[config.experts + 2]) = (true, true);
    (layers, experts)
}

/// A model on both.
pub struct Pair {
    pub config: Config,
    pub layout: Arc<Layout>,
    pub cpu: Box<dyn Backend>,
    pub device: Box<dyn Backend>,
}

/// Sizes that are no multiples of vectors, and those of a preset.
pub fn configs() -> Vec<Config> {
    let odd =
        Config { context: 23, heads: 6, kv_heads: 2, width: 36, experts: 7, top_k: 3, hidden: 22, ..Config::nano(37) };
    vec![odd, Config { context: 40, ..Config::nano(64) }]
}

impl Pair {
    pub fn new(gpu: &Arc<Gpu>, config: &Config, dynamics: &Dynamics) -> Self {
        Self::with(gpu, config, dynamics, Precision::F32)
    }

    fn with(gpu: &Arc<Gpu>, config: &Config, dynamics: &Dynamics, precision: Precision) -> Self {
        let layout = Arc::new(Layout::new(config).expect("a model"));
        let cpu = CpuBackend::new(config, &layout, dynamics, 5, 2).expect("a model");
        let device =
            cuda::create(gpu, (config, &layout, dynamics), 5, 3, precision).unwrap_or_else(|why| panic!("{why}"));
        let mut new = Self { config: config.clone(), layout: layout.clone(), cpu: Box::new(cpu), device };
        let first = init(config, &layout, 3);
        let values = first.values().iter().zip(noise(layout.map.len(), 4));
        let mut weights: Vec<f32> = values.map(|(w, n)| w + 0.05 * n).collect();
        // Padding of the vocabulary is zero.
        for view in [layout.wte, layout.lm_head] {
            let range = layout.map.view(view).range();
            weights[range.start + config.vocab * config.width..range.end].fill(0.0);
        }
        for backend in [&mut new.cpu, &mut new.device] {
            backend.write(StateBuffer::Weights, 0, &weights).expect("it is written");
            for layer in 0..config.layers {
                let mut state = RouterState::new(config.experts, noise(config.experts * FEATURES, 90 + layer as u32));
                state.fatigue.iter_mut().enumerate().for_each(|(e, x)| *x = 0.05 * (e + 1) as f32);
                state.energy.iter_mut().enumerate().for_each(|(e, x)| *x = 0.9 - 0.05 * e as f32);
                state.alive[layer] = 0;
                backend.set_router(layer, &state).expect("it is written");
            }
        }
        new
    }

    /// Tokens and targets of some sequences.
    pub fn text(&self, sequences: usize, seed: u32) -> (Vec<u32>, Vec<i32>) {
        let n = sequences * self.config.context;
        let token = |x: &f32| ((x + 1.0) * 0.5 * (self.config.vocab as f32 - 0.01)) as u32;
        let tokens: Vec<u32> = noise(n, seed).iter().map(token).collect();
        let targets = tokens
            .iter()
            .enumerate()
            .map(|(i, t)| if i % 7 == 3 { -1 } else { ((t + 3) * 5 % self.config.vocab as u32) as i32 });
        let targets = targets.collect();
        (tokens, targets)
    }

    pub fn batch<'a>(&self, (tokens, targets): &'a (Vec<u32>, Vec<i32>)) -> Batch<'a> {
        let seq_len = self.config.context;
        Batch { sequences: tokens.len() / seq_len, seq_len, tokens, targets, lengths: Lengths::Full }
    }

    /// Takes a step on both.
    pub fn step(&mut self, input: &StepInput<'_>) {
        for backend in [&mut self.cpu, &mut self.device] {
            let outcome = backend.step(input, &mut Pass::default()).unwrap_or_else(|why| panic!("{why}"));
            assert_eq!(outcome, Outcome::Done);
        }
    }

    pub fn weights(backend: &dyn Backend, layout: &Layout, buffer: StateBuffer) -> Vec<f32> {
        let mut to = vec![0.0; layout.map.len()];
        backend.read(buffer, 0, &mut to).expect("it is read");
        to
    }
}

pub fn stats(backend: &mut dyn Backend) -> Vec<StepStats> {
    let mut all = vec![];
    backend.take_stats(&mut all).expect("it is read");
    all
}

pub fn dynamics(config: &Config) -> Vec<Dynamics> {
    let first = Dynamics::new(config);
    let with = |mode, edges, release| Dynamics {
        presynaptic: Presynaptic { mode, edges, release, ..first.presynaptic },
        ..first.clone()
    };
    let mut balanced = first.clone();
    balanced.router.balancing = Balancing::Bias { rate: 1e-3 };
    vec![
        with(Mode::Off, Edges::All, Release::Deterministic),
        with(Mode::Static, Edges::All, Release::Deterministic),
        with(Mode::TsodyksMarkram, Edges::TopK(6), Release::Deterministic),
        balanced,
        first,
    ]
}

/// Every gradient, by the first moment of a first step without clipping: `m = (1 - beta1) g`.
#[test]
fn cuda_gradients_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for config in configs().into_iter().flat_map(|c| [Config { temperature: true, ..c.clone() }, c]) {
        for dynamics in dynamics(&config) {
            let mut pair = Pair::new(&gpu, &config, &dynamics);
            let (first, second) = (pair.text(2, 21), pair.text(1, 22));
            let batches = [pair.batch(&first), pair.batch(&second)];
            let hyper = Hyper { clip: 0.0, weight_decay: 0.0, learning_rate: 1e-6, ..HYPER };
            let input = StepInput { hyper: &hyper, measures: true, ..step_input(0, &batches) };
            pair.step(&input);
            let what = format!("{:?}, C {}", dynamics.presynaptic.mode, config.width);
            let (want, got) = (stats(&mut *pair.cpu), stats(&mut *pair.device));
            near(&format!("{what}: loss"), &[got[0].loss], &[want[0].loss], NEAR);
            near(
                &format!("{what}: norm"),
                &[got[0].gradient.expect("a gradient").norm],
                &[want[0].gradient.expect("a gradient").norm],
                NEAR,
            );
            let [want, got] = [&pair.cpu, &pair.device]
                .map(|backend| Pair::weights(&**backend, &pair.layout, StateBuffer::FirstMoment));
            for view in pair.layout.map.views() {
                let (got, want) = (&got[view.range()], &want[view.range()]);
                let largest = want.iter().fold(1e-9_f32, |most, x| most.max(x.abs()));
                let relative = |x: &[f32]| x.iter().map(|x| x / largest).collect::<Vec<f32>>();
                near(&format!("{what}: {}", view.name), &relative(got), &relative(want), 3.0 * NEAR);
            }
            let [want, got] = [&mut pair.cpu, &mut pair.device].map(|backend| backend.norms(0).expect("it is read"));
            for (got, want) in got.iter().zip(&want) {
                near("norms", &[got.weight, got.gradient], &[want.weight, want.gradient], 3.0 * NEAR);
            }
            same_experts(&pair, &what);
        }
    }
}

/// Load, contribution, auxiliary loss and selection of the last step.
fn same_experts(pair: &Pair, what: &str) {
    let (want, got) = (pair.cpu.expert_steps().expect("it is read"), pair.device.expert_steps().expect("it is read"));
    assert_eq!(got.len(), want.len());
    let floats = |x: &[f64]| x.iter().map(|x| *x as f32).collect::<Vec<f32>>();
    for (got, want) in got.iter().zip(want) {
        assert_eq!((got.load.tokens, &got.load.counts), (want.load.tokens, &want.load.counts), "{what}");
        near(&format!("{what}: gates"), &floats(&got.load.gates), &floats(&want.load.gates), NEAR);
        near(&format!("{what}: features"), &floats(&got.load.features), &floats(&want.load.features), NEAR);
        near(&format!("{what}: contribution"), &floats(&got.contribution), &floats(&want.contribution), NEAR);
        near(&format!("{what}: auxiliary loss"), &[got.aux as f32], &[want.aux as f32], NEAR);
        assert_eq!(got.selection.experts, want.selection.experts, "{what}");
        near(&format!("{what}: selected gates"), &got.selection.gates, &want.selection.gates, NEAR);
    }
}

/// Ten steps: losses, weights and states of the routers. Frozen blocks and experts stay.
#[test]
fn cuda_training_is_that_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for config in configs() {
        for dynamics in dynamics(&config) {
            let mut pair = Pair::new(&gpu, &config, &dynamics);
            let (frozen, frozen_experts) = freeze_some(&config);
            let before = Pair::weights(&*pair.device, &pair.layout, StateBuffer::Weights);
            for step in 0..10 {
                let (first, second) = (pair.text(2, 100 + step), pair.text(2, 200 + step));
                let batches = [pair.batch(&first), pair.batch(&second)];
                let input =
                    StepInput { frozen: &frozen, frozen_experts: &frozen_experts, ..step_input(step, &batches) };
                pair.step(&input);
            }
            let what = format!("{:?}, C {}", dynamics.presynaptic.mode, config.width);
            let losses = |backend: &mut dyn Backend| stats(backend).iter().map(|s| s.loss).collect::<Vec<f32>>();
            let (want, got) = (losses(&mut *pair.cpu), losses(&mut *pair.device));
            near(&format!("{what}: losses"), &got, &want, NEAR);
            let [want, got] =
                [&pair.cpu, &pair.device].map(|backend| Pair::weights(&**backend, &pair.layout, StateBuffer::Weights));
            // Adam divides by the size of gradients: what is small may differ by its sign.
            let off = got.iter().zip(&want).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
            let moved = want.iter().zip(&before).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
            assert!(off <= 1e-4 * moved, "{what}");
            let of_embedding = pair.layout.map.view(pair.layout.wte).range();
            assert!(got[of_embedding.clone()] == before[of_embedding], "{what}: a frozen layer");
            for view in pair.layout.blocks[1].of_experts() {
                let range = pair.layout.expert_range(view, 2);
                assert!(got[range.clone()] == before[range], "{what}: a frozen expert");
            }
            for layer in 0..config.layers {
                let [want, got] = [&pair.cpu, &pair.device].map(|backend| backend.router(layer).expect("it is read"));
                assert_eq!(got.alive, want.alive);
                near(&format!("{what}: fatigue"), &got.fatigue, &want.fatigue, NEAR);
                near(&format!("{what}: energy"), &got.energy, &want.energy, NEAR);
                near(&format!("{what}: balance"), &got.balance, &want.balance, NEAR);
                near(&format!("{what}: embeddings"), &got.embeddings, &want.embeddings, NEAR);
            }
            same_experts(&pair, &what);
        }
    }
}

/// Losses of training with rounded operands are near those of f32, and the loss falls as far. Memory is as predicted.
#[test]
fn cuda_rounded_operands_train_like_f32() {
    let Some(gpu) = gpu() else { return };
    for (config, precision, name, most) in [
        (configs()[1].clone(), Precision::Tf32, "tf32", 2e-3),
        (configs()[1].clone(), Precision::Bf16, "bf16", 2e-2),
        (configs()[0].clone(), Precision::Bf16, "bf16", 2e-2),
    ] {
        let dynamics = Dynamics::new(&config);
        let mut pair = Pair::with(&gpu, &config, &dynamics, precision);
        let predicted = cuda::memory(&config, &pair.layout, &dynamics, 3, precision);
        assert_eq!(predicted.total(), pair.device.memory().total(), "{name}: memory is as predicted");
        for step in 0..30 {
            let text = pair.text(4, 500 + step % 3);
            let batches = [pair.batch(&text)];
            let input = step_input(step, &batches);
            pair.step(&input);
        }
        let losses = |backend: &mut dyn Backend| stats(backend).iter().map(|s| s.loss).collect::<Vec<f32>>();
        let (want, got) = (losses(&mut *pair.cpu), losses(&mut *pair.device));
        near(&format!("{name}: losses of the first steps"), &got[..5], &want[..5], most);
        let fall = |losses: &[f32]| losses[0] - losses[29];
        assert!(fall(&want) > 0.1 && (fall(&got) / fall(&want) - 1.0).abs() < 0.05);
        let choices = pair.device.execution();
        assert!(format!("{choices:?}").contains(name), "{choices:?}");
    }
}

/// In bf16: the same bits twice and as graphs; after updates with frozen experts and after moves the copy of the weights is that
/// of the weights.
#[test]
fn cuda_bf16_copies_follow_the_weights() {
    let Some(gpu) = gpu() else { return };
    let config = configs()[0].clone();
    let dynamics = Dynamics::new(&config);
    let run = |mut pass: Pass| {
        let mut pair = Pair::with(&gpu, &config, &dynamics, Precision::Bf16);
        let mut frozen_experts = vec![false; config.layers * config.experts];
        (frozen_experts[1], frozen_experts[config.experts + 2]) = (true, true);
        for step in 0..6 {
            let text = pair.text(3, 700 + step);
            let batches = [pair.batch(&text)];
            let input = StepInput { frozen_experts: &frozen_experts, measures: true, ..step_input(step, &batches) };
            pair.device.step(&input, &mut pass).unwrap_or_else(|why| panic!("{why}"));
        }
        pair
    };
    let mut pair = run(Pass::default());
    let weights = |pair: &Pair| StateBuffer::ALL.map(|b| Pair::weights(&*pair.device, &pair.layout, b));
    assert!(weights(&run(Pass::default())) == weights(&pair), "the same bits twice");
    assert!(weights(&run(Pass::measuring())) == weights(&pair), "graphs change no bit");
    let text = pair.text(2, 31);
    for moves in [false, true] {
        if moves {
            let [from, to] = [1, 3].map(|expert| pair.layout.expert_range(pair.layout.blocks[0].fc1, expert));
            let mix = Edit::Mix { from: from.clone(), to: to.start, alpha: 0.3 };
            pair.device.edit(&[mix, Edit::Clear(from)]).expect("it is edited");
        }
        let losses = |pair: &mut Pair| {
            let batch = pair.batch(&text);
            let mut losses = vec![0.0; batch.n_tokens()];
            pair.device.evaluate(&[batch], &mut losses, &mut Pass::default()).expect("it is computed");
            losses
        };
        let got = losses(&mut pair);
        let all = Pair::weights(&*pair.device, &pair.layout, StateBuffer::Weights);
        pair.device.write(StateBuffer::Weights, 0, &all).expect("it is written");
        assert!(losses(&mut pair) == got, "the copy is that of the weights, moves {moves}");
    }
    // The decoder reads the same weights.
    let batch = pair.batch(&text);
    let mut losses = vec![0.0; batch.n_tokens()];
    pair.device.evaluate(&[batch], &mut losses, &mut Pass::default()).expect("it is computed");
    let mut decoder = pair.device.decoder().expect("a decoder");
    let logits = decoder.push(&text.0[..config.context]).expect("it is read").to_vec();
    for (t, row) in logits.chunks_exact(config.padded_vocab()).enumerate().filter(|(t, _)| text.1[*t] >= 0) {
        let row = &row[..config.vocab];
        let largest = row.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
        let sum: f32 = row.iter().map(|x| (x - largest).exp()).sum();
        let loss = largest + sum.ln() - row[text.1[t] as usize];
        assert!((loss - losses[t]).abs() < 2e-2, "token {t}: {loss} {}", losses[t]);
    }
}

/// Captured steps have the bits of single launches, of a second run, and of a run that is saved and continued.
#[test]
fn cuda_training_repeats_bit_for_bit() {
    let Some(gpu) = gpu() else { return };
    let config = configs()[1].clone();
    let mut dynamics = Dynamics::new(&config);
    dynamics.presynaptic.release = Release::Binomial { fraction: 0.2 };
    let run = |pair: &mut Pair, steps: std::ops::Range<u32>, measured: bool| {
        for step in steps {
            let text = pair.text(3, 300 + step);
            let batches = [pair.batch(&text)];
            let input = step_input(step, &batches);
            let mut pass = if measured { Pass::measuring() } else { Pass::default() };
            pair.device.step(&input, &mut pass).unwrap_or_else(|why| panic!("{why}"));
            if measured && step == 0 {
                gpu.synchronize().expect("the device");
                pass.collect().expect("the device");
                let rows: Vec<&str> = pass.timings.iter().map(|row| row.name).collect();
                for row in ["embed", "qkv", "rope", "scores", "release", "softmax", "values", "router", "experts"] {
                    assert!(rows.contains(&row), "{row} is not among {rows:?}");
                }
            }
        }
        StateBuffer::ALL.map(|buffer| Pair::weights(&*pair.device, &pair.layout, buffer))
    };
    let mut whole = Pair::new(&gpu, &config, &dynamics);
    let want = run(&mut whole, 0..8, false);
    let mut single = Pair::new(&gpu, &config, &dynamics);
    assert!(run(&mut single, 0..8, true) == want, "graphs change no bit");
    let mut first = Pair::new(&gpu, &config, &dynamics);
    let half = run(&mut first, 0..4, false);
    let mut second = Pair::new(&gpu, &config, &dynamics);
    for (buffer, values) in StateBuffer::ALL.into_iter().zip(&half) {
        second.device.write(buffer, 0, values).expect("it is written");
    }
    for layer in 0..config.layers {
        let state = first.device.router(layer).expect("it is read");
        second.device.set_router(layer, &state).expect("it is written");
    }
    let counters = first.device.counters().expect("it is read");
    second.device.set_counters(counters).expect("it is written");
    assert!(run(&mut second, 4..8, false) == want, "a run that is continued");
}

/// What a device does not compute is said before it begins.
#[test]
fn cuda_refusals_name_the_way_out() {
    let Some(gpu) = gpu() else { return };
    let config = configs()[1].clone();
    let dynamics = Dynamics::new(&config);
    let mut pair = Pair::new(&gpu, &config, &dynamics);
    let mut state = pair.device.router(0).expect("it is read");
    state.alive.fill(0);
    let why = pair.device.set_router(0, &state).expect_err("no expert").to_string();
    assert!(why.contains("2 experts per token"), "{why}");
    let before = pair.device.memory().total();
    assert_eq!(
        cuda::memory(&config, &pair.layout, &dynamics, 3, Precision::F32).total(),
        before,
        "memory is as predicted"
    );
}
