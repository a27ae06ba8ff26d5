//! Size of the image that a camera fills, and fitting of the camera to it.

use crate::view3d::{Camera, Vec2, Vec3};

/// Size of the image, and bounds of the elements that it shows.
pub(super) struct Viewport {
    /// Width of the image divided by its height.
    pub aspect: f32,
    /// Size of the image in device pixels.
    pub size_px: Vec2,
    /// Smallest and largest coordinates of all elements.
    pub bounds: (Vec3, Vec3),
    /// Whether the next frame fits the camera to all elements.
    pub needs_fit: bool,
    /// The camera after the last fit, and the aspect ratio of that fit.
    fitted: Option<(Camera, f32)>,
}

impl Default for Viewport {
    fn default() -> Self {
        let bounds = (Vec3::splat(-1.0), Vec3::ONE);
        Self { aspect: 1.0, size_px: Vec2::ONE, bounds, needs_fit: true, fitted: None }
    }
}

impl Viewport {
    /// Fits the camera to all elements.
    pub fn fit(&mut self, camera: &mut Camera) {
        camera.fit(self.bounds.0, self.bounds.1, self.aspect);
        self.fitted = Some((*camera, self.aspect));
    }

    /// Fits the camera if a fit was requested. Also fits it to a new aspect ratio if it was not moved since the last fit.
    pub fn refit(&mut self, camera: &mut Camera) {
        let is_other = |(fitted, to): (Camera, f32)| fitted == *camera && (self.aspect / to - 1.0).abs() > 0.01;
        if std::mem::take(&mut self.needs_fit) || self.fitted.is_some_and(is_other) {
            self.fit(camera);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unmoved_camera_is_fitted_to_a_new_aspect_ratio() {
        let mut view = Viewport { bounds: (Vec3::splat(-1.0), Vec3::new(5.0, 1.0, 1.0)), ..Viewport::default() };
        let mut camera = Camera::default();
        let mut refit = |camera: &mut Camera, aspect: f32| {
            view.aspect = aspect;
            view.refit(camera);
            camera.distance
        };
        let wide = refit(&mut camera, 2.0);
        assert_eq!(refit(&mut camera, 2.0), wide);
        assert!(refit(&mut camera, 0.5) > wide * 1.5, "a narrow viewport needs a larger distance");
        assert!((refit(&mut camera, 2.0) - wide).abs() < 1e-4, "and back");
        camera.zoom_at(0.5, Vec2::ZERO, 400.0);
        let near = camera.distance;
        assert_eq!(refit(&mut camera, 0.5), near, "a manual zoom is saved");
    }
}
