//! The synaptic model on a GPU against the CPU, which is the definition, and against the reference data that the shipped
//! recurrence has.

use super::golden_files::{SEQUENCE, compare};
use crate::device::gpu;
use neuropil::{
    gpu::{Arena, Buf, Gpu, Pass},
    kinds::{
        language::backend::{Batch, Hyper, Lengths, MatrixUpdate, Outcome, StateBuffer, StepStats},
        synaptic::{
            backend::{Backend, Dynamics, Site, StepInput},
            cpu::CpuBackend,
            cuda,
            experts::{Balancing, FEATURES, RouterState},
            model::{Config, Layout, init},
            presynaptic::{
                self, Constants, Draws, Edges, KeyState, Mode, Presynaptic, Release,
                cuda::{CudaPresynaptic, KeyMemory, ReleaseStep, ScanExtent},
            },
        },
    },
    sim::Progress,
};
use neuropil_test_support::golden;
use std::sync::Arc;

/// Difference of f32 on both sides, fast exponentials on one: `|a - b| <= NEAR (1 + |b|)`.
const NEAR: f64 = 1e-4;

/// Numbers in -1..1.
fn noise(n: usize, seed: u32) -> Vec<f32> {
    let word = |i: u32| {
        (i ^ seed.wrapping_mul(0x9E37_79B9)).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85EB_CA6B)
    };
    (0..n as u32).map(|i| (f64::from(word(i) >> 8) / f64::from(1 << 23) - 1.0) as f32).collect()
}

/// Asserts that numbers agree, and prints the largest difference.
#[track_caller]
fn near(what: &str, got: &[f32], want: &[f32], most: f64) {
    assert_eq!(got.len(), want.len(), "{what}: lengths");
    let off = |(g, w): (&f32, &f32)| if g == w { 0.0 } else { f64::from((g - w).abs()) / (1.0 + f64::from(w.abs())) };
    let worst = got.iter().zip(want).map(off).fold(0.0, |worst, e| if e <= worst { worst } else { e });
    println!("{what}: {worst:.1e} ({most:.0e})");
    assert!(worst <= most, "{what}: {worst:.2e}");
}

/// Release on the device: sequences of some heads, in pieces.
struct OnDevice {
    op: CudaPresynaptic,
    arena: Arena,
    gpu: Arc<Gpu>,
}

impl OnDevice {
    fn new(gpu: &Arc<Gpu>) -> Self {
        let arena = Arena::new(gpu, "temporaries", 1 << 22).expect("the device");
        Self { op: CudaPresynaptic::load(gpu).expect("the device"), arena, gpu: gpu.clone() }
    }

    /// Logits and derivatives of the rows of a piece, `[heads, queries, keys]`.
    fn piece(
        &mut self,
        op: &Presynaptic,
        extent: &ScanExtent,
        dots: &[f32],
        state: Option<(&mut Buf<f32>, usize, usize)>,
        draws: Option<ReleaseStep>,
    ) -> [Vec<f32>; 2] {
        let mut edges = Buf::from_slice(&self.gpu, "edges", dots).expect("the device");
        let mut factor = Buf::zeros(&self.gpu, "derivatives", dots.len()).expect("the device");
        let draws = draws.map(|draws| Buf::from_slice(&self.gpu, "draws", &[draws]).expect("the device"));
        let memory = state.map(|(state, capacity, known)| KeyMemory { state, capacity, known });
        let (frame, mut pass) = (self.arena.frame(), Pass::default());
        let to = (&mut *edges, Some(&mut *factor));
        let done = self.op.forward(&mut pass, op, extent, to.0, to.1, memory, draws.as_deref(), &frame);
        done.unwrap_or_else(|why| panic!("{why}"));
        [edges.read().expect("the device"), factor.read().expect("the device")]
    }
}

/// The visible edges of `[heads, n, n]`, one after the other.
fn visible(edges: &[f32], heads: usize, n: usize) -> Vec<f32> {
    let row = |i: usize| &edges[i * n..i * n + i % n + 1];
    (0..heads * n).flat_map(row).copied().collect()
}

/// The same on the CPU.
fn on_cpu(op: &Presynaptic, heads: usize, n: usize, dots: &[f32], draws: Option<Draws>) -> [Vec<f32>; 2] {
    let (mut logits, mut factor) = (vec![0.0; dots.len()], vec![0.0; dots.len()]);
    for head in 0..heads {
        let at = head * n * n..(head + 1) * n * n;
        let draws = draws.map(|draws| Draws { head: draws.head + head as u32, ..draws });
        let (logits, factor) = (&mut logits[at.clone()], &mut factor[at.clone()]);
        let mut state = KeyState::fresh(op, n);
        presynaptic::forward(op, 0, n, &dots[at], logits, Some(factor), &mut state, draws.as_ref());
    }
    [logits, factor]
}

