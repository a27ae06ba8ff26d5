//! Multiplies groups of unequal sizes, and integers with scales.

use super::{Element, Isa, Job, MAX_COLUMNS, Out, Sum, elements_from, gemm_with};
use crate::nn::gemm::{Epilogue, Gemm, GemmError, Layout, Scales, Split, epilogue::Parts};
use rayon::prelude::*;

/// Multiplies groups of rows, or of k, with the order of summation of [`gemm()`](super::gemm): see [`Split`]. Fails if
/// a layout or length is wrong, or offsets descend or exceed the size.
pub fn groups<E: Element>(
    gemm: &Gemm<E::Sum>,
    offsets: (Split, &[u32]),
    operands: (&[E], &[E]),
    c: &mut [E::Sum],
    epilogue: Epilogue<&[E::Sum], &mut [E::Sum]>,
) -> Result<(), GemmError> {
    groups_with(Isa::best(), gemm, offsets, operands, c, epilogue)
}

/// Multiplies groups with the given instruction set, for tests.
pub(super) fn groups_with<E: Element>(
    isa: Isa,
    gemm: &Gemm<E::Sum>,
    (split, offsets): (Split, &[u32]),
    (a, b): (&[E], &[E]),
    c: &mut [E::Sum],
    epilogue: Epilogue<&[E::Sum], &mut [E::Sum]>,
) -> Result<(), GemmError> {
    gemm.check_groups(split, offsets.len(), (a.len(), b.len(), c.len()))?;
    let offsets = &offsets[..=gemm.batch];
    let size = if split == Split::Rows { gemm.m } else { gemm.k };
    let is_wrong = |pair: &&[u32]| pair[0] > pair[1] || pair[1] as usize > size;
    if let Some(pair) = offsets.windows(2).find(is_wrong) {
        return Err(GemmError::Offset { offset: pair[1], size });
    }
    let parts = epilogue.parts();
    parts.check(gemm, gemm.batch, |data| data.len(), |data| data.len())?;
    let Parts { bias, other, aux, f, is_gradient } = parts;
    let (out, aux) = (Out(c.as_mut_ptr()), aux.map(|aux| Out(aux.as_mut_ptr())));
    (0..gemm.batch).into_par_iter().for_each(|group| {
        let [start, end] = [offsets[group], offsets[group + 1]].map(|offset| offset as usize);
        let one = Gemm { batch: 1, ..*gemm };
        // Offsets of the first elements of A, B and C.
        let ((a_row, a_k), (b_k, _), (c_row, _)) = (gemm.a.steps(), gemm.b.steps(), gemm.c.steps());
        let (one, [from_a, from_b, to]) = match split {
            Split::Rows => (Gemm { m: end - start, ..one }, [start * a_row, group * gemm.b.stride, start * c_row]),
            Split::Depth => (Gemm { k: end - start, ..one }, [start * a_k, start * b_k, group * gemm.c.stride]),
        };
        if one.m == 0 || one.n == 0 {
            return;
        }
        let epilogue = Parts {
            bias: bias.map(|bias| &bias[group * gemm.n..]),
            other: other.map(|other| &other[to..]),
            aux: aux.as_ref().map(|aux| aux.after(to)),
            f,
            is_gradient,
        };
        let (out, micro) = (out.after(to), E::Sum::micro(isa));
        let (a, b) = (elements_from(a, from_a), elements_from(b, from_b));
        Job { gemm: one, micro, out, epilogue }.matrix(0, a, b);
    });
    Ok(())
}

/// Multiplies 8-bit integers, with exact sums that are scaled: see [`Scales`].
pub fn scaled(
    gemm: &Gemm<f32>,
    scales: Scales<&[f32]>,
    operands: (&[i8], &[i8]),
    c: &mut [f32],
    epilogue: Epilogue<&[f32], &mut [f32]>,
) -> Result<(), GemmError> {
    scaled_with(Isa::best(), gemm, scales, operands, c, epilogue)
}

/// Multiplies and scales with the given instruction set, for tests.
pub(super) fn scaled_with(
    isa: Isa,
    gemm: &Gemm<f32>,
    scales: Scales<&[f32]>,
    (a, b): (&[i8], &[i8]),
    c: &mut [f32],
    epilogue: Epilogue<&[f32], &mut [f32]>,
) -> Result<(), GemmError> {
    gemm.check(a.len(), b.len(), c.len())?;
    scales.check(gemm, |data| data.len())?;
    let parts = epilogue.parts();
    parts.check(gemm, 1, |data| data.len(), |data| data.len())?;
    let Parts { bias, other, aux, f, is_gradient } = parts;
    let epilogue = Parts { bias, other, aux: aux.map(|aux| Out(aux.as_mut_ptr())), f, is_gradient };
    let Gemm { m, n, batch, outer, .. } = *gemm;
    let dense = Layout::rows(n).stride(m * n).outer(batch * m * n);
    let mut sums = vec![0_i32; outer * batch * m * n];
    gemm_with(isa, &Gemm { c: dense, ..gemm.with_scales(1, 0) }, a, b, &mut sums, Epilogue::None)?;
    let job = Job { gemm: *gemm, micro: f32::micro(isa), out: Out(c.as_mut_ptr()), epilogue };
    sums.par_chunks(n.max(1)).enumerate().for_each(|(line, sums)| {
        let (matrix, row) = (line / m, line % m);
        let of_row = scales.rows.map_or(1.0, |scales| scales[line]);
        for (i, sums) in sums.chunks(MAX_COLUMNS).enumerate() {
            let column = i * MAX_COLUMNS;
            let mut x = [0.0; MAX_COLUMNS];
            for (j, sum) in sums.iter().enumerate() {
                let of_column = scales.columns.map_or(1.0, |scales| scales[matrix * n + column + j]);
                x[j] = *sum as f32 * of_row * of_column;
            }
            job.write(row, column, &mut x[..sums.len()], matrix);
        }
    });
    Ok(())
}
