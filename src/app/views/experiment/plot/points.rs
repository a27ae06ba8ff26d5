//! Means of conditions with intervals, against the value of one parameter or in the order of their effects.

use super::marks::{self, Axes, RADII, hover_ui, paint_whisker};
use crate::app::{
    document::experiment::{Factors, Results},
    kit::{self, theme::Tokens},
    views::{
        ViewCtx,
        experiment::texts,
        scatter::axis::{self, Scale},
    },
};
use egui::{Align2, Painter, Pos2, Rect, Sense, Shape, Ui, pos2, vec2};

/// Minimum distance of conditions that are named below the axis, points.
const NAMED_FROM: f32 = 13.0;
/// Room for names below the axis, points, and maximum share of the canvas.
const NAMES: (f32, f32) = (110.0, 0.35);

/// Draws the plot.
pub fn ui(
    ui: &mut Ui,
    canvas: Rect,
    ctx: &mut ViewCtx<'_>,
    (results, measure): (&Results, usize),
    order: &[usize],
    has_trials: bool,
) {
    let factor = results.factors.as_ref().filter(|factors| factors.axes.len() == 1 && factors.is_numeric(0));
    let places = places(results, order, factor);
    let axes = axes(ui, canvas, (results, measure), &places, (factor, has_trials));
    let response = ui.interact(canvas, ui.scope_id().with("effects"), Sense::click());
    response.widget_info(|| {
        let n = kit::plural(places.len(), "condition", "conditions");
        egui::WidgetInfo::labeled(egui::Role::Image, true, format!("{} of {n}", results.title(measure)))
    });
    let painter = ui.painter_at(canvas);
    paint_control(&painter, &axes, (results, measure), ctx.tokens);
    paint_axes(ui, &painter, canvas, &axes, (results, measure), (&places, factor), ctx.tokens);
    let mut points = vec![];
    for (condition, x) in &places {
        let Some(line) = results.line(measure, *condition) else { continue };
        let Some(mean) = line.summary.mean else { continue };
        let color = marks::color(results, measure, *condition, ctx.tokens);
        if has_trials {
            for (_, value) in results.values(measure, *condition) {
                painter.circle_filled(axes.at(*x, value), RADII.1, color.gamma_multiply(0.55));
            }
        }
        if let Some((low, high)) = line.summary.interval {
            paint_whisker(&painter, axes.at(*x, low), axes.at(*x, high), color);
        }
        let at = axes.at(*x, mean);
        painter.circle_filled(at, RADII.0, color);
        points.push((*condition, at));
    }
    hover_ui(&painter, response, ctx, (results, measure), &points);
}

/// Returns the conditions with their horizontal values: those of the parameter, otherwise ranks in the order.
fn places(results: &Results, order: &[usize], factor: Option<&Factors>) -> Vec<(usize, f64)> {
    match factor {
        Some(factors) => {
            let x = |condition: usize| factors.values.get(condition)?.first()?.x;
            order.iter().filter_map(|condition| Some((*condition, x(*condition)?))).collect()
        }
        None => {
            let has_mean = |condition: &usize| *condition < results.table.conditions.len();
            order.iter().copied().filter(has_mean).enumerate().map(|(rank, i)| (i, rank as f64)).collect()
        }
    }
}

fn axes(
    ui: &Ui,
    canvas: Rect,
    (results, measure): (&Results, usize),
    places: &[(usize, f64)],
    (factor, has_trials): (Option<&Factors>, bool),
) -> Axes {
    let conditions = places.iter().map(|(condition, _)| *condition).chain([results.control()]);
    let ys = conditions.flat_map(|condition| {
        let summary = results.line(measure, condition).map(|line| line.summary).unwrap_or_default();
        let (low, high) = summary.interval.unwrap_or((f64::NAN, f64::NAN));
        let trials = if has_trials { results.values(measure, condition) } else { vec![] };
        let trials = trials.into_iter().map(|(_, value)| value);
        [low, high, summary.mean.unwrap_or(f64::NAN)].into_iter().chain(trials).map(|y| y as f32).collect::<Vec<_>>()
    });
    let y = Scale::of(ys, Some(false));
    let xs = || places.iter().map(|(_, x)| *x as f32);
    let x = match factor {
        Some(factors) => Scale::of(xs(), Some(factors.axes[0].is_log && xs().all(|x| x > 0.0))),
        None => Scale { low: -0.5, high: (places.len() as f32 - 0.5).max(0.5), is_log: false },
    };
    let below = if factor.is_some() { kit::TITLED_AXIS } else { NAMES.0.min(canvas.height() * NAMES.1) };
    let left = axis::gutter(ui, &y, canvas.height() - 24.0 - below) + 4.0;
    let plot = Rect::from_min_max(canvas.min + vec2(left, 26.0), canvas.max - vec2(16.0, below));
    Axes { plot, x, y }
}

