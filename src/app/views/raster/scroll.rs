//! Scroll bar at the right edge, with the visible rows and the spike density of all rows.

use super::Raster;
use crate::app::views::ViewCtx;
use egui::{Mesh, Rect, Sense, Ui, pos2};

impl Raster {
    pub(super) fn scroll_ui(&mut self, ui: &Ui, bar: Rect, ctx: &ViewCtx<'_>) {
        if bar.width() < 4.0 {
            return;
        }
        let response = ui.interact(bar, ui.scope_id().with("raster rows"), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ScrollBar, true, "Rows in view"));
        let all = f64::from(self.rows.len().max(1));
        if let Some(at) = response.interact_pointer_pos().filter(|_| self.is_zoomed()) {
            let middle = f64::from((bar.bottom() - at.y) / bar.height()) * all;
            self.window.pan_rows(middle - f64::midpoint(self.window.r0, self.window.r1), self.rows.len());
        }
        let tokens = ctx.tokens;
        let painter = ui.painter_at(bar.expand(1.0));
        painter.rect_filled(bar, 2.0, tokens.panel);
        let y = |row: f64| bar.bottom() - (row / all) as f32 * bar.height();
        if let Some((sums, per_cell)) = self.pyramid.by_row() {
            let most = sums.iter().copied().max().unwrap_or(0).max(1) as f32;
            let mut mesh = Mesh::default();
            for (i, n) in sums.iter().enumerate().filter(|(_, n)| **n > 0) {
                let row = i as f64 * f64::from(per_cell);
                // A minimum width keeps rows with few spikes visible.
                let width = (bar.width() * (*n as f32 / most).sqrt()).max(1.5);
                let (top, bottom) = (y((row + f64::from(per_cell)).min(all)), y(row));
                let cell = Rect::from_min_max(pos2(bar.right() - width, top), pos2(bar.right(), bottom.max(top + 0.5)));
                mesh.add_colored_rect(cell, tokens.text_sub.gamma_multiply(0.45));
            }
            painter.add(mesh);
        }
        if self.is_zoomed() {
            let (top, bottom) = (y(self.window.r1), y(self.window.r0));
            let middle = f32::midpoint(top, bottom);
            let half = ((bottom - top) * 0.5).max(4.0);
            let thumb = Rect::from_min_max(pos2(bar.left(), middle - half), pos2(bar.right(), middle + half));
            let strong = if response.hovered() || response.dragged() { 0.5 } else { 0.3 };
            painter.rect_filled(thumb, 2.0, tokens.accent.gamma_multiply(strong));
        }
        response.on_hover_text("Drag to scroll the rows; the bars show spike density");
    }
}
