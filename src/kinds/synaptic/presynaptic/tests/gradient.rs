//! Factors against finite differences.

use super::*;
use crate::kinds::synaptic::presynaptic::backward;

/// The state before the last query is a constant: its logits are changed, and only its own edges may answer.
#[test]
fn factor_is_the_derivative_of_the_bias() {
    let n = 18;
    let constants = Constants { lambda_loge: 0.8, ..Constants::default() };
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

/// At rest and drive 0 the factor is 3.0 (specification, 1.4 and 1.12), as `e` is much larger than the floor.
#[test]
fn factor_at_rest_is_that_of_the_specification() {
    let op = Presynaptic { constants: Constants::REFERENCE, ..op(1) };
    for (drive, want) in [(-2.0, 0.70), (-1.0, 1.61), (0.0, 3.04), (0.5, 3.19), (1.0, 1.99), (2.0, 0.13)] {
        let (logits, factor, _) = whole::<f64>(&op, 1, &[drive]);
        assert!((factor[0] - want).abs() < 0.006, "{drive}: {}", factor[0]);
        assert!(logits[0].is_finite());
    }
    let released = |drive: f64| driven(&op, &[drive])[0].released;
    for (drive, ln) in [(-2.0, -5.68), (-1.0, -4.57), (0.0, -2.26), (1.0, 0.69), (2.0, 1.47), (3.0, 1.51)] {
        assert!((released(drive).ln() - ln).abs() < 0.006, "{drive}: {}", released(drive).ln());
    }
}
