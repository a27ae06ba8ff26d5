//! Optimisers on a GPU against the CPU's definition.

use crate::device::gpu;
use neuropil::{
    gpu::{Arena, Buf, Gpu, Pass},
    nn::{
        gemm::cuda::{CudaGemm, Options},
        optimizer::{
            AdamW, Clip, LossScaler, MatrixRun, Method, Muon, ParameterGroups, Rule, Update, cpu,
            cuda::{self, Copy, CudaOptimizer, OptimizerRule, OptimizerSettings, OptimizerState, Tables},
        },
        parameters::{ParameterMap, View},
    },
    num::elements::{Bf16, Element, F16},
};
use std::sync::Arc;

/// In (-1, 1), from a linear congruential generator.
fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

fn map() -> ParameterMap {
    let mut map = ParameterMap::default();
    let views = [("wte", vec![257, 33]), ("h.0.qkv", vec![96, 32]), ("h.0.fc", vec![128, 32]), ("ln", vec![32])];
    for (name, shape) in views {
        map.add(name, &shape).expect("a new name");
    }
    map.add("frozen", &[1000]).expect("a new name");
    map
}

/// A buffer with zeros between the views.
fn of_views(map: &ParameterMap, seed: u64) -> Vec<f32> {
    let mut values = vec![0.0; map.len()];
    for view in map.views() {
        values[view.range()].copy_from_slice(&numbers(view.len(), seed + view.start as u64));
    }
    values
}

fn optimizer(map: &ParameterMap, hidden: Method, clip: f64) -> cpu::Optimizer {
    let rule = |view: &View| match view.name.as_str() {
        "frozen" => Rule { is_frozen: true, ..Rule::default() },
        name if name.starts_with("h.") => Rule { method: hidden, lr_factor: 2.0, ..Rule::adamw(view, 0.1) },
        _ => Rule::adamw(view, 0.1),
    };
    let groups = ParameterGroups::new(map, rule).expect("matrices");
    let matrices = groups.matrices(map, |view| if view.name == "h.0.qkv" { vec![32; 3] } else { vec![] });
    cpu::Optimizer { adamw: AdamW::default(), muon: Muon::default(), clip: Clip(clip), groups, matrices }
}

/// Buffers of a model on the device.
pub struct OnDevice {
    /// Weights.
    pub params: Buf<f32>,
    means: Buf<f32>,
    squares: Buf<f32>,
    bf16: Buf<Bf16>,
    state: Buf<OptimizerState>,
    settings: Buf<OptimizerSettings>,
    groups: Buf<u16>,
    rules: Buf<OptimizerRule>,
    arena: Arena,
    op: CudaOptimizer,
    gemm: CudaGemm,
    matrices: Vec<MatrixRun>,
}

impl OnDevice {
    /// With a learning rate of 0.01.
    pub fn new(gpu: &Arc<Gpu>, map: &ParameterMap, op: &cpu::Optimizer, start: &[f32], scaler: &LossScaler) -> Self {
        let settings = OptimizerSettings {
            learning_rate: 0.01,
            beta1: op.adamw.beta1,
            beta2: op.adamw.beta2,
            seed: 1,
            eps: op.adamw.eps as f32,
            clip: op.clip.0 as f32,
            momentum: op.muon.momentum as f32,
            growth: scaler.growth as f32,
            backoff: scaler.backoff as f32,
            interval: scaler.interval,
            is_nesterov: 1,
            is_stochastic: 0,
        };
        let matrices: Vec<MatrixRun> = op.matrices.iter().map(|(matrix, _)| (*matrix).into()).collect();
        let bytes = Arena::bytes_of(&CudaOptimizer::temporaries(map, &matrices));
        let zeros = || Buf::<f32>::zeros(gpu, "moments", map.len()).unwrap();
        Self {
            params: Buf::from_slice(gpu, "weights", start).unwrap(),
            means: zeros(),
            squares: zeros(),
            bf16: Buf::zeros(gpu, "weights in bf16", map.len()).unwrap(),
            state: Buf::from_slice(gpu, "state", &[cuda::initial_state(scaler)]).unwrap(),
            settings: Buf::from_slice(gpu, "settings", &[settings]).unwrap(),
            groups: Buf::from_slice(gpu, "groups", &op.groups.table(map)).unwrap(),
            rules: Buf::from_slice(gpu, "rules", &cuda::rules(&op.groups)).unwrap(),
            arena: Arena::new(gpu, "workspace", bytes).unwrap(),
            op: CudaOptimizer::load(gpu).unwrap(),
            gemm: CudaGemm::new(gpu),
            matrices,
        }
    }

