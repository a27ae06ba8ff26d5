//! Colours by the effects of an experiment in which conditions silence single elements.

use super::{Coloring, View3d};
use crate::{
    app::{
        document::experiment::{Results, effects},
        kit::{
            self,
            bar::{ColorBar, round_marks},
            color_scale::FieldScale,
            colormap::Colormap,
        },
        views::ViewCtx,
    },
    sim::ElementSet,
};
use egui::{Rect, Ui};
use std::sync::Arc;

/// Stored choice of these colours.
pub const BY_EFFECT: &str = "by=effect";
/// Colours of differences: the middle is no difference.
pub(super) const COLORS: Colormap = Colormap::Diverging;

/// Results, set and measure.
type EffectKey = (Arc<Results>, Arc<ElementSet>, usize);

/// Effects of the elements of the shown set.
#[derive(Default)]
pub(super) struct ElementEffects {
    of: Option<EffectKey>,
    /// Difference from the control by element; NaN without a condition. Empty if no condition silences an element.
    values: Vec<f32>,
    /// Title of the measure with its unit, and name of the control.
    title: String,
    unit: String,
    /// Colour range, even around zero.
    pub range: (f32, f32),
}

impl ElementEffects {
    /// Whether the experiment on display has effects of elements of the set.
    pub fn is_some(&self) -> bool {
        !self.values.is_empty()
    }
}

impl View3d {
    /// Updates the effects, and shows them if the view is coloured by them.
    pub(super) fn follow_effects(&mut self, set: &Arc<ElementSet>, ctx: &ViewCtx<'_>) {
        let state = &ctx.experiments.state;
        let results = state.results();
        let measure = results.as_ref().map_or(0, |results| state.measure_of(results));
        let is_new = match (&self.effects.of, &results) {
            (Some((of, over, by)), Some(results)) => {
                !Arc::ptr_eq(of, results) || !Arc::ptr_eq(over, set) || *by != measure
            }
            (of, results) => of.is_some() || results.is_some(),
        };
        if is_new {
            let of = results.clone().map(|results| (results, set.clone(), measure));
            self.effects = ElementEffects { of, ..ElementEffects::default() };
        }
        if let (true, Some(results)) = (is_new, &results)
            && let Some(values) = effects::by_element(results, measure, set.name, set.len as usize)
        {
            let most = values.iter().filter(|x| x.is_finite()).fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
            let control = results.table.conditions.get(results.control()).map_or("", String::as_str);
            self.effects.title = format!("{}, difference from {control}", results.title(measure));
            self.effects.unit = results.unit(measure).to_owned();
            (self.effects.range, self.effects.values) = ((-most, most), values);
        }
        let is_shown = self.coloring == Some(Coloring::Effect) && self.effects.is_some();
        if is_shown && (is_new || self.values_of.is_some() || self.values.is_empty()) {
            (self.values, self.values_of) = (self.effects.values.clone(), None);
            self.values_generation += 1;
        }
    }

    /// Draws the colour bar of the effects at the right. Returns the rest of the canvas.
    pub(super) fn effects_bar_ui(&self, ui: &Ui, canvas: Rect, ctx: &ViewCtx<'_>) -> Rect {
        let scale = FieldScale::following(COLORS, self.effects.range, ctx.tokens);
        let marks = round_marks(self.effects.range);
        let (rest, bar) = ColorBar::titled(ui, canvas, ctx.tokens, (self.effects.title.clone(), marks), &scale);
        if let Some(bar) = bar {
            bar.paint(ui.painter(), ctx.tokens);
        }
        rest
    }

    /// Returns the effect of an element for its tooltip; empty without one.
    pub(super) fn effect_text(&self, element: u32) -> Vec<(String, String)> {
        let value = self.effects.values.get(element as usize).copied().filter(|x| x.is_finite());
        let text = value.map(|x| kit::with_unit(f64::from(x), &self.effects.unit));
        text.map(|text| vec![("Effect of silencing".to_owned(), text)]).unwrap_or_default()
    }
}
