//! Highlighted points drawn on top: glowing points and ringed points. They are selected on the CPU, so that a software renderer
//! does not process every point to draw a few.

use super::Look;

/// A highlighted point, as laid out on the device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Light {
    pub position: [f32; 3],
    pub code: u32,
    pub value: f32,
    pub size: f32,
}

/// Size of a light, bytes.
pub(super) const LIGHT: u64 = size_of::<Light>() as u64;

/// Bit of a code that marks selected points.
pub(super) const SELECTED: u32 = 1 << 16;
/// Bit of a code that marks the point under the pointer.
const HOVERED: u32 = 1 << 17;
/// Number of decay times after which a glow has decayed to 2 % and is no longer drawn.
const SEEN: f32 = 3.92;

/// Data of the points on the CPU.
#[derive(Default)]
pub(super) struct PointData {
    pub positions: Vec<[f32; 3]>,
    pub codes: Vec<u32>,
    pub values: Vec<f32>,
    pub sizes: Vec<f32>,
}

impl PointData {
    fn light(&self, index: usize, mark: u32) -> Option<Light> {
        let (position, code) = (*self.positions.get(index)?, self.codes.get(index)? | mark);
        Some(Light { position, code, value: *self.values.get(index)?, size: *self.sizes.get(index)? })
    }

    /// Writes glowing points to the beginning of `out`, then ringed points, each in order; returns the number of glowing points
    /// and of both. Later entries of `out` are stale, because truncating would require writing them again.
    /// With `glow_on_device` there are no glowing points, because the device draws them from its own copies of the data.
    pub fn lights(&self, look: &Look, glow_on_device: bool, out: &mut Vec<Light>) -> (usize, usize) {
        let n_glowing = if glow_on_device { 0 } else { self.glowing(look, out) };
        let rings = self.ringed(look);
        let n = n_glowing + rings.len();
        if out.len() < n {
            out.resize(n, Light::default());
        }
        out[n_glowing..n].copy_from_slice(&rings);
        (n_glowing, n)
    }

    /// Writes glowing points to the beginning of `out`, in order; returns their number. Every point is written and overwritten
    /// by the next unless it glows, because mispredicted branches cost more than the writes.
    fn glowing(&self, look: &Look, out: &mut Vec<Light>) -> usize {
        if look.flags[0] != 2 {
            return 0;
        }
        let until = look.range[2] * SEEN;
        if out.len() < self.values.len() {
            out.resize(self.values.len(), Light::default());
        }
        let mut n = 0;
        let points = self.positions.iter().zip(&self.codes).zip(&self.values).zip(&self.sizes);
        for (((position, code), value), size) in points {
            out[n] = Light { position: *position, code: *code, value: *value, size: *size };
            n += usize::from((*value >= 0.0) & (*value <= until));
        }
        n
    }

    /// Returns the ringed points: selected points if rings are on, and the hovered point.
    fn ringed(&self, look: &Look) -> Vec<Light> {
        let mut rings = vec![];
        if look.flags[1] == 1 {
            let is_selected = |(_, code): &(usize, &u32)| *code & SELECTED != 0;
            rings.extend(self.codes.iter().enumerate().filter(is_selected).filter_map(|(i, _)| self.light(i, 0)));
        }
        let hovered = (look.flags[2] as usize).checked_sub(1);
        rings.extend(hovered.and_then(|i| self.light(i, HOVERED)));
        rings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view3d::{Camera, Vec2, selected};

    #[test]
    fn only_what_is_seen_is_drawn() {
        let given = PointData {
            positions: vec![[0.0; 3]; 4],
            codes: vec![selected(0, false), selected(1, true), selected(2, false), selected(3, false)],
            values: vec![-1.0, 0.0, 391.0, 393.0],
            sizes: vec![1.0; 4],
        };
        let mut look = Look::new(&Camera::default(), Vec2::splat(8.0), 1.0, 1.0);
        let mut lights = vec![];
        assert_eq!(given.lights(&look, false, &mut lights), (0, 0));
        (look.flags, look.range[2]) = ([2, 1, 3, 1], 100.0);
        assert_eq!(given.lights(&look, false, &mut lights), (2, 4));
        let codes: Vec<u32> = lights[..4].iter().map(|l| l.code).collect();
        assert_eq!(codes, [1 | SELECTED, 2, 1 | SELECTED, 2 | HOVERED]);
        assert_eq!(given.lights(&look, true, &mut lights), (0, 2), "the device selects the glowing points");
        look.flags = [0, 2, 9, 1];
        assert_eq!(given.lights(&look, false, &mut lights), (0, 0), "too many for rings, and none at that place");
    }
}
