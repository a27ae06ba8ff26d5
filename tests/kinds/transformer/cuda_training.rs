//! Training on a GPU: the same bits again, resuming, backends of matrix multiplication, precision, memory, speed.

use super::{
    cuda::OnDevice,
    small::{self, HYPER, Text},
};
use crate::device::{gpu, gpu_alone};
use neuropil::{
    gpu::{Pass, Place},
    kinds::transformer::{
        GemmException, GemmMethod, LayerProduct, LinearLayer,
        backend::{Batch, Hyper, MatrixUpdate, Outcome, StateBuffer, StepInput},
        cuda,
        model::{Config, Layout},
    },
};

const MODEL: [&str; 6] = [
    "model.layers=2",
    "model.heads=3",
    "model.width=48",
    "model.context=24",
    "model.positions=Learned",
    "training.batch=8",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    MODEL.iter().copied().chain(more.iter().copied()).collect()
}

const STATES: [StateBuffer; 3] = StateBuffer::ALL;

/// Two runs, and a run that is saved and continued, have the same bits; captured steps have those of single launches.
#[test]
fn cuda_training_repeats_and_continues_bit_for_bit() {
    let Some(gpu) = gpu() else { return };
    for (precision, rounding) in [("F32", false), ("Bf16", false), ("Bf16", true), ("F16", false)] {
        for matrices in [MatrixUpdate::AdamW, MatrixUpdate::Muon { momentum: 0.95, rate: 5.0 }] {
            let more = format!("compute.precision={precision}");
            let rounding = format!("compute.stochastic_rounding={rounding}");
            let params = small::params(&with(&[&more, &rounding]));
            let trainer = small::trainer::<f32>(&Config::new(&params, 37).expect("a model"));
            let hyper = Hyper { dropout: 0.1, attention_dropout: 0.2, matrices, ..HYPER };
            let text = |t: u64| Text::new(8, 24, 37, t);
            let run = |device: &mut OnDevice, steps: std::ops::Range<u64>| -> Vec<f32> {
                steps
                    .map(|t| device.step(t, &hyper, &[text(t).part(0..4).batch(), text(t).part(4..8).batch()]).loss)
                    .collect()
            };
            let mut whole = OnDevice::like(&gpu, &params, &trainer);
            let losses = run(&mut whole, 0..10);
            let mut first = OnDevice::like(&gpu, &params, &trainer);
            let mut parts = run(&mut first, 0..5);
            let mut second = OnDevice::like(&gpu, &params, &trainer);
            for buffer in STATES {
                second.backend.write(buffer, 0, &first.state(buffer)).expect("the device");
            }
            let counters = first.backend.counters().expect("the device");
            second.backend.set_counters(counters).expect("the device");
            parts.extend(run(&mut second, 5..10));
            assert!(losses == parts && losses.iter().all(|x| x.is_finite()), "{losses:?} {parts:?}");
            for buffer in STATES {
                assert!(whole.state(buffer) == second.state(buffer), "{precision} {buffer:?}");
            }
            assert_eq!(whole.backend.counters().expect("the device"), second.backend.counters().expect("the device"));
            // Launch by launch, as while kernels are measured.
            let mut single = OnDevice::like(&gpu, &params, &trainer);
            for t in 0..10 {
                let (a, b) = (text(t).part(0..4), text(t).part(4..8));
                let input = StepInput {
                    step: t,
                    batches: &[a.batch(), b.batch()],
                    hyper: &hyper,
                    frozen: &[],
                    measures: false,
                };
                single.backend.step(&input, &mut Pass::measuring()).expect("the device");
            }
            assert!(single.state(StateBuffer::Weights) == whole.state(StateBuffer::Weights), "graphs change no bit");
        }
    }
}

