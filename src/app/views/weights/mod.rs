//! Distribution of connection weights, and the error of INT8 quantisation.

mod count;

use super::{View, ViewCtx, ViewDeclaration, placeholder};
use crate::{
    app::{
        document::layout::Page,
        kit::{self, heatmap::short, icons, pool::PooledResult},
    },
    engine::SimSchema,
};
use count::{Counted, Scales};
use egui::{Align2, Mesh, Rect, RichText, Sense, Ui, UiBuilder, Vec2, pos2};
use std::sync::Arc;

/// Width of the statistics next to the plot, points.
const SIDE: f32 = 262.0;

/// The weights view.
#[derive(Default)]
pub struct Weights {
    scales: Scales,
    is_linear: bool,
    links: Option<usize>,
    generation: u64,
    counted: PooledResult<(u64, Scales), Counted>,
}

impl Weights {
    fn update_source(&mut self, schema: &SimSchema) {
        let links = schema.connectivity.as_ref().map(|w| Arc::as_ptr(&w.connections).cast::<()>() as usize);
        if self.links != links {
            self.links = links;
            self.generation += 1;
            self.counted.clear();
        }
    }

    fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>) {
        let options = [(Scales::PerElement, "per neuron".to_owned()), (Scales::One, "global".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "INT8 scale", &mut self.scales, &options);
        let mut is_log = !self.is_linear;
        ui.toggle_value(&mut is_log, "Log").on_hover_text("Logarithmic counts");
        self.is_linear = !is_log;
        placeholder::job_status_ui(ui, ctx.tokens, &mut self.counted);
    }

    fn height(&self, n: u64) -> f64 {
        if self.is_linear { n as f64 } else { (n as f64).ln_1p() }
    }

    fn paint(&self, ui: &mut Ui, canvas: Rect, ctx: &ViewCtx<'_>, counted: &Counted, unit: &str) {
        let bins = &counted.bins;
        let plot = Rect::from_min_max(canvas.min + Vec2::new(54.0, 26.0), canvas.max - Vec2::new(14.0, 22.0));
        let painter = ui.painter_at(canvas);
        let (n, font) = (bins.before.len(), kit::mono(ui));
        let most = bins.before.iter().chain(&bins.after).map(|n| self.height(*n)).fold(1e-9, f64::max) * 1.05;
        let step = plot.width() / n as f32;
        let y = |count: u64| plot.bottom() - (self.height(count) / most) as f32 * plot.height();
        let mut mesh = Mesh::default();
        for (i, count) in bins.before.iter().enumerate().filter(|(_, n)| **n > 0) {
            let ink = match i.cmp(&(n / 2)) {
                std::cmp::Ordering::Less => ctx.tokens.inhibitory,
                std::cmp::Ordering::Equal => ctx.tokens.other,
                std::cmp::Ordering::Greater => ctx.tokens.excitatory,
            };
            let left = plot.left() + i as f32 * step;
            let bar = Rect::from_min_max(pos2(left, y(*count)), pos2(left + step - 0.5, plot.bottom()));
            mesh.add_colored_rect(bar, ink.gamma_multiply(0.6));
        }
        painter.add(mesh);
        let stair = bins.after.iter().enumerate().flat_map(|(i, count)| {
            let left = plot.left() + i as f32 * step;
            [pos2(left, y(*count)), pos2(left + step, y(*count))]
        });
        painter.line(stair.collect(), (1.25, ctx.tokens.accent));
        self.axes(&painter, plot, ctx, counted, unit, most, &font);
        self.hover_ui(ui, plot, step, counted);
    }

    fn axes(
        &self,
        painter: &egui::Painter,
        plot: Rect,
        ctx: &ViewCtx<'_>,
        counted: &Counted,
        unit: &str,
        most: f64,
        font: &egui::FontId,
    ) {
        let (t, bins) = (ctx.tokens, &counted.bins);
        painter.hline(plot.x_range(), plot.bottom(), (1.0, t.line));
        painter.vline(plot.left(), plot.y_range(), (1.0, t.line));
        if self.is_linear {
            kit::y_axis(painter, plot, font, t, 0.0, most, "");
        } else {
            let mut last = f32::INFINITY;
            for n in (0..9).map(|e| 10_u64.pow(e)).filter(|n| self.height(*n) < most) {
                let y = plot.bottom() - (self.height(n) / most) as f32 * plot.height();
                painter.hline(plot.left()..=plot.left() + 3.0, y, (1.0, t.text_sub));
                if last - y < kit::LINE {
                    continue;
                }
                last = y;
                let at = pos2(plot.left() - 5.0, y);
                painter.text(at, Align2::RIGHT_CENTER, short(n as f64), font.clone(), t.text_sub);
            }
        }
        let n = bins.before.len();
        let decades =
            (-3..7).map(|e| 10_f32.powi(e)).filter(|w| *w >= bins.ends.0 * 0.999 && *w <= bins.ends.1 * 1.001);
        let marks = [0.0].into_iter().chain(decades.flat_map(|w| [-w, w]));
        let mut taken = Vec::new();
        for w in marks {
            let x = plot.left() + (bins.of(w) as f32 + 0.5) * plot.width() / n as f32;
            painter.vline(x, plot.bottom() - 3.0..=plot.bottom(), (1.0, t.text_sub));
            if taken.iter().any(|other: &f32| (other - x).abs() < 28.0) {
                continue;
            }
            taken.push(x);
            let text = kit::value(f64::from(w)).replace('-', "−");
            painter.text(pos2(x, plot.bottom() + 4.0), Align2::CENTER_TOP, text, font.clone(), t.text_sub);
        }
        let top = plot.left_top() - Vec2::Y * 20.0;
        let right = plot.right_top() - Vec2::Y * 20.0;
        let line = painter.text(right, Align2::RIGHT_TOP, "— after INT8", font.clone(), t.accent);
        let title = format!("connections by weight ({unit}), equal ratios");
        let title = kit::elide(painter, &title, font, line.left() - top.x - 8.0);
        painter.text(top, Align2::LEFT_TOP, title, font.clone(), t.text_sub);
    }

    fn hover_ui(&self, ui: &mut Ui, plot: Rect, step: f32, counted: &Counted) {
        let response = ui.interact(plot, ui.scope_id().with("weights"), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Histogram of weights"));
        let Some(at) = response.hover_pos() else { return };
        let bin = (((at.x - plot.left()) / step) as usize).min(counted.bins.before.len() - 1);
        let (low, high) = counted.bins.range(bin);
        let span = match low == high {
            true => "0".to_owned(),
            false => format!("{} to {}", kit::value(f64::from(low)), kit::value(f64::from(high))),
        };
        let (before, after) = (counted.bins.before[bin], counted.bins.after[bin]);
        let text = format!("{span}\nbefore {}, after {}", kit::thousands(before), kit::thousands(after));
        response.on_hover_text_at_pointer(text);
    }

    fn figures_ui(&self, ui: &mut Ui, ctx: &ViewCtx<'_>, counted: &Counted, unit: &str) {
        let (loss, n) = (&counted.loss, counted.loss.n.max(1) as f64);
        let percent = |count: u64| format!("{} ({:.1} %)", kit::thousands(count), 100.0 * count as f64 / n);
        let scales = if self.scales == Scales::One { 1 } else { counted.n_scales };
        let lines = [
            ("Connections", kit::thousands(loss.n)),
            ("Excitatory", percent(counted.signs[2])),
            ("Inhibitory", percent(counted.signs[0])),
            ("Mean |w|", format!("{} {unit}", kit::value((counted.total / n * 1e3).round() / 1e3))),
            ("Largest |w|", format!("{} {unit}", kit::value(f64::from(counted.bins.ends.1)))),
            ("", String::new()),
            (
                "In INT8",
                format!("{} + {}", crate::app::kit::text::bytes(loss.n), crate::app::kit::text::bytes(4 * scales)),
            ),
            ("Scales", kit::thousands(scales)),
            ("Levels used", format!("{} of 255", loss.levels_used())),
            ("Rounded to zero", percent(loss.zeros_made)),
            ("Clipped", percent(loss.clipped)),
            ("Worst error", format!("{:.3} % of w", 100.0 * loss.worst_relative)),
            ("RMS error", format!("{:.3} % of RMS w", 100.0 * loss.relative_rms())),
        ];
        egui::Grid::new("weights").num_columns(2).spacing([12.0, 5.0]).show(ui, |ui| {
            for (name, text) in lines {
                ui.label(RichText::new(name).small().color(ctx.tokens.text_sub));
                ui.label(RichText::new(text).font(kit::mono(ui)).color(ctx.tokens.text));
                ui.end_row();
            }
        });
    }
}

impl Weights {
    pub const DECLARATION: ViewDeclaration = ViewDeclaration {
        name: "weights",
        title: "Weights",
        icon: icons::GRID,
        help: "# Weights\n\nDistribution of connection weights: bars, in logarithmic bins on both sides of zero. The line is the \
         distribution after INT8 quantisation: integers from −127 to 127 times a scale, which is the largest weight \
         of a neuron's outgoing connections divided by 127.\n\n*Rounded to zero* are weights below half a level. \
         *Clipped* are weights beyond the last level; there are none with scales from the largest weight. \
         *Worst error* is relative to its weight, *RMS error* relative to the RMS of all weights.",
        pages: &[Page::Explore],
        fits: |schema| schema.connectivity.is_some(),
        ..ViewDeclaration::of::<Self>()
    };
}

impl View for Weights {
    fn declaration(&self) -> &'static ViewDeclaration {
        &Self::DECLARATION
    }

    fn reset(&mut self, schema: &SimSchema) {
        self.update_source(schema);
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        self.update_source(ctx.schema);
        let Some((_, wiring)) = super::connectivity::wired_ui(ui, ctx) else { return };
        let (links, scales) = (wiring.connections.clone(), self.scales);
        self.counted.want(ui.ctx(), (self.generation, scales), move |progress| count::count(&*links, scales, progress));
        let counted = self.counted.get().cloned();
        let caption = counted.as_ref().map_or_else(String::new, |c| {
            format!(
                "n = {}  |  bars before, line after  |  counts, {}",
                kit::thousands(c.loss.n),
                if self.is_linear { "linear" } else { "log" }
            )
        });
        let canvas = kit::panel_ui(ui, ctx.tokens, Some(&caption), |ui| self.toolbar_ui(ui, ctx));
        ui.painter().rect_filled(canvas, 0.0, ctx.tokens.canvas);
        let Some(counted) = counted else {
            placeholder::job_ui(ui, canvas, ctx, "Counting weights", &mut self.counted);
            return;
        };
        if kit::tiny_ui(ui, canvas, ctx.tokens) {
            return;
        }
        let is_wide = canvas.width() > SIDE + 260.0;
        let (mut plot, mut side) = (canvas, canvas);
        if is_wide {
            side.min.x = canvas.right() - SIDE;
            plot.max.x = side.min.x;
            self.paint(ui, plot, ctx, &counted, wiring.unit);
        } else {
            let middle = canvas.top() + canvas.height() * 0.5;
            (plot.max.y, side.min.y) = (middle, middle);
            self.paint(ui, plot, ctx, &counted, wiring.unit);
        }
        ui.scope_builder(UiBuilder::new().max_rect(side.shrink(12.0)), |ui| {
            egui::ScrollArea::vertical().show(ui, |ui| self.figures_ui(ui, ctx, &counted, wiring.unit));
        });
    }
}
