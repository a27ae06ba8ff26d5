//! The model against itself: gradients, learning by heart, and what masks, batches, caches and parts promise.

use super::small::{self, HYPER, Text, config, gradients, gradients_with, trainer};
use neuropil::{
    gpu::Pass,
    kinds::{
        language::{cpu::layers::HostBatch, plan::BatchShape},
        transformer::{
            backend::{Decoder as _, Hyper, IGNORED, Lengths, MatrixUpdate, Outcome},
            cpu::{Trainer, decoder::CpuDecoder},
            model::Config,
        },
    },
    nn::real::Real,
};

/// Models that differ in everything that can be chosen.
pub(super) const MODELS: &[&[&str]] = &[
    &["model.positions=Rope(base: 1e4, layout: Half)", "model.bias=true"],
    &["model.positions=Rope(base: 500, layout: Interleaved)", "model.kv_heads=1", "model.norm=Rms"],
    &["model.positions=Learned", "model.placement=Post", "model.bias=true", "model.activation=GeluErf"],
    &["model.positions=Sinusoidal", "model.tied=false", "model.activation=SwiGlu", "mask.window=5"],
    &["model.positions=Learned", "model.activation=ReluSquared", "mask.causal=false", "model.scale=0.3"],
    &["model.activation=Relu", "model.placement=Post", "model.norm=Rms", "model.tied=false"],
];

fn logits<R: Real + Default>(trainer: &Trainer<R>, text: &Text) -> Vec<R> {
    let batch = HostBatch::full(BatchShape::full(text.sequences, text.seq_len), &text.tokens);
    trainer.network.logits(batch, None).expect("it fits")
}

/// Largest difference relative to the largest value.
fn off<R: Real>(got: &[R], want: &[R]) -> f64 {
    let of = |x: &[R]| x.iter().map(|x| x.f64()).collect::<Vec<f64>>();
    crate::nn::golden_files::error(&of(got), &of(want))
}

/// Every parameter's gradient is a finite difference, with dropout, of attention too, and padding.
#[test]
fn gradients_are_finite_differences() {
    for set in MODELS {
        let config = config(set, 37);
        let mut trainer = trainer::<f64>(&config);
        let text = Text::new(2, 11, 37, 1);
        let lens = [11, 6];
        let batch = text.with(Lengths::Padded(&lens));
        let dropout = [0.2, 0.3];
        gradients_with(&mut trainer, &[batch], dropout);
        let gradient = trainer.state.gradient.clone();
        let map = trainer.network.layout.map.clone();
        let scale = gradient.iter().fold(0.0_f64, |most, g| most.max(g.abs()));
        for (i, view) in map.views().enumerate() {
            for k in 0..4 {
                let at = view.start + (k * 7919 + i * 31) % view.len();
                let (old, h) = (trainer.network.weights[at], 1e-5);
                let mut loss = |x: f64| {
                    trainer.network.weights[at] = x;
                    gradients_with(&mut trainer, &[batch], dropout)
                };
                let want = (loss(old + h) - loss(old - h)) / (2.0 * h);
                trainer.network.weights[at] = old;
                let error = (gradient[at] - want).abs() / scale;
                assert!(error < 1e-6, "{set:?} {} [{at}]: {} and {want}, {error:.1e}", view.name, gradient[at]);
            }
        }
    }
}

/// Both optimisers reach a loss near 0 on one batch.
#[test]
fn a_batch_is_learned_by_heart() {
    let text = Text::new(4, 16, 37, 2);
    for (matrices, rate) in [(MatrixUpdate::AdamW, 3e-3), (MatrixUpdate::Muon { momentum: 0.95, rate: 5.0 }, 3e-3)] {
        let mut trainer = trainer::<f32>(&config(&[], 37));
        let hyper = Hyper { learning_rate: rate, weight_decay: 0.0, matrices, ..HYPER };
        let losses: Vec<f32> = (0..150).map(|t| small::step(&mut trainer, t, &hyper, &[text.batch()]).0).collect();
        assert!(losses[149] < 0.05, "{matrices:?}: {}", losses[149]);
    }
}

