//! The synaptic model on a GPU against the CPU, which is the definition: decoding, activations.

use super::{
    cuda::{NEAR, near},
    cuda_training::{Pair, configs, dynamics},
};
use crate::device::gpu;
use neuropil::{gpu::Pass, kinds::synaptic::backend::Site, sim::Progress};

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
            pair.cpu.evaluate(&[batch], &mut want, &mut Pass::default()).expect("it is computed");
            pair.device.evaluate(&[batch], &mut got, &mut Pass::default()).unwrap_or_else(|why| panic!("{why}"));
            let what = format!("{:?}, C {}", dynamics.presynaptic.mode, config.width);
            near(&format!("{what}: losses"), &got, &want, NEAR);
            let (n, tokens) = (config.context, &text.0[..config.context]);
            let mut logits = vec![];
            for size in [n, 1, 5] {
                for backend in [&pair.cpu, &pair.device] {
                    let mut decoder = backend.decoder().expect("a decoder");
                    let parts = tokens.chunks(size);
                    logits.push(
                        parts.flat_map(|part| decoder.push(part).expect("it is read").to_vec()).collect::<Vec<f32>>(),
                    );
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
