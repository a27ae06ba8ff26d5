//! The definition of [`Rope`], for f32 and f64.

use super::{Rope, RopeError, RopeLayout, RopeTable};
use crate::nn::real::Real;
use rayon::prelude::*;

/// Rotates `x` in place; with `is_inverse` by the opposite angles, which is the backward pass. Fails without changing `x` if a
/// length is wrong or a position is outside the table.
pub fn apply<R: Real>(
    op: &Rope,
    table: &RopeTable<R>,
    position_ids: Option<&[u32]>,
    x: &mut [R],
    is_inverse: bool,
) -> Result<(), RopeError> {
    op.check(x.len(), (table.len, table.half), position_ids.map(<[u32]>::len))?;
    if let Some(id) = position_ids.into_iter().flatten().find(|id| **id as usize >= table.len) {
        return Err(RopeError::Position { position: *id as usize, len: table.len });
    }
    let width = op.heads * op.head_dim;
    if width == 0 || op.tokens == 0 {
        return Ok(());
    }
    let tokens = x.par_chunks_mut(op.stride).take(op.tokens).with_min_len((1 << 14) / width + 1);
    tokens.enumerate().for_each(|(i, token)| {
        let position = position_ids.map_or_else(|| op.offset + i % op.seq_len.max(1), |ids| ids[i] as usize);
        let angles = position * table.half..(position + 1) * table.half;
        let (cos, sin) = (&table.cos[angles.clone()], &table.sin[angles]);
        let sign = if is_inverse { -R::one() } else { R::one() };
        token[..width].chunks_exact_mut(op.head_dim).for_each(|head| rotate(op.layout, head, cos, sin, sign));
    });
    Ok(())
}

