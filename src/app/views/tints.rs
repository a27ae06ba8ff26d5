//! How the values of a variable become colours: one choice for all views, remembered by the variable's name and saved
//! with the project.

use super::{
    colors::{self, Ramp, Shade},
    kit,
};
use crate::{app::theme::Tokens, sim::ProbeSpec};
use egui::{DragValue, Ui};
use std::collections::BTreeMap;

/// The choice for one variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Tint {
    /// The colour map; else what fits the variable.
    pub ramp: Option<Ramp>,
    /// Values of the ends of the colours; else they follow the data.
    pub range: Option<(f32, f32)>,
}

/// The choices for all variables.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Tints(BTreeMap<String, Tint>);

impl Tints {
    /// Whether nothing was ever chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was chosen for a variable. A range that is none, from a file, does not count.
    pub fn of(&self, name: &str) -> Tint {
        let tint = self.0.get(name).copied().unwrap_or_default();
        let is_range = |(low, high): &(f32, f32)| low.is_finite() && high.is_finite() && low < high;
        Tint { range: tint.range.filter(is_range), ..tint }
    }

    /// Chooses for a variable.
    pub fn set(&mut self, name: &str, tint: Tint) {
        if tint == Tint::default() {
            self.0.remove(name);
        } else {
            self.0.insert(name.to_owned(), tint);
        }
    }

    /// The colour map of a variable.
    pub fn ramp(&self, probe: &ProbeSpec) -> Ramp {
        self.of(probe.name).ramp.unwrap_or_else(|| Ramp::of(probe))
    }

    /// How these values of a variable become colours.
    pub fn shade(&self, probe: &ProbeSpec, values: &[f32], tokens: &Tokens) -> Shade {
        match self.of(probe.name).range {
            Some(range) => Shade::fixed(self.ramp(probe), range, values, tokens),
            None => Shade::following(self.ramp(probe), colors::range_of(probe, values), tokens),
        }
    }

    /// Keeps the range as the data have it now, or lets it follow them again; whether it is kept now.
    pub fn toggle(&mut self, name: &str, of_data: (f32, f32)) -> bool {
        let tint = self.of(name);
        let range = if tint.range.is_some() { None } else { Some(of_data) };
        self.set(name, Tint { range, ..tint });
        range.is_some()
    }

    /// The same for the variable in view, from its latest values.
    pub fn toggle_of(&mut self, probe: &ProbeSpec, values: &[f32]) -> bool {
        self.toggle(probe.name, colors::range_of(probe, values))
    }

    /// The choices of a toolbar: colour map and range.
    pub fn choice_ui(&mut self, ui: &mut Ui, tokens: &Tokens, probe: &ProbeSpec, of_data: (f32, f32)) {
        let ramps: Vec<_> = Ramp::ALL.into_iter().map(|r| (r, r.label().to_owned())).collect();
        let mut ramp = self.ramp(probe);
        if kit::choice_ui(ui, tokens, "map", &mut ramp, &ramps) {
            let tint = self.of(probe.name);
            self.set(probe.name, Tint { ramp: Some(ramp), ..tint });
        }
        self.range_ui(ui, probe.name, of_data);
    }

    /// Whether the range follows the data, else its ends.
    pub fn range_ui(&mut self, ui: &mut Ui, name: &str, of_data: (f32, f32)) {
        let tint = self.of(name);
        let mut follows = tint.range.is_none();
        if ui.toggle_value(&mut follows, "Auto").on_hover_text("Range of colours follows the data (R)").changed() {
            self.toggle(name, of_data);
        }
        let Some((mut low, mut high)) = self.of(name).range else { return };
        let speed = f64::from(high - low) * 0.01;
        let drag = |value: &mut f32, ui: &mut Ui, hint: &str| {
            ui.add(DragValue::new(value).speed(speed).max_decimals(3)).on_hover_text(hint).changed()
        };
        let is_changed = drag(&mut low, ui, "Lowest value with a colour of its own")
            | drag(&mut high, ui, "Highest value with a colour of its own");
        if is_changed && low < high {
            self.set(name, Tint { range: Some((low, high)), ..tint });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Meaning, Shape};

    fn probe(name: &'static str) -> ProbeSpec {
        let shape = Shape::Field { over: "cells", range: (0.0, 1.0), meaning: Meaning::Number };
        ProbeSpec { name, title: "", docs: "", unit: "", shape }
    }

    #[test]
    fn every_variable_has_its_own_range() {
        let (mut tints, tokens, values) = (Tints::default(), Tokens::dark(), [0.0, 5.0, 10.0]);
        let [rate, v] = ["rate", "v"].map(probe);
        assert_eq!(tints.shade(&rate, &values, &tokens).range, (0.0, 10.0));
        tints.set("rate", Tint { range: Some((2.0, 4.0)), ramp: None });
        let kept = tints.shade(&rate, &values, &tokens);
        assert_eq!((kept.range, kept.beyond), ((2.0, 4.0), Some(3)));
        assert_eq!(tints.shade(&v, &values, &tokens).range, (0.0, 10.0));
        assert!(!tints.toggle_of(&rate, &values) && tints.is_empty(), "what is as it was by itself is not saved");
        assert!(tints.toggle_of(&rate, &values));
        assert_eq!(tints.of("rate").range, Some((0.0, 10.0)));
    }

    #[test]
    fn what_is_no_range_follows_the_data() {
        let text = r#"{"rate": (range: Some((3.0, 3.0))), "v": (range: Some((0.0, 1.0)), ramp: Some(Magma))}"#;
        let tints: Tints = crate::project::from_ron(text).unwrap();
        assert_eq!((tints.of("rate").range, tints.of("v").range), (None, Some((0.0, 1.0))));
        let again: Tints = crate::project::from_ron(&crate::project::to_ron(&tints).unwrap()).unwrap();
        assert_eq!(again, tints);
    }
}
