//! CPU definition of [`Dropout`].

use super::Dropout;
use crate::{nn::real::Real, num::rng::philox4x32};
use rayon::prelude::*;

/// Number of elements per task, a multiple of four.
const TASK: usize = 4096;

/// Drops elements of `x` and scales the others, in place.
pub fn forward<R: Real>(op: &Dropout, step: u64, x: &mut [R]) {
    if op.threshold() == 0 {
        return;
    }
    x.par_chunks_mut(TASK).enumerate().for_each(|(t, x)| drop_from((t * TASK) as u64, op, step, x));
}

/// Applies dropout on one thread to `x`, whose elements begin at index `first` of the tensor.
pub fn drop_from<R: Real>(first: u64, op: &Dropout, step: u64, x: &mut [R]) {
    let (threshold, factor) = (op.threshold(), R::of(f64::from(op.factor())));
    let first = op.offset + first;
    let key = [op.seed as u32, (op.seed >> 32) as u32];
    let words = |i: u64| philox4x32([i as u32, op.purpose(i), step as u32, (step >> 32) as u32], key);
    let drop = |x: &mut R, word: u32| *x = if u64::from(word) >= threshold { *x * factor } else { R::zero() };
    // The first elements share their random words with elements before `first`.
    let (skipped, n) = ((first % 4) as usize, x.len());
    let (head, x) = x.split_at_mut(((4 - skipped) % 4).min(n));
    head.iter_mut().zip(words(first / 4).into_iter().skip(skipped)).for_each(|(x, word)| drop(x, word));
    for (i, x) in (first.div_ceil(4)..).zip(x.chunks_mut(4)) {
        x.iter_mut().zip(words(i)).for_each(|(x, word)| drop(x, word));
    }
}

/// Applies the mask and factor of [`forward`] to the gradient of the output.
pub fn backward<R: Real>(op: &Dropout, step: u64, gradient: &mut [R]) {
    forward(op, step, gradient);
}

#[cfg(test)]
mod tests {
    use super::*;

    const OP: Dropout = Dropout { p: 0.2, seed: 0x1234_5678_9abc_def0, layer_site: 7, offset: 0 };

    fn mask(op: &Dropout, step: u64, n: usize) -> Vec<f32> {
        let mut x = vec![1.0; n];
        forward(op, step, &mut x);
        x
    }

    #[test]
    fn the_mask_is_a_function_of_the_address() {
        let n = 10_001;
        let one = mask(&OP, 3, n);
        assert_eq!(one, mask(&OP, 3, n));
        assert_eq!(one[..77], mask(&OP, 3, 77), "of the element, not of the size");
        let others = [
            mask(&OP, 4, n),
            mask(&OP, 3 | 1 << 32, n),
            mask(&Dropout { layer_site: 8, ..OP }, 3, n),
            mask(&Dropout { seed: 1, ..OP }, 3, n),
        ];
        for other in others {
            let equal = one.iter().zip(&other).filter(|(a, b)| a == b).count() as f64 / n as f64;
            assert!((equal - (0.64 + 0.04)).abs() < 0.03, "{equal}");
        }
        let kept = one.iter().filter(|x| **x == 1.25).count() as f64 / n as f64;
        assert!((kept - 0.8).abs() < 0.02 && one.iter().all(|x| *x == 1.25 || *x == 0.0), "{kept}");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
        assert_eq!(pool.install(|| mask(&OP, 3, n)), one);
    }

    #[test]
    fn parts_keep_the_masks_of_the_whole() {
        let whole = mask(&OP, 3, 9000);
        for start in [1, 4, 6, 4099] {
            assert_eq!(mask(&Dropout { offset: start as u64, ..OP }, 3, 9000 - start), whole[start..]);
        }
    }

    #[test]
    fn nothing_or_everything_can_be_dropped() {
        assert_eq!(mask(&Dropout { p: 0.0, ..OP }, 0, 9), [1.0; 9]);
        assert_eq!(mask(&Dropout { p: 1.0, ..OP }, 0, 9), [0.0; 9]);
        assert_eq!(mask(&Dropout { p: f64::NAN, ..OP }, 0, 9), [1.0; 9]);
        assert_eq!(Dropout { p: 0.5, ..OP }.threshold(), 1 << 31);
    }

    #[test]
    fn the_gradient_of_a_dropped_element_is_zero() {
        let kept = mask(&OP, 5, 100);
        let mut gradient: Vec<f64> = (1..=100).map(f64::from).collect();
        backward(&OP, 5, &mut gradient);
        for (i, (g, kept)) in gradient.iter().zip(kept).enumerate() {
            assert_eq!(*g, (i + 1) as f64 * f64::from(kept));
        }
    }
}