/// The last bits of gradients may differ from run to run: a run says so in its manifest, and trains as it would without.
#[test]
fn cuda_gradients_by_atomics_train_and_are_named() {
    let Some(gpu) = gpu() else { return };
    let run = |more: &[&str]| {
        let params = small::params(&with(more));
        let trainer = small::trainer::<f32>(&Config::new(&params, 37).expect("a model"));
        let mut device = OnDevice::like(&gpu, &params, &trainer);
        let losses: Vec<f32> =
            (0..10).map(|t| device.step(t, &HYPER, &[Text::new(8, 24, 37, t).batch()]).loss).collect();
        let kernels = device.backend.execution().kernels;
        (losses, format!("{kernels:?}").contains("may differ"))
    };
    let (want, is_named) = run(&["compute.precision=Bf16"]);
    assert!(!is_named, "the default is deterministic");
    let (got, is_named) = run(&["compute.precision=Bf16", "compute.fast_nondeterministic=true"]);
    assert_eq!(is_named, gpu.capability == 90);
    for (got, want) in got.iter().zip(&want) {
        assert!((got - want).abs() < 2e-2, "{got} for {want}");
    }
    let (_, is_named) = run(&["compute.precision=F32", "compute.fast_nondeterministic=true"]);
    assert!(!is_named, "f32 has no tensor cores");
}

/// Layers that are frozen, too: a run that continues from the state after any step has the losses of the whole.
#[test]
fn cuda_stochastic_rounding_repeats_with_frozen_layers() {
    let Some(gpu) = gpu() else { return };
    let params = small::params(&with(&["compute.precision=Bf16", "compute.stochastic_rounding=true"]));
    let trainer = small::trainer::<f32>(&Config::new(&params, 37).expect("a model"));
    let nearest = small::params(&with(&["compute.precision=Bf16"]));
    for matrices in [MatrixUpdate::AdamW, MatrixUpdate::Muon { momentum: 0.95, rate: 5.0 }] {
        let hyper = Hyper { matrices, ..HYPER };
        let run = |device: &mut OnDevice, steps: std::ops::Range<u64>| -> Vec<f32> {
            let step = |t: u64| {
                let (text, frozen) = (Text::new(8, 24, 37, t), [t > 2, false, t > 3, false]);
                let batches = [text.batch()];
                let input = StepInput { step: t, batches: &batches, hyper: &hyper, frozen: &frozen, measures: false };
                device.backend.step(&input, &mut Pass::default()).expect("the device");
                let mut stats = vec![];
                device.backend.take_stats(&mut stats).expect("the device");
                stats[0].loss
            };
            steps.map(step).collect()
        };
        let whole = run(&mut OnDevice::like(&gpu, &params, &trainer), 0..8);
        assert!(whole != run(&mut OnDevice::like(&gpu, &nearest, &trainer), 0..8), "rounded otherwise");
        for cut in 1..8 {
            let mut first = OnDevice::like(&gpu, &params, &trainer);
            run(&mut first, 0..cut);
            let mut second = OnDevice::like(&gpu, &params, &trainer);
            for buffer in STATES {
                second.backend.write(buffer, 0, &first.state(buffer)).expect("the device");
            }
            let counters = first.backend.counters().expect("the device");
            second.backend.set_counters(counters).expect("the device");
            assert_eq!(run(&mut second, cut..8), whole[cut as usize..], "{matrices:?}, from step {cut}");
        }
    }
}

/// Step t of a stream of fresh batches with a rule to learn: memorised texts make loss curves chaotic.
fn ruled_text(t: u64) -> Text {
    let mut text = Text::new(8, 24, 37, t);
    text.targets = text.tokens.iter().map(|token| ((7 * token + 3) % 37) as i32).collect();
    text
}