fn modes() -> Vec<Presynaptic> {
    let mut all = vec![];
    for mode in [Mode::Off, Mode::Static, Mode::Scan, Mode::TsodyksMarkram] {
        for edges in [Edges::All, Edges::TopK(5)] {
            all.push(Presynaptic { mode, edges, ..Presynaptic::recommended(256) });
        }
    }
    let constants = Constants { endo_delay: 0, rec_rate: 0.5, energy_half: 0.0, ..Constants::default() };
    all.push(Presynaptic { constants, ..Presynaptic::recommended(64) });
    all.push(Presynaptic {
        constants: Constants { tm_tau_facil: 8.0, ..Constants::default() },
        mode: Mode::TsodyksMarkram,
        ..Presynaptic::recommended(64)
    });
    all
}

/// Whole sequences of several shapes; then the same in pieces, with states in memory between them, bit for bit.
#[test]
fn cuda_release_is_that_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut device = OnDevice::new(&gpu);
    for op in modes() {
        for (heads, n, scale) in [(1, 1, 1.0), (3, 7, 2.0), (2, 64, 4.0), (5, 131, 3.0)] {
            let dots: Vec<f32> = noise(heads * n * n, 7).iter().map(|x| scale * x).collect();
            let extent = ScanExtent::sequences(1, heads, n, 0);
            let [logits, factor] = device.piece(&op, &extent, &dots, None, None);
            let [want, want_factor] = on_cpu(&op, heads, n, &dots, None);
            let what = format!("{:?} {:?}, {heads} heads of {n}", op.mode, op.edges);
            near(&format!("{what}, logits"), &visible(&logits, heads, n), &visible(&want, heads, n), NEAR);
            let (got, want) = (visible(&factor, heads, n), visible(&want_factor, heads, n));
            near(&format!("{what}, derivatives"), &got, &want, NEAR);
            // Pieces of 1, 2, 3, … queries.
            let len = KeyMemory::len(&op, heads, n + 3);
            let mut state = Buf::from_slice(&gpu, "state", &vec![f32::NAN; len]).expect("the device");
            let (mut first, mut size) = (0, 1);
            while first < n {
                let queries = size.min(n - first);
                let keys = first + queries;
                let row = |head: usize, t: usize| (head * n + first + t) * n;
                let rows = (0..heads).flat_map(|head| (0..queries).map(move |t| row(head, t)));
                let part: Vec<f32> = rows.clone().flat_map(|at| dots[at..at + keys].to_vec()).collect();
                let piece = ScanExtent { first_query: first, n_queries: queries, ..extent };
                let [got, _] = device.piece(&op, &piece, &part, Some((&mut state, n + 3, first)), None);
                for (i, at) in rows.enumerate() {
                    let seen = first + i % queries + 1;
                    assert!(got[i * keys..i * keys + seen] == logits[at..at + seen], "{what}: row {i} from {first}");
                }
                (first, size) = (first + queries, size + 1);
            }
        }
    }
}

/// Random numbers of vesicles have the addresses of the CPU. Where the last bits of a probability decide, a trial may differ,
/// and with it the rest of its column.
#[test]
fn cuda_random_release_is_that_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut device = OnDevice::new(&gpu);
    for (mode, edges) in [(Mode::Scan, Edges::All), (Mode::Scan, Edges::TopK(9)), (Mode::Static, Edges::All)] {
        let op = Presynaptic { mode, edges, release: Release::Binomial { fraction: 0.4 }, ..Presynaptic::recommended(96) };
        let (sequences, heads, n, layer) = (2, 3, 96, 2);
        let dots: Vec<f32> = noise(sequences * heads * n * n, 11).iter().map(|x| 3.0 * x).collect();
        let extent = ScanExtent::sequences(sequences, heads, n, layer);
        let step = ReleaseStep { seed: 0x1234_5678_9abc, step: 77, first: 4, sequences: 9 };
        let [got, _] = device.piece(&op, &extent, &dots, None, Some(step));
        let head = ((layer * 9 + 4) * heads) as u32;
        let draws = Draws { seed: step.seed, step: step.step, head };
        let [want, _] = on_cpu(&op, sequences * heads, n, &dots, Some(draws));
        let [expected, _] = on_cpu(&op, sequences * heads, n, &dots, None);
        let (got, want) = (visible(&got, sequences * heads, n), visible(&want, sequences * heads, n));
        let same = |a: &[f32], b: &[f32]| {
            a.iter().zip(b).filter(|(a, b)| (*a - *b).abs() <= 1e-3 * (1.0 + b.abs())).count() as f64 / a.len() as f64
        };
        let (of_cpu, of_expected) = (same(&got, &want), same(&visible(&expected, sequences * heads, n), &want));
        println!("{mode:?} {edges:?}: {:.4} % of the edges agree", 100.0 * of_cpu);
        assert!(of_cpu > 0.995 && of_expected < 0.9, "{of_cpu} {of_expected}");
    }
}

