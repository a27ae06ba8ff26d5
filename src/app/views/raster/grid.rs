//! Counts of spikes per cell: a ring of columns that scrolls with time, so that following the newest data bins
//! only new spikes.

use super::{
    inks::Inks,
    tiles::{Level, Pyramid, Tile, Tiles},
    window::Cells,
};
use crate::{
    app::{
        time::spikes::{History, between},
        views::colors,
    },
    sim::Spike,
};
use egui::{Color32, ColorImage};
use std::sync::Arc;

/// The bit of a count that marks a cell in which a selected element spiked.
const SELECTED: u32 = 1 << 31;

/// What a job needs to know of the elements: the cell row of each, and whether it is selected.
#[derive(Clone)]
pub struct Lookup {
    /// From [`Cells::rows_of`].
    pub row_of: Arc<Vec<u16>>,
    /// One bit per element; empty when nothing is selected.
    pub selected: Arc<Vec<u64>>,
    /// The cell rows that are counted but not coloured: of groups shown as their rate.
    pub bands: Vec<usize>,
}

impl Lookup {
    fn mark(&self, lane: u32) -> u32 {
        let word = self.selected.get(lane as usize / 64).copied().unwrap_or(0);
        if word >> (lane % 64) & 1 == 1 { SELECTED } else { 0 }
    }
}

/// A bit set of the selected elements.
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

/// Something to count.
enum Part {
    Spikes(Arc<Vec<Spike>>),
    Tiles(Arc<Tiles>, Level),
}

/// What a grid is counted from, and the place in the sequence up to which it goes.
pub struct Job {
    parts: Vec<Part>,
    sequence: u64,
    last_step: u32,
}

impl Job {
    /// What a window needs of a history: full chunks shared, as tiles of this level where there are, the tail copied.
    pub fn new(history: &History, pyramid: &Pyramid, level: Level, cells: &Cells) -> Self {
        let (from, to) = (cells.first_step(), cells.end_step());
        let part = |(number, chunk): (u64, &Arc<Vec<Spike>>)| match (level, pyramid.get(number)) {
            (Level::Fine | Level::Coarse, Some(tiles)) => Part::Tiles(tiles.clone(), level),
            _ => Part::Spikes(chunk.clone()),
        };
        let mut parts: Vec<Part> = history.chunks_between(from, to).map(part).collect();
        let tail = between(history.tail(), from, to);
        if !tail.is_empty() {
            parts.push(Part::Spikes(Arc::new(tail.to_vec())));
        }
        Self { parts, sequence: history.sequence(), last_step: history.last_step().unwrap_or(0) }
    }
}

/// Where the rows of a tile go in a grid; the same for all tiles of a level.
#[derive(Default)]
struct Places {
    /// Rows per cell of the tile, and its cells up.
    tile: (u32, usize),
    /// Its cells that are in view.
    range: std::ops::Range<usize>,
    /// The cell rows of the grid they fall into.
    of: Vec<u32>,
}

impl Places {
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

/// The counts.
pub struct Grid {
    /// How the window is cut.
    pub cells: Cells,
    lookup: Lookup,
    /// Column-major; column `c` of time is at `c mod columns`.
    counts: Vec<u32>,
    totals: Vec<u32>,
    max: u32,
    table_max: u32,
    inks: Inks,
    table: Vec<Color32>,
    sequence: u64,
    binned_to: u32,
}

impl Grid {
    /// Counts all of these spikes that fall into the window.
    pub fn of(cells: Cells, lookup: Lookup, job: &Job, inks: Inks) -> Self {
        let mut grid = Self {
            counts: vec![0; cells.columns * cells.height],
            totals: vec![0; cells.columns],
            max: 1,
            table_max: 0,
            inks,
            table: vec![],
            cells,
            lookup,
            sequence: job.sequence,
            binned_to: job.last_step,
        };
        let (from, to) = (cells.first_step(), cells.end_step());
        let mut places = Places::default();
        for part in &job.parts {
            match part {
                Part::Spikes(spikes) => grid.add(between(spikes, from, to)),
                Part::Tiles(tiles, Level::Coarse) => grid.add_tile(&tiles.coarse, &mut places),
                Part::Tiles(tiles, _) => grid.add_tile(&tiles.fine, &mut places),
            }
        }
        grid.max = grid.highest();
        grid.make_table();
        grid
    }

