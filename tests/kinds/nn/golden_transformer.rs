//! Operations of `nn` against a NumPy reference in double precision. Every file of a pattern is a case. A part of the
//! cases is committed; `NEUROPIL_GOLDEN=../shared/golden` reads all of them.

use super::golden_files::{self, expect};
use neuropil::{
    nn::gemm::{
        Epilogue, Gemm,
        cpu::{Element, gemm},
    },
    num::halves::{bf16, f16},
};
use neuropil_test_support::golden::Golden;

/// Root of the mean squared difference, relative to that of `want`.
fn relative_rms(got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let square: f64 = got.iter().zip(want).map(|(g, w)| (g - w) * (g - w)).sum();
    (square / want.iter().map(|w| w * w).sum::<f64>()).sqrt()
}

/// `C = A Bᵀ` with operands and results converted.
fn product<E: Element>(g: &Gemm<E::Sum>, a: &[f64], b: &[f64], convert: impl Fn(f64) -> E) -> Vec<f64>
where
    E::Sum: Into<f64>,
{
    let [a, b] = [a, b].map(|x| x.iter().map(|x| convert(*x)).collect::<Vec<E>>());
    let mut c = vec![E::Sum::default(); g.batch * g.m * g.n];
    gemm(g, &a, &b, &mut c, Epilogue::None).expect("the shapes fit");
    c.into_iter().map(Into::into).collect()
}

/// Tolerances (relative RMS) of `C`: f64 1e-14, f32 1e-6, 16-bit operands with exact references 1e-6 as well, since
/// f32 holds them and their products exactly.
fn check(golden: &Golden, [a, b, c]: &[String; 3]) {
    let (left, right) = (golden.shape(a), golden.shape(b));
    let [ref batch @ .., m, k] = left[..] else { panic!("{} {a} is no matrix", golden.name) };
    let (n, batch) = (right[right.len() - 2], batch.iter().product());
    let (a, b, want) = (golden.get(a), golden.get(b), golden.get(c));
    let expect = |name: &str, got: Vec<f64>, want: &[f64], most: f64| {
        expect(golden, &format!("{name}, {m} × {n} × {k}"), relative_rms(&got, want), most);
    };
    let wide = Gemm::<f64>::new(m, n, k).transposed_b().batch(batch);
    expect(&format!("{c} in f64"), product(&wide, a, b, |x| x), want, 1e-14);
    let g = Gemm::<f32>::new(m, n, k).transposed_b().batch(batch);
    expect(&format!("{c} in f32"), product(&g, a, b, |x| x as f32), want, 1e-6);
    for (format, round) in [("fp16in", f16 as fn(f32) -> f32), ("bf16in", bf16)] {
        let name = format!("{c}_{format}");
        if golden.has(&name) {
            expect(&name, product(&g, a, b, |x| round(x as f32)), golden.get(&name), 1e-6);
        }
    }
    if k > 64 {
        // A kernel that loses the last k passes no test here.
        let short = Gemm { k: k - 1, ..g };
        assert!(relative_rms(&product(&short, a, b, |x| x as f32), want) > 1e-3, "{} {c}", golden.name);
    }
}

/// A file of matrices: `A{i} Bt{i}ᵀ = C{i}`, and batches `Ab`, `Btb`, `Cb`.
pub fn check_file(golden: &Golden) {
    let names = |i: String| [format!("A{i}"), format!("Bt{i}"), format!("C{i}")];
    let has = |[a, ..]: &[String; 3]| golden.has(a);
    let cases: Vec<_> = (0..64).map(|i| names(i.to_string())).filter(has).collect();
    let batched = Some(names("b".to_owned())).filter(has);
    assert!(!cases.is_empty() || batched.is_some(), "{} has no matrices", golden.name);
    cases.iter().chain(&batched).for_each(|case| check(golden, case));
    if golden.has("shapes") {
        let sizes = |[a, b, _]: &[String; 3]| [golden.shape(a)[0], golden.shape(b)[0], golden.shape(a)[1]];
        let shapes: Vec<f64> = cases.iter().flat_map(sizes).map(|n| n as f64).collect();
        let mut listed = golden.get("shapes").chunks(3);
        assert!(shapes.chunks(3).all(|shape| listed.any(|s| s == shape)), "{} shapes: {shapes:?}", golden.name);
    }
}

#[test]
fn golden_transformer_gemm() {
    golden_files::read("gemm");
}
