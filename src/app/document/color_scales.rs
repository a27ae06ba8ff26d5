//! Colour scales of variables: one choice per variable for all views, addressed by the variable's name and saved with
//! the project.

use crate::{
    app::kit::{
        self,
        color_scale::{self, FieldScale},
        colormap::Colormap,
        theme::Tokens,
    },
    sim::ProbeSpec,
};
use egui::{DragValue, Ui};
use std::collections::BTreeMap;

/// Colour scale chosen for one variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ScaleChoice {
    /// Chosen colormap; `None` for the default colormap of the variable.
    #[serde(rename = "ramp")]
    pub colormap: Option<Colormap>,
    /// Fixed range; `None` if the range follows the data.
    pub range: Option<(f32, f32)>,
}

/// Colour scales of all variables that differ from the default.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ColorScales(BTreeMap<String, ScaleChoice>);

impl ColorScales {
    /// Whether all variables have their default scale.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the choice for a variable. An invalid range from a file is ignored.
    pub fn of(&self, name: &str) -> ScaleChoice {
        let choice = self.0.get(name).copied().unwrap_or_default();
        let is_range = |(low, high): &(f32, f32)| low.is_finite() && high.is_finite() && low < high;
        ScaleChoice { range: choice.range.filter(is_range), ..choice }
    }

    /// Sets the choice for a variable.
    pub fn set(&mut self, name: &str, choice: ScaleChoice) {
        if choice == ScaleChoice::default() {
            self.0.remove(name);
        } else {
            self.0.insert(name.to_owned(), choice);
        }
    }

    /// Returns the colormap of a variable.
    pub fn colormap(&self, probe: &ProbeSpec) -> Colormap {
        self.of(probe.name).colormap.unwrap_or_else(|| Colormap::of(probe))
    }

    /// Creates the colour scale for the values of a variable.
    pub fn scale(&self, probe: &ProbeSpec, values: &[f32], tokens: &Tokens) -> FieldScale {
        match self.of(probe.name).range {
            Some(range) => FieldScale::fixed(self.colormap(probe), range, values, tokens),
            None => FieldScale::following(self.colormap(probe), color_scale::range_of(probe, values), tokens),
        }
    }

    /// Fixes the range at `of_data`, the range of the data, or unfixes it so that it follows the data. Returns whether the
    /// range is now fixed.
    pub fn toggle(&mut self, name: &str, of_data: (f32, f32)) -> bool {
        let choice = self.of(name);
        let range = if choice.range.is_some() { None } else { Some(of_data) };
        self.set(name, ScaleChoice { range, ..choice });
        range.is_some()
    }

    /// Fixes the range at the range of `values`, or unfixes it so that it follows the data. Returns whether the range is
    /// now fixed.
    pub fn toggle_of(&mut self, probe: &ProbeSpec, values: &[f32]) -> bool {
        self.toggle(probe.name, color_scale::range_of(probe, values))
    }

    /// Draws the toolbar controls of colormap and range.
    pub fn choice_ui(&mut self, ui: &mut Ui, tokens: &Tokens, probe: &ProbeSpec, of_data: (f32, f32)) {
        let maps: Vec<_> = Colormap::ALL.into_iter().map(|r| (r, r.label().to_owned())).collect();
        let mut map = self.colormap(probe);
        if kit::choice_ui(ui, tokens, "Map", &mut map, &maps) {
            let choice = self.of(probe.name);
            self.set(probe.name, ScaleChoice { colormap: Some(map), ..choice });
        }
        self.range_ui(ui, probe.name, of_data);
    }

    /// Draws the toolbar controls of the range: a switch for the automatic range, and the ends of a fixed range.
    pub fn range_ui(&mut self, ui: &mut Ui, name: &str, of_data: (f32, f32)) {
        let choice = self.of(name);
        let mut follows = choice.range.is_none();
        if ui.toggle_value(&mut follows, "Auto").on_hover_text("Colour range follows the data (R)").changed() {
            self.toggle(name, of_data);
        }
        let Some((mut low, mut high)) = self.of(name).range else { return };
        let speed = f64::from(high - low) * 0.01;
        let drag = |value: &mut f32, ui: &mut Ui, hint: &str| {
            ui.add(DragValue::new(value).speed(speed).max_decimals(3)).on_hover_text(hint).changed()
        };
        let is_changed =
            drag(&mut low, ui, "Lower end of the colour range") | drag(&mut high, ui, "Upper end of the colour range");
        if is_changed && low < high {
            self.set(name, ScaleChoice { range: Some((low, high)), ..choice });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Meaning, Shape};

    fn probe(name: &'static str) -> ProbeSpec {
        let shape = Shape::Field { over: "cells", range: (0.0, 1.0), meaning: Meaning::Number };
        ProbeSpec { name, title: "", docs: "", unit: "", shape, args: &[] }
    }

    #[test]
    fn each_variable_has_its_own_range() {
        let (mut scales, tokens, values) = (ColorScales::default(), Tokens::dark(), [0.0, 5.0, 10.0]);
        let [rate, v] = ["rate", "v"].map(probe);
        assert_eq!(scales.scale(&rate, &values, &tokens).range, (0.0, 10.0));
        scales.set("rate", ScaleChoice { range: Some((2.0, 4.0)), colormap: None });
        let kept = scales.scale(&rate, &values, &tokens);
        assert_eq!((kept.range, kept.beyond), ((2.0, 4.0), Some(3)));
        assert_eq!(scales.scale(&v, &values, &tokens).range, (0.0, 10.0));
        assert!(!scales.toggle_of(&rate, &values) && scales.is_empty(), "defaults are not saved");
        assert!(scales.toggle_of(&rate, &values));
        assert_eq!(scales.of("rate").range, Some((0.0, 10.0)));
    }

    #[test]
    fn an_invalid_range_is_ignored() {
        let text = r#"{"rate": (range: Some((3.0, 3.0))), "v": (range: Some((0.0, 1.0)), ramp: Some(Magma))}"#;
        let scales: ColorScales = crate::project::from_ron(text).unwrap();
        assert_eq!((scales.of("rate").range, scales.of("v").range), (None, Some((0.0, 1.0))));
        let again: ColorScales = crate::project::from_ron(&crate::project::to_ron(&scales).unwrap()).unwrap();
        assert_eq!(again, scales);
    }
}
