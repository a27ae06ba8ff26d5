//! Bins over a whole run at several resolutions, in bounded memory. The finest level contains the newest part, each coarser
//! level the bins that the next finer level dropped, and the coarsest level the rest of the run. Every step is in only one
//! level, so that counts are conserved, and each part of the run is read at the finest resolution kept.
//!
//! The coarsest level merges pairs of bins when it is full. When its bins have become much wider than those of the next
//! finer level, a level is inserted between them: a short run has one level, and a long run several.

use std::collections::VecDeque;

/// Ratio of the widths of adjacent levels, except to the coarsest.
const RATIO: u64 = 4;
/// Maximum number of levels in addition to the coarsest.
const MAX_FINER: usize = 8;
/// Minimum number of bins of a level.
const MIN_BINS: usize = 2;

/// Contents of a bin.
pub trait Merge {
    /// Adds the contents of a later bin.
    fn merge(&mut self, later: &Self);
}

/// One level: bins of equal width that begin at multiples of the width. Empty bins are omitted.
#[derive(Clone, Debug)]
struct BinLevel<B> {
    /// Steps per bin.
    width: u64,
    /// First step of each bin and its contents, ascending. A bin ends at the next multiple of the width.
    bins: VecDeque<(u64, B)>,
}

impl<B> BinLevel<B> {
    fn new(width: u64) -> Self {
        Self { width, bins: VecDeque::new() }
    }

    /// Returns the first step after a bin that begins at a step.
    fn end_of(&self, from: u64) -> u64 {
        (from / self.width + 1) * self.width
    }
}

#[derive(Clone, Debug)]
pub struct BinPyramid<B> {
    first_width: u64,
    /// Levels from the finest to the coarsest; at least one.
    levels: Vec<BinLevel<B>>,
    most: usize,
}

/// Bin with its steps, as read from a pyramid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinSpan<'a, B> {
    pub from: u64,
    /// First step after the bin.
    pub to: u64,
    pub bin: &'a B,
}

impl<B: Merge> BinPyramid<B> {
    /// Creates a pyramid of at most `most` bins. The finest bins have `first_width` steps.
    pub fn new(first_width: u64, most: usize) -> Self {
        Self { first_width, levels: vec![BinLevel::new(first_width)], most }
    }

    /// Returns the number of steps of a bin of the finest level, which grows while there is only one level.
    pub fn finest_width(&self) -> u64 {
        self.levels[0].width
    }

    /// Sets the maximum number of bins.
    pub fn set_most(&mut self, most: usize) {
        if most < std::mem::replace(&mut self.most, most) {
            (0..self.levels.len()).for_each(|level| self.shorten(level));
        }
    }

    /// Returns the maximum number of bins of a level: half of all bins for the coarsest level.
    fn capacity(&self, level: usize) -> usize {
        let is_coarsest = level + 1 == self.levels.len();
        (if is_coarsest { self.most / 2 } else { self.most / 2 / MAX_FINER }).max(MIN_BINS)
    }

    /// Changes the finest bin at a step, which must not be before the last bin. If there is no bin, `empty` creates one.
    pub fn change(&mut self, step: u64, empty: impl FnOnce() -> B, change: impl FnOnce(&mut B)) {
        let finest = &mut self.levels[0];
        let begin = step / finest.width * finest.width;
        match finest.bins.back() {
            Some((last, _)) if *last >= begin => {}
            Some(_) => finest.bins.push_back((begin, empty())),
            // Earlier steps may be in a coarser level, if this level was inserted below it.
            None => finest.bins.push_back((step, empty())),
        }
        if let Some((_, bin)) = finest.bins.back_mut() {
            change(bin);
        }
        self.shorten(0);
    }

    /// Adds a bin to the finest level, or merges it into the last bin if both have the same steps. The bin must not begin
    /// before the last bin.
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

    /// Merges pairs of bins of the coarsest level, and inserts a level if the ratio to the next finer one has become
    /// large.
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

    /// Iterates over the bins that overlap steps `from..to`, in order. A bin ends where the next finer one begins.
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

    /// Returns the widths of the narrowest and the widest bins that overlap steps `from..to`, steps; `None` if there are no
    /// such bins.
    pub fn widths(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let overlaps = |level: &&BinLevel<B>| {
            let last = level.bins.partition_point(|(begin, _)| *begin < to).checked_sub(1);
            last.is_some_and(|last| level.end_of(level.bins[last].0) > from)
        };
        let mut widths = self.levels.iter().filter(overlaps).map(|level| level.width);
        let narrowest = widths.next()?;
        Some((narrowest, widths.next_back().unwrap_or(narrowest)))
    }

    /// Returns the number of bins.
    pub fn n_bins(&self) -> usize {
        self.levels.iter().map(|level| level.bins.len()).sum()
    }

    /// Iterates over all bins for changes of their contents. Number and widths of the bins stay unchanged.
    pub fn bins_mut(&mut self) -> impl Iterator<Item = &mut B> {
        self.levels.iter_mut().flat_map(|level| &mut level.bins).map(|(_, bin)| bin)
    }
}

/// Adds a bin to a level, or merges it into the last bin if both have the same steps. The bin must not begin before the
/// last bin.
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

    /// Counts events in random runs, most at short and some at long distances, with a changing number of bins.
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
            // A step may be in two levels if a finer level was inserted while the step was counted.
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
