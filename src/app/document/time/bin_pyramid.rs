//! Bins over a whole run at several resolutions, in bounded memory: the finest level keeps the newest part, each coarser
//! one what the finer one dropped, and the coarsest the rest of the run. Every step is in one level only, so that counts
//! are conserved, and what is read of any span is the finest that is kept of it.
//!
//! The coarsest level merges pairs when it is full. When its bins have become much wider than those of the next finer
//! level, a level is inserted between: a short run has one level, a long one several.

use std::collections::VecDeque;

/// Ratio of the widths of two levels, but for the coarsest.
const RATIO: u64 = 4;
/// Finer levels at most.
const MAX_FINER: usize = 8;
/// Fewest bins of a level.
const MIN_BINS: usize = 2;

/// Contents of a bin.
pub trait Merge {
    /// Adds a later bin.
    fn merge(&mut self, later: &Self);
}

/// One level: bins of one width that begin at multiples of it, without the empty ones.
#[derive(Clone, Debug)]
struct BinLevel<B> {
    /// Steps per bin.
    width: u64,
    /// First step of a bin and its contents, ascending. A bin ends at the next multiple of the width.
    bins: VecDeque<(u64, B)>,
}

impl<B> BinLevel<B> {
    fn new(width: u64) -> Self {
        Self { width, bins: VecDeque::new() }
    }

    /// The first step after a bin that begins at a step.
    fn end_of(&self, from: u64) -> u64 {
        (from / self.width + 1) * self.width
    }
}

#[derive(Clone, Debug)]
pub struct BinPyramid<B> {
    first_width: u64,
    /// Levels from the finest to the coarsest, which always exists.
    levels: Vec<BinLevel<B>>,
    most: usize,
}

/// A bin that is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinSpan<'a, B> {
    pub from: u64,
    /// First step after.
    pub to: u64,
    pub bin: &'a B,
}

impl<B: Merge> BinPyramid<B> {
    /// At most `most` bins in all; the finest have `first_width` steps.
    pub fn new(first_width: u64, most: usize) -> Self {
        Self { first_width, levels: vec![BinLevel::new(first_width)], most }
    }

    /// Steps of a bin of the finest level. It becomes wider while that is the only one.
    pub fn finest_width(&self) -> u64 {
        self.levels[0].width
    }

    /// Changes the number of bins.
    pub fn set_most(&mut self, most: usize) {
        if most < std::mem::replace(&mut self.most, most) {
            (0..self.levels.len()).for_each(|level| self.shorten(level));
        }
    }

    /// Half of the bins are those of the coarsest level.
    fn capacity(&self, level: usize) -> usize {
        let is_coarsest = level + 1 == self.levels.len();
        (if is_coarsest { self.most / 2 } else { self.most / 2 / MAX_FINER }).max(MIN_BINS)
    }

    /// Changes the finest bin at a step, not before the last one.
    pub fn change(&mut self, step: u64, empty: impl FnOnce() -> B, change: impl FnOnce(&mut B)) {
        let finest = &mut self.levels[0];
        let begin = step / finest.width * finest.width;
        match finest.bins.back() {
            Some((last, _)) if *last >= begin => {}
            Some(_) => finest.bins.push_back((begin, empty())),
            // The steps before may be in a coarser level that has this one inserted before it.
            None => finest.bins.push_back((step, empty())),
        }
        if let Some((_, bin)) = finest.bins.back_mut() {
            change(bin);
        }
        self.shorten(0);
    }

    /// Adds a finest bin, or to it, that begins at a step not before the last one.
    pub fn push(&mut self, from: u64, bin: B) {
        append(&mut self.levels[0], from, bin);
        self.shorten(0);
    }

    /// Moves the oldest bins of a level to the next coarser one.
    fn shorten(&mut self, mut level: usize) {
        while level < self.levels.len() {
            if self.levels[level].bins.len() <= self.capacity(level) {
                return;
            }
            if level + 1 == self.levels.len() {
                self.fold();
                continue;
            }
            while self.levels[level].bins.len() > self.capacity(level) {
                let Some((from, bin)) = self.levels[level].bins.pop_front() else { break };
                append(&mut self.levels[level + 1], from, bin);
            }
            level += 1;
        }
    }

    /// Merges pairs of the coarsest level, and inserts a level where the ratio to the next finer one becomes large.
    fn fold(&mut self) {
        let n_finer = self.levels.len() - 1;
        let Some(coarsest) = self.levels.last_mut() else { return };
        let mut wider = BinLevel::new(coarsest.width * 2);
        for (from, bin) in coarsest.bins.drain(..) {
            append(&mut wider, from, bin);
        }
        *coarsest = wider;
        let next = self.first_width * RATIO.pow(n_finer as u32);
        if coarsest.width >= next * RATIO && n_finer < MAX_FINER {
            self.levels.insert(n_finer, BinLevel::new(next));
        }
    }

