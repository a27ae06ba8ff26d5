//! Spike counts per cell in a ring of columns that scrolls with time. Scrolling to the newest data bins only new spikes.

use super::{
    count_colors::CountColors,
    tiles::{Level, Pyramid, Tile, Tiles},
    window::Cells,
};
use crate::{
    app::{
        document::time::{
            Bin, ElementBins,
            spikes::{History, between},
        },
        kit::colors,
    },
    sim::Spike,
};
use egui::{Color32, ColorImage};
use std::sync::Arc;

/// Bit of a count that marks a cell in which a selected element spiked.
const SELECTED: u32 = 1 << 31;

/// Cell row and selection of each element.
#[derive(Clone)]
pub struct Lookup {
    /// Cell row of each element, from [`Cells::rows_of`].
    pub row_of: Arc<Vec<u16>>,
    /// Bit set of the selected elements; empty without a selection.
    pub selected: Arc<Vec<u64>>,
    /// Cell rows of collapsed groups, which are counted but not coloured.
    pub bands: Vec<usize>,
}

impl Lookup {
    fn mark(&self, lane: u32) -> u32 {
        let word = self.selected.get(lane as usize / 64).copied().unwrap_or(0);
        if word >> (lane % 64) & 1 == 1 { SELECTED } else { 0 }
    }
}

/// Builds a bit set of the elements below `len`; empty without elements.
pub fn bits(elements: &[u32], len: u32) -> Vec<u64> {
    if elements.is_empty() {
        return vec![];
    }
    let mut words = vec![0u64; (len as usize).div_ceil(64)];
    for e in elements.iter().filter(|e| **e < len) {
        words[*e as usize / 64] |= 1 << (e % 64);
    }
    words
}

/// Part of the input of a count.
enum Part {
    Spikes(Arc<Vec<Spike>>),
    Tiles(Arc<Tiles>, Level),
    /// Counts per element in a range of relative steps whose single spikes are no longer in memory.
    Bin(std::ops::Range<u64>, Arc<Vec<u16>>),
}

/// Input of a grid, and its end in the spike sequence.
pub struct Job {
    parts: Vec<Part>,
    sequence: u64,
    last_step: u32,
}

impl Job {
    /// Collects the input for a window: full chunks are shared, as tiles if these are available; the tail is copied.
    pub fn new((history, bins): (&History, &ElementBins), pyramid: &Pyramid, level: Level, cells: &Cells) -> Self {
        let (from, to) = (cells.first_step(), cells.end_step());
        let dropped = history.first_step().filter(|_| history.dropped() > 0).unwrap_or(0).min(to);
        let origin = history.origin();
        let part = |(number, chunk): (u64, &Arc<Vec<Spike>>)| match (level, pyramid.get(number)) {
            (Level::Fine | Level::Coarse, Some(tiles)) => Part::Tiles(tiles.clone(), level),
            _ => Part::Spikes(chunk.clone()),
        };
        let relative = |step: u64| step.saturating_sub(origin);
        let bin = |b: Bin| Part::Bin(relative(b.from)..relative(b.to).min(dropped.into()), b.counts);
        let old = (from < dropped).then(|| bins.between(origin + u64::from(from), origin + u64::from(dropped)));
        let mut parts: Vec<Part> = old.into_iter().flatten().map(bin).collect();
        parts.extend(history.chunks_between(from, to).map(part));
        let tail = between(history.tail(), from, to);
        if !tail.is_empty() {
            parts.push(Part::Spikes(Arc::new(tail.to_vec())));
        }
        Self { parts, sequence: history.sequence(), last_step: history.last_step().unwrap_or(0) }
    }
}

/// Mapping of tile rows to grid rows, shared by all tiles of a level.
#[derive(Default)]
struct RowMapping {
    /// Rows per cell of the tile, and its number of cells vertically.
    tile: (u32, usize),
    /// Range of the tile's visible cells.
    range: std::ops::Range<usize>,
    /// Cell row in the grid of each visible cell of the tile.
    of: Vec<u32>,
}

