//! Norms against a NumPy reference in double precision.

use super::golden_files::{self, error, expect};
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

/// What a row of inputs allows, of the largest number of the row.
#[derive(Clone, Copy)]
pub struct Tolerance {
    pub y: f64,
    pub dx: f64,
    rstd: f64,
    /// Whether the reference was computed from the stored numbers. Rows of mean 100 and tiny ones were rounded to f32 afterwards,
    /// so that f64 is no nearer to it.
    is_exact: bool,
}

/// Of f32: inputs with a mean that is large beside their deviation determine their differences from it that much worse.
pub fn tolerance(x: &[f64]) -> Tolerance {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let deviation = (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n).sqrt();
    let is_tiny = x.iter().all(|x| x.abs() < 1e-2);
    match mean.abs() / deviation {
        ratio if deviation > 0.0 && ratio > 1e3 => Tolerance { y: 2e-3, dx: 1e-3, rstd: 1e-7, is_exact: true },
        ratio if deviation > 0.0 && ratio > 10.0 => Tolerance { y: 1e-4, dx: 1e-5, rstd: 1e-6, is_exact: false },
        _ => Tolerance { y: 2e-6, dx: 1e-6, rstd: 1e-7, is_exact: !is_tiny },
    }
}

/// Widths, values of eps and their part of the names in an archive: `1em05` is 1e-05.
pub fn cases(names: &[String]) -> Vec<(String, f64)> {
    let case = |name: &String| {
        let case = name.strip_suffix("_rstd")?;
        let eps = case.split_once("_eps")?.1.replace('m', "-").parse();
        Some((case.to_owned(), eps.unwrap_or_else(|why| panic!("{case}: {why}"))))
    };
    names.iter().filter_map(case).collect()
}

/// A case of a file of `layernorm`.
fn check_case(golden: &Golden, case: &str, eps: f64) {
    let width = case.split('_').next().expect("a width");
    let input = |name: &str| golden.get(&format!("{width}_{name}"));
    let inputs = [input("x"), input("g"), input("b"), input("dy")];
    let op = Norm { rows: inputs[0].len() / inputs[1].len(), columns: inputs[1].len(), eps, kind: NormKind::Layer };
    let want = |name: &str| golden.get(&format!("{case}_{name}"));
    for (format, got) in [("f64", run::<f64>(&op, inputs)), ("f32", run::<f32>(&op, inputs))] {
        for row in 0..op.rows {
            let part = |x: &[f64]| x[row * op.columns..][..op.columns].to_vec();
            let tolerance = tolerance(&part(inputs[0]));
            let is_exact = format == "f64" && tolerance.is_exact;
            let limit = |single: f64| if is_exact { 1e-10 } else { single };
            let expect = |array: &str, error: f64, most: f64| {
                expect(golden, &format!("{case}_{array} row {row} in {format}"), error, most);
            };
            expect("y", error(&part(&got[0]), &part(want("y"))), limit(tolerance.y));
            expect("dx", error(&part(&got[2]), &part(want("dx"))), limit(tolerance.dx));
            let [mean, scale] = [got[1][2 * row], got[1][2 * row + 1]];
            expect("mean", (mean - want("mean")[row]).abs() / want("mean")[row].abs().max(1.0), 1e-7);
            expect("rstd", error(&[scale], &[want("rstd")[row]]), tolerance.rstd);
        }
        // Rows of mean 100 are in the gradient of the weight.
        expect(golden, &format!("{case}_dg in {format}"), error(&got[3], want("dg")), 5e-6);
        expect(golden, &format!("{case}_db in {format}"), error(&got[4], want("db")), 1e-6);
    }
}

/// A file of `layernorm`.
pub fn check(golden: &Golden) {
    let cases = cases(&golden.names());
    assert!(!cases.is_empty(), "{} has no case", golden.name);
    cases.iter().for_each(|(case, eps)| check_case(golden, case, *eps));
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