    /// Of the updates that follow.
    pub fn set_learning_rate(&mut self, rate: f64) {
        let mut settings = self.settings.read().unwrap();
        settings[0].learning_rate = rate;
        self.settings.write(&settings).unwrap();
    }

    /// One update.
    pub fn update(&mut self, g: &Buf<f32>) -> OptimizerState {
        let Self { params, means, squares, bf16, state, settings, groups, rules, arena, op, gemm, matrices } = self;
        let tables = Tables { settings, groups, rules };
        let mut pass = Pass::default();
        {
            let frame = arena.frame();
            op.begin(&mut pass, tables, g, state, &frame).unwrap();
        }
        let mut to = cuda::Buffers { params, means, squares, copy: Copy::Bf16(bf16) };
        op.adamw(&mut pass, tables, state, g, &mut to).unwrap();
        let frame = arena.frame();
        let with: (&CudaGemm, &dyn Fn(&MatrixRun) -> Options) = (gemm, &|_| Options::default());
        op.muon(&mut pass, with, (matrices, None), 5, tables, state, g, &mut to, &frame).unwrap();
        state.read().unwrap()[0]
    }
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |most: f32, (a, b)| most.max((a - b).abs()))
}

/// AdamW without clipping has the bits of the CPU; with it and with Muon it differs by the rounding of sums.
#[test]
fn cuda_optimizer_is_that_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let map = map();
    for (hidden, clip, tolerance) in [(Method::AdamW, 0.0, 0.0), (Method::AdamW, 1.0, 1e-6), (Method::Muon, 1.0, 2e-4)]
    {
        let op = optimizer(&map, hidden, clip);
        let mut p = of_views(&map, 1);
        let (mut m, mut v) = (vec![0.0; map.len()], vec![0.0; map.len()]);
        let mut device = OnDevice::new(&gpu, &map, &op, &p, &LossScaler::fixed(4.0));
        for t in 1..=10 {
            let g = of_views(&map, 100 * t);
            let update = Update { t, learning_rate: 0.01, grad_scale: 0.25 };
            let to = cpu::Buffers { p: &mut p, m: &mut m, v: &mut v };
            let outcome = op.update(&map, &update, to, &g).unwrap();
            let state = device.update(&Buf::from_slice(&gpu, "gradient", &g).unwrap());
            assert!((f64::from(state.norm) - outcome.norm).abs() < 1e-5 * outcome.norm, "{state:?} {outcome:?}");
            assert_eq!((state.t, state.is_applied), (t, 1));
        }
        let errors = [(&device.params, &p), (&device.means, &m), (&device.squares, &v)]
            .map(|(got, want)| largest_difference(&got.read().unwrap(), want));
        assert!(errors.iter().all(|e| *e <= tolerance), "{hidden:?} {errors:?}");
        let rounded: Vec<f32> = device.bf16.read().unwrap().iter().map(|x| x.to_f32()).collect();
        let weights = device.params.read().unwrap();
        for view in map.views().filter(|view| view.name != "frozen") {
            let want: Vec<f32> = weights[view.range()].iter().map(|p| Bf16::from_f32(*p).to_f32()).collect();
            assert_eq!(rounded[view.range()], want, "{}", view.name);
        }
    }
}

