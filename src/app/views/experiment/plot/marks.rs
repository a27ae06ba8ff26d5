//! Points with intervals, and the condition under the pointer.

use crate::app::{
    document::experiment::Results,
    kit::theme::Tokens,
    views::{
        ViewCtx,
        experiment::{click, is_selected, texts},
        scatter::axis::Scale,
    },
};
use egui::{Color32, Painter, Pos2, Rect, Response, pos2, vec2};

/// Radii of a mean and of a single trial, points.
pub const RADII: (f32, f32) = (3.5, 1.5);
/// Half the width of the ends of a whisker, points.
const CAP: f32 = 3.0;
/// Maximum distance of the pointer from a point that it hovers, points.
const NEAR: f32 = 14.0;
/// q value below which a condition is coloured as different from the control.
pub const SIGNIFICANT: f64 = 0.05;

/// Scales of both axes, and the area of the plot.
pub struct Axes {
    pub plot: Rect,
    pub x: Scale,
    pub y: Scale,
}

impl Axes {
    /// Returns the position of a point.
    pub fn at(&self, x: f64, y: f64) -> Pos2 {
        pos2(self.plot.left() + self.x.at(x as f32) * self.plot.width(), self.y(y))
    }

    /// Returns the vertical position of a value.
    pub fn y(&self, y: f64) -> f32 {
        self.plot.bottom() - self.y.at(y as f32) * self.plot.height()
    }
}

/// Draws the ends of an interval and the line between them.
pub fn paint_whisker(painter: &Painter, low: Pos2, high: Pos2, color: Color32) {
    painter.line_segment([low, high], (1.25, color));
    for end in [low, high] {
        painter.line_segment([end - vec2(CAP, 0.0), end + vec2(CAP, 0.0)], (1.25, color));
    }
}

/// Returns the colour of a condition: grey for the control and for conditions without a significant difference.
pub fn color(results: &Results, measure: usize, condition: usize, tokens: &Tokens) -> Color32 {
    let line = results.line(measure, condition);
    match line.and_then(|line| Some((line.q?, line.comparison?.difference))) {
        _ if condition == results.control() => tokens.text_sub,
        Some((q, difference)) if q < SIGNIFICANT => {
            if difference < 0.0 {
                tokens.inhibitory
            } else {
                tokens.excitatory
            }
        }
        _ => tokens.other,
    }
}

/// Draws a ring around the condition under the pointer and the marked one, shows the tooltip, and handles a click. `points` are
/// the conditions with their positions.
pub fn hover_ui(
    painter: &Painter,
    response: Response,
    ctx: &mut ViewCtx<'_>,
    (results, measure): (&Results, usize),
    points: &[(usize, Pos2)],
) {
    let ring = |at: Pos2, color| painter.circle_stroke(at, RADII.0 + 3.0, (1.5, color));
    for (_, at) in points.iter().filter(|(condition, _)| is_selected(ctx, results, *condition)) {
        ring(*at, ctx.tokens.accent);
    }
    let Some(pointer) = response.hover_pos() else { return };
    let near = points.iter().map(|(condition, at)| (at.distance(pointer), *condition, *at));
    let Some((distance, condition, at)) = near.min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
    if distance > NEAR {
        return;
    }
    ring(at, ctx.tokens.text_strong);
    let response = response.on_hover_text_at_pointer(texts::about(results, measure, condition));
    if response.clicked() {
        click(ctx, results, condition);
    }
}
