//! The whole network in reference form.

use super::{
    earlier::{
        attention::LogitBias,
        network::{Block, ReferenceNetwork},
        self_attention::{Projections, RopeTable, SelfAttention},
    },
    golden_experts::{compare_linear, mixture},
    golden_files::{TOLERANCE, compare, index},
};
use neuropil_test_support::golden::Golden;

/// Keys that a query selects.
const TOP_K: usize = 8;

fn f64s(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

/// The network of a file.
pub fn network(file: &Golden) -> ReferenceNetwork {
    let defaults = index("default_config");
    assert_eq!(defaults["lambda_loge"].as_f64(), Some(1.0));
    let (tokens, width) = (file.shape("idx")[1], file.shape("w_wte__weight")[1]);
    let read = |name: &str| file.get(&format!("w_{name}")).to_vec();
    let head_dim = file.shape("w_h__0__attn__attn__k_proj__weight")[0];
    let bias = LogitBias::new(TOP_K);
    let block = |i: usize| {
        let norm = |name: &str| ["weight", "bias"].map(|part| read(&format!("h__{i}__{name}__{part}")));
        let get = |name: &str| read(&format!("h__{i}__attn__attn__{name}_proj__weight"));
        Block {
            norm_1: norm("norm1"),
            attention: SelfAttention { width, heads: width / head_dim, kv_heads: 1, bias },
            projections: Projections { q: get("q"), k: get("k"), v: get("v"), o: get("o") },
            ema: file.one(&format!("w_h__{i}__attn__attn__pre__ema_e")),
            norm_2: norm("norm2"),
            mixture: mixture(file, &format!("w_h__{i}__mlp__"), 2),
        }
    };
    ReferenceNetwork {
        wte: read("wte__weight"),
        blocks: (0..2).map(block).collect(),
        lm_head: read("lm_head__weight"),
        width,
        rope: RopeTable::new(tokens, head_dim, 1e4),
        aux_weight: 0.01,
    }
}

/// The file of the network: logits, loss and gradients.
pub fn check_network(file: &Golden) {
    let mut network = network(file);
    let [sequences, tokens] = file.shape("idx")[..] else { panic!("tokens") };
    let vocab = file.shape("w_wte__weight")[0];
    let ids: Vec<usize> = file.whole("idx").into_iter().map(|token| token as usize).collect();
    let targets: Vec<i32> = file.whole("targets").into_iter().map(|token| token as i32).collect();
    let got = network.gradients(&ids, &targets, sequences).expect("it fits");
    assert_eq!(got.logits.len(), sequences * tokens * vocab);
    compare(file, "logits", &got.logits, TOLERANCE);
    compare(file, "loss", &[got.loss], TOLERANCE);
    compare(file, "grad_wte__weight", &got.wte, TOLERANCE);
    compare(file, "grad_lm_head__weight", &got.lm_head, TOLERANCE);
    for (i, (norm_1, attention, norm_2, mixture)) in got.blocks.iter().enumerate() {
        let of = |name: &str, got: &[f64]| compare(file, &format!("grad_h__{i}__{name}"), got, TOLERANCE);
        for (name, [weight, bias]) in [("norm1", norm_1), ("norm2", norm_2)] {
            of(&format!("{name}__weight"), weight);
            of(&format!("{name}__bias"), bias);
        }
        for (name, got) in [("q", &attention.q), ("k", &attention.k), ("v", &attention.v), ("o", &attention.o)] {
            of(&format!("attn__attn__{name}_proj__weight"), got);
        }
        of("mlp__Xi", &f64s(&mixture.genome));
        of("mlp__router__weight", &f64s(&mixture.router));
        of("mlp__router_probe__weight", &f64s(&mixture.probe));
        for (fc, layer) in mixture.experts[0].iter().enumerate() {
            compare_linear(file, &format!("grad_h__{i}__mlp__experts__0__fc{}__", fc + 1), layer);
        }
    }
}
