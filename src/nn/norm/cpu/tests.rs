use super::*;
use crate::nn::testing::{derivative_error, numbers};

fn gradients(op: &Norm, x: &[f64], g: &[f64], b: Option<&[f64]>, dy: &[f64]) -> [Vec<f64>; 3] {
    let (mut y, mut stats) = (vec![0.0; x.len()], vec![0.0; 2 * op.rows]);
    forward(op, x, g, b, &mut y, &mut stats).expect("it fits");
    let [mut dx, mut dg, mut db] = [vec![0.0; x.len()], vec![0.0; g.len()], vec![0.0; g.len()]];
    backward(op, dy, x, g, &stats, &mut dx, &mut dg, b.is_some().then_some(&mut db)).expect("it fits");
    [dx, dg, db]
}

#[test]
fn gradients_are_finite_differences() {
    for (kind, has_bias) in
        [(NormKind::Layer, true), (NormKind::Layer, false), (NormKind::Rms, true), (NormKind::Rms, false)]
    {
        for (rows, columns) in [(1, 1), (3, 2), (5, 31), (67, 5)] {
            let op = Norm { rows, columns, eps: 1e-3, kind };
            let [x, dy] = [numbers::<f64>(rows * columns, 1), numbers(rows * columns, 2)];
            let [g, b] = [numbers::<f64>(columns, 3), numbers(columns, 4)];
            let bias = |b: &[f64]| has_bias.then(|| b.to_vec());
            let [dx, dg, db] = gradients(&op, &x, &g, bias(&b).as_deref(), &dy);
            let run = |x: &[f64], g: &[f64], b: &[f64]| {
                let (mut y, mut stats) = (vec![0.0; x.len()], vec![0.0; 2 * rows]);
                forward(&op, x, g, bias(b).as_deref(), &mut y, &mut stats).expect("it fits");
                y.iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>()
            };
            let errors = [
                derivative_error(&x, &dx, |x| run(x, &g, &b)),
                derivative_error(&g, &dg, |g| run(&x, g, &b)),
                if has_bias { derivative_error(&b, &db, |b| run(&x, &g, b)) } else { 0.0 },
            ];
            assert!(errors.iter().all(|e| *e < 1e-6), "{op:?}: {errors:?}");
        }
    }
}

#[test]
fn gradients_are_added_and_threads_change_no_bit() {
    let op = Norm { rows: 300, columns: 33, eps: 1e-5, kind: NormKind::Layer };
    let [x, dy] = [numbers::<f32>(op.rows * op.columns, 1), numbers(op.rows * op.columns, 2)];
    let g = numbers::<f32>(op.columns, 3);
    let with = |threads: usize, start: f32| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let (mut y, mut stats) = (vec![0.0; x.len()], vec![0.0; 2 * op.rows]);
        let [mut dx, mut dg, mut db] = [vec![start; x.len()], vec![start; op.columns], vec![start; op.columns]];
        pool.install(|| {
            forward(&op, &x, &g, Some(&g), &mut y, &mut stats).expect("it fits");
            backward(&op, &dy, &x, &g, &stats, &mut dx, &mut dg, Some(&mut db)).expect("it fits");
        });
        [y, stats, dx, dg, db].concat()
    };
    let one: Vec<u32> = with(1, 0.0).iter().map(|x| x.to_bits()).collect();
    for threads in [2, 3, 7] {
        assert!(with(threads, 0.0).iter().map(|x| x.to_bits()).eq(one.iter().copied()), "{threads} threads");
    }
    let first = x.len() + 2 * op.rows;
    for (added, zero) in with(1, 2.0)[first..].iter().zip(&with(1, 0.0)[first..]) {
        assert_eq!(*added, 2.0 + *zero);
    }
}

#[test]
fn a_constant_row_is_the_bias() {
    let op = Norm { rows: 2, columns: 33, eps: 1e-5, kind: NormKind::Layer };
    let x = [vec![0.1_f32; 33], vec![-1e20; 33]].concat();
    let (g, b) = (numbers::<f32>(33, 1), numbers::<f32>(33, 2));
    let (mut y, mut stats) = (vec![0.0; 66], vec![0.0; 4]);
    forward(&op, &x, &g, Some(&b), &mut y, &mut stats).expect("it fits");
    assert_eq!(y, [&b[..], &b].concat());
}

#[test]
fn a_wrong_length_is_refused() {
    let op = Norm { rows: 2, columns: 3, eps: 1e-5, kind: NormKind::Rms };
    let why = forward(&op, &[0.0_f32; 6], &[1.0; 2], None, &mut [0.0; 6], &mut [0.0; 4]).expect_err("too short");
    assert_eq!(why.to_string(), "the weight of a norm needs 3 elements, and its buffer has 2");
    let none = Norm { rows: 0, ..op };
    forward::<f32>(&none, &[], &[1.0; 3], None, &mut [], &mut []).expect("nothing to do");
}
