//! The model on a GPU against the CPU's and against the NumPy reference: losses, gradients, masks, checkpointing, caches.

use super::{
    golden,
    model::MODELS,
    small::{self, HYPER, Text},
};
use crate::{
    device::gpu,
    nn::{attention::relative_rms, golden_files::error},
};
use neuropil::{
    gpu::{Gpu, Pass},
    kinds::transformer::{
        Params,
        backend::{
            Backend, Batch, Decoder as _, Hyper, IGNORED, Lengths, Outcome, Site, StateBuffer, StepInput, StepStats,
        },
        cpu::{Trainer, decoder::CpuDecoder},
        cuda,
        model::{Config, Layout},
    },
    nn::real::Real,
    sim::{BuildContext, Progress},
};
use neuropil_test_support::golden::all;
use neuropil_test_support::temp::TempFolder;
use std::sync::Arc;

/// Shapes of the models of these tests.
const SMALL: [&str; 4] = ["model.layers=2", "model.heads=3", "model.width=48", "model.context=24"];

/// A model on the device.
pub struct OnDevice {
    pub backend: Box<dyn Backend>,
    pub layout: Arc<Layout>,
}

impl OnDevice {
    /// Of these parameters, with zero weights.
    pub fn new(gpu: &Arc<Gpu>, params: &Params, config: &Config) -> Self {
        Self::in_context(gpu, params, config, &BuildContext { seed: 5, ..BuildContext::default() })
    }

    /// The same with a context.
    pub fn in_context(gpu: &Arc<Gpu>, params: &Params, config: &Config, context: &BuildContext) -> Self {
        let layout = Arc::new(Layout::new(config).expect("a model"));
        let backend = cuda::create(gpu, params, config, &layout, context).unwrap_or_else(|e| panic!("{e}"));
        Self { backend, layout }
    }

    /// With the weights of a model on the CPU.
    pub fn like<R: Real + Default>(gpu: &Arc<Gpu>, params: &Params, trainer: &Trainer<R>) -> Self {
        let mut new = Self::new(gpu, params, &trainer.network.config);
        let weights: Vec<f32> = trainer.network.weights.iter().map(|w| w.f64() as f32).collect();
        new.backend.write(StateBuffer::Weights, 0, &weights).expect("the device");
        new
    }

