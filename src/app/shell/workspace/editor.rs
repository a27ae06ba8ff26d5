//! Editor of the graph that the document describes, alone in the centre before a simulation is built.

use super::Workspaces;
use crate::app::{
    shell::panels::gestures,
    views::{self, View, ViewCtx},
};
use egui::Ui;

/// The editor outside of a panel.
pub(super) struct Editor {
    pub view: Box<dyn View>,
    /// Whether it was drawn in place of the panels in the last frame.
    pub is_alone: bool,
}

impl Default for Editor {
    fn default() -> Self {
        Self { view: (views::graph_editor::GraphEditor::DECLARATION.create)(), is_alone: false }
    }
}

impl Workspaces {
    /// Sets whether the editor replaces the panels in this frame.
    pub fn show_editor_alone(&mut self, is_alone: bool) {
        self.editor.is_alone = is_alone;
    }

    /// Draws the editor in place of the panels.
    pub fn editor_ui(&mut self, ui: &mut Ui, mut ctx: ViewCtx<'_>) {
        let view = &mut *self.editor.view;
        if ui.rect_contains_pointer(ui.available_rect_before_wrap()) {
            gestures::hint(ui.ctx(), view.declaration().gestures);
        }
        ctx.enter(view);
        view.ui(ui, &mut ctx);
    }
}
