//! Overlays of all time views: interventions and the selected range behind the data; cursor, pointer and edits in front of the
//! data.

use super::{Time, TimeAxis, Timeline};
use crate::app::kit::{self, theme::Tokens};
use egui::{Align2, FontId, Painter, Pos2, Rect, Response, Vec2, pos2};

/// Draws stimuli, silencing and, on the screen, the selected range. `seen` is the first and the last visible step; `x` maps a step to the
/// screen.
pub fn background(
    painter: &Painter,
    plot: Rect,
    time: &Time,
    tokens: &Tokens,
    seen: (f64, f64),
    x: impl Fn(f64) -> f32,
) {
    let across = |from: f64, to: f64| {
        let (left, right) = (x(from).max(plot.left()), x(to.min(1e15)).min(plot.right()));
        (left < right).then(|| Rect::from_min_max(pos2(left, plot.top()), pos2(right, plot.bottom())))
    };
    for span in time.spans.iter().filter(|s| s.is_bounded()) {
        let color = if span.is_lesion { tokens.error } else { tokens.warn };
        let edge = color.gamma_multiply(0.5);
        for (from, to) in span.parts(seen.0, seen.1) {
            let Some(rect) = across(from, to) else { continue };
            painter.rect_filled(rect, 0.0, color.gamma_multiply(0.07));
            for at in [from, to].map(&x).into_iter().filter(|at| plot.x_range().contains(*at)) {
                painter.vline(at, plot.y_range(), (1.0, edge));
            }
        }
    }
    let range = time.axis.range.filter(|_| !kit::is_staged(painter.ctx()));
    if let Some(rect) = range.and_then(|(from, to)| across(from, to)) {
        painter.rect_filled(rect, 0.0, tokens.accent.gamma_multiply(0.12));
    }
}

/// Hatches times at which nothing was recorded, and labels the wide ones.
pub fn not_recorded(painter: &Painter, plot: Rect, gaps: &[(f64, f64)], tokens: &Tokens, x: impl Fn(f64) -> f32) {
    hatched(painter, plot, gaps, "not recorded", tokens, x);
}

/// Hatches times at which a series had other lanes than now, and labels the wide ones.
pub fn other_lanes(painter: &Painter, plot: Rect, spans: &[(f64, f64)], tokens: &Tokens, x: impl Fn(f64) -> f32) {
    hatched(painter, plot, spans, "other curves", tokens, x);
}

fn hatched(painter: &Painter, plot: Rect, spans: &[(f64, f64)], why: &str, tokens: &Tokens, x: impl Fn(f64) -> f32) {
    for (from, to) in spans {
        let (left, right) = (x(*from).max(plot.left()), x(*to).min(plot.right()));
        if right - left >= 0.5 {
            hatch(painter, Rect::from_min_max(pos2(left, plot.top()), pos2(right, plot.bottom())), why, tokens);
        }
    }
}

/// Distance of hatch lines, points.
const HATCH: f32 = 7.0;

fn hatch(painter: &Painter, area: Rect, why: &str, tokens: &Tokens) {
    let inside = painter.with_clip_rect(area.intersect(painter.clip_rect()));
    inside.rect_filled(area, 0.0, tokens.panel.gamma_multiply(0.6));
    let stroke = (1.0, tokens.text_sub.gamma_multiply(0.25));
    // Lines start at multiples of their distance, so that they stay in place while the gap scrolls.
    let first = ((area.left() - area.height()) / HATCH).floor() as i32;
    for i in first..=(area.right() / HATCH).ceil() as i32 {
        let left = i as f32 * HATCH;
        inside.line_segment([pos2(left, area.bottom()), pos2(left + area.height(), area.top())], stroke);
    }
    let font = egui::TextStyle::Small.resolve(&painter.ctx().global_style());
    let text = inside.layout_no_wrap(why.to_owned(), font, tokens.text_sub);
    if text.size().x + 12.0 < area.width() && text.size().y + 2.0 < area.height() {
        let at = Rect::from_center_size(area.center(), text.size());
        inside.rect_filled(at.expand(3.0), 2.0, tokens.panel);
        inside.galley(at.min, text, tokens.text_sub);
    }
}

