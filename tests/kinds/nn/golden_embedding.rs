//! Embedding, positions and loss against a NumPy reference in double precision.

use super::golden_files::{self, expect};
use neuropil::nn::{
    cross_entropy::{self, CrossEntropy},
    embedding::{self, Embedding, sinusoid},
    real::Real,
    rope::{self, Rope, RopeLayout, RopeTable},
};
use neuropil_test_support::golden::Golden;
use std::collections::BTreeSet;

fn of<R: Real>(x: &[f64]) -> Vec<R> {
    x.iter().map(|x| R::of(*x)).collect()
}

/// Root of the mean squared difference, relative to that of `want`; and the largest difference.
fn errors<R: Real>(got: &[R], want: &[f64]) -> (f64, f64) {
    assert_eq!(got.len(), want.len());
    let differences = || got.iter().zip(want).map(|(g, w)| g.f64() - w);
    let square: f64 = differences().map(|d| d * d).sum();
    let largest = differences().map(f64::abs).fold(0.0, |a, b| if b <= a { a } else { b });
    ((square / want.iter().map(|w| w * w).sum::<f64>()).sqrt(), largest)
}

/// Forward equal bits; the gradient of the table 1e-6 in f32, 1e-14 in f64 (relative RMS).
pub fn check_embedding(golden: &Golden) {
    fn run<R: Real>(golden: &Golden, tolerance: f64) {
        let tokens: Vec<u32> = golden.whole("tokens").iter().map(|t| *t as u32).collect();
        let (table, seq_len) = (golden.shape("E"), golden.shape("tokens")[1]);
        let op = Embedding::new(tokens.len(), table[0], table[1], seq_len);
        let mut y = vec![R::zero(); tokens.len() * op.features];
        embedding::forward(&op, &tokens, &of(golden.get("E")), None, None, &mut y).expect("it fits");
        expect(golden, "y", errors(&y, golden.get("y")).1, 0.0);
        let mut de = vec![R::zero(); op.vocab * op.features];
        embedding::backward(&op, &tokens, &of::<R>(golden.get("dy")), &mut de, None, None).expect("it fits");
        expect(golden, "dE", errors(&de, golden.get("dE")).0, tolerance);
    }
    run::<f32>(golden, 1e-6);
    run::<f64>(golden, 1e-14);
}

/// The table rounded to f32: 6e-8 (largest difference); in f64 1e-10, a unit in the last place of an angle of 65,535.
pub fn check_sinusoid(golden: &Golden) {
    let positions: Vec<usize> = golden.whole("pos").iter().map(|p| *p as usize).collect();
    let len = positions.iter().max().expect("positions") + 1;
    let mut features: Vec<usize> = (1..4096).filter(|d| golden.has(&format!("pe_{d}"))).collect();
    let listed = golden.one("D") as usize;
    assert!(features.contains(&listed), "{} D: {listed} is none of {features:?}", golden.name);
    for d in features.drain(..) {
        let want = golden.get(&format!("pe_{d}"));
        let table = sinusoid::table(len, d, sinusoid::BASE);
        let rows: Vec<f64> = positions.iter().flat_map(|p| &table[p * d..(p + 1) * d]).copied().collect();
        expect(golden, &format!("pe_{d} in f64"), errors(&rows, want).1, 1e-10);
        expect(golden, &format!("pe_{d} in f32"), errors(&of::<f32>(&rows), want).1, 6e-8);
        let frequencies = format!("freq_{d}");
        if golden.has(&frequencies) {
            let got = sinusoid::frequencies(d, sinusoid::BASE);
            expect(golden, &frequencies, errors(&got, golden.get(&frequencies)).0, 1e-14);
        }
    }
}

/// Bases in the names of a file's arrays, at least one.
pub fn bases(golden: &Golden) -> BTreeSet<u64> {
    let base = |name: &String| name.split_once("_base")?.1.split('_').next()?.parse().ok();
    let bases: BTreeSet<u64> = golden.names().iter().filter_map(base).collect();
    assert!(!bases.is_empty(), "{} has no base", golden.name);
    bases
}

