//! Samples of one probe over time, with the extremes of each block, so that a line over half a million samples is drawn from a
//! few thousand values. Samples over the capacity are reduced to the extremes of blocks, which become longer with their age, so
//! that a line reaches back to the start of the run.

use crate::app::document::time::{BinPyramid, Merge, Timeline};
use std::ops::Range;

/// Maximum number of samples per lane.
const CAPACITY: usize = 1 << 19;
/// Maximum number of gaps kept, the newest.
const MAX_GAPS: usize = 512;
/// Factor of the shortest distance between samples, above which a distance is a gap.
const GAP: u64 = 20;
/// Number of samples per block.
const BLOCK: usize = 64;

/// Maximum number of blocks of old samples.
const OLD_BLOCKS: usize = 4096;

#[derive(Clone, Debug)]
struct Block {
    /// Steps of the first and the last sample.
    steps: (u64, u64),
    /// Minimum and maximum finite value of each lane.
    lanes: Box<[(f32, f32)]>,
}

impl Merge for Block {
    fn merge(&mut self, later: &Self) {
        self.steps.1 = later.steps.1;
        self.lanes.iter_mut().zip(&later.lanes).for_each(|(all, more)| *all = merge(*all, *more));
    }
}

#[derive(Clone, Debug, Default)]
struct Lane {
    values: Vec<f32>,
    /// Minimum and maximum finite value of each full block.
    blocks: Vec<(f32, f32)>,
}

/// History of lanes that are sampled together.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Blocks of reduced samples, by the number of their first sample.
    old: BinPyramid<Block>,
    steps: Vec<u64>,
    lanes: Vec<Lane>,
    shortest: u64,
    /// Steps of consecutive samples that have a gap between them.
    missing: Vec<(u64, u64)>,
    dropped: u64,
    /// Time spans of earlier samples with other lanes.
    former: Vec<(u64, u64)>,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            old: BinPyramid::new(BLOCK as u64, OLD_BLOCKS),
            steps: vec![],
            lanes: vec![],
            shortest: 0,
            missing: vec![],
            dropped: 0,
            former: vec![],
        }
    }
}

/// Range of one lane in one pixel column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Position of the column from the left, columns.
    pub column: f32,
    pub min: f32,
    pub max: f32,
    /// Whether there is a gap before this column.
    pub gap: bool,
}

impl Samples {
    /// Appends rows of `lanes` values each; ignores rows that are not later than the last one. A different number of lanes starts
    /// over.
    pub fn push(&mut self, lanes: usize, steps: &[u64], values: &[f32]) {
        if self.lanes.len() != lanes {
            self.change_lanes();
            self.lanes = vec![Lane::default(); lanes];
        }
        for (step, row) in steps.iter().zip(values.chunks_exact(lanes.max(1))) {
            let last = self.steps.last().copied();
            if last.is_some_and(|last| *step <= last) {
                continue;
            }
            if let Some(last) = last {
                let between = step - last;
                self.shortest = if self.shortest == 0 { between } else { self.shortest.min(between) };
                if self.is_gap(last, *step) {
                    self.missing.push((last, *step));
                    self.missing.drain(..self.missing.len().saturating_sub(MAX_GAPS));
                }
            }
            self.steps.push(*step);
            for (lane, value) in self.lanes.iter_mut().zip(row) {
                lane.values.push(*value);
                if lane.values.len().is_multiple_of(BLOCK) {
                    lane.blocks.push(extremes(&lane.values[lane.values.len() - BLOCK..]));
                }
            }
        }
        if self.steps.len() > CAPACITY {
            self.drop_oldest(CAPACITY / 4);
        }
    }

    /// Drops the samples after a change of the lanes, but keeps their time span.
    pub fn change_lanes(&mut self) {
        let mut former = std::mem::take(&mut self.former);
        if let (Some(first), Some(last)) = (self.first(), self.steps.last()) {
            former.push((first, last + self.shortest));
            former.drain(..former.len().saturating_sub(MAX_GAPS));
        }
        *self = Self { former, ..Self::default() };
    }

    /// Returns the time spans between `from` and `to` of earlier samples with other lanes.
    pub fn former(&self, from: f64, to: f64) -> Vec<(f64, f64)> {
        let spans = self.former.iter().map(|(a, b)| (*a as f64, *b as f64));
        spans.filter(|(a, b)| *b > from && *a < to).collect()
    }

