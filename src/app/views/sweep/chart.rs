//! Painting of the curves of a sweep: points, error bars over seeds, axes and names of the curves.

use super::{
    SweepPlot,
    groups::{Coordinate, Point},
};
use crate::app::{
    kit::{self, colors, text, theme::Tokens},
    views::{
        ViewCtx,
        scatter::axis::{self, Scale},
    },
};
use egui::{Align2, Color32, Painter, Pos2, Rect, RichText, Sense, Ui, pos2, vec2};

/// Maximum distance of the pointer from a point that it hovers, points.
const NEAR: f32 = 14.0;
/// Radii of a point and of a single run, points.
const RADII: (f32, f32) = (3.5, 1.5);
/// Half the width of the ends of an error bar, points.
const CAP: f32 = 3.0;
/// Height of a row of the legend, points.
const ROW: f32 = 15.0;

/// Scales of both axes, and the area of the plot.
struct Axes {
    plot: Rect,
    x: Scale,
    y: Scale,
}

impl Axes {
    fn at(&self, x: f64, y: f64) -> Pos2 {
        let (x, y) = (self.x.at(x as f32), self.y.at(y as f32));
        pos2(self.plot.left() + x * self.plot.width(), self.plot.bottom() - y * self.plot.height())
    }
}

impl SweepPlot {
    fn points(&self) -> impl Iterator<Item = (usize, &Point)> {
        self.shown.groups.iter().enumerate().flat_map(|(i, curve)| curve.points.iter().map(move |point| (i, point)))
    }

    fn axes(&self, ui: &Ui, canvas: Rect) -> Axes {
        let xs = self.points().map(|(_, point)| point.at[0].x as f32);
        let y_of = |point: &Point| {
            let spread = point.deviation().unwrap_or_default();
            let ends = [point.mean() - spread, point.mean() + spread];
            ends.into_iter().chain(point.runs.iter().map(|(_, y)| *y)).map(|y| y as f32).collect::<Vec<_>>()
        };
        let (x, y) =
            (Scale::of(xs, Some(self.is_log(0))), Scale::of(self.points().flat_map(|p| y_of(p.1)), Some(false)));
        let left = axis::gutter(ui, &y, canvas.height() - 24.0 - kit::TITLED_AXIS);
        let plot = Rect::from_min_max(canvas.min + vec2(left + 4.0, 24.0), canvas.max - vec2(16.0, kit::TITLED_AXIS));
        Axes { plot, x, y }
    }

