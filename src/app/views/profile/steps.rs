//! Bar chart of the step durations, with one bar per batch. Dragging chooses the range of all profile panels.

use super::{hold_ui, overhead_text, steps_text};
use crate::{
    app::{
        document::{layout::Page, profile::Profile},
        kit::{self, icons},
        views::{View, ViewCtx, ViewDeclaration, run_ui},
    },
    engine::SimSchema,
    gpu::Batch,
};
use egui::{Align2, Key, PointerButton, Pos2, Rect, Response, Sense, Ui, pos2};

/// Margins left of the bars and below them, points.
const LEFT: f32 = 46.0;
const BELOW: f32 = 18.0;
/// If a bar is higher than the 95th percentile times the first factor, bars are cut at the 95th percentile times the second.
const CUT: (f64, f64) = (4.0, 2.5);
/// Maximum width of a bar, points.
const WIDEST: f32 = 12.0;

/// The view of step times.
#[derive(Default)]
pub struct Steps {
    per_batch: bool,
    /// Number of the batch at which a drag began.
    from: Option<u64>,
}

/// Bar of one batch, or of several that share a pixel.
struct Bar {
    first: u64,
    last: u64,
    nanos: f64,
    is_measured: bool,
}

/// Quantiles of the durations in the range, nanoseconds, and the first step of the longest batch.
struct Spread {
    p50: f64,
    p95: f64,
    max: f64,
    at: u64,
}

impl Steps {
    fn nanos(&self, batch: &Batch) -> f64 {
        if self.per_batch { batch.nanos as f64 } else { batch.step_nanos() }
    }

    /// Returns at most `most` bars. If batches share a bar, it has the duration of the longest one.
    fn bars(&self, profile: &Profile, most: usize) -> Vec<Bar> {
        let batches: Vec<&Batch> = profile.batches().iter().filter(|b| b.steps > 0).collect();
        let each = batches.len().div_ceil(most.max(1)).max(1);
        let bar = |chunk: &[&Batch]| Bar {
            first: chunk.first().map_or(0, |b| b.number),
            last: chunk.last().map_or(0, |b| b.number),
            nanos: chunk.iter().map(|b| self.nanos(b)).fold(0.0, f64::max),
            is_measured: chunk.iter().any(|b| b.measured.is_some()),
        };
        batches.chunks(each).map(bar).collect()
    }

