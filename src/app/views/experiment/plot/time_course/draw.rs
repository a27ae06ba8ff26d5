//! Draws time courses: bands, means, lines of single trials, axes and the values under the pointer.

use super::read::Courses;
use crate::app::{
    document::experiment::Results,
    kit::{
        self, colors,
        legend::{LegendEntry, figure_legend},
        theme::Tokens,
    },
    views::{
        ViewCtx,
        experiment::{plot::marks::Axes, texts},
        scatter::axis::{self, Scale},
    },
};
use crate::experiment::time_course::{Binning, TimeCourse};
use egui::{Color32, Mesh, Painter, Pos2, Rect, Sense, Ui, pos2, vec2};

/// Opacity of a band, and of the line of a trial.
const FAINT: (f32, f32) = (0.18, 0.35);

/// Draws the plot.
pub fn ui(ui: &mut Ui, canvas: Rect, ctx: &ViewCtx<'_>, (results, courses): (&Results, &Courses), has_trials: bool) {
    let Some(bins) = courses.bins else { return };
    let colors = colors_of(results, courses, ctx.tokens);
    let painter = ui.painter_at(canvas);
    let name = |condition: &usize| results.table.conditions.get(*condition).cloned().unwrap_or_default();
    let entries: Vec<LegendEntry> =
        courses.list.iter().zip(&colors).map(|((i, _), color)| LegendEntry::new(name(i), *color)).collect();
    let (small, mono) = (kit::small(ui), kit::mono(ui));
    let rest = figure_legend(&painter, canvas.shrink2(vec2(8.0, 4.0)), &small, ctx.tokens, &entries);
    let axes = axes(ui, canvas.with_min_y(rest.top()), courses, &bins, has_trials);
    let response = ui.interact(canvas, ui.scope_id().with("time course"), Sense::hover());
    response.widget_info(|| {
        let n = kit::plural(courses.list.len(), "condition", "conditions");
        egui::WidgetInfo::labeled(egui::Role::Image, true, format!("{} of {n} over time", courses.title))
    });
    let inside = painter.with_clip_rect(axes.plot.expand(1.0));
    let x = |bin: usize| bins.start(bin) * unit(courses);
    for ((_, course), color) in courses.list.iter().zip(&colors) {
        inside.add(band(course, &axes, &x, Tokens::fade(*color, FAINT.0)));
    }
    for ((_, course), color) in courses.list.iter().zip(&colors).filter(|_| has_trials) {
        for trial in &course.trials {
            let at = |bin: usize| Some(trial[bin]).filter(|value| value.is_finite());
            stairs(&inside, &axes, (&x, bins.n), at, (0.75, Tokens::fade(*color, FAINT.1)));
        }
    }
    for ((_, course), color) in courses.list.iter().zip(&colors) {
        stairs(&inside, &axes, (&x, bins.n), |bin| course.bins.get(bin)?.mean, (1.5, *color));
    }
    axis::y(&painter, canvas.left() + 8.0, axes.plot, (&mono, &small), ctx.tokens, &axes.y, &courses.title);
    axis::x(&painter, axes.plot, (&mono, &small), ctx.tokens, &axes.x, &x_title(courses, &bins));
    if bins.first < 0 && bins.first + bins.n as i64 > 0 {
        painter.vline(axes.at(0.0, 0.0).x, axes.plot.y_range(), (1.0, Tokens::fade(ctx.tokens.text_sub, 0.6)));
    }
    let Some(pointer) = response.hover_pos().filter(|at| axes.plot.contains(*at)) else { return };
    let share = f64::from((pointer.x - axes.plot.left()) / axes.plot.width());
    let at = f64::from(axes.x.low) + share * f64::from(axes.x.high - axes.x.low);
    let Some(bin) = (0..bins.n).find(|bin| (x(*bin)..x(bin + 1)).contains(&at)) else { return };
    painter.vline(pointer.x, axes.plot.y_range(), (1.0, ctx.tokens.text_sub));
    response.on_hover_text_at_pointer(values_at(results, courses, &bins, bin));
}