    /// Counts more spikes; all must lie within the window's times.
    fn add(&mut self, spikes: &[Spike]) {
        let Cells { steps, columns, height, .. } = self.cells;
        // Spikes come in order of time: the column changes rarely.
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
            // A band shown as a rate counts a whole group: it must not decide how bright the others are.
            if !self.lookup.bands.contains(&usize::from(row)) {
                self.max = self.max.max(count);
            }
            self.totals[slot] += 1;
        }
    }

    /// Adds the counts of a tile whose columns and cells fit into those of the grid. What is the highest is looked up in the
    /// end.
    fn add_tile(&mut self, tile: &Tile, places: &mut Places) {
        let Cells { steps, columns, height, .. } = self.cells;
        places.fit(tile, &self.cells);
        let ring = self.cells.first..self.cells.first + columns as i64;
        for (c, counts) in tile.counts.chunks_exact(tile.height.max(1)).enumerate() {
            let column = i64::from((tile.first + c as u32 * tile.steps) / steps);
            if !ring.contains(&column) {
                continue;
            }
            let slot = self.slot(column);
            let cells = &mut self.counts[slot * height..(slot + 1) * height];
            let counts = &counts[places.range.clone()];
            for (place, n) in places.of.iter().zip(counts) {
                if let Some(cell) = cells.get_mut(*place as usize) {
                    *cell += u32::from(*n);
                }
            }
            self.totals[slot] += counts.iter().map(|n| u32::from(*n)).sum::<u32>();
        }
    }

    /// The highest count of a cell. A band shown as a rate counts a whole group: it must not decide how bright the others
    /// are.
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

    /// Whether the window can be reached by scrolling: the same cut, not earlier, and everything that came so
    /// far lay within the ring.
    pub fn can_scroll_to(&self, cells: &Cells) -> bool {
        self.cells.scrolls_to(cells) && cells.first >= self.cells.first && self.binned_to < self.cells.end_step()
    }

    /// Scrolls to a later window of the same cut and counts what came since. Returns the range of columns that
    /// changed (empty when nothing did), or `None` when the whole picture has to be coloured anew.
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

    /// Takes other colours; the whole picture has to be coloured anew when this returns `true`.
    pub fn set_inks(&mut self, inks: Inks) -> bool {
        let changed = self.inks != inks;
        if changed {
            self.inks = inks;
            self.make_table();
        }
        changed
    }

    fn make_table(&mut self) {
        self.table_max = self.max.max(4);
        let ramp = colors::densities(self.inks.dark);
        let ink = |count: u32| match count {
            0 => Color32::TRANSPARENT,
            n => {
                let color = ramp[(self.inks.scale.place(n, self.table_max).clamp(0.0, 1.0) * 255.0) as usize];
                if self.inks.dim { color.gamma_multiply(0.4) } else { color }
            }
        };
        self.table = (0..=self.table_max.min(4095)).map(ink).collect();
    }

    fn color(&self, count: u32) -> Color32 {
        if count & SELECTED != 0 {
            return self.inks.accent;
        }
        self.table[(count as usize).min(self.table.len() - 1)]
    }

