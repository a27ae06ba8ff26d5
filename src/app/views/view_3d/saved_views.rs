//! Camera views that the project stores.

use super::View3d;
use crate::{
    app::{document::saved_view::SavedView, kit::icons, views::ViewCtx},
    view3d::{Camera, Vec3},
};
use egui::Ui;

/// Number of saved views with a keyboard shortcut.
pub(super) const N_KEYS: usize = 4;

/// Copies the position of a camera to a saved view.
fn saved_view(camera: &Camera, set: &str, name: String) -> SavedView {
    let Camera { target, yaw, pitch, distance, orthographic, .. } = *camera;
    SavedView { name, set: set.to_owned(), target: target.to_array(), yaw, pitch, distance, orthographic }
}

/// Applies a saved view to a camera. Has no effect if a value from the file is invalid.
fn turn(saved: &SavedView, camera: &mut Camera) {
    let numbers = [saved.yaw, saved.pitch, saved.distance].into_iter().chain(saved.target);
    if numbers.into_iter().all(f32::is_finite) && saved.distance > 0.0 {
        camera.target = Vec3::from(saved.target);
        (camera.yaw, camera.pitch) = (saved.yaw, saved.pitch.clamp(-1.55, 1.55));
        (camera.distance, camera.orthographic) = (saved.distance, saved.orthographic);
    }
}

impl View3d {
    /// Draws the menu of the saved views.
    pub(super) fn saved_views_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some(set) = self.set.clone() else { return };
        ui.menu_button("Views", |ui| {
            let mine = |saved: &SavedView| saved.set == set.name;
            let mut gone = None;
            for (n, (at, saved)) in ctx.saved_views.iter().enumerate().filter(|(_, saved)| mine(saved)).enumerate() {
                ui.horizontal(|ui| {
                    let key = if n < N_KEYS { format!("  ({})", n + 5) } else { String::new() };
                    if ui.button(format!("{}{key}", saved.name)).on_hover_text("Go to this view").clicked() {
                        turn(saved, &mut self.camera);
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
                ctx.saved_views.push(saved_view(&self.camera, set.name, name));
            }
        });
    }

    /// Applies the n-th saved view of the shown set, if it exists.
    pub(super) fn go_to_saved(&mut self, n: usize, ctx: &ViewCtx<'_>) {
        let set = self.set.as_ref().map_or("", |s| s.name);
        if let Some(saved) = ctx.saved_views.iter().filter(|saved| saved.set == set).nth(n) {
            turn(saved, &mut self.camera);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_view_round_trips_through_a_file() {
        let mut camera = Camera { yaw: 1.0, pitch: -0.5, distance: 7.0, orthographic: true, ..Camera::default() };
        let saved = saved_view(&camera, "cells", "mine".into());
        let text = crate::project::to_ron(&saved).unwrap();
        let saved: SavedView = crate::project::from_ron(&text).unwrap();
        let there = camera;
        camera.zoom_at(0.5, crate::view3d::Vec2::ZERO, 100.0);
        camera.yaw = 2.0;
        turn(&saved, &mut camera);
        assert_eq!(camera, there);
        turn(&SavedView { distance: f32::NAN, ..saved.clone() }, &mut camera);
        turn(&SavedView { distance: -1.0, ..saved }, &mut camera);
        assert_eq!(camera, there, "an invalid view changes nothing");
    }
}