/// RRP + RES + queue of every key, after 1,024 queries, to the last bit.
#[test]
fn cuda_vesicles_are_conserved() {
    let Some(gpu) = gpu() else { return };
    let mut device = OnDevice::new(&gpu);
    let (op, heads, n) = (Presynaptic::recommended(1024), 2, 1024);
    let dots: Vec<f32> = noise(heads * n * n, 3).iter().map(|x| 4.0 * x).collect();
    let mut state = Buf::zeros(&gpu, "state", KeyMemory::len(&op, heads, n)).expect("the device");
    device.piece(&op, &ScanExtent::sequences(1, heads, n, 0), &dots, Some((&mut state, n, 0)), None);
    let all = state.read().expect("the device");
    let of = |quantity: usize, key: usize| f64::from(all[quantity * heads * n + key]);
    for key in 0..heads * n {
        let queue: f64 = (9..9 + op.constants.endo_delay).map(|slot| of(slot, key)).sum();
        assert_eq!(of(1, key) + of(2, key) + queue, 24.0, "key {key}");
    }
}

/// Files 06 and 07: the recurrence with the switches of the reference, one query per step.
#[test]
fn cuda_golden_synaptic_release() {
    let Some(gpu) = gpu() else { return };
    let mut device = OnDevice::new(&gpu);
    for file in ["06_", "07_"].iter().flat_map(|start| golden::some("synaptic", start)) {
        let shape = file.shape("drive");
        let (steps, heads, per_query) = (shape[0], shape[1] * shape[2], shape[4]);
        let keys = file.shape("C")[3];
        let constants = Constants { barrier_strength: 0.0, ..Constants::REFERENCE };
        let edges = Edges::TopK(per_query);
        let op = Presynaptic { constants, edges, ..Presynaptic::recommended(keys) };
        let extent = ScanExtent { first_query: keys - 1, n_queries: 1, ..ScanExtent::sequences(1, heads, 1, 0) };
        let mut state = Buf::zeros(&gpu, "state", KeyMemory::len(&op, heads, keys)).expect("the device");
        let names = ["C", "RRP", "RES", "PR", "CL", "AMP", "E"];
        let (mut got, mut delay, mut effects) = (vec![vec![]; names.len()], vec![], vec![]);
        for step in 0..steps {
            let mut dots = vec![-1e4_f32; heads * keys];
            let from = step * heads * per_query;
            let edges: Vec<(usize, f64)> = (0..heads * per_query)
                .map(|i| (i / per_query * keys + file.get("idx")[from + i] as usize, file.get("drive")[from + i]))
                .collect();
            edges.iter().for_each(|(at, drive)| dots[*at] = *drive as f32);
            let known = if step == 0 { 0 } else { keys };
            let [logits, _] = device.piece(&op, &extent, &dots, Some((&mut state, keys, known)), None);
            let effect = |at: usize| f64::from(logits[at] - dots[at]).exp() - op.constants.log_floor;
            let scale = file.get("ema")[step] + 1e-6;
            effects.extend(edges.iter().map(|(at, _)| effect(*at) / scale));
            let all: Vec<f64> = state.read().expect("the device").into_iter().map(f64::from).collect();
            let of = |quantity: usize| &all[quantity * heads * keys..(quantity + 1) * heads * keys];
            got.iter_mut().enumerate().for_each(|(quantity, to)| to.extend(of(quantity)));
            delay.extend((0..op.constants.endo_delay).flat_map(|slot| of(9 + slot).to_vec()));
        }
        compare(&file, "e", &effects, SEQUENCE);
        names.iter().zip(&got).for_each(|(name, got)| compare(&file, name, got, SEQUENCE));
        compare(&file, "DELAY", &delay, SEQUENCE);
    }
}

