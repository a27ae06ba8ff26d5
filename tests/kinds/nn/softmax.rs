//! Softmax against a NumPy reference in double precision.

use super::golden_files::{self, error};
use neuropil::nn::{
    real::Real,
    softmax::{self, Mask, Softmax},
};
use neuropil_test_support::golden::Golden;

/// Probabilities, log-sum-exp, and the gradient of the scores.
fn run<R: Real>(op: &Softmax, x: &[f64], lens: Option<[&[i32]; 2]>, dy: &[f64]) -> [Vec<f64>; 3] {
    let [x, dy] = [x, dy].map(|x| x.iter().map(|x| R::of(*x)).collect::<Vec<R>>());
    let (mut y, mut lse, mut dx) = (vec![R::nan(); x.len()], vec![R::nan(); op.n_rows()], vec![R::nan(); x.len()]);
    let mask = Mask { q_lens: lens.map(|l| l[0]), k_lens: lens.map(|l| l[1]), bias: None };
    softmax::forward(op, &x, mask, &mut y, &mut lse).expect("it fits");
    softmax::backward(op, &y, &dy, &mut dx).expect("it fits");
    [y, lse, dx].map(|x| x.into_iter().map(Real::f64).collect())
}

/// The masked part of an archive: its mask is the causal one of these lengths of queries and keys, which is checked.
pub fn masked(golden: &Golden) -> (Softmax, [Vec<i32>; 2]) {
    let shape = golden.shape("x");
    let [batch, heads, q_len, k_len] = shape[..] else { panic!("{shape:?}") };
    let op = Softmax { batch, heads, q_len, k_len, scale: golden.one("scale"), causal: true };
    let mask = golden.get("mask");
    let kept = |b: usize, i: usize| mask[(b * q_len + i) * k_len..][..k_len].iter().filter(|m| **m > 0.0).count();
    let q_lens: Vec<i32> = (0..batch).map(|b| (0..q_len).filter(|i| kept(b, *i) > 0).count() as i32).collect();
    let k_lens: Vec<i32> = (0..batch).map(|b| kept(b, q_lens[b] as usize - 1) as i32).collect();
    for (at, keep) in mask.iter().enumerate() {
        let (b, i, j) = (at / (q_len * k_len), at / k_len % q_len, at % k_len);
        assert_eq!(*keep > 0.0, j < op.n_keys(i, q_lens[b] as usize, k_lens[b] as usize));
    }
    (op, [q_lens, k_lens])
}

/// A file of `softmax`.
pub fn check(golden: &Golden) {
    let (op, lens) = masked(golden);
    let lens = Some([&lens[0][..], &lens[1]]);
    let want = [golden.get("y"), golden.get("lse"), golden.get("dx")];
    let in_f64 = run::<f64>(&op, golden.get("x"), lens, golden.get("dy"));
    let in_f32 = run::<f32>(&op, golden.get("x"), lens, golden.get("dy"));
    for (i, name) in ["y", "lse", "dx"].into_iter().enumerate() {
        // What the file has was rounded to f32.
        let (wide, single) = (error(&in_f64[i], want[i]), error(&in_f32[i], want[i]));
        println!("{} {name}: f64 {wide:.1e}, f32 {single:.1e}, tolerance 1e-6", golden.name);
        assert!(wide < 1e-7 && single < 1e-6, "{name}: {wide:.1e}, {single:.1e}");
    }
    let lengths: Vec<String> = golden.names().iter().filter_map(|n| Some(n.strip_suffix("_x")?.to_owned())).collect();
    assert!(lengths.len() >= 6, "{lengths:?}");
    for name in lengths {
        let x = golden.get(&format!("{name}_x"));
        let shape = golden.shape(&format!("{name}_x"));
        let op = Softmax::rows(shape[0], shape[1]);
        let [y, lse, _] = run::<f32>(&op, x, None, &vec![0.0; x.len()]);
        let [y, lse] = [(y, "y"), (lse, "lse")].map(|(got, part)| error(&got, golden.get(&format!("{name}_{part}"))));
        println!("{} {name}: y {y:.1e}, lse {lse:.1e}, tolerance 1e-6", golden.name);
        assert!(y < 1e-6 && lse < 1e-6, "{name}: y {y:.1e}, lse {lse:.1e}");
    }
}

#[test]
fn golden_transformer_softmax() {
    golden_files::read("softmax");
}
