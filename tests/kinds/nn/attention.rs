//! Attention against a NumPy reference in double precision: every `attention_*.npz`.

use super::golden_files::{self, expect};
use neuropil::nn::{
    attention::{Attention, Gradients, HeadLayout, Inputs, Lengths, cpu},
    real::Real,
};
use neuropil_test_support::golden::{self, Golden};

/// Root of the mean squared difference, relative to that of `want`; infinities must be the same. Absolute where all that is
/// wanted is 0 but for rounding, as the gradient of queries that see one key.
pub fn relative_rms(got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let rms = |squares: f64| (squares / got.len().max(1) as f64).sqrt();
    let pairs = got.iter().zip(want).filter(|(g, w)| g != w || g.is_nan());
    let off = rms(pairs.map(|(g, w)| (g - w) * (g - w)).sum());
    let size = rms(want.iter().filter(|w| w.is_finite()).map(|w| w * w).sum());
    if size > 1e-9 { off / size } else { off }
}

/// A file: `[batch, heads, len, head_dim]` throughout.
pub struct Case<'a> {
    pub golden: &'a Golden,
    pub op: Attention,
    pub q_lengths: Vec<i32>,
    pub k_lengths: Vec<i32>,
}

impl<'a> Case<'a> {
    pub fn of(golden: &'a Golden) -> Self {
        let (q, k) = (golden.shape("q"), golden.shape("k"));
        let ([batch, heads, q_len, dim], [_, kv_heads, k_len, _]) = (&q[..], &k[..]) else {
            panic!("{}: four dimensions", golden.name)
        };
        let mut op = Attention::heads_first(*batch, (*q_len, *k_len), *heads, *kv_heads, *dim);
        op.causal = golden.has("causal") && golden.one("causal") != 0.0;
        op.window = golden.has("window").then(|| golden.one("window") as usize).filter(|w| *w > 0);
        if golden.has("scale") {
            op.scale = golden.one("scale") as f32;
        }
        let lengths = |name: &str| golden.whole(name).iter().map(|n| *n as i32).collect();
        let (q_lengths, k_lengths) = (lengths("len_q"), lengths("len_k"));
        Self { golden, op: op.lengths(Lengths::Padded), q_lengths, k_lengths }
    }

    pub fn tensor<R: Real>(&self, name: &str) -> Vec<R> {
        self.golden.get(name).iter().map(|x| R::of(*x)).collect()
    }
}

/// Errors of o, lse, dq, dk and dv.
fn errors<R: Real>(case: &Case<'_>) -> [f64; 5] {
    let (golden, op) = (case.golden, &case.op);
    let [q, k, v, d_o] = ["q", "k", "v", "dout"].map(|name| case.tensor::<R>(name));
    let inputs = Inputs::new(&q[..], &k[..], &v[..]).lengths(Some(&case.q_lengths[..]), Some(&case.k_lengths[..]));
    let nan = |n: usize| vec![R::of(f64::NAN); n];
    let (mut o, mut lse) = (nan(q.len()), nan(op.lse_len()));
    cpu::forward(op, &inputs, &mut o, &mut lse).expect("the shapes fit");
    let (mut dq, mut dk, mut dv) = (nan(q.len()), nan(k.len()), nan(v.len()));
    let gradients = Gradients::Separate { q: &mut dq[..], k: &mut dk[..], v: &mut dv[..] };
    cpu::backward(op, &inputs, (&o, &lse), &d_o, gradients, None).expect("the shapes fit");
    let wide = |x: &[R]| -> Vec<f64> { x.iter().map(|x| x.f64()).collect() };
    [("o", o), ("lse", lse), ("dq", dq), ("dk", dk), ("dv", dv)]
        .map(|(name, got)| relative_rms(&wide(&got), golden.get(name)))
}

/// Tolerances: o 1e-6, gradients 2e-6 in f32; in f64 the scale, a f32, differs by 3e-8 from that of the reference.
pub fn check(golden: &Golden) {
    let case = Case::of(golden);
    let limits = [("o", 1e-6), ("lse", 1e-6), ("dq", 2e-6), ("dk", 2e-6), ("dv", 2e-6)];
    let errors = errors::<f32>(&case).into_iter().zip(errors::<f64>(&case));
    for ((single, double), (name, limit)) in errors.zip(limits) {
        expect(golden, &format!("{name} in f32"), single, limit);
        expect(golden, &format!("{name} in f64"), double, 1e-7);
    }
    // The term of the backward pass that the reference keeps.
    let rows = golden.get("o").chunks_exact(case.op.head_dim).zip(golden.get("dout").chunks_exact(case.op.head_dim));
    let dots: Vec<f64> = rows.map(|(o, d_o)| o.iter().zip(d_o).map(|(o, d)| o * d).sum()).collect();
    expect(golden, "D", relative_rms(&dots, golden.get("D")), 1e-14);
}

#[test]
fn golden_transformer_attention() {
    golden_files::read("attention");
}

/// The same tensors as packed projections.
#[test]
fn golden_transformer_attention_of_packed_projections() {
    for golden in golden::all("transformer", "attention_") {
        let case = Case::of(&golden);
        let Attention { batch, heads, kv_heads, q_len, k_len, head_dim, causal, window, scale, .. } = case.op;
        if q_len != k_len || heads != kv_heads {
            continue;
        }
        let op = Attention::packed_qkv(batch, q_len, heads, kv_heads, head_dim).lengths(Lengths::Padded);
        let op = Attention { causal, window, scale, ..op };
        let place = |layout: &HeadLayout, tensor: &[f64], out: &mut [f64]| {
            for (row, x) in tensor.chunks_exact(head_dim).enumerate() {
                let (b, h, t) = (row / q_len / heads, row / q_len % heads, row % q_len);
                out[layout.offset + b * layout.batch + t * layout.token + h * layout.head..][..head_dim]
                    .copy_from_slice(x);
            }
        };
        let mut qkv = vec![0.0; batch * op.q.batch];
        for (layout, name) in [(op.q, "q"), (op.k, "k"), (op.v, "v")] {
            place(&layout, golden.get(name), &mut qkv);
        }
        let (mut o, mut lse) = (vec![0.0; batch * op.o.batch], vec![0.0; op.lse_len()]);
        let inputs = Inputs::packed(&qkv[..]).lengths(Some(&case.q_lengths[..]), Some(&case.k_lengths[..]));
        cpu::forward(&op, &inputs, &mut o, &mut lse).expect("the shapes fit");
        let mut want = vec![0.0; o.len()];
        place(&op.o, golden.get("o"), &mut want);
        assert!(relative_rms(&o, &want) < 1e-7);
    }
}
