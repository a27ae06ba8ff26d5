//! Placeholders of a panel without a result: busy, stopped or failed. [`kit::empty_ui`] draws the empty state.

use super::ViewCtx;
use crate::app::kit::{
    self, icons,
    pool::{JobEnd, PooledResult},
    theme::Tokens,
};
use egui::{Align, Layout, ProgressBar, Rect, RichText, TextStyle, Ui, UiBuilder, Vec2, pos2};

/// Number of skeleton bars in the busy state.
const ROWS: usize = 7;

/// Draws the state of a job that has no result yet: progress with a cancel button, or its end with a retry button.
pub fn job_ui<K: Clone + PartialEq, T: Send + Sync + 'static>(
    ui: &mut Ui,
    canvas: Rect,
    ctx: &ViewCtx<'_>,
    title: &str,
    job: &mut PooledResult<K, T>,
) {
    match job.ended().cloned() {
        Some(JobEnd::Stopped) => {
            if kit::empty_ui(ui, canvas, ctx, "Stopped", "The calculation was stopped", Some("Start again")) {
                job.retry();
            }
        }
        Some(JobEnd::Failed(why)) => {
            if error_ui(ui, canvas, ctx.tokens, "Calculation failed", &why) {
                job.retry();
            }
        }
        None => {
            if busy_ui(ui, canvas, ctx.tokens, title, job.progress()) {
                job.stop();
            }
        }
    }
}

/// Draws the status of the next job in a toolbar: its progress with a cancel button, or its end with a retry button if an older
/// result is shown.
pub fn job_status_ui<K: Clone + PartialEq, T: Send + Sync + 'static>(
    ui: &mut Ui,
    tokens: &Tokens,
    job: &mut PooledResult<K, T>,
) {
    if let Some(fraction) = job.progress() {
        ui.add(ProgressBar::new(fraction).desired_width(60.0).desired_height(6.0).fill(tokens.accent));
        if ui.small_button("Cancel").on_hover_text("Keeps the last result").clicked() {
            job.stop();
        }
    }
    let Some(ended) = job.ended().cloned().filter(|_| job.get().is_some()) else { return };
    let (word, why) = match ended {
        JobEnd::Stopped => ("stopped", "Shows an older result".to_owned()),
        JobEnd::Failed(why) => ("failed", why),
    };
    ui.label(RichText::new(word).small().color(tokens.warn)).on_hover_text(why);
    if ui.small_button("Retry").clicked() {
        job.retry();
    }
}

/// Draws the busy state: skeleton bars, progress and a cancel button. Returns whether cancel was pressed.
pub fn busy_ui(ui: &mut Ui, canvas: Rect, tokens: &Tokens, title: &str, fraction: Option<f32>) -> bool {
    let painter = ui.painter_at(canvas);
    painter.rect_filled(canvas, 0.0, tokens.canvas);
    let (row, gap) = (canvas.height() / (ROWS as f32 * 1.6), canvas.height() / (ROWS as f32 * 1.6) * 0.6);
    for i in 0..ROWS {
        let width = canvas.width() * [0.86, 0.62, 0.78, 0.5, 0.7, 0.4, 0.58][i % 7];
        let top = canvas.top() + gap + i as f32 * (row + gap);
        let bar = Rect::from_min_size(pos2(canvas.left() + 16.0, top), Vec2::new(width - 32.0, row));
        painter.rect_filled(bar.intersect(canvas), 4.0, tokens.panel);
    }
    // Without a fraction only the skeleton is drawn, so that short jobs show no progress.
    let Some(fraction) = fraction else { return false };
    centre(ui, canvas, 74.0, |ui| {
        ui.label(RichText::new(title).text_style(TextStyle::Heading).color(tokens.text));
        ui.add(ProgressBar::new(fraction).desired_width(180.0).desired_height(6.0).fill(tokens.accent));
        ui.add_space(4.0);
        ui.button("Cancel").clicked()
    })
}

/// Draws the error state with copy and retry buttons. Returns whether retry was pressed.
pub fn error_ui(ui: &mut Ui, canvas: Rect, tokens: &Tokens, title: &str, why: &str) -> bool {
    ui.painter().rect_filled(canvas, 0.0, tokens.canvas);
    centre(ui, canvas, 150.0, |ui| {
        ui.label(icons::rich(icons::ERROR).size(34.0).color(tokens.error));
        ui.label(RichText::new(title).text_style(TextStyle::Heading).color(tokens.text));
        ui.add(egui::Label::new(RichText::new(why).color(tokens.text_sub)).wrap().selectable(true));
        ui.add_space(6.0);
        let half = Vec2::new(120.0, 24.0);
        let row = ui.allocate_ui_with_layout(half, Layout::left_to_right(Align::Center), |ui| {
            if ui.button("Copy").clicked() {
                ui.copy_text(format!("{title}\n{why}"));
            }
            ui.button("Try again").clicked()
        });
        row.inner
    })
}

fn centre<R>(ui: &mut Ui, canvas: Rect, height: f32, add: impl FnOnce(&mut Ui) -> R) -> R {
    let size = Vec2::new((canvas.width() - 24.0).min(420.0), height);
    let area = Rect::from_center_size(canvas.center(), size).intersect(canvas);
    ui.scope_builder(UiBuilder::new().max_rect(area).layout(Layout::top_down(Align::Center)), add).inner
}
