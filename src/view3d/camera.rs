//! The camera: position, direction, projection.

use glam::{Mat4, Vec2, Vec3, camera::rh};

/// A camera that looks at a target from a distance. At yaw 0 and pitch 0 it looks along −z: x right, y up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Point that the camera orbits, world units.
    pub target: Vec3,
    /// Rotation around the vertical axis, radians.
    pub yaw: f32,
    /// Elevation, radians, within ±π/2.
    pub pitch: f32,
    /// Distance from the target, world units.
    pub distance: f32,
    /// Vertical field of view, radians.
    pub fov_y: f32,
    /// Whether the projection is orthographic instead of perspective; the target plane keeps its size.
    pub orthographic: bool,
    /// Radius of the bounding sphere around [`Camera::centre`], world units, which determines the depth range.
    pub radius: f32,
    /// Centre of the bounding sphere.
    pub centre: Vec3,
}

/// Fixed view directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// View from the front, along −z.
    Front,
    /// View from the back, along +z.
    Back,
    /// View from the left, along +x.
    Left,
    /// View from above, along −y.
    Top,
}

impl Preset {
    /// All presets in the order of keys 1 to 4.
    pub const ALL: [Self; 4] = [Self::Front, Self::Back, Self::Left, Self::Top];

    /// Returns the label of the preset's button.
    pub fn label(self) -> &'static str {
        match self {
            Self::Front => "Front",
            Self::Back => "Back",
            Self::Left => "Left",
            Self::Top => "Top",
        }
    }
}

impl Default for Camera {
    fn default() -> Self {
        Self {
            target: Vec3::ZERO,
            yaw: 0.0,
            pitch: 0.0,
            distance: 3.0,
            fov_y: 0.6,
            orthographic: false,
            radius: 1.0,
            centre: Vec3::ZERO,
        }
    }
}

impl Camera {
    /// Returns the direction from the target to the eye, unit length.
    pub fn backward(&self) -> Vec3 {
        Vec3::new(self.yaw.sin() * self.pitch.cos(), self.pitch.sin(), self.yaw.cos() * self.pitch.cos())
    }

    /// Returns the right direction of the image, unit length.
    pub fn right(&self) -> Vec3 {
        Vec3::new(self.yaw.cos(), 0.0, -self.yaw.sin())
    }

    /// Returns the up direction of the image, unit length.
    pub fn up(&self) -> Vec3 {
        self.backward().cross(self.right())
    }

    /// Returns the position of the eye, world units.
    pub fn eye(&self) -> Vec3 {
        self.target + self.backward() * self.distance
    }

    /// Returns the distances of the near and the far plane from the eye, world units.
    pub fn depth_range(&self) -> (f32, f32) {
        let to_centre = (self.eye() - self.centre).dot(self.backward());
        let reach = self.radius * 1.05 + 1e-3;
        if self.orthographic {
            return (to_centre - reach, to_centre + reach);
        }
        let far = (to_centre + reach).max(self.distance * 1e-2);
        ((to_centre - reach).max(far * 1e-3), far)
    }

    /// Returns the matrix from world to clip space (depth 0 to 1) for an image with aspect ratio `aspect`.
    pub fn clip_from_world(&self, aspect: f32) -> Mat4 {
        let view = rh::view::look_to_mat4(self.eye(), -self.backward(), self.up());
        let (near, far) = self.depth_range();
        let projection = if self.orthographic {
            let half_h = self.half_height();
            let half_w = half_h * aspect;
            rh::proj::directx::orthographic(-half_w, half_w, -half_h, half_h, near, far)
        } else {
            rh::proj::directx::perspective(self.fov_y, aspect, near, far)
        };
        projection * view
    }

    /// Returns half the height of the target plane's visible part, world units.
    pub fn half_height(&self) -> f32 {
        self.distance * (self.fov_y * 0.5).tan()
    }

    /// Returns the size of a pixel in the target plane, world units, in an image of `height_px` pixels.
    pub fn world_per_pixel(&self, height_px: f32) -> f32 {
        2.0 * self.half_height() / height_px.max(1.0)
    }

    /// Orbits the target by a drag in pixels, in an image of `height_px` pixels.
    pub fn orbit(&mut self, drag_px: Vec2, height_px: f32) {
        let radians = std::f32::consts::PI / height_px.max(1.0);
        self.yaw = (self.yaw - drag_px.x * radians).rem_euclid(std::f32::consts::TAU);
        self.pitch = (self.pitch + drag_px.y * radians).clamp(-1.55, 1.55);
    }

    /// Moves the camera and its target against a drag in pixels, so that the scene follows the pointer.
    pub fn pan(&mut self, drag_px: Vec2, height_px: f32) {
        let scale = self.world_per_pixel(height_px);
        self.target += (self.up() * drag_px.y - self.right() * drag_px.x) * scale;
    }