#[test]
fn later_tokens_change_no_bit_of_earlier_logits() {
    for set in &MODELS[..4] {
        let trainer = trainer::<f32>(&config(set, 37));
        let text = Text::new(2, 24, 37, 3);
        let mut other = text.clone();
        let (cut, padded) = (13, trainer.network.config.padded_vocab());
        other.tokens[cut] = (other.tokens[cut] + 5) % 37;
        other.tokens[cut + 4..24].iter_mut().for_each(|t| *t = (*t + 11) % 37);
        let (before, after) = (logits(&trainer, &text), logits(&trainer, &other));
        assert_eq!(before[..cut * padded], after[..cut * padded], "{set:?}");
        assert_ne!(before[cut * padded..][..padded], after[cut * padded..][..padded], "{set:?}");
        assert_eq!(before[24 * padded..], after[24 * padded..], "another sequence");
    }
}

#[test]
fn a_cache_predicts_as_a_whole_sequence_does() {
    for set in &MODELS[..4] {
        let trainer = trainer::<f32>(&config(set, 37));
        let text = Text::new(1, 24, 37, 4);
        let want = logits(&trainer, &text);
        let padded = trainer.network.config.padded_vocab();
        for parts in [vec![24], vec![1; 24], vec![7, 1, 1, 9, 6]] {
            let mut decoder = CpuDecoder::new(&trainer.network).expect("memory");
            let (mut got, mut at) = (vec![], 0);
            for n in parts {
                got.extend_from_slice(decoder.push(&text.tokens[at..at + n]).expect("it fits"));
                at += n;
            }
            let error = off(&got, &want);
            assert!(error < 1e-5 && got.len() == 24 * padded, "{set:?}: {error:.1e}");
            assert!(decoder.push(&[0]).is_err(), "the context is full");
        }
    }
}

/// The gradient of a batch is the weighted mean of those of its sequences, and micro-batches are one batch.
#[test]
fn batches_are_means_of_sequences() {
    for n in [1, 2, 3, 7, 32] {
        let config = config(&["model.context=12"], 37);
        let mut trainer = trainer::<f32>(&config);
        let mut text = Text::new(n, 12, 37, 5);
        (0..n).for_each(|s| text.targets[s * 12 + 12 - s % 7..(s + 1) * 12].fill(IGNORED));
        let loss = gradients(&mut trainer, &[text.batch()], None);
        let (mut sum, mut gradient, mut total) = (0.0, vec![0.0_f64; trainer.state.gradient.len()], 0.0);
        for s in 0..n {
            let single = text.part(s..s + 1);
            let targets = single.batch().n_targets() as f64;
            sum += targets * gradients(&mut trainer, &[single.batch()], None);
            gradient.iter_mut().zip(&trainer.state.gradient).for_each(|(to, g)| *to += targets * f64::from(*g));
            total += targets;
        }
        let mean: Vec<f32> = gradient.iter().map(|g| (g / total) as f32).collect();
        let parts: Vec<Text> = (0..n).map(|s| text.part(s..s + 1)).collect();
        let micro: Vec<_> = parts.iter().map(Text::batch).collect();
        let accumulated = gradients(&mut trainer, &micro, None);
        let micro_gradient = trainer.state.gradient.clone();
        gradients(&mut trainer, &[text.batch()], None);
        let errors = [
            (loss - sum / total).abs() / loss,
            (loss - accumulated).abs() / loss,
            off(&trainer.state.gradient, &mean),
            off(&micro_gradient, &mean),
        ];
        let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        let of_parts = crate::nn::attention::relative_rms(&wide(&micro_gradient), &wide(&trainer.state.gradient));
        assert!(of_parts < 1e-6, "{of_parts:.1e}");
        assert!(errors[..2].iter().all(|e| *e < 1e-6) && errors[2..].iter().all(|e| *e < 2e-6), "{errors:?}");
    }
}

