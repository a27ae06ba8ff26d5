//! GELU against a NumPy reference in double precision.

use super::golden_files::{self, error};
use neuropil::nn::{
    activation::{self, Activation},
    real::Real,
};
use neuropil_test_support::golden::Golden;

fn run<R: Real>(act: Activation, x: &[f64], dy: &[f64]) -> [Vec<f64>; 2] {
    let [x, dy] = [x, dy].map(|x| x.iter().map(|x| R::of(*x)).collect::<Vec<R>>());
    let [mut y, mut dx] = [vec![R::nan(); x.len()], vec![R::nan(); x.len()]];
    activation::forward(act, 1, x.len(), &x, &mut y).expect("it fits");
    activation::backward(act, 1, x.len(), &x, &dy, &mut dx).expect("it fits");
    [y, dx].map(|x| x.into_iter().map(Real::f64).collect())
}

/// A file of `gelu`.
pub fn check(golden: &Golden) {
    let (x, dy) = (golden.get("x"), golden.get("dy"));
    for (act, name) in [(Activation::GeluTanh, "tanh"), (Activation::GeluErf, "erf")] {
        let (in_f64, in_f32) = (run::<f64>(act, x, dy), run::<f32>(act, x, dy));
        // The file has no gradient of the erf form: finite differences test it beside the code.
        let parts = if name == "tanh" { &["y", "dx"][..] } else { &["y"] };
        for (i, part) in parts.iter().enumerate() {
            let want = golden.get(&format!("{part}_{name}"));
            let (wide, single) = (error(&in_f64[i], want), error(&in_f32[i], want));
            println!("{} {part}_{name}: f64 {wide:.1e} of 1e-14, f32 {single:.1e} of 1e-7", golden.name);
            assert!(wide < 1e-14 && single < 1e-7, "{part}_{name}: f64 {wide:.1e}, f32 {single:.1e}");
        }
    }
}

#[test]
fn golden_transformer_gelu() {
    golden_files::read("gelu");
}
