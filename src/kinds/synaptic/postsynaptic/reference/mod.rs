//! The postsynaptic part in its reference form, for comparisons alone.
//!
//! A linear layer has slow and fast weights, both trained, and outputs with gains that are written after every call
//! without gradients:
//!
//! ```text
//! g = clip(calcium energy, 0, 1) per row;  z = x w_slow + g (x w_fast) + bias;  y = z (1 + fast + slow) + z U V
//! ```
//!
//! The writes feed back on their own outputs, and a model that runs with them diverges within about a hundred bytes. The
//! shipped memory is [`FastMemory`](super::FastMemory).

mod linear;
mod unit;

pub use linear::{Gradients, Pass, Signals, SynapticLinear};
pub use unit::{Constants, Gains, Unit, UnitGradients, hebbian_change};

use crate::nn::real::Real;

/// `A B` of row-major matrices, `n` columns of B; sums in f64.
fn multiply<R: Real>(a: &[R], b: &[R], n: usize) -> Vec<R> {
    let k = b.len() / n.max(1);
    let row =
        |a: &[R]| -> Vec<R> { (0..n).map(|j| R::of((0..k).map(|i| a[i].f64() * b[i * n + j].f64()).sum())).collect() };
    a.chunks(k.max(1)).flat_map(row).collect()
}

/// `A Bᵀ` of row-major matrices, `n` rows of B.
fn multiply_transposed<R: Real>(a: &[R], b: &[R], n: usize) -> Vec<R> {
    let k = b.len() / n.max(1);
    let row =
        |a: &[R]| -> Vec<R> { (0..n).map(|j| R::of((0..k).map(|i| a[i].f64() * b[j * k + i].f64()).sum())).collect() };
    a.chunks(k.max(1)).flat_map(row).collect()
}

/// `Aᵀ B` of row-major matrices with `m` and `n` columns.
fn transposed_multiply<R: Real>(a: &[R], b: &[R], m: usize, n: usize) -> Vec<R> {
    let element = |i: usize, j: usize| a.chunks(m).zip(b.chunks(n)).map(|(a, b)| a[i].f64() * b[j].f64()).sum();
    (0..m * n).map(|at| R::of(element(at / n, at % n))).collect()
}