/// 0x5E6F73: 100 steps on every backend of matrix multiplication, and in f32 on the CPU.
#[test]
fn cuda_loss_curves_do_not_depend_on_the_backend() {
    let Some(gpu) = gpu() else { return };
    let hyper = Hyper { learning_rate: 5e-4, ..HYPER };
    for (precision, most) in [("F32", 1e-4), ("Bf16", 2e-2)] {
        let mut curves = vec![];
        if precision == "F32" {
            let mut cpu = small::trainer::<f32>(&Config::new(&small::params(&MODEL), 37).expect("a model"));
            let step = |t| small::step(&mut cpu, t, &hyper, &[ruled_text(t).batch()]).0;
            curves.push(("Cpu", (0..100).map(step).collect::<Vec<f32>>()));
        }
        for gemm in ["Simt", "Mma", "Wmma", "Wgmma", "CublasLt", "Auto"] {
            if precision == "F32" && ["Mma", "Wmma", "Wgmma"].contains(&gemm) {
                continue; // tensor cores round f32 to tf32
            }
            let more = [format!("compute.precision={precision}"), format!("compute.gemm={gemm}")];
            let params = small::params(&with(&[&more[0], &more[1]]));
            let trainer = small::trainer::<f32>(&Config::new(&params, 37).expect("a model"));
            let mut device = OnDevice::like(&gpu, &params, &trainer);
            let mut losses = vec![];
            for t in 0..100_u64 {
                let text = ruled_text(t);
                let batch = [text.batch()];
                let input = StepInput { step: t, batches: &batch, hyper: &hyper, frozen: &[], measures: false };
                // A backend that this GPU lacks.
                if device.backend.step(&input, &mut Pass::default()).is_err() {
                    break;
                }
                let mut stats = vec![];
                device.backend.take_stats(&mut stats).expect("the device");
                losses.push(stats[0].loss);
            }
            if losses.len() == 100 {
                curves.push((gemm, losses));
            }
        }
        let (first, others) = curves.split_first().expect("SIMT");
        assert!(first.1[99] < 0.9 * first.1[0], "{:?}", first.1);
        for (gemm, losses) in others {
            let off = losses.iter().zip(&first.1).fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
            assert!(off < most, "{gemm}");
        }
    }
}

/// Multiplications of some layers by other implementations: the kernels of a measured step.
#[test]
fn cuda_call_sites_take_their_implementation() {
    let Some(gpu) = gpu() else { return };
    use {GemmMethod::*, LayerProduct::*, LinearLayer::*};
    let mut params = small::params(&with(&["compute.precision=Bf16", "compute.gemm=Simt"]));
    let config = Config::new(&params, 37).expect("a model");
    let trainer = small::trainer::<f32>(&config);
    let mut launches = |exceptions: &[(LinearLayer, LayerProduct, GemmMethod)], hyper: &Hyper| {
        let of = |(layer, product, gemm): &(LinearLayer, LayerProduct, GemmMethod)| GemmException {
            layer: *layer,
            product: *product,
            gemm: *gemm,
        };
        params.gemm_exceptions = exceptions.iter().map(of).collect();
        let mut device = OnDevice::like(&gpu, &params, &trainer);
        let text = Text::new(8, 24, 37, 1);
        let mut pass = Pass::measuring();
        let input = StepInput { step: 0, batches: &[text.batch()], hyper, frozen: &[], measures: false };
        device.backend.step(&input, &mut pass).expect("the device");
        let mut stats = vec![];
        device.backend.take_stats(&mut stats).expect("the device");
        pass.collect().expect("the device");
        let of =
            |names: &[&str]| pass.timings.iter().filter(|t| names.contains(&t.name)).map(|t| t.launches).sum::<u32>();
        [&["gemm_simt"][..], &["gemm_wmma"], &["gemm_large", "gemm_small"]].map(of)
    };
    // Three multiplications of each of four layers of two blocks, and of the head.
    assert_eq!(launches(&[], &HYPER), [27_u32, 0, 0]);
    assert_eq!(launches(&[(Head, Forward, Wmma)], &HYPER), [26, 1, 0]);
    assert_eq!(launches(&[(MlpUp, All, Mma), (AttentionQkv, BackwardInputs, Wmma)], &HYPER), [19, 2, 6]);
    let last_counts = [(MlpUp, All, Mma), (MlpUp, BackwardWeights, Simt)];
    assert_eq!(launches(&last_counts, &HYPER), [23, 0, 4]);
    // Muon multiplies three times in each of five iterations; queries, keys and values are matrices of their own.
    let muon = Hyper { matrices: MatrixUpdate::Muon { momentum: 0.95, rate: 5.0 }, ..HYPER };
    assert_eq!(launches(&[], &muon), [27 + 2 * 6 * 15, 0, 0]);
    assert_eq!(launches(&[(AttentionQkv, Muon, Mma)], &muon), [27 + 2 * 3 * 15, 0, 2 * 3 * 15]);
    assert_eq!(launches(&[(MlpUp, Muon, Mma), (MlpUp, All, Wmma)], &muon), [21 + 2 * 5 * 15, 6, 2 * 15]);
}

