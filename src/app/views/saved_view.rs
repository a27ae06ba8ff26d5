//! Camera views that are stored with a project.

use crate::view3d::{Camera, Vec3};

/// A saved camera view.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SavedView {
    pub name: String,
    /// Name of the set it was saved for.
    pub set: String,
    /// Orbit centre of the camera.
    pub target: [f32; 3],
    /// Azimuth of the camera, radians.
    pub yaw: f32,
    /// Elevation above the horizontal, radians.
    pub pitch: f32,
    /// Distance from the target.
    pub distance: f32,
    /// Whether the projection is orthographic.
    pub orthographic: bool,
}

impl SavedView {
    pub(super) fn of(camera: &Camera, set: &str, name: String) -> Self {
        let Camera { target, yaw, pitch, distance, orthographic, .. } = *camera;
        Self { name, set: set.to_owned(), target: target.to_array(), yaw, pitch, distance, orthographic }
    }

    /// Applies the view to a camera. Invalid values from a file are ignored.
    pub(super) fn turn(&self, camera: &mut Camera) {
        let numbers = [self.yaw, self.pitch, self.distance].into_iter().chain(self.target);
        if numbers.into_iter().all(f32::is_finite) && self.distance > 0.0 {
            camera.target = Vec3::from(self.target);
            (camera.yaw, camera.pitch) = (self.yaw, self.pitch.clamp(-1.55, 1.55));
            (camera.distance, camera.orthographic) = (self.distance, self.orthographic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_view_round_trips_through_a_file() {
        let mut camera = Camera { yaw: 1.0, pitch: -0.5, distance: 7.0, orthographic: true, ..Camera::default() };
        let saved = SavedView::of(&camera, "cells", "mine".into());
        let text = crate::project::to_ron(&saved).unwrap();
        let saved: SavedView = crate::project::from_ron(&text).unwrap();
        let there = camera;
        camera.zoom_at(0.5, crate::view3d::Vec2::ZERO, 100.0);
        camera.yaw = 2.0;
        saved.turn(&mut camera);
        assert_eq!(camera, there);
        SavedView { distance: f32::NAN, ..saved.clone() }.turn(&mut camera);
        SavedView { distance: -1.0, ..saved }.turn(&mut camera);
        assert_eq!(camera, there, "an invalid view changes nothing");
    }
}
