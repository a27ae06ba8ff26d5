//! Where the time goes: one row per kernel, from the measured batches.

use super::{Selection, View, ViewCtx, colors, kit, run_ui};
use crate::{
    engine::{Exhibit, PROFILE_EVERY},
    gpu::Timing,
    sim::{Clock, Frame, Tap},
};
use egui::{Align, Color32, Layout, Rect, RichText, Sense, Ui, UiBuilder, Vec2, pos2};
use egui_extras::{Column, TableBuilder};
use std::collections::VecDeque;

/// Measured batches in the rolling window.
const WINDOW: usize = 64;
/// The kernel table.
#[derive(Default)]
pub struct Kernels {
    samples: VecDeque<Vec<Timing>>,
    clock: Clock,
}

impl Kernels {
    /// Sums over the window, largest first.
    fn rows(&self) -> Vec<Timing> {
        let mut rows: Vec<Timing> = vec![];
        for timing in self.samples.iter().flatten() {
            match rows.iter_mut().find(|r| r.name == timing.name) {
                Some(row) => row.add(timing),
                None => rows.push(timing.clone()),
            }
        }
        rows.sort_by(|a, b| b.nanos.cmp(&a.nanos).then(a.name.cmp(b.name)));
        rows
    }

    fn table_ui(&self, ui: &mut Ui, rows: &[Timing], ctx: &ViewCtx<'_>) {
        let total: u64 = rows.iter().map(|r| r.nanos).sum::<u64>().max(1);
        let n = self.samples.len().max(1) as f64;
        let tokens = ctx.tokens;
        let number = |ui: &mut Ui, text: String| {
            ui.label(RichText::new(text).font(kit::mono(ui)).color(tokens.text));
        };
        let right = Layout::right_to_left(Align::Center);
        ui.spacing_mut().item_spacing.y = 2.0;
        TableBuilder::new(ui)
            .id_salt("kernels")
            .striped(false)
            .cell_layout(Layout::left_to_right(Align::Center))
            .column(Column::initial(150.0).at_least(80.0).clip(true))
            .column(Column::remainder().at_least(90.0))
            .columns(Column::initial(78.0).at_least(56.0).clip(true), 4)
            .header(24.0, |mut header| {
                for (i, (name, hint)) in HEADS.into_iter().enumerate() {
                    header.col(|ui| {
                        let text = RichText::new(name).small().color(tokens.text_sub);
                        if i < 2 {
                            ui.label(text).on_hover_text(hint);
                        } else {
                            ui.with_layout(right, |ui| ui.label(text).on_hover_text(hint));
                        }
                    });
                }
            })
            .body(|body| {
                body.rows(22.0, rows.len() + 1, |mut row| {
                    let sum;
                    let i = row.index();
                    let timing = match rows.get(i) {
                        Some(timing) => timing,
                        None => {
                            sum = total_of(rows);
                            &sum
                        }
                    };
                    let is_total = i == rows.len();
                    let color = if is_total { tokens.text_sub } else { color_of(timing.name, rows, ctx) };
                    row.col(|ui| {
                        let text = RichText::new(timing.name.replace('_', " "));
                        let label = ui.label(text.color(if is_total { tokens.text_strong } else { tokens.text }));
                        if let Some(docs) = (ctx.timing_docs)(timing.name) {
                            label.on_hover_text(docs);
                        }
                    });
                    row.col(|ui| share_ui(ui, timing.nanos as f64 / total as f64, color, ctx));
                    let launches = f64::from(timing.launches.max(1));
                    let cells = [
                        kit::value(round(timing.nanos as f64 / launches / 1e3)),
                        kit::value(round(timing.max_nanos as f64 / 1e3)),
                        kit::value(round(f64::from(timing.launches) / n)),
                        rate(timing),
                    ];
                    for text in cells {
                        row.col(|ui| {
                            ui.with_layout(right, |ui| number(ui, text));
                        });
                    }
                });
            });
    }
}

const HEADS: [(&str, &str); 6] = [
    ("kernel", "Kernel, or on the CPU the loop that plays its part"),
    ("share", "Part of all measured time"),
    ("µs / launch", "Mean time of a launch"),
    ("max µs", "Longest launch in the window"),
    ("per batch", "Launches per measured batch"),
    ("items / s", "Work items (neurons, synaptic events) per second of kernel time"),
];