    fn drop_oldest(&mut self, n: usize) {
        let n = n / BLOCK * BLOCK;
        for (i, steps) in self.steps[..n].chunks_exact(BLOCK).enumerate() {
            let lanes = self.lanes.iter().map(|lane| lane.blocks[i]).collect();
            let block = Block { steps: (steps[0], steps[BLOCK - 1]), lanes };
            self.old.push(self.dropped + (i * BLOCK) as u64, block);
        }
        self.steps.drain(..n);
        for lane in &mut self.lanes {
            lane.values.drain(..n);
            lane.blocks.drain(..n / BLOCK);
        }
        self.dropped += n as u64;
    }

    /// Returns the spans between `from` and `to` without samples: before the first sample, and gaps.
    pub fn gaps(&self, from: f64, to: f64) -> Vec<(f64, f64)> {
        self.gaps_after(self.first(), from, to)
    }

    /// Returns the gaps between `from` and `to` for a view that does not show reduced samples.
    pub fn gaps_of_single(&self, from: f64, to: f64) -> Vec<(f64, f64)> {
        self.gaps_after(self.steps.first().copied(), from, to)
    }

    fn gaps_after(&self, first: Option<u64>, from: f64, to: f64) -> Vec<(f64, f64)> {
        // A single sample does not determine the interval between samples.
        let Some(first) = first.filter(|_| self.shortest > 0 || !self.former.is_empty()) else { return vec![] };
        let mut gaps = vec![];
        let mut at = from.max(0.0);
        for (start, end) in self.former(from, to).into_iter().chain([(first as f64, f64::INFINITY)]) {
            if at + self.shortest.saturating_mul(GAP) as f64 <= start {
                gaps.push((at, start.min(to)));
            }
            at = at.max(end);
        }
        let missing = self.missing.iter().map(|(a, b)| (*a as f64, *b as f64));
        gaps.extend(missing.filter(|(a, b)| *b > from && *a < to));
        gaps
    }

    /// Whether samples are missing between two steps.
    pub fn is_gap(&self, a: u64, b: u64) -> bool {
        b - a > self.shortest.saturating_mul(GAP)
    }

    /// Number of samples in memory, without reduced ones.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Number of lanes.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the index of the first sample at or after a step.
    pub fn index(&self, step: f64) -> usize {
        self.steps.partition_point(|s| (*s as f64) < step)
    }

    /// Returns the step of a sample.
    pub fn step(&self, i: usize) -> u64 {
        self.steps[i]
    }

    /// Returns a sample of a lane.
    pub fn value(&self, lane: usize, i: usize) -> f32 {
        self.lanes[lane].values[i]
    }

    /// Number of samples that were reduced to extremes.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the step of the first sample, which may be a reduced one. `None` without samples.
    fn first(&self) -> Option<u64> {
        self.old.between(0, 1).next().map(|span| span.bin.steps.0).or_else(|| self.steps.first().copied())
    }

    /// Returns the number of reduced samples, and the smallest and largest number of samples per block. `None` if no sample was
    /// reduced.
    pub fn reduced(&self) -> Option<(u64, (u64, u64))> {
        Some((self.dropped, self.old.widths(0, self.dropped)?))
    }

    /// Returns the newest value of a lane; `None` without samples.
    pub fn last(&self, lane: usize) -> Option<f32> {
        self.lanes.get(lane)?.values.last().copied()
    }

    /// Returns the value of a lane at a step: the latest sample not after the step. `None` before the first sample.
    pub fn at(&self, lane: usize, step: f64) -> Option<f32> {
        let after = self.steps.partition_point(|s| *s as f64 <= step);
        self.lanes.get(lane)?.values.get(after.checked_sub(1)?).copied()
    }

    /// Divides the times from `t0` to `t1` into pixel columns of equal duration, or one per sample if there are at most two
    /// samples per column.
    pub fn cuts(&self, t0: f64, t1: f64, columns: usize) -> Cuts {
        self.cuts_along(&Timeline::between(t0, t1), columns)
    }

