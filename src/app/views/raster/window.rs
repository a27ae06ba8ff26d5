//! Visible part of the raster, and its division into cells.

/// Visible times and rows. Times are steps relative to the history's origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Left edge, steps.
    pub t0: f64,
    /// Right edge, steps.
    pub t1: f64,
    /// Bottom edge, rows.
    pub r0: f64,
    /// Top edge, rows.
    pub r1: f64,
}

impl Window {
    pub fn span(&self) -> f64 {
        self.t1 - self.t0
    }

    pub fn rows(&self) -> f64 {
        self.r1 - self.r0
    }

    /// Zooms the rows around the row at the fraction `at` of the height from the bottom. Rows stay within `0..rows`.
    pub fn zoom_rows(&mut self, factor: f64, at: f64, rows: u32) {
        let most = f64::from(rows.max(1));
        let count = (self.rows() * factor).clamp(most.min(4.0), most);
        let fixed = self.r0 + at * self.rows();
        self.r0 = fixed - at * count;
        self.r1 = self.r0 + count;
        self.keep_rows_inside(rows);
    }

    /// Moves the window up by a number of rows, within `0..rows`.
    pub fn pan_rows(&mut self, rows_up: f64, rows: u32) {
        self.r0 += rows_up;
        self.r1 += rows_up;
        self.keep_rows_inside(rows);
    }

    fn keep_rows_inside(&mut self, rows: u32) {
        let most = f64::from(rows);
        let shift = (-self.r0).max(0.0) - (self.r1 - most).max(0.0);
        if self.rows() <= most {
            self.r0 += shift;
            self.r1 += shift;
        }
    }
}

/// Division of a window into cells of about a pixel. A cell has a whole number of steps and of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Steps per column.
    pub steps: u32,
    /// Index of the first column, whose first step is `first * steps`.
    pub first: i64,
    /// Number of columns.
    pub columns: usize,
    /// Rows of the raster per cell.
    pub rows: u32,
    /// First row of the lowest cell.
    pub row0: u32,
    /// Number of cell rows.
    pub height: usize,
}

impl Cells {
    /// Creates the finest cells that are not smaller than a pixel. The number of columns does not depend on the start of the
    /// window, so that a followed window scrolls.
    pub fn of(window: &Window, width_px: usize, height_px: usize, rows: u32) -> Self {
        Self::in_units(window, (width_px, height_px), rows, (1, 1))
    }

    /// Creates the finest cells whose steps and rows are multiples of `units` and not smaller than a pixel.
    pub fn in_units(window: &Window, (width_px, height_px): (usize, usize), rows: u32, units: (u32, u32)) -> Self {
        let steps = (window.span() / width_px.max(1) as f64).ceil().max(1.0) as u32;
        let steps = steps.div_ceil(units.0).saturating_mul(units.0);
        let first = (window.t0 / f64::from(steps)).floor() as i64;
        let columns = (window.span() / f64::from(steps)).ceil() as i64 + 1;
        let per_cell = (window.rows() / height_px.max(1) as f64).ceil().max(1.0) as u32;
        let per_cell = per_cell.div_ceil(units.1) * units.1;
        let row0 = (window.r0.max(0.0) / f64::from(per_cell)).floor() as u32 * per_cell;
        let top = window.r1.min(f64::from(rows)).ceil().max(f64::from(row0) + 1.0) as u32;
        let height = (top - row0).div_ceil(per_cell) as usize;
        Self { steps, first, columns: columns.clamp(1, 8192) as usize + 1, rows: per_cell, row0, height }
    }

    /// First relative step of the cells, not below 0.
    pub fn first_step(&self) -> u32 {
        (self.first.max(0) as u64 * u64::from(self.steps)).min(u64::from(u32::MAX)) as u32
    }

    /// Relative step after the last one of the cells.
    pub fn end_step(&self) -> u32 {
        ((self.first + self.columns as i64).max(0) as u64 * u64::from(self.steps)).min(u64::from(u32::MAX)) as u32
    }

    /// Returns the cell row of a row of the raster; `None` if it is outside.
    pub fn cell_of(&self, row: u32) -> Option<usize> {
        let cell = (row.checked_sub(self.row0)? / self.rows) as usize;
        (cell < self.height).then_some(cell)
    }

