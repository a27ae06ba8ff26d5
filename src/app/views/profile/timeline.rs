//! Timeline of one measured batch, launch by launch. Each stream and thread has a lane, and so have calls and waits.

use super::{hold_ui, lanes::Lanes};
use crate::{
    app::{
        document::{layout::Page, profile::Profile},
        kit::{self, icons},
        views::{View, ViewCtx, ViewDeclaration, ViewRequest, run_ui},
    },
    engine::SimSchema,
    gpu::{Batch, Lane, Measured, Span},
};
use egui::{Key, PointerButton, Rect, Response, Sense, Ui, pos2};

/// Height of the axis below the lanes, points.
const AXIS: f32 = 18.0;
/// Minimum visible span, nanoseconds.
const CLOSEST: f64 = 200.0;

#[derive(Default)]
pub struct Timeline {
    /// Visible nanoseconds of the batch; `None`: all.
    window: Option<(f64, f64)>,
    /// Start and end of the ruler, nanoseconds; `None`: no ruler.
    ruler: Option<(f64, f64)>,
}

/// Mapping of times, nanoseconds, to the screen.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub t0: f64,
    pub t1: f64,
    pub plot: Rect,
}

impl Scale {
    pub fn x(&self, nanos: f64) -> f32 {
        self.plot.left() + ((nanos - self.t0) / (self.t1 - self.t0)) as f32 * self.plot.width()
    }

    pub fn nanos(&self, x: f32) -> f64 {
        self.t0 + f64::from((x - self.plot.left()) / self.plot.width().max(1.0)) * (self.t1 - self.t0)
    }
}

/// Returns the end of a batch or of its last span, nanoseconds.
fn length(batch: &Batch, measured: &Measured) -> f64 {
    measured.spans.iter().map(Span::end).max().unwrap_or(0).max(batch.nanos) as f64
}