    /// Divides the visible times of a view into pixel columns.
    pub fn cuts_along(&self, line: &Timeline, columns: usize) -> Cuts {
        let (t0, t1) = (line.t0, line.t1);
        let (from, to) = (self.index(t0).saturating_sub(1), (self.index(t1) + 1).min(self.steps.len()));
        let columns = columns.max(1);
        let old = self.old_columns(line, columns);
        if to - from <= columns * 2 {
            let at = |i: usize| (line.share_at(self.steps[i] as f64) * columns as f64) as f32;
            return Cuts { bounds: (from..=to).collect(), places: (from..to).map(at).collect(), old };
        }
        let mut bounds = vec![from];
        bounds.extend((1..=columns).map(|c| self.index(line.step_of(c as f64 / columns as f64))));
        Cuts { bounds, places: (0..columns).map(|c| c as f32 + 0.5).collect(), old }
    }

    /// Returns the columns that each block of reduced samples covers; an empty range if the block is outside the visible times.
    fn old_columns(&self, line: &Timeline, columns: usize) -> Vec<Range<usize>> {
        // The last sample before the visible times is drawn too, so that the line reaches the left edge.
        if self.steps.first().is_none_or(|first| line.t0 >= *first as f64) {
            return vec![];
        }
        let column = |step: u64| (line.share_at(step as f64) * columns as f64).floor();
        let of = |block: &Block| {
            let (from, to) = (column(block.steps.0), column(block.steps.1));
            if to < 0.0 || from >= columns as f64 {
                0..0
            } else {
                from.max(0.0) as usize..(to as usize + 1).min(columns)
            }
        };
        self.old.between(0, u64::MAX).map(|span| of(span.bin)).collect()
    }

    /// Returns the extents of reduced samples, and the step of the last one. The step is `None` without a finite value before it.
    fn old_extents(&self, lane: usize, cuts: &Cuts) -> (Vec<Extent>, Option<u64>) {
        let (mut out, mut end): (Vec<Extent>, _) = (vec![], None);
        for (span, columns) in self.old.between(0, u64::MAX).zip(&cuts.old).filter(|(_, columns)| !columns.is_empty()) {
            let (min, max) = span.bin.lanes[lane];
            if min > max {
                end = None;
                continue;
            }
            let gap = end.is_none_or(|end| self.is_gap(end, span.bin.steps.0));
            end = Some(span.bin.steps.1);
            for (i, column) in columns.clone().enumerate() {
                let column = column as f32 + 0.5;
                match out.last_mut().filter(|last| last.column == column) {
                    Some(last) => (last.min, last.max) = merge((last.min, last.max), (min, max)),
                    None => out.push(Extent { column, min, max, gap: gap && i == 0 }),
                }
            }
        }
        (out, end)
    }

    /// Returns the extents of a lane; empty if there is no such lane.
    pub fn extents(&self, lane: usize, cuts: &Cuts) -> Vec<Extent> {
        let (number, Some(lane)) = (lane, self.lanes.get(lane)) else { return vec![] };
        let (mut out, end) = self.old_extents(number, cuts);
        out.reserve(cuts.places.len());
        let mut last = end;
        for (bound, column) in cuts.bounds.windows(2).zip(&cuts.places) {
            let (a, b) = (bound[0], bound[1]);
            if a >= b {
                continue;
            }
            let (min, max) = lane.between(a, b);
            let gap = last.is_some_and(|last| self.is_gap(last, self.steps[a]));
            if min <= max {
                out.push(Extent { column: *column, min, max, gap: gap || last.is_none() });
                last = Some(self.steps[b - 1]);
            } else {
                last = None;
            }
        }
        out
    }
}

/// Assignment of samples to pixel columns.
pub struct Cuts {
    /// Columns of each block of reduced samples; empty if no block is visible.
    old: Vec<Range<usize>>,
    bounds: Vec<usize>,
    places: Vec<f32>,
}

impl Lane {
    /// Returns the extremes of samples `a..b`, from whole blocks where possible.
    fn between(&self, a: usize, b: usize) -> (f32, f32) {
        let (first, last) = (a.div_ceil(BLOCK), b / BLOCK);
        if first >= last {
            return extremes(&self.values[a..b]);
        }
        let ends = merge(extremes(&self.values[a..first * BLOCK]), extremes(&self.values[last * BLOCK..b]));
        self.blocks[first..last].iter().copied().fold(ends, merge)
    }
}

