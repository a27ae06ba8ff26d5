//! Where the time goes: one row per kernel, from the measured batches.

use super::{Selection, View, ViewCtx, colors, kit, run_ui};
use crate::{
    engine::{Exhibit, PROFILE_EVERY},
    gpu::{KernelFacts, Timing},
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

/// A column of figures, behind the name and the share.
struct Figure {
    head: &'static str,
    hint: &'static str,
    width: f32,
    /// Which columns go first when the panel is narrow: those of a high rank.
    rank: u8,
    /// Whether only a GPU has anything to say in it.
    of_device: bool,
    text: fn(&Timing, Option<&KernelFacts>, f64) -> String,
}

const fn figure(
    head: &'static str,
    hint: &'static str,
    (width, rank): (f32, u8),
    text: fn(&Timing, Option<&KernelFacts>, f64) -> String,
) -> Figure {
    Figure { head, hint, width, rank, of_device: false, text }
}

const fn fact(
    head: &'static str,
    hint: &'static str,
    (width, rank): (f32, u8),
    text: fn(&Timing, Option<&KernelFacts>, f64) -> String,
) -> Figure {
    Figure { of_device: true, ..figure(head, hint, (width, rank), text) }
}

/// All figures, in the order they stand. The last argument is the number of measured batches.
const FIGURES: [Figure; 9] = [
    figure("µs / launch", "Mean time of a launch", (72.0, 0), |t, _, _| micros(t.mean_nanos())),
    figure("p95 µs", "95 of 100 launches are no longer; to within 6 %", (62.0, 2), |t, _, _| {
        micros(t.p95_nanos() as f64)
    }),
    figure("max µs", "Longest launch in the window", (62.0, 6), |t, _, _| micros(t.max_nanos as f64)),
    figure("launches", "Launches per measured batch", (62.0, 3), |t, _, n| {
        kit::value(round(f64::from(t.launches) / n))
    }),
    figure("items / s", "Work items (neurons, synaptic events) per second of kernel time", (68.0, 1), |t, _, _| {
        rate(t.per_sec(t.items))
    }),
    fact("bytes / s", "Bytes moved per second of kernel time, as the launcher counts them", (68.0, 4), |t, _, _| {
        rate(t.per_sec(t.bytes))
    }),
    fact("occupancy", "Share of a multiprocessor's threads that can be resident", (68.0, 5), |_, f, _| {
        or_none(f, |f| format!("{:.0} %", f.occupancy * 100.0))
    }),
    fact("registers", "Registers per thread; ! when some spilled into memory", (64.0, 7), |_, f, _| {
        or_none(f, |f| format!("{}{}", f.registers, if f.local_bytes > 0 { " !" } else { "" }))
    }),
    fact("shared", "Shared memory per block, bytes", (58.0, 8), |_, f, _| or_none(f, |f| f.shared_bytes.to_string())),
];

/// Width of the names, points.
const NAME: f32 = 130.0;
/// Name, the least of the share, the spaces behind them, and what the table keeps for itself.
const FIXED: f32 = NAME + 96.0 + 2.0 * SPACING + 8.0;

/// The figures that have a place in a table of this width.
fn fitting(width: f32, on_device: bool) -> Vec<&'static Figure> {
    let mut order: Vec<&Figure> = FIGURES.iter().filter(|f| on_device || !f.of_device).collect();
    order.sort_by_key(|f| f.rank);
    let mut left = width - FIXED;
    let fits = |f: &&&Figure| {
        left -= f.width + SPACING;
        left >= 0.0
    };
    let shown: Vec<u8> = order.iter().take_while(fits).map(|f| f.rank).collect();
    FIGURES.iter().filter(|f| (on_device || !f.of_device) && shown.contains(&f.rank)).collect()
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
        let facts = &ctx.exhibit.kernels;
        let figures = fitting(ui.available_width(), !facts.is_empty());
        let n = self.samples.len().max(1) as f64;
        let all = total_of(rows);
        let right = Layout::right_to_left(Align::Center);
        ui.spacing_mut().item_spacing = Vec2::new(SPACING, 2.0);
        let mut table = TableBuilder::new(ui)
            .id_salt(("kernels", figures.len()))
            .striped(false)
            .cell_layout(Layout::left_to_right(Align::Center))
            .column(Column::initial(NAME).at_least(80.0).clip(true))
            .column(Column::remainder().at_least(90.0));
        for figure in &figures {
            table = table.column(Column::initial(figure.width).at_least(44.0).clip(true));
        }
        table
            .header(24.0, |mut header| {
                for (head, hint) in HEADS {
                    header.col(|ui| head_ui(ui, head, hint, ctx));
                }
                for figure in &figures {
                    header.col(|ui| {
                        ui.with_layout(right, |ui| head_ui(ui, figure.head, figure.hint, ctx));
                    });
                }
            })
            .body(|body| {
                body.rows(22.0, rows.len() + 1, |mut row| {
                    let timing = rows.get(row.index()).unwrap_or(&all);
                    let is_total = row.index() == rows.len();
                    let facts = facts.iter().find(|f| f.name == timing.name);
                    let color = if is_total { ctx.tokens.text_sub } else { color_of(timing.name, rows, ctx) };
                    row.col(|ui| name_ui(ui, timing, facts, is_total, ctx));
                    row.col(|ui| share_ui(ui, timing.nanos as f64 / all.nanos.max(1) as f64, color, ctx));
                    for figure in &figures {
                        let text = RichText::new((figure.text)(timing, facts, n)).color(ctx.tokens.text);
                        row.col(|ui| {
                            ui.with_layout(right, |ui| ui.label(text.font(kit::mono(ui))));
                        });
                    }
                });
            });
    }
}

