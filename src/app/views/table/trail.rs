//! Recent history of a field: snapshots of all elements, drawn as one sparkline per row. All rows have one scale.

use crate::app::kit::theme::Tokens;
use egui::{Painter, Rect, pos2};
use std::collections::VecDeque;

const MAX_SNAPSHOTS: usize = 32;
/// Minimum simulated seconds between two snapshots; steps if a step has no duration.
const INTERVAL: f64 = 0.02;

/// Latest snapshots of a field with their times, oldest first.
#[derive(Default)]
pub struct Trail {
    snapshots: VecDeque<Snapshot>,
}

/// Values of all elements at a time.
struct Snapshot {
    at: f64,
    values: Vec<f32>,
    /// Lowest and highest finite value, including zero.
    range: (f32, f32),
}

/// Returns the lowest and the highest finite value, including zero.
fn range_of(values: &[f32]) -> (f32, f32) {
    let finite = values.iter().filter(|v| v.is_finite());
    finite.fold((0.0, 0.0), |(low, high): (f32, f32), v| (low.min(*v), high.max(*v)))
}

impl Trail {
    /// Removes all snapshots.
    pub fn clear(&mut self) {
        self.snapshots.clear();
    }

    /// Adds a snapshot if at least [`INTERVAL`] has passed since the last one. If the time is earlier or the number of elements
    /// has changed, removes all earlier snapshots.
    pub fn push(&mut self, secs: f64, values: &[f32]) {
        let is_other = self.snapshots.back().is_some_and(|old| old.at > secs || old.values.len() != values.len());
        if is_other {
            self.clear();
        }
        if self.snapshots.back().is_none_or(|last| secs - last.at >= INTERVAL) {
            // Reuses the oldest snapshot's memory, because allocating new pages costs more than the copy.
            let oldest = if self.snapshots.len() == MAX_SNAPSHOTS { self.snapshots.pop_front() } else { None };
            let mut copy = oldest.map(|old| old.values).unwrap_or_default();
            copy.clear();
            copy.extend_from_slice(values);
            self.snapshots.push_back(Snapshot { at: secs, values: copy, range: range_of(values) });
        }
    }

    /// Time between the first and the last snapshot, seconds (or steps).
    pub fn secs(&self) -> f64 {
        let (first, last) = (self.snapshots.front(), self.snapshots.back());
        first.zip(last).map_or(0.0, |(first, last)| last.at - first.at)
    }

    /// Returns an element's finite values with their times, scaled to 0..1.
    fn of(&self, element: u32) -> impl Iterator<Item = (f32, f32)> {
        let span = self.secs().max(1e-9);
        let first = self.snapshots.front().map_or(0.0, |snapshot| snapshot.at);
        self.snapshots.iter().filter_map(move |Snapshot { at, values, .. }| {
            Some((((at - first) / span) as f32, *values.get(element as usize)?)).filter(|(_, v)| v.is_finite())
        })
    }

    /// Returns the range of all values in memory, including zero: the scale of every row.
    fn range(&self) -> (f32, f32) {
        let ranges = self.snapshots.iter().map(|snapshot| snapshot.range);
        ranges.fold((0.0, 0.0), |(low, high), (a, b)| (low.min(a), high.max(b)))
    }

    /// Draws an element's sparkline on the scale of all rows.
    pub fn paint(&self, painter: &Painter, area: Rect, element: u32, tokens: &Tokens) {
        let (low, high) = self.range();
        let span = (high - low).max(1e-6);
        let at =
            |(x, v): (f32, f32)| pos2(area.left() + x * area.width(), area.bottom() - (v - low) / span * area.height());
        let line: Vec<_> = self.of(element).map(at).collect();
        if line.len() > 1 {
            painter.line(line, (1.0, tokens.accent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_latest_and_starts_over() {
        let mut trail = Trail::default();
        for i in 0..100 {
            trail.push(f64::from(i) / 64.0, &[i as f32, f32::NAN]); // Every second value is added.
        }
        assert_eq!((trail.snapshots.len(), trail.of(1).count()), (MAX_SNAPSHOTS, 0));
        assert_eq!(trail.of(0).last(), Some((1.0, 98.0)));
        assert_eq!(trail.range(), (0.0, 98.0), "not-a-number values do not count");
        assert_eq!(trail.secs(), 31.0 * 2.0 / 64.0);
        trail.push(0.0, &[0.0]);
        assert_eq!(trail.snapshots.len(), 1, "the run was rewound");
    }
}
