//! The definition of [`CrossEntropy`], for f32 and f64.
//!
//! A row is computed in f64, in the order of [`sums`], and results are rounded once. The largest logit of the row is subtracted
//! from all, so that nothing overflows: `loss = ln Σ exp(z[j] - max) + (max - z[t])`. A NaN among the logits makes the loss NaN.

use super::{CrossEntropy, CrossEntropyError, IGNORE};
use crate::nn::real::{Loop, Real, max, sums, wide_loop};
use rayon::prelude::*;

/// Computes the loss and `lse` of every row. Fails without writing anything if a length is wrong or a target is not a token.
pub fn forward<R: Real>(
    op: &CrossEntropy,
    logits: &[R],
    targets: &[i32],
    losses: &mut [R],
    lse: &mut [R],
) -> Result<(), CrossEntropyError> {
    op.check(logits.len(), [targets.len(), losses.len(), lse.len()])?;
    op.check_targets(targets)?;
    let rows = logits.par_chunks(op.padded).zip(targets).zip(losses).zip(lse);
    rows.with_min_len(rows_per_task(op)).for_each_init(
        || vec![0.0; op.vocab],
        |exponentials, (((logits, target), loss), lse)| {
            (*loss, *lse) = wide_loop(Row { logits: &logits[..op.vocab], target: *target, exponentials });
        },
    );
    Ok(())
}

/// Computes the loss and `lse` of every row; replaces the logits by `scale` times their gradients. Fails without writing
/// anything if a length is wrong or a target is not a token.
pub fn backward<R: Real>(
    op: &CrossEntropy,
    logits: &mut [R],
    targets: &[i32],
    scale: R,
    losses: &mut [R],
    lse: &mut [R],
) -> Result<(), CrossEntropyError> {
    op.check(logits.len(), [targets.len(), losses.len(), lse.len()])?;
    op.check_targets(targets)?;
    let rows = logits.par_chunks_mut(op.padded).zip(targets).zip(losses).zip(lse);
    rows.with_min_len(rows_per_task(op)).for_each_init(
        || vec![0.0; op.vocab],
        |exponentials, (((logits, target), loss), lse)| {
            let (logits, padding) = logits.split_at_mut(op.vocab);
            padding.fill(R::zero());
            (*loss, *lse) = wide_loop(RowGradient { logits, target: *target, scale, exponentials });
        },
    );
    Ok(())
}

/// Computes the sum of the losses in f64, in ascending order of rows, and the number of targets that are counted.
pub fn total<R: Real>(losses: &[R], targets: &[i32]) -> (f64, usize) {
    let counted = losses.iter().zip(targets).filter(|(_, target)| **target != IGNORE);
    counted.fold((0.0, 0), |(sum, n), (loss, _)| (sum + loss.f64(), n + 1))
}

fn rows_per_task(op: &CrossEntropy) -> usize {
    (1 << 12) / op.padded + 1
}

fn token(target: i32) -> Option<usize> {
    usize::try_from(target).ok()
}

/// Task: loss and `lse` of one row.
struct Row<'a, R> {
    logits: &'a [R],
    target: i32,
    exponentials: &'a mut [f64],
}

impl<R: Real> Loop for Row<'_, R> {
    type Output = (R, R);

    #[inline(always)]
    fn run(self) -> (R, R) {
        row(self.logits, self.target, self.exponentials).0
    }
}

/// Task: loss and `lse` of one row, whose logits are replaced by `scale` times their gradients.
struct RowGradient<'a, R> {
    logits: &'a mut [R],
    target: i32,
    scale: R,
    exponentials: &'a mut [f64],
}

impl<R: Real> Loop for RowGradient<'_, R> {
    type Output = (R, R);

    #[inline(always)]
    fn run(self) -> (R, R) {
        let Self { logits, target, scale, exponentials } = self;
        let (results, sum) = row(logits, target, exponentials);
        let Some(t) = token(target) else {
            logits.fill(R::zero());
            return results;
        };
        let (scale, factor) = (scale.f64(), scale.f64() / sum);
        logits.iter_mut().zip(&*exponentials).for_each(|(d, e)| *d = R::of(e * factor));
        logits[t] = R::of(exponentials[t] * factor - scale);
        results
    }
}

