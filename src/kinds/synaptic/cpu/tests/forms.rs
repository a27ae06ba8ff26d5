//! Decoding equals the training pass token by token; reading changes no state.

use super::{Mode, batch, dynamics, logits, tiny, tokens, trainer};
use crate::{
    gpu::Pass,
    kinds::{
        language::{
            backend::{Batch, Decoder as _, Lengths},
            cpu::backend::CpuTrainer as _,
        },
        synaptic::{
            backend::Site,
            cpu::decoder::CpuDecoder,
            model::Config,
            presynaptic::{Edges, Release},
        },
    },
};

const MODES: [Mode; 4] = [Mode::Off, Mode::Static, Mode::Scan, Mode::TsodyksMarkram];

/// Computes the logits of a text that is pushed in chunks.
fn decoded(trainer: &super::Trainer<f32>, tokens: &[u32], piece: usize) -> Vec<f64> {
    let mut decoder = CpuDecoder::new(&trainer.network).expect("it fits");
    let pieces = tokens.chunks(piece);
    pieces.flat_map(|piece| decoder.push(piece).expect("it fits").to_vec()).map(f64::from).collect()
}

#[test]
fn decoding_in_pieces_of_any_length_is_the_form_of_training() {
    for (mode, edges) in MODES.map(|mode| (mode, Edges::All)).into_iter().chain([(Mode::Scan, Edges::TopK(5))]) {
        let config = tiny();
        let mut dynamics = dynamics(&config, mode);
        dynamics.presynaptic.edges = edges;
        dynamics.presynaptic.release = Release::Binomial { fraction: 0.5 };
        let trainer = trainer::<f32>(&config, &dynamics);
        let (tokens, _) = tokens(&config, 1, config.context, 21);
        let want = logits(&trainer.network, &tokens);
        for piece in [1, 5, 12] {
            for (a, b) in decoded(&trainer, &tokens, piece).iter().zip(&want) {
                assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{mode:?} {edges:?} {piece}: {a} {b}");
            }
        }
    }
}

#[test]
fn a_decoder_begins_again_when_it_is_cleared_and_refuses_more_than_the_context() {
    let config = tiny();
    let trainer = trainer::<f32>(&config, &dynamics(&config, Mode::Scan));
    let (tokens, _) = tokens(&config, 1, config.context, 22);
    let mut decoder = CpuDecoder::new(&trainer.network).expect("it fits");
    let first = decoder.push(&tokens[..7]).expect("it fits").to_vec();
    assert_eq!((decoder.len(), decoder.synapses(1, 3).n_keys()), (7, 7));
    assert!(decoder.push(&tokens).is_err());
    decoder.clear();
    assert_eq!(decoder.push(&tokens[..7]).expect("it fits"), first);
}

#[test]
fn losses_do_not_depend_on_later_tokens_nor_on_other_sequences() {
    let config = tiny();
    let mut trainer = trainer::<f64>(&config, &dynamics(&config, Mode::Scan));
    let (mut tokens, mut targets) = tokens(&config, 2, config.context, 23);
    let mut losses = |tokens: &[u32], targets: &[i32], lengths: Lengths<'_>| {
        let (mut losses, n) = (vec![0.0; tokens.len()], tokens.len());
        let batch = Batch { lengths, ..batch(2, tokens, targets) };
        trainer.evaluate(&batch, &mut losses, &mut Pass::default()).expect("it fits");
        assert_eq!(losses.len(), n);
        losses
    };
    let before = losses(&tokens, &targets, Lengths::Full);
    for token in &mut tokens[7..12] {
        *token = (*token + 1) % config.vocab as u32;
    }
    targets[20] = -1;
    let after = losses(&tokens, &targets, Lengths::Padded(&[9, 12]));
    assert_eq!((&before[..7], &before[12..20]), (&after[..7], &after[12..20]));
    assert!(after[9..12].iter().chain([&after[20]]).all(|loss| *loss == 0.0), "padding and what is not predicted");
    assert!(after[7] != before[7]);
}

#[test]
fn reading_and_scoring_change_nothing() {
    let config = tiny();
    let mut trainer = trainer::<f32>(&config, &dynamics(&config, Mode::Scan));
    let (tokens, targets) = tokens(&config, 2, config.context, 24);
    let (weights, routers) = (trainer.network.weights.clone(), trainer.network.routers.clone());
    let mut losses = vec![0.0; tokens.len()];
    for _ in 0..3 {
        trainer.evaluate(&batch(2, &tokens, &targets), &mut losses, &mut Pass::default()).expect("it fits");
        decoded(&trainer, &tokens[..12], 3);
        trainer.network.decisions(&tokens[..12], 1).expect("it fits");
    }
    assert!(trainer.network.weights == weights && trainer.network.routers == routers);
}

#[test]
fn activations_of_a_text_fit_together() {
    let config = tiny();
    let trainer = trainer::<f64>(&config, &dynamics(&config, Mode::Scan));
    let (network, n) = (&trainer.network, config.context);
    let (tokens, _) = tokens(&config, 1, n, 25);
    let at = |site| network.inspect(&tokens, site).expect("it fits");
    let (layer, head) = (1, 2);
    let [p, dots, bias] =
        [Site::Attention { layer, head }, Site::Drive { layer, head }, Site::Bias { layer, head }].map(at);
    let slope = network.dynamics.presynaptic.constants.bias.barrier / n as f64;
    for t in 0..n {
        let logit = |j: usize| dots[t * n + j] + bias[t * n + j] - slope * (t - j) as f64;
        let sum: f64 = (0..=t).map(|j| logit(j).exp()).sum();
        for j in 0..n {
            let want = if j > t { 0.0 } else { logit(j).exp() / sum };
            assert!((p[t * n + j] - want).abs() < 1e-12, "{t} {j}");
        }
    }
    for (site, columns) in [(Site::Residual(2), 16), (Site::AttentionOutput(0), 16), (Site::RouterInput(1), 16)] {
        assert_eq!(at(site)[..n * columns].len(), n * columns);
    }
    let routing = network.decisions(&tokens, layer).expect("it fits");
    assert_eq!(routing.counts.iter().sum::<u32>(), 24);
    assert!(network.inspect(&tokens, Site::Attention { layer: 2, head }).is_err());
    assert!(network.inspect(&tokens, Site::Drive { layer, head: 4 }).is_err());
    assert!(network.inspect(&[99], Site::Residual(0)).is_err());
}

/// A model without bias and barrier is a plain transformer.
#[test]
fn release_without_weight_is_no_release() {
    let config = Config { layers: 1, ..tiny() };
    let of = |mode| {
        let mut dynamics = dynamics(&config, mode);
        dynamics.presynaptic.constants.bias.lambda = 0.0;
        dynamics.presynaptic.constants.bias.barrier = 0.0;
        let trainer = trainer::<f64>(&config, &dynamics);
        logits(&trainer.network, &tokens(&config, 1, config.context, 26).0)
    };
    assert_eq!(of(Mode::Off), of(Mode::Scan));
}