impl Timeline {
    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let numbers: Vec<u64> = ctx.profile.in_detail().map(|(b, _)| b.number).collect();
        let shown = ctx.profile.shown().map(|(b, _)| b.number);
        let at = shown.and_then(|n| numbers.iter().position(|k| *k == n));
        let longest = ctx.profile.in_detail().max_by(|a, b| a.0.step_nanos().total_cmp(&b.0.step_nanos()));
        let buttons = [
            ("◀", "Previous measured batch", at.and_then(|at| at.checked_sub(1)).map(|i| numbers[i])),
            ("▶", "Next measured batch", at.and_then(|at| numbers.get(at + 1).copied())),
            ("Slowest", "Slowest measured batch of the range", longest.map(|(b, _)| b.number)),
        ];
        for (text, hint, to) in buttons {
            let button = ui.add_enabled(to.is_some(), egui::Button::new(text).small()).on_hover_text(hint);
            button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, to.is_some(), hint));
            if button.clicked() {
                (ctx.profile.batch, self.window) = (to, None);
            }
        }
        let mut follow = ctx.profile.batch.is_none() && !ctx.profile.held;
        let was = follow;
        kit::live_ui(ui, ctx.tokens, &mut follow, ctx.running);
        if follow && !was {
            (ctx.profile.batch, ctx.profile.held) = (None, false);
        }
        hold_ui(ui, ctx);
        if self.window.is_some() && ui.small_button("Whole batch").on_hover_text("Double-click").clicked() {
            self.window = None;
        }
        Self::export_ui(ui, ctx);
        let jump = ctx.profile.kernel.map(|name| format!("Longest {}", kit::spaced(name)));
        if let (Some(text), Some((batch, measured))) = (jump, ctx.profile.shown())
            && let Some(span) = longest_of(measured, ctx.profile.kernel)
            && ui.small_button(text).on_hover_text("Zoom to its longest launch in this batch").clicked()
        {
            self.window = Some(around(span, length(batch, measured)));
        }
    }

    /// Draws the button that saves the range for other trace viewers.
    fn export_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let hint = "Save the range as trace events for Perfetto and chrome://tracing";
        let is_some = ctx.profile.in_detail().next().is_some();
        if ui.add_enabled(is_some, egui::Button::new("Save trace").small()).on_hover_text(hint).clicked() {
            let text = super::export::trace_events(ctx.profile);
            ctx.requests.push(ViewRequest::SaveText { name: "trace.json".into(), text });
        }
    }

    fn scale(&mut self, plot: Rect, length: f64) -> Scale {
        let (t0, t1) = self.window.unwrap_or((0.0, length * 1.01));
        Scale { t0, t1, plot }
    }

    /// Handles the pointer: a drag pans, Shift+drag measures, and the wheel zooms at the pointer.
    fn pointer(&mut self, ui: &Ui, response: &Response, scale: Scale, length: f64) {
        let shift = ui.input(|i| i.modifiers.shift);
        let span = scale.t1 - scale.t0;
        if response.drag_started_by(PointerButton::Primary) && shift {
            let from = ui.input(|i| i.pointer.press_origin()).map(|p| scale.nanos(p.x));
            self.ruler = from.map(|t| (t, t));
        }
        if response.dragged_by(PointerButton::Primary) && shift {
            if let (Some(ruler), Some(at)) = (&mut self.ruler, response.interact_pointer_pos()) {
                ruler.1 = scale.nanos(at.x);
            }
        } else if response.dragged_by(PointerButton::Primary) || response.dragged_by(PointerButton::Middle) {
            let by = -f64::from(response.drag_delta().x) / f64::from(scale.plot.width().max(1.0)) * span;
            if by != 0.0 {
                let t0 = (scale.t0 + by).clamp(-span * 0.5, length - span * 0.5);
                self.window = Some((t0, t0 + span));
            }
        }
        if response.hovered() && ui.input(|i| i.key_pressed(Key::Escape)) {
            self.ruler = None;
        }
        let Some(at) = response.hover_pos() else { return };
        let (scroll, pinch) = ui.input(|i| (i.smooth_scroll_delta().y, i.zoom_delta()));
        let factor = 1.0 / (f64::from(pinch) * (f64::from(scroll) * 0.004).exp());
        if (factor - 1.0).abs() > 1e-6 {
            let fixed = scale.nanos(at.x);
            let new = (span * factor).clamp(CLOSEST, length * 1.5);
            let t0 = fixed - (fixed - scale.t0) / span * new;
            self.window = Some((t0, t0 + new));
        }
    }

    fn ruler_ui(&self, ui: &Ui, scale: Scale, ctx: &ViewCtx<'_>) {
        let Some((a, b)) = self.ruler else { return };
        let (x0, x1) = (scale.x(a.min(b)), scale.x(a.max(b)));
        let band = Rect::from_x_y_ranges(x0..=x1, scale.plot.y_range()).intersect(scale.plot);
        ui.painter().rect_filled(band, 0.0, ctx.tokens.text_strong.gamma_multiply(0.10));
        let text = kit::duration((a - b).abs() * 1e-9);
        let font = kit::mono(ui);
        let at = pos2(band.center().x, scale.plot.top() + 2.0);
        ui.painter().text(at, egui::Align2::CENTER_TOP, text, font, ctx.tokens.text_strong);
    }
}

/// Returns the times of a span with a margin on both sides.
fn around(span: &Span, length: f64) -> (f64, f64) {
    let room = (span.nanos as f64 * 1.5).clamp(CLOSEST, length);
    (span.start as f64 - room, span.end() as f64 + room)
}

fn longest_of<'a>(measured: &'a Measured, kernel: Option<&str>) -> Option<&'a Span> {
    let of_kernel = |s: &&Span| Some(s.name) == kernel && s.lane != Lane::Calls;
    measured.spans.iter().filter(of_kernel).max_by_key(|s| s.nanos)
}

/// Returns the caption: batch, device utilisation, number of spans and of dropped ones. `None` without a measured batch.
fn caption(profile: &Profile, is_figure: bool) -> Option<String> {
    let (batch, measured) = profile.shown()?;
    let mut parts = vec![format!(
        "batch {} from {}: {} in {}",
        kit::thousands(batch.number),
        profile.time_of(batch.step),
        profile.count_steps(batch.steps.into()),
        kit::duration(batch.nanos as f64 * 1e-9)
    )];
    for (lane, what) in [(Lane::Compute, "kernels"), (Lane::Waits, "waiting")] {
        let share = busy(measured, lane) as f64 / (batch.nanos.max(1)) as f64;
        if share > 0.0 {
            parts.push(format!("{what} {:.0} %", share * 100.0));
        }
    }
    parts.push(kit::counted(measured.spans.len() as u64, "spans"));
    if measured.left_out > 0 {
        parts.push(format!("{} later dropped (included in the sums)", kit::counted(measured.left_out.into(), "spans")));
    }
    if !is_figure {
        parts.push("Shift+drag measures".into());
    }
    Some(parts.join("  |  "))
}

