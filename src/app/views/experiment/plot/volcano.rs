//! Differences from the control against −log₁₀ q.

use super::marks::{self, Axes, RADII, SIGNIFICANT, hover_ui};
use crate::app::{
    document::experiment::Results,
    kit::{self, theme::Tokens},
    views::{
        ViewCtx,
        experiment::texts,
        scatter::axis::{self, Scale},
    },
};
use egui::{Align2, Painter, Pos2, Rect, Sense, Shape, Ui, pos2, vec2};

/// Lower bound of q, because log 0 is not finite.
const LEAST_Q: f64 = 1e-300;
/// Maximum number of conditions with a name.
const MAX_NAMED: usize = 12;

/// Returns the conditions with difference and −log₁₀ q; those without q are left out.
fn points(results: &Results, measure: usize) -> Vec<(usize, f64, f64)> {
    let point = |condition: usize| {
        let line = results.line(measure, condition)?;
        Some((condition, line.comparison?.difference, -line.q?.max(LEAST_Q).log10()))
    };
    (0..results.table.conditions.len()).filter_map(point).collect()
}

/// Counts the conditions that are not in the plot: `  |  3 conditions without q`; empty if all are.
pub fn caption(results: &Results, measure: usize) -> String {
    let n_others = results.table.conditions.len().saturating_sub(1);
    match n_others.saturating_sub(points(results, measure).len()) {
        0 => String::new(),
        n => format!("  |  {} without q", kit::plural(n, "condition", "conditions")),
    }
}

/// Draws the plot.
pub fn ui(ui: &mut Ui, canvas: Rect, ctx: &mut ViewCtx<'_>, (results, measure): (&Results, usize)) {
    let all = points(results, measure);
    if all.is_empty() {
        let how = "A q value needs at least two trials per condition with different values";
        kit::empty_ui(ui, canvas, ctx, "No condition has a q value", how, None);
        return;
    }
    let widest = all.iter().map(|(_, x, _)| x.abs()).fold(0.0, f64::max).max(f64::MIN_POSITIVE) as f32 * 1.08;
    let limit = -SIGNIFICANT.log10();
    let highest = all.iter().map(|(.., y)| *y).fold(limit, f64::max) as f32 * 1.08;
    let y = Scale { low: 0.0, high: highest, is_log: false };
    let left = axis::gutter(ui, &y, canvas.height() - 26.0 - kit::TITLED_AXIS) + 4.0;
    let plot = Rect::from_min_max(canvas.min + vec2(left, 26.0), canvas.max - vec2(16.0, kit::TITLED_AXIS));
    let axes = Axes { plot, x: Scale { low: -widest, high: widest, is_log: false }, y };
    let response = ui.interact(canvas, ui.scope_id().with("volcano"), Sense::click());
    response.widget_info(|| {
        let n = kit::plural(all.len(), "condition", "conditions");
        egui::WidgetInfo::labeled(egui::Role::Image, true, format!("Difference against −log₁₀ q of {n}"))
    });
    let painter = ui.painter_at(canvas);
    paint_axes(ui, &painter, canvas, &axes, (results, measure), ctx.tokens);
    let points: Vec<(usize, Pos2)> = all.iter().map(|(i, x, y)| (*i, axes.at(*x, *y))).collect();
    for (condition, at) in &points {
        painter.circle_filled(*at, RADII.0, marks::color(results, measure, *condition, ctx.tokens));
    }
    paint_names(ui, &painter, &axes, results, &all, ctx.tokens);
    hover_ui(&painter, response, ctx, (results, measure), &points);
}

fn paint_axes(
    ui: &Ui,
    painter: &Painter,
    canvas: Rect,
    axes: &Axes,
    (results, measure): (&Results, usize),
    tokens: &Tokens,
) {
    let (small, mono) = (kit::small(ui), kit::mono(ui));
    let y_title = format!("−log₁₀ q{}", n_text(results, measure));
    axis::y(painter, canvas.left() + 8.0, axes.plot, (&mono, &small), tokens, &axes.y, &y_title);
    let title = format!("{}, difference from {}", results.title(measure), texts::control(results));
    axis::x(painter, axes.plot, (&mono, &small), tokens, &axes.x, &title);
    let zero = axes.at(0.0, 0.0).x;
    painter.vline(zero, axes.plot.y_range(), (1.0, tokens.line));
    let y = axes.y(-SIGNIFICANT.log10());
    let ends = [pos2(axes.plot.left(), y), pos2(axes.plot.right(), y)];
    painter.extend(Shape::dashed_line(&ends, (1.0, tokens.text_sub), 5.0, 4.0));
    let at = pos2(axes.plot.right() - 2.0, y - 2.0);
    painter.text(at, Align2::RIGHT_BOTTOM, "q = 0.05", small, tokens.text_sub);
}

/// Formats the number of values per condition: `, n = 10`.
fn n_text(results: &Results, measure: usize) -> String {
    let of = points(results, measure).into_iter();
    let n: Vec<usize> = of.filter_map(|(i, ..)| Some(results.line(measure, i)?.comparison?.n)).collect();
    match (n.iter().min(), n.iter().max()) {
        (Some(low), Some(high)) if low == high => format!(", n = {low}"),
        (Some(low), Some(high)) => format!(", n = {low} to {high}"),
        _ => String::new(),
    }
}

/// Names the significant conditions with the smallest q values, where names do not cover each other.
fn paint_names(ui: &Ui, painter: &Painter, axes: &Axes, results: &Results, all: &[(usize, f64, f64)], tokens: &Tokens) {
    let mut best: Vec<_> = all.iter().filter(|(.., y)| *y > -SIGNIFICANT.log10()).collect();
    best.sort_by(|a, b| b.2.total_cmp(&a.2).then(b.1.abs().total_cmp(&a.1.abs())));
    let mut taken: Vec<Rect> = vec![];
    for (condition, x, y) in best.into_iter().take(MAX_NAMED) {
        let name = kit::elide(painter, &results.table.conditions[*condition], &kit::small(ui), 140.0);
        let galley = painter.layout_no_wrap(name, kit::small(ui), tokens.text);
        let at = axes.at(*x, *y);
        let is_left = at.x + 8.0 + galley.size().x > axes.plot.right();
        let min = if is_left { at - vec2(galley.size().x + 8.0, 7.0) } else { at + vec2(8.0, -7.0) };
        let area = Rect::from_min_size(min, galley.size());
        if taken.iter().all(|other| !other.intersects(area)) {
            painter.galley(min, galley, tokens.text);
            taken.push(area);
        }
    }
}
