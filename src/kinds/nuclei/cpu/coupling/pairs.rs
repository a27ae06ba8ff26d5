//! Coupling sums over all pairs, and the mean-field limit J = 1.

use super::{CHUNK, Kernel, Sums, turned};
use crate::{
    kinds::{nuclei::real::Real, shared::threads::Threads},
    num::isa::Isa,
};

/// Number of nuclei per vector.
const LANES: usize = 16;

/// Evaluates the formula literally: sine and cosine of every phase difference.
pub fn naive<T: Real>(kernel: Kernel<'_, T>, cos: &[T], sin: &[T], out: &mut Sums<T>, threads: &Threads) {
    let n = cos.len();
    let phase: Vec<T> = cos.iter().zip(sin).map(|(c, s)| s.atan2(*c)).collect();
    let pieces = out.re.iter_mut().zip(&mut out.im).zip(&mut out.d).enumerate();
    threads.for_each(40 * n * n, pieces, |(j, ((re, im), d))| {
        let mut sums = [0.0; 3];
        for k in 0..n {
            let (sin, cos) = (phase[k] - phase[j]).sin_cos();
            let w = kernel.pair(j, k);
            sums.iter_mut().zip([w * cos, w * sin, w]).for_each(|(sum, x)| *sum += x.wide());
        }
        [*re, *im, *d] = sums.map(T::of);
    });
}

/// Computes the sums over all pairs, with e^{iφ} computed once per nucleus: one exponential per pair.
pub fn tiled<T: Real>(kernel: Kernel<'_, T>, cos: &[T], sin: &[T], out: &mut Sums<T>, threads: &Threads) {
    let n = cos.len();
    let pieces = out.re.chunks_mut(LANES).zip(out.im.chunks_mut(LANES)).zip(out.d.chunks_mut(LANES)).enumerate();
    threads.for_each(8 * n * n, pieces, |(at, ((re, im), d))| {
        let first = at * LANES;
        let sums = tile(kernel, cos, sin, first, re.len());
        for lane in 0..re.len() {
            let (j, [a, b, c]) = (first + lane, sums.map(|sums| T::of(sums[lane])));
            (re[lane], im[lane]) = turned(a, b, cos[j], sin[j]);
            d[lane] = c;
        }
    });
}

/// Number of nuclei per partial sum in double precision; it limits the growth of rounding errors with the population.
const RUN: usize = 256;

fn tile<T: Real>(kernel: Kernel<'_, T>, cos: &[T], sin: &[T], first: usize, len: usize) -> [[f64; LANES]; 3] {
    #[cfg(target_arch = "x86_64")]
    if Isa::best() >= Isa::Avx2 {
        // SAFETY: the processor has the feature.
        return unsafe { tile_avx2(kernel, cos, sin, first, len) };
    }
    tile_body(kernel, cos, sin, first, len)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tile_avx2<T: Real>(kernel: Kernel<'_, T>, cos: &[T], sin: &[T], first: usize, len: usize) -> [[f64; LANES]; 3] {
    tile_body(kernel, cos, sin, first, len)
}

/// Computes the sums of a tile. Indices and arrays are used because this form vectorises.
#[inline(always)]
fn tile_body<T: Real>(kernel: Kernel<'_, T>, cos: &[T], sin: &[T], first: usize, len: usize) -> [[f64; LANES]; 3] {
    let (mut x, mut h) = ([T::ZERO; LANES], [T::ZERO; LANES]);
    x[..len].copy_from_slice(&kernel.x[first..first + len]);
    h[..len].copy_from_slice(&kernel.h[first..first + len]);
    let mut total = [[0.0; LANES]; 3];
    let runs = kernel.x.chunks(RUN).zip(kernel.h.chunks(RUN)).zip(cos.chunks(RUN).zip(sin.chunks(RUN)));
    for ((xs, hs), (cs, ss)) in runs {
        let (mut re, mut im, mut d) = ([T::ZERO; LANES], [T::ZERO; LANES], [T::ZERO; LANES]);
        for (((xk, hk), ck), sk) in xs.iter().zip(hs).zip(cs).zip(ss) {
            for lane in 0..LANES {
                let w = (-((x[lane] - *xk).abs() + (h[lane] - *hk).abs())).exp_neg();
                re[lane] += w * *ck;
                im[lane] += w * *sk;
                d[lane] += w;
            }
        }
        for (total, run) in total.iter_mut().zip([re, im, d]) {
            for lane in 0..LANES {
                total[lane] += run[lane].wide();
            }
        }
    }
    total
}

/// Computes the mean-field limit J = 1: all sums are equal.
pub fn mean_field<T: Real>(cos: &[T], sin: &[T], out: &mut Sums<T>) {
    let total = |of: &[T]| of.chunks(CHUNK).map(|run| run.iter().map(|x| x.wide()).sum::<f64>()).sum::<f64>();
    let (re, im) = (T::of(total(cos)), T::of(total(sin)));
    for j in 0..cos.len() {
        (out.re[j], out.im[j]) = turned(re, im, cos[j], sin[j]);
    }
    out.d.fill(T::of(cos.len() as f64));
}