impl RowMapping {
    fn fit(&mut self, tile: &Tile, cells: &Cells) {
        if self.tile == (tile.rows, tile.height) {
            return;
        }
        let place = |r: usize| cells.cell_of(r as u32 * tile.rows);
        let start = (0..tile.height).position(|r| place(r).is_some()).unwrap_or(tile.height);
        let seen = (start..tile.height).map_while(place);
        self.of = seen.map(|cell| cell as u32).collect();
        (self.tile, self.range) = ((tile.rows, tile.height), start..start + self.of.len());
    }
}

#[derive(Clone)]
pub struct Grid {
    /// The cells of the window.
    pub cells: Cells,
    lookup: Lookup,
    /// Counts in column-major order; the column of time `c` is at `c mod columns`.
    counts: Vec<u32>,
    totals: Vec<u32>,
    max: u32,
    table_max: u32,
    colors: CountColors,
    table: Vec<Color32>,
    sequence: u64,
    binned_to: u32,
}

impl Grid {
    /// Counts the spikes of a job within the window.
    pub fn of(cells: Cells, lookup: Lookup, job: &Job, colors: CountColors) -> Self {
        let mut grid = Self {
            counts: vec![0; cells.columns * cells.height],
            totals: vec![0; cells.columns],
            max: 1,
            table_max: 0,
            colors,
            table: vec![],
            cells,
            lookup,
            sequence: job.sequence,
            binned_to: job.last_step,
        };
        let (from, to) = (cells.first_step(), cells.end_step());
        let mut mapping = RowMapping::default();
        for part in &job.parts {
            match part {
                Part::Spikes(spikes) => grid.add(between(spikes, from, to)),
                Part::Bin(steps, counts) => grid.add_bin(steps, counts),
                Part::Tiles(tiles, Level::Coarse) => grid.add_tile(&tiles.coarse, &mut mapping),
                Part::Tiles(tiles, _) => grid.add_tile(&tiles.fine, &mut mapping),
            }
        }
        grid.max = grid.highest();
        grid.make_table();
        grid
    }

    /// Adds spikes to the counts. All must be within the times of the window.
    fn add(&mut self, spikes: &[Spike]) {
        let Cells { steps, columns, height, .. } = self.cells;
        // Spikes are in order of time, so the column rarely changes.
        let (mut column_end, mut base, mut slot) = (0u64, 0usize, 0usize);
        for spike in spikes {
            if u64::from(spike.step) >= column_end || column_end == 0 {
                let column = spike.step / steps;
                column_end = (u64::from(column) + 1) * u64::from(steps);
                slot = (i64::from(column)).rem_euclid(columns as i64) as usize;
                base = slot * height;
            }
            let row = self.lookup.row_of.get(spike.lane as usize).copied().unwrap_or(u16::MAX);
            if usize::from(row) >= height {
                continue;
            }
            let cell = &mut self.counts[base + usize::from(row)];
            let count = ((*cell & !SELECTED) + 1).min(SELECTED - 1);
            *cell = count | (*cell & SELECTED) | self.lookup.mark(spike.lane);
            // The count of a collapsed group includes all its elements, so it does not set the brightness.
            if count > self.max && !self.lookup.bands.contains(&usize::from(row)) {
                self.max = count;
            }
            self.totals[slot] += 1;
        }
    }

