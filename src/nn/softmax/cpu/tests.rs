use super::*;
use crate::nn::{
    softmax::Bias,
    testing::{derivative_error, numbers},
};

const OP: Softmax = Softmax { batch: 2, heads: 3, q_len: 5, k_len: 7, scale: 0.7, causal: true };

fn run(op: &Softmax, x: &[f64], mask: Mask<&[f64], &[i32]>) -> (Vec<f64>, Vec<f64>) {
    let (mut y, mut lse) = (vec![f64::NAN; x.len()], vec![f64::NAN; op.n_rows()]);
    forward(op, x, mask, &mut y, &mut lse).expect("it fits");
    (y, lse)
}

#[test]
fn gradients_are_finite_differences() {
    let (q_lens, k_lens) = ([5, 3], [7, 4]);
    let bias = numbers::<f64>(3 * 5 * 7, 5);
    for causal in [false, true] {
        for has_mask in [false, true] {
            let op = Softmax { causal, ..OP };
            let mask = if has_mask {
                let bias = Bias { values: &bias[..], strides: [0, 35, 7, 1] };
                Mask { q_lens: Some(&q_lens[..]), k_lens: Some(&k_lens[..]), bias: Some(bias) }
            } else {
                Mask::default()
            };
            let (x, dy) = (numbers::<f64>(2 * 3 * 5 * 7, 1), numbers::<f64>(2 * 3 * 5 * 7, 2));
            let (y, _) = run(&op, &x, mask);
            let mut dx = vec![f64::NAN; x.len()];
            backward(&op, &y, &dy, &mut dx).expect("it fits");
            let f = |x: &[f64]| run(&op, x, mask).0.iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>();
            let error = derivative_error(&x, &dx, f);
            assert!(error < 1e-6, "causal {causal}, mask {has_mask}: {error:.1e}");
        }
    }
}

#[test]
fn keys_that_are_not_kept_have_no_effect() {
    let (q_lens, k_lens) = ([4, 0], [6, 5]);
    let mask = Mask { q_lens: Some(&q_lens[..]), k_lens: Some(&k_lens[..]), bias: None };
    let x = numbers::<f64>(2 * 3 * 5 * 7, 1);
    let (y, lse) = run(&OP, &x, mask);
    let mut garbage = x.clone();
    for (at, value) in garbage.iter_mut().enumerate() {
        let (b, i, j) = (at / 105, at / 7 % 5, at % 7);
        let n = OP.n_keys(i, q_lens[b] as usize, k_lens[b] as usize);
        assert_eq!(n, if b == 0 && i < 4 { i + 3 } else { 0 });
        if j >= n {
            assert_eq!(y[at], 0.0);
            *value = f64::NAN;
        }
    }
    assert_eq!(run(&OP, &garbage, mask), (y.clone(), lse.clone()));
    for (row, lse) in lse.iter().enumerate() {
        let sum: f64 = y[7 * row..][..7].iter().sum();
        let is_kept = row < 15 && row % 5 < 4;
        assert!(if is_kept {
            (sum - 1.0).abs() < 1e-14 && lse.is_finite()
        } else {
            sum == 0.0 && *lse == f64::NEG_INFINITY
        });
    }
    // Fully masked rows cause no NaN in gradients, whatever the incoming gradient.
    let mut dx = vec![7.0; x.len()];
    backward(&OP, &y, &vec![f64::NAN; x.len()], &mut dx).expect("it fits");
    assert!(dx[105..].iter().all(|dx| *dx == 0.0));
}

#[test]
fn a_bias_of_minus_infinity_masks() {
    let op = Softmax::rows(2, 3);
    let bias = [0.0, f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let mask = Mask { bias: Some(Bias { values: &bias[..], strides: [0, 0, 3, 1] }), ..Mask::default() };
    let (y, lse) = run(&op, &[1.0; 6], mask);
    assert_eq!(y, [0.5, 0.0, 0.5, 0.0, 0.0, 0.0]);
    assert_eq!((lse[0], lse[1]), (1.0 + 2.0_f64.ln(), f64::NEG_INFINITY));
    // The strides broadcast one value.
    let mask = Mask { bias: Some(Bias { values: &bias[..1], strides: [0; 4] }), ..Mask::default() };
    assert_eq!(run(&op, &[1.0; 6], mask).0[0], 1.0 / 3.0);
    let mask = Mask { bias: Some(Bias { values: &bias[..5], strides: [0, 0, 3, 1] }), ..Mask::default() };
    let why = forward(&op, &[1.0; 6], mask, &mut [0.0; 6], &mut [0.0; 2]).expect_err("too short");
    assert_eq!(why.to_string(), "the bias of a softmax needs 6 elements, and its buffer has 5");
}

#[test]
fn large_scores_do_not_overflow_and_nan_is_seen() {
    let (y, lse) = run(&Softmax::rows(1, 3), &[1e6, 1e6, -1e6], Mask::default());
    assert_eq!((y, lse), (vec![0.5, 0.5, 0.0], vec![1e6 + 2.0_f64.ln()]));
    let nan = |x: &[f64]| run(&Softmax::rows(1, 2), x, Mask::default());
    assert!([nan(&[f64::NAN; 2]), nan(&[1.0, f64::NAN])].iter().all(|(y, lse)| y[0].is_nan() && lse[0].is_nan()));
}