#[test]
fn golden_transformer_loss_scaler_cuda() {
    let Some(gpu) = gpu() else { return };
    let map = map();
    for golden in neuropil_test_support::golden::all("transformer", "loss_scaler") {
        let op = optimizer(&map, Method::AdamW, 1.0);
        let scaler = LossScaler { interval: 4, ..LossScaler::default() };
        let mut device = OnDevice::new(&gpu, &map, &op, &numbers(map.len(), 1), &scaler);
        let (found, applied) = (golden.whole("found_inf"), golden.whole("applied"));
        for (i, want) in golden.get("scale_after").iter().enumerate() {
            let mut g = numbers(map.len(), i as u64);
            if found[i] != 0 {
                g[70] = if i % 2 == 0 { f32::NAN } else { f32::INFINITY };
            }
            let before = device.params.read().unwrap();
            let state = device.update(&Buf::from_slice(&gpu, "gradient", &g).unwrap());
            assert_eq!((i64::from(state.is_applied), f64::from(state.scale)), (applied[i], *want), "update {i}");
            assert_eq!(device.params.read().unwrap() == before, applied[i] == 0, "update {i}");
        }
    }
}

#[test]
fn cuda_ranges_move_with_their_state() {
    let Some(gpu) = gpu() else { return };
    let n = 5 * 64;
    let new = |seed| Buf::from_slice(&gpu, "buffer", &numbers(n, seed)).unwrap();
    let (mut p, mut m, mut v, mut copy) = (new(1), new(2), new(3), Buf::<F16>::zeros(&gpu, "copy", n).unwrap());
    let (op, mut pass) = (CudaOptimizer::load(&gpu).unwrap(), Pass::default());
    let mut want = [1, 2, 3].map(|seed| numbers(n, seed));
    {
        let [p, m, v] = &mut want;
        let mut all = cpu::Buffers { p, m, v };
        all.copy_range(3..67, 200);
        all.mask_range(70..80);
        all.reset_range(100..133);
    }
    op.round(&mut pass, &p, Copy::F16(&mut copy)).unwrap();
    let mut all = cuda::Buffers { params: &mut p, means: &mut m, squares: &mut v, copy: Copy::F16(&mut copy) };
    op.copy_range(&mut pass, &mut all, 3..67, 200).unwrap();
    op.mask_range(&mut pass, &mut all, 70..80).unwrap();
    op.reset_range(&mut pass, &mut all, 100..133).unwrap();
    assert!(op.copy_range(&mut pass, &mut all, 0..64, n - 63).is_err(), "beyond the end");
    assert_eq!([&p, &m, &v].map(|b| b.read().unwrap()), want);
    let rounded: Vec<F16> = want[0].iter().map(|x| F16::from_f32(*x)).collect();
    assert!(copy.read().unwrap() == rounded, "the rounded copy follows");
}

/// The mean of stochastically rounded weights is the weight.
#[test]
fn cuda_stochastic_rounding_is_unbiased() {
    let Some(gpu) = gpu() else { return };
    let mut map = ParameterMap::default();
    map.add("w", &[1 << 16]).expect("a new name");
    let op = optimizer(&map, Method::AdamW, 0.0);
    let x = 1.0 + 0.3 / 128.0; // 0.3 of the way to the next bf16
    let mut device = OnDevice::new(&gpu, &map, &op, &vec![x; map.len()], &LossScaler::fixed(1.0));
    device.set_learning_rate(0.0);
    let mut settings = device.settings.read().unwrap();
    settings[0].is_stochastic = 1;
    device.settings.write(&settings).unwrap();
    device.update(&Buf::zeros(&gpu, "gradient", map.len()).unwrap());
    let rounded = device.bf16.read().unwrap();
    let mean = rounded.iter().map(|x| f64::from(x.to_f32())).sum::<f64>() / map.len() as f64;
    let deviation = (mean - f64::from(x)) * 128.0;
    let mut again = Buf::zeros(&gpu, "weights in bf16", map.len()).unwrap();
    let OnDevice { op, settings, state, params, .. } = &device;
    op.draw(&mut Pass::default(), settings, state, params, Copy::Bf16(&mut again)).unwrap();
    assert!(again.read().unwrap() == rounded, "a copy that is made again has the bits of the update");
    assert!(deviation.abs() < 0.01, "{deviation}");
}
