//! Storage layout of matrices.

use super::GemmError;

/// Storage order of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row-major: elements of a row are adjacent.
    RowMajor,
    /// Column-major: elements of a column are adjacent.
    ColMajor,
}

/// Strides of a matrix, or of a batch of matrices, in a buffer, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Storage order of each matrix.
    pub order: Order,
    /// Leading dimension: elements from one row to the next in row-major order, from one column to the next in column-major
    /// order.
    pub ld: usize,
    /// Elements from one matrix of a batch to the next; 0 broadcasts one matrix to the whole batch.
    pub stride: usize,
    /// Elements from one batch to the next: for example, heads are a batch, sequences are batches of heads.
    pub outer: usize,
}

impl Layout {
    /// Returns a row-major layout with `columns` adjacent elements per row, without batches.
    pub const fn rows(columns: usize) -> Self {
        Self { order: Order::RowMajor, ld: columns, stride: 0, outer: 0 }
    }

    /// Returns the layout of the transposed matrix in the same memory.
    #[must_use]
    pub const fn transposed(self) -> Self {
        let order = match self.order {
            Order::RowMajor => Order::ColMajor,
            Order::ColMajor => Order::RowMajor,
        };
        Self { order, ..self }
    }

    /// Sets the number of elements between the matrices of a batch.
    #[must_use]
    pub const fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    /// Sets the number of elements between the batches.
    #[must_use]
    pub const fn outer(self, outer: usize) -> Self {
        Self { outer, ..self }
    }

    /// Returns the numbers of elements from one row to the next, and from one column to the next.
    pub const fn steps(&self) -> (usize, usize) {
        match self.order {
            Order::RowMajor => (self.ld, 1),
            Order::ColMajor => (1, self.ld),
        }
    }

    /// Returns the number of elements that a buffer needs for `(outer, batch)` matrices of `rows` × `columns`; `None` on
    /// overflow.
    pub fn extent(&self, rows: usize, columns: usize, (outer, batch): (usize, usize)) -> Option<usize> {
        if rows == 0 || columns == 0 || batch == 0 || outer == 0 {
            return Some(0);
        }
        let (row, column) = self.steps();
        let matrix = (rows - 1).checked_mul(row)?.checked_add((columns - 1).checked_mul(column)?)?.checked_add(1)?;
        let inner = (batch - 1).checked_mul(self.stride)?.checked_add(matrix)?;
        (outer - 1).checked_mul(self.outer)?.checked_add(inner)
    }

    /// Returns the extent of the adjacent dimension: columns if row-major, otherwise rows.
    const fn adjacent(&self, rows: usize, columns: usize) -> usize {
        match self.order {
            Order::RowMajor => columns,
            Order::ColMajor => rows,
        }
    }

    /// Returns an error if matrices overlap. Each must begin after the end of the previous one, or beside it within each row (or
    /// column), as the heads of attention do.
    pub(super) fn check_apart(
        &self,
        rows: usize,
        columns: usize,
        (outer, batch): (usize, usize),
    ) -> Result<(), GemmError> {
        let mut levels = [(self.stride, batch), (self.outer, outer)];
        levels.sort_unstable();
        let mut extent = self.extent(rows, columns, (1, 1)).unwrap_or(usize::MAX);
        let mut width = self.adjacent(rows, columns);
        for (stride, count) in levels.into_iter().filter(|(_, count)| *count > 1) {
            let others = stride.saturating_mul(count - 1);
            let is_beside = stride >= width && width.saturating_add(others) <= self.ld;
            if !is_beside && stride < extent {
                return Err(GemmError::Overlap { stride, matrix: extent });
            }
            width = if is_beside { width + others } else { usize::MAX };
            extent = extent.saturating_add(others);
        }
        Ok(())
    }

    pub(super) fn check(
        &self,
        matrix: char,
        rows: usize,
        columns: usize,
        batches: (usize, usize),
        given: usize,
    ) -> Result<(), GemmError> {
        let adjacent = self.adjacent(rows, columns);
        if self.ld < adjacent {
            return Err(GemmError::LeadingDimension { matrix, ld: self.ld, needed: adjacent });
        }
        let needed = self.extent(rows, columns, batches).unwrap_or(usize::MAX);
        if needed > given { Err(GemmError::Length { matrix, needed, given }) } else { Ok(()) }
    }
}
