//! Tests of factors against finite differences.

use super::*;
use crate::kinds::synaptic::presynaptic::backward;

/// The state before the last query is a constant: the test changes the logits of the last query, which may only affect
/// their own edges.
#[test]
fn factor_is_the_derivative_of_the_bias() {
    let n = 18;
    let constants = Constants::default().with(|c| c.bias.lambda = 0.8);
    for op in variants(n).into_iter().map(|op| Presynaptic { constants, ..op }) {
        for scale in [0.5, 2.0, 5.0] {
            let x: Vec<f64> = dots(11, n, n, scale);
            let (_, factor, _) = whole(&op, n, &x);
            let at = (n - 1) * n;
            for j in 0..n {
                let logit = |d: f64| {
                    let mut x = x.clone();
                    x[at + j] += d;
                    whole(&op, n, &x).0[at + j]
                };
                let h = 1e-5;
                let want = (logit(h) - logit(-h)) / (2.0 * h) - 1.0;
                // The bias of an edge that is not selected is a constant.
                let off = (factor[at + j] - want).abs() / (1.0 + want.abs());
                assert!(off < 1e-7, "{op:?} key {j}: {} {want}", factor[at + j]);
            }
        }
    }
}

#[test]
fn backward_multiplies_by_one_and_factor() {
    let (factor, dlogits) = ([0.0_f32, 3.0, -0.5], [1.0, 2.0, 4.0]);
    let mut ddots = [0.0; 3];
    backward(&factor, &dlogits, &mut ddots);
    assert_eq!(ddots, [1.0, 8.0, 2.0]);
}
