//! Which tokens a model on a GPU sees: later ones and padding change no bit, packed sequences are padded ones, and a cache
//! predicts as a whole sequence does.

use super::{
    cuda::{OnDevice, worst},
    model::MODELS,
    small::{self, Text},
};
use crate::device::gpu;
use neuropil::{
    gpu::Pass,
    kinds::transformer::{
        backend::{Batch, Lengths, Site},
        model::Config,
    },
    sim::Progress,
};

/// A small model, and one whose heads and length are those of the tensor-core kernels.
const SHAPES: [[&str; 5]; 2] = [
    ["model.layers=2", "model.heads=3", "model.width=48", "model.context=24", "training.batch=4"],
    ["model.layers=2", "model.heads=2", "model.width=128", "model.context=200", "training.batch=4"],
];

fn device(
    gpu: &std::sync::Arc<neuropil::gpu::Gpu>,
    shape: &[&str],
    set: &[&str],
    precision: &str,
) -> (OnDevice, Config) {
    let precision = format!("compute.precision={precision}");
    let params = small::params(&[shape, set, &[&*precision]].concat());
    let config = Config::new(&params, 37).expect("a model");
    (OnDevice::like(gpu, &params, &small::trainer::<f32>(&config)), config)
}

/// Loss per token.
fn losses(device: &mut OnDevice, batch: Batch<'_>) -> Vec<f32> {
    let mut losses = vec![f32::NAN; batch.n_tokens()];
    device.backend.evaluate(&[batch], &mut losses, &mut Pass::default()).expect("the device");
    losses
}

/// 0x5E6F70
#[test]
fn cuda_later_tokens_change_no_bit_of_earlier_ones() {
    let Some(gpu) = gpu() else { return };
    for shape in &SHAPES {
        for set in MODELS.iter().filter(|set| !set.contains(&"mask.causal=false")) {
            for precision in ["F32", "F16", "Bf16"] {
                let (mut device, config) = device(&gpu, shape, set, precision);
                let (n, cut) = (config.context, config.context * 5 / 9);
                let text = Text::new(2, n, 37, 3);
                let mut other = text.clone();
                other.tokens[cut] = (other.tokens[cut] + 5) % 37;
                other.tokens[cut + 4..n].iter_mut().for_each(|t| *t = (*t + 11) % 37);
                let (before, after) = (losses(&mut device, text.batch()), losses(&mut device, other.batch()));
                assert!(before[..cut] == after[..cut], "{set:?} {precision}");
                assert!(before[cut] != after[cut] && before[n..] == after[n..], "{set:?} {precision}");
                let stream = |text: &Text| {
                    let site = Site::Residual(config.layers);
                    device.backend.inspect(&text.tokens[..n], site, &Progress::default()).expect("it fits")
                };
                let logits = |text: &Text| {
                    let mut decoder = device.backend.decoder().expect("free");
                    decoder.push(&text.tokens[..n]).expect("it fits").to_vec()
                };
                assert!(
                    stream(&text)[..cut * config.width] == stream(&other)[..cut * config.width],
                    "{set:?} {precision}"
                );
                let end = cut * config.padded_vocab();
                assert!(logits(&text)[..end] == logits(&other)[..end], "{set:?} {precision}");
            }
        }
    }
}

/// 0x5E6F70: losses from the logits of a cache are those of the whole sequence.
#[test]
fn cuda_a_cache_predicts_as_a_whole_sequence_does() {
    let Some(gpu) = gpu() else { return };
    for shape in &SHAPES {
        for set in &MODELS[..4] {
            let (mut device, config) = device(&gpu, shape, set, "F32");
            let n = config.context;
            let text = Text::new(1, n, 37, 4);
            let want = losses(&mut device, text.batch());
            for parts in [vec![1; n], vec![n / 2, 1, 1, n - n / 2 - 2]] {
                let mut decoder = device.backend.decoder().expect("free");
                let (mut got, mut at) = (vec![], 0);
                for part in parts {
                    let logits = decoder.push(&text.tokens[at..at + part]).expect("it fits");
                    for (row, target) in logits.chunks(config.padded_vocab()).zip(&text.targets[at..]) {
                        let row = &row[..config.vocab];
                        let sum: f64 = row.iter().map(|z| f64::from(*z).exp()).sum();
                        got.push(sum.ln() - f64::from(row[*target as usize]));
                    }
                    at += part;
                }
                let want: Vec<f64> = want.iter().map(|x| f64::from(*x)).collect();
                let off = crate::nn::golden_files::error(&got, &want);
                assert!(off < 1e-5, "{set:?}: {off:.1e}");
            }
        }
    }
}

/// 0x6F7081: other tokens and targets in padding: the same bits of the loss and of every gradient; packed sequences within the
/// rounding of sums over tokens.
#[test]
fn cuda_padding_changes_no_bit_and_packed_sequences_are_padded_ones() {
    let Some(gpu) = gpu() else { return };
    for shape in &SHAPES {
        for set in MODELS {
            let (mut device, config) = device(&gpu, shape, set, "F32");
            let n = config.context;
            let lens = [n, n * 3 / 8, 0, n * 5 / 8].map(|len| len as i32);
            let mut text = Text::new(4, n, 37, 6);
            let (loss, gradient) = device.gradients(&[text.with(Lengths::Padded(&lens))], 0.0);
            for (s, len) in lens.iter().enumerate() {
                let range = s * n + *len as usize..(s + 1) * n;
                // Each token stays rare: the gradient of a frequent one is summed in chunks of its places, padding among them.
                text.tokens[range.clone()].iter_mut().for_each(|t| *t = (*t + 5) % 37);
                text.targets[range].fill(3);
            }
            let other = device.gradients(&[text.with(Lengths::Padded(&lens))], 0.0);
            assert!((loss, &gradient) == (other.0, &other.1), "{set:?}");
            let is_kept = |i: &usize| ((i % n) as i32) < lens[i / n];
            let packed = Text {
                sequences: 2,
                seq_len: n,
                tokens: (0..4 * n).filter(is_kept).map(|i| text.tokens[i]).collect(),
                targets: (0..4 * n).filter(is_kept).map(|i| text.targets[i]).collect(),
            };
            let mut offsets = vec![0];
            offsets.extend(lens.iter().scan(0, |end, len| {
                *end += len;
                Some(*end)
            }));
            let (packed_loss, packed_gradient) = device.gradients(&[packed.with(Lengths::Packed(&offsets))], 0.0);
            let want: Vec<f64> = gradient.iter().map(|g| f64::from(*g)).collect();
            let (off, (error, view)) =
                ((packed_loss / loss - 1.0).abs(), worst(&device.layout, &packed_gradient, &want));
            assert!(off < 1e-6 && error < 5e-6, "{set:?}: {off:.1e} {error:.1e} at {view}");
        }
    }
}