/// Draws the cursor, the time under the pointer in any view, and edits as ticks at the top. A figure has none of them.
pub fn overlay(painter: &Painter, plot: Rect, time: &Time, tokens: &Tokens, x: impl Fn(f64) -> f32) {
    if kit::is_staged(painter.ctx()) {
        return;
    }
    let inside = |step: f64| Some(x(step)).filter(|x| plot.x_range().contains(*x));
    for at in time.edits.iter().filter_map(|edit| inside(edit.step as f64)) {
        painter.vline(at, plot.top()..=plot.top() + 6.0, (1.5, tokens.accent.gamma_multiply(0.8)));
    }
    let pass = painter.ctx().cumulative_pass_nr();
    if let Some(at) = time.axis.pointer_step(pass).and_then(inside) {
        painter.vline(at, plot.y_range(), (1.0, tokens.text_sub.gamma_multiply(0.4)));
    }
    if let Some(at) = time.axis.cursor().and_then(inside) {
        painter.vline(at, plot.y_range(), (1.0, tokens.accent));
    }
}

/// Draws a time label under the axis.
pub fn chip(painter: &Painter, plot: Rect, x: f32, text: String, font: &FontId, tokens: &Tokens) {
    let galley = painter.layout_no_wrap(text, font.clone(), tokens.text_strong);
    let half = galley.size().x / 2.0 + 5.0;
    let middle = x.clamp(plot.left() + half, (plot.right() - half).max(plot.left() + half));
    let chip = Rect::from_center_size(pos2(middle, plot.bottom() + 11.0), galley.size() + Vec2::new(10.0, 4.0));
    painter.rect_filled(chip, 4.0, tokens.hover);
    painter.galley(chip.min + Vec2::new(5.0, 2.0), galley, tokens.text_strong);
}

/// Shares the pointer's time with all views.
pub fn point(response: &Response, plot: Rect, line: &Timeline, axis: &mut TimeAxis) {
    if let Some(at) = pointer(response, plot) {
        axis.set_pointer(line.step_at(plot, at.x), response.ctx.cumulative_pass_nr());
    }
}

/// Draws the pointer's time in a label over all other contents.
pub fn pointer_chip(
    painter: &Painter,
    response: &Response,
    plot: Rect,
    line: &Timeline,
    (clock, font, tokens): (crate::sim::Clock, &FontId, &Tokens),
) {
    let Some(at) = pointer(response, plot) else { return };
    let step = line.step_at(plot, at.x);
    let mut text = line.unit(clock).text(step * clock.base.per_step(), clock.base.per_step());
    if let Some(scale) = &line.scale {
        text += &format!(" {}", scale.text(step));
    }
    chip(painter, plot, at.x, text, font, tokens);
}

fn pointer(response: &Response, plot: Rect) -> Option<Pos2> {
    response.hover_pos().filter(|p| plot.x_range().contains(p.x) && !response.dragged())
}

/// Selects a range by dragging along the axis under a plot. Returns whether such a drag is in progress.
pub fn choose_range(response: &Response, plot: Rect, line: &Timeline, axis: &mut TimeAxis) -> bool {
    let origin = response.ctx.input(|i| i.pointer.press_origin());
    let (Some(from), Some(to)) = (origin, response.interact_pointer_pos()) else { return false };
    if from.y <= plot.bottom() || !response.dragged() {
        return false;
    }
    let step = |p: Pos2| line.step_at(plot, p.x.clamp(plot.left(), plot.right())).max(0.0);
    let (a, b) = (step(from), step(to));
    if (from.x - to.x).abs() > 2.0 {
        axis.range = Some((a.min(b), a.max(b)));
    }
    true
}

/// Draws the labels of interventions at their left edges.
pub fn span_labels(painter: &Painter, plot: Rect, time: &Time, font: &FontId, tokens: &Tokens, x: impl Fn(f64) -> f32) {
    let mut free = plot.left();
    for span in time.spans.iter().filter(|s| s.is_bounded()) {
        let (left, right) = (x(span.from.max(span.since)).max(free + 2.0), x(span.to.min(1e15)).min(plot.right()));
        if right - left < 24.0 {
            continue;
        }
        let color = if span.is_lesion { tokens.error } else { tokens.warn };
        let text = kit::elide(painter, &span.label, font, right - left - 6.0);
        free = painter.text(pos2(left + 3.0, plot.top() + 1.0), Align2::LEFT_TOP, text, font.clone(), color).right();
    }
}