const HYPER: Hyper = Hyper {
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

/// A model on both.
struct Pair {
    config: Config,
    layout: Arc<Layout>,
    cpu: Box<dyn Backend>,
    device: Box<dyn Backend>,
}

/// Sizes that are no multiples of vectors, and those of a preset.
fn configs() -> Vec<Config> {
    let odd = Config {
        context: 23,
        heads: 6,
        kv_heads: 2,
        width: 36,
        experts: 7,
        top_k: 3,
        hidden: 22,
        ..Config::nano(37)
    };
    vec![odd, Config { context: 40, ..Config::nano(64) }]
}

impl Pair {
    fn new(gpu: &Arc<Gpu>, config: &Config, dynamics: &Dynamics) -> Self {
        let layout = Arc::new(Layout::new(config).expect("a model"));
        let cpu = CpuBackend::new(config, &layout, dynamics, 5, 2).expect("a model");
        let device = cuda::create(gpu, (config, &layout, dynamics), 5, 3, false).unwrap_or_else(|why| panic!("{why}"));
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
    fn text(&self, sequences: usize, seed: u32) -> (Vec<u32>, Vec<i32>) {
        let n = sequences * self.config.context;
        let token = |x: &f32| ((x + 1.0) * 0.5 * (self.config.vocab as f32 - 0.01)) as u32;
        let tokens: Vec<u32> = noise(n, seed).iter().map(token).collect();
        let targets = tokens.iter().enumerate().map(|(i, t)| if i % 7 == 3 { -1 } else { ((t + 3) * 5 % self.config.vocab as u32) as i32 });
        let targets = targets.collect();
        (tokens, targets)
    }

    fn batch<'a>(&self, (tokens, targets): &'a (Vec<u32>, Vec<i32>)) -> Batch<'a> {
        let seq_len = self.config.context;
        Batch { sequences: tokens.len() / seq_len, seq_len, tokens, targets, lengths: Lengths::Full }
    }

    fn weights(backend: &dyn Backend, layout: &Layout, buffer: StateBuffer) -> Vec<f32> {
        let mut to = vec![0.0; layout.map.len()];
        backend.read(buffer, 0, &mut to).expect("it is read");
        to
    }
}

fn stats(backend: &mut dyn Backend) -> Vec<StepStats> {
    let mut all = vec![];
    backend.take_stats(&mut all).expect("it is read");
    all
}

