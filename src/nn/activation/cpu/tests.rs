use super::*;
use crate::nn::testing::{derivative_error, numbers};

#[test]
fn gradients_are_finite_differences() {
    for act in Activation::ALL {
        for (rows, columns) in [(1, 1), (3, 7), (2, 33)] {
            // Keeps away from the kink of ReLU.
            let x: Vec<f64> =
                numbers::<f64>(rows * columns * act.inputs(), 1).iter().map(|x| 4.0 * x + 0.01 * x.signum()).collect();
            let dy = numbers::<f64>(rows * columns, 2);
            let mut dx = vec![f64::NAN; x.len()];
            backward(act, rows, columns, &x, &dy, &mut dx).expect("it fits");
            let run = |x: &[f64]| {
                let mut y = vec![f64::NAN; rows * columns];
                forward(act, rows, columns, x, &mut y).expect("it fits");
                y.iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>()
            };
            let error = derivative_error(&x, &dx, run);
            assert!(error < 1e-6, "{act:?}, {rows} × {columns}: {error:.1e}");
        }
    }
}

/// Compares f32 with f64, relative to the value, so that the tails are checked too.
#[test]
fn single_precision_is_rounded_once() {
    for act in [Activation::GeluTanh, Activation::GeluErf] {
        let x: Vec<f32> = (-900..900).map(|i| i as f32 * 0.01).collect();
        let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        let (mut y, mut want) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        forward(act, 1, x.len(), &x, &mut y).expect("it fits");
        forward(act, 1, x.len(), &wide, &mut want).expect("it fits");
        for ((x, y), want) in x.iter().zip(&y).zip(&want) {
            assert!((f64::from(*y) - want).abs() <= 6.1e-8 * want.abs() + 1e-38, "{act:?}({x}) = {y}, not {want}");
        }
        let mut far = [0.0_f32; 3];
        forward(act, 1, 3, &[-1e30, -1000.0, 1e30], &mut far).expect("it fits");
        assert_eq!(far, [0.0, 0.0, 1e30]);
        backward(act, 1, 3, &[-1e30, -1000.0, 1e30], &[1.0; 3], &mut far).expect("it fits");
        assert_eq!(far, [0.0, 0.0, 1.0]);
    }
}

#[test]
fn threads_change_no_bit_and_lengths_are_checked() {
    let (rows, columns) = (50, 999);
    let x = numbers::<f32>(2 * rows * columns, 1);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut y = vec![0.0; rows * columns];
        pool.install(|| forward(Activation::SwiGlu, rows, columns, &x, &mut y)).expect("it fits");
        y
    };
    assert!(with(1) == with(3));
    let why = forward(Activation::SwiGlu, 1, 2, &x[..2], &mut [0.0; 2]).expect_err("too short");
    assert_eq!(why.to_string(), "the input of an activation needs 4 elements, and its buffer has 2");
    forward::<f32>(Activation::SwiGlu, 3, 0, &[], &mut []).expect("nothing to do");
}
