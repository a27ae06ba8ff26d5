//! Positions and sizes of elements that fields determine in every frame: the fields that the set declares, or those that the user
//! chose.

use super::{View3d, axis_box};
use crate::{
    app::{
        kit,
        views::{
            ViewCtx,
            fields::{self, Fields},
        },
    },
    engine::SimSchema,
    sim::{ElementSet, Frame, MotionFields, ProbeId, ProbeSpec},
    view3d::{Projector, Vec2, Vec3},
};
use egui::{Painter, Rect, Stroke, Ui};
use rayon::prelude::*;
use std::f32::consts::TAU;

/// Number of elements above which several threads compute positions.
const SHARED: usize = 20_000;
/// Bounds of the cylinder in the coordinates of the view.
const CYLINDER: (Vec3, Vec3) = (Vec3::new(-1.0, -1.0, 0.0), Vec3::ONE);
/// Bounds of the box of three axes, with a margin for their names.
const BOX: (Vec3, Vec3) = (Vec3::splat(-1.2), Vec3::splat(1.2));
/// Relative radii of the smallest and of the largest value.
const SIZES: (f32, f32) = (0.35, 1.6);

/// User's choice of positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Placing {
    /// The motion that the set declares, or its positions without one.
    #[default]
    Declared,
    Fixed,
    /// Fields of x, y and z, by name.
    Axes([String; 3]),
}

/// Fields that determine the positions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Axes {
    Cylinder([ProbeId; 2]),
    Box([ProbeId; 3]),
}

/// Arrangement of the elements that the camera was turned to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Framing {
    #[default]
    Fixed,
    Cylinder,
    Box,
}

/// Positions and sizes of the elements.
#[derive(Default)]
pub(super) struct Placement {
    placing: Placing,
    /// Name of the field of sizes; empty: equal sizes; `None`: the field that the set declares.
    size_by: Option<String>,
    fields: Fields,
    /// Positions from fields; empty: the positions of the set.
    pub places: Vec<[f32; 3]>,
    /// Counter that every change of the positions increments.
    pub places_generation: u64,
    /// Relative radii; empty: equal sizes.
    pub sizes: Vec<f32>,
    /// Counter that every change of the sizes increments.
    pub sizes_generation: u64,
    /// Range of each axis so far. It only grows, so that points do not jump.
    ranges: [(f32, f32); 3],
    axes: Option<Axes>,
    framing: Framing,
}

impl Placement {
    /// Removes positions and sizes; choices and the camera stay.
    pub fn clear(&mut self) {
        self.places.clear();
        self.sizes.clear();
        self.fields.clear();
        self.ranges = [EMPTY; 3];
        self.axes = None;
        self.places_generation += 1;
        self.sizes_generation += 1;
    }

    /// Formats the choices as text: `places=x,y,z;size=load`. `None` if the set's declarations are used.
    pub fn to_text(&self) -> Option<String> {
        let places = match &self.placing {
            Placing::Declared => None,
            Placing::Fixed => Some("places=fixed".to_owned()),
            Placing::Axes(names) => Some(format!("places={}", names.join(","))),
        };
        let size = self.size_by.as_ref().map(|name| format!("size={name}"));
        let parts: Vec<String> = places.into_iter().chain(size).collect();
        (!parts.is_empty()).then(|| parts.join(";"))
    }

    /// Parses choices; ignores unknown parts.
    pub fn choose(&mut self, text: &str) {
        for (name, value) in text.split(';').filter_map(|part| part.split_once('=')) {
            let mut names = value.split(',').map(str::to_owned);
            match (name, names.next(), names.next(), names.next()) {
                ("places", Some(x), Some(y), Some(z)) => self.placing = Placing::Axes([x, y, z]),
                ("places", Some(word), ..) if word == "fixed" => self.placing = Placing::Fixed,
                ("size", Some(name), ..) => self.size_by = Some(name),
                _ => {}
            }
        }
    }
}

/// Range without values.
const EMPTY: (f32, f32) = (f32::INFINITY, f32::NEG_INFINITY);

fn extend((low, high): (f32, f32), values: &[f32]) -> (f32, f32) {
    let finite = values.iter().filter(|v| v.is_finite());
    finite.fold((low, high), |(a, b), v| (a.min(*v), b.max(*v)))
}

