//! Where one looked from and wants to look from again: kept with the project.

use super::Brain;
use crate::{
    app::{icons, views::ViewCtx},
    view3d::{Camera, Vec3},
};
use egui::Ui;

/// As many have a key.
pub(super) const WITH_KEYS: usize = 4;

/// A place to look from.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Its name.
    pub name: String,
    /// What is looked at.
    pub set: String,
    /// The point one turns around, and how one is turned and how far away.
    pub target: [f32; 3],
    /// Turn around the vertical, radians.
    pub yaw: f32,
    /// Lift above the horizontal, radians.
    pub pitch: f32,
    /// From the target.
    pub distance: f32,
    /// Whether the projection is parallel.
    pub orthographic: bool,
}

impl Kept {
    fn of(camera: &Camera, set: &str, name: String) -> Self {
        let Camera { target, yaw, pitch, distance, orthographic, .. } = *camera;
        Self { name, set: set.to_owned(), target: target.to_array(), yaw, pitch, distance, orthographic }
    }

    /// Turns a camera there. What is no place, from a file, changes nothing.
    fn turn(&self, camera: &mut Camera) {
        let numbers = [self.yaw, self.pitch, self.distance].into_iter().chain(self.target);
        if numbers.into_iter().all(f32::is_finite) && self.distance > 0.0 {
            camera.target = Vec3::from(self.target);
            (camera.yaw, camera.pitch) = (self.yaw, self.pitch.clamp(-1.55, 1.55));
            (camera.distance, camera.orthographic) = (self.distance, self.orthographic);
        }
    }
}

impl Brain {
    /// The places that were kept, and one more.
    pub(super) fn kept_ui(&mut self, ui: &mut Ui, ctx: &mut ViewCtx<'_>) {
        let Some(set) = self.set.clone() else { return };
        ui.menu_button("Views", |ui| {
            let mine = |kept: &Kept| kept.set == set.name;
            let mut gone = None;
            for (n, (at, kept)) in ctx.kept_views.iter().enumerate().filter(|(_, kept)| mine(kept)).enumerate() {
                ui.horizontal(|ui| {
                    let key = if n < WITH_KEYS { format!("  ({})", n + 5) } else { String::new() };
                    if ui.button(format!("{}{key}", kept.name)).on_hover_text("Look from there again").clicked() {
                        kept.turn(&mut self.camera);
                        ui.close();
                    }
                    let name = format!("Forget {}", kept.name);
                    if crate::app::widgets::icon_button(ui, icons::CLOSE, &name).clicked() {
                        gone = Some(at);
                    }
                });
            }
            if let Some(at) = gone {
                ctx.kept_views.remove(at);
            }
            if ui.button("Keep this view").on_hover_text("Saved with the project").clicked() {
                let taken = |name: &str| ctx.kept_views.iter().any(|k| mine(k) && k.name == name);
                let name = (1..).map(|n| format!("View {n}")).find(|name| !taken(name)).unwrap_or_default();
                ctx.kept_views.push(Kept::of(&self.camera, set.name, name));
            }
        });
    }

    /// Goes to the n-th of them.
    pub(super) fn look_again(&mut self, n: usize, ctx: &ViewCtx<'_>) {
        let set = self.set.as_ref().map_or("", |s| s.name);
        if let Some(kept) = ctx.kept_views.iter().filter(|kept| kept.set == set).nth(n) {
            kept.turn(&mut self.camera);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_that_was_kept_comes_back_from_a_file() {
        let mut camera = Camera { yaw: 1.0, pitch: -0.5, distance: 7.0, orthographic: true, ..Camera::default() };
        let kept = Kept::of(&camera, "cells", "mine".into());
        let text = crate::project::to_ron(&kept).unwrap();
        let kept: Kept = crate::project::from_ron(&text).unwrap();
        let there = camera;
        camera.zoom_at(0.5, crate::view3d::Vec2::ZERO, 100.0);
        camera.yaw = 2.0;
        kept.turn(&mut camera);
        assert_eq!(camera, there);
        Kept { distance: f32::NAN, ..kept.clone() }.turn(&mut camera);
        Kept { distance: -1.0, ..kept }.turn(&mut camera);
        assert_eq!(camera, there, "no place to look from");
    }
}
