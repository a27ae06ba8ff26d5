//! CPU definition of [`Gemm`], for f32, f64, and i8 with i32 sums.
//!
//! # Order of summation
//!
//! For each element of C, on every instruction set, for every number of threads, layout and size:
//!
//! 1. k runs in blocks of [`K_BLOCK`]. The sum of a block starts at 0 and takes `fma(a[k], b[k], sum)` in ascending k,
//!    rounded once per k.
//! 2. The sum of the first block is the total; the sums of the other blocks are added to the total in ascending order.
//! 3. `x = alpha · total`, and if beta is not 0, `x = fma(beta, c, x)`. Then the epilogue, one rounding per operation;
//!    activations are those of [`activation`](crate::nn::activation).
//!
//! Results therefore have the same bits on any machine. Blocks also keep the rounding error of long f32 sums small: its standard
//! deviation relative to the sum is about `2⁻²⁴ sqrt(K_BLOCK / 6)` instead of `2⁻²⁴ sqrt(K / 6)`. Integers wrap on overflow,
//! which i8 operands reach at K = 131,072 at the earliest.
//!
//! 16-bit operands are widened to f32 first; products of two are exact in f32's fused multiply-add.
//!
//! # Implementation
//!
//! With many rows, B is packed once into strips as wide as a microkernel. Tasks of some rows and some strips pack their rows of A
//! and run the microkernel over their tiles, whose totals stay in the second-level cache between blocks of k. With few rows, each
//! element of B is used once or twice: a task packs a block of one strip, which stays in the first-level cache, or reads B in
//! place. Vectors run over columns, so that lanes are never added to each other.
//!
//! `bench gemm` measures this implementation against the peak of the processor.

mod activation;
mod element;
mod grouped;
mod memory;
mod micro;
mod pack;
mod packed;
mod parts;
mod quantised;

pub use element::Element;
pub use grouped::{groups, scaled};
pub use micro::{Isa, Sum};
pub use packed::{packed, packed_quantised};
pub use parts::{gemm_parts, groups_parts};
pub use quantised::quantised;

use super::{Epilogue, Gemm, GemmError, epilogue::Parts};
use crate::nn::real::wide;
use memory::Piece;
use micro::{Micro, Rows};
use pack::{Lines, Range};
use rayon::prelude::*;

/// Number of addends per block of a sum. The number is part of the definition, because it decides the bits of the result.
pub const K_BLOCK: usize = 256;
/// Rows per task, in microkernels.
const TASK_PANELS: usize = 13;
/// Columns per task. The totals of a task, its rows of A and a block of its strips of B fit in a second-level cache of 2 MB.
const TASK_COLUMNS: usize = 1024;
/// Number of elements of B packed at a time.
const PACKED: usize = 4 << 20;
/// Number of columns packed together: a row of B is read in pieces of this length.
const PACK_COLUMNS: usize = 256;
/// Maximum number of row tiles for which the task that uses a strip of B packs the strip.
const FEW_PANELS: usize = 2;
/// Number of columns of the widest microkernel.
const MAX_COLUMNS: usize = 32;
/// Cost, in elements read or 32 operations, below which one thread is faster than two.
const SERIAL: usize = 1 << 18;

/// Multiplies on the threads of the current rayon pool.
pub fn gemm<E: Element>(
    gemm: &Gemm<E::Sum>,
    a: &[E],
    b: &[E],
    c: &mut [E::Sum],
    epilogue: Epilogue<&[E::Sum], &mut [E::Sum]>,
) -> Result<(), GemmError> {
    gemm_with(Isa::best(), gemm, a, b, c, epilogue)
}

