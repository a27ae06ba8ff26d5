//! Access to the focused panel: its colours, and its drawing alone for a figure.

use super::Workspaces;
use crate::{
    app::{kit::panel, views::ViewCtx},
    engine::SimSchema,
};
use egui::Ui;

impl Workspaces {
    /// Returns the colour options of the focused panel and the index of the current one; empty without a panel.
    pub fn colorings(&self, schema: &SimSchema) -> (Vec<String>, usize) {
        let view = self.focused().and_then(|pane| self.views.get(pane));
        view.map(|v| v.colorings(schema)).unwrap_or_default()
    }

    /// Selects a colour option of the focused panel.
    pub fn color_by(&mut self, schema: &SimSchema, at: usize) {
        if let Some(view) = self.focused_view() {
            view.color_by(schema, at);
        }
    }

    /// Locks or unlocks the colour range of the focused panel, as [`View::toggle_range`]. Also `None` without a panel.
    pub fn toggle_range(&mut self, schema: &SimSchema) -> Option<bool> {
        let mut color_scales = std::mem::take(&mut self.color_scales);
        let is_kept = self.focused_view().and_then(|view| view.toggle_range(schema, &mut color_scales));
        self.color_scales = color_scales;
        is_kept
    }

    /// Draws the focused panel alone in an area.
    pub(super) fn figure_ui(&mut self, ui: &mut Ui, mut ctx: ViewCtx<'_>, area: egui::Rect) {
        let Some(pane) = self.focused().cloned() else { return };
        let Some(view) = self.views.get_mut(&pane) else { return };
        if let Some(pinned) = self.pins.get_mut(&pane) {
            std::mem::swap(ctx.selection, pinned);
        }
        ctx.enter(&**view);
        ctx.selection.hovered = None;
        ui.painter().rect_filled(area, 0, ctx.tokens.canvas);
        ui.scope_builder(egui::UiBuilder::new().max_rect(area), |ui| {
            ui.set_clip_rect(area);
            panel::hide_scroll_bars(ui);
            view.ui(ui, &mut ctx);
        });
        if let Some(pinned) = self.pins.get_mut(&pane) {
            std::mem::swap(ctx.selection, pinned);
        }
    }
}