/// Draws the mean of the control as a dashed line, and its interval as a band.
fn paint_control(painter: &Painter, axes: &Axes, (results, measure): (&Results, usize), tokens: &Tokens) {
    let Some(line) = results.line(measure, results.control()) else { return };
    if let Some((low, high)) = line.summary.interval {
        let band = Rect::from_x_y_ranges(axes.plot.x_range(), axes.y(high)..=axes.y(low));
        painter.rect_filled(band.intersect(axes.plot), 0.0, Tokens::fade(tokens.text_sub, 0.12));
    }
    if let Some(mean) = line.summary.mean {
        let y = axes.y(mean);
        let ends = [pos2(axes.plot.left(), y), pos2(axes.plot.right(), y)];
        painter.extend(Shape::dashed_line(&ends, (1.0, tokens.text_sub), 5.0, 4.0));
    }
}

fn paint_axes(
    ui: &Ui,
    painter: &Painter,
    canvas: Rect,
    axes: &Axes,
    (results, measure): (&Results, usize),
    (places, factor): (&[(usize, f64)], Option<&Factors>),
    tokens: &Tokens,
) {
    let (small, mono) = (kit::small(ui), kit::mono(ui));
    let title = format!("{}, mean and 95 % interval{}", results.title(measure), n_text(results, measure, places));
    axis::y(painter, canvas.left() + 8.0, axes.plot, (&mono, &small), tokens, &axes.y, &title);
    if let Some(factors) = factor {
        return axis::x(painter, axes.plot, (&mono, &small), tokens, &axes.x, &factors.axes[0].title);
    }
    painter.hline(axes.plot.x_range(), axes.plot.bottom(), (1.0, tokens.line));
    let step = axes.plot.width() / places.len().max(1) as f32;
    let every = (NAMED_FROM / step).ceil().max(1.0) as usize;
    let room = canvas.bottom() - axes.plot.bottom() - 8.0;
    for (condition, x) in places.iter().step_by(every) {
        let name = kit::elide(painter, &results.table.conditions[*condition], &small, room * 1.25);
        let at = axes.at(*x, 0.0);
        paint_name(painter, pos2(at.x, axes.plot.bottom() + 5.0), (&name, step), &small, tokens);
    }
}

/// Draws the name of a condition below the axis: level if it has room, otherwise turned.
fn paint_name(painter: &Painter, top: Pos2, (name, step): (&str, f32), font: &egui::FontId, tokens: &Tokens) {
    let galley = painter.layout_no_wrap(name.to_owned(), font.clone(), tokens.text_sub);
    if galley.size().x + 6.0 <= step {
        painter.text(top, Align2::CENTER_TOP, name, font.clone(), tokens.text_sub);
        return;
    }
    let angle = -std::f32::consts::FRAC_PI_4;
    let end = egui::emath::Rot2::from_angle(angle) * vec2(galley.size().x, 0.0);
    let start = top + vec2(4.0, 0.0) - end;
    painter.add(egui::epaint::TextShape::new(start, galley, tokens.text_sub).with_angle(angle));
}

/// Formats the numbers of values: `, n = 10`, or `, n = 8 to 10`; empty without values.
fn n_text(results: &Results, measure: usize, places: &[(usize, f64)]) -> String {
    let n = places.iter().filter_map(|(i, _)| Some(results.line(measure, *i)?.summary.n)).filter(|n| *n > 0);
    let (low, high) = n.fold((usize::MAX, 0), |(low, high), n| (low.min(n), high.max(n)));
    let control = texts::control(results);
    match high {
        0 => String::new(),
        _ if low == high => format!(", n = {high}; dashed: {control}"),
        _ => format!(", n = {low} to {high}; dashed: {control}"),
    }
}