/// Between columns.
const SPACING: f32 = 8.0;

const HEADS: [(&str, &str); 2] =
    [("kernel", "Kernel, or on the CPU the loop that plays its part"), ("share", "Part of all measured time")];

fn head_ui(ui: &mut Ui, head: &str, hint: &str, ctx: &ViewCtx<'_>) {
    ui.label(RichText::new(head).small().color(ctx.tokens.text_sub)).on_hover_text(hint);
}

/// The name; what the kernel does and takes is in its tooltip.
fn name_ui(ui: &mut Ui, timing: &Timing, facts: Option<&KernelFacts>, is_total: bool, ctx: &ViewCtx<'_>) {
    let color = if is_total { ctx.tokens.text_strong } else { ctx.tokens.text };
    let label = ui.label(RichText::new(timing.name.replace('_', " ")).color(color));
    let docs = (ctx.timing_docs)(timing.name).map(str::to_owned);
    let told: Vec<String> = docs.into_iter().chain(facts.map(launch_text)).collect();
    if !told.is_empty() {
        label.on_hover_text(told.join("\n"));
    }
}

/// What a launch of a kernel takes, in words.
fn launch_text(f: &KernelFacts) -> String {
    let spilled = if f.local_bytes > 0 { format!(", {} B spilled", f.local_bytes) } else { String::new() };
    format!(
        "{} threads per block, {} registers each{spilled}; {} B of shared memory per block.\n{} blocks per multiprocessor: {:.0} % of its threads.\nkernels/{}",
        f.block,
        f.registers,
        f.shared_bytes,
        f.blocks_per_multiprocessor,
        f.occupancy * 100.0,
        f.file
    )
}

fn round(v: f64) -> f64 {
    if v >= 100.0 { v.round() } else { (v * 100.0).round() / 100.0 }
}

fn micros(nanos: f64) -> String {
    kit::value(round(nanos / 1e3))
}

fn or_none(facts: Option<&KernelFacts>, text: impl Fn(&KernelFacts) -> String) -> String {
    facts.map_or_else(|| NONE.to_owned(), text)
}

/// Nothing is known.
const NONE: &str = "—";

fn rate(per_sec: Option<f64>) -> String {
    let Some(per_sec) = per_sec else { return NONE.to_owned() };
    let (scale, suffix) = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")]
        .into_iter()
        .find(|(s, _)| per_sec >= *s)
        .unwrap_or((1.0, ""));
    format!("{:.1}{suffix}", per_sec / scale)
}

fn total_of(rows: &[Timing]) -> Timing {
    // Rates of different kinds of items do not add up.
    let mut sum = Timing::of("total");
    rows.iter().for_each(|r| sum.add(r));
    sum.items = 0;
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
         costs nothing. Figures are over the last 64 measured batches; 95 of 100 launches are no longer than p95. On the \
         CPU a row is the loop that plays the kernel's part; on a GPU there are also its registers, shared memory and \
         occupancy. A narrow panel leaves figures out."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(width: f32, on_device: bool) -> Vec<&'static str> {
        fitting(width, on_device).iter().map(|f| f.head).collect()
    }

    #[test]
    fn a_narrow_table_keeps_what_matters() {
        assert!(heads(100.0, true).is_empty());
        assert_eq!(heads(335.0, true), ["µs / launch"]);
        assert_eq!(heads(410.0, true), ["µs / launch", "items / s"]);
        assert_eq!(heads(2000.0, true).len(), FIGURES.len());
        assert_eq!(heads(2000.0, false), ["µs / launch", "p95 µs", "max µs", "launches", "items / s"]);
    }

    #[test]
    fn every_figure_more_needs_more_room() {
        let mut last = 0;
        for width in 0..1200 {
            let shown = heads(width as f32, true).len();
            assert!(shown == last || shown == last + 1);
            last = shown;
        }
        assert_eq!(last, FIGURES.len());
        let mut ranks: Vec<u8> = FIGURES.iter().map(|f| f.rank).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, (0..FIGURES.len() as u8).collect::<Vec<_>>());
    }

    #[test]
    fn a_kernel_s_facts_stand_in_its_row() {
        let facts = KernelFacts {
            file: "a.cu",
            name: "k",
            block: 128,
            registers: 54,
            shared_bytes: 4096,
            local_bytes: 16,
            blocks_per_multiprocessor: 8,
            occupancy: 0.5,
        };
        let mut timing = Timing::of("k");
        timing.launch(2_000);
        timing.bytes = 3_000;
        let texts: Vec<String> = FIGURES.iter().map(|f| (f.text)(&timing, Some(&facts), 1.0)).collect();
        assert_eq!(texts, ["2", "1.98", "2", "1", "—", "1.5 G", "50 %", "54 !", "4096"]);
        let told = launch_text(&facts);
        assert!(told.starts_with("128 threads per block, 54 registers each, 16 B spilled;") && told.ends_with("a.cu"));
    }

    #[test]
    fn what_is_not_known_is_a_dash() {
        let timing = Timing::of("k");
        let texts: Vec<String> = FIGURES.iter().map(|f| (f.text)(&timing, None, 1.0)).collect();
        assert_eq!(texts[4..], ["—"; 5]);
        assert_eq!(rate(Some(4.2e12)), "4.2 T");
    }
}
