//! Products of small row-major matrices, with sums in f64.

use neuropil::nn::real::Real;

/// `A B` of row-major matrices, `n` columns of B; sums in f64.
pub fn multiply<R: Real>(a: &[R], b: &[R], n: usize) -> Vec<R> {
    let k = b.len() / n.max(1);
    let row =
        |a: &[R]| -> Vec<R> { (0..n).map(|j| R::of((0..k).map(|i| a[i].f64() * b[i * n + j].f64()).sum())).collect() };
    a.chunks(k.max(1)).flat_map(row).collect()
}

/// `A Bᵀ` of row-major matrices, `n` rows of B.
pub fn multiply_transposed<R: Real>(a: &[R], b: &[R], n: usize) -> Vec<R> {
    let k = b.len() / n.max(1);
    let row =
        |a: &[R]| -> Vec<R> { (0..n).map(|j| R::of((0..k).map(|i| a[i].f64() * b[j * k + i].f64()).sum())).collect() };
    a.chunks(k.max(1)).flat_map(row).collect()
}

/// `Aᵀ B` of row-major matrices with `m` and `n` columns.
pub fn transposed_multiply<R: Real>(a: &[R], b: &[R], m: usize, n: usize) -> Vec<R> {
    let element = |i: usize, j: usize| a.chunks(m).zip(b.chunks(n)).map(|(a, b)| a[i].f64() * b[j].f64()).sum();
    (0..m * n).map(|at| R::of(element(at / n, at % n))).collect()
}
