//! The definition of [`Gemm`], for f32, f64, and i8 with i32 sums.
//!
//! # Order of summation
//!
//! For each element of C, on every instruction set, for every number of threads, layout and size:
//!
//! 1. k runs in blocks of [`K_BLOCK`]. The sum of a block starts at 0 and takes `fma(a[k], b[k], sum)` in ascending k,
//!    rounded once per k.
//! 2. The sum of the first block is the total; those of the others are added to it in ascending order.
//! 3. `x = alpha · total`, and if beta is not 0, `x = fma(beta, c, x)`. Then the epilogue, one rounding per operation;
//!    GELU is evaluated in f64 and rounded once.
//!
//! So results are the same bits on any machine. Blocks also keep the rounding error of long f32 sums small: its
//! standard deviation relative to the sum is about `2⁻²⁴ sqrt(K_BLOCK / 6)` instead of `2⁻²⁴ sqrt(K / 6)`.
//! Integers wrap on overflow, which i8 operands reach at K = 131,072 at the earliest.
//!
//! 16-bit operands are widened to f32 first; products of two are exact in f32's fused multiply-add.
//!
//! # How
//!
//! B is packed into strips as wide as a microkernel, one column panel at a time; tasks of some rows and some strips
//! pack their rows of A, run the microkernel over a private tile and write it to C. Vectors run over columns, so that
//! lanes never add to each other. Measured with two threads of a Xeon with AVX-512 at 1024³, see `bench gemm`.

mod micro;

pub use micro::{Isa, Sum};

use super::{Epilogue, Gemm, GemmError, Layout, gelu};
use micro::Micro;
use rayon::prelude::*;

/// Addends of one block of a sum. Part of the definition: another value gives other bits.
pub const K_BLOCK: usize = 256;
/// Rows of a task, in microkernels.
const TASK_ROWS: usize = 8;
/// Columns of a task: its tile, its rows of A and its strips of B stay in a second-level cache.
const TASK_COLUMNS: usize = 1024;
/// Elements of B packed at a time.
const PACKED: usize = 8 << 20;
/// Operations below which one thread is faster than two.
const SERIAL: u64 = 1 << 19;

/// An operand's element; products are summed in the type it is widened to.
pub trait Element: Copy + Send + Sync {
    /// Type of the sums and of C.
    type Sum: Sum;
    /// Without loss.
    fn widen(self) -> Self::Sum;
}

impl Element for f32 {
    type Sum = Self;
    fn widen(self) -> Self {
        self
    }
}

impl Element for f64 {
    type Sum = Self;
    fn widen(self) -> Self {
        self
    }
}

impl Element for i8 {
    type Sum = i32;
    fn widen(self) -> i32 {
        self.into()
    }
}

/// Multiplies on the threads of the current rayon pool.
pub fn gemm<E: Element>(
    gemm: &Gemm<E::Sum>,
    a: &[E],
    b: &[E],
    c: &mut [E::Sum],
    epilogue: Epilogue<&[E::Sum]>,
) -> Result<(), GemmError> {
    gemm_with(Isa::best(), gemm, a, b, c, epilogue)
}

/// The same on a given instruction set, for tests and measurements.
pub fn gemm_with<E: Element>(
    isa: Isa,
    gemm: &Gemm<E::Sum>,
    a: &[E],
    b: &[E],
    c: &mut [E::Sum],
    epilogue: Epilogue<&[E::Sum]>,
) -> Result<(), GemmError> {
    gemm.check(a.len(), b.len(), c.len())?;
    epilogue.check(gemm, |data| data.len())?;
    if E::Sum::IS_INTEGER && matches!(epilogue, Epilogue::BiasGelu(_)) {
        return Err(GemmError::IntegerGelu);
    }
    if gemm.m == 0 || gemm.n == 0 || gemm.batch == 0 {
        return Ok(());
    }
    let job = Job { gemm: *gemm, micro: E::Sum::micro(isa), out: Out(c.as_mut_ptr()), epilogue };
    let one = |i: usize| job.matrix(i, &a[i * gemm.a.stride..], &b[i * gemm.b.stride..]);
    if gemm.ops() < SERIAL {
        (0..gemm.batch).for_each(one);
    } else {
        (0..gemm.batch).into_par_iter().for_each(one);
    }
    Ok(())
}

