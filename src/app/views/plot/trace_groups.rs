//! Traces of named groups in the traces view: mean and standard deviation of a field over the elements of each group.

use super::{
    line::paint_line,
    samples::{Extent, Samples},
    trace_lane::{lane_label, value_text},
};
use crate::{
    app::{
        document::{
            features::probes_where,
            groups::{Group, Groups},
            time::Timeline,
        },
        kit::{self, colors, text},
        views::ViewCtx,
    },
    engine::SimSchema,
    sim::{ElementSet, Meaning, ProbeId, ProbeSpec, Shape},
};
use egui::{Color32, Context, Mesh, Painter, Rect, Stroke, Ui, pos2};
use std::{collections::BTreeMap, sync::Arc};

/// Maximum number of lanes; only the first groups have one.
const MAX_LANES: usize = 12;
/// Values per sample: mean, mean minus and mean plus standard deviation.
const VALUES: usize = 3;

/// The lanes of the project's named groups.
#[derive(Default)]
pub(super) struct TraceGroups {
    is_shown: bool,
    groups: Groups,
    /// Samples by group. They end with a change of the members.
    samples: BTreeMap<String, Samples>,
    /// Members of the samples ([`Groups::generation`]).
    generation: u64,
}

/// Returns the field with the values of a traced quantity over the same set: `v_field` of `v`. `None` without such a field, and
/// for angles, which have no mean.
fn field_of(schema: &SimSchema, set: &str, trace: &ProbeSpec) -> Option<ProbeId> {
    let short = |name: &'static str| name.strip_suffix("_field").or(name.strip_suffix("_of")).unwrap_or(name);
    let is_number =
        |shape: &Shape| matches!(shape, Shape::Field { over, meaning: Meaning::Number, .. } if *over == set);
    let is_same = |field: &ProbeSpec| field.unit == trace.unit && short(field.name) == short(trace.name);
    probes_where(schema, is_number).find(|(_, field)| is_same(field)).map(|(id, _)| id)
}

/// Returns mean and sample standard deviation of the finite values of some elements; NaN without values.
fn mean_and_deviation(values: &[f32], elements: &[u32]) -> (f32, f32) {
    let of = |e: &u32| values.get(*e as usize).map(|v| f64::from(*v)).filter(|v| v.is_finite());
    let (n, sum) = elements.iter().filter_map(of).fold((0_u64, 0.0), |(n, sum), v| (n + 1, sum + v));
    let mean = sum / n as f64;
    let squares: f64 = elements.iter().filter_map(of).map(|v| (v - mean).powi(2)).sum();
    let deviation = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
    (mean as f32, deviation as f32)
}

impl TraceGroups {
    /// Draws the toggle of the lanes, if the project has groups over the set. Returns whether data must be requested.
    pub fn toggle_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, set: &str, trace: Option<&ProbeSpec>) -> bool {
        if ctx.features.named_over(ctx.schema, set).is_empty() {
            self.is_shown = false;
            return false;
        }
        let has_field = trace.is_some_and(|trace| field_of(ctx.schema, set, trace).is_some());
        let toggle = ui.add_enabled_ui(has_field, |ui| {
            let noun = ctx.schema.set(set).map_or_else(|| set.into(), |set| set.noun());
            let hint = format!("A trace per named group: mean ± standard deviation over its {noun}");
            ui.toggle_value(&mut self.is_shown, "Groups").on_hover_text(hint)
        });
        let why_not = "No mean over groups: the model has no field of this quantity";
        toggle.inner.on_disabled_hover_text(why_not).changed() && self.is_shown
    }

    /// Returns the field that the lanes need; `None` if they are not shown.
    pub fn field(&self, schema: &SimSchema, set: &str, trace: &ProbeSpec) -> Option<ProbeId> {
        if self.is_shown { field_of(schema, set, trace) } else { None }
    }

    /// Finds the members of the groups. Lanes of groups with other members begin again. Returns whether data must be requested.
    pub fn update(&mut self, egui: &Context, ctx: &ViewCtx<'_>, set: &Arc<ElementSet>) -> bool {
        self.groups.update(egui, ctx.schema, ctx.features, set);
        if self.generation == self.groups.generation {
            return false;
        }
        self.generation = self.groups.generation;
        // Slots get other individuals all the time; their lane is the mean of the present ones.
        if !set.are_slots {
            self.clear();
        }
        self.is_shown && !set.are_slots
    }

    /// Clears all samples.
    pub fn clear(&mut self) {
        self.samples.clear();
    }

    /// Adds a state of the field.
    pub fn absorb(&mut self, step: u64, values: &[f32]) {
        let Some(groups) = self.groups.get().filter(|_| self.is_shown) else { return };
        for group in groups.iter().take(MAX_LANES) {
            let (mean, deviation) = mean_and_deviation(values, &group.elements);
            if mean.is_finite() {
                let samples = self.samples.entry(group.name.clone()).or_default();
                samples.push(VALUES, &[step], &[mean, mean - deviation, mean + deviation]);
            }
        }
    }

    /// Returns the part of the caption about the traces of `noun`; empty if there are none.
    pub fn caption(&self, noun: &str) -> String {
        let Some(groups) = self.groups.get().filter(|groups| self.is_shown && !groups.is_empty()) else {
            return String::new();
        };
        let all = text::plural(groups.len(), "group", "groups");
        let shown = if groups.len() > MAX_LANES { format!("first {MAX_LANES} of {all}") } else { all };
        format!("  |  {shown}: mean ± standard deviation over the n {noun}")
    }

    /// Returns the lanes with their extents in the pixel columns of the visible times.
    pub fn drawn(&self, line: &Timeline, columns: usize) -> Vec<DrawnGroup<'_>> {
        let lane = |group| {
            let samples = self.samples_of(group);
            let of = |value| samples.map(|s| s.extents(value, &s.cuts(line.t0, line.t1, columns))).unwrap_or_default();
            DrawnGroup { group, extents: [0, 1, 2].map(of), samples }
        };
        self.lanes().iter().map(lane).collect()
    }

    fn samples_of(&self, group: &Group) -> Option<&Samples> {
        self.samples.get(&group.name)
    }

    /// Returns the groups that have lanes.
    pub fn lanes(&self) -> &[Group] {
        let groups = self.groups.get().filter(|_| self.is_shown).map_or(&[][..], |groups| groups);
        &groups[..groups.len().min(MAX_LANES)]
    }
}

