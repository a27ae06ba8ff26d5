//! Series over a run of any length in bounded memory: evenly thinned entries and the newest one.

use std::ops::Range;

/// Maximum number of entries; an even number.
pub const CAPACITY: usize = 2048;
/// Factor of the neighbouring distances above which a distance is a gap.
const GAP: u64 = 8;

/// Entries with their steps. If there are more than [`CAPACITY`], every second entry is removed and the interval
/// doubles.
#[derive(Clone, Debug)]
pub struct Thinned<T> {
    entries: Vec<(u64, T)>,
    every: u64,
    n: u64,
}

impl<T> Default for Thinned<T> {
    fn default() -> Self {
        Self { entries: vec![], every: 1, n: 0 }
    }
}

impl<T> Thinned<T> {
    /// Adds an entry, unless it is not newer than the last one. Returns whether it was added.
    pub fn push(&mut self, step: u64, entry: T) -> bool {
        if self.last().is_some_and(|last| step <= last) {
            return false;
        }
        // The newest entry is always present. It is replaced unless its index is a multiple of the interval.
        if self.n > 0 && !(self.n - 1).is_multiple_of(self.every) {
            self.entries.pop();
        }
        self.entries.push((step, entry));
        self.n += 1;
        if self.entries.len() > CAPACITY {
            self.thin();
        }
        true
    }

    fn thin(&mut self) {
        self.every *= 2;
        let mut is_odd = false;
        self.entries.retain(|_| {
            is_odd = !is_odd;
            is_odd
        });
    }

    /// Returns the entries, oldest first.
    pub fn entries(&self) -> &[(u64, T)] {
        &self.entries
    }

    /// Returns the interval `n` of entries, of which one in `n` is kept.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Returns the newest step; `None` without entries.
    pub fn last(&self) -> Option<u64> {
        self.entries.last().map(|(step, _)| *step)
    }

    /// Returns the range of entries between two steps, extended by one entry at each end.
    pub fn within(&self, from: f64, to: f64) -> Range<usize> {
        let first = self.entries.partition_point(|(step, _)| (*step as f64) < from).saturating_sub(1);
        let end = self.entries.partition_point(|(step, _)| *step as f64 <= to);
        first..(end + 1).min(self.entries.len())
    }

    /// Returns the index of the entry nearest to a step; `None` without entries.
    pub fn nearest(&self, step: f64) -> Option<usize> {
        let after = self.entries.partition_point(|(at, _)| (*at as f64) < step);
        let far = |i: &usize| (self.entries[*i].0 as f64 - step).abs();
        [after.saturating_sub(1), after]
            .into_iter()
            .filter(|i| *i < self.entries.len())
            .min_by(|a, b| far(a).total_cmp(&far(b)))
    }

    /// Whether there is a gap before an entry: its distance is more than [`GAP`] times the neighbouring distances. A run that
    /// becomes faster has no gap.
    pub fn is_gap(&self, i: usize) -> bool {
        let between = |i: usize| Some(self.entries.get(i)?.0 - self.entries.get(i.checked_sub(1)?)?.0);
        let Some(here) = between(i) else { return false };
        let around = [i.checked_sub(1).and_then(between), between(i + 1)].into_iter().flatten().max();
        around.is_some_and(|around| here > around.saturating_mul(GAP))
    }

    /// Splits a range of entries at gaps.
    pub fn pieces(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut out: Vec<Range<usize>> = vec![];
        for i in range {
            match out.last_mut().filter(|_| !self.is_gap(i)) {
                Some(piece) => piece.end = i + 1,
                None => out.push(i..i + 1),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_kept_evenly_and_to_its_newest() {
        let mut kept = Thinned::default();
        for step in 0..100_001u64 {
            assert!(kept.push(step * 10, step));
        }
        assert!(!kept.push(999_990, 1), "entries that are not newer are left out");
        assert!(kept.entries().len() <= CAPACITY && kept.entries().len() > CAPACITY / 2 && kept.every() == 64);
        assert_eq!((kept.entries()[0].0, kept.last()), (0, Some(1_000_000)));
        let regular = &kept.entries()[..kept.entries().len() - 1];
        assert!(regular.windows(2).all(|w| w[1].0 - w[0].0 == 640), "evenly");
        assert!(kept.entries().iter().all(|(step, entry)| *step == entry * 10));
    }

    #[test]
    fn what_is_in_view_and_where_it_is_interrupted() {
        let mut kept = Thinned::default();
        for step in [0, 10, 20, 30, 500, 510, 520, 1520, 2520, 3520] {
            kept.push(step, ());
        }
        assert_eq!(kept.within(10.5, 505.0), 1..6);
        assert_eq!(kept.within(0.0, 1e9), 0..10);
        assert_eq!(kept.pieces(0..10), [0..4, 4..10], "a pause is a gap, a faster run is not");
        assert_eq!((kept.nearest(270.0), kept.nearest(200.0), kept.nearest(1e9)), (Some(4), Some(3), Some(9)));
        assert_eq!(Thinned::<()>::default().nearest(0.0), None);
    }
}
