//! Moving elements: two fields give the positions on a cylinder, updated every frame.

use super::View3d;
use crate::{
    app::views::{ViewCtx, fields},
    engine::SimSchema,
    sim::{ElementSet, Frame, ProbeId},
    view3d::{Projector, Vec2, Vec3},
};
use egui::{Painter, Rect, Stroke};
use rayon::prelude::*;
use std::f32::consts::TAU;

/// Above this number of elements, positions are computed by several threads.
const SHARED: usize = 20_000;
/// Camera elevation that shows the height of the cylinder, pointing up.
const TILT: f32 = -1.1;
/// Bounds of the cylinder.
const BOUNDS: (Vec3, Vec3) = (Vec3::new(-1.0, -1.0, 0.0), Vec3::new(1.0, 1.0, 1.0));

impl View3d {
    /// The fields that move the shown set, if motion is switched on: angle, height, mask.
    pub(super) fn motion_fields(&self, schema: &SimSchema) -> Option<(ProbeId, ProbeId, Option<ProbeId>)> {
        let set = self.set.as_ref().filter(|_| !self.motion_off)?;
        let course = set.motion?;
        Some((schema.probe(course.angle)?, schema.probe(course.height)?, fields::mask(schema, set.name)))
    }

    /// Takes the fields of a frame. Unchanged positions are not uploaded again.
    pub(super) fn follow_motion(&mut self, schema: &SimSchema, frame: &Frame) {
        let Some((angle, height, mask)) = self.motion_fields(schema) else { return };
        let wanted: Vec<ProbeId> = [angle, height].into_iter().chain(mask).collect();
        if !self.course_fields.absorb(frame, &wanted) {
            return;
        }
        let get = |id: ProbeId| self.course_fields.get(id).map(|v| v.as_slice());
        let (Some(angles), Some(heights)) = (get(angle), get(height)) else { return };
        let places = places(angles, heights, mask.and_then(get));
        if places.iter().flatten().any(|x| x.is_finite()) && !is_same(&places, &self.places) {
            if self.places.is_empty() {
                (self.camera.yaw, self.camera.pitch, self.needs_fit) = (0.0, TILT, true);
            }
            (self.places, self.bounds) = (places, BOUNDS);
            self.camera.enclose(BOUNDS.0, BOUNDS.1);
            self.places_generation += 1;
        }
    }

    /// Current positions of the elements.
    pub(super) fn places<'a>(&'a self, set: &'a ElementSet) -> &'a [[f32; 3]] {
        if self.places.len() == set.positions.len() { &self.places } else { &set.positions }
    }

    /// Whether the elements are at positions given by fields.
    pub(super) fn is_in_motion(&self) -> bool {
        !self.places.is_empty()
    }

    /// Back to the static positions of the set.
    pub(super) fn stop_motion(&mut self) {
        if let Some(set) = self.set.clone().filter(|_| !self.places.is_empty()) {
            self.places.clear();
            self.set_generation += 1;
            self.enclose(&set);
            (self.camera.yaw, self.camera.pitch, self.needs_fit) = (0.0, 0.0, true);
        }
        self.course_fields.clear();
    }

    /// Draws the rims of the cylinder.
    pub(super) fn paint_motion(&self, painter: &Painter, canvas: Rect, size_px: Vec2, scale: f32, ctx: &ViewCtx<'_>) {
        let projector = Projector::new(&self.camera, size_px);
        let at = |turn: f32, z: f32| {
            let (sin, cos) = (turn * TAU).sin_cos();
            let (at, _) = projector.project([cos, sin, z])?;
            Some(canvas.min + egui::vec2(at.x, at.y) / scale)
        };
        for z in [0.0, 1.0] {
            let rim: Vec<_> = (0..=72).filter_map(|i| at(i as f32 / 72.0, z)).collect();
            painter.line(rim, Stroke::new(1.0, ctx.tokens.line));
        }
    }
}

fn places(angles: &[f32], heights: &[f32], mask: Option<&[f32]>) -> Vec<[f32; 3]> {
    let place = |i: usize| {
        let (sin, cos) = angles[i].sin_cos();
        let height = heights.get(i).copied().unwrap_or(f32::NAN);
        if fields::is_included(mask, i) { [cos, sin, height] } else { [f32::NAN; 3] }
    };
    if angles.len() > SHARED {
        (0..angles.len()).into_par_iter().map(place).collect()
    } else {
        (0..angles.len()).map(place).collect()
    }
}

fn is_same(a: &[[f32; 3]], b: &[[f32; 3]]) -> bool {
    bytemuck::cast_slice::<_, u32>(a) == bytemuck::cast_slice::<_, u32>(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_elements_have_no_position() {
        let places = places(&[0.0, TAU / 4.0, f32::NAN], &[0.5, 0.25, 0.5], Some(&[1.0, 1.0, 0.0]));
        assert_eq!(places[0], [1.0, 0.0, 0.5]);
        assert!((places[1][1] - 1.0).abs() < 1e-6 && places[2].iter().all(|x| x.is_nan()));
        assert!(is_same(&places, &places.clone()), "unchanged NaNs count as equal");
    }
}
