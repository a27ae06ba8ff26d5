//! Roofline: kernels against the measured peak performance of the device, on two logarithmic axes.

use super::rate;
use crate::{
    app::{
        document::{command::UiCommand, layout::Page, profile::Machine},
        kit::{self, icons},
        views::{View, ViewCtx, ViewDeclaration, ViewRequest, run_ui},
    },
    gpu::{
        Timing,
        ceilings::{Ceiling, Ceilings, Limit},
    },
    sim::RooflineWork,
};
use egui::{Align2, Pos2, Rect, RichText, Sense, Ui, Vec2, pos2};

/// Margins left of the plot and below it, points.
const LEFT: f32 = 52.0;
const BELOW: f32 = 30.0;

#[derive(Default)]
pub struct Roofline;

/// Position of a kernel on the plot.
#[derive(Clone, Debug, PartialEq)]
struct Point {
    name: &'static str,
    /// Operations per byte.
    intensity: f64,
    /// Operations per second.
    ops: f64,
    share: f64,
}

/// Returns the position of a kernel; `None` if its bytes or operations are neither counted nor declared.
fn point(timing: &Timing, all: u64, machine: &Machine) -> Option<Point> {
    let ops = timing.per_sec(crate::app::document::profile::ops_of(timing, machine))?;
    let bytes = timing.per_sec(crate::app::document::profile::bytes_of(timing, machine))?;
    Some(Point { name: timing.name, intensity: ops / bytes, ops, share: timing.nanos as f64 / all.max(1) as f64 })
}

/// Returns the attainable operations per second at an intensity, and the ceiling that limits them. `None` without ceilings.
fn roof(ceilings: &Ceilings, intensity: f64) -> Option<(f64, &Ceiling)> {
    let slope = ceilings.best(Limit::Bytes).map(|c| (c.value * intensity, c));
    let flat = ceilings.best(Limit::Ops).map(|c| (c.value, c));
    match (slope, flat) {
        (Some(a), Some(b)) => Some(if a.0 < b.0 { a } else { b }),
        (a, b) => a.or(b),
    }
}

/// Bounds of both axes, as exponents of ten.
#[derive(Clone, Copy)]
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
    plot: Rect,
}

impl Axes {
    fn of(points: &[Point], ceilings: Option<&Ceilings>, plot: Rect) -> Self {
        let mut xs: Vec<f64> = points.iter().map(|p| p.intensity).collect();
        let mut ys: Vec<f64> = points.iter().map(|p| p.ops).collect();
        if let Some(c) = ceilings {
            let ops = c.best(Limit::Ops).map_or(1e9, |c| c.value);
            ys.extend(c.list.iter().filter(|c| matches!(c.limit, Limit::Ops | Limit::Updates)).map(|c| c.value));
            xs.extend(c.best(Limit::Bytes).map(|b| ops / b.value));
        }
        xs.extend([0.05, 2.0]);
        if ys.is_empty() {
            ys.push(1e9);
        }
        let bounds = |v: &[f64]| {
            let logs = v.iter().filter(|v| **v > 0.0).map(|v| v.log10());
            let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            ((low - 0.4).floor(), (high + 0.4).ceil().max(low.floor() + 2.0))
        };
        Self { x: bounds(&xs), y: bounds(&ys), plot }
    }

    fn at(&self, intensity: f64, ops: f64) -> Pos2 {
        let part = |v: f64, (low, high): (f64, f64)| ((v.max(1e-30).log10() - low) / (high - low)) as f32;
        pos2(
            self.plot.left() + part(intensity, self.x) * self.plot.width(),
            self.plot.bottom() - part(ops, self.y) * self.plot.height(),
        )
    }

