//! Properties that determine an image, in addition to the points: camera, sizes, colours.

use super::Camera;
use glam::Vec2;

/// Uniforms of an image. Must match `Look` in points.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Look {
    pub clip_from_world: [f32; 16],
    /// Background, RGB in display space; brightness of a glow, 0 to 1, which is less if many points glow.
    pub background: [f32; 4],
    /// Colour of the rings around selected points.
    pub accent: [f32; 4],
    /// Image width and height, pixels; radius of a point in world units × pixels per unit; smallest radius, pixels.
    pub size: [f32; 4],
    /// Depths where fading to the background begins and ends; amount of fading, 0 to 1; 1 if the projection is orthographic.
    pub fog: [f32; 4],
    /// Lowest and highest value of the colormap; decay of the glow in units of the value; brightness of points that do
    /// not glow.
    pub range: [f32; 4],
    /// Mode (0 class, 1 value, 2 glow); selection: 0 none, 1 with rings, 2 without; hovered point + 1; 1 on a dark background.
    pub flags: [u32; 4],
    /// Colour of the surface around the points, and its opacity at the rim, 0 to 1.
    pub shell: [f32; 4],
    /// Position of the eye (w = 0), or its direction for an orthographic projection (w = 1).
    pub eye: [f32; 4],
}

impl Look {
    /// Creates a plain image by class. `radius` of a point is in world units, the smallest radius in pixels.
    pub fn new(camera: &Camera, size_px: Vec2, radius: f32, min_radius_px: f32) -> Self {
        let scale = if camera.orthographic { camera.half_height() } else { (camera.fov_y * 0.5).tan() };
        let (near, far) = camera.depth_range();
        // Orthographic depth is 0 to 1 between the planes, perspective depth is the distance.
        let (near, far, parallel) = if camera.orthographic { (0.0, 1.0, 1.0) } else { (near, far, 0.0) };
        Self {
            clip_from_world: camera.clip_from_world(size_px.x / size_px.y.max(1.0)).to_cols_array(),
            background: [0.0, 0.0, 0.0, 1.0],
            accent: [1.0; 4],
            size: [size_px.x, size_px.y, radius * size_px.y * 0.5 / scale, min_radius_px],
            fog: [near, far, 0.55, parallel],
            range: [0.0, 1.0, 1.0, 1.0],
            flags: [0, 0, 0, 1],
            shell: [0.5, 0.5, 0.5, 0.0],
            eye: if camera.orthographic { camera.backward().extend(1.0) } else { camera.eye().extend(0.0) }.to_array(),
        }
    }

    /// Returns the radius in pixels of a point at a depth given by [`Projector::project`](super::Projector::project).
    pub fn radius_px(&self, depth: f32) -> f32 {
        (self.size[2] / if self.fog[3] > 0.5 { 1.0 } else { depth.max(1e-6) }).max(self.size[3])
    }

    /// Returns the fields that determine the base image, with the fields of the highlights set to 0.
    pub(super) fn of_ground(&self) -> Self {
        let mut look = Self { accent: [0.0; 4], ..*self };
        (look.background[3], look.range[2], look.flags[3]) = (0.0, 0.0, 0);
        look
    }
}
