//! Sums and maxima of long rows, in an order that vectorises.

use super::Real;

/// Number of partial sums of [`sums`].
pub const LANES: usize = 16;

/// Returns `S` sums of functions of the elements of `A` slices of equal length, in f64. Element i is added to the partial sum i
/// mod [`LANES`]; partial sums are added in pairs at distance 8, 4, 2, 1. This order is part of the definitions that use it,
/// and gives the same bits on any machine. Call the function inside [`wide`](super::wide).
///
/// The loops use indices, because the compiler does not inline `array::from_fn` and `map` across codegen units.
#[inline(always)]
pub fn sums<const A: usize, const S: usize, R: Real>(of: [&[R]; A], f: impl Fn([f64; A]) -> [f64; S]) -> [f64; S] {
    let n = of[0].len();
    let whole = n - n % LANES;
    let (mut lanes, mut parts) = ([[0.0; LANES]; S], of);
    for i in (0..whole).step_by(LANES) {
        for a in 0..A {
            parts[a] = &of[a][i..i + LANES];
        }
        for l in 0..LANES {
            add(&mut lanes, l, f(elements(&parts, l)));
        }
    }
    for i in whole..n {
        add(&mut lanes, i - whole, f(elements(&of, i)));
    }
    let mut sums = [0.0; S];
    for s in 0..S {
        let mut half = LANES / 2;
        while half > 0 {
            for l in 0..half {
                lanes[s][l] += lanes[s][l + half];
            }
            half /= 2;
        }
        sums[s] = lanes[s][0];
    }
    sums
}

#[inline(always)]
fn elements<const A: usize, R: Real>(of: &[&[R]; A], i: usize) -> [f64; A] {
    let mut x = [0.0; A];
    for a in 0..A {
        x[a] = of[a][i].f64();
    }
    x
}

#[inline(always)]
fn add<const S: usize>(lanes: &mut [[f64; LANES]; S], lane: usize, x: [f64; S]) {
    for s in 0..S {
        lanes[s][lane] += x[s];
    }
}

/// Returns the largest element; -∞ if there is none. NaN is ignored.
#[inline(always)]
pub fn max<R: Real>(x: &[R]) -> R {
    let larger = |a: R, b: R| if b > a { b } else { a };
    let mut lanes = [R::neg_infinity(); LANES];
    let parts = x.chunks_exact(LANES);
    let rest = parts.remainder();
    for part in parts {
        (0..LANES).for_each(|l| lanes[l] = larger(lanes[l], part[l]));
    }
    // A fold over a chain is not inlined.
    let mut largest = R::neg_infinity();
    for x in rest {
        largest = larger(largest, *x);
    }
    for lane in &lanes {
        largest = larger(largest, *lane);
    }
    largest
}