    fn grid(&self, ui: &Ui, labels: &mut Labels, ctx: &ViewCtx<'_>) {
        let (painter, font, t) = (ui.painter(), kit::small(ui), ctx.tokens);
        painter.hline(self.plot.x_range(), self.plot.bottom(), (1.0, t.line));
        painter.vline(self.plot.left(), self.plot.y_range(), (1.0, t.line));
        let every = |span: f64, room: f32| ((span * 44.0 / f64::from(room.max(1.0))).ceil() as usize).max(1);
        for e in (self.x.0 as i32..=self.x.1 as i32).step_by(every(self.x.1 - self.x.0, self.plot.width())) {
            let x = self.at(10f64.powi(e), 1.0).x;
            painter.vline(x, self.plot.y_range(), (1.0, t.line.gamma_multiply(0.3)));
            let galley = painter.layout_no_wrap(kit::value(10f64.powi(e)), font.clone(), t.text_sub);
            let left = (x - galley.size().x / 2.0).clamp(self.plot.left() - 8.0, self.plot.right() - galley.size().x);
            painter.galley(pos2(left, self.plot.bottom() + 3.0), galley, t.text_sub);
        }
        for e in (self.y.0 as i32..=self.y.1 as i32).step_by(every(self.y.1 - self.y.0, self.plot.height() * 1.8)) {
            let y = self.at(1.0, 10f64.powi(e)).y;
            painter.hline(self.plot.x_range(), y, (1.0, t.line.gamma_multiply(0.3)));
            let at = pos2(self.plot.left() - 5.0, y.clamp(self.plot.top() + 5.0, self.plot.bottom() - 5.0));
            painter.text(at, Align2::RIGHT_CENTER, power(e), font.clone(), t.text_sub);
        }
        let below = pos2(self.plot.right(), self.plot.bottom() + 15.0);
        painter.text(below, Align2::RIGHT_TOP, "operations per byte", font.clone(), t.text_sub);
        let corner = self.plot.left_top() + Vec2::new(6.0, 0.0);
        let title = if self.plot.height() < 60.0 { "" } else { "operations / s" };
        labels.taken.push(painter.text(corner, Align2::LEFT_TOP, title, font, t.text_sub));
    }

    /// Draws a ceiling. Ceilings below the best one of their kind are faint.
    fn ceiling(&self, ui: &Ui, c: &Ceiling, ceilings: &Ceilings, labels: &mut Labels, ctx: &ViewCtx<'_>) {
        let painter = ui.painter().with_clip_rect(self.plot.expand(0.5).intersect(ui.clip_rect()));
        let is_best = ceilings.best(c.limit) == Some(c);
        let color = if is_best { ctx.tokens.text } else { ctx.tokens.text_sub.gamma_multiply(0.6) };
        let (x0, x1) = (10f64.powf(self.x.0), 10f64.powf(self.x.1));
        let font = kit::small(ui);
        let text = format!("{} {}{}", c.name, rate(c.value), if c.limit == Limit::Bytes { "B/s" } else { "/s" });
        match c.limit {
            Limit::Launch => {}
            Limit::Bytes => {
                let most = ceilings.best(Limit::Ops).map_or(f64::INFINITY, |o| o.value);
                let end = (most / c.value).min(x1);
                let (a, b) = (self.at(x0, x0 * c.value), self.at(end, end * c.value));
                painter.line_segment([a, b], (if is_best { 1.5 } else { 1.0 }, color));
                if is_best {
                    let galley = painter.layout_no_wrap(text, font, color);
                    let angle = (b.y - a.y).atan2(b.x - a.x);
                    let middle = a.lerp(b, 0.42) + Vec2::angled(angle - std::f32::consts::FRAC_PI_2) * 14.0;
                    let middle = middle - Vec2::angled(angle) * galley.size().x * 0.5;
                    // The label is slanted, so its area is approximated by several squares.
                    let size = galley.size();
                    for part in 0..8 {
                        let along = middle + Vec2::angled(angle) * size.x * part as f32 / 7.0;
                        labels.taken.push(Rect::from_center_size(along, Vec2::splat(size.y)));
                    }
                    painter.add(egui::epaint::TextShape::new(middle, galley, color).with_angle(angle));
                }
            }
            Limit::Ops | Limit::Updates => {
                let start = match c.limit {
                    Limit::Ops => ceilings.best(Limit::Bytes).map_or(x0, |b| c.value / b.value),
                    _ => x0,
                };
                let (a, b) = (self.at(start.max(x0), c.value), self.at(x1, c.value));
                let stroke = egui::Stroke::new(if is_best { 1.5 } else { 1.0 }, color);
                if c.limit == Limit::Updates {
                    painter.extend(egui::Shape::dashed_line(&[a, b], stroke, 5.0, 4.0));
                } else {
                    painter.line_segment([a, b], stroke);
                }
                let galley = painter.layout_no_wrap(text, font, color);
                let size = galley.size();
                let right = b + Vec2::new(-4.0, -1.0) - size;
                let places = (0..24).flat_map(|i| {
                    let x = right.x - i as f32 * 24.0;
                    [pos2(x, right.y), pos2(x, b.y + 2.0)]
                });
                if let Some(at) = labels.free(places.filter(|p| p.x > a.x), size, self.plot) {
                    painter.galley(at, galley, color);
                }
            }
        }
    }
}