    /// Moves the camera nearer (`factor` < 1) or farther, keeping the point under the pointer fixed. The pointer is given in
    /// pixels from the image's centre, y down.
    pub fn zoom_at(&mut self, factor: f32, from_centre_px: Vec2, height_px: f32) {
        let before = self.distance;
        self.distance = (self.distance * factor).clamp(self.radius * 1e-3, self.radius * 20.0);
        let shift = 1.0 - self.distance / before;
        let scale = 2.0 * before * (self.fov_y * 0.5).tan() / height_px.max(1.0);
        self.target += (self.right() * from_centre_px.x - self.up() * from_centre_px.y) * scale * shift;
    }

    /// Fits a box into the view without changing the direction.
    pub fn fit(&mut self, min: Vec3, max: Vec3, aspect: f32) {
        self.target = (min + max) * 0.5;
        let half = ((max - min) * 0.5).max(Vec3::splat(1e-3));
        let tan = (self.fov_y * 0.5).tan();
        let signs = |i: u32| Vec3::new(sign(i & 1), sign(i & 2), sign(i & 4));
        let needed = (0..8).map(|i| {
            let corner = half * signs(i);
            let (x, y) = (corner.dot(self.right()).abs(), corner.dot(self.up()).abs());
            let nearer = if self.orthographic { 0.0 } else { corner.dot(self.backward()) };
            y.max(x / aspect.max(0.05)) * 1.12 / tan + nearer
        });
        self.distance = needed.fold(1e-3, f32::max);
    }

    /// Sets the bounding sphere, and with it the depth range, to enclose a box.
    pub fn enclose(&mut self, min: Vec3, max: Vec3) {
        self.centre = (min + max) * 0.5;
        self.radius = ((max - min) * 0.5).length().max(1e-3);
    }

    /// Sets a fixed view direction.
    pub fn look_from(&mut self, preset: Preset) {
        use std::f32::consts::{FRAC_PI_2, PI};
        (self.yaw, self.pitch) = match preset {
            Preset::Front => (0.0, 0.0),
            Preset::Back => (PI, 0.0),
            Preset::Left => (-FRAC_PI_2, 0.0),
            Preset::Top => (0.0, 1.55),
        };
    }
}

fn sign(bit: u32) -> f32 {
    if bit == 0 { -1.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ndc(camera: &Camera, p: Vec3) -> Vec3 {
        camera.clip_from_world(1.5).project_point3(p)
    }

    #[test]
    fn x_is_right_and_y_is_up_in_front() {
        for orthographic in [false, true] {
            let camera = Camera { orthographic, ..Camera::default() };
            assert!(ndc(&camera, Vec3::X * 0.5).x > 0.1);
            assert!(ndc(&camera, Vec3::Y * 0.5).y > 0.1);
            assert!(ndc(&camera, Vec3::Z * 0.5).z < ndc(&camera, Vec3::ZERO).z, "towards the viewer is nearer");
        }
    }

    #[test]
    fn both_projections_agree_in_the_target_plane() {
        let near = Camera::default();
        let parallel = Camera { orthographic: true, ..near };
        let p = Vec3::new(0.3, -0.2, 0.0);
        assert!((ndc(&near, p) - ndc(&parallel, p)).truncate().length() < 1e-5);
    }

    #[test]
    fn zoom_keeps_what_is_under_the_pointer() {
        let mut camera = Camera { yaw: 0.7, pitch: 0.3, ..Camera::default() };
        let height = 600.0;
        let scale = camera.world_per_pixel(height);
        let pointer = Vec2::new(120.0, -80.0);
        let p = camera.target + (camera.right() * pointer.x - camera.up() * pointer.y) * scale;
        let before = ndc(&camera, p);
        camera.zoom_at(0.5, pointer, height);
        assert!((ndc(&camera, p) - before).truncate().length() < 1e-4);
    }

    #[test]
    fn fit_shows_every_corner() {
        let (min, max) = (Vec3::new(-4.0, 1.0, -2.0), Vec3::new(6.0, 5.0, 3.0));
        for preset in Preset::ALL {
            for orthographic in [false, true] {
                let mut camera = Camera { orthographic, ..Camera::default() };
                camera.enclose(min, max);
                camera.look_from(preset);
                camera.fit(min, max, 1.5);
                for i in 0..8 {
                    let pick = |bit: usize, a: f32, b: f32| if i >> bit & 1 == 0 { a } else { b };
                    let corner = Vec3::new(pick(0, min.x, max.x), pick(1, min.y, max.y), pick(2, min.z, max.z));
                    let seen = ndc(&camera, corner);
                    assert!(
                        seen.x.abs() <= 1.0 && seen.y.abs() <= 1.0 && (0.0..=1.0).contains(&seen.z),
                        "{preset:?} {seen}"
                    );
                }
            }
        }
    }
}
