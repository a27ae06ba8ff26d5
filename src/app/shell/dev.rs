//! Developer statistics: frame times, edit latency and engine counters.

use super::frame_times::{FrameTimes, Part};
use crate::{
    app::{
        document::{live::Live, run_stats::Samples},
        kit::{text, theme::Tokens, widgets},
    },
    engine::EngineCounters,
};
use egui::{Grid, RichText, Sense, Stroke, Ui, Window, pos2, vec2};

/// Draws the window of the statistics if it is open.
pub fn ui(ctx: &egui::Context, open: &mut bool, frames: &FrameTimes, live: &Live) {
    let place = ctx.content_rect().right_bottom() - vec2(420.0, 480.0);
    let window = Window::new("Developer statistics").open(open).default_pos(place).resizable(false).collapsible(false);
    window.show(ctx, |ui| {
        ui.set_width(340.0);
        quantiles_ui(
            ui,
            "Frame time",
            &frames.own,
            "logic, layout, tessellation, upload and command recording of one frame, without presentation",
        );
        Grid::new("parts").num_columns(3).spacing([24.0, 2.0]).show(ui, |ui| parts_ui(ui, frames));
        ui.add_space(4.0);
        quantiles_ui(
            ui,
            "Frame time with window system",
            &frames.with_window_system,
            "as eframe measures it: includes waiting for the window system to accept the previous frame",
        );
        quantiles_ui(
            ui,
            "Edit to frame",
            &live.latency.samples,
            "from an edit to the first frame of a simulation that has applied it",
        );
        ui.separator();
        Grid::new("counters").num_columns(2).spacing([24.0, 4.0]).show(ui, |ui| counters_ui(ui, live));
    });
}

fn quantiles_ui(ui: &mut Ui, name: &str, samples: &Samples, docs: &str) {
    let t = Tokens::of(ui.ctx());
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).family(widgets::semibold()).color(t.text_strong));
        ui.label(widgets::sub(ui, format!("n = {}", samples.count())).small());
    })
    .response
    .on_hover_text(docs);
    let Some([median, p95, p99, max]) = samples.quantiles() else {
        ui.label(widgets::sub(ui, "no samples yet"));
        return;
    };
    sparkline_ui(ui, samples, p99.max(1.0));
    ui.horizontal(|ui| {
        for (name, ms) in [("median", median), ("p95", p95), ("p99", p99), ("max", max)] {
            ui.label(widgets::sub(ui, name).small());
            ui.label(RichText::new(format!("{ms:.1}")).monospace());
            ui.add_space(4.0);
        }
        ui.label(widgets::sub(ui, "ms").small());
    });
    ui.add_space(4.0);
}

/// Draws rows with the layout times of the parts of the window.
fn parts_ui(ui: &mut Ui, frames: &FrameTimes) {
    for part in Part::ALL {
        let Some([median, _, p99, _]) = frames.part(part).quantiles() else { continue };
        let name = ui.label(widgets::sub(ui, part.name()).small());
        name.on_hover_text("layout time of this part of the window in a frame: median and 99th percentile");
        ui.label(RichText::new(format!("{median:.2}")).monospace());
        ui.label(widgets::sub(ui, format!("ms, p99 {p99:.2} ms")).small());
        ui.end_row();
    }
}

fn sparkline_ui(ui: &mut Ui, samples: &Samples, top: f32) {
    let t = Tokens::of(ui.ctx());
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 36.0), Sense::hover());
    ui.painter().rect_filled(rect, 2, t.canvas);
    let step = rect.width() / samples.count().max(2) as f32;
    let y = |ms: f32| rect.bottom() - (ms / top).min(1.0) * rect.height();
    let points = samples.iter().enumerate().map(|(i, ms)| pos2(rect.left() + i as f32 * step, y(ms))).collect();
    ui.painter().line(points, Stroke::new(1.0, t.accent));
    if top > 16.7 {
        ui.painter().hline(rect.x_range(), y(16.7), Stroke::new(1.0, Tokens::fade(t.warn, 0.5)));
    }
}

fn counters_ui(ui: &mut Ui, live: &Live) {
    let mut row = |name: &str, value: String| {
        ui.label(widgets::sub(ui, name));
        ui.label(RichText::new(value).monospace());
        ui.end_row();
    };
    if let Some(g) = live.counters() {
        let steps = EngineCounters::read(&g.batch_steps);
        let ms = EngineCounters::read(&g.batch_nanos) as f64 * 1e-6;
        row("Last batch", format!("{} in {ms:.2} ms", text::plural(steps as usize, "step", "steps")));
        row("Stalled on disk", format!("{:.1} ms", EngineCounters::read(&g.stalled_nanos) as f64 * 1e-6));
        row("Blocks queued for disk", EngineCounters::read(&g.queued_blocks).to_string());
    }
    row("Spikes not shown", text::count(live.skipped));
    row("Steps per second", live.pace.steps_per_sec().map_or_else(|| "—".into(), |s| text::count(s as u64)));
}
