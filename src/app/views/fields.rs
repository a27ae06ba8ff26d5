//! Latest values of several fields over one set.

use super::{
    ViewCtx,
    chosen::{ListedProbe, NamedProbe},
};
use crate::{
    app::{
        document::{
            color_scales::ColorScales,
            features::{has_probe, probes_where},
            filter::FilterMask,
        },
        kit::{
            self,
            color_scale::{self, FieldScale},
        },
    },
    engine::SimSchema,
    sim::{Frame, Meaning, ProbeId, ProbeSpec, Reading, Shape},
};
use std::{collections::BTreeMap, sync::Arc};

/// Latest values of fields, by probe.
#[derive(Default)]
pub struct Fields {
    values: BTreeMap<ProbeId, Arc<Vec<f32>>>,
    /// Counter that every change increments.
    pub generation: u64,
}

impl Fields {
    /// Stores the wanted fields of a frame and drops fields that are not wanted. Returns whether a field was received.
    pub fn absorb(&mut self, frame: &Frame, wanted: &[ProbeId]) -> bool {
        self.values.retain(|id, _| wanted.contains(id));
        let before = self.generation;
        for id in wanted {
            if let Some(Reading::Field(values)) = frame.reading(*id) {
                self.values.insert(*id, values.clone());
                self.generation += 1;
            }
        }
        before != self.generation
    }

    pub fn clear(&mut self) {
        self.values.clear();
        self.generation += 1;
    }

    /// Returns the values of a field; `None` before they arrive.
    pub fn get(&self, probe: ProbeId) -> Option<&Arc<Vec<f32>>> {
        self.values.get(&probe)
    }

    /// Draws the toolbar control of a field's colour range; nothing before its values arrive.
    pub fn range_ui(&self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>, shown: Option<ProbeId>) {
        let Some(id) = shown else { return };
        if let Some((probe, values)) = ctx.schema.probes.get(usize::from(id)).zip(self.get(id)) {
            ctx.color_scales.choice_ui(ui, ctx.tokens, probe, color_scale::range_of(probe, values));
        }
    }

    /// Fixes the colour range, or unfixes it so that it follows the data. Returns whether it is fixed now; `None` without values.
    pub fn toggle_range(&self, schema: &SimSchema, shown: ProbeId, scales: &mut ColorScales) -> Option<bool> {
        Some(scales.toggle_of(schema.probes.get(usize::from(shown))?, self.get(shown)?))
    }

    /// Draws the controls of the field that colours elements and of its range. `none` is the label of no field, `skipped` the
    /// name of a field that is not offered.
    pub fn color_ui(
        &self,
        ui: &mut egui::Ui,
        ctx: &mut ViewCtx<'_>,
        color_by: &mut Option<ProbeId>,
        set: &str,
        (none, skipped): (String, &str),
    ) {
        let all = over(ctx.schema, set, |meaning| meaning != Meaning::Mask).into_iter();
        let others = all.filter(|(_, probe)| probe.name != skipped).map(|(id, probe)| (Some(id), label(probe)));
        let options: Vec<_> = [(None, none)].into_iter().chain(others).collect();
        kit::choice_ui(ui, ctx.tokens, "Colour", color_by, &options);
        self.range_ui(ui, ctx, *color_by);
    }

    /// Returns a field, its latest values and its scale; `None` before the values arrive.
    pub fn scale(&self, ctx: &ViewCtx<'_>, id: ProbeId) -> Option<(&'static ProbeSpec, Arc<Vec<f32>>, FieldScale)> {
        let (probe, values) = (ctx.schema.probes.get(usize::from(id))?, self.get(id)?);
        Some((probe, values.clone(), ctx.color_scales.scale(probe, values, ctx.tokens)))
    }

    /// Returns the labels and values of fields at an element, for a tooltip. Masks and missing values are left out.
    pub fn texts(&self, schema: &SimSchema, probes: &[ProbeId], element: u32) -> Vec<(String, String)> {
        let is_mask = |id: &&ProbeId| schema.probes[usize::from(**id)].shape.meaning() == Some(Meaning::Mask);
        probes.iter().filter(|id| !is_mask(id)).filter_map(|id| self.text(schema, *id, element)).collect()
    }

    /// Returns the label and the value of a field at an element, for a tooltip; `None` without a value.
    fn text(&self, schema: &SimSchema, probe: ProbeId, element: u32) -> Option<(String, String)> {
        let spec = schema.probes.get(usize::from(probe))?;
        let value = *self.get(probe)?.get(element as usize)?;
        Some((label(spec), crate::app::kit::with_unit(value.into(), spec.unit)))
    }
}

/// Returns the name of a field in queries: the probe's name without `_field`.
pub fn query_name(probe: &ProbeSpec) -> &'static str {
    probe.name.trim_end_matches("_field")
}

/// Returns the label of a field.
pub fn label(probe: &ProbeSpec) -> String {
    probe.label().into_owned()
}