/// Multiplies with the given instruction set, for tests and measurements.
pub fn gemm_with<E: Element>(
    isa: Isa,
    gemm: &Gemm<E::Sum>,
    a: &[E],
    b: &[E],
    c: &mut [E::Sum],
    epilogue: Epilogue<&[E::Sum], &mut [E::Sum]>,
) -> Result<(), GemmError> {
    gemm.check(a.len(), b.len(), c.len())?;
    let parts = epilogue.parts();
    parts.check(gemm, 1, |data| data.len(), |data| data.len())?;
    let matrices = gemm.outer * gemm.batch;
    if gemm.m == 0 || gemm.n == 0 || matrices == 0 {
        return Ok(());
    }
    let Parts { bias, other, aux, f, is_gradient } = parts;
    let epilogue = Parts { bias, other, aux: aux.map(|aux| Out(aux.as_mut_ptr())), f, is_gradient };
    let job = Job { gemm: *gemm, micro: E::Sum::micro(isa), out: Out(c.as_mut_ptr()), epilogue };
    let one =
        |i: usize| job.matrix(i, elements_from(a, gemm.first(&gemm.a, i)), elements_from(b, gemm.first(&gemm.b, i)));
    if cost(gemm, matrices) < SERIAL {
        (0..matrices).for_each(one);
    } else {
        (0..matrices).into_par_iter().for_each(one);
    }
    Ok(())
}

/// Returns the elements of an operand from `first` on; empty if k = 0, where operands end before their first element.
fn elements_from<E>(all: &[E], first: usize) -> &[E] {
    &all[first.min(all.len())..]
}

/// Returns the cost in elements read or 32 operations.
fn cost<S: Sum>(gemm: &Gemm<S>, batch: usize) -> usize {
    let Gemm { m, n, k, .. } = *gemm;
    let matrix = m.saturating_mul(n).saturating_mul(k) / 16;
    matrix.saturating_add(m.saturating_mul(k)).saturating_add(n.saturating_mul(k)).saturating_mul(batch)
}

/// Pointer to C, which threads write at disjoint positions.
struct Out<S>(*mut S);
// SAFETY: tasks write disjoint elements: matrices of a batch do not overlap (`Gemm::check`), and neither do tasks.
unsafe impl<S: Send> Sync for Out<S> {}
// SAFETY: tasks write disjoint elements, so the pointer may be used on another thread.
unsafe impl<S: Send> Send for Out<S> {}

impl<S: Copy> Out<S> {
    /// Returns the pointer to element `first`.
    const fn after(&self, first: usize) -> Self {
        Self(self.0.wrapping_add(first))
    }

    /// Writes `values`, `step` elements apart.
    ///
    /// # Safety
    /// The positions are in the buffer, and no other task accesses them.
    unsafe fn put(&self, start: usize, step: usize, values: &[S]) {
        // SAFETY: by the caller.
        unsafe {
            if step == 1 {
                self.0.add(start).copy_from_nonoverlapping(values.as_ptr(), values.len());
            } else {
                values.iter().enumerate().for_each(|(j, x)| *self.0.add(start + j * step) = *x);
            }
        }
    }
}

struct Job<'a, S: Sum> {
    gemm: Gemm<S>,
    micro: Micro<S>,
    out: Out<S>,
    epilogue: Parts<&'a [S], Out<S>>,
}

/// Part of C: ranges of rows and columns.
#[derive(Clone, Copy)]
struct Part {
    /// Index of the matrix in the batch.
    index: usize,
    row: usize,
    rows: usize,
    column: usize,
    columns: usize,
}

/// A block of k: first index, length, and whether it is the last.
#[derive(Clone, Copy)]
struct Block {
    first: usize,
    depth: usize,
    is_last: bool,
}

impl Block {
    /// Returns the range of this block for `lines`.
    const fn of(self, lines: (usize, usize)) -> Range {
        Range { lines, k: (self.first, self.depth) }
    }
}

/// Returns the blocks of a non-empty sum.
fn blocks(k: usize) -> impl Iterator<Item = Block> + Clone {
    (0..k).step_by(K_BLOCK).map(move |first| Block {
        first,
        depth: K_BLOCK.min(k - first),
        is_last: first + K_BLOCK >= k,
    })
}

/// Returns range `i` of `count` nearly equal parts of `0..len`, as first index and length.
const fn share(len: usize, i: usize, count: usize) -> (usize, usize) {
    (len * i / count, len * (i + 1) / count)
}