/// Returns the time that spans of a lane cover, nanoseconds.
fn busy(measured: &Measured, lane: Lane) -> u64 {
    let (mut sum, mut until) = (0, 0);
    for span in measured.spans.iter().filter(|s| s.lane == lane) {
        sum += span.end().saturating_sub(span.start.max(until));
        until = until.max(span.end());
    }
    sum
}

impl Timeline {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "timeline",
        title: "Timeline",
        icon: icons::GRID,
        help: "# Timeline\n\nA measured batch, launch by launch. On a GPU: *calls* to the driver, *waits* \
         for the device, kernels and copies. A CUDA graph is one span, labelled with \
         its number of kernels. On the CPU: one row per thread.\n\n**Drag** pans, the **wheel** zooms, **double-click** \
         zooms to a launch or back to everything, **Shift+drag** measures a time, **click** chooses the kernel in all \
         panels.\n\nThe GPU's clock is aligned so that no kernel starts before its launch call; an event \
         pair adds about 2 µs to a launch.",
        pages: &[Page::Profile],
        fits: |schema| !schema.probes.is_empty(),
        profiles: true,
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Timeline {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn reset(&mut self, _: &SimSchema) {
        (self.window, self.ruler) = (None, None);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let (tokens, caption) = (ctx.tokens, caption(ctx.profile, kit::is_staged(ui.ctx())));
        let canvas = kit::panel_ui(ui, tokens, caption.as_deref(), |ui| self.toolbar_ui(ui, ctx));
        let Some((batch, measured)) = ctx.profile.shown() else {
            let how = super::waiting(ctx.profile);
            return run_ui(ui, canvas, ctx, "No measured batch yet", &how);
        };
        ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
        let lanes = Lanes::of(measured);
        let inner = canvas.shrink2(egui::vec2(8.0, 4.0));
        let gutter = lanes.gutter(ui).min(inner.width() * 0.4);
        let low = pos2(inner.right(), inner.bottom() - AXIS);
        let plot = Rect::from_min_max(pos2(inner.left() + gutter, inner.top()), low);
        if plot.width() < 20.0 || plot.height() < 12.0 {
            return;
        }
        let length = length(batch, measured);
        let id = ui.scope_id().with("timeline");
        let response = ui.interact(canvas, id, Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Timeline of a batch"));
        let scale = self.scale(plot, length);
        let number = batch.number;
        let before = self.window;
        self.pointer(ui, &response, scale, length);
        if self.window != before {
            // A zoomed batch remains displayed when newer ones arrive.
            ctx.profile.batch = Some(number);
        }
        let Some((_, measured)) = ctx.profile.shown() else { return };
        let scale = self.scale(plot, length);
        lanes.labels_ui(ui, scale, inner.left(), ctx);
        lanes.paint(ui, scale, measured, ctx);
        self.ruler_ui(ui, scale, ctx);
        axis_ui(ui, scale, ctx);
        let under = response.hover_pos().and_then(|at| lanes.span_at(measured, scale, at)).cloned();
        if response.double_clicked() {
            self.window = under.as_ref().map(|span| around(span, length));
        } else if response.clicked()
            && let Some(span) = &under
        {
            ctx.profile.kernel = Some(span.name);
            ctx.profile.batch = ctx.profile.shown().map(|(b, _)| b.number);
        }
        ctx.profile.hover(Self::DECLARATION.name, under.as_ref().map(|s| s.name));
        if let Some(span) = under {
            response.on_hover_ui_at_pointer(|ui| super::lanes::span_ui(ui, &span, ctx));
        }
    }
}

fn axis_ui(ui: &Ui, scale: Scale, ctx: &ViewCtx<'_>) {
    let (factor, unit) = kit::duration_unit((scale.t1 - scale.t0) * 1e-9);
    let value = |nanos: f64| nanos * 1e-9 * factor;
    let title = format!("in the batch ({unit})");
    kit::x_axis(ui.painter(), scale.plot, &kit::small(ui), ctx.tokens, value(scale.t0), value(scale.t1), &title);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_are_not_busy_twice() {
        let span = |start, nanos| Span { lane: Lane::Compute, start, nanos, ..Span::default() };
        let measured = Measured { spans: vec![span(0, 10), span(5, 10), span(30, 5)], ..Measured::default() };
        assert_eq!(busy(&measured, Lane::Compute), 20);
        assert_eq!(busy(&measured, Lane::Copies), 0);
    }
}
