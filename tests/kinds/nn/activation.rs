//! GELU against a NumPy reference in double precision.

use super::golden_files::{self, error, expect};
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
        for (i, part) in ["y", "dx"].into_iter().enumerate() {
            let array = format!("{part}_{name}");
            // The gradient of the erf form may be absent: finite differences test it beside the code.
            if array == "dx_erf" && !golden.has(&array) {
                continue;
            }
            let want = golden.get(&array);
            expect(golden, &format!("{array} in f64"), error(&in_f64[i], want), 1e-14);
            expect(golden, &format!("{array} in f32"), error(&in_f32[i], want), 1e-7);
        }
    }
}

#[test]
fn golden_transformer_gelu() {
    golden_files::read("gelu");
}
