//! Lanes of the batch timeline: their areas and painting.

use super::timeline::Scale;
use crate::{
    app::{kit, views::ViewCtx},
    gpu::{Lane, Measured, Span},
};
use egui::{Align2, Color32, Painter, Pos2, Rect, Ui, pos2};

/// Maximum height of a lane, points.
const HEIGHT: f32 = 26.0;
const LOWEST: f32 = 6.0;

/// The lanes with spans, from top to bottom.
pub(super) struct Lanes(Vec<Lane>);

/// Returns the name of a lane.
pub(super) fn name_of(lane: Lane) -> String {
    match lane {
        Lane::Engine => "engine".into(),
        Lane::Thread(n) => format!("thread {}", n + 1),
        Lane::Calls => "calls".into(),
        Lane::Waits => "waits".into(),
        Lane::Compute => "kernels".into(),
        Lane::Copies => "copies".into(),
    }
}

const fn hint_of(lane: Lane) -> &'static str {
    match lane {
        Lane::Engine => "Engine thread: loops, sampling of probes",
        Lane::Thread(_) => "A thread of the CPU backend",
        Lane::Calls => "Calls to the GPU: launches, copies, CUDA graph launches",
        Lane::Waits => "Waiting for the GPU",
        Lane::Compute => "The compute stream of the GPU",
        Lane::Copies => "The copy stream of the GPU",
    }
}

/// Returns the title of a span; that of a CUDA graph includes its number of kernels.
fn title_of(span: &Span) -> String {
    match span.kernels {
        0 => kit::spaced(span.name),
        n => format!("{} of {n} kernels", kit::spaced(span.name)),
    }
}

impl Lanes {
    /// Collects the lanes of the spans, which are sorted by lane.
    pub fn of(measured: &Measured) -> Self {
        let mut lanes: Vec<Lane> = measured.spans.iter().map(|s| s.lane).collect();
        lanes.dedup();
        Self(lanes)
    }

    /// Returns the width of the lane names with a margin, points.
    pub fn gutter(&self, ui: &Ui) -> f32 {
        let width = |lane: &Lane| ui.painter().layout_no_wrap(name_of(*lane), kit::small(ui), Color32::WHITE).size().x;
        self.0.iter().map(width).fold(30.0, f32::max) + 10.0
    }

    fn rect(&self, i: usize, plot: Rect) -> Rect {
        let height = (plot.height() / self.0.len().max(1) as f32).clamp(LOWEST, HEIGHT);
        let top = plot.top() + i as f32 * height;
        Rect::from_x_y_ranges(plot.x_range(), top..=top + height)
    }

    /// Draws names at the left, and separators between lanes.
    pub fn labels_ui(&self, ui: &mut Ui, scale: Scale, left: f32, ctx: &ViewCtx<'_>) {
        for (i, lane) in self.0.iter().enumerate() {
            let rect = self.rect(i, scale.plot);
            if rect.bottom() > scale.plot.bottom() + 1.0 {
                break;
            }
            let label = Rect::from_min_max(pos2(left, rect.top()), pos2(scale.plot.left() - 4.0, rect.bottom()));
            if rect.height() >= 11.0 {
                let at = label.left_center();
                ui.painter().text(at, Align2::LEFT_CENTER, name_of(*lane), kit::small(ui), ctx.tokens.text_sub);
            }
            let id = ui.scope_id().with(("lane", i));
            ui.interact(label, id, egui::Sense::hover()).on_hover_text(hint_of(*lane));
            ui.painter().hline(left..=scale.plot.right(), rect.bottom(), (1.0, ctx.tokens.line.gamma_multiply(0.5)));
        }
    }

    /// Draws the spans. Spans within the same pixel are drawn as one, so that the cost is bounded by the number of pixels.
    pub fn paint(&self, ui: &Ui, scale: Scale, measured: &Measured, ctx: &ViewCtx<'_>) {
        let painter = ui.painter().with_clip_rect(scale.plot.intersect(ui.clip_rect()));
        for (i, lane) in self.0.iter().enumerate() {
            let rect = self.rect(i, scale.plot).shrink2(egui::vec2(0.0, 2.0));
            let mut drawn = f32::NEG_INFINITY;
            for span in spans_of(measured, *lane) {
                let (x0, x1) = (scale.x(span.start as f64), scale.x(span.end() as f64));
                if x1 < scale.plot.left() || x0 > scale.plot.right() || x1.max(x0 + 1.0) <= drawn + 0.5 {
                    continue;
                }
                let x0 = x0.max(drawn);
                let bar = Rect::from_x_y_ranges(x0..=x1.max(x0 + 1.0), rect.y_range());
                drawn = bar.right();
                span_paint(&painter, ui, bar, span, ctx);
            }
        }
    }