    pub(super) fn chart_ui(&mut self, ui: &mut Ui, canvas: Rect, ctx: &mut ViewCtx<'_>) {
        let axes = self.axes(ui, canvas);
        let response = ui.interact(canvas, ui.scope_id().with("sweep"), Sense::click());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, self.summary()));
        let painter = ui.painter_at(canvas);
        self.paint_axes(ui, &painter, canvas, &axes, ctx.tokens);
        let near = response.hover_pos().and_then(|at| self.nearest(&axes, at));
        for i in 0..self.shown.groups.len() {
            self.paint_curve(&painter, &axes, i, near, ctx.tokens);
        }
        self.paint_legend(ui, &painter, &axes, ctx.tokens);
        let Some((i, k)) = near else { return };
        let response = response.on_hover_ui_at_pointer(|ui| self.tooltip_ui(ui, ctx.tokens, i, k));
        if response.clicked() {
            self.compare(ctx, i, k);
        }
    }

    /// Selects the runs of a point for comparison.
    pub(super) fn compare(&self, ctx: &mut ViewCtx<'_>, i: usize, k: usize) {
        let folders = self.shown.groups[i].points[k].runs.iter().map(|(at, _)| &self.shown.runs[*at].folder);
        for (n, folder) in folders.enumerate() {
            if n == 0 {
                ctx.runs.select(folder);
            } else {
                ctx.runs.compared.add(folder);
            }
        }
    }

    fn paint_axes(&self, ui: &Ui, painter: &Painter, canvas: Rect, axes: &Axes, tokens: &Tokens) {
        let (small, mono) = (kit::small(ui), kit::mono(ui));
        let fonts = (&mono, &small);
        axis::y(painter, canvas.left() + 8.0, axes.plot, fonts, tokens, &axes.y, &self.title());
        let title = self.axis_title(0);
        if self.is_numeric(0) {
            return axis::x(painter, axes.plot, fonts, tokens, &axes.x, &title);
        }
        painter.hline(axes.plot.x_range(), axes.plot.bottom(), (1.0, tokens.line));
        kit::x_title(painter, axes.plot, &small, tokens, &title);
        let mut free = canvas.left();
        for (_, point) in self.points() {
            let x = axes.at(point.at[0].x, 0.0).x;
            let name = painter.layout_no_wrap(point.at[0].text.clone(), small.clone(), tokens.text_sub);
            let left = x - name.size().x / 2.0;
            if left >= free {
                free = left + name.size().x + 8.0;
                painter.galley(pos2(left, axes.plot.bottom() + 4.0), name, tokens.text_sub);
            }
        }
    }

    /// Returns the point nearest to the pointer, as the indices of its curve and of the point. `None` if none is within [`NEAR`].
    fn nearest(&self, axes: &Axes, pointer: Pos2) -> Option<(usize, usize)> {
        let curves = self.shown.groups.iter().enumerate();
        let all = curves.flat_map(|(i, curve)| curve.points.iter().enumerate().map(move |(k, point)| (i, k, point)));
        let distances = all.map(|(i, k, point)| (axes.at(point.at[0].x, point.mean()).distance(pointer), i, k));
        let (distance, i, k) = distances.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (distance < NEAR).then_some((i, k))
    }

    fn paint_curve(&self, painter: &Painter, axes: &Axes, i: usize, near: Option<(usize, usize)>, tokens: &Tokens) {
        let color = colors::categorical(i, tokens);
        let points = &self.shown.groups[i].points;
        let at: Vec<Pos2> = points.iter().map(|point| axes.at(point.at[0].x, point.mean())).collect();
        // Points of a choice are not connected.
        if self.is_numeric(0) {
            painter.line(at.clone(), (1.25, color.gamma_multiply(0.7)));
        }
        for (k, (point, at)) in points.iter().zip(&at).enumerate() {
            if let Some(spread) = point.deviation() {
                paint_bar(painter, axes, point, spread, color);
                let faint = color.gamma_multiply(0.55);
                for (_, y) in &point.runs {
                    painter.circle_filled(axes.at(point.at[0].x, *y), RADII.1, faint);
                }
            }
            painter.circle_filled(*at, RADII.0, color);
            if near == Some((i, k)) {
                painter.circle_stroke(*at, RADII.0 + 3.0, (1.5, tokens.text_strong));
            }
        }
    }

    /// Draws the names of the curves, in the upper corner that covers fewer points.
    fn paint_legend(&self, ui: &Ui, painter: &Painter, axes: &Axes, tokens: &Tokens) {
        let named = self.shown.groups.iter().enumerate().filter(|(_, curve)| !curve.label.is_empty());
        let names: Vec<_> = named
            .map(|(i, curve)| {
                let name = kit::elide(painter, &curve.label, &kit::small(ui), axes.plot.width() / 2.0);
                (i, painter.layout_no_wrap(name, kit::small(ui), tokens.text))
            })
            .collect();
        let width = names.iter().map(|(_, name)| name.size().x).fold(0.0, f32::max) + 24.0;
        let size = vec2(width, names.len() as f32 * ROW);
        let [left, right] = [Align2::LEFT_TOP, Align2::RIGHT_TOP]
            .map(|align| align.align_size_within_rect(size, axes.plot.shrink2(vec2(6.0, 2.0))));
        let n_in = |area: &Rect| {
            self.points().filter(|(_, p)| area.expand(6.0).contains(axes.at(p.at[0].x, p.mean()))).count()
        };
        let area = if n_in(&right) < n_in(&left) { right } else { left };
        for (row, (i, name)) in names.into_iter().enumerate() {
            let at = area.left_top() + vec2(0.0, row as f32 * ROW);
            if at.y + ROW > axes.plot.bottom() {
                return;
            }
            let back = Rect::from_min_size(at, vec2(name.size().x + 18.0, ROW));
            painter.rect_filled(back, 2.0, Tokens::fade(tokens.canvas, 0.8));
            painter.circle_filled(at + vec2(6.0, ROW / 2.0), RADII.0, colors::categorical(i, tokens));
            painter.galley(at + vec2(16.0, (ROW - name.size().y) / 2.0), name, tokens.text);
        }
    }

    /// Formats parameter values: `lif.tau_m 10 ms, lif.v_reset -60 mV`.
    pub(super) fn values_text(&self, at: &[Coordinate]) -> String {
        let named = self.shown.specs.iter().zip(at).map(|(spec, at)| format!("{} {}", spec.label(), at.text));
        named.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn tooltip_ui(&self, ui: &mut Ui, tokens: &Tokens, i: usize, k: usize) {
        let (curve, point) = (&self.shown.groups[i], &self.shown.groups[i].points[k]);
        ui.label(RichText::new(self.values_text(&point.at)).strong().color(tokens.text_strong));
        if !curve.label.is_empty() {
            ui.label(RichText::new(&curve.label).small().color(tokens.text_sub));
        }
        let spread = point.deviation().map_or_else(String::new, |spread| format!(" ± {}", kit::value(spread)));
        ui.label(format!("{}: {}{spread}", self.title(), kit::value(point.mean())));
        let names: Vec<&str> = point.runs.iter().take(4).map(|(at, _)| &*self.shown.runs[*at].name).collect();
        let more = if point.runs.len() > names.len() { ", …" } else { "" };
        let runs = format!("{}: {}{more}", text::plural(point.runs.len(), "run", "runs"), names.join(", "));
        ui.label(RichText::new(runs).small().color(tokens.text_sub));
    }
}

/// Draws the standard deviation on both sides of the mean.
fn paint_bar(painter: &Painter, axes: &Axes, point: &Point, spread: f64, color: Color32) {
    let [low, high] = [point.mean() - spread, point.mean() + spread].map(|y| axes.at(point.at[0].x, y));
    painter.line_segment([low, high], (1.25, color));
    for end in [low, high] {
        painter.line_segment([end - vec2(CAP, 0.0), end + vec2(CAP, 0.0)], (1.25, color));
    }
}