/// fp16 finds its loss scale; frozen layers stay; norms are those of the buffers; a stop changes nothing.
#[test]
fn cuda_steps_are_what_they_say() {
    let Some(gpu) = gpu() else { return };
    let params = small::params(&with(&["compute.precision=F16"]));
    let trainer = small::trainer::<f32>(&Config::new(&params, 37).expect("a model"));
    let mut device = OnDevice::like(&gpu, &params, &trainer);
    let text = Text::new(8, 24, 37, 1);
    let frozen = [true, false, true, false];
    let before = device.state(StateBuffer::Weights);
    let input = StepInput { step: 0, batches: &[text.batch()], hyper: &HYPER, frozen: &frozen, measures: true };
    let mut stats = vec![];
    for _ in 0..3 {
        device.backend.step(&input, &mut Pass::default()).expect("the device");
    }
    device.backend.take_stats(&mut stats).expect("the device");
    assert!(
        stats.len() == 3 && stats.iter().all(|s| s.loss.is_finite() && s.gradient.is_some_and(|g| g.loss_scale >= 1.0))
    );
    let (after, norms) = (device.state(StateBuffer::Weights), device.backend.norms(0).expect("the device"));
    for (i, view) in device.layout.map.views().enumerate() {
        let is_frozen = frozen[device.layout.layer(neuropil::nn::parameters::ViewId(i)).index(2)];
        assert_eq!(before[view.range()] == after[view.range()], is_frozen, "{}", view.name);
        let norm = after[view.range()].iter().map(|w| w * w).sum::<f32>().sqrt();
        assert!((norms[i].weight - norm).abs() <= 1e-3 * norm, "{} {:?} {norm}", view.name, norms[i]);
        assert_eq!(norms[i].update == 0.0, is_frozen, "{}", view.name);
        assert!(norms[i].gradient.is_finite());
    }
    let pass = &mut Pass::default();
    pass.stop.raise();
    assert_eq!(device.backend.step(&input, pass).expect("the device"), Outcome::Stopped);
    assert!(device.state(StateBuffer::Weights) == after);
}

#[test]
fn cuda_memory_is_predicted_and_given_back() {
    let Some(gpu) = gpu_alone() else { return };
    for (precision, mode) in [("F32", "Nothing"), ("Bf16", "Blocks")] {
        let more = [format!("compute.precision={precision}"), format!("compute.checkpointing={mode}")];
        let params = small::params(&with(&[&more[0], &more[1]]));
        let config = Config::new(&params, 37).expect("a model");
        let predicted = cuda::memory(&params, &config, &Layout::new(&config).expect("a model"));
        let trainer = small::trainer::<f32>(&config);
        let mut device = OnDevice::like(&gpu, &params, &trainer);
        let text = Text::new(8, 24, 37, 1);
        let batches: [Batch<'_>; 1] = [text.batch()];
        (0..3).for_each(|t| _ = device.step(t, &Hyper { dropout: 0.1, ..HYPER }, &batches));
        let allocations = gpu.allocations();
        (3..20).for_each(|t| _ = device.step(t, &Hyper { dropout: 0.1, ..HYPER }, &batches));
        assert_eq!(gpu.allocations(), allocations, "a step allocates nothing");
        let reported = device.backend.memory().on(Place::Device);
        assert_eq!(predicted.on(Place::Device), reported);
        drop(device);
    }
}
