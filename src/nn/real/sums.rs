//! Sums and maxima of long rows, in an order that vectors can follow.

use super::Real;

/// Partial sums of [`sums`].
pub const LANES: usize = 16;

/// `S` sums of functions of the elements of `A` slices of one length, in f64. Element i is added to the partial sum
/// i mod [`LANES`]; these are added in pairs at distance 8, 4, 2, 1. Part of the definitions that use it: the same bits
/// on any machine. Call it inside [`wide`](super::wide).
#[inline(always)]
pub fn sums<const A: usize, const S: usize, R: Real>(of: [&[R]; A], f: impl Fn([f64; A]) -> [f64; S]) -> [f64; S] {
    let n = of[0].len();
    let whole = n - n % LANES;
    let mut lanes = [[0.0; LANES]; S];
    for i in (0..whole).step_by(LANES) {
        let parts: [&[R]; A] = std::array::from_fn(|a| &of[a][i..i + LANES]);
        for l in 0..LANES {
            let x = f(std::array::from_fn(|a| parts[a][l].f64()));
            (0..S).for_each(|s| lanes[s][l] += x[s]);
        }
    }
    for i in whole..n {
        let x = f(std::array::from_fn(|a| of[a][i].f64()));
        (0..S).for_each(|s| lanes[s][i - whole] += x[s]);
    }
    lanes.map(|mut lanes| {
        let mut half = LANES / 2;
        while half > 0 {
            (0..half).for_each(|l| lanes[l] += lanes[l + half]);
            half /= 2;
        }
        lanes[0]
    })
}

/// The largest element; -∞ of none. NaN is passed over.
#[inline(always)]
pub fn max<R: Real>(x: &[R]) -> R {
    let larger = |a: R, b: R| if b > a { b } else { a };
    let mut lanes = [R::neg_infinity(); LANES];
    let parts = x.chunks_exact(LANES);
    let rest = parts.remainder();
    for part in parts {
        (0..LANES).for_each(|l| lanes[l] = larger(lanes[l], part[l]));
    }
    rest.iter().chain(&lanes).fold(R::neg_infinity(), |a, b| larger(a, *b))
}