    /// Distributes the counts of a bin evenly over its columns. A cell with any spike keeps at least one.
    fn add_bin(&mut self, steps: &std::ops::Range<u64>, counts: &[u16]) {
        let Cells { steps: per_column, columns, height, first, .. } = self.cells;
        let (from, to) = (steps.start as f64, (steps.end as f64).max(steps.start as f64 + 1.0));
        let mut rows = vec![(0u32, false); height];
        for (lane, n) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let row = self.lookup.row_of.get(lane).copied().unwrap_or(u16::MAX);
            if let Some(cell) = rows.get_mut(usize::from(row)) {
                *cell = (cell.0 + u32::from(*n), cell.1 || self.lookup.mark(lane as u32) != 0);
            }
        }
        let width = f64::from(per_column);
        let begin = ((from / width).floor() as i64).max(first);
        let end = ((to / width).ceil() as i64).min(first + columns as i64);
        for column in begin..end {
            let start = column as f64 * width;
            let share = ((to.min(start + width) - from.max(start)) / (to - from)).clamp(0.0, 1.0);
            let slot = self.slot(column);
            let mut total = 0.0;
            for (cell, (n, is_selected)) in self.counts[slot * height..].iter_mut().zip(&rows).filter(|(_, r)| r.0 > 0)
            {
                let here = f64::from(*n) * share;
                total += here;
                let mark = if *is_selected { SELECTED } else { 0 };
                *cell = (((*cell & !SELECTED) + (here.round() as u32).max(1)).min(SELECTED - 1))
                    | (*cell & SELECTED)
                    | mark;
            }
            self.totals[slot] += total.round() as u32;
        }
    }

    /// Adds the counts of a tile whose columns and cells nest in those of the grid. The maximum is computed at the end.
    fn add_tile(&mut self, tile: &Tile, mapping: &mut RowMapping) {
        let Cells { steps, columns, height, .. } = self.cells;
        mapping.fit(tile, &self.cells);
        let ring = self.cells.first..self.cells.first + columns as i64;
        for (c, counts) in tile.counts.chunks_exact(tile.height.max(1)).enumerate() {
            let column = i64::from((tile.first + c as u32 * tile.steps) / steps);
            if !ring.contains(&column) {
                continue;
            }
            let slot = self.slot(column);
            let cells = &mut self.counts[slot * height..(slot + 1) * height];
            let counts = &counts[mapping.range.clone()];
            for (place, n) in mapping.of.iter().zip(counts) {
                if let Some(cell) = cells.get_mut(*place as usize) {
                    *cell += u32::from(*n);
                }
            }
            self.totals[slot] += counts.iter().map(|n| u32::from(*n)).sum::<u32>();
        }
    }

    /// Returns the highest count of a cell, at least 1. Collapsed groups are left out, because they do not set the brightness.
    fn highest(&self) -> u32 {
        let highest = |counts: &[u32]| counts.iter().map(|n| n & !SELECTED).max().unwrap_or(0);
        if self.lookup.bands.is_empty() {
            return highest(&self.counts).max(1);
        }
        let is_row = |y: &usize| !self.lookup.bands.contains(y);
        let rows: Vec<usize> = (0..self.cells.height).filter(is_row).collect();
        let columns = self.counts.chunks_exact(self.cells.height.max(1));
        columns.flat_map(|c| rows.iter().map(|y| c[*y] & !SELECTED)).max().unwrap_or(0).max(1)
    }

    /// Whether the grid can scroll to a window: it has the same cells, is not earlier, and all spikes so far were within the
    /// ring.
    pub fn can_scroll_to(&self, cells: &Cells) -> bool {
        self.cells.scrolls_to(cells) && cells.first >= self.cells.first && self.binned_to < self.cells.end_step()
    }

    /// Returns the maximum number of new spikes that scrolling to a window has to count.
    pub fn count_new(&self, first: i64, history: &History) -> usize {
        let cells = Cells { first, ..self.cells };
        let new = history.sequence().saturating_sub(self.sequence) as usize;
        new.min(history.count(cells.first_step(), cells.end_step()))
    }

    /// Scrolls to a later window of the same cells and counts new spikes. Returns the changed columns, or `None` if the whole
    /// image needs new colours.
    pub fn scroll(&mut self, first: i64, history: &History) -> Option<std::ops::Range<i64>> {
        if first == self.cells.first && history.sequence() == self.sequence {
            return Some(0..0);
        }
        let columns = self.cells.columns as i64;
        let end = first + columns;
        for column in (self.cells.first + columns).max(first)..end {
            let slot = self.slot(column);
            self.totals[slot] = 0;
            self.counts[slot * self.cells.height..(slot + 1) * self.cells.height].fill(0);
        }
        let mut changed = (self.cells.first + columns).max(first);
        self.cells.first = first;
        let (from, to, steps) = (self.cells.first_step(), self.cells.end_step(), i64::from(self.cells.steps));
        for slice in history.after(self.sequence) {
            let slice = between(slice, from, to);
            changed = slice.first().map_or(changed, |s| changed.min(i64::from(s.step) / steps));
            self.add(slice);
        }
        self.sequence = history.sequence();
        self.binned_to = history.last_step().unwrap_or(0);
        if self.max > self.table_max.saturating_mul(2) {
            self.make_table();
            return None;
        }
        Some(changed.max(first)..end)
    }

    /// Sets the colours. Returns whether the whole image needs new colours.
    pub fn set_colors(&mut self, colors: CountColors) -> bool {
        let changed = self.colors != colors;
        if changed {
            self.colors = colors;
            self.make_table();
        }
        changed
    }

    fn make_table(&mut self) {
        self.table_max = self.max.max(4);
        let ramp = colors::densities(self.colors.dark);
        let color_of = |count: u32| match count {
            0 => Color32::TRANSPARENT,
            n => {
                let color = ramp[(self.colors.scale.fraction(n, self.table_max).clamp(0.0, 1.0) * 255.0) as usize];
                if self.colors.dim { color.gamma_multiply(0.4) } else { color }
            }
        };
        self.table = (0..=self.table_max.min(4095)).map(color_of).collect();
    }

    fn color(&self, count: u32) -> Color32 {
        if count & SELECTED != 0 {
            return self.colors.accent;
        }
        self.table[(count as usize).min(self.table.len() - 1)]
    }

    /// Creates the image of a range of columns, in ring order.
    pub fn image(&self, slots: std::ops::Range<usize>) -> ColorImage {
        let (height, width) = (self.cells.height, slots.len());
        let mut pixels = vec![Color32::TRANSPARENT; width * height];
        // Counts are column-major and pixels row-major; blocks of columns stay in the cache.
        for x0 in (0..width).step_by(16) {
            let columns = x0..(x0 + 16).min(width);
            for (y, line) in pixels.chunks_exact_mut(width.max(1)).rev().enumerate() {
                for x in columns.clone() {
                    let count = self.counts[(slots.start + x) * height + y];
                    if count != 0 {
                        line[x] = self.color(count);
                    }
                }
            }
        }
        for y in &self.lookup.bands {
            let line = (height - 1 - y) * slots.len();
            pixels[line..line + slots.len()].fill(Color32::TRANSPARENT);
        }
        ColorImage::new([slots.len(), height], pixels)
    }

    /// Returns the number of spikes in a column; 0 outside the ring.
    pub fn total(&self, column: i64) -> u32 {
        let inside = (self.cells.first..self.cells.first + self.cells.columns as i64).contains(&column);
        if inside { self.totals[column.rem_euclid(self.cells.columns as i64) as usize] } else { 0 }
    }

    /// Returns the number of spikes in a cell; 0 outside the ring.
    pub fn count(&self, column: i64, cell: usize) -> u32 {
        let inside = (self.cells.first..self.cells.first + self.cells.columns as i64).contains(&column);
        let at = self.slot(column) * self.cells.height + cell;
        if inside && cell < self.cells.height { self.counts[at] & !SELECTED } else { 0 }
    }

    /// Returns the number of spikes in all columns.
    pub fn spikes(&self) -> u64 {
        self.totals.iter().map(|n| u64::from(*n)).sum()
    }

    /// Returns the relative step up to which spikes are counted; `end` is the last step of the history.
    pub fn counted_to(&self, history: &History, end: f64) -> f64 {
        if self.sequence == history.sequence() { end } else { f64::from(self.binned_to) }
    }

    /// Returns the ring index of a column.
    pub fn slot(&self, column: i64) -> usize {
        column.rem_euclid(self.cells.columns as i64) as usize
    }
}

#[cfg(test)]
mod tests;