    /// Whether the cells cover a window, except for up to a cell at each end.
    pub fn covers(&self, window: &Window) -> bool {
        let (from, to) = (self.first as f64, (self.first + self.columns as i64) as f64);
        let (step, row) = (f64::from(self.steps), f64::from(self.rows));
        let top = f64::from(self.row0) + self.height as f64 * row;
        window.t0 >= (from - 1.0) * step
            && window.t1 <= (to + 1.0) * step
            && window.r0 >= f64::from(self.row0) - row
            && window.r1 <= top + row
    }

    /// Whether both divisions have the same cell rows.
    pub fn has_rows_of(&self, other: &Self) -> bool {
        (self.rows, self.row0, self.height) == (other.rows, other.row0, other.height)
    }

    /// Whether only the first column differs, so that one division scrolls into the other.
    pub fn scrolls_to(&self, other: &Self) -> bool {
        Self { first: other.first, ..*self } == *other
    }

    /// Returns the cell row of each element; `u16::MAX` outside.
    pub fn rows_of(&self, row_of: &[u32]) -> Vec<u16> {
        let top = self.row0 + self.height as u32 * self.rows;
        let is_in = |row: u32| (self.row0..top).contains(&row);
        // A multiplication replaces the division. It is exact while rows times rows per cell is below 2³².
        if u64::from(top) * u64::from(self.rows) < 1 << 32 {
            let inverse = (1u64 << 32) / u64::from(self.rows) + 1;
            let cell = |row: u32| ((u64::from(row - self.row0) * inverse) >> 32) as u16;
            return row_of.iter().map(|row| if is_in(*row) { cell(*row) } else { u16::MAX }).collect();
        }
        let cell = |row: u32| ((row - self.row0) / self.rows) as u16;
        row_of.iter().map(|row| if is_in(*row) { cell(*row) } else { u16::MAX }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_the_window() {
        let window = Window { t0: 1234.5, t1: 56_789.0, r0: 10.0, r1: 138_639.0 };
        let cells = Cells::of(&window, 1000, 600, 138_639);
        assert!(f64::from(cells.first_step()) <= window.t0 && f64::from(cells.end_step()) >= window.t1);
        assert!(cells.columns <= 1003 && cells.height <= 601);
        assert!(cells.row0 + cells.height as u32 * cells.rows >= 138_639);
    }

    #[test]
    fn cells_in_units_start_at_multiples() {
        let window = Window { t0: 1234.5, t1: 56_789.0, r0: 10.0, r1: 138_639.0 };
        let cells = Cells::in_units(&window, (1000, 600), 138_639, (64, 136));
        assert_eq!((cells.steps % 64, cells.rows % 136, cells.row0 % cells.rows), (0, 0, 0));
        assert!(cells.covers(&window));
        assert!(!cells.covers(&Window { t1: 90_000.0, ..window }));
    }

    #[test]
    fn every_row_is_in_its_cell() {
        let rows: Vec<u32> = (0..138_639).chain([u32::MAX]).collect();
        for (r0, r1, height) in [(0.0, 138_639.0, 1), (0.0, 138_639.0, 601), (1_000.0, 90_000.0, 7), (5.0, 40.0, 300)] {
            let window = Window { t0: 0.0, t1: 100.0, r0, r1 };
            let cells = Cells::of(&window, 100, height, 138_639);
            let expected = |row: &u32| cells.cell_of(*row).map_or(u16::MAX, |cell| cell as u16);
            assert!(cells.rows_of(&rows).iter().eq(rows.iter().map(expected).collect::<Vec<_>>().iter()));
        }
    }

    #[test]
    fn a_followed_window_only_scrolls() {
        let at = |t1: f64| Cells::of(&Window { t0: t1 - 10_000.0, t1, r0: 0.0, r1: 500.0 }, 1000, 300, 500);
        let step = f64::from(at(20_000.0).steps);
        assert!(at(20_000.0).scrolls_to(&at(20_000.0 + 7.0 * step)));
    }

    #[test]
    fn panning_stays_inside() {
        let mut window = Window { t0: 0.0, t1: 100.0, r0: 0.0, r1: 50.0 };
        window.pan_rows(-10.0, 100);
        assert_eq!((window.r0, window.r1), (0.0, 50.0));
        window.zoom_rows(4.0, 0.5, 100);
        assert_eq!((window.r0, window.r1), (0.0, 100.0));
    }
}