/// Areas of the labels drawn so far. A new label is drawn only where it covers none of them.
#[derive(Default)]
struct Labels {
    taken: Vec<Rect>,
}

impl Labels {
    /// Returns the first of these top left corners at which a label of this size is inside the plot and covers no other, and
    /// reserves the area. `None` if there is none.
    fn free(&mut self, corners: impl IntoIterator<Item = Pos2>, size: Vec2, plot: Rect) -> Option<Pos2> {
        let is_free = |at: &Pos2| {
            let label = Rect::from_min_size(*at, size);
            plot.contains_rect(label) && !self.taken.iter().any(|taken| taken.expand(1.0).intersects(label))
        };
        let at = corners.into_iter().find(is_free)?;
        self.taken.push(Rect::from_min_size(at, size));
        Some(at)
    }
}

/// Formats a power of ten: `10⁹`.
fn power(e: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits: String = e.unsigned_abs().to_string().bytes().map(|b| DIGITS[usize::from(b - b'0')]).collect();
    format!("10{}{digits}", if e < 0 { "⁻" } else { "" })
}

fn points_ui(ui: &Ui, points: &[Point], axes: Axes, mut labels: Labels, ctx: &mut ViewCtx<'_>) {
    let id = ui.scope_id().with("roofline");
    let response = ui.interact(axes.plot.expand(8.0), id, Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Roofline"));
    let place = |p: &Point| axes.at(p.intensity, p.ops);
    let near = response.hover_pos().and_then(|at| {
        let closest = points.iter().min_by(|a, b| place(a).distance(at).total_cmp(&place(b).distance(at)));
        closest.filter(|p| place(p).distance(at) < 14.0)
    });
    let radius_of = |p: &Point| 3.5 + 6.0 * (p.share as f32).sqrt();
    labels.taken.extend(points.iter().map(|p| Rect::from_center_size(place(p), Vec2::splat(2.0 * radius_of(p)))));
    for p in points {
        let radius = radius_of(p);
        let color = ctx.profile.color(p.name, ctx.tokens);
        ui.painter().circle_filled(place(p), radius, color);
        if ctx.profile.highlighted() == Some(p.name) {
            ui.painter().circle_stroke(place(p), radius + 2.0, (1.5, ctx.tokens.text_strong));
        }
        let galley = ui.painter().layout_no_wrap(kit::spaced(p.name), kit::small(ui), ctx.tokens.text);
        let (size, at, gap) = (galley.size(), place(p), radius + 4.0);
        let rows = (0..12).flat_map(|i| [i, -i]).map(|i| at.y - size.y / 2.0 + i as f32 * size.y * 0.6);
        let corners = rows.flat_map(|y| [pos2(at.x + gap, y), pos2(at.x - gap - size.x, y)]);
        if let Some(corner) = labels.free(corners, size, axes.plot) {
            let label = Rect::from_min_size(corner, size);
            if (label.center().y - at.y).abs() > size.y {
                let end = pos2(at.x.clamp(label.left(), label.right()), label.center().y);
                ui.painter().line_segment([at, end], (1.0, ctx.tokens.line));
            }
            ui.painter().galley(corner, galley, ctx.tokens.text);
        }
    }
    if response.clicked()
        && let Some(p) = near
    {
        ctx.profile.kernel = Some(p.name);
    }
    ctx.profile.hover(Roofline::DECLARATION.name, near.map(|p| p.name));
    if let Some(p) = near {
        response.on_hover_ui_at_pointer(|ui| point_ui(ui, p, ctx));
    }
}

fn point_ui(ui: &mut Ui, p: &Point, ctx: &ViewCtx<'_>) {
    ui.label(RichText::new(kit::spaced(p.name)).strong());
    ui.label(format!("{} operations / s, {} per byte", rate(p.ops), kit::value((p.intensity * 1e3).round() / 1e3)));
    ui.label(format!("{}B / s", rate(p.ops / p.intensity)));
    if let Some((most, ceiling)) = ctx.profile.machine.ceilings.as_ref().and_then(|c| roof(c, p.intensity)) {
        ui.label(format!("{:.1} % of the {} ceiling", p.ops / most * 100.0, ceiling.name));
    }
    ui.label(format!("{:.1} % of the time", p.share * 100.0));
}

fn ceilings_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
    let has = ctx.profile.machine.ceilings.is_some();
    let text = if has { "Measure again" } else { "Measure peak performance" };
    let hint = "Uses the whole device for a few seconds; pause the run first";
    if ctx.profile.machine.measuring {
        ui.spinner();
        ui.label(RichText::new("Measuring").small().color(ctx.tokens.text_sub));
    } else if ui.small_button(text).on_hover_text(hint).clicked() {
        ctx.requests.push(ViewRequest::Command(UiCommand::MeasurePeak));
    }
    if let Some(c) = &ctx.profile.machine.ceilings {
        let debug = if c.debug_build { ", by a debug build" } else { "" };
        let text = RichText::new(format!("{}{debug}", c.device)).small().color(ctx.tokens.text_sub);
        let parts: Vec<String> = c.list.iter().map(ceiling_text).collect();
        ui.add(egui::Label::new(text).selectable(false).truncate()).on_hover_text(parts.join("\n"));
    }
}