fn dynamics(config: &Config) -> Vec<Dynamics> {
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
            let input =
                StepInput { step: 0, batches: &batches, hyper: &hyper, frozen: &[], frozen_experts: &[], measures: true };
            for backend in [&mut pair.cpu, &mut pair.device] {
                let outcome = backend.step(&input, &mut Pass::default()).unwrap_or_else(|why| panic!("{why}"));
                assert_eq!(outcome, Outcome::Done);
            }
            let what = format!("{:?}, C {}", dynamics.presynaptic.mode, config.width);
            let (want, got) = (stats(&mut *pair.cpu), stats(&mut *pair.device));
            near(&format!("{what}: loss"), &[got[0].loss], &[want[0].loss], NEAR);
            near(&format!("{what}: norm"), &[got[0].gradient_norm], &[want[0].gradient_norm], NEAR);
            let [want, got] = [&pair.cpu, &pair.device]
                .map(|backend| Pair::weights(&**backend, &pair.layout, StateBuffer::FirstMoment));
            for view in pair.layout.map.views() {
                let (got, want) = (&got[view.range()], &want[view.range()]);
                let largest = want.iter().fold(1e-9_f32, |most, x| most.max(x.abs()));
                let relative = |x: &[f32]| x.iter().map(|x| x / largest).collect::<Vec<f32>>();
                near(&format!("{what}: {}", view.name), &relative(got), &relative(want), 3.0 * NEAR);
            }
            let [want, got] = [&mut pair.cpu, &mut pair.device].map(|backend| backend.norms().expect("it is read"));
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
            let (mut frozen, mut frozen_experts) = (vec![false; config.layers + 2], vec![false; config.layers * config.experts]);
            (frozen[0], frozen_experts[config.experts + 2]) = (true, true);
            let before = Pair::weights(&*pair.device, &pair.layout, StateBuffer::Weights);
            for step in 0..10 {
                let (first, second) = (pair.text(2, 100 + step), pair.text(2, 200 + step));
                let batches = [pair.batch(&first), pair.batch(&second)];
                let input = StepInput {
                    step: step.into(),
                    batches: &batches,
                    hyper: &HYPER,
                    frozen: &frozen,
                    frozen_experts: &frozen_experts,
                    measures: false,
                };
                for backend in [&mut pair.cpu, &mut pair.device] {
                    backend.step(&input, &mut Pass::default()).unwrap_or_else(|why| panic!("{why}"));
                }
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
            println!("{what}: weights differ by {:.1e} of their change", (off / moved).sqrt());
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
            let input = StepInput {
                step: step.into(),
                batches: &batches,
                hyper: &HYPER,
                frozen: &[],
                frozen_experts: &[],
                measures: false,
            };
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

/// Losses of a text, logits of the decoder token by token and in pieces, activations, decisions.
#[test]
fn cuda_decoding_is_training() {
    let Some(gpu) = gpu() else { return };
    for config in configs() {
        for dynamics in dynamics(&config) {
            let mut pair = Pair::new(&gpu, &config, &dynamics);
            let text = pair.text(4, 31);
            let batch = pair.batch(&text);
            let (mut want, mut got) = (vec![0.0; batch.n_tokens()], vec![0.0; batch.n_tokens()]);
            pair.cpu.evaluate(&batch, &mut want, &mut Pass::default()).expect("it is computed");
            pair.device.evaluate(&batch, &mut got, &mut Pass::default()).unwrap_or_else(|why| panic!("{why}"));
            let what = format!("{:?}, C {}", dynamics.presynaptic.mode, config.width);
            near(&format!("{what}: losses"), &got, &want, NEAR);
            let (n, tokens) = (config.context, &text.0[..config.context]);
            let mut logits = vec![];
            for size in [n, 1, 5] {
                for backend in [&pair.cpu, &pair.device] {
                    let mut decoder = backend.decoder().expect("a decoder");
                    let parts = tokens.chunks(size);
                    logits.push(parts.flat_map(|part| decoder.push(part).expect("it is read").to_vec()).collect::<Vec<f32>>());
                    assert_eq!(decoder.len(), n);
                }
            }
            for (size, got) in ["whole", "one", "five"].iter().zip([&logits[1], &logits[3], &logits[5]]) {
                near(&format!("{what}: logits, {size}"), got, &logits[0], NEAR);
            }
            // The decoder has the losses of the whole text.
            let padded = config.padded_vocab();
            for (t, row) in logits[3].chunks_exact(padded).enumerate().filter(|(t, _)| text.1[*t] >= 0) {
                let row = &row[..config.vocab];
                let largest = row.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
                let sum: f32 = row.iter().map(|x| (x - largest).exp()).sum();
                let loss = largest + sum.ln() - row[text.1[t] as usize];
                assert!((loss - got[t]).abs() < 2e-4, "{what}: token {t}: {loss} {}", got[t]);
            }
            let sites = [
                Site::Attention { layer: 1, head: 2 },
                Site::Drive { layer: 0, head: 1 },
                Site::Bias { layer: 1, head: 0 },
                Site::Residual(0),
                Site::Residual(2),
                Site::AttentionOutput(1),
                Site::RouterInput(0),
            ];
            for site in sites {
                let [want, got] = [&pair.cpu, &pair.device]
                    .map(|backend| backend.inspect(tokens, site, &Progress::default()).expect("it is read"));
                near(&format!("{what}: {site:?}"), &got, &want, NEAR);
            }
            let [want, got] =
                [&pair.cpu, &pair.device].map(|backend| backend.decisions(tokens, 1).expect("it is read"));
            assert_eq!(got.indices, want.indices);
            near(&format!("{what}: gates"), &got.gates, &want.gates, NEAR);
        }
    }
}

/// What a device does not compute is said before it begins.
#[test]
fn cuda_refusals_name_the_way_out() {
    let Some(gpu) = gpu() else { return };
    let config = configs()[1].clone();
    let dynamics = Dynamics::new(&config);
    let mut pair = Pair::new(&gpu, &config, &dynamics);
    let text = pair.text(1, 1);
    let batches = [pair.batch(&text)];
    let hyper = Hyper { matrices: MatrixUpdate::Muon { momentum: 0.95, rate: 5.0 }, ..HYPER };
    let input =
        StepInput { step: 0, batches: &batches, hyper: &hyper, frozen: &[], frozen_experts: &[], measures: false };
    let why = pair.device.step(&input, &mut Pass::default()).expect_err("Muon").to_string();
    assert!(why.contains("use AdamW"), "{why}");
    let mut state = pair.device.router(0).expect("it is read");
    state.alive.fill(0);
    let why = pair.device.set_router(0, &state).expect_err("no expert").to_string();
    assert!(why.contains("2 experts per token"), "{why}");
    let before = pair.device.memory().total();
    assert_eq!(cuda::memory(&config, &pair.layout, &dynamics, 3).total(), before, "memory is as predicted");
}