/// Rotates one head; `sign` is 1, or -1 for the inverse.
#[inline]
fn rotate<R: Real>(layout: RopeLayout, head: &mut [R], cos: &[R], sin: &[R], sign: R) {
    let turn = |a: &mut R, b: &mut R, cos: R, sin: R| {
        let (x, y, sin) = (*a, *b, sin * sign);
        (*a, *b) = (x * cos - y * sin, x * sin + y * cos);
    };
    match layout {
        RopeLayout::Interleaved => {
            for ((pair, cos), sin) in head.chunks_exact_mut(2).zip(cos).zip(sin) {
                let (a, b) = pair.split_at_mut(1);
                turn(&mut a[0], &mut b[0], *cos, *sin);
            }
        }
        RopeLayout::Half => {
            let (a, b) = head.split_at_mut(cos.len());
            for (((a, b), cos), sin) in a.iter_mut().zip(b).zip(cos).zip(sin) {
                turn(a, b, *cos, *sin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUTS: [RopeLayout; 2] = [RopeLayout::Interleaved, RopeLayout::Half];

    fn numbers(n: usize, seed: u32) -> Vec<f64> {
        (0..n as u32)
            .map(|i| f64::from((i ^ seed).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 23) - 1.0)
            .collect()
    }

    fn dot<R: Real>(a: &[R], b: &[R]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a.f64() * b.f64()).sum()
    }

    /// Returns `x` rotated to position m, in f32.
    fn at(table: &RopeTable, layout: RopeLayout, m: usize, x: &[f64]) -> Vec<f32> {
        let mut x: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        apply(&Rope::new(1, 1, x.len(), 1, layout).offset(m), table, None, &mut x, false).expect("it fits");
        x
    }

    #[test]
    fn rotation_preserves_the_norm() {
        let (table, x) = (RopeTable::new(4097, 64, 1e4), numbers(64, 1));
        let norm = dot(&x, &x).sqrt();
        for layout in LAYOUTS {
            for m in [0, 1, 2, 63, 1000, 4096] {
                let y = at(&table, layout, m, &x);
                let error = (dot(&y, &y).sqrt() / norm - 1.0).abs();
                assert!(error < 1e-6, "{layout:?} {m}: {error:.1e}");
            }
        }
    }

    #[test]
    fn products_depend_on_the_distance_only() {
        let (table, q, k) = (RopeTable::new(4097, 64, 1e4), numbers(64, 2), numbers(64, 3));
        let size = (dot(&q, &q) * dot(&k, &k)).sqrt();
        for layout in LAYOUTS {
            for distance in [0, 1, 5, 100, 2000] {
                let product = |n: usize| dot(&at(&table, layout, n + distance, &q), &at(&table, layout, n, &k)) / size;
                let first = product(0);
                for n in [1, 17, 500, 4096 - distance] {
                    let difference = (product(n) - first).abs();
                    assert!(difference < 1e-5, "{layout:?}, distance {distance}, {n}: {difference:.1e}");
                }
            }
        }
    }

    #[test]
    fn layouts_are_permutations_of_each_other() {
        let (table, x) = (RopeTable::new(100, 10, 1e4), numbers(10, 4));
        let mut permuted = vec![0.0; 10];
        for i in 0..5 {
            let ((a, b), (c, d)) = (RopeLayout::Half.pair(i, 5), RopeLayout::Interleaved.pair(i, 5));
            (permuted[a], permuted[b]) = (x[c], x[d]);
        }
        let (interleaved, half) =
            (at(&table, RopeLayout::Interleaved, 77, &x), at(&table, RopeLayout::Half, 77, &permuted));
        for i in 0..5 {
            let ((a, b), (c, d)) = (RopeLayout::Half.pair(i, 5), RopeLayout::Interleaved.pair(i, 5));
            assert_eq!([half[a], half[b]], [interleaved[c], interleaved[d]]);
        }
    }

    #[test]
    fn gradients_are_finite_differences_and_the_inverse_restores() {
        let table = RopeTable::<f64>::new(12, 6, 500.0);
        for layout in LAYOUTS {
            // In packed queries, keys and values, the values stay unchanged.
            let op = Rope::new(5, 3, 6, 4, layout).stride(4 * 6 + 1).offset(3);
            let n = 5 * op.stride;
            let (x, w) = (numbers(n, 5), numbers(n, 6));
            let loss = |x: &[f64]| {
                let mut x = x.to_vec();
                apply(&op, &table, None, &mut x, false).expect("it fits");
                dot(&x, &w)
            };
            let mut dx = w.clone();
            apply(&op, &table, None, &mut dx, true).expect("it fits");
            for i in 0..n {
                let shifted = |d: f64| {
                    let mut x = x.clone();
                    x[i] += d;
                    loss(&x)
                };
                let want = (shifted(1e-3) - shifted(-1e-3)) / 2e-3;
                assert!((dx[i] - want).abs() < 1e-9, "{layout:?} {i}: {} {want}", dx[i]);
            }
            let mut back = x.clone();
            apply(&op, &table, None, &mut back, false).expect("it fits");
            assert_ne!(back, x);
            assert!((0..5).all(|t| back[t * op.stride + 18..(t + 1) * op.stride] == x[t * op.stride + 18..][..7]));
            apply(&op, &table, None, &mut back, true).expect("it fits");
            assert!(back.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-14));
        }
    }

    #[test]
    fn offsets_and_ids_name_the_same_positions() {
        let (table, x) = (RopeTable::<f32>::new(64, 8, 1e4), numbers(3 * 16, 7));
        let x: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let rotated = |op: &Rope, ids: Option<&[u32]>| {
            let mut x = x.clone();
            apply(op, &table, ids, &mut x, false).map(|()| x)
        };
        let op = Rope::new(3, 2, 8, 3, RopeLayout::Half);
        assert_eq!(rotated(&op.offset(60), None), rotated(&op, Some(&[60, 61, 62])));
        assert_eq!(rotated(&op.offset(62), None), Err(RopeError::Position { position: 64, len: 64 }));
        assert_eq!(rotated(&op, Some(&[1, 64, 2])), Err(RopeError::Position { position: 64, len: 64 }));
        assert!(matches!(rotated(&Rope::new(3, 1, 7, 3, RopeLayout::Half), None), Err(RopeError::HeadDim { .. })));
        assert!(matches!(rotated(&op.stride(17), None), Err(RopeError::Length { .. })));
    }
}
