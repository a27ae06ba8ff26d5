//! Whole models against the NumPy reference, in f64 and f32.

use super::small::{self, HYPER, config};
use crate::nn::golden_files::{error, expect, note};
use neuropil::{
    kinds::{
        language::{
            cpu::layers::HostBatch,
            plan::{BatchShape, Division},
        },
        transformer::{
            backend::{Batch, Lengths, Site},
            cpu::Trainer,
            model::{Config, Layout},
        },
    },
    nn::real::Real,
};
use neuropil_test_support::golden::Golden;
use std::sync::Arc;

/// Names of the reference for ours.
const NAMES: &[(&str, &str)] = &[
    ("ln1", "ln_1."),
    ("qkv", "attn.qkv."),
    ("proj", "attn.proj."),
    ("ln2", "ln_2."),
    ("fcproj", "mlp.proj."),
    ("fc", "mlp.fc."),
];

/// The reference's name of a parameter: `0.qkvw` of `h.0.attn.qkv.weight`.
pub(super) fn theirs(name: &str) -> String {
    let (stem, end) = name.rsplit_once('.').expect("weight or bias");
    let end = &end[..1];
    match stem {
        "wte" | "wpe" => return stem.to_owned(),
        "ln_f" => return format!("lnf{end}"),
        _ => {}
    }
    let mut parts = stem.splitn(3, '.');
    let (Some("h"), Some(block), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { panic!("{name}") };
    let known = NAMES.iter().find(|(_, ours)| ours.trim_end_matches('.') == rest).expect("a known parameter");
    format!("{block}.{}{end}", known.0)
}

/// Heads of queries: as the manifest says (`heads=3`), else of 16 features each.
fn heads(golden: &Golden, width: usize) -> usize {
    let note = note(golden).unwrap_or_default();
    let written = note.split_once("heads=").map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
    written.flatten().and_then(|digits| digits.parse().ok()).unwrap_or(width / 16)
}

/// The model of a file: from its shapes, and from the manifest and its name where they do not tell.
pub(super) fn model(golden: &Golden) -> (Config, Batch3) {
    let [vocab, width] = golden.shape("P.wte")[..] else { panic!("a table") };
    let [sequences, seq_len] = golden.shape("tokens")[..] else { panic!("sequences") };
    let layers = (0..).take_while(|l| golden.has(&format!("P.{l}.qkvw"))).count();
    let heads = heads(golden, width);
    let kv_heads = (golden.shape("P.0.qkvw")[0] * heads / width - heads) / 2;
    let positions = match (golden.has("P.wpe"), golden.name.contains("rope"), golden.name.contains("interleaved")) {
        (true, ..) => "model.positions=Learned",
        (_, true, false) => "model.positions=Rope(base: 1e4, layout: Half)",
        (_, true, true) => "model.positions=Rope(base: 1e4, layout: Interleaved)",
        _ => "model.positions=Sinusoidal",
    };
    let set = [
        format!("model.layers={layers}"),
        format!("model.heads={heads}"),
        format!("model.kv_heads={kv_heads}"),
        format!("model.width={width}"),
        format!("model.context={seq_len}"),
        format!("model.hidden_factor={}", golden.shape("P.0.fcw")[0] as f64 / width as f64),
        positions.to_owned(),
        "model.bias=true".to_owned(),
    ];
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let tokens = golden.whole("tokens").iter().map(|t| *t as u32).collect();
    let targets = golden.whole("targets").iter().map(|t| *t as i32).collect();
    let lens = golden.whole("lens").iter().map(|n| *n as i32).collect();
    (config(&set, vocab), Batch3 { text: small::Text { sequences, seq_len, tokens, targets }, lens })
}

/// Padded sequences.
pub(super) struct Batch3 {
    pub text: small::Text,
    pub lens: Vec<i32>,
}

impl Batch3 {
    pub fn batch(&self) -> Batch<'_> {
        self.text.with(Lengths::Padded(&self.lens))
    }
}

pub(super) fn start<R: Real + Default>(golden: &Golden, config: &Config) -> Trainer<R> {
    let layout = Arc::new(Layout::new(config).expect("a model"));
    let mut trainer = Trainer::<R>::new(config, &layout, 0).expect("memory");
    for view in layout.map.views() {
        let values = golden.get(&format!("P.{}", theirs(&view.name)));
        let to = &mut trainer.network.weights[view.range()];
        to.iter_mut().zip(values).for_each(|(to, x)| *to = R::of(*x));
    }
    trainer
}