/// C, written by several threads in disjoint places.
struct Out<S>(*mut S);
// SAFETY: tasks write disjoint elements: matrices of a batch do not overlap (`Gemm::check`), and neither do tasks.
unsafe impl<S: Send> Sync for Out<S> {}
// SAFETY: as above.
unsafe impl<S: Send> Send for Out<S> {}

struct Job<'a, S: Sum> {
    gemm: Gemm<S>,
    micro: Micro<S>,
    out: Out<S>,
    epilogue: Epilogue<&'a [S]>,
}

/// Strips of packed B: block by block of k, strip by strip, `nr` columns of each k adjacent.
struct Strips<S> {
    values: Vec<S>,
    /// First column.
    from: usize,
    /// Columns.
    columns: usize,
    /// Columns with the zeros behind them.
    padded: usize,
}

/// Private memory of a task.
#[derive(Default)]
struct Scratch<S> {
    rows: Vec<S>,
    tiles: Vec<S>,
    row: Vec<S>,
}

impl<S: Sum> Job<'_, S> {
    /// One matrix of the batch.
    fn matrix<E: Element<Sum = S>>(&self, index: usize, a: &[E], b: &[E]) {
        let Gemm { m, n, k, .. } = self.gemm;
        let Micro { mr, nr, .. } = self.micro;
        let is_serial = self.gemm.ops() / (self.gemm.batch as u64) < SERIAL;
        let panel = (PACKED / k.max(1)).max(TASK_COLUMNS).next_multiple_of(nr);
        for from in (0..n).step_by(panel) {
            let strips = self.pack_strips(b, from, panel.min(n - from), is_serial);
            let wide = strips.padded.div_ceil(TASK_COLUMNS.next_multiple_of(nr));
            let threads = if is_serial { 1 } else { rayon::current_num_threads() };
            let tall = m.div_ceil(mr).div_ceil((4 * threads).div_ceil(wide)).clamp(1, TASK_ROWS) * mr;
            let task = |scratch: &mut Scratch<S>, t: usize| {
                let rows = t / wide * tall;
                let columns = t % wide * TASK_COLUMNS.next_multiple_of(nr);
                self.task(scratch, a, &strips, (rows, tall.min(m - rows)), columns, index);
            };
            let tasks = m.div_ceil(tall) * wide;
            if is_serial {
                let mut scratch = Scratch::default();
                (0..tasks).for_each(|t| task(&mut scratch, t));
            } else {
                (0..tasks).into_par_iter().for_each_init(Scratch::default, task);
            }
        }
    }

    fn pack_strips<E: Element<Sum = S>>(&self, b: &[E], from: usize, columns: usize, is_serial: bool) -> Strips<S> {
        let (nr, k) = (self.micro.nr, self.gemm.k);
        let padded = columns.next_multiple_of(nr);
        let mut values = vec![S::ZERO; k * padded];
        let (row, column) = self.gemm.b.steps();
        let fill = |block: usize, strip: usize, out: &mut [S]| {
            let (first, at) = (block * K_BLOCK, from + strip * nr);
            let width = nr.min(from + columns - at);
            for (p, lanes) in out.chunks_exact_mut(nr).enumerate() {
                let start = (first + p) * row + at * column;
                if column == 1 {
                    lanes.iter_mut().zip(&b[start..start + width]).for_each(|(l, x)| *l = x.widen());
                } else {
                    lanes[..width].iter_mut().enumerate().for_each(|(j, l)| *l = b[start + j * column].widen());
                }
            }
        };
        if padded > 0 && k > 0 {
            let blocks = values.chunks_mut(K_BLOCK * padded).enumerate();
            let all = blocks.flat_map(|(block, all)| {
                let depth = all.len() / padded;
                all.chunks_mut(depth * nr).enumerate().map(move |(strip, out)| (block, strip, out))
            });
            if is_serial {
                all.for_each(|(block, strip, out)| fill(block, strip, out));
            } else {
                let all: Vec<_> = all.collect();
                all.into_par_iter().for_each(|(block, strip, out)| fill(block, strip, out));
            }
        }
        Strips { values, from, columns, padded }
    }

    /// Some rows by some strips: all of k, then C.
    fn task<E: Element<Sum = S>>(
        &self,
        scratch: &mut Scratch<S>,
        a: &[E],
        strips: &Strips<S>,
        (row, height): (usize, usize),
        column: usize,
        index: usize,
    ) {
        let Micro { mr, nr, run } = self.micro;
        let (k, panels) = (self.gemm.k, height.div_ceil(mr));
        let wide = TASK_COLUMNS.next_multiple_of(nr).min(strips.padded - column);
        scratch.tiles.resize(panels * mr * wide, S::ZERO);
        if k == 0 {
            scratch.tiles.fill(S::ZERO);
        }
        for block in (0..k).step_by(K_BLOCK) {
            let depth = K_BLOCK.min(k - block);
            pack_rows(&mut scratch.rows, a, &self.gemm.a, (row, height), (block, depth), mr);
            let packed = &strips.values[block * strips.padded..][..depth * strips.padded];
            let packed = packed[column * depth..][..wide * depth].chunks_exact(depth * nr);
            for (strip, tiles) in packed.zip(scratch.tiles.chunks_exact_mut(panels * mr * nr)) {
                for (rows, tile) in scratch.rows.chunks_exact(depth * mr).zip(tiles.chunks_exact_mut(mr * nr)) {
                    // SAFETY: the three hold `depth` packed rows, `depth` packed columns and `mr` × `nr` sums, and the
                    // processor has the instruction set.
                    unsafe { run(depth, rows.as_ptr(), strip.as_ptr(), tile.as_mut_ptr(), block > 0) };
                }
            }
        }
        let columns = wide.min(strips.columns - column);
        for i in 0..height {
            scratch.row.clear();
            for tiles in scratch.tiles.chunks_exact(panels * mr * nr) {
                scratch.row.extend_from_slice(&tiles[i * nr..][..nr]);
            }
            self.write(row + i, strips.from + column, &mut scratch.row[..columns], index);
        }
    }

    /// Part of a row of C from its sums.
    fn write(&self, row: usize, column: usize, sums: &mut [S], index: usize) {
        let Gemm { alpha, beta, .. } = self.gemm;
        let (down, across) = self.gemm.c.steps();
        let start = index * self.gemm.c.stride + row * down + column * across;
        // SAFETY: inside C (`Gemm::check`), and no other task has these elements.
        let place = |j: usize| unsafe { self.out.0.add(start + j * across) };
        if alpha != S::ONE {
            sums.iter_mut().for_each(|x| *x = alpha.times(*x));
        }
        if beta != S::ZERO {
            // SAFETY: as above.
            sums.iter_mut().enumerate().for_each(|(j, x)| *x = S::fma(beta, unsafe { *place(j) }, *x));
        }
        match self.epilogue {
            Epilogue::None => {}
            Epilogue::Bias(bias) => sums.iter_mut().zip(&bias[column..]).for_each(|(x, b)| *x = x.plus(*b)),
            Epilogue::BiasGelu(bias) => {
                sums.iter_mut().zip(&bias[column..]).for_each(|(x, b)| *x = x.plus(*b).by_f64(gelu));
            }
            Epilogue::Residual(residual) => {
                let residual = residual[start..].iter().step_by(across);
                sums.iter_mut().zip(residual).for_each(|(x, r)| *x = x.plus(*r));
            }
        }
        // SAFETY: as above.
        unsafe {
            if across == 1 {
                place(0).copy_from_nonoverlapping(sums.as_ptr(), sums.len());
            } else {
                sums.iter().enumerate().for_each(|(j, x)| *place(j) = *x);
            }
        }
    }
}

/// Rows of A for the microkernel: panels of `mr` rows, the rows of each k adjacent, zeros below the last row.
fn pack_rows<E: Element>(
    out: &mut Vec<E::Sum>,
    a: &[E],
    layout: &Layout,
    (row, height): (usize, usize),
    (from, depth): (usize, usize),
    mr: usize,
) {
    let (down, across) = layout.steps();
    out.resize(height.next_multiple_of(mr) * depth, E::Sum::ZERO);
    for (p, panel) in out.chunks_exact_mut(mr * depth).enumerate() {
        let first = row + p * mr;
        let rows = mr.min(row + height - first);
        if rows < mr {
            panel.fill(E::Sum::ZERO);
        }
        if across == 1 {
            for i in 0..rows {
                let source = &a[(first + i) * down + from..][..depth];
                panel.chunks_exact_mut(mr).zip(source).for_each(|(lanes, x)| lanes[i] = x.widen());
            }
        } else {
            for (q, lanes) in panel.chunks_exact_mut(mr).enumerate() {
                let source = a[(from + q) * across + first * down..].iter().step_by(down);
                lanes[..rows].iter_mut().zip(source).for_each(|(l, x)| *l = x.widen());
            }
        }
    }
}

#[cfg(test)]
mod tests;
