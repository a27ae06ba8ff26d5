//! CPU definition of the operations on whole buffers.

use super::{BLOCK, BLOCK_ROWS, LogBins};
use crate::nn::{
    lengths::{self, LengthError},
    real::{Real, sums, wide},
};
use crate::num::elements::Element;
use rayon::prelude::*;

/// Adds elements: `x += y`.
pub fn add<R: Real>(x: &mut [R], y: &[R]) -> Result<(), LengthError> {
    lengths::check([("the addend", &[x.len()], y.len())])?;
    x.par_chunks_mut(BLOCK).zip(y.par_chunks(BLOCK)).for_each(|(x, y)| {
        wide(|| x.iter_mut().zip(y).for_each(|(x, y)| *x += *y));
    });
    Ok(())
}

/// Multiplies elements: `x *= factor`.
pub fn scale<R: Real>(x: &mut [R], factor: R) {
    x.par_chunks_mut(BLOCK).for_each(|x| wide(|| x.iter_mut().for_each(|x| *x *= factor)));
}

/// Rounds to another storage format, to nearest, ties to even.
pub fn convert<T: Element>(from: &[f32], to: &mut [T]) -> Result<(), LengthError> {
    lengths::check([("the target of a conversion", &[from.len()], to.len())])?;
    to.par_chunks_mut(BLOCK).zip(from.par_chunks(BLOCK)).for_each(|(to, from)| T::encode(from, to));
    Ok(())
}

/// Computes `dbias += Σ_rows dy`. Each column is summed in f64, in blocks of [`BLOCK_ROWS`] rows in ascending order, then over
/// the blocks.
pub fn bias_gradient<R: Real>(rows: usize, columns: usize, dy: &[R], dbias: &mut [R]) -> Result<(), LengthError> {
    lengths::check([
        ("the gradient of an output", &[rows, columns], dy.len()),
        ("the gradient of a bias", &[columns], dbias.len()),
    ])?;
    if dy.is_empty() {
        return Ok(());
    }
    let partial: Vec<Vec<f64>> = dy
        .par_chunks(BLOCK_ROWS * columns)
        .map(|dy| {
            let mut sum = vec![0.0; columns];
            wide(|| {
                for dy in dy.chunks_exact(columns) {
                    sum.iter_mut().zip(dy).for_each(|(sum, dy)| *sum += dy.f64());
                }
            });
            sum
        })
        .collect();
    for (c, dbias) in dbias.iter_mut().enumerate() {
        *dbias += R::of(partial.iter().map(|p| p[c]).sum());
    }
    Ok(())
}

/// Computes the sum of squares `Σ x²`.
pub fn sum_of_squares<R: Real>(x: &[R]) -> f64 {
    let partial: Vec<f64> = x.par_chunks(BLOCK).map(|x| wide(|| sums([x], |[x]| [x * x])[0])).collect();
    partial.iter().sum()
}

/// Whether no element is infinite or NaN.
pub fn all_finite<R: Real>(x: &[R]) -> bool {
    // Infinity and NaN times 0 are NaN, and a sum with a NaN is NaN.
    x.par_chunks(BLOCK).all(|x| wide(|| sums([x], |[x]| [x * 0.0])[0] == 0.0))
}

/// Adds the number of elements in each bin to `counts`.
pub fn histogram<R: Real>(bins: LogBins, x: &[R], counts: &mut [u32]) -> Result<(), LengthError> {
    lengths::check([("the counts of a histogram", &[bins.n_counts()], counts.len())])?;
    for x in x {
        let count = &mut counts[bins.count_of(x.f64() as f32)];
        *count = count.saturating_add(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{nn::testing::numbers, num::elements::Bf16};

    #[test]
    fn sums_are_those_of_plain_loops_and_threads_change_no_bit() {
        let (rows, columns) = (333, 129);
        let dy = numbers::<f32>(rows * columns, 1);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let mut dbias = vec![1.0; columns];
            pool.install(|| {
                bias_gradient(rows, columns, &dy, &mut dbias).expect("it fits");
                (sum_of_squares(&dy), dbias)
            })
        };
        let (squares, dbias) = with(1);
        assert_eq!(with(3), (squares, dbias.clone()));
        let want: f64 = dy.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        assert!((squares / want - 1.0).abs() < 1e-13);
        for (c, dbias) in dbias.iter().enumerate() {
            let want = 1.0 + dy.iter().skip(c).step_by(columns).map(|x| f64::from(*x)).sum::<f64>();
            assert!((f64::from(*dbias) - want).abs() < 2e-6, "{c}");
        }
    }

    #[test]
    fn whole_buffers_are_changed() {
        let mut x = numbers::<f64>(40_000, 1);
        let before = x.clone();
        add(&mut x, &before).expect("it fits");
        scale(&mut x, 0.25);
        assert!(x.iter().zip(&before).all(|(x, b)| *x == 0.5 * b));
        assert!(add(&mut x, &before[1..]).is_err());
        let from = numbers::<f32>(20_000, 2);
        let mut to = vec![Bf16::default(); from.len()];
        convert(&from, &mut to).expect("it fits");
        assert!(from.iter().zip(&to).all(|(from, to)| *to == Bf16::from_f32(*from)));
    }

    #[test]
    fn what_is_not_finite_is_found() {
        let mut x = numbers::<f32>(40_000, 1);
        assert!(all_finite(&x) && all_finite::<f32>(&[]));
        for (at, value) in [(0, f32::NAN), (39_999, f32::INFINITY), (20_000, f32::NEG_INFINITY)] {
            let old = std::mem::replace(&mut x[at], value);
            assert!(!all_finite(&x), "{value} at {at}");
            x[at] = old;
        }
    }

    #[test]
    fn a_histogram_counts_every_element() {
        let bins = LogBins { lowest: -24, octaves: 30 };
        let mut counts = vec![0; bins.n_counts()];
        let mut x = numbers::<f32>(5000, 1);
        x.extend([0.0, f32::NAN]);
        histogram(bins, &x, &mut counts).expect("it fits");
        assert_eq!((counts.iter().sum::<u32>(), counts[1]), (5002, 1));
        let half = bins.count_of(0.5);
        assert_eq!(counts[half] as usize, x.iter().filter(|x| (0.5..0.625).contains(*x)).count());
        assert!(histogram(bins, &x, &mut counts[1..]).is_err());
    }
}