    /// Returns the span under the pointer, the longest one if several share a pixel; `None` if there is none.
    pub fn span_at<'a>(&self, measured: &'a Measured, scale: Scale, at: Pos2) -> Option<&'a Span> {
        let i = (0..self.0.len()).find(|i| self.rect(*i, scale.plot).contains(at))?;
        let (from, to) = (scale.nanos(at.x - 1.0), scale.nanos(at.x + 1.0));
        let touches = |s: &&Span| s.start as f64 <= to && s.end() as f64 >= from;
        spans_of(measured, self.0[i]).filter(touches).max_by_key(|s| s.nanos)
    }
}

fn spans_of(measured: &Measured, lane: Lane) -> impl Iterator<Item = &Span> {
    let from = measured.spans.partition_point(|s| s.lane < lane);
    let to = measured.spans.partition_point(|s| s.lane <= lane);
    measured.spans[from..to].iter()
}

fn span_paint(painter: &Painter, ui: &Ui, bar: Rect, span: &Span, ctx: &ViewCtx<'_>) {
    let (t, profile) = (ctx.tokens, &ctx.profile);
    let color = match span.lane {
        Lane::Waits => t.text_sub.gamma_multiply(0.5),
        Lane::Calls => profile.color(span.name, t).gamma_multiply(0.6),
        _ => profile.color(span.name, t),
    };
    let fades = profile.highlighted().is_some_and(|name| name != span.name);
    let color = if fades { color.gamma_multiply(0.35) } else { color };
    let gap = if bar.width() > 4.0 { 0.5 } else { 0.0 };
    let bar = Rect::from_min_max(bar.min, pos2(bar.right() - gap, bar.bottom()));
    painter.rect_filled(bar, 1.0, color);
    if span.kernels > 0 {
        // A CUDA graph has a line along the top that distinguishes it from a single kernel.
        painter.hline(bar.x_range(), bar.top() + 1.0, (2.0, t.text_strong.gamma_multiply(0.7)));
    }
    if bar.width() > 28.0 && bar.height() > 11.0 {
        let text = kit::elide(painter, &title_of(span), &kit::small(ui), bar.width() - 6.0);
        let text_color = text_color_on(color, fades, ctx);
        painter.text(bar.left_center() + egui::vec2(3.0, 0.0), Align2::LEFT_CENTER, text, kit::small(ui), text_color);
    }
}

/// Returns a text colour with contrast to a background.
fn text_color_on(color: Color32, fades: bool, ctx: &ViewCtx<'_>) -> Color32 {
    let [r, g, b, a] = color.to_array().map(f32::from);
    let light = 0.299 * r + 0.587 * g + 0.114 * b > 110.0 && a > 128.0;
    let (dark_ink, light_ink) = if ctx.tokens.dark {
        (ctx.tokens.canvas, ctx.tokens.text_strong)
    } else {
        (ctx.tokens.text_strong, ctx.tokens.canvas)
    };
    match (fades, light) {
        (true, _) => ctx.tokens.text_sub,
        (_, true) => dark_ink,
        _ if a > 128.0 => light_ink,
        _ => ctx.tokens.text,
    }
}

/// Draws the tooltip of a span.
pub(super) fn span_ui(ui: &mut Ui, span: &Span, ctx: &ViewCtx<'_>) {
    ui.label(egui::RichText::new(title_of(span)).strong().color(ctx.tokens.text_strong));
    if let Some(docs) = (ctx.timing_docs)(span.name) {
        ui.label(egui::RichText::new(kit::unwrap(docs)).small().color(ctx.tokens.text_sub));
    }
    let mut parts = vec![
        ("track", name_of(span.lane)),
        ("duration", kit::duration(span.nanos as f64 * 1e-9)),
        ("start", kit::duration(span.start as f64 * 1e-9)),
    ];
    if span.queued > 0 {
        parts.push(("after the call", kit::duration(span.queued as f64 * 1e-9)));
    }
    if span.items > 0 {
        parts.push(("items", kit::thousands(span.items)));
    }
    if span.bytes > 0 {
        parts.push(("bytes", crate::app::kit::text::bytes(span.bytes)));
        parts.push(("bytes / s", super::rate(span.bytes as f64 / (span.nanos.max(1) as f64 * 1e-9))));
    }
    egui::Grid::new("span").num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        for (name, text) in parts {
            ui.label(egui::RichText::new(name).small().color(ctx.tokens.text_sub));
            ui.label(egui::RichText::new(text).font(kit::mono(ui)).color(ctx.tokens.text));
            ui.end_row();
        }
    });
}
