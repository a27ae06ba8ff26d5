//! Norms against a NumPy reference in double precision.

use super::golden_files::{self, error};
use neuropil::nn::{
    norm::{self, Norm, NormKind},
    real::Real,
};
use neuropil_test_support::golden::Golden;

/// Output, statistics and gradients, from zero.
fn run<R: Real>(op: &Norm, [x, g, b, dy]: [&[f64]; 4]) -> [Vec<f64>; 5] {
    let [x, g, b, dy] = [x, g, b, dy].map(|x| x.iter().map(|x| R::of(*x)).collect::<Vec<R>>());
    let zeros = |n: usize| vec![R::zero(); n];
    let (mut y, mut stats) = (zeros(x.len()), zeros(2 * op.rows));
    let [mut dx, mut dg, mut db] = [zeros(x.len()), zeros(op.columns), zeros(op.columns)];
    norm::forward(op, &x, &g, Some(&b), &mut y, &mut stats).expect("it fits");
    norm::backward(op, &dy, &x, &g, &stats, &mut dx, &mut dg, Some(&mut db)).expect("it fits");
    [y, stats, dx, dg, db].map(|x| x.into_iter().map(Real::f64).collect())
}

/// Tolerances of y and dx by row, of the largest number of the row: of the file, row 1 has mean 100, row 2 mean 10⁴, row 4 is
/// constant. f32 inputs with a large mean determine their differences from it that much worse; rows 1 and 3 were rounded to f32
/// after the reference was computed from them, so that f64 is no nearer to it.
pub const TOLERANCES: [(f64, f64); 6] =
    [(2e-6, 1e-6), (1e-4, 1e-5), (2e-3, 1e-3), (2e-6, 1e-6), (2e-6, 1e-6), (2e-6, 1e-6)];

/// Widths, values of eps and their part of the names in an archive.
pub fn cases(names: &[String]) -> Vec<(String, f64)> {
    let ends = [("eps1em05", 1e-5), ("eps1em06", 1e-6), ("eps1em03", 1e-3)];
    let case = |name: &String| {
        let case = name.strip_suffix("_rstd")?;
        let eps = ends.iter().find(|(end, _)| case.ends_with(end)).expect("a known eps").1;
        Some((case.to_owned(), eps))
    };
    names.iter().filter_map(case).collect()
}

/// A file of `layernorm`.
pub fn check(golden: &Golden) {
    let mut worst = [[(0.0_f64, 0.0_f64); 2]; 6];
    let cases = cases(&golden.names());
    assert!(cases.len() >= 7, "{cases:?}");
    for (case, eps) in &cases {
        let width = case.split('_').next().expect("a width");
        let input = |name: &str| golden.get(&format!("{width}_{name}"));
        let inputs = [input("x"), input("g"), input("b"), input("dy")];
        let op = Norm {
            rows: inputs[0].len() / inputs[1].len(),
            columns: inputs[1].len(),
            eps: *eps,
            kind: NormKind::Layer,
        };
        let want = |name: &str| golden.get(&format!("{case}_{name}"));
        let stats: Vec<f64> = want("mean").iter().zip(want("rstd")).flat_map(|(m, r)| [*m, *r]).collect();
        let all = [want("y"), &stats, want("dx"), want("dg"), want("db")];
        for (in_f64, got) in [(true, run::<f64>(&op, inputs)), (false, run::<f32>(&op, inputs))] {
            let scale = |stats: &[f64], row: usize| stats[2 * row + 1];
            for (row, (tolerance_y, tolerance_dx)) in TOLERANCES.into_iter().enumerate() {
                let part = |x: &[f64]| x[row * op.columns..][..op.columns].to_vec();
                let [y, dx] = [0, 2].map(|i| error(&part(&got[i]), &part(all[i])));
                let is_exact = in_f64 && ![1, 3].contains(&row);
                let (tolerance_y, tolerance_dx) = if is_exact { (1e-10, 1e-10) } else { (tolerance_y, tolerance_dx) };
                assert!(y <= tolerance_y && dx <= tolerance_dx, "{case}, row {row}: y {y:.1e}, dx {dx:.1e}");
                let off = error(&[scale(&got[1], row)], &[scale(&stats, row)]);
                let mean = (got[1][2 * row] - stats[2 * row]).abs() / stats[2 * row].abs().max(1.0);
                assert!(off < if row == 1 { 1e-6 } else { 1e-7 }, "{case}, row {row}: scale {off:.1e}");
                assert!(mean < 1e-7, "{case}, row {row}: mean {mean:.1e}");
                let worst = &mut worst[row][usize::from(in_f64)];
                *worst = (worst.0.max(y), worst.1.max(dx));
            }
            let [dg, db] = [3, 4].map(|i| error(&got[i], all[i]));
            // Row 1 is in the gradient of the weight.
            assert!(dg < 5e-6 && db < 1e-6, "{case}: dg {dg:.1e}, db {db:.1e}");
        }
    }
    for (row, ([f32s, f64s], tolerance)) in worst.iter().zip(TOLERANCES).enumerate() {
        println!("{} row {row}, y and dx: f32 {f32s:?} of {tolerance:?}, f64 {f64s:?}", golden.name);
    }
}

#[test]
fn golden_transformer_layernorm() {
    golden_files::read("layernorm");
}

/// Widths at which the reductions of the origin lost terms (issue 17, B3): the mean of all of them, not of a third.
#[test]
fn every_element_of_a_row_counts() {
    for columns in [1, 31, 96, 384, 768, 1000] {
        let x: Vec<f32> = (0..columns).map(|i| if i + 1 == columns { 1.0 } else { 0.0 }).collect();
        let op = Norm { rows: 1, columns, eps: 1e-5, kind: NormKind::Layer };
        let (mut y, mut stats) = (vec![0.0; columns], [0.0; 2]);
        norm::forward(&op, &x, &vec![1.0; columns], None, &mut y, &mut stats).expect("it fits");
        assert_eq!(stats[0], 1.0 / columns as f32);
    }
}