/// Computes the loss and `lse` of a row, and the sum of `exp(z - max)`; writes the terms to `exponentials`.
#[inline(always)]
fn row<R: Real>(logits: &[R], target: i32, exponentials: &mut [f64]) -> ((R, R), f64) {
    let largest = max(logits).f64();
    exponentials.iter_mut().zip(logits).for_each(|(e, z)| *e = R::exp_wide(z.f64() - largest));
    let [sum] = sums([&*exponentials], |[e]| [e]);
    let log = R::ln_wide(sum);
    let loss = token(target).map_or(0.0, |t| log + (largest - logits[t].f64()));
    ((R::of(loss), R::of(largest + log)), sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize) -> Vec<f64> {
        (0..n as u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 22) - 2.0).collect()
    }

    #[test]
    fn gradients_are_finite_differences() {
        let op = CrossEntropy { rows: 5, vocab: 19, padded: 24 };
        let (logits, targets, scale) = (numbers(5 * 24), [3, 18, IGNORE, 0, 3], 0.25);
        let loss = |logits: &[f64]| {
            let (mut losses, mut lse) = (vec![f64::NAN; 5], vec![f64::NAN; 5]);
            forward(&op, logits, &targets, &mut losses, &mut lse).expect("it fits");
            total(&losses, &targets).0 * scale
        };
        let (mut d, mut losses, mut lse) = (logits.clone(), vec![0.0; 5], vec![0.0; 5]);
        backward(&op, &mut d, &targets, scale, &mut losses, &mut lse).expect("it fits");
        assert!((total(&losses, &targets).0 * scale - loss(&logits)).abs() < 1e-14);
        assert_eq!((losses[2], total(&losses, &targets).1), (0.0, 4));
        for i in 0..logits.len() {
            let at = |h: f64| {
                let mut logits = logits.clone();
                logits[i] += h;
                loss(&logits)
            };
            let want = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((d[i] - want).abs() < 1e-9, "{i}: {} {want}", d[i]);
            assert!(i % 24 < 19 || d[i] == 0.0, "padding has no gradient");
        }
    }

    #[test]
    fn large_logits_do_not_overflow_and_nan_is_seen() {
        let op = CrossEntropy { rows: 3, vocab: 3, padded: 3 };
        let mut z = [3e38_f32, -3e38, 0.0, f32::NAN, 1.0, 2.0, f32::NEG_INFINITY, 5.0, 5.0];
        let (mut losses, mut lse) = ([0.0; 3], [0.0; 3]);
        backward(&op, &mut z, &[0, 1, 2], 1.0, &mut losses, &mut lse).expect("it fits");
        assert_eq!((losses[0], lse[0], z[0], z[1]), (0.0, 3e38, 0.0, 0.0));
        assert!(losses[1].is_nan() && z[4].is_nan());
        assert!((losses[2] - 2.0_f32.ln()).abs() < 1e-6 && z[6] == 0.0);
    }

    #[test]
    fn targets_and_lengths_are_checked_before_anything_is_written() {
        let op = CrossEntropy { rows: 2, vocab: 4, padded: 8 };
        let (mut z, mut losses, mut lse) = ([1.0_f32; 16], [0.0; 2], [0.0; 2]);
        let error = backward(&op, &mut z, &[0, 4], 1.0, &mut losses, &mut lse).unwrap_err();
        assert_eq!(error.to_string(), "target 4 of row 1 is not among the 4 of the vocabulary, nor -1");
        assert!(z == [1.0; 16]);
        assert!(backward(&op, &mut z, &[-2, 0], 1.0, &mut losses, &mut lse).is_err());
        assert!(backward(&op, &mut z[1..], &[0, 0], 1.0, &mut losses, &mut lse).is_err());
        let wide = CrossEntropy { vocab: 9, ..op };
        assert!(matches!(wide.check(16, [2; 3]), Err(CrossEntropyError::Vocabulary { .. })));
    }

    #[test]
    fn rows_in_chunks_are_the_same_bits() {
        let op = CrossEntropy { rows: 12, vocab: 130, padded: 192 };
        let z: Vec<f32> = numbers(12 * 192).iter().map(|x| *x as f32).collect();
        let targets: Vec<i32> = (0..12).map(|i| i * 7 % 130).collect();
        let run = |chunk: usize| {
            let (mut z, mut losses, mut lse) = (z.clone(), vec![0.0; 12], vec![0.0; 12]);
            for start in (0..12).step_by(chunk) {
                let (rows, op) = (start..start + chunk, CrossEntropy { rows: chunk, ..op });
                let z = &mut z[start * 192..(start + chunk) * 192];
                let (losses, lse) = (&mut losses[rows.clone()], &mut lse[rows.clone()]);
                backward(&op, z, &targets[rows], 0.1, losses, lse).expect("it fits");
            }
            (z, losses, lse)
        };
        assert_eq!(run(12), run(3));
    }
}
