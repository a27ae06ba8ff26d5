//! Tile pyramid: each full chunk of spikes also as fine and coarse counts, so that an image of twenty million spikes is summed
//! from a few million counts, and a preview from a few hundred thousand.
//!
//! A chunk has a fixed number of spikes, so the columns of its tile are shorter at a higher rate. Their length is a power of two
//! of steps, and they start at multiples of their length, so that columns of all chunks nest. Tiles depend on the row order;
//! after the rows change, the pool computes them again, newest first, in batches.

use super::rows::{NO_ROW, Rows};
use crate::{
    app::{document::time::spikes::History, kit::pool},
    sim::Spike,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, mpsc},
};

/// Maximum numbers of columns and rows of a fine and of a coarse tile.
const FINE: (u32, u32) = (64, 1024);
const COARSE: (u32, u32) = (4, 256);
/// Maximum number of chunks counted per job.
const CHUNKS_PER_JOB: usize = 48;

/// Counts of one chunk at one resolution.
pub struct Tile {
    /// First step: a multiple of `steps`.
    pub first: u32,
    /// Steps per column.
    pub steps: u32,
    /// Rows per cell.
    pub rows: u32,
    /// Number of cells vertically.
    pub height: usize,
    /// Counts in column-major order.
    pub counts: Vec<u16>,
}

impl Tile {
    fn of(spikes: &[Spike], rows: &Rows, (most_columns, most_rows): (u32, u32)) -> Self {
        let (from, to) = (spikes.first().map_or(0, |s| s.step), spikes.last().map_or(0, |s| s.step));
        let steps = ((to - from) / (most_columns - 1) + 1).next_power_of_two();
        let first = from / steps * steps;
        let per_cell = rows.len().div_ceil(most_rows).max(1);
        let height = rows.len().div_ceil(per_cell) as usize;
        let mut counts = vec![0u16; ((to - first) / steps + 1) as usize * height];
        for spike in spikes {
            let row = rows.row_of.get(spike.lane as usize).copied().unwrap_or(NO_ROW);
            if row != NO_ROW {
                let column = ((spike.step - first) / steps) as usize;
                let cell = &mut counts[column * height + (row / per_cell) as usize];
                *cell = cell.saturating_add(1);
            }
        }
        Self { first, steps, rows: per_cell, height, counts }
    }
}

/// A chunk at both resolutions.
pub struct Tiles {
    pub fine: Tile,
    pub coarse: Tile,
    /// Spikes per cell row of `coarse`, summed over all columns.
    by_row: Vec<u32>,
}

impl Tiles {
    fn of(spikes: &[Spike], rows: &Rows) -> Self {
        let (fine, coarse) = (Tile::of(spikes, rows, FINE), Tile::of(spikes, rows, COARSE));
        let mut by_row = vec![0; coarse.height];
        for column in coarse.counts.chunks_exact(coarse.height.max(1)) {
            by_row.iter_mut().zip(column).for_each(|(sum, n)| *sum += u32::from(*n));
        }
        Self { fine, coarse, by_row }
    }
}

/// Source of the counts of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Single spikes, without tiles.
    Spikes,
    /// Counts of [`Tiles::fine`].
    Fine,
    /// Counts of [`Tiles::coarse`].
    Coarse,
}

type Made = Vec<(u64, Arc<Tiles>)>;

/// Tiles of a history for one row order.
#[derive(Default)]
pub struct Pyramid {
    generation: u64,
    tiles: BTreeMap<u64, Arc<Tiles>>,
    /// Spikes per coarse cell row, summed over all tiles, and rows per cell.
    by_row: Option<(Vec<u64>, u32)>,
    job: Option<(u64, mpsc::Receiver<Made>)>,
}