/// Returns the fields over a set whose meaning is wanted.
pub fn over(schema: &SimSchema, set: &str, wanted: impl Fn(Meaning) -> bool) -> Vec<(ProbeId, &'static ProbeSpec)> {
    let fits = |s: &Shape| matches!(s, Shape::Field { over, meaning, .. } if *over == set && wanted(*meaning));
    probes_where(schema, fits).collect()
}

/// Returns the mask field of a set; `None` if it has none.
pub fn mask(schema: &SimSchema, set: &str) -> Option<ProbeId> {
    over(schema, set, |m| m == Meaning::Mask).first().map(|(id, _)| *id)
}

/// Returns the chosen field of angles if it exists, otherwise the first one, and its set. `None` without a field of angles.
pub fn angle(schema: &SimSchema, chosen: NamedProbe) -> Option<(ProbeId, &'static ProbeSpec, &'static str)> {
    let (id, probe) = chosen.of(&angles(schema), |_| true)?;
    if let Shape::Field { over, .. } = probe.shape { Some((id, probe, over)) } else { None }
}

/// Whether there is a field of angles.
pub fn has_angles(schema: &SimSchema) -> bool {
    has_probe(schema, |shape| shape.meaning() == Some(Meaning::Angle))
}

/// Whether a set has two fields of numbers to compare.
pub fn has_pairs(schema: &SimSchema) -> bool {
    schema.sets.iter().any(|set| over(schema, set.name, |meaning| meaning == Meaning::Number).len() > 1)
}

/// Returns all fields of angles.
fn angles(schema: &SimSchema) -> Vec<(ProbeId, &'static ProbeSpec)> {
    probes_where(schema, |s| s.meaning() == Some(Meaning::Angle)).collect()
}

/// Draws a menu of the fields of angles if there are several. Returns whether another one was chosen.
pub fn angle_ui(ui: &mut egui::Ui, ctx: &ViewCtx<'_>, chosen: &mut NamedProbe, shown: &'static ProbeSpec) -> bool {
    let options = named(&angles(ctx.schema));
    options.len() > 1 && chosen.ui(ui, ctx, "Angle", shown, &options)
}

/// Returns the names and labels of probes, for a menu.
pub fn named(probes: &[ListedProbe]) -> Vec<(&'static str, String)> {
    probes.iter().map(|(_, probe)| (probe.name, label(probe))).collect()
}

/// Returns the field that colours elements; `None` if no field or one over another set is chosen.
pub fn color_field(schema: &SimSchema, over: &str, chosen: Option<ProbeId>) -> Option<ProbeId> {
    chosen.filter(|id| self::over(schema, over, |_| true).iter().any(|(field, _)| field == id))
}

/// Collects probe ids, sorted and without duplicates.
pub fn wanted(all: impl IntoIterator<Item = Option<ProbeId>>) -> Vec<ProbeId> {
    let mut all: Vec<ProbeId> = all.into_iter().flatten().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a range is empty up to rounding.
pub fn is_flat(low: f32, high: f32) -> bool {
    low > high || high - low <= 1e-5 * high.abs().max(low.abs())
}

/// Whether all included elements have the same value, judged from a sample of at least 4096 elements (all if there are fewer).
pub fn is_constant(values: &[f32], is_included: impl Fn(usize) -> bool) -> bool {
    let every = (values.len() / 4096).max(1);
    let sample = values.iter().enumerate().step_by(every).filter(|(i, v)| v.is_finite() && is_included(*i));
    let ends = |(low, high): (f32, f32), (_, v): (usize, &f32)| (low.min(*v), high.max(*v));
    let (low, high) = sample.fold((f32::INFINITY, f32::NEG_INFINITY), ends);
    is_flat(low, high)
}

/// Whether a mask includes an element; `true` without a mask.
pub fn is_included(mask: Option<&[f32]>, element: usize) -> bool {
    mask.and_then(|m| m.get(element)).is_none_or(|v| *v > 0.5)
}

/// Mask of the elements that a view includes: by the set's mask field and by the window's filter. It can be moved to the pool.
#[derive(Clone, Default)]
pub struct ElementMask {
    mask: Option<Arc<Vec<f32>>>,
    shown: Option<Arc<Vec<bool>>>,
}

impl ElementMask {
    /// Creates a mask from a mask field only.
    pub fn masked(mask: Option<Arc<Vec<f32>>>) -> Self {
        Self { mask, shown: None }
    }

    /// Creates a mask from values of a mask field at an earlier time, and the filter.
    pub fn then(mask: Option<Arc<Vec<f32>>>, set: &str, filter: &FilterMask) -> Self {
        Self { mask, shown: filter.shared(set) }
    }

    /// Creates a mask from the latest values of a set's mask field, and the filter.
    pub fn of(schema: &SimSchema, set: &str, fields: &Fields, filter: &FilterMask) -> Self {
        let mask = mask(schema, set).and_then(|m| fields.get(m)).cloned();
        Self { mask, shown: filter.shared(set) }
    }

    /// Whether an element is included.
    pub fn has(&self, element: usize) -> bool {
        is_included(self.mask.as_ref().map(|m| m.as_slice()), element)
            && self.shown.as_ref().and_then(|s| s.get(element)).is_none_or(|s| *s)
    }
}
