//! Details of a kernel: distribution of its launches, launch configuration and source.

use super::{commands, rate};
use crate::{
    app::{
        kit::{self, text},
        views::{ViewCtx, ViewRequest},
    },
    gpu::{KernelFacts, Timing, source},
};
use egui::{Align2, Rect, RichText, ScrollArea, Sense, Ui, Vec2, pos2};

/// State of the detail panel.
#[derive(Default)]
pub(super) struct Detail {
    shows_head: bool,
}

impl Detail {
    pub fn ui(&mut self, ui: &mut Ui, name: &'static str, timing: Option<&Timing>, ctx: &mut ViewCtx<'_>) {
        ui.spacing_mut().item_spacing.y = 4.0;
        ui.horizontal(|ui| {
            ui.heading(kit::spaced(name));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let close = crate::app::kit::widgets::icon_button(ui, crate::app::kit::icons::CLOSE, "Close details");
                if close.clicked() {
                    ctx.profile.kernel = None;
                }
            });
        });
        ScrollArea::vertical().id_salt("kernel").auto_shrink(false).show(ui, |ui| {
            if let Some(docs) = (ctx.timing_docs)(name) {
                ui.label(RichText::new(kit::unwrap(docs)).small().color(ctx.tokens.text_sub));
            }
            match timing {
                Some(timing) => {
                    histogram_ui(ui, timing, ctx);
                    sums_ui(ui, timing, ctx);
                }
                None => {
                    ui.label("Not launched in this range");
                }
            }
            let facts = ctx.schema.kernels.iter().find(|f| f.name == name).cloned();
            if let Some(facts) = &facts {
                launch_ui(ui, facts, ctx);
            }
            title_ui(ui, "External profilers", ctx);
            commands::lines_ui(ui, ctx);
            self.source_ui(ui, facts.as_ref(), ctx);
        });
    }

    fn source_ui(&mut self, ui: &mut Ui, facts: Option<&KernelFacts>, ctx: &mut ViewCtx<'_>) {
        let Some(source) = facts.and_then(|f| source::of_kernel(f.file, f.name)) else { return };
        title_ui(ui, &format!("kernels/{}:{}", source.file, source.line), ctx);
        ui.horizontal(|ui| {
            if ui.small_button("Copy source").clicked() {
                ui.ctx().copy_text(source.text.to_owned());
                ctx.requests.push(ViewRequest::Toast("Copied the kernel's source".into()));
            }
            ui.toggle_value(&mut self.shows_head, RichText::new("File header").small())
                .on_hover_text("Comment at the top of the file: variants and measurements");
        });
        let shown = if self.shows_head { source.head } else { source.text };
        let code = RichText::new(shown).font(kit::mono(ui)).color(ctx.tokens.text);
        ScrollArea::horizontal().id_salt("source").show(ui, |ui| {
            ui.add(egui::Label::new(code).wrap_mode(egui::TextWrapMode::Extend));
        });
    }
}

fn title_ui(ui: &mut Ui, text: &str, ctx: &ViewCtx<'_>) {
    ui.add_space(6.0);
    ui.label(RichText::new(text).small().strong().color(ctx.tokens.text));
}

