//! The latest values of some fields over one set: what views of several fields at once hold.

use super::{ViewCtx, colors, filter::FilterMask, kit, probes_where, tints::Tints};
use crate::{
    engine::SimSchema,
    sim::{Frame, Meaning, ProbeId, ProbeSpec, Reading, Shape},
};
use std::{collections::BTreeMap, sync::Arc};

/// The latest values, by probe.
#[derive(Default)]
pub struct Fields {
    values: BTreeMap<ProbeId, Arc<Vec<f32>>>,
    /// Counts up with every change.
    pub generation: u64,
}

impl Fields {
    /// Takes what a frame has of the wanted fields, and forgets the others. Whether anything came.
    pub fn absorb(&mut self, frame: &Frame, wanted: &[ProbeId]) -> bool {
        self.values.retain(|id, _| wanted.contains(id));
        let before = self.generation;
        for id in wanted {
            if let Some(Reading::Field(values)) = frame.reading(*id) {
                self.values.insert(*id, Arc::new(values.clone()));
                self.generation += 1;
            }
        }
        before != self.generation
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.values.clear();
        self.generation += 1;
    }

    /// The values of a field; none before they have come.
    pub fn get(&self, probe: ProbeId) -> Option<&Arc<Vec<f32>>> {
        self.values.get(&probe)
    }

    /// The range of the colours of a field, in a toolbar.
    pub fn range_ui(&self, ui: &mut egui::Ui, ctx: &mut ViewCtx<'_>, shown: Option<ProbeId>) {
        let Some(id) = shown else { return };
        if let Some((probe, values)) = ctx.schema.probes.get(usize::from(id)).zip(self.get(id)) {
            ctx.tints.choice_ui(ui, ctx.tokens, probe, colors::range_of(probe, values));
        }
    }

    /// Keeps it, or lets it follow the data again; whether it is kept now. None when there is nothing yet.
    pub fn toggle_range(&self, schema: &SimSchema, shown: ProbeId, tints: &mut Tints) -> Option<bool> {
        Some(tints.toggle_of(schema.probes.get(usize::from(shown))?, self.get(shown)?))
    }

    /// One value, as a tooltip says it.
    pub fn text(&self, schema: &SimSchema, probe: ProbeId, element: u32) -> Option<(String, String)> {
        let spec = schema.probes.get(usize::from(probe))?;
        let value = *self.get(probe)?.get(element as usize)?;
        Some((label(spec), super::kit::with_unit(value.into(), spec.unit)))
    }
}

/// How a field is called in a query.
pub fn word(probe: &ProbeSpec) -> &'static str {
    probe.name.trim_end_matches("_field")
}

/// How a field is called.
pub fn label(probe: &ProbeSpec) -> String {
    if probe.title.is_empty() { kit::spaced(word(probe)) } else { probe.title.to_owned() }
}

/// The same with its unit, as at an axis.
pub fn title(probe: &ProbeSpec) -> String {
    if probe.unit.is_empty() { label(probe) } else { format!("{} ({})", label(probe), probe.unit) }
}

/// The fields over a set with a meaning that is wanted.
pub fn over(schema: &SimSchema, set: &str, wanted: impl Fn(Meaning) -> bool) -> Vec<(ProbeId, &'static ProbeSpec)> {
    let fits = |s: &Shape| matches!(s, Shape::Field { over, meaning, .. } if *over == set && wanted(*meaning));
    probes_where(schema, fits).collect()
}

/// The field that says which elements of a set take part, when there is one.
pub fn mask(schema: &SimSchema, set: &str) -> Option<ProbeId> {
    over(schema, set, |m| m == Meaning::Mask).first().map(|(id, _)| *id)
}

/// The field of angles with a name, else the first; and the set it is over.
pub fn angle(schema: &SimSchema, chosen: Option<&str>) -> Option<(ProbeId, &'static ProbeSpec, &'static str)> {
    let is_chosen = |(_, probe): &&(ProbeId, &'static ProbeSpec)| Some(probe.name) == chosen;
    let all = angles(schema);
    let (id, probe) = all.iter().find(is_chosen).or(all.first())?;
    if let Shape::Field { over, .. } = probe.shape { Some((*id, *probe, over)) } else { None }
}

/// All fields of angles.
fn angles(schema: &SimSchema) -> Vec<(ProbeId, &'static ProbeSpec)> {
    probes_where(schema, |s| s.meaning() == Some(Meaning::Angle)).collect()
}

/// Which of several fields of angles, in a toolbar; the one that was chosen now.
pub fn angle_ui(ui: &mut egui::Ui, ctx: &ViewCtx<'_>, shown: &'static str) -> Option<&'static str> {
    let all: Vec<_> = angles(ctx.schema).into_iter().map(|(_, p)| (p.name, label(p))).collect();
    let mut chosen = shown;
    (all.len() > 1 && kit::choice_ui(ui, ctx.tokens, "Angle", &mut chosen, &all)).then_some(chosen)
}

/// What a view wants of some fields it may show, each once.
pub fn wanted(all: impl IntoIterator<Item = Option<ProbeId>>) -> Vec<ProbeId> {
    let mut all: Vec<ProbeId> = all.into_iter().flatten().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether values from the lowest to the highest are the same: rounding is no spread.
pub fn is_flat(low: f32, high: f32) -> bool {
    low > high || high - low <= 1e-5 * high.abs().max(low.abs())
}

/// Whether all who take part have the same value. A sample says as much, and costs nothing with many.
pub fn is_same(values: &[f32], takes_part: impl Fn(usize) -> bool) -> bool {
    let every = (values.len() / 4096).max(1);
    let sample = values.iter().enumerate().step_by(every).filter(|(i, v)| v.is_finite() && takes_part(*i));
    let ends = |(low, high): (f32, f32), (_, v): (usize, &f32)| (low.min(*v), high.max(*v));
    let (low, high) = sample.fold((f32::INFINITY, f32::NEG_INFINITY), ends);
    is_flat(low, high)
}

/// Whether an element takes part: yes, when nobody says.
pub fn takes_part(mask: Option<&[f32]>, element: usize) -> bool {
    mask.and_then(|m| m.get(element)).is_none_or(|v| *v > 0.5)
}

/// Who takes part: those of whom the set's mask says so, and whom the window's filter shows. To take along to the pool.
#[derive(Clone, Default)]
pub struct Part {
    mask: Option<Arc<Vec<f32>>>,
    shown: Option<Arc<Vec<bool>>>,
}

impl Part {
    /// By a mask alone.
    pub fn masked(mask: Option<Arc<Vec<f32>>>) -> Self {
        Self { mask, shown: None }
    }

    /// By a mask as it was some time, and the filter.
    pub fn then(mask: Option<Arc<Vec<f32>>>, set: &str, filter: &FilterMask) -> Self {
        Self { mask, shown: filter.shared(set) }
    }

    /// By the latest values of the mask of a set, and the filter.
    pub fn of(schema: &SimSchema, set: &str, fields: &Fields, filter: &FilterMask) -> Self {
        let mask = mask(schema, set).and_then(|m| fields.get(m)).cloned();
        Self { mask, shown: filter.shared(set) }
    }

    /// Whether an element takes part: yes, when nobody says.
    pub fn has(&self, element: usize) -> bool {
        takes_part(self.mask.as_ref().map(|m| m.as_slice()), element)
            && self.shown.as_ref().and_then(|s| s.get(element)).is_none_or(|s| *s)
    }
}