/// Padding changes nothing, and packed sequences are padded ones.
#[test]
fn packed_sequences_are_padded_ones() {
    for set in MODELS {
        let config = config(set, 37);
        let mut trainer = trainer::<f64>(&config);
        let (lens, seq_len) = ([24, 9, 0, 15], 24);
        let mut text = Text::new(4, seq_len, 37, 6);
        let padded = gradients(&mut trainer, &[text.with(Lengths::Padded(&lens))], None);
        let gradient = trainer.state.gradient.clone();
        for (s, len) in lens.iter().enumerate() {
            let range = s * seq_len + *len as usize..(s + 1) * seq_len;
            text.tokens[range.clone()].fill(36);
            text.targets[range].fill(3);
        }
        assert_eq!(gradients(&mut trainer, &[text.with(Lengths::Padded(&lens))], None), padded, "{set:?}");
        assert_eq!(trainer.state.gradient, gradient);
        let kept = |i: &usize| ((i % seq_len) as i32) < lens[i / seq_len];
        let packed = Text {
            sequences: 2,
            seq_len: 24,
            tokens: (0..96).filter(kept).map(|i| text.tokens[i]).collect(),
            targets: (0..96).filter(kept).map(|i| text.targets[i]).collect(),
        };
        let offsets = [0, 24, 33, 33, 48];
        let loss = gradients(&mut trainer, &[packed.with(Lengths::Packed(&offsets))], None);
        let error = off(&trainer.state.gradient, &gradient);
        assert!((loss - padded).abs() < 1e-12 && error < 1e-12, "{set:?}: {loss} {padded} {error:.1e}");
    }
}

/// A sequence is trained with the same dropout in any micro-batch; the loss scale of a batch does not depend on it.
#[test]
fn dropout_does_not_depend_on_micro_batches() {
    let config = config(&[], 37);
    let mut trainer = trainer::<f64>(&config);
    let text = Text::new(6, 12, 37, 7);
    let whole = gradients_with(&mut trainer, &[text.batch()], [0.3, 0.25]);
    let gradient = trainer.state.gradient.clone();
    let parts = [text.part(0..1), text.part(1..4), text.part(4..6)];
    let micro: Vec<_> = parts.iter().map(Text::batch).collect();
    let sum = gradients_with(&mut trainer, &micro, [0.3, 0.25]);
    assert!((whole - sum).abs() < 1e-12 && off(&trainer.state.gradient, &gradient) < 1e-12);
    for other in [[0.3, 0.0], [0.0, 0.25], [0.0; 2]] {
        let loss = gradients_with(&mut trainer, &[text.batch()], other);
        assert!((whole - loss).abs() > 1e-6, "each dropout matters: {other:?}");
    }
}

#[test]
fn threads_change_no_bit_and_a_stop_changes_nothing() {
    let config: Config = config(&["model.context=64", "model.bias=true"], 300);
    let text = Text::new(24, 64, 300, 8);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let mut trainer = trainer::<f32>(&config);
            let hyper = Hyper { dropout: 0.1, ..HYPER };
            let losses = [0, 1].map(|t| small::step(&mut trainer, t, &hyper, &[text.batch()]));
            (losses, trainer)
        })
    };
    let (losses, mut one) = run(1);
    for threads in [2, 3] {
        let (others, other) = run(threads);
        assert!(
            others == losses && other.network.weights == one.network.weights && other.state.v == one.state.v,
            "{threads}"
        );
    }
    let (weights, mut pass) = (one.network.weights.clone(), Pass::default());
    pass.stop.raise();
    let input = neuropil::kinds::transformer::backend::StepInput {
        step: 2,
        batches: &[text.batch()],
        hyper: &HYPER,
        frozen: &[],
        measures: false,
    };
    assert_eq!(one.step(&input, &mut pass).expect("it fits"), Outcome::Stopped);
    assert!(one.network.weights == weights && one.state.counters.updates == 2);
}