/// Draws the histogram of launch durations, with one bar per bucket of [`Timing::spread`].
fn histogram_ui(ui: &mut Ui, timing: &Timing, ctx: &ViewCtx<'_>) {
    title_ui(ui, "Launches by duration", ctx);
    let (rect, response) = ui.allocate_exact_size(Vec2::new(ui.available_width(), 98.0), Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Histogram of launch durations"));
    let (painter, t) = (ui.painter(), ctx.tokens);
    painter.rect_filled(rect, 2.0, t.canvas);
    let plot = Rect::from_min_max(rect.min + Vec2::new(6.0, 18.0), rect.max - Vec2::new(6.0, 16.0));
    let buckets: Vec<(u64, u64, u32)> = timing.spread.buckets().collect();
    let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else { return };
    // The axis is logarithmic, because the widths of buckets double from octave to octave.
    let (low, high) = ((first.0.max(1) as f64).ln(), (last.1.max(2) as f64).ln());
    let (low, high) = if high - low < 1.0 { (low - 0.5, high + 0.5) } else { (low, high) };
    let x = |nanos: f64| plot.left() + ((nanos.max(1.0).ln() - low) / (high - low)) as f32 * plot.width();
    let most = buckets.iter().map(|b| b.2).max().unwrap_or(1).max(1) as f32;
    let color = ctx.profile.color(timing.name, t);
    for (from, to, n) in &buckets {
        let (x0, x1) = (x(*from as f64), x(*to as f64));
        let top = plot.bottom() - (*n as f32 / most * plot.height()).max(1.5);
        painter.rect_filled(
            Rect::from_min_max(pos2(x0, top), pos2((x1 - 0.5).max(x0 + 1.0), plot.bottom())),
            0.0,
            color,
        );
    }
    painter.hline(plot.x_range(), plot.bottom(), (1.0, t.line));
    let label = |nanos: f64, align: Align2| {
        let at = pos2(x(nanos).clamp(plot.left(), plot.right()), plot.bottom() + 2.0);
        painter.text(at, align, kit::duration(nanos * 1e-9), kit::small(ui), t.text_sub);
    };
    label(low.exp(), Align2::LEFT_TOP);
    label(high.exp(), Align2::RIGHT_TOP);
    let p95 = x(timing.p95_nanos() as f64);
    painter.vline(p95, plot.top() - 2.0..=plot.bottom(), (1.0, t.warn));
    let x95 = p95.clamp(plot.left() + 12.0, plot.right() - 12.0);
    painter.text(pos2(x95, plot.top() - 3.0), Align2::CENTER_BOTTOM, "p95", kit::small(ui), t.warn);
    if let Some(at) = response.hover_pos() {
        let under = buckets.iter().find(|(from, to, _)| (x(*from as f64)..x(*to as f64)).contains(&at.x));
        if let Some((from, to, n)) = under {
            let text = format!(
                "{} of {} to {}",
                kit::counted(u64::from(*n), "launches"),
                kit::duration(*from as f64 * 1e-9),
                kit::duration(*to as f64 * 1e-9)
            );
            response.on_hover_text_at_pointer(text);
        }
    }
}

/// Draws a table of names and values.
fn facts_ui(ui: &mut Ui, id: &str, facts: &[(&str, String)], ctx: &ViewCtx<'_>) {
    egui::Grid::new(id).num_columns(2).spacing([12.0, 2.0]).show(ui, |ui| {
        for (name, value) in facts {
            ui.label(RichText::new(*name).small().color(ctx.tokens.text_sub));
            ui.label(RichText::new(value).font(kit::mono(ui)).color(ctx.tokens.text));
            ui.end_row();
        }
    });
}

fn sums_ui(ui: &mut Ui, timing: &Timing, ctx: &ViewCtx<'_>) {
    let micros = |nanos: f64| kit::duration(nanos * 1e-9);
    let mut facts = vec![
        ("launches", kit::thousands(timing.launches.into())),
        ("total", micros(timing.nanos as f64)),
        ("mean", micros(timing.mean_nanos())),
        ("p50, p95", format!("{}, {}", micros(timing.spread.quantile(0.5) as f64), micros(timing.p95_nanos() as f64))),
        ("longest", micros(timing.max_nanos as f64)),
    ];
    if timing.items > 0 {
        let per_launch = timing.items as f64 / f64::from(timing.launches.max(1));
        facts.push(("items", format!("{} per launch", kit::value(per_launch.round()))));
        facts.push(("time per item", format!("{} ns", kit::value(timing.nanos as f64 / timing.items as f64))));
    }
    if let Some(per_sec) = timing.per_sec(crate::app::document::profile::bytes_of(timing, &ctx.profile.machine)) {
        facts.push(("bytes / s", rate(per_sec)));
    }
    facts_ui(ui, "sums", &facts, ctx);
}

/// Draws the launch configuration of a kernel.
fn launch_ui(ui: &mut Ui, f: &KernelFacts, ctx: &ViewCtx<'_>) {
    title_ui(ui, "Launch", ctx);
    let spilled = if f.local_bytes > 0 { format!(", {} B spilled", f.local_bytes) } else { String::new() };
    let facts = [
        ("block", kit::counted(f.block.into(), "threads")),
        ("registers", format!("{} per thread{spilled}", f.registers)),
        ("shared memory", format!("{} per block", text::bytes(u64::from(f.shared_bytes)))),
        ("resident", format!("{} per multiprocessor", kit::counted(f.blocks_per_multiprocessor.into(), "blocks"))),
        ("occupancy", format!("{:.0} %", f.occupancy * 100.0)),
    ];
    facts_ui(ui, "launch", &facts, ctx);
}
