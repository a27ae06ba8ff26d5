//! Self-attention of the reference: a whole sequence with its gradients, and token by token.

use super::{
    earlier::{
        attention::LogitBias,
        release::State,
        self_attention::{Projections, RopeTable, SelfAttention},
    },
    golden_files::{SEQUENCE, TOLERANCE, compare},
};
use neuropil_test_support::golden::Golden;

/// Compares the state of the keys after a run.
fn compare_state(file: &Golden, prefix: &str, s: &State, tolerance: f64) {
    let arrays = [
        ("C", &s.calcium),
        ("RRP", &s.rrp),
        ("RES", &s.reserve),
        ("PR", &s.primed),
        ("CL", &s.clamp),
        ("E", &s.energy),
        ("AMP", &s.amplitude),
    ];
    arrays.iter().for_each(|(name, got)| compare(file, &format!("{prefix}{name}"), got, tolerance));
    compare(file, &format!("{prefix}BUF"), &vec![0.0; s.calcium.len()], 0.0);
}

/// A layer with 4 heads of 8 features that selects 8 keys; in file 26 without release.
pub fn check(file: &Golden) {
    let shape = file.shape("x");
    let (sequences, tokens, width) = (shape[0], shape[1], shape[2]);
    let (heads, dim) = (file.shape("full_C")[1], 2 * file.shape("rope_cos")[2]);
    let is_enabled = !file.name.starts_with("26");
    let op = SelfAttention {
        width,
        heads,
        kv_heads: file.shape("w_k_proj__weight")[0] / dim,
        bias: LogitBias { is_enabled, ..LogitBias::new(8) },
    };
    let table = RopeTable { cos: file.get("rope_cos").to_vec(), sin: file.get("rope_sin").to_vec() };
    let own = RopeTable::new(file.shape("rope_cos")[1], dim, 1e4);
    compare(file, "rope_cos", &own.cos, 0.0);
    compare(file, "rope_sin", &own.sin, 0.0);
    let get = |name: &str| file.get(&format!("w_{name}_proj__weight")).to_vec();
    let w = Projections { q: get("q"), k: get("k"), v: get("v"), o: get("o") };
    let x = file.get("x");

    let (mut memory, mut ema) = (op.memory(sequences), file.one("w_pre__ema_e"));
    let (y, saved) = op.forward(x, &w, &table, &mut memory, &mut ema);
    compare(file, "y_full", &y, TOLERANCE);
    compare(file, "ema_after_full", &[ema], TOLERANCE);
    compare_state(file, "full_", &memory.state, TOLERANCE);
    let (dx, dw) = op.backward(&w, &table, &saved, file.get("R"));
    compare(file, "grad_x", &dx, TOLERANCE);
    for (name, got) in [("q", dw.q), ("k", dw.k), ("v", dw.v), ("o", dw.o)] {
        compare(file, &format!("grad_{name}_proj__weight"), &got, TOLERANCE);
    }

    let (mut memory, mut ema) = (op.memory(sequences), file.one("w_pre__ema_e"));
    let (mut y, mut means) = (vec![0.0; x.len()], vec![]);
    for t in 0..tokens {
        let at = |b: usize| (b * tokens + t) * width..(b * tokens + t + 1) * width;
        let token: Vec<f64> = (0..sequences).flat_map(|b| x[at(b)].to_vec()).collect();
        let (out, _) = op.forward(&token, &w, &table, &mut memory, &mut ema);
        (0..sequences).for_each(|b| y[at(b)].copy_from_slice(&out[b * width..(b + 1) * width]));
        means.push(ema);
    }
    compare(file, "y_decode", &y, SEQUENCE);
    compare(file, "ema_decode", &means, SEQUENCE);
    compare_state(file, "decode_", &memory.state, SEQUENCE);
    compare(file, "decode_DELAY", &memory.state.delay.concat(), SEQUENCE);
}