/// Gradients of frozen layers are left out; those of the others have the same bits.
#[test]
fn frozen_layers_cost_no_gradients_and_change_no_bit_of_the_others() {
    for (set, frozen) in [
        (MODELS[0], [true, false, true, false]),
        (MODELS[2], [true, true, false, true]),
        (MODELS[3], [false, true, true, true]),
        (MODELS[3], [true, true, true, false]),
    ] {
        let config = config(&[set, &["model.layers=2"]].concat(), 37);
        let (mut trainer, text) = (trainer::<f32>(&config), Text::new(3, 11, 37, 3));
        let mut gradients = |frozen: &[bool]| {
            let pass = &mut Pass::default();
            let loss = trainer.gradients(&[text.batch()], 5, [0.1, 0.1], frozen, pass).expect("it fits");
            (loss, trainer.state.gradient.clone())
        };
        let (whole, some) = (gradients(&[]), gradients(&frozen));
        assert_eq!(whole.0, some.0);
        let layout = trainer.network.layout.clone();
        let mut n_left_out = 0;
        for (i, view) in layout.map.views().enumerate() {
            let layer = layout.layer(neuropil::nn::parameters::ViewId(i)).index(2);
            let (a, b) = (&whole.1[view.range()], &some.1[view.range()]);
            let is_matrix = view.shape.len() == 2;
            match frozen[layer] {
                false => assert!(a == b, "{set:?} {}", view.name),
                true if is_matrix => {
                    assert!(b.iter().all(|g| *g == 0.0) && a.iter().any(|g| *g != 0.0), "{set:?} {}", view.name);
                    n_left_out += 1;
                }
                true => {}
            }
        }
        assert!(n_left_out > 0, "{set:?}");
        // Steps are those of an optimiser that leaves the frozen ones out.
        let input = neuropil::kinds::transformer::backend::StepInput {
            step: 5,
            batches: &[text.batch()],
            hyper: &HYPER,
            frozen: &frozen,
            measures: false,
        };
        let before = trainer.network.weights.clone();
        assert_eq!(trainer.step(&input, &mut Pass::default()).expect("it fits"), Outcome::Done);
        for (i, view) in layout.map.views().enumerate() {
            let layer = layout.layer(neuropil::nn::parameters::ViewId(i)).index(2);
            let is_same = before[view.range()] == trainer.network.weights[view.range()];
            assert_eq!(is_same, frozen[layer], "{set:?} {}", view.name);
        }
    }
}

#[test]
fn a_measured_step_is_split_into_operations() {
    for set in MODELS {
        let config = config(&[*set, &["model.layers=2"]].concat(), 37);
        let (mut trainer, text) = (trainer::<f32>(&config), Text::new(3, 11, 37, 3));
        let input = neuropil::kinds::transformer::backend::StepInput {
            step: 0,
            batches: &[text.batch()],
            hyper: &Hyper { dropout: 0.1, ..HYPER },
            frozen: &[],
            measures: true,
        };
        let mut pass = Pass::measuring();
        assert_eq!(trainer.step(&input, &mut pass).expect("it fits"), Outcome::Done);
        let launches = |name: &str| pass.timings.iter().find(|row| row.name == name).map_or(0, |row| row.launches);
        let blocks = ["qkv", "attention", "projection", "qkv backward", "attention backward", "projection backward"];
        assert_eq!(blocks.map(launches), [2; 6], "{set:?}: one of each per block");
        assert_eq!((launches("mlp"), launches("mlp backward")), (4, 2), "{set:?}: both matrices");
        let once = ["embed", "head and loss", "embed backward", "zero gradient", "optimiser"];
        assert_eq!(once.map(launches), [1; 5], "{set:?}");
        assert_eq!(launches("norm"), launches("norm backward"), "{set:?}");
        assert_eq!(launches("norms"), 2, "{set:?}: the weights before the step, and the norms after it");
        let tokens = pass.timings.iter().find(|row| row.name == "qkv").map(|row| row.items);
        assert_eq!(tokens, Some(2 * 33), "{set:?}");
    }
}
