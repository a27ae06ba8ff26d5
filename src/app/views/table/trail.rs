//! How a field has been lately, for every element: a few pictures of all of it, drawn as a line per row.

use crate::app::theme::Tokens;
use egui::{Painter, Rect, pos2};
use std::collections::VecDeque;

/// Pictures kept.
const KEPT: usize = 32;
/// Simulated seconds between two pictures; steps where a step has no length.
const EVERY: f64 = 0.02;

/// The latest pictures of a field, oldest first.
#[derive(Default)]
pub struct Trail {
    pictures: VecDeque<(f64, Vec<f32>)>,
}

impl Trail {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.pictures.clear();
    }

    /// Keeps a picture, when enough has passed since the last.
    pub fn push(&mut self, secs: f64, values: &[f32]) {
        let is_other = self.pictures.back().is_some_and(|(at, old)| *at > secs || old.len() != values.len());
        if is_other {
            self.clear();
        }
        if self.pictures.back().is_none_or(|(at, _)| secs - at >= EVERY) {
            // The oldest picture makes room for the newest: fresh pages would cost more than the copy.
            let oldest = if self.pictures.len() == KEPT { self.pictures.pop_front() } else { None };
            let mut picture = oldest.map(|(_, old)| old).unwrap_or_default();
            picture.clear();
            picture.extend_from_slice(values);
            self.pictures.push_back((secs, picture));
        }
    }

    /// How long it reaches back, seconds.
    pub fn secs(&self) -> f64 {
        let (first, last) = (self.pictures.front(), self.pictures.back());
        first.zip(last).map_or(0.0, |((a, _), (b, _))| b - a)
    }

    /// An element's values and their times, 0 to 1.
    fn of(&self, element: u32) -> impl Iterator<Item = (f32, f32)> {
        let span = self.secs().max(1e-9);
        let first = self.pictures.front().map_or(0.0, |(at, _)| *at);
        self.pictures.iter().filter_map(move |(at, values)| {
            Some((((at - first) / span) as f32, *values.get(element as usize)?)).filter(|(_, v)| v.is_finite())
        })
    }

    /// Draws an element's line, from zero or its lowest value to its highest.
    pub fn paint(&self, painter: &Painter, area: Rect, element: u32, tokens: &Tokens) {
        let (low, high) = self.of(element).fold((0.0_f32, 0.0_f32), |(a, b), (_, v)| (a.min(v), b.max(v)));
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
            trail.push(f64::from(i) / 64.0, &[i as f32, f32::NAN]); // every other one is 0.03 s after the last
        }
        assert_eq!((trail.pictures.len(), trail.of(1).count()), (KEPT, 0));
        assert_eq!(trail.of(0).last(), Some((1.0, 98.0)));
        assert_eq!(trail.secs(), 31.0 * 2.0 / 64.0);
        trail.push(0.0, &[0.0]);
        assert_eq!(trail.pictures.len(), 1, "the run was rewound");
    }
}