impl View3d {
    fn axes(&self, schema: &SimSchema) -> Option<Axes> {
        let ids = |names: [&str; 3]| {
            Some(Axes::Box([schema.probe(names[0])?, schema.probe(names[1])?, schema.probe(names[2])?]))
        };
        match (&self.placement.placing, self.set.as_ref()?.motion) {
            (Placing::Axes(names), _) => ids(names.each_ref().map(String::as_str)),
            (Placing::Fixed, _) | (_, None) => None,
            (_, Some(MotionFields::Axes(names))) => ids(names),
            (_, Some(MotionFields::Cylinder { angle, height })) => {
                Some(Axes::Cylinder([schema.probe(angle)?, schema.probe(height)?]))
            }
        }
    }

    fn size_field(&self, schema: &SimSchema) -> Option<ProbeId> {
        let set = self.set.as_ref()?;
        let name = self.placement.size_by.as_deref().or(set.size).filter(|name| !name.is_empty())?;
        schema.probe(name)
    }

    /// Returns the fields of positions and sizes of the shown set, and the mask of occupied slots if fields determine positions.
    pub(super) fn place_fields(&self, schema: &SimSchema) -> Vec<ProbeId> {
        let axes = self.axes(schema);
        let mask = self.set.as_ref().filter(|_| axes.is_some()).and_then(|set| fields::mask(schema, set.name));
        let axes = match axes {
            Some(Axes::Cylinder(ids)) => ids.to_vec(),
            Some(Axes::Box(ids)) => ids.to_vec(),
            None => vec![],
        };
        axes.into_iter().chain(mask).chain(self.size_field(schema)).collect()
    }

    /// Updates positions and sizes from a frame. Unchanged ones keep their generation and are not uploaded again.
    pub(super) fn follow_motion(&mut self, schema: &SimSchema, frame: &Frame) {
        let (axes, size, wanted) = (self.axes(schema), self.size_field(schema), self.place_fields(schema));
        if axes.is_none() && self.is_in_motion() {
            self.stop_motion();
        }
        if !self.placement.fields.absorb(frame, &wanted) {
            return;
        }
        if self.placement.axes != axes {
            (self.placement.axes, self.placement.ranges) = (axes, [EMPTY; 3]);
        }
        self.place(schema, axes);
        let sizes = size.and_then(|id| self.placement.fields.get(id)).map(|values| sizes(values)).unwrap_or_default();
        if sizes != self.placement.sizes {
            self.placement.sizes = sizes;
            self.placement.sizes_generation += 1;
        }
    }

    fn place(&mut self, schema: &SimSchema, axes: Option<Axes>) {
        let Some(set) = self.set.clone() else { return };
        let all = &self.placement.fields;
        let get = |id: ProbeId| all.get(id).map(|v| v.as_slice());
        let mask = fields::mask(schema, set.name).and_then(get);
        let (places, framing, bounds) = match axes {
            Some(Axes::Cylinder([angle, height])) => {
                let (Some(angles), Some(heights)) = (get(angle), get(height)) else { return };
                (on_cylinder(angles, heights, mask), Framing::Cylinder, CYLINDER)
            }
            Some(Axes::Box(ids)) => {
                let [Some(x), Some(y), Some(z)] = ids.map(get) else { return };
                let values = [x, y, z];
                self.placement.ranges = std::array::from_fn(|i| extend(self.placement.ranges[i], values[i]));
                let units = ids.map(|id| schema.probes[usize::from(id)].unit);
                (in_box(values, self.placement.scales(units), mask), Framing::Box, BOX)
            }
            None => return,
        };
        if places.iter().flatten().any(|x| x.is_finite()) && !is_same(&places, &self.placement.places) {
            self.placement.places = places;
            self.viewport.bounds = bounds;
            self.frame(framing);
            self.camera.enclose(bounds.0, bounds.1);
            self.placement.places_generation += 1;
        }
    }

    /// Turns and fits the camera if the arrangement of the elements has changed.
    fn frame(&mut self, framing: Framing) {
        if std::mem::replace(&mut self.placement.framing, framing) != framing {
            (self.camera.yaw, self.camera.pitch) = match framing {
                Framing::Fixed => (0.0, 0.0),
                // The axis of the cylinder points up.
                Framing::Cylinder => (0.0, -1.1),
                Framing::Box => (0.6, -0.45),
            };
            self.viewport.needs_fit = true;
        }
    }

