//! Computes large multiplications in parts, and checks the stop flag before each part. A part is a range of rows of C, or of
//! groups. Every element is computed by the same sum as without parts, so no bit changes.

use super::{Element, gemm, groups};
use crate::{
    gpu::StopFlag,
    nn::gemm::{Epilogue, Gemm, GemmError, Split},
};

/// Approximate number of operations per thread between two checks of the stop flag.
const PART_OPS: usize = 1_000_000_000;

/// Returns the number of operations per part.
fn part_ops() -> usize {
    PART_OPS * rayon::current_num_threads()
}

/// Computes [`gemm()`] of one matrix, plus `residual` if given, in parts. Returns false if stopped: C is then incomplete.
pub fn gemm_parts<E: Element>(
    op: &Gemm<E::Sum>,
    a: &[E],
    b: &[E],
    c: &mut [E::Sum],
    residual: Option<&[E::Sum]>,
    stop: &StopFlag,
) -> Result<bool, GemmError> {
    rows_at_a_time(op, (part_ops() / (2 * op.n * op.k).max(1)).max(1), (a, b), c, residual, stop)
}

fn rows_at_a_time<E: Element>(
    op: &Gemm<E::Sum>,
    rows: usize,
    (a, b): (&[E], &[E]),
    c: &mut [E::Sum],
    residual: Option<&[E::Sum]>,
    stop: &StopFlag,
) -> Result<bool, GemmError> {
    op.check(a.len(), b.len(), c.len())?;
    let ((a_row, _), (c_row, _)) = (op.a.steps(), op.c.steps());
    for from in (0..op.m).step_by(rows) {
        if stop.is_raised() {
            return Ok(false);
        }
        let part = Gemm { m: rows.min(op.m - from), ..*op };
        let epilogue = residual.map_or(Epilogue::None, |residual| Epilogue::Residual(&residual[from * c_row..]));
        gemm(&part, &a[from * a_row..], b, &mut c[from * c_row..], epilogue)?;
    }
    Ok(true)
}

/// Computes [`groups`] in parts, with an optional bias. Returns false if stopped: C is then incomplete.
pub fn groups_parts<E: Element>(
    op: &Gemm<E::Sum>,
    (split, offsets): (Split, &[u32]),
    (a, b): (&[E], &[E]),
    c: &mut [E::Sum],
    bias: Option<&[E::Sum]>,
    stop: &StopFlag,
) -> Result<bool, GemmError> {
    let (mut from, mut ops) = (0, 0_usize);
    let other = if split == Split::Rows { op.k } else { op.m };
    for to in 1..=op.batch {
        let size = |group: usize| {
            offsets.get(group + 1).zip(offsets.get(group)).map_or(0, |(end, start)| end.saturating_sub(*start))
        };
        ops += 2 * size(to - 1) as usize * op.n * other;
        if to < op.batch && ops + 2 * size(to) as usize * op.n * other <= part_ops() {
            continue;
        }
        if stop.is_raised() {
            return Ok(false);
        }
        let part = Gemm { batch: to - from, ..*op };
        let (b_from, c_from) = if split == Split::Rows { (from * op.b.stride, 0) } else { (0, from * op.c.stride) };
        let epilogue = bias.map_or(Epilogue::None, |bias| Epilogue::Bias(&bias[from * op.n..]));
        groups(&part, (split, &offsets[from..]), (a, &b[b_from..]), &mut c[c_from..], epilogue)?;
        (from, ops) = (to, 0);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize) -> Vec<f32> {
        (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 22) as f32 - 2.0).collect()
    }

    #[test]
    fn parts_change_no_bit_and_a_stop_ends_them() {
        let (m, n, k) = (137, 70, 300);
        let (a, b, old) = (numbers(m * k), numbers(k * n), numbers(m * n));
        for (op, residual) in [
            (Gemm::new(m, n, k), None),
            (Gemm::new(m, n, k).transposed_b(), Some(&old[..])),
            (Gemm::new(m, n, k).transposed_a().scaled(1.0, 1.0), None),
        ] {
            let (mut whole, mut parts) = (old.clone(), old.clone());
            gemm(&op, &a, &b, &mut whole, residual.map_or(Epilogue::None, Epilogue::Residual)).expect("it fits");
            let stop = StopFlag::default();
            for rows in [1, 7, 64, 1000] {
                parts.copy_from_slice(&old);
                let done = rows_at_a_time(&op, rows, (&a, &b), &mut parts, residual, &stop).expect("it fits");
                assert!(done && parts == whole, "{rows} rows");
            }
            stop.raise();
            assert_eq!(gemm_parts(&op, &a, &b, &mut parts, residual, &stop), Ok(false));
        }
    }
}
