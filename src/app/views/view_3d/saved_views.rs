//! Saved camera views, stored with the project.

use super::View3d;
use crate::app::{
    kit::icons,
    views::{SavedView, ViewCtx},
};
use egui::Ui;

/// Number of saved views with a keyboard shortcut.
pub(super) const N_KEYS: usize = 4;

impl View3d {
    /// Menu of the saved views.
    pub(super) fn saved_views_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some(set) = self.set.clone() else { return };
        ui.menu_button("Views", |ui| {
            let mine = |saved: &SavedView| saved.set == set.name;
            let mut gone = None;
            for (n, (at, saved)) in ctx.saved_views.iter().enumerate().filter(|(_, saved)| mine(saved)).enumerate() {
                ui.horizontal(|ui| {
                    let key = if n < N_KEYS { format!("  ({})", n + 5) } else { String::new() };
                    if ui.button(format!("{}{key}", saved.name)).on_hover_text("Go to this view").clicked() {
                        saved.turn(&mut self.camera);
                        ui.close();
                    }
                    let name = format!("Delete {}", saved.name);
                    if crate::app::kit::widgets::icon_button(ui, icons::CLOSE, &name).clicked() {
                        gone = Some(at);
                    }
                });
            }
            if let Some(at) = gone {
                ctx.saved_views.remove(at);
            }
            if ui.button("Save view").on_hover_text("Stored in the project").clicked() {
                let taken = |name: &str| ctx.saved_views.iter().any(|k| mine(k) && k.name == name);
                let name = (1..).map(|n| format!("View {n}")).find(|name| !taken(name)).unwrap_or_default();
                ctx.saved_views.push(SavedView::of(&self.camera, set.name, name));
            }
        });
    }

    /// Goes to the n-th saved view.
    pub(super) fn go_to_saved(&mut self, n: usize, ctx: &ViewCtx<'_>) {
        let set = self.set.as_ref().map_or("", |s| s.name);
        if let Some(saved) = ctx.saved_views.iter().filter(|saved| saved.set == set).nth(n) {
            saved.turn(&mut self.camera);
        }
    }
}
