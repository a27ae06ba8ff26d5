//! Groups whose sizes are known only on the device, and scales of integers.

use super::{Gemm, GemmError, Order, cpu::Sum};

/// Dimension that groups divide: a batch of multiplications of unequal sizes. Group i has the rows, or the indices k,
/// `offsets[i]..offsets[i + 1]`; there are [`Gemm::batch`] groups and one more offset. Offsets ascend, so that rows are sorted by
/// group; the first need not be 0, nor the last the number of rows.
///
/// With x `[rows, inputs]` sorted by expert and a weight matrix `[outputs, inputs]` per expert:
///
/// | | |
/// |---|---|
/// | `y = x Wᵢᵀ` | [`Split::Rows`] of `Gemm::new(rows, outputs, inputs).transposed_b()` |
/// | `dx = dy Wᵢ` | [`Split::Rows`] of `Gemm::new(rows, inputs, outputs)` |
/// | `dWᵢ += dyᵀ x` | [`Split::Depth`] of `Gemm::new(outputs, inputs, rows).transposed_a().scaled(1, 1)` |
///
/// See [`Gemm::groups`]. A bias is `[groups, n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// Groups divide the rows of A and C; each has its own matrix B.
    Rows,
    /// Groups divide the columns of A and the rows of B; each has its own matrix C.
    Depth,
}

/// Scales of integer sums: `x = float(sum) · rows[row] · columns[column]`, then alpha, beta and the epilogue. The scales of the
/// matrices of a batch follow each other; an absent scale is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scales<P> {
    /// Scales by row.
    pub rows: Option<P>,
    /// Scales by column.
    pub columns: Option<P>,
}

impl<P> Scales<P> {
    pub(super) fn check<S: Sum>(&self, gemm: &Gemm<S>, len: impl Fn(&P) -> usize) -> Result<(), GemmError> {
        let matrices = gemm.outer * gemm.batch;
        let all = [("scales of rows", gemm.m, &self.rows), ("scales of columns", gemm.n, &self.columns)];
        for (what, size, given) in all {
            let needed = size * matrices;
            if let Some(given) = given.as_ref().map(&len).filter(|given| *given < needed) {
                return Err(GemmError::Epilogue { what, needed, given });
            }
        }
        Ok(())
    }
}

impl<S: Sum> Gemm<S> {
    /// Declares `count` groups, whose matrices B ([`Split::Rows`]) or C ([`Split::Depth`]) follow each other.
    #[must_use]
    pub const fn groups(mut self, split: Split, count: usize) -> Self {
        self.batch = count;
        match split {
            Split::Rows => self.b.stride = self.k * self.n,
            Split::Depth => self.c.stride = self.m * self.n,
        }
        self
    }

    /// Checks layouts and buffer lengths (in elements) of groups. Fails if a layout is invalid, a buffer is too short, C is not
    /// row-major, or there is more than one outer batch.
    pub(super) fn check_groups(
        &self,
        split: Split,
        offsets: usize,
        (a, b, c): (usize, usize, usize),
    ) -> Result<(), GemmError> {
        if self.outer != 1 || self.c.order != Order::RowMajor {
            return Err(GemmError::Groups);
        }
        if offsets < self.batch + 1 {
            return Err(GemmError::Epilogue { what: "offsets of groups", needed: self.batch + 1, given: offsets });
        }
        let [one, each] = [(1, 1), (1, self.batch)];
        let (of_b, of_c) = if split == Split::Rows { (each, one) } else { (one, each) };
        self.a.check('A', self.m, self.k, one, a)?;
        self.b.check('B', self.k, self.n, of_b, b)?;
        self.c.check('C', self.m, self.n, of_c, c)?;
        self.c.check_apart(self.m, self.n, of_c)
    }
}