/// Tolerances: activations and logits, loss, gradients, losses of 20 steps, norms of 20 steps.
struct Tolerances {
    activations: f64,
    loss: f64,
    gradient: f64,
    losses: f64,
    norms: f64,
}

fn check_in<R: Real + Default>(golden: &Golden, tolerances: &Tolerances, format: &str) {
    let (config, text) = model(golden);
    let mut trainer = start::<R>(golden, &config);
    check_activations(golden, &trainer, &text, tolerances.activations, format);

    let loss = small::gradients(&mut trainer, &[text.batch()], None);
    let want = golden.one("loss");
    expect(golden, &format!("loss in {format}, relative"), (loss - want).abs() / want, tolerances.loss);

    let layout = trainer.network.layout.clone();
    for view in layout.map.views() {
        let name = format!("G.{}", theirs(&view.name));
        let want = golden.get(&name);
        let got: Vec<f64> = trainer.state.gradient[view.range()].iter().map(|g| g.f64()).collect();
        assert!(got[want.len()..].iter().all(|g| *g == 0.0), "{} {name}: gradients of padding", golden.name);
        expect(golden, &format!("{name} in {format}"), error(&got[..want.len()], want), tolerances.gradient);
    }

    let (mut losses, mut norms) = (vec![], vec![]);
    for t in 0..golden.get("losses20").len() as u64 {
        let (loss, norm) = small::step(&mut trainer, t, &HYPER, &[text.batch()]);
        losses.push(f64::from(loss));
        norms.push(f64::from(norm));
    }
    for (name, got, most) in [("losses20", losses, tolerances.losses), ("gnorm20", norms, tolerances.norms)] {
        expect(golden, &format!("{name} in {format}"), error(&got, golden.get(name)), most);
    }
}

/// Logits and residual stream of tokens that are not padding.
fn check_activations<R: Real + Default>(golden: &Golden, trainer: &Trainer<R>, text: &Batch3, most: f64, format: &str) {
    let network = &trainer.network;
    let Batch3 { text, lens } = text;
    let (width, padded, vocab) = (network.config.width, network.config.padded_vocab(), network.config.vocab);
    let shape = BatchShape { sequences: text.sequences, seq_len: text.seq_len, division: Division::Padded };
    let batch = HostBatch { lengths: Some(lens), ..HostBatch::full(shape, &text.tokens) };
    let (n, logits) = (text.tokens.len(), network.logits(batch, None).expect("it fits"));
    let is_token = |i: &usize| ((i % text.seq_len) as i32) < lens[i / text.seq_len];
    let rows = |from: &[f64], row: usize, kept: usize| -> Vec<f64> {
        (0..n).filter(is_token).flat_map(|i| from[i * row..][..kept].to_vec()).collect()
    };
    let ours = |from: &[R]| from.iter().map(|x| x.f64()).collect::<Vec<f64>>();
    let compare = |name: &str, got: Vec<f64>, want: Vec<f64>| {
        expect(golden, &format!("{name} in {format}"), error(&got, &want), most);
    };
    compare("logits", rows(&ours(&logits), padded, vocab), rows(golden.get("logits"), vocab, vocab));
    for l in 0..=network.config.layers {
        let name = format!("A.x{l}");
        if golden.has(&name) {
            let x = network.read(batch, Site::Residual(l)).expect("it fits");
            compare(&name, rows(&ours(&x), width, width), rows(golden.get(&name), width, width));
        }
    }
}

/// One file.
pub fn check(golden: &Golden) {
    // Gradients and most activations are stored in f32. The updates multiply differences of rounding.
    let f64s = Tolerances { activations: 1e-7, loss: 1e-12, gradient: 1e-7, losses: 1e-6, norms: 1e-5 };
    let f32s = Tolerances { activations: 5e-6, loss: 1e-6, gradient: 5e-6, losses: 1e-5, norms: 1e-4 };
    check_in::<f64>(golden, &f64s, "f64");
    check_in::<f32>(golden, &f32s, "f32");
}

#[test]
fn golden_transformer_tiny_gpt() {
    crate::nn::golden_files::read("tiny_gpt");
}