impl<S: Sum> Job<'_, S> {
    /// Multiplies one matrix of the batch.
    fn matrix<E: Element<Sum = S>>(&self, index: usize, a: &[E], b: &[E]) {
        let (g, nr) = (&self.gemm, self.micro.nr);
        if g.k == 0 {
            return self.empty_sums(index);
        }
        let ((down, across), (b_down, b_across)) = (g.a.steps(), g.b.steps());
        let rows = Lines { from: a, line: down, k: across };
        let columns = Lines { from: b, line: b_across, k: b_down };
        let threads = if cost(g, 1) < SERIAL { 1 } else { rayon::current_num_threads() };
        if g.m <= FEW_PANELS * self.micro.mr() {
            return self.few_rows(index, rows, columns, threads);
        }
        let panel = (PACKED / g.k).max(TASK_COLUMNS).next_multiple_of(nr);
        for column in (0..g.n).step_by(panel) {
            let part = Part { index, row: 0, rows: g.m, column, columns: panel.min(g.n - column) };
            self.many_rows(part, rows, columns, threads);
        }
    }

    /// Writes one matrix of the batch whose sums are empty; no operand is read, as they have no elements.
    fn empty_sums(&self, index: usize) {
        for row in 0..self.gemm.m {
            for column in (0..self.gemm.n).step_by(MAX_COLUMNS) {
                let mut sums = [S::ZERO; MAX_COLUMNS];
                self.write(row, column, &mut sums[..MAX_COLUMNS.min(self.gemm.n - column)], index);
            }
        }
    }

    /// Runs tasks on the threads of the pool.
    fn run(tasks: usize, threads: usize, task: impl Fn(usize) + Sync + Send) {
        if threads == 1 {
            (0..tasks).for_each(task);
        } else {
            (0..tasks).into_par_iter().with_max_len(1).for_each(task);
        }
    }

    fn many_rows<E: Element<Sum = S>>(&self, part: Part, rows: Lines<'_, E>, columns: Lines<'_, E>, threads: usize) {
        let (mr, nr, k) = (self.micro.mr(), self.micro.nr, self.gemm.k);
        let padded = part.columns.next_multiple_of(nr);
        let mut strips = Piece::<S>::take(padded * k.div_ceil(E::PER_PACKED));
        {
            let groups = part.columns.div_ceil(PACK_COLUMNS);
            let all = Out(strips.all_mut().as_mut_ptr());
            Self::run(groups * k.div_ceil(K_BLOCK), threads, |t| {
                let (first, column) = (t / groups * K_BLOCK, t % groups * PACK_COLUMNS);
                let (depth, count) = (K_BLOCK.min(k - first), PACK_COLUMNS.min(part.columns - column));
                let packed = depth.div_ceil(E::PER_PACKED);
                let start = first / E::PER_PACKED * padded + column * packed;
                let all = &all;
                // SAFETY: inside the strips, and no other task packs this block of these columns.
                let out =
                    unsafe { std::slice::from_raw_parts_mut(all.0.add(start), packed * count.next_multiple_of(nr)) };
                columns.pack(
                    self.micro.isa,
                    out,
                    nr,
                    true,
                    Range { lines: (part.column + column, count), k: (first, depth) },
                );
            });
        }
        // All threads have the same number of tasks, whose sizes differ by at most one row of tiles.
        let (panels, wide) = (part.rows.div_ceil(mr), padded.div_ceil(TASK_COLUMNS));
        let at_least = if threads == 1 { 1 } else { (4 * threads).div_ceil(wide) };
        let tall = panels.div_ceil(TASK_PANELS).max(at_least).next_multiple_of(threads).min(panels);
        let strips = strips.all();
        Self::run(tall * wide, threads, |t| {
            let (from, to) = share(panels, t / wide, tall);
            let (left, right) = share(padded / nr, t % wide, wide);
            let (row, column) = (from * mr, left * nr);
            let (end, right) = ((to * mr).min(part.rows), (right * nr).min(part.columns));
            let here = Part { row, rows: end - row, column: part.column + column, columns: right - column, ..part };
            self.task(here, rows, |block| {
                let packed = block.depth.div_ceil(E::PER_PACKED);
                &strips[block.first / E::PER_PACKED * padded + column * packed..]
                    [..packed * (right - column).next_multiple_of(nr)]
            });
        });
    }

    /// Computes C for some rows and some packed strips: sums over all k, then the epilogue.
    fn task<'s, E: Element<Sum = S>>(&self, part: Part, rows: Lines<'_, E>, strips: impl Fn(Block) -> &'s [S]) {
        let (mr, nr) = (self.micro.mr(), self.micro.nr);
        let padded = part.rows.next_multiple_of(mr);
        let mut left = Piece::<S>::take(padded * K_BLOCK);
        let mut totals = Piece::<S>::take(padded * part.columns.next_multiple_of(nr));
        for block in blocks(self.gemm.k) {
            let packed = block.depth.div_ceil(E::PER_PACKED);
            let left = left.all_mut();
            rows.pack(self.micro.isa, left, mr, false, block.of((part.row, part.rows)));
            let all = strips(block);
            for (s, totals) in totals.all_mut().chunks_exact_mut(padded * nr).enumerate() {
                let strip = all[s * packed * nr..].as_ptr();
                // Each microkernel call of this strip prefetches a part of the next strip into the second-level cache.
                let panels = part.rows.div_ceil(mr);
                let ahead =
                    |i: usize| (strip.wrapping_add(packed * nr + packed * nr * i / panels), nr.div_ceil(panels));
                for (i, total) in totals.chunks_exact_mut(mr * nr).enumerate() {
                    let row = i * mr;
                    let tile = Part {
                        row: part.row + row,
                        rows: mr.min(part.rows - row),
                        column: part.column + s * nr,
                        columns: nr.min(part.columns - s * nr),
                        ..part
                    };
                    // SAFETY: `packed` elements of these rows and of `nr` columns are packed.
                    unsafe {
                        self.tile(tile, block, packed, left[row * packed..].as_ptr(), (strip, nr), ahead(i), total)
                    };
                }
            }
        }
    }

    fn few_rows<E: Element<Sum = S>>(&self, index: usize, rows: Lines<'_, E>, columns: Lines<'_, E>, threads: usize) {
        let (Gemm { m, n, k, .. }, mr, nr) = (self.gemm, self.micro.mr(), self.micro.nr);
        let mut left = Piece::<S>::take(m * k.div_ceil(E::PER_PACKED) + 1);
        for block in blocks(k) {
            rows.pack(
                self.micro.isa,
                &mut left.all_mut()[block.first / E::PER_PACKED * m..],
                mr,
                false,
                block.of((0, m)),
            );
        }
        let (left, strips) = (left.all(), n.div_ceil(nr));
        let tasks = if threads == 1 { 1 } else { (8 * threads).min(strips) };
        let in_place = E::as_sums(columns.from).filter(|_| columns.line == 1);
        Self::run(tasks, threads, |t| {
            let mut packed_strip = Piece::<S>::take(K_BLOCK * nr);
            let mut totals = Piece::<S>::take(FEW_PANELS * mr * nr);
            let (from, to) = share(strips, t, tasks);
            for column in (from..to).map(|s| s * nr) {
                let count = nr.min(n - column);
                for block in blocks(k) {
                    let packed = block.depth.div_ceil(E::PER_PACKED);
                    let strip = match in_place {
                        Some(b) if count == nr => (b[block.first * columns.k + column..].as_ptr(), columns.k),
                        _ => {
                            let out = packed_strip.all_mut();
                            columns.pack(self.micro.isa, out, nr, true, block.of((column, count)));
                            (out.as_ptr(), nr)
                        }
                    };
                    let ahead = (strip.0.wrapping_add(nr), strip.1);
                    for (row, total) in (0..m).step_by(mr).zip(totals.all_mut().chunks_exact_mut(mr * nr)) {
                        let tile = Part { index, row, rows: mr.min(m - row), column, columns: count };
                        let left = left[block.first / E::PER_PACKED * m + row * packed..].as_ptr();
                        // SAFETY: `packed` elements of these rows are packed; so are those of `nr` columns, or B has them.
                        unsafe { self.tile(tile, block, packed, left, strip, ahead, total) };
                    }
                }
            }
        });
    }

    /// Computes one block of k for one tile of C, and writes C after the last block.
    ///
    /// # Safety
    /// `rows` holds `packed` × `tile.rows` elements, `strip` `packed` × `nr`, with its step from one k to the next.
    unsafe fn tile(
        &self,
        tile: Part,
        block: Block,
        packed: usize,
        rows: *const S,
        strip: Rows<S>,
        ahead: Rows<S>,
        total: &mut [S],
    ) {
        let (g, nr) = (&self.gemm, self.micro.nr);
        let (down, across) = g.c.steps();
        let run = self.micro.runs[tile.rows - 1];
        let before = if block.first == 0 { std::ptr::null() } else { total.as_ptr() };
        let Parts { bias, other, f, .. } = &self.epilogue;
        let is_linear = bias.is_none() && other.is_none() && f.is_none();
        let is_plain = g.alpha == S::ONE && g.beta == S::ZERO && is_linear;
        let is_direct = block.is_last && is_plain && across == 1 && tile.columns == nr;
        assert!(total.len() >= tile.rows * nr);
        let c = self.out.0.wrapping_add(g.first(&g.c, tile.index) + tile.row * down + tile.column * across);
        if block.is_last && across == 1 {
            micro::prefetch(c, down, tile.rows, nr);
        }
        // SAFETY: by the caller; the tile is inside C (`Gemm::check`), no other task has it, and the processor has the
        // instruction set.
        unsafe {
            if is_direct {
                return run(packed, rows, strip, ahead, (before, nr), (c, down));
            }
            run(packed, rows, strip, ahead, (before, nr), (total.as_mut_ptr(), nr));
        }
        if block.is_last {
            for (i, sums) in total.chunks_exact_mut(nr).take(tile.rows).enumerate() {
                self.write(tile.row + i, tile.column, &mut sums[..tile.columns], tile.index);
            }
        }
    }

    /// Writes a part of a row of C from its sums.
    fn write(&self, row: usize, column: usize, sums: &mut [S], index: usize) {
        let Gemm { alpha, beta, .. } = self.gemm;
        let (down, across) = self.gemm.c.steps();
        let start = self.gemm.first(&self.gemm.c, index) + row * down + column * across;
        if alpha != S::ONE {
            sums.iter_mut().for_each(|x| *x = alpha.times(*x));
        }
        if beta != S::ZERO {
            // SAFETY: inside C (`Gemm::check`), and no other task has these elements.
            let old = |j: usize| unsafe { *self.out.0.add(start + j * across) };
            // Without the instruction, a fused multiply-add is a function call.
            wide(|| sums.iter_mut().enumerate().for_each(|(j, x)| *x = S::fma(beta, old(j), *x)));
        }
        let Parts { bias, other, aux, f, is_gradient } = &self.epilogue;
        if let Some(bias) = bias {
            sums.iter_mut().zip(&bias[column..]).for_each(|(x, b)| *x = x.plus(*b));
        }
        if let Some(aux) = aux {
            // SAFETY: the elements are inside C (`Gemm::check`), no other task has them, and `aux` has the layout of C
            // (`Parts::check`).
            unsafe { aux.put(start, across, sums) };
        }
        match (f, other) {
            (Some(f), Some(z)) if *is_gradient => {
                let mut at = [S::ZERO; MAX_COLUMNS];
                at.iter_mut().zip(z[start..].iter().step_by(across)).take(sums.len()).for_each(|(at, z)| *at = *z);
                S::times_gradient(*f, &at[..sums.len()], sums);
            }
            (Some(f), _) => S::activate(*f, sums),
            (None, Some(residual)) => {
                let residual = residual[start..].iter().step_by(across);
                sums.iter_mut().zip(residual).for_each(|(x, r)| *x = x.plus(*r));
            }
            (None, None) => {}
        }
        // SAFETY: the elements are inside C (`Gemm::check`), and no other task has them.
        unsafe { self.out.put(start, across, sums) };
    }
}

#[cfg(test)]
mod grouped_tests;
#[cfg(test)]
mod tests;
