//! Softmax against a NumPy reference in double precision.

use super::golden_files::{self, error, expect};
use neuropil::nn::{
    real::Real,
    softmax::{self, Bias, Mask, Softmax},
};
use neuropil_test_support::golden::Golden;

/// The masked part of an archive: lengths of queries and keys, with or without causality, or edges that are kept.
pub struct Masked {
    pub op: Softmax,
    pub lens: Option<[Vec<i32>; 2]>,
    /// 0 or -infinity of an edge, `[batch, 1, q_len, k_len]`.
    pub bias: Option<Vec<f32>>,
}

impl Masked {
    /// Steps of the bias: heads have one mask.
    pub const fn strides(&self) -> [usize; 4] {
        let Softmax { q_len, k_len, .. } = self.op;
        [q_len * k_len, 0, k_len, 1]
    }
}

/// The masked part, if there is one.
pub fn masked(golden: &Golden) -> Option<Masked> {
    let [batch, heads, q_len, k_len] = golden.has("x").then(|| golden.shape("x"))?[..] else { panic!("four sizes") };
    let mask = golden.get("mask");
    let kept = |b: usize, i: usize| mask[(b * q_len + i) * k_len..][..k_len].iter().filter(|m| **m > 0.0).count();
    let q_lens: Vec<i32> = (0..batch).map(|b| (0..q_len).filter(|i| kept(b, *i) > 0).count() as i32).collect();
    let last = |b: usize| kept(b, (q_lens[b] as usize).saturating_sub(1)) as i32;
    let k_lens: Vec<i32> = (0..batch).map(last).collect();
    let op = |causal: bool| Softmax { batch, heads, q_len, k_len, scale: golden.one("scale"), causal };
    let fits = |op: &Softmax| {
        mask.iter().enumerate().all(|(at, keep)| {
            let (b, i, j) = (at / (q_len * k_len), at / k_len % q_len, at % k_len);
            (*keep > 0.0) == (j < op.n_keys(i, q_lens[b] as usize, k_lens[b] as usize))
        })
    };
    Some(match [op(true), op(false)].into_iter().find(fits) {
        Some(op) => Masked { op, lens: Some([q_lens, k_lens]), bias: None },
        None => {
            let bias = mask.iter().map(|keep| if *keep > 0.0 { 0.0 } else { f32::NEG_INFINITY }).collect();
            Masked { op: op(false), lens: None, bias: Some(bias) }
        }
    })
}

/// Probabilities, log-sum-exp, and the gradient of the scores.
fn run<R: Real>(masked: &Masked, x: &[f64], dy: &[f64]) -> [Vec<f64>; 3] {
    let op = &masked.op;
    let [x, dy] = [x, dy].map(|x| x.iter().map(|x| R::of(*x)).collect::<Vec<R>>());
    let (mut y, mut lse, mut dx) = (vec![R::nan(); x.len()], vec![R::nan(); op.n_rows()], vec![R::nan(); x.len()]);
    let lens = |i: usize| masked.lens.as_ref().map(|lens| &lens[i][..]);
    let values: Option<Vec<R>> = masked.bias.as_ref().map(|all| all.iter().map(|x| R::of(f64::from(*x))).collect());
    let bias = values.as_deref().map(|values| Bias { values, strides: masked.strides() });
    softmax::forward(op, &x, Mask { q_lens: lens(0), k_lens: lens(1), bias }, &mut y, &mut lse).expect("it fits");
    softmax::backward(op, &y, &dy, &mut dx).expect("it fits");
    [y, lse, dx].map(|x| x.into_iter().map(Real::f64).collect())
}

/// A file of `softmax`: scores with a mask, and rows without.
pub fn check(golden: &Golden) {
    let masked = masked(golden);
    if let Some(masked) = &masked {
        let [x, dy] = [golden.get("x"), golden.get("dy")];
        let (in_f64, in_f32) = (run::<f64>(masked, x, dy), run::<f32>(masked, x, dy));
        for (i, name) in ["y", "lse", "dx"].into_iter().enumerate() {
            // What the file has was rounded to f32.
            expect(golden, &format!("{name} in f64"), error(&in_f64[i], golden.get(name)), 1e-7);
            expect(golden, &format!("{name} in f32"), error(&in_f32[i], golden.get(name)), 1e-6);
        }
    }
    let rows: Vec<String> = golden.names().iter().filter_map(|n| Some(n.strip_suffix("_x")?.to_owned())).collect();
    assert!(masked.is_some() || !rows.is_empty(), "{} has no scores", golden.name);
    for name in rows {
        let (x, shape) = (golden.get(&format!("{name}_x")), golden.shape(&format!("{name}_x")));
        let rows = Masked { op: Softmax::rows(shape[0], shape[1]), lens: None, bias: None };
        let [y, lse, _] = run::<f32>(&rows, x, &vec![0.0; x.len()]);
        for (part, got) in [("y", y), ("lse", lse)] {
            let array = format!("{name}_{part}");
            expect(golden, &array, error(&got, golden.get(&array)), 1e-6);
        }
    }
}

#[test]
fn golden_transformer_softmax() {
    golden_files::read("softmax");
}
