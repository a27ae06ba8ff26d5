//! Painting of bands between quantiles, and of lines over them.

use super::{
    history_lines::HistoryLines,
    summary::{MEDIAN, QUANTILES, State},
    thinned::Thinned,
};
use crate::app::{
    document::time::Timeline,
    kit::{colors, theme::Tokens},
    views::scatter::axis::{Scale, with_margin},
};
use egui::{Color32, Mesh, Painter, Pos2, Rect, Stroke, pos2};
use std::ops::Range;

/// Pairs of quantiles with a band between them, and the opacity of the band.
const BANDS: [(usize, usize, f32); 2] = [(1, 5, 0.20), (2, 4, 0.34)];
/// Index of the categorical colour of bands.
const COLOR: usize = 1;
/// Width of a band with a single state, points.
const SINGLE_WIDTH: f32 = 3.0;

/// Mapping of times and values to the screen.
pub struct Chart<'a> {
    pub plot: Rect,
    pub scale: Scale,
    pub line: &'a Timeline,
}

impl Chart<'_> {
    /// Returns the x of a step.
    pub fn x(&self, step: u64) -> f32 {
        self.line.x_of(self.plot, step as f64)
    }

    /// Returns the y of a value; the bottom of the plot if the value has no logarithm on a logarithmic scale.
    pub fn y(&self, value: f32) -> f32 {
        let at = self.scale.at(value);
        self.plot.bottom() - if at.is_finite() { at } else { 0.0 } * self.plot.height()
    }
}

/// Returns the scale of states with a margin, and whether all values are positive. The scale is logarithmic if
/// `wants_log` and all values are positive.
pub fn scale_of(states: &[(u64, State)], wants_log: bool) -> (Scale, bool) {
    let ends = states.iter().map(|(_, s)| (s.quantiles[0], s.quantiles[QUANTILES.len() - 1]));
    let (low, high) = ends.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), (c, d)| (a.min(c), b.max(d)));
    if low > high {
        return (Scale::default(), false);
    }
    let is_positive = low > 0.0;
    let is_log = wants_log && is_positive;
    let (a, b) = if is_log { (low.ln(), high.ln()) } else { (low, high) };
    let (bottom, top) = with_margin(a, b);
    // The scale of non-negative values does not begin below zero.
    let bottom = if !is_log && low >= 0.0 { bottom.max(0.0) } else { bottom };
    let [low, high] = [bottom, top].map(|v| if is_log { v.exp() } else { v });
    (Scale { low, high, is_log }, is_positive)
}

/// Draws the bands, and lines of the median, the minimum and the maximum.
pub fn bands(painter: &Painter, chart: &Chart<'_>, history: &Thinned<State>, seen: Range<usize>, tokens: &Tokens) {
    let color = tokens.categorical[COLOR];
    let mut mesh = Mesh::default();
    for piece in history.pieces(seen) {
        let states = &history.entries()[piece];
        for (low, high, opacity) in BANDS {
            fill(&mut mesh, chart, states, (low, high), color.gamma_multiply(opacity));
        }
        let line = |q: usize, stroke: Stroke| {
            let points: Vec<Pos2> = states.iter().map(|(at, s)| pos2(chart.x(*at), chart.y(s.quantiles[q]))).collect();
            polyline(painter, points, stroke);
        };
        line(0, Stroke::new(1.0, color.gamma_multiply(0.6)));
        line(QUANTILES.len() - 1, Stroke::new(1.0, color.gamma_multiply(0.6)));
        line(MEDIAN, Stroke::new(1.75, color.lerp_to_gamma(tokens.text_strong, 0.35)));
    }
    painter.add(mesh);
}

/// Adds a band between two quantiles to a mesh.
fn fill(mesh: &mut Mesh, chart: &Chart<'_>, states: &[(u64, State)], (low, high): (usize, usize), color: Color32) {
    let side = |step: u64, s: &State, by: f32| {
        [s.quantiles[low], s.quantiles[high]].map(|v| pos2(chart.x(step) + by, chart.y(v)))
    };
    let alone = if states.len() == 1 { SINGLE_WIDTH / 2.0 } else { 0.0 };
    let ends = states.first().map(|(at, s)| side(*at, s, -alone)).into_iter();
    let sides = ends.chain(states.iter().map(|(at, s)| side(*at, s, alone)));
    for (i, [bottom, top]) in sides.enumerate() {
        let next = mesh.vertices.len() as u32;
        mesh.colored_vertex(bottom, color);
        mesh.colored_vertex(top, color);
        if i > 0 {
            mesh.add_triangle(next - 2, next - 1, next);
            mesh.add_triangle(next - 1, next, next + 1);
        }
    }
}

/// Draws a line; a single point is drawn as a dash.
fn polyline(painter: &Painter, points: Vec<Pos2>, stroke: Stroke) {
    match points.as_slice() {
        [] => {}
        [one] => drop(painter.hline(one.x - SINGLE_WIDTH..=one.x + SINGLE_WIDTH, one.y, stroke)),
        _ => drop(painter.line(points, stroke)),
    }
}

/// Draws the line of the median over the heat map.
pub fn median(painter: &Painter, chart: &Chart<'_>, history: &Thinned<State>, seen: Range<usize>, color: Color32) {
    for piece in history.pieces(seen) {
        let states = history.entries()[piece].iter();
        let points = states.map(|(at, s)| pos2(chart.x(*at), chart.y(s.quantiles[MEDIAN]))).collect();
        polyline(painter, points, Stroke::new(1.25, color));
    }
}

/// Draws a line per selected element, interrupted where the element is masked out.
pub fn history_lines(painter: &Painter, chart: &Chart<'_>, history_lines: &HistoryLines, tokens: &Tokens) {
    let kept = history_lines.kept();
    let pieces = kept.pieces(kept.within(chart.line.t0, chart.line.t1));
    for (i, piece) in pieces.iter().flat_map(|p| (0..history_lines.elements().len()).map(move |i| (i, p.clone()))) {
        let rows = &kept.entries()[piece];
        // The colour of the bands is left out.
        let color = colors::categorical(if i < COLOR { i } else { i + 1 }, tokens);
        let stroke = Stroke::new(1.25, color);
        for part in rows.split(|(_, row)| !row[i].is_finite()) {
            polyline(painter, part.iter().map(|(at, row)| pos2(chart.x(*at), chart.y(row[i]))).collect(), stroke);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_holds_what_is_in_view() {
        let state = |low: f32, high: f32| {
            (0, State { n: 2, quantiles: [low, low, low, low, low, low, high], edges: [0.0; 65] })
        };
        let (plain, is_positive) = scale_of(&[state(1.0, 3.0), state(0.5, 2.0)], false);
        assert!(is_positive && (0.0..0.5).contains(&plain.low) && plain.high > 3.0 && !plain.is_log);
        let (log, _) = scale_of(&[state(0.01, 1.0)], true);
        assert!(log.is_log && (log.at(0.1) - 0.5).abs() < 1e-4);
        let (signed, is_positive) = scale_of(&[state(-1.0, 1.0)], true);
        assert!(!is_positive && !signed.is_log && signed.low < -1.0, "no logarithm");
        let (flat, _) = scale_of(&[state(0.0, 0.0)], false);
        assert!(flat.low < flat.high);
        assert_eq!(scale_of(&[], true), (Scale::default(), false));
    }
}