impl Pyramid {
    /// Collects finished tiles, drops those of dropped chunks, and starts a job for missing ones.
    pub fn update(&mut self, ctx: &egui::Context, history: &History, rows: &Rows, generation: u64) {
        if generation != self.generation {
            pool::discard(std::mem::take(&mut self.tiles));
            (self.generation, self.by_row) = (generation, None);
        }
        self.collect();
        let Some((oldest, _)) = history.chunks().next() else { return };
        if self.tiles.first_key_value().is_some_and(|(number, _)| *number < oldest) {
            let kept = self.tiles.split_off(&oldest);
            pool::discard(std::mem::replace(&mut self.tiles, kept));
            self.by_row = None;
        }
        if self.by_row.is_none() {
            self.by_row = self.sum_by_row();
        }
        if self.job.is_some() || self.tiles.len() == history.chunks().len() {
            return;
        }
        let missing = history.chunks().rev().filter(|(number, _)| !self.tiles.contains_key(number));
        let missing: Vec<_> = missing.take(CHUNKS_PER_JOB).map(|(number, chunk)| (number, chunk.clone())).collect();
        let (sender, receiver) = mpsc::channel();
        let rows = rows.clone();
        pool::spawn(ctx, move || {
            let make = |(number, chunk): (u64, Arc<Vec<Spike>>)| (number, Arc::new(Tiles::of(&chunk, &rows)));
            let made = missing.into_iter().map(make).collect();
            sender.send(made).ok(); // fails if the view was closed
        });
        self.job = Some((generation, receiver));
    }

    fn collect(&mut self) {
        let Some((generation, receiver)) = &self.job else { return };
        match receiver.try_recv() {
            Ok(made) => {
                if *generation == self.generation {
                    self.tiles.extend(made);
                    self.by_row = None;
                } else {
                    pool::discard(made);
                }
                self.job = None;
            }
            Err(mpsc::TryRecvError::Disconnected) => self.job = None,
            Err(mpsc::TryRecvError::Empty) => {}
        }
    }

    /// Returns the tiles of a chunk; `None` until they are computed.
    pub fn get(&self, chunk: u64) -> Option<&Arc<Tiles>> {
        self.tiles.get(&chunk)
    }

    /// Returns the longest column (steps) and the highest cell (rows) of a level among the chunks that overlap the steps
    /// `from..to`; `None` while tiles are missing.
    pub fn quanta(&self, history: &History, level: Level, from: u32, to: u32) -> Option<(u32, u32)> {
        let mut quanta = (1, 1);
        for (number, _) in history.chunks_between(from, to) {
            let tiles = self.tiles.get(&number)?;
            let tile = if level == Level::Fine { &tiles.fine } else { &tiles.coarse };
            quanta = (quanta.0.max(tile.steps), quanta.1.max(tile.rows));
        }
        Some(quanta)
    }

    /// Returns the number of spikes per coarse cell row over all tiles, and the rows per cell; `None` without tiles.
    pub fn by_row(&self) -> Option<(&[u64], u32)> {
        self.by_row.as_ref().map(|(sums, rows)| (sums.as_slice(), *rows))
    }

    fn sum_by_row(&self) -> Option<(Vec<u64>, u32)> {
        let first = self.tiles.values().next()?;
        let mut sums = vec![0u64; first.coarse.height];
        for tiles in self.tiles.values() {
            sums.iter_mut().zip(&tiles.by_row).for_each(|(sum, n)| *sum += u64::from(*n));
        }
        Some((sums, first.coarse.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::views::raster::rows::Order, sim::ElementSet};

    #[test]
    fn tiles_count_every_spike() {
        let set = ElementSet { name: "cells", len: 3_000, ..ElementSet::default() };
        let rows = Rows::new(&set, &Order::default(), &[], |_| true);
        let spikes: Vec<Spike> = (0..40_000u32).map(|i| Spike { step: 777 + i / 7, lane: i * 31 % 3_000 }).collect();
        let tiles = Tiles::of(&spikes, &rows);
        for tile in [&tiles.fine, &tiles.coarse] {
            assert!(tile.steps.is_power_of_two() && tile.first.is_multiple_of(tile.steps));
            assert!(tile.first <= 777);
            assert_eq!(tile.counts.iter().map(|n| u64::from(*n)).sum::<u64>(), 40_000);
            let spike = spikes[12_345];
            let at =
                ((spike.step - tile.first) / tile.steps) as usize * tile.height + (spike.lane / tile.rows) as usize;
            assert!(tile.counts[at] > 0);
        }
        assert_eq!(tiles.by_row.iter().sum::<u32>(), 40_000);
        assert!(tiles.fine.counts.len() <= 66 * 1024 && tiles.coarse.counts.len() <= 6 * 256);
    }
}