    /// A picture of columns (of the ring, not of time) in the order they lie in the texture.
    pub fn image(&self, slots: std::ops::Range<usize>) -> ColorImage {
        let (height, width) = (self.cells.height, slots.len());
        let mut pixels = vec![Color32::TRANSPARENT; width * height];
        // Counts lie in columns, pixels in lines: some columns at a time, so that both stay near.
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

    /// Spikes in a column of time; 0 when it is not in the ring.
    pub fn total(&self, column: i64) -> u32 {
        let inside = (self.cells.first..self.cells.first + self.cells.columns as i64).contains(&column);
        if inside { self.totals[column.rem_euclid(self.cells.columns as i64) as usize] } else { 0 }
    }

    /// Spikes in one cell; 0 when its column is not in the ring.
    pub fn count(&self, column: i64, cell: usize) -> u32 {
        let inside = (self.cells.first..self.cells.first + self.cells.columns as i64).contains(&column);
        let at = self.slot(column) * self.cells.height + cell;
        if inside && cell < self.cells.height { self.counts[at] & !SELECTED } else { 0 }
    }

    /// Spikes in all columns.
    pub fn spikes(&self) -> u64 {
        self.totals.iter().map(|n| u64::from(*n)).sum()
    }

    /// Where in the ring a column of time is.
    pub fn slot(&self, column: i64) -> usize {
        column.rem_euclid(self.cells.columns as i64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{super::inks::Scale, *};
    use crate::app::views::raster::{
        rows::{Order, Rows},
        window::Window,
    };

    fn history(steps: u32) -> History {
        let mut history = History::default();
        let spikes: Vec<Spike> =
            (0..steps).flat_map(|s| (0..3).map(move |k| Spike { step: s, lane: (s * 7 + k * 11) % 100 })).collect();
        history.push(&spikes, u64::from(steps));
        history
    }

    fn grid(history: &History, t1: f64) -> Grid {
        let window = Window { t0: t1 - 4000.0, t1, r0: 0.0, r1: 100.0 };
        let cells = Cells::of(&window, 400, 50, 100);
        let row_of: Vec<u32> = (0..100).collect();
        let selected = Arc::new(bits(&[5], 100));
        let lookup = Lookup { row_of: Arc::new(cells.rows_of(&row_of)), selected, bands: vec![] };
        let inks = Inks { scale: Scale::Log, accent: Color32::RED, dark: true, dim: false };
        Grid::of(cells, lookup, &Job::new(history, &Pyramid::default(), Level::Spikes, &cells), inks)
    }

    #[test]
    fn scrolling_gives_what_binning_anew_gives() {
        let (long, short) = (history(10_000), history(8_000));
        let mut scrolled = grid(&short, 8_000.0);
        let anew = grid(&long, 10_000.0);
        assert!(scrolled.cells.scrolls_to(&anew.cells));
        assert!(scrolled.can_scroll_to(&anew.cells));
        scrolled.scroll(anew.cells.first, &long);
        assert_eq!(scrolled.counts, anew.counts);
        assert_eq!(scrolled.spikes(), anew.spikes());
        assert!(anew.spikes() >= 12_000);
    }

    #[test]
    fn tiles_count_what_spikes_count() {
        let mut history = History::default();
        let spikes: Vec<Spike> =
            (0..300_000u32).map(|i| Spike { step: i / 9, lane: i.wrapping_mul(2_654_435_761) % 5_000 }).collect();
        history.push(&spikes, 40_000);
        let set = crate::sim::ElementSet { name: "cells", len: 5_000, ..Default::default() };
        let rows = Rows::new(&set, &Order::default(), &[], |_| true);
        let mut pyramid = Pyramid::default();
        let ctx = egui::Context::default();
        while pyramid.quanta(&history, Level::Fine, 0, u32::MAX).is_none() {
            pyramid.update(&ctx, &history, &rows, 1);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let window = Window { t0: 3_000.0, t1: 30_000.0, r0: 0.0, r1: 5_000.0 };
        for level in [Level::Fine, Level::Coarse] {
            let units = pyramid.quanta(&history, level, 3_000, 30_000).unwrap();
            assert!(units.0 > 1 && units.1 > 1);
            let cells = Cells::in_units(&window, (200, 40), 5_000, units);
            let lookup =
                Lookup { row_of: Arc::new(cells.rows_of(&rows.row_of)), selected: Arc::new(vec![]), bands: vec![] };
            let inks = Inks { scale: Scale::Root, accent: Color32::RED, dark: true, dim: false };
            let count = |level| Grid::of(cells, lookup.clone(), &Job::new(&history, &pyramid, level, &cells), inks);
            let (exact, tiled) = (count(Level::Spikes), count(level));
            assert!(exact.spikes() > 200_000);
            assert_eq!((&exact.counts, exact.max), (&tiled.counts, tiled.max));
        }
    }

    #[test]
    fn one_spike_is_seen_and_the_selected_stand_out() {
        let history = history(8_000);
        let grid = grid(&history, 8_000.0);
        assert_eq!(grid.color(0), Color32::TRANSPARENT);
        let faint = grid.color(1);
        assert!(faint.a() == 255 && faint != Color32::BLACK);
        assert!(grid.image(0..grid.cells.columns).pixels.contains(&Color32::RED));
    }
}