    /// Returns the current positions of the elements.
    pub(super) fn places<'a>(&'a self, set: &'a ElementSet) -> &'a [[f32; 3]] {
        let places = &self.placement.places;
        if places.len() == set.len as usize { places } else { &set.positions }
    }

    /// Whether fields determine the positions of the elements.
    pub(super) fn is_in_motion(&self) -> bool {
        !self.placement.places.is_empty()
    }

    /// Returns to the static positions of the set.
    pub(super) fn stop_motion(&mut self) {
        if let Some(set) = self.set.clone().filter(|_| self.is_in_motion()) {
            self.set_generation += 1;
            if !set.positions.is_empty() {
                self.enclose(&set);
                self.frame(Framing::Fixed);
            }
        }
        self.placement.clear();
    }

    /// Draws the toolbar controls of positions and sizes.
    pub(super) fn place_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, set: &ElementSet) {
        let all: Vec<(ProbeId, &ProbeSpec)> = self.fields(ctx.schema);
        if all.is_empty() {
            return;
        }
        let names: Vec<(String, String)> =
            all.iter().map(|(_, p)| (p.name.to_owned(), p.label().into_owned())).collect();
        let mut options = vec![];
        match set.motion {
            Some(MotionFields::Cylinder { .. }) => options.push((Placing::Declared, "cylinder".to_owned())),
            Some(MotionFields::Axes(_)) => options.push((Placing::Declared, "default fields".to_owned())),
            None => options.push((Placing::Declared, "fixed".to_owned())),
        }
        if set.motion.is_some() && !set.positions.is_empty() {
            options.push((Placing::Fixed, "fixed".to_owned()));
        }
        let mut now = self.placement.placing.clone();
        let axes = match &now {
            Placing::Axes(names) => names.clone(),
            _ => std::array::from_fn(|i| names[i.min(names.len() - 1)].0.clone()),
        };
        options.push((Placing::Axes(axes), "fields".to_owned()));
        let mut is_changed = kit::choice_ui(ui, ctx.tokens, "Position", &mut now, &options);
        if let Placing::Axes(axes) = &mut now {
            for (axis, name) in axes.iter_mut().zip(["x", "y", "z"]) {
                is_changed |= kit::choice_ui(ui, ctx.tokens, name, axis, &names);
            }
        }
        let mut size = self.placement.size_by.clone().unwrap_or_else(|| set.size.unwrap_or_default().to_owned());
        let sizes: Vec<_> = [(String::new(), "equal".to_owned())].into_iter().chain(names).collect();
        if kit::choice_ui(ui, ctx.tokens, "Size", &mut size, &sizes) {
            self.placement.size_by = Some(size);
            self.placement.sizes.clear();
            self.placement.sizes_generation += 1;
        }
        if is_changed {
            self.stop_motion();
            self.placement.placing = now;
        }
    }

    /// Draws the edges of the cylinder, or the box of the axes with their names and ranges.
    pub(super) fn paint_motion(&self, painter: &Painter, canvas: Rect, size_px: Vec2, scale: f32, ctx: &ViewCtx<'_>) {
        let projector = Projector::new(&self.camera, size_px);
        let at = |place: [f32; 3]| {
            let (at, _) = projector.project(place)?;
            Some(canvas.min + egui::vec2(at.x, at.y) / scale)
        };
        let stroke = Stroke::new(1.0, ctx.tokens.line);
        let Some(Axes::Box(ids)) = self.placement.axes else {
            for z in [0.0, 1.0] {
                let point = |i: i32| {
                    let (sin, cos) = (i as f32 / 72.0 * TAU).sin_cos();
                    at([cos, sin, z])
                };
                painter.line((0..=72).filter_map(point).collect(), stroke);
            }
            return;
        };
        let named = |(axis, id): (usize, ProbeId)| {
            let probe = ctx.schema.probes.get(usize::from(id))?;
            let value = |v: f32| kit::with_unit((f64::from(v) * 1e3).round() / 1e3, probe.unit);
            let (low, high) = self.placement.ranges[axis];
            Some(axis_box::AxisTexts { name: probe.label().into_owned(), ends: [value(low), value(high)] })
        };
        let texts: Vec<_> = ids.into_iter().enumerate().map(named).collect();
        axis_box::paint(painter, canvas, &at, &texts, ctx.tokens);
    }
}