    fn spread(&self, profile: &Profile) -> Option<Spread> {
        let mut all: Vec<(f64, u64)> =
            profile.in_range().filter(|b| b.steps > 0).map(|b| (self.nanos(b), b.step)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (max, at) = *all.last()?;
        let quantile = |q: f64| all[((all.len() - 1) as f64 * q).round() as usize].0;
        Some(Spread { p50: quantile(0.5), p95: quantile(0.95), max, at })
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, spread: Option<&Spread>, ctx: &mut ViewCtx<'_>) {
        let options = [(false, ctx.profile.step_noun().to_owned()), (true, "batch".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "Per", &mut self.per_batch, &options);
        let every = [(0, "few".to_owned()), (8, "1 of 8".to_owned()), (1, "all".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "Measured batches", &mut ctx.profile.every, &every);
        hold_ui(ui, ctx);
        if ctx.profile.range.is_some() && ui.small_button("Whole range").on_hover_text("Esc").clicked() {
            ctx.profile.choose(None);
        }
        if let Some(s) = spread {
            let text = format!(
                "p50 {}   p95 {}   max {} at {}",
                kit::duration(s.p50 * 1e-9),
                kit::duration(s.p95 * 1e-9),
                kit::duration(s.max * 1e-9),
                ctx.profile.time_of(s.at)
            );
            ui.add(
                egui::Label::new(egui::RichText::new(text).font(kit::mono(ui)).color(ctx.tokens.text))
                    .selectable(false)
                    .truncate(),
            );
        }
    }

    fn caption(&self, profile: &Profile) -> String {
        let n = profile.in_range().count();
        let measured = profile.measured().count();
        let range = if profile.range.is_some() { "chosen range: " } else { "" };
        format!(
            "{range}{}, {measured} measured (filled bars), {}  |  {}  |  drag: choose a range, click: show a batch",
            crate::app::kit::text::plural(n, "batch", "batches"),
            steps_text(profile),
            overhead_text(profile)
        )
    }

    fn pointer(&mut self, ui: &Ui, response: &Response, bars: &Bars, profile: &mut Profile) {
        let at = response.interact_pointer_pos().or(response.hover_pos()).and_then(|p| bars.at(p.x));
        if response.drag_started_by(PointerButton::Primary) {
            let pressed = ui.input(|i| i.pointer.press_origin()).and_then(|p| bars.at(p.x));
            self.from = pressed.map(|b| b.first);
        }
        if let (Some(from), Some(bar), true) = (self.from, at, response.dragged_by(PointerButton::Primary)) {
            profile.choose(Some((from.min(bar.first), from.max(bar.last))));
        }
        if response.drag_stopped() {
            self.from = None;
        }
        if response.clicked()
            && let Some(bar) = at
        {
            profile.batch = Some(bar.last);
        }
        let leave = response.hovered() && ui.input(|i| i.key_pressed(Key::Escape) || i.key_pressed(Key::End));
        if response.double_clicked() || leave {
            profile.batch = None;
            profile.choose(None);
        }
    }
}

/// Bars with their positions on screen.
struct Bars {
    bars: Vec<Bar>,
    plot: Rect,
    width: f32,
    top: f64,
}

impl Bars {
    fn at(&self, x: f32) -> Option<&Bar> {
        let i = ((x - self.plot.left()) / self.width).floor().max(0.0) as usize;
        self.bars.get(i.min(self.bars.len().checked_sub(1)?))
    }

    fn rect(&self, i: usize, bar: &Bar) -> Rect {
        let left = self.plot.left() + i as f32 * self.width;
        let height = (bar.nanos / self.top) as f32 * self.plot.height();
        let gap = if self.width >= 3.0 { 1.0 } else { 0.0 };
        Rect::from_min_max(
            pos2(left, self.plot.bottom() - height.clamp(1.0, self.plot.height())),
            pos2(left + self.width - gap, self.plot.bottom()),
        )
    }

    fn paint(&self, ui: &Ui, ctx: &ViewCtx<'_>) {
        let (painter, t) = (ui.painter(), ctx.tokens);
        let shown = ctx.profile.shown().map(|(b, _)| b.number);
        for (i, bar) in self.bars.iter().enumerate() {
            let color = if bar.is_measured { t.categorical[0] } else { t.text_sub.gamma_multiply(0.45) };
            painter.rect_filled(self.rect(i, bar), 0.0, color);
            if bar.nanos > self.top {
                painter.rect_filled(self.rect(i, bar).with_max_y(self.plot.top() + 3.0), 0.0, t.warn);
            }
            if shown.is_some_and(|n| (bar.first..=bar.last).contains(&n)) {
                let x = self.plot.left() + (i as f32 + 0.5) * self.width;
                let half = (self.width / 2.0).max(3.0);
                painter.hline(x - half..=x + half, self.plot.bottom() + 1.5, (3.0, t.accent));
            }
        }
        if let Some((from, to)) = ctx.profile.range {
            let first = self.bars.partition_point(|b| b.last < from) as f32;
            let last = self.bars.partition_point(|b| b.first <= to) as f32;
            let x = |n: f32| self.plot.left() + n * self.width;
            let band = Rect::from_x_y_ranges(x(first)..=x(last.max(first + 0.5)), self.plot.y_range());
            painter.rect_filled(band, 0.0, t.accent.gamma_multiply(0.16));
            painter.vline(band.left(), band.y_range(), (1.0, t.accent));
            painter.vline(band.right(), band.y_range(), (1.0, t.accent));
        }
    }

    /// Draws a horizontal line at a duration, with its label right of the plot and at least a row below `above`. Returns the y of
    /// the label, or `above` if the line is above the plot.
    fn line(&self, ui: &Ui, nanos: f64, label: &str, color: egui::Color32, above: f32) -> f32 {
        let y = self.plot.bottom() - (nanos / self.top) as f32 * self.plot.height();
        if y < self.plot.top() {
            return above;
        }
        ui.painter().hline(self.plot.x_range(), y, (1.0, color.gamma_multiply(0.6)));
        let galley = ui.painter().layout_no_wrap(label.to_owned(), kit::small(ui), color);
        let middle = y.max(above + kit::LINE);
        ui.painter().galley(pos2(self.plot.right() + 5.0, middle - galley.size().y / 2.0), galley, color);
        middle
    }
}

fn hover_ui(ui: &mut Ui, bar: &Bar, ctx: &ViewCtx<'_>) {
    let Some(batch) = ctx.profile.batches().iter().find(|b| b.number == bar.last) else { return };
    ui.label(egui::RichText::new(format!("batch {}", kit::thousands(batch.number))).strong());
    ui.label(format!("from {}, {}", ctx.profile.time_of(batch.step), ctx.profile.count_steps(batch.steps.into())));
    ui.label(format!("{} per {}", kit::duration(batch.step_nanos() * 1e-9), ctx.profile.step_noun()));
    ui.label(format!("{} in all", kit::duration(batch.nanos as f64 * 1e-9)));
    if let Some(measured) = &batch.measured {
        let launches: u64 = measured.timings.iter().map(|t| u64::from(t.launches)).sum();
        ui.label(format!("measured: {}", kit::counted(launches, "launches")));
    }
    if bar.first != bar.last {
        ui.label(format!("the longest of batches {}–{} is drawn", bar.first, bar.last));
    }
}

impl Steps {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "steps",
        title: "Steps",
        icon: icons::GRID,
        help: "# Steps\n\nOne bar per batch; its height is the wall time of a step (or of the whole batch). Filled bars were \
         measured kernel by kernel; of several steps that run as a captured graph, only the first is measured. *Few* measures as \
         many batches as cost at most 1 % of the run time. Where batches share a pixel, the longest is drawn. A very high bar \
         is cut, with a mark on top.\n\n**Drag** chooses the range that \
         all Profile panels show; **click** shows a batch in the timeline; **double-click** or **Esc** goes back to \
         everything. *Overhead* compares the steps of measured batches with those of their neighbours.",
        pages: &[Page::Profile],
        fits: |schema| !schema.probes.is_empty(),
        profiles: true,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Steps {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn reset(&mut self, _: &SimSchema) {
        self.from = None;
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let (tokens, caption) = (ctx.tokens, self.caption(ctx.profile));
        let spread = self.spread(ctx.profile);
        let canvas = kit::panel_ui(ui, tokens, Some(&caption), |ui| self.toolbar_ui(ui, spread.as_ref(), ctx));
        let plot = Rect::from_min_max(
            pos2(canvas.left() + LEFT, canvas.top() + 8.0),
            pos2(canvas.right() - 32.0, canvas.bottom() - BELOW),
        );
        let bars = self.bars(ctx.profile, plot.width().max(1.0) as usize);
        if bars.is_empty() {
            return run_ui(ui, canvas, ctx, "No batches yet", "Run to see one bar per batch of steps");
        }
        ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
        if plot.height() < 8.0 || plot.width() < 20.0 {
            return;
        }
        let longest = bars.iter().map(|b| b.nanos).fold(1.0, f64::max);
        let width = (plot.width() / bars.len() as f32).min(WIDEST);
        let cut =
            spread.as_ref().map(|s| s.p95 * CUT.1).filter(|_| spread.as_ref().is_some_and(|s| longest > s.p95 * CUT.0));
        let bars = Bars { bars, plot, width, top: cut.unwrap_or(longest * 1.08) };
        let id = ui.scope_id().with("steps");
        let response = ui.interact(canvas, id, Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Time of the steps"));
        self.pointer(ui, &response, &bars, ctx.profile);
        bars.paint(ui, ctx);
        if let Some(s) = spread {
            let mut above = f32::NEG_INFINITY;
            if s.p95 > s.p50 * 1.15 {
                above = bars.line(ui, s.p95, "p95", tokens.warn, above);
            }
            bars.line(ui, s.p50, "p50", tokens.text, above);
        }
        let (scale, unit) = kit::duration_unit(bars.top * 1e-9);
        kit::y_axis(ui.painter(), plot, &kit::small(ui), tokens, 0.0, bars.top * 1e-9 * scale, unit);
        axis_ui(ui, &bars, ctx);
        if let Some(bar) = response.hover_pos().and_then(|p: Pos2| bars.at(p.x)) {
            response.on_hover_ui_at_pointer(|ui| hover_ui(ui, bar, ctx));
        }
    }
}

/// Draws the simulated times at both ends of the axis.
fn axis_ui(ui: &Ui, bars: &Bars, ctx: &ViewCtx<'_>) {
    let (painter, font, color) = (ui.painter(), kit::small(ui), ctx.tokens.text_sub);
    let y = bars.plot.bottom() + 4.0;
    let (Some(first), Some(last)) = (ctx.profile.batches().front(), ctx.profile.batches().back()) else { return };
    painter.hline(bars.plot.x_range(), bars.plot.bottom(), (1.0, ctx.tokens.line));
    painter.text(pos2(bars.plot.left(), y), Align2::LEFT_TOP, ctx.profile.time_of(first.step), font.clone(), color);
    let end = bars.plot.left() + bars.bars.len() as f32 * bars.width;
    if end > bars.plot.left() + 160.0 {
        let end_of_last = last.step + u64::from(last.steps);
        painter.text(pos2(end, y), Align2::RIGHT_TOP, ctx.profile.time_of(end_of_last), font, color);
    }
}