/// Describes a ceiling: `copy: 3.9 TB/s. A kernel copies 1 GiB …`.
fn ceiling_text(c: &Ceiling) -> String {
    let value = match c.limit {
        Limit::Bytes => format!("{}B/s", rate(c.value)),
        Limit::Ops => format!("{} operations/s", rate(c.value)),
        Limit::Updates => format!("{}/s", rate(c.value)),
        Limit::Launch => kit::duration(c.value),
    };
    format!("{}: {value}. {}", c.name, c.how)
}

/// Returns the caption: the date of the measurement of the ceilings, and the kernels missing from the plot.
fn caption(missing: &[&str], machine: &Machine) -> String {
    let mut parts = vec![match &machine.ceilings {
        Some(c) => format!("peak performance measured {}", c.measured.replace('T', " ").trim_end_matches('Z')),
        None => "peak performance of this device not measured yet".to_owned(),
    }];
    if !missing.is_empty() {
        let names: Vec<String> = missing.iter().map(|n| kit::spaced(n)).collect();
        parts.push(format!("bytes and operations not declared: {}", names.join(", ")));
    }
    parts.join("  |  ")
}

/// Returns a hint for a range without declared kernels: the kernels that declare their work, and the parameters they need.
fn declared_hint(machine: &Machine) -> String {
    let row_text = |w: &RooflineWork| match w.when {
        "" => kit::spaced(w.row),
        when => format!("{} ({when})", kit::spaced(w.row)),
    };
    let rows: Vec<String> = machine.work.iter().map(row_text).collect();
    match rows.as_slice() {
        [] => "This model declares no bytes and operations for its kernels".to_owned(),
        _ => format!("Declared for {}", rows.join(", ")),
    }
}

/// Draws the empty state with a hint. Returns whether a measurement was requested.
fn empty_ui(ui: &mut Ui, canvas: Rect, ctx: &ViewCtx<'_>) -> bool {
    let machine = &ctx.profile.machine;
    let can_measure = machine.ceilings.is_none() && !machine.measuring;
    let (title, how) = ("No kernel to show", declared_hint(machine));
    kit::empty_ui(ui, canvas, ctx, title, &how, can_measure.then_some("Measure peak performance"))
}