impl Placement {
    /// Returns the middle and half width of each axis. Axes with a common unit have the widest half width.
    fn scales(&self, units: [&str; 3]) -> [(f32, f32); 3] {
        let own = self.ranges.map(|(low, high)| ((low + high) / 2.0, ((high - low) / 2.0).max(1e-12)));
        let is_one = !units[0].is_empty() && units.iter().all(|unit| *unit == units[0]);
        let widest = own.iter().map(|(_, half)| *half).fold(0.0, f32::max);
        own.map(|(middle, half)| (middle, if is_one { widest } else { half }))
    }
}

/// Computes all positions, with several threads if there are more than [`SHARED`].
fn all_places(n: usize, place: impl Fn(usize) -> [f32; 3] + Sync + Send) -> Vec<[f32; 3]> {
    if n > SHARED { (0..n).into_par_iter().map(place).collect() } else { (0..n).map(place).collect() }
}

fn on_cylinder(angles: &[f32], heights: &[f32], mask: Option<&[f32]>) -> Vec<[f32; 3]> {
    all_places(angles.len(), |i| {
        let (sin, cos) = angles[i].sin_cos();
        let height = heights.get(i).copied().unwrap_or(f32::NAN);
        if fields::is_included(mask, i) { [cos, sin, height] } else { [f32::NAN; 3] }
    })
}

fn in_box(values: [&[f32]; 3], scales: [(f32, f32); 3], mask: Option<&[f32]>) -> Vec<[f32; 3]> {
    all_places(values[0].len(), |i| {
        let value = |axis: usize| values[axis].get(i).copied().unwrap_or(f32::NAN);
        let place = std::array::from_fn(|axis| (value(axis) - scales[axis].0) / scales[axis].1);
        if fields::is_included(mask, i) { place } else { [f32::NAN; 3] }
    })
}

/// Returns relative radii. The growth of the radius with the square root of the value begins at zero, or at the lowest value if
/// it is negative.
fn sizes(values: &[f32]) -> Vec<f32> {
    let (low, high) = extend((0.0, f32::MIN_POSITIVE), values);
    let size = |v: &f32| SIZES.0 + (SIZES.1 - SIZES.0) * ((v - low) / (high - low)).clamp(0.0, 1.0).sqrt();
    values.iter().map(|v| if v.is_finite() { size(v) } else { SIZES.0 }).collect()
}

fn is_same(a: &[[f32; 3]], b: &[[f32; 3]]) -> bool {
    bytemuck::cast_slice::<_, u32>(a) == bytemuck::cast_slice::<_, u32>(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_elements_have_no_position() {
        let places = on_cylinder(&[0.0, TAU / 4.0, f32::NAN], &[0.5, 0.25, 0.5], Some(&[1.0, 1.0, 0.0]));
        assert_eq!(places[0], [1.0, 0.0, 0.5]);
        assert!((places[1][1] - 1.0).abs() < 1e-6 && places[2].iter().all(|x| x.is_nan()));
        assert!(is_same(&places, &places.clone()), "unchanged NaNs count as equal");
    }

    #[test]
    fn three_fields_fill_a_box_and_one_unit_has_one_scale() {
        let mut placement = Placement { ranges: [(0.0, 10.0), (0.0, 1.0), (-1.0, 1.0)], ..Placement::default() };
        let place = |p: &Placement, units| in_box([&[10.0], &[0.5], &[1.0]], p.scales(units), None);
        assert_eq!(place(&placement, ["s", "", ""]), [[1.0, 0.0, 1.0]]);
        assert_eq!(place(&placement, ["mm"; 3]), [[1.0, 0.0, 0.2]]);
        placement.ranges[0] = extend(placement.ranges[0], &[20.0, f32::NAN]);
        assert_eq!(placement.ranges[0], (0.0, 20.0));
    }

    #[test]
    fn sizes_grow_with_the_value_and_choices_are_read_back() {
        let radii = sizes(&[0.0, 0.25, 1.0, f32::NAN]);
        assert!(radii == [SIZES.0, (SIZES.0 + SIZES.1) / 2.0, SIZES.1, SIZES.0], "{radii:?}");
        let mut placement = Placement::default();
        assert_eq!(placement.to_text(), None);
        for text in ["places=a,b,c;size=load", "places=fixed;size="] {
            placement.choose(text);
            assert_eq!(placement.to_text().as_deref(), Some(text));
        }
    }
}