fn merge(a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// Returns the minimum and maximum finite value; (∞, −∞) without any.
fn extremes(values: &[f32]) -> (f32, f32) {
    let finite = values.iter().filter(|v| v.is_finite());
    finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: u64) -> Samples {
        let mut samples = Samples::default();
        let steps: Vec<u64> = (0..n).map(|i| i * 10).collect();
        let values: Vec<f32> = (0..n).flat_map(|i| [(i as f32 * 0.1).sin(), i as f32]).collect();
        samples.push(2, &steps, &values);
        samples
    }

    #[test]
    fn decimation_keeps_extremes() {
        let mut samples = wave(100_000);
        samples.lanes[0].values[77_777] = 9.0;
        samples.lanes[0].blocks[77_777 / BLOCK].1 = 9.0;
        let cuts = samples.cuts(0.0, 1_000_000.0, 500);
        let extents = samples.extents(0, &cuts);
        assert_eq!(extents.len(), 500);
        assert_eq!(extents.iter().map(|e| e.max).fold(0.0, f32::max), 9.0);
        let ramp = samples.extents(1, &cuts);
        assert_eq!((ramp[0].min, ramp[499].max), (0.0, 99_999.0));
    }

    #[test]
    fn few_samples_are_drawn_as_they_are() {
        let samples = wave(50);
        let extents = samples.extents(1, &samples.cuts(100.0, 200.0, 400));
        assert_eq!(
            extents.iter().map(|e| e.min).collect::<Vec<_>>(),
            [9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0]
        );
        assert_eq!(samples.at(1, 105.0), Some(10.0));
    }

    #[test]
    fn a_long_run_is_drawn_from_its_start() {
        let mut samples = Samples::default();
        let n = 2 * CAPACITY as u64;
        for from in (0..n).step_by(1 << 16) {
            let steps: Vec<u64> = (from..from + (1 << 16)).collect();
            let values: Vec<f32> = steps.iter().map(|s| if *s == 70_001 { -5.0 } else { *s as f32 }).collect();
            samples.push(1, &steps, &values);
        }
        let (reduced, (fewest, most)) = samples.reduced().expect("old samples");
        assert!(reduced + samples.len() as u64 == n && fewest == BLOCK as u64 && most >= fewest);
        assert!(samples.old.n_bins() <= OLD_BLOCKS);
        let extents = samples.extents(0, &samples.cuts(0.0, n as f64, 1000));
        assert_eq!(extents.iter().filter(|e| e.gap).count(), 1, "only the first has none before");
        assert!(extents.windows(2).all(|w| w[1].column - w[0].column <= 1.0), "no column is missing");
        assert_eq!((extents[0].min, extents[999].max), (0.0, (n - 1) as f32));
        let dip = extents.iter().find(|e| e.min == -5.0).expect("the lowest value of old samples is kept");
        assert!((dip.column - 70_001.0 / n as f32 * 1000.0).abs() < 2.0, "{dip:?}");
        assert_eq!(samples.gaps(0.0, n as f64), []);
        let newest = samples.extents(0, &samples.cuts(n as f64 - 100.0, n as f64, 1000));
        assert_eq!(newest.len(), 101, "the newest part is drawn as it is");
    }

    #[test]
    fn a_pause_is_a_gap_and_old_samples_go() {
        let mut samples = wave(50);
        samples.push(2, &[100_000, 100_010], &[0.0, 1.0, 0.0, 2.0]);
        let extents = samples.extents(1, &samples.cuts(0.0, 110_000.0, 4000));
        assert_eq!(extents.iter().filter(|e| e.gap).count(), 2, "the first and the one after the pause");
        assert_eq!(samples.gaps(0.0, 110_000.0), [(490.0, 100_000.0)]);
        let mut late = Samples::default();
        late.push(1, &[5_000, 5_010, 5_020], &[1.0; 3]);
        assert_eq!(late.gaps(0.0, 9_000.0), [(0.0, 5_000.0)], "nothing is known before the first sample");
        late.change_lanes();
        assert_eq!((late.gaps(0.0, 9_000.0), late.former(0.0, 9_000.0)), (vec![], vec![(5_000.0, 5_030.0)]));
        late.push(2, &[5_030, 5_040], &[1.0; 4]);
        assert_eq!(late.gaps(0.0, 9_000.0), [(0.0, 5_000.0)], "the time of other lanes is no gap");
        let mut many = wave(CAPACITY as u64);
        many.push(2, &[1 << 40], &[0.0, 0.0]);
        assert!(many.len() <= CAPACITY && many.dropped > 0);
    }
}