impl Roofline {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "roofline",
        title: "Roofline",
        icon: icons::GRID,
        help: "# Roofline\n\nOperations per second against operations per byte, both logarithmic. The slope is memory bandwidth, \
         the flat lines are arithmetic, the dashed one is additions to scattered addresses, as in spike delivery. A \
         kernel close under a line is limited by it; one far below both is limited by something else: launches, synchronisation, \
         too little work.\n\nThe lines are measured on this device (*Measure peak performance*, or `neuropil bench device`) and \
         stored. Bytes and operations per item are declared by the model as a lower bound, \
         so caches can lift a kernel above the slope.",
        pages: &[Page::Profile],
        fits: |schema| !schema.probes.is_empty(),
        profiles: true,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Roofline {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let sums = ctx.profile.sums();
        let all = sums.iter().map(|t| t.nanos).sum();
        let points: Vec<Point> = sums.iter().filter_map(|t| point(t, all, &ctx.profile.machine)).collect();
        let on_plot = |name: &str| points.iter().any(|p| p.name == name);
        let missing: Vec<&str> = sums.iter().map(|t| t.name).filter(|n| !on_plot(n)).collect();
        let (tokens, caption) = (ctx.tokens, caption(&missing, &ctx.profile.machine));
        let canvas = kit::panel_ui(ui, tokens, Some(&caption), |ui| ceilings_ui(ui, ctx));
        if sums.is_empty() && ctx.profile.machine.ceilings.is_none() {
            let how = super::waiting(ctx.profile);
            return run_ui(ui, canvas, ctx, "No kernel times yet", &how);
        }
        // Without points only the ceilings are drawn.
        if points.is_empty() && ctx.profile.machine.ceilings.is_none() {
            if empty_ui(ui, canvas, ctx) {
                ctx.requests.push(ViewRequest::Command(UiCommand::MeasurePeak));
            }
            return;
        }
        ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
        let plot = Rect::from_min_max(
            pos2(canvas.left() + LEFT, canvas.top() + 10.0),
            pos2(canvas.right() - 12.0, canvas.bottom() - BELOW),
        );
        if kit::tiny_ui(ui, canvas, tokens) {
            return;
        }
        let ceilings = ctx.profile.machine.ceilings.clone();
        let axes = Axes::of(&points, ceilings.as_ref(), plot);
        let mut labels = Labels::default();
        axes.grid(ui, &mut labels, ctx);
        if let Some(ceilings) = &ceilings {
            ceilings.list.iter().for_each(|c| axes.ceiling(ui, c, ceilings, &mut labels, ctx));
        }
        if points.is_empty() {
            let text = match sums.is_empty() {
                true => "Run to see kernels".to_owned(),
                false => {
                    format!(
                        "No kernel shown declares its bytes and operations\n{}",
                        declared_hint(&ctx.profile.machine)
                    )
                }
            };
            let text = ui.painter().layout(text, kit::small(ui), tokens.text, plot.width() * 0.6);
            let at = Rect::from_center_size(plot.center() + Vec2::Y * plot.height() * 0.25, text.size());
            ui.painter().rect_filled(at.expand(4.0), 4.0, tokens.canvas);
            ui.painter().galley(at.min, text, tokens.text);
        }
        points_ui(ui, &points, axes, labels, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: &[RooflineWork] = &[
        RooflineWork { row: "deliver", bytes: 12.0, ops: 1.0, when: "" },
        RooflineWork { row: "add_up", bytes: 8.0, ops: 9.0, when: "with Compare algorithms" },
    ];

    #[test]
    fn without_points_the_hint_lists_declared_kernels() {
        let machine = Machine { work: WORK, ..Machine::default() };
        assert_eq!(declared_hint(&machine), "Declared for deliver, add up (with Compare algorithms)");
        assert!(declared_hint(&Machine::default()).contains("declares no bytes"));
    }

    #[test]
    fn a_point_needs_a_declaration_and_items() {
        let machine = Machine { work: WORK, ..Machine::default() };
        let mut timing = Timing::of("deliver");
        timing.launch(1_000);
        assert_eq!(point(&timing, 1_000, &machine), None, "no items");
        timing.items = 600;
        let p = point(&timing, 2_000, &machine).expect("declared");
        assert!((p.ops - 6e8).abs() < 1.0 && (p.intensity - 1.0 / 12.0).abs() < 1e-9 && p.share == 0.5);
        timing.bytes = 1_200; // counted by the launcher
        assert_eq!(point(&timing, 2_000, &machine).map(|p| p.intensity), Some(0.5));
        timing.name = "order";
        assert_eq!(point(&timing, 2_000, &machine), None);
    }

    #[test]
    fn the_roof_is_the_lower_of_slope_and_flat() {
        let c = |name: &str, limit, value| Ceiling { name: name.into(), limit, value, ..Ceiling::default() };
        let ceilings = Ceilings {
            list: vec![c("read", Limit::Bytes, 4e12), c("f32", Limit::Ops, 60e12), c("f16", Limit::Ops, 600e12)],
            ..Ceilings::default()
        };
        assert_eq!(roof(&ceilings, 1.0).map(|(v, c)| (v, c.name.as_str())), Some((4e12, "read")));
        assert_eq!(roof(&ceilings, 1e3).map(|(v, c)| (v, c.name.as_str())), Some((600e12, "f16")));
        assert_eq!(power(-12), "10⁻¹²");
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let plot = Rect::from_min_size(pos2(0.0, 0.0), Vec2::new(200.0, 100.0));
        let (mut labels, size) = (Labels::default(), Vec2::new(60.0, 12.0));
        let mut free = || labels.free((0..20).map(|i| pos2(10.0, 5.0 * i as f32)), size, plot);
        let found: Vec<Pos2> = std::iter::from_fn(&mut free).collect();
        let rects = found.iter().map(|at| Rect::from_min_size(*at, size)).collect::<Vec<_>>();
        let is_apart = |i: usize| plot.contains_rect(rects[i]) && rects[..i].iter().all(|b| !rects[i].intersects(*b));
        assert!(rects.len() >= 5 && (0..rects.len()).all(is_apart), "{found:?}");
    }
}