/// Lane of a group.
pub(super) struct DrawnGroup<'a> {
    group: &'a Group,
    /// Extents of the mean, of the lower and of the upper edge of the band.
    extents: [Vec<Extent>; VALUES],
    /// Samples of the lane; `None` before the first one.
    samples: Option<&'a Samples>,
}

impl DrawnGroup<'_> {
    /// Iterates over all extents, for the range of the axis.
    pub fn extents(&self) -> impl Iterator<Item = &Extent> {
        self.extents.iter().flatten()
    }

    /// Draws the band, the mean and the label. `left` is the edge of the labels, `at` the step whose value is shown.
    pub fn paint(
        &self,
        ui: &Ui,
        painter: &Painter,
        (lane, left): (Rect, f32),
        at: Option<f64>,
        (y, unit): (&dyn Fn(f32) -> f32, &str),
        ctx: &ViewCtx<'_>,
    ) {
        let Group { name, elements, problem } = self.group;
        let color = match ctx.features.colors.get(name) {
            Some(number) => colors::categorical(usize::from((*number).max(1) - 1), ctx.tokens),
            None => ctx.tokens.text_strong,
        };
        let inside = painter.with_clip_rect(lane.intersect(painter.clip_rect()));
        let px = ui.pixels_per_point();
        let x = |column: f32| lane.left() + column / px;
        let [mean, low, high] = &self.extents;
        inside.add(band(low, high, x, y, color.gamma_multiply(0.25)));
        paint_line(&inside, mean, x, y, Stroke::new(1.5, color));
        let value = |i: usize| self.samples.and_then(|s| at.map_or_else(|| s.last(i), |step| s.at(i, step)));
        let deviation = value(2).zip(value(0)).map(|(high, mean)| high - mean);
        let numbers = match (problem, deviation) {
            (Some(why), _) => why.clone(),
            (None, Some(sd)) => format!("{} ± {}", value_text(value(0), ""), value_text(Some(sd), unit)),
            (None, None) => "—".to_owned(),
        };
        let name = format!("{name} (n = {})", kit::thousands(elements.len() as u64));
        lane_label(ui, painter, (lane, left), (&name, &numbers), color, ctx);
    }
}

/// Returns the area between the lower and the upper edge of a band, interrupted at gaps.
fn band(low: &[Extent], high: &[Extent], x: impl Fn(f32) -> f32, y: impl Fn(f32) -> f32, color: Color32) -> Mesh {
    let mut mesh = Mesh::default();
    for (i, (low, high)) in low.iter().zip(high).enumerate() {
        mesh.colored_vertex(pos2(x(low.column), y(low.min)), color);
        mesh.colored_vertex(pos2(x(high.column), y(high.max)), color);
        if i > 0 && !low.gap {
            let k = 2 * i as u32;
            mesh.add_triangle(k - 2, k - 1, k);
            mesh.add_triangle(k - 1, k, k + 1);
        }
    }
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_is_one_sample_deviation_over_the_elements() {
        let values = [1.0, 2.0, 3.0, 100.0, f32::NAN];
        assert_eq!(mean_and_deviation(&values, &[0, 1, 2, 4, 9]), (2.0, 1.0), "empty slots are left out");
        assert_eq!(mean_and_deviation(&values, &[3]), (100.0, 0.0));
        assert!(mean_and_deviation(&values, &[]).0.is_nan());
    }

    #[test]
    fn the_field_of_a_trace_has_its_quantity_and_is_no_angle() {
        let probes: Vec<_> = crate::kinds::Model::all()
            .into_iter()
            .filter(|model| ["spiking", "nuclei"].contains(&model.name()))
            .collect();
        let field = |kind: usize, name: &str| {
            let schema = SimSchema { probes: probes[kind].probes(), ..SimSchema::default() };
            let trace = schema.probes.iter().find(|probe| probe.name == name).expect(name);
            let Shape::Series { of } = trace.shape else { panic!("{name} is no trace") };
            field_of(&schema, of, trace).map(|id| schema.probes[usize::from(id)].name)
        };
        assert_eq!([field(0, "v"), field(0, "g")], [Some("v_field"), None]);
        assert_eq!([field(1, "fitness_of"), field(1, "phase_of")], [Some("fitness_field"), None]);
    }
}
