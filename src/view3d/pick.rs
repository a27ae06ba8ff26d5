//! Picking on the CPU: finds the point under the pointer, or the points inside a lasso.

use super::Camera;
use glam::{Mat4, Vec2, Vec3};

/// Projection from world to pixels for one camera and one image size.
#[derive(Clone, Copy, Debug)]
pub struct Projector {
    clip_from_world: Mat4,
    /// Image size, pixels.
    pub size_px: Vec2,
    orthographic: bool,
}

impl Projector {
    /// Creates a projector for a camera and an image of `size_px` pixels.
    pub fn new(camera: &Camera, size_px: Vec2) -> Self {
        let size_px = size_px.max(Vec2::ONE);
        let clip_from_world = camera.clip_from_world(size_px.x / size_px.y);
        Self { clip_from_world, size_px, orthographic: camera.orthographic }
    }

    /// Projects a point: pixels from the top left, and depth (0 to 1 if orthographic, otherwise the distance from the eye along the view
    /// direction, world units).
    /// `None` for a point before the near plane.
    pub fn project(&self, point: [f32; 3]) -> Option<(Vec2, f32)> {
        let clip = self.clip_from_world * Vec3::from(point).extend(1.0);
        if clip.w <= 1e-6 || clip.z < 0.0 {
            return None;
        }
        let at = Vec2::new(clip.x / clip.w * 0.5 + 0.5, 0.5 - clip.y / clip.w * 0.5) * self.size_px;
        Some((at, if self.orthographic { clip.z } else { clip.w }))
    }

    /// Returns the index of the nearest visible point whose disc covers the pointer, or else the visible point with the closest centre
    /// within `slack_px` pixels. `disc_px` returns the radius of a disc at a depth. Points more than 64 pixels from the pointer
    /// are ignored; `None` if no point is left.
    pub fn pick(
        &self,
        points: &[[f32; 3]],
        visible: impl Fn(usize) -> bool,
        disc_px: impl Fn(f32) -> f32,
        pointer: Vec2,
        slack_px: f32,
    ) -> Option<u32> {
        let mut hit: Option<(f32, u32)> = None;
        let mut near: Option<(f32, u32)> = None;
        for (i, p) in points.iter().enumerate() {
            let Some((at, depth)) = self.project(*p) else { continue };
            let d2 = at.distance_squared(pointer);
            if d2 > 4096.0 || !visible(i) {
                continue;
            }
            let r = disc_px(depth);
            if d2 <= r * r && hit.is_none_or(|(best, _)| depth < best) {
                hit = Some((depth, i as u32));
            }
            if d2 <= slack_px * slack_px && near.is_none_or(|(best, _)| d2 < best) {
                near = Some((d2, i as u32));
            }
        }
        hit.or(near).map(|(_, i)| i)
    }

    /// Returns all visible points inside a polygon in pixels, ascending, including points behind others.
    pub fn inside(&self, points: &[[f32; 3]], visible: impl Fn(usize) -> bool, polygon: &[Vec2]) -> Vec<u32> {
        let (mut min, mut max) = (Vec2::MAX, Vec2::MIN);
        for corner in polygon {
            (min, max) = (min.min(*corner), max.max(*corner));
        }
        let caught = |(i, p): (usize, &[f32; 3])| {
            let (at, _) = self.project(*p)?;
            let in_box = at.cmpge(min).all() && at.cmple(max).all();
            (in_box && visible(i) && inside_polygon(polygon, at)).then_some(i as u32)
        };
        points.iter().enumerate().filter_map(caught).collect()
    }
}

/// Whether a point is inside a polygon (even-odd rule).
pub fn inside_polygon(polygon: &[Vec2], at: Vec2) -> bool {
    let mut inside = false;
    for (i, a) in polygon.iter().enumerate() {
        let b = polygon[(i + 1) % polygon.len()];
        if (a.y > at.y) != (b.y > at.y) && at.x < (b.x - a.x) * (at.y - a.y) / (b.y - a.y) + a.x {
            inside = !inside;
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Vec2 = Vec2::new(800.0, 600.0);

    #[test]
    fn the_nearer_of_two_in_line_is_picked() {
        let points = [[0.0, 0.0, -0.5], [0.0, 0.0, 0.5], [0.9, 0.0, 0.0]];
        for orthographic in [false, true] {
            let projector = Projector::new(&Camera { orthographic, ..Camera::default() }, SIZE);
            let pick = |at| projector.pick(&points, |_| true, |_| 4.0, at, 12.0);
            assert_eq!(pick(SIZE * 0.5), Some(1));
            assert_eq!(pick(SIZE * 0.5 + Vec2::new(0.0, 8.0)).map(|i| i < 2), Some(true), "slack");
            assert_eq!(pick(Vec2::new(5.0, 5.0)), None);
            assert_eq!(projector.pick(&points, |i| i != 1, |_| 4.0, SIZE * 0.5, 4.0), Some(0), "hidden ones are not");
        }
    }

    #[test]
    fn a_lasso_catches_through_depth() {
        let points = [[0.0, 0.0, -0.5], [0.0, 0.0, 0.5], [0.9, 0.0, 0.0]];
        let projector = Projector::new(&Camera::default(), SIZE);
        let c = SIZE * 0.5;
        let diamond = [c + Vec2::X * 20.0, c + Vec2::Y * 20.0, c - Vec2::X * 20.0, c - Vec2::Y * 20.0];
        assert_eq!(projector.inside(&points, |_| true, &diamond), [0, 1]);
        assert!(!inside_polygon(&diamond, c + Vec2::splat(15.0)));
    }
}