fn round(v: f64) -> f64 {
    if v >= 100.0 { v.round() } else { (v * 100.0).round() / 100.0 }
}

fn rate(timing: &Timing) -> String {
    if timing.items == 0 || timing.nanos == 0 {
        return "—".into();
    }
    let per_sec = timing.items as f64 / (timing.nanos as f64 * 1e-9);
    let (scale, suffix) =
        [(1e9, " G"), (1e6, " M"), (1e3, " k")].into_iter().find(|(s, _)| per_sec >= *s).unwrap_or((1.0, ""));
    format!("{:.1}{suffix}", per_sec / scale)
}

fn total_of(rows: &[Timing]) -> Timing {
    let mut sum = Timing { name: "total", launches: 0, nanos: 0, max_nanos: 0, bytes: 0, items: 0 };
    rows.iter().for_each(|r| sum.add(r));
    sum
}

/// A kernel keeps its colour whatever its rank: by the place of its name in the alphabet.
fn color_of(name: &str, rows: &[Timing], ctx: &ViewCtx<'_>) -> Color32 {
    colors::categorical(rows.iter().filter(|r| r.name < name).count(), ctx.tokens)
}

fn share_ui(ui: &mut Ui, share: f64, color: Color32, ctx: &ViewCtx<'_>) {
    let (rect, _) = ui.allocate_exact_size(Vec2::new(ui.available_width() - 4.0, 14.0), Sense::hover());
    let track = Rect::from_min_max(rect.min, pos2((rect.right() - 50.0).max(rect.left() + 10.0), rect.bottom()));
    ui.painter().rect_filled(track.shrink2(Vec2::new(0.0, 3.0)), 2.0, ctx.tokens.hover);
    let mut bar = track.shrink2(Vec2::new(0.0, 3.0));
    bar.set_width((track.width() * share as f32).max(1.0));
    ui.painter().rect_filled(bar, 2.0, color);
    let text = format!("{:.1} %", share * 100.0);
    ui.painter().text(rect.right_center(), egui::Align2::RIGHT_CENTER, text, kit::mono(ui), ctx.tokens.text);
}

impl View for Kernels {
    fn name(&self) -> &'static str {
        "timing"
    }

    fn title(&self, _: &Exhibit) -> String {
        "Kernels".into()
    }

    fn taps(&self, _: &Exhibit, _: &Selection) -> Vec<Tap> {
        vec![]
    }

    fn reset(&mut self, _: &Exhibit) {
        self.samples.clear();
    }

    fn absorb(&mut self, _: &Exhibit, frame: &Frame) {
        self.clock = frame.clock;
        if !frame.timings.is_empty() {
            self.samples.push_back(frame.timings.clone());
            if self.samples.len() > WINDOW {
                self.samples.pop_front();
            }
        }
    }

    fn ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let rows = self.rows();
        let nanos: u64 = rows.iter().map(|r| r.nanos).sum();
        let per_batch = nanos as f64 * 1e-9 / self.samples.len().max(1) as f64;
        let caption = format!(
            "sampled 1 of {PROFILE_EVERY} batches  |  mean over the last {} samples  |  {} per batch",
            self.samples.len(),
            kit::duration(per_batch)
        );
        let tokens = ctx.tokens;
        let mut forget = false;
        let canvas = kit::panel_ui(ui, tokens, Some(&caption), |ui| {
            ui.label(RichText::new(format!("{} kernels", rows.len())).small().color(tokens.text_sub));
            ui.separator();
            forget = ui.small_button("Clear").on_hover_text("Forget the measurements so far").clicked();
        });
        if forget {
            self.samples.clear();
        }
        if rows.is_empty() {
            return run_ui(ui, canvas, ctx, "No kernel times yet", "They are measured while the model runs");
        }
        ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
        let inner = canvas.shrink2(Vec2::new(10.0, 4.0));
        ui.scope_builder(UiBuilder::new().max_rect(inner), |ui| self.table_ui(ui, &rows, ctx));
    }

    fn help(&self) -> &'static str {
        "# Kernel times\n\nOne batch in 32 is measured kernel by kernel; the others run unmeasured, so that measuring \
         costs nothing. Figures are means over the last 64 measured batches. On the CPU a row is the loop that plays \
         the kernel's part."
    }
}