    /// The bins that overlap steps `from..to`, in order. A bin ends where the next finer one begins.
    pub fn between(&self, from: u64, to: u64) -> impl Iterator<Item = BinSpan<'_, B>> {
        let mut rest = self.spans().peekable();
        std::iter::from_fn(move || {
            let span = rest.next()?;
            let end = rest.peek().map_or(span.to, |next| span.to.min(next.from)).max(span.from + 1);
            Some(BinSpan { to: end, ..span })
        })
        .skip_while(move |span| span.to <= from)
        .take_while(move |span| span.from < to)
    }

    fn spans(&self) -> impl Iterator<Item = BinSpan<'_, B>> {
        self.levels.iter().rev().flat_map(|level| {
            level.bins.iter().map(|(from, bin)| BinSpan { from: *from, to: level.end_of(*from), bin })
        })
    }

    /// The narrowest and the widest bins, steps, that overlap steps `from..to`.
    pub fn widths(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let overlaps = |level: &&BinLevel<B>| {
            let last = level.bins.partition_point(|(begin, _)| *begin < to).checked_sub(1);
            last.is_some_and(|last| level.end_of(level.bins[last].0) > from)
        };
        let mut widths = self.levels.iter().filter(overlaps).map(|level| level.width);
        let narrowest = widths.next()?;
        Some((narrowest, widths.next_back().unwrap_or(narrowest)))
    }

    /// Number of bins.
    pub fn n_bins(&self) -> usize {
        self.levels.iter().map(|level| level.bins.len()).sum()
    }

    /// All bins, to be changed: their number and widths stay.
    pub fn bins_mut(&mut self) -> impl Iterator<Item = &mut B> {
        self.levels.iter_mut().flat_map(|level| &mut level.bins).map(|(_, bin)| bin)
    }
}

/// Adds a bin that begins at a step, not before the last one.
fn append<B: Merge>(level: &mut BinLevel<B>, from: u64, bin: B) {
    let begin = from / level.width * level.width;
    match level.bins.back_mut() {
        Some((last, known)) if *last >= begin => known.merge(&bin),
        _ => level.bins.push_back((from, bin)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::rng::{Draw, Purpose};

    impl Merge for u64 {
        fn merge(&mut self, later: &Self) {
            *self += later;
        }
    }

    fn count(pyramid: &mut BinPyramid<u64>, step: u64) {
        pyramid.change(step, || 0, |n| *n += 1);
    }

    /// Random runs: mostly short distances of events, pauses now and then, and a setting that changes.
    #[test]
    fn counts_are_conserved_over_all_levels() {
        for seed in 0..60 {
            let draw = |i: u64| Draw { seed, purpose: Purpose::Stimulus, step: i, lane: 0 }.words();
            let most = draw(u64::MAX).map(|word| 8 + word as usize % 200);
            let (mut pyramid, mut steps, mut at) = (BinPyramid::<u64>::new(16, most[0]), vec![], 5_000);
            for i in 0..400 {
                let [kind, jump, n, _] = draw(i).map(u64::from);
                at += if kind % 20 == 0 { jump % 40_000 } else { jump % 200 };
                for _ in 0..n % 50 {
                    count(&mut pyramid, at);
                    steps.push(at);
                }
                if i == 200 {
                    pyramid.set_most(most[1]);
                }
            }
            let spans: Vec<_> = pyramid.between(0, u64::MAX).collect();
            assert_eq!(spans.iter().map(|s| *s.bin).sum::<u64>(), steps.len() as u64, "seed {seed}");
            assert!(spans.windows(2).all(|w| w[0].to <= w[1].from), "seed {seed}: disjoint and ascending");
            let most = most[0].max(most[1]);
            let bound = (most / 2).max(MIN_BINS) + MAX_FINER * (most / 2 / MAX_FINER).max(MIN_BINS);
            assert!(pyramid.n_bins() <= bound, "seed {seed}: {} bins of {bound}", pyramid.n_bins());
            let before = |step: u64| steps.partition_point(|s| *s < step) as u64;
            // A step may be in two levels where a finer one was inserted while it was counted.
            let is_own = |s: &BinSpan<'_, u64>| {
                (before(s.to).saturating_sub(before(s.from + 1))..=before(s.to + 1) - before(s.from)).contains(s.bin)
            };
            assert!(spans.iter().all(is_own), "seed {seed}: bins hold the events of their own steps");
        }
    }

    #[test]
    fn the_newest_part_is_the_finest_and_any_part_is_read_at_its_finest() {
        let mut pyramid = BinPyramid::new(64, 256);
        (0..3_000_000).step_by(16).for_each(|step| count(&mut pyramid, step));
        assert_eq!(pyramid.widths(2_999_900, 3_000_000), Some((64, 64)));
        let (narrow, wide) = pyramid.widths(0, 3_000_000).unwrap();
        assert_eq!(narrow, 64);
        assert!(wide <= 3_000_000 / 60 && pyramid.widths(0, 1_000) == Some((wide, wide)), "{wide}");
        let middle = pyramid.widths(2_960_000, 2_960_001).unwrap();
        assert!(middle.1 < wide, "{middle:?} of {wide}");
        let spans: Vec<_> = pyramid.between(1_000_000, 3_000_000).collect();
        assert!(spans.iter().all(|s| *s.bin == (s.to - s.from).div_ceil(16)), "the density is even");
        assert!(spans.windows(2).all(|w| w[0].to == w[1].from));
    }
}