/// Rotated in f32: 2e-7, in f64: 1e-10 (relative RMS); the tables 6e-8 (largest difference); and back again.
pub fn check_rope(golden: &Golden) {
    fn run<R: Real>(golden: &Golden, tolerance: f64) {
        let positions: Vec<u32> = golden.whole("pos").iter().map(|p| *p as u32).collect();
        let shape = golden.shape("x");
        let (sequences, d) = (shape[0], shape[2]);
        let ids = positions.repeat(sequences);
        let len = *positions.iter().max().expect("positions") as usize + 1;
        for base in bases(golden) {
            let table = RopeTable::<R>::new(len, d, base as f64);
            for (name, values) in [("cos", &table.cos), ("sin", &table.sin)] {
                let name = format!("{name}_base{base}");
                if golden.has(&name) {
                    let at = |p: &u32| &values[*p as usize * table.half..][..table.half];
                    let rows: Vec<R> = positions.iter().flat_map(at).copied().collect();
                    expect(golden, &name, errors(&rows, golden.get(&name)).1, 6e-8);
                }
            }
            for (layout, name) in [(RopeLayout::Interleaved, "interleaved"), (RopeLayout::Half, "half")] {
                let name = format!("y_base{base}_{name}");
                if !golden.has(&name) {
                    continue;
                }
                let op = Rope::new(ids.len(), 1, d, positions.len(), layout);
                let mut x = of::<R>(golden.get("x"));
                rope::apply(&op, &table, Some(&ids), &mut x, false).expect("it fits");
                expect(golden, &name, errors(&x, golden.get(&name)).0, tolerance);
                rope::apply(&op, &table, Some(&ids), &mut x, true).expect("it fits");
                expect(golden, &format!("{name} and back"), errors(&x, golden.get("x")).0, tolerance);
            }
        }
    }
    run::<f32>(golden, 2e-7);
    run::<f64>(golden, 1e-10);
}

/// Losses 2e-6 (relative), gradients 1e-6 (relative RMS) in f32; 1e-7 and 1e-14 in f64, since the logits of row 5, near
/// 1,000, were rounded to f32 after its loss was computed. Padding gets exactly 0.
pub fn check_cross_entropy(golden: &Golden) {
    fn run<R: Real>(golden: &Golden, tolerances: [f64; 2]) {
        let targets: Vec<i32> = golden.whole("targets").iter().map(|t| *t as i32).collect();
        let (rows, padded) = (golden.shape("logits")[0], golden.shape("logits")[1]);
        let op = CrossEntropy { rows, vocab: golden.one("V") as usize, padded };
        let logits = of::<R>(golden.get("logits"));
        let (mut losses, mut lse) = (vec![R::zero(); rows], vec![R::zero(); rows]);
        cross_entropy::forward(&op, &logits, &targets, &mut losses, &mut lse).expect("it fits");
        let (sum, n) = cross_entropy::total(&losses, &targets);
        let relative = |x: f64, want: f64| (x / want - 1.0).abs();
        expect(golden, "loss", relative(sum / n as f64, golden.one("loss")), tolerances[0]);
        expect(golden, "losses", errors(&losses, golden.get("losses")).0, tolerances[0]);
        let (mut dlogits, mut again, mut lse_again) = (logits, losses.clone(), lse.clone());
        let scale = R::of(1.0 / n as f64);
        cross_entropy::backward(&op, &mut dlogits, &targets, scale, &mut again, &mut lse_again).expect("it fits");
        assert!(again == losses && lse_again == lse, "both passes compute the same losses");
        let (relative_rms, _) = errors(&dlogits, golden.get("dlogits"));
        expect(golden, "dlogits", relative_rms, tolerances[1]);
        assert!(dlogits.chunks(padded).all(|row| row[op.vocab..].iter().all(|x| *x == R::zero())));
    }
    run::<f32>(golden, [2e-6, 1e-6]);
    run::<f64>(golden, [1e-7, 1e-14]);
}

#[test]
fn golden_transformer_embedding() {
    golden_files::read("embedding");
}

#[test]
fn golden_transformer_sinusoid() {
    golden_files::read("sinusoid");
}

#[test]
fn golden_transformer_rope() {
    golden_files::read("rope");
}

#[test]
fn golden_transformer_cross_entropy() {
    golden_files::read("cross_entropy");
}