    pub fn step(&mut self, step: u64, hyper: &Hyper, batches: &[Batch<'_>]) -> StepStats {
        let input = StepInput { step, batches, hyper, frozen: &[], measures: false };
        let outcome = self.backend.step(&input, &mut Pass::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(outcome, Outcome::Done);
        let mut stats = vec![];
        self.backend.take_stats(&mut stats).unwrap_or_else(|e| panic!("{e}"));
        stats[stats.len() - 1]
    }

    pub fn state(&self, buffer: StateBuffer) -> Vec<f32> {
        let mut values = vec![0.0; self.layout.map.len()];
        self.backend.read(buffer, 0, &mut values).expect("the device");
        values
    }

    /// Mean loss, and gradients: first moments without memory of a step without clipping.
    pub fn gradients(&mut self, batches: &[Batch<'_>], dropout: f32) -> (f64, Vec<f32>) {
        self.gradients_with(batches, [dropout, 0.0])
    }

    /// The same with dropout of elements and of attention probabilities.
    pub fn gradients_with(&mut self, batches: &[Batch<'_>], [dropout, attention_dropout]: [f32; 2]) -> (f64, Vec<f32>) {
        let hyper = Hyper { learning_rate: 0.0, beta1: 0.0, clip: 0.0, dropout, attention_dropout, ..HYPER };
        let stats = self.step(7, &hyper, batches);
        assert!(!stats.is_skipped(), "{stats:?}");
        (stats.loss.into(), self.state(StateBuffer::FirstMoment))
    }
}

/// Largest difference over all parameters, each relative to its largest value or to a thousandth of the largest of all.
pub fn worst(layout: &Layout, got: &[f32], want: &[f64]) -> (f64, String) {
    let largest = |x: &[f64]| x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let all = largest(want);
    let of = |view: &neuropil::nn::parameters::View| {
        let want = &want[view.range()];
        let pairs = got[view.range()].iter().zip(want);
        let off = pairs.fold(0.0_f64, |most, (g, w)| {
            let d = (f64::from(*g) - w).abs();
            if d.is_nan() { f64::INFINITY } else { most.max(d) }
        });
        (off / largest(want).max(1e-3 * all), view.name.clone())
    };
    layout.map.views().map(of).fold((0.0, String::new()), |most, x| if x.0 > most.0 { x } else { most })
}

#[test]
fn golden_transformer_tiny_gpt_cuda() {
    let Some(gpu) = gpu() else { return };
    for file in all("transformer", "tiny_gpt") {
        let (config, text) = golden::model(&file);
        let trainer = golden::start::<f64>(&file, &config);
        for gemm in ["Auto", "Simt"] {
            let params = small::params(&[&format!("compute.gemm={gemm}"), "training.batch=3"]);
            let mut device = OnDevice::like(&gpu, &params, &trainer);
            let (loss, gradient) = device.gradients(&[text.batch()], 0.0);
            let off = (loss - file.one("loss")).abs() / file.one("loss");
            let mut worst = (0.0, String::new());
            for view in device.layout.map.views() {
                let want = file.get(&format!("G.{}", golden::theirs(&view.name)));
                let got: Vec<f64> = gradient[view.range()].iter().map(|g| f64::from(*g)).collect();
                assert!(got[want.len()..].iter().all(|g| *g == 0.0), "{}: gradients of padding", view.name);
                let off = error(&got[..want.len()], want);
                if off.is_nan() || off > worst.0 {
                    worst = (off, view.name.clone());
                }
            }
            assert!(off < 1e-6 && worst.0 < 5e-6, "{worst:?}");
            let mut device = OnDevice::like(&gpu, &params, &trainer);
            let losses: Vec<f64> = (0..file.get("losses20").len() as u64)
                .map(|t| f64::from(device.step(t, &HYPER, &[text.batch()]).loss))
                .collect();
            let off = error(&losses, file.get("losses20"));
            assert!(off < 1e-5);
        }
    }
}

/// Every model, precision, division of tokens, with dropout: loss and gradients of the CPU's definition in f64.
#[test]
fn cuda_gradients_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let precisions = [("F32", 2e-6, 2e-5), ("Tf32", 2e-3, 2e-2), ("Bf16", 1e-2, 1e-1), ("F16", 2e-3, 2e-2)];
    let mut failed = vec![];
    for set in MODELS {
        let base: Vec<&str> = SMALL.iter().chain(*set).copied().collect();
        let mut trainer = small::trainer::<f64>(&Config::new(&small::params(&base), 37).expect("a model"));
        // As the device stores them.
        trainer.network.weights.iter_mut().for_each(|w| *w = f64::from(*w as f32));
        let text = Text::new(4, 24, 37, 6);
        let (lens, offsets) = ([24, 9, 0, 15], [0, 24, 33, 33, 57, 81, 96]);
        for (name, lengths) in
            [("full", Lengths::Full), ("padded", Lengths::Padded(&lens)), ("packed", Lengths::Packed(&offsets))]
        {
            for dropout in [[0.0, 0.0], [0.2, 0.0], [0.0, 0.3], [0.1, 0.2]] {
                let batch = text.with(lengths);
                let want = small::gradients_with(&mut trainer, &[batch], dropout);
                for (precision, most_loss, most) in precisions {
                    // The derivative of ReLU jumps at 0: where rounding changes a sign, a gradient is another one.
                    if precision != "F32" && set.contains(&"model.activation=Relu") {
                        continue;
                    }
                    let precision_set = format!("compute.precision={precision}");
                    let set_all: Vec<&str> =
                        base.iter().copied().chain([&*precision_set, "training.batch=4"]).collect();
                    let mut device = OnDevice::like(&gpu, &small::params(&set_all), &trainer);
                    let (loss, gradient) = device.gradients_with(&[batch], dropout);
                    let off = (loss - want).abs() / want;
                    let (error, view) = worst(&device.layout, &gradient, &trainer.state.gradient);
                    if off.is_nan() || off > most_loss || error > most {
                        failed.push(format!("{set:?} {name} {dropout:?} {precision}: {off:.1e} {error:.1e} {view}"));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Merged passes over memory: gradients of the CPU, and the same bits whether blocks are computed again or not.
#[test]
fn cuda_fused_layers_compute_the_same() {
    let Some(gpu) = gpu() else { return };
    for set in MODELS {
        let base: Vec<&str> = SMALL.iter().chain(*set).copied().chain(["compute.fused=true"]).collect();
        let mut trainer = small::trainer::<f64>(&Config::new(&small::params(&base), 37).expect("a model"));
        trainer.network.weights.iter_mut().for_each(|w| *w = f64::from(*w as f32));
        let text = Text::new(4, 24, 37, 6);
        for dropout in [[0.0, 0.0], [0.1, 0.2]] {
            small::gradients_with(&mut trainer, &[text.batch()], dropout);
            for (precision, most) in [("F32", 2e-5), ("Bf16", 1e-1)] {
                if precision != "F32" && set.contains(&"model.activation=Relu") {
                    continue;
                }
                let mut modes = vec![];
                for mode in ["Nothing", "Norms", "Blocks"] {
                    let more = [format!("compute.precision={precision}"), format!("compute.checkpointing={mode}")];
                    let all: Vec<&str> = base.iter().copied().chain(more.iter().map(String::as_str)).collect();
                    let mut device = OnDevice::like(&gpu, &small::params(&all), &trainer);
                    let (_, gradient) = device.gradients_with(&[text.batch()], dropout);
                    let (error, view) = worst(&device.layout, &gradient, &trainer.state.gradient);
                    assert!(error < most, "{set:?} {precision} {mode}: {error:.1e} {view}");
                    modes.push(gradient);
                }
                assert!(modes[0] == modes[2], "{set:?} {precision}");
            }
        }
    }
}

/// Implementations are timed once; what repeats the run takes its choices, and has its bits.
#[test]
fn cuda_measured_multiplications_repeat() {
    let Some(gpu) = gpu() else { return };
    let base: Vec<&str> =
        SMALL.iter().copied().chain(["compute.gemm=Measured", "compute.precision=Bf16", "training.batch=4"]).collect();
    let params = small::params(&base);
    let trainer = small::trainer::<f32>(&Config::new(&params, 37).expect("a model"));
    let temp = TempFolder::new("measured");
    let cache = temp.join("cache");
    let text = Text::new(4, 24, 37, 6);
    let run = |context: &BuildContext| {
        let mut device = OnDevice::in_context(&gpu, &params, &trainer.network.config, context);
        let weights: Vec<f32> = trainer.network.weights.to_vec();
        device.backend.write(StateBuffer::Weights, 0, &weights).expect("the device");
        let losses: Vec<f32> = (0..5).map(|t| device.step(t, &HYPER, &[text.batch()]).loss).collect();
        (device.backend.execution().kernels, losses)
    };
    let first = BuildContext { seed: 5, cache: Some(cache.clone()), ..BuildContext::default() };
    let (kernels, losses) = run(&first);
    assert!(kernels.0.iter().filter(|(name, _)| name.starts_with("gemm ")).count() > 8, "{kernels:?}");
    assert!(cache.join("gemm.txt").exists());
    assert_eq!(run(&first), (kernels.clone(), losses.clone()), "from the cache");
    std::fs::remove_dir_all(&cache).expect("it is ours");
    let again = BuildContext { kernels: kernels.clone(), ..first };
    let (repeated, same) = run(&again);
    assert_eq!((repeated.difference_from(&kernels), same), (None, losses));
    assert!(!cache.exists(), "a repetition measures nothing");
}

#[test]
fn cuda_checkpointing_changes_no_bit() {
    let Some(gpu) = gpu() else { return };
    for set in &MODELS[..4] {
        for precision in ["F32", "Bf16"] {
            let base: Vec<&str> = SMALL.iter().chain(*set).copied().collect();
            let trainer = small::trainer::<f32>(&Config::new(&small::params(&base), 37).expect("a model"));
            let text = Text::new(4, 24, 37, 6);
            let (mut want, mut bytes) = (None, vec![]);
            for mode in ["Nothing", "Activation", "Norms", "Blocks"] {
                let more = [format!("compute.precision={precision}"), format!("compute.checkpointing={mode}")];
                let all: Vec<&str> = base.iter().copied().chain(more.iter().map(String::as_str)).collect();
                let mut device = OnDevice::like(&gpu, &small::params(&all), &trainer);
                let got = device.gradients_with(&[text.batch()], [0.1, 0.2]);
                bytes.push(
                    device.backend.memory().iter().filter(|b| b.owner == "activations").map(|b| b.bytes).sum::<u64>(),
                );
                assert!(*want.get_or_insert_with(|| got.clone()) == got, "{set:?} {precision} {mode}");
            }
            assert!(bytes.windows(2).all(|pair| pair[1] <= pair[0]), "{bytes:?}");
        }
    }
}

#[test]
fn cuda_batches_are_means_of_sequences() {
    let Some(gpu) = gpu() else { return };
    for n in [1, 2, 3, 7, 32] {
        let params = small::params(&[&SMALL[..], &["model.context=12", "training.batch=4"]].concat());
        let trainer = small::trainer::<f32>(&Config::new(&params, 37).expect("a model"));
        let mut device = OnDevice::like(&gpu, &params, &trainer);
        let mut text = Text::new(n, 12, 37, 5);
        (0..n).for_each(|s| text.targets[s * 12 + 12 - s % 7..(s + 1) * 12].fill(IGNORED));
        let (loss, gradient) = device.gradients(&[text.batch()], 0.0);
        let (mut sum, mut mean, mut total) = (0.0, vec![0.0_f64; gradient.len()], 0.0);
        for s in 0..n {
            let single = text.part(s..s + 1);
            let targets = single.batch().n_targets() as f64;
            let (loss, gradient) = device.gradients(&[single.batch()], 0.0);
            sum += targets * loss;
            mean.iter_mut().zip(&gradient).for_each(|(to, g)| *to += targets * f64::from(*g));
            total += targets;
        }
        mean.iter_mut().for_each(|g| *g /= total);
        let parts: Vec<Text> = (0..n).map(|s| text.part(s..s + 1)).collect();
        let micro: Vec<_> = parts.iter().map(Text::batch).collect();
        let (accumulated, micro_gradient) = device.gradients(&micro, 0.0);
        let losses = [(loss - sum / total).abs() / loss, (loss - accumulated).abs() / loss];
        let gradients = [&gradient, &micro_gradient].map(|g| worst(&device.layout, g, &mean).0);
        let off = relative_rms(&wide(&micro_gradient), &wide(&gradient));
        assert!(losses.iter().all(|e| *e < 1e-6) && gradients.iter().all(|e| *e < 1e-5), "{losses:?} {gradients:?}");
        assert!(off < 1e-6, "{off:.1e}");
    }
}

/// Losses per token, logits from a cache, activations and attention maps.
#[test]
fn cuda_predictions_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for set in &MODELS[..4] {
        for (precision, most) in [("F32", 1e-5), ("Bf16", 6e-2)] {
            let more = format!("compute.precision={precision}");
            let all: Vec<&str> = SMALL.iter().chain(*set).copied().chain([&*more]).collect();
            let params = small::params(&all);
            let trainer = small::trainer::<f32>(&Config::new(&params, 37).expect("a model"));
            let device = OnDevice::like(&gpu, &params, &trainer);
            let text = Text::new(1, 24, 37, 4);
            let mut reference = CpuDecoder::new(&trainer.network).expect("memory");
            let want: Vec<f64> = wide(reference.push(&text.tokens).expect("it fits"));
            let padded = trainer.network.config.padded_vocab();
            for parts in [vec![24], vec![1; 24], vec![7, 1, 1, 9, 6]] {
                let mut decoder = device.backend.decoder().expect("free");
                let (mut got, mut at) = (vec![], 0);
                for n in parts {
                    got.extend(wide(decoder.push(&text.tokens[at..at + n]).unwrap_or_else(|e| panic!("{e}"))));
                    at += n;
                }
                let off = error(&got, &want);
                assert!(off < most && got.len() == 24 * padded, "{set:?} {precision} {off:.1e}");
                assert!(decoder.push(&[0]).is_err(), "the context is full");
            }
            let sites = [Site::Residual(0), Site::Residual(2), Site::AttentionOutput(1), Site::Hidden(0)];
            let maps = [Site::Attention { layer: 1, head: 2 }];
            for site in sites.into_iter().chain(maps) {
                let got = device.backend.inspect(&text.tokens, site, &Progress::default()).expect("it fits");
                let sum: f32 = got.iter().sum();
                assert!(got.iter().all(|x| x.is_finite()), "{site:?}");
                if let Site::Attention { .. } = site {
                    assert!((sum - 24.0).abs() < 0.1, "rows of probabilities add up to 1: {sum}");
                }
            }
        }
    }
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}