/// Returns the factor from steps to the unit of the horizontal axis: ms, or steps without a duration.
fn unit(courses: &Courses) -> f64 {
    if courses.base.is_count() { 1.0 } else { courses.base.per_step() * 1e3 }
}

fn x_title(courses: &Courses, bins: &Binning) -> String {
    let unit = if courses.base.is_count() { courses.base.plural() } else { "ms" };
    match bins.align {
        0 => format!("Time ({unit})"),
        align => format!("Time after {} ({unit})", kit::steps(align as f64, courses.base)),
    }
}

/// Returns the colours of the conditions: grey for the control.
fn colors_of(results: &Results, courses: &Courses, tokens: &Tokens) -> Vec<Color32> {
    let mut next = 0..;
    let color = |(condition, _): &(usize, TimeCourse)| match *condition == results.control() {
        true => tokens.text_sub,
        false => colors::categorical(next.next().unwrap_or_default(), tokens),
    };
    courses.list.iter().map(color).collect()
}

fn axes(ui: &Ui, canvas: Rect, courses: &Courses, bins: &Binning, has_trials: bool) -> Axes {
    let summaries = courses.list.iter().flat_map(|(_, course)| &course.bins);
    let bounds = summaries.flat_map(|bin| {
        let (low, high) = bin.interval.unwrap_or((f64::NAN, f64::NAN));
        [low, high, bin.mean.unwrap_or(f64::NAN)]
    });
    let trials = courses.list.iter().filter(|_| has_trials).flat_map(|(_, course)| course.trials.iter().flatten());
    let (low, high) = bounds
        .chain(trials.copied())
        .filter(|y| y.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
    let (low, high) = if low <= high { axis::with_margin(low as f32, high as f32) } else { (0.0, 1.0) };
    let y = Scale { low, high, is_log: false };
    let ends = [0, bins.n].map(|bin| (bins.start(bin) * unit(courses)) as f32);
    let x = Scale { low: ends[0], high: ends[1], is_log: false };
    let left = axis::gutter(ui, &y, canvas.height() - 24.0 - kit::TITLED_AXIS) + 4.0;
    let plot = Rect::from_min_max(canvas.min + vec2(left, 22.0), canvas.max - vec2(16.0, kit::TITLED_AXIS));
    Axes { plot, x, y }
}

/// Returns the area between the bounds of the intervals, a rectangle per bin.
fn band(course: &TimeCourse, axes: &Axes, x: &dyn Fn(usize) -> f64, color: Color32) -> Mesh {
    let mut mesh = Mesh::default();
    for (bin, summary) in course.bins.iter().enumerate() {
        if let Some((low, high)) = summary.interval {
            mesh.add_colored_rect(Rect::from_two_pos(axes.at(x(bin), high), axes.at(x(bin + 1), low)), color);
        }
    }
    mesh
}

/// Draws values by bin as a stair, interrupted where there is no value.
fn stairs(
    painter: &Painter,
    axes: &Axes,
    (x, n): (&dyn Fn(usize) -> f64, usize),
    value: impl Fn(usize) -> Option<f64>,
    (width, color): (f32, Color32),
) {
    let mut points: Vec<Pos2> = vec![];
    for bin in 0..=n {
        match (bin < n).then(|| value(bin)).flatten() {
            Some(y) => points.extend([bin, bin + 1].map(|edge| pos2(axes.at(x(edge), y).x, axes.y(y)))),
            None if points.is_empty() => {}
            None => drop(painter.line(std::mem::take(&mut points), (width, color))),
        }
    }
}

/// Returns the values of a bin in lines, for the tooltip.
fn values_at(results: &Results, courses: &Courses, bins: &Binning, bin: usize) -> String {
    let [from, to] = [bin, bin + 1].map(|edge| kit::steps(bins.start(edge), courses.base));
    let mut lines = vec![format!("{from} to {to}")];
    for (condition, course) in &courses.list {
        let (Some(name), Some(summary)) = (results.table.conditions.get(*condition), course.bins.get(bin)) else {
            continue;
        };
        let (mean, interval) = (texts::number(summary.mean), texts::interval(summary.interval));
        lines.push(format!("{name}: {mean} {interval}, n = {}", summary.n));
    }
    lines.join("\n")
}
