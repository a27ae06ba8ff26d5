//! Choice of the axes of a chart of series: quantity of the horizontal axis, unit of the values, linear or logarithmic. The
//! choice is stored with the layout.

use super::samples::Extent;
use crate::{
    app::{
        document::time::{StepCurve, StepQuantity, StepScale},
        kit::{self, YScale, theme::Tokens},
    },
    sim::{Level, SeriesUnit, TimeBase, item_counts, items_name},
};
use egui::{RichText, Ui};
use std::sync::Arc;

/// Quantity of the horizontal axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XAxis {
    /// Simulated time, or counted steps.
    #[default]
    Steps,
    /// Items that steps process: tokens.
    Items,
    /// Wall-clock time without pauses.
    WallTime,
}

impl XAxis {
    /// All quantities with their names in a stored choice.
    const ALL: [(Self, &str); 3] = [(Self::Steps, "steps"), (Self::Items, "items"), (Self::WallTime, "wall")];

    /// Returns the scale of this axis; `None` for steps, and if the quantity is not known.
    pub fn scale(self, levels: &[Level], wall_clock: &Arc<StepCurve>) -> Option<StepScale> {
        match self {
            Self::Steps => None,
            Self::Items => {
                let curve = Arc::new(item_counts(levels).into_iter().collect());
                Some(StepScale { quantity: StepQuantity::Items(items_name(levels)?.into()), curve })
            }
            Self::WallTime => {
                let scale = StepScale { quantity: StepQuantity::WallTime, curve: wall_clock.clone() };
                wall_clock.is_known().then_some(scale)
            }
        }
    }
}

/// Axes that the user chose for a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AxesChoice {
    pub x: XAxis,
    /// Name of the unit of series that can be converted to it; empty for the unit of the probe.
    pub unit: String,
    /// Whether the vertical axis is logarithmic.
    pub is_log: bool,
}

/// Units and items that the shown series offer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AxesOffer {
    /// Unit of the series that can be converted.
    pub own_unit: &'static str,
    /// Names of the units to which series can be converted.
    pub units: Vec<String>,
    /// Plural name of the items that steps process; empty without items.
    pub items: String,
}

impl AxesOffer {
    /// Adds the units and items that a series with these levels offers.
    pub fn add(&mut self, unit: &'static str, levels: &[Level]) {
        let units = SeriesUnit::names(levels);
        if !units.is_empty() {
            self.own_unit = unit;
        }
        for name in units.into_iter().filter(|name| !self.units.iter().any(|known| known == name)).collect::<Vec<_>>() {
            self.units.push(name.to_owned());
        }
        if let Some(name) = items_name(levels) {
            name.clone_into(&mut self.items);
        }
    }
}

impl AxesChoice {
    /// Draws the controls. Returns whether the choice changed.
    pub fn ui(&mut self, ui: &mut Ui, tokens: &Tokens, offer: &AxesOffer, base: TimeBase) -> bool {
        let before = self.clone();
        let log = ui.toggle_value(&mut self.is_log, RichText::new("Log").small());
        log.on_hover_text("Logarithmic vertical axis; values that are not positive are below it");
        let time = if base.is_count() { base.plural() } else { "simulated time" };
        let mut along = vec![(XAxis::Steps, time.to_owned())];
        along.extend((!offer.items.is_empty()).then(|| (XAxis::Items, offer.items.clone())));
        along.push((XAxis::WallTime, "wall time".to_owned()));
        kit::choice_ui(ui, tokens, "Axis", &mut self.x, &along);
        if !offer.units.is_empty() {
            let own = (String::new(), offer.own_unit.to_owned());
            let units = offer.units.iter().map(|name| (name.clone(), name.clone()));
            kit::choice_ui(ui, tokens, "Unit", &mut self.unit, &std::iter::once(own).chain(units).collect::<Vec<_>>());
        }
        *self != before
    }

    /// Returns the vertical scale for values from `low` to `high`; for a logarithmic one, `low` is the lowest positive value.
    pub fn y_scale(&self, low: f32, high: f32) -> YScale {
        if self.is_log {
            return YScale::log(low.into(), high.into());
        }
        let (low, high) = super::line::range(low, high);
        YScale::linear(low, high)
    }

    /// Formats the choice as parts of a stored text: `x=items;unit=perplexity;log=1`. Empty for the default.
    pub fn to_parts(&self) -> Vec<String> {
        let mut parts = vec![];
        if let Some((_, name)) = XAxis::ALL.iter().find(|(x, _)| *x == self.x).filter(|(x, _)| *x != XAxis::default()) {
            parts.push(format!("x={name}"));
        }
        if !self.unit.is_empty() {
            parts.push(format!("unit={}", self.unit));
        }
        parts.extend(self.is_log.then(|| "log=1".to_owned()));
        parts
    }

    /// Reads one part of a stored text; ignores other parts.
    pub fn read_part(&mut self, name: &str, value: &str) {
        match name {
            "x" => self.x = XAxis::ALL.iter().find(|(_, known)| *known == value).map_or(XAxis::Steps, |(x, _)| *x),
            "unit" => value.clone_into(&mut self.unit),
            "log" => self.is_log = value == "1",
            _ => {}
        }
    }
}

/// Converts the values of pixel columns to a unit; `step_of` returns the step at a fraction of the width.
pub fn convert_extents(extents: &mut [Extent], unit: &SeriesUnit<'_>, columns: usize, step_of: impl Fn(f64) -> f64) {
    for extent in extents.iter_mut().filter(|_| !unit.is_own()) {
        let step = step_of(f64::from(extent.column) / columns.max(1) as f64);
        let convert = |value: f32| unit.convert(value.into(), step) as f32;
        (extent.min, extent.max) = (convert(extent.min), convert(extent.max));
    }
}

/// Returns the title of a series in a unit: `Training loss (bits per byte)`.
pub fn title_in(label: &str, own_unit: &str, unit: &SeriesUnit<'_>, name: &str) -> String {
    match if unit.is_own() { own_unit } else { name } {
        "" => label.to_owned(),
        unit => format!("{label} ({unit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::LevelUse;

    #[test]
    fn a_choice_survives_as_text() {
        for choice in [
            AxesChoice::default(),
            AxesChoice { x: XAxis::Items, unit: "bits per byte".into(), is_log: true },
            AxesChoice { x: XAxis::WallTime, ..AxesChoice::default() },
        ] {
            let mut read = AxesChoice::default();
            for part in choice.to_parts() {
                let (name, value) = part.split_once('=').expect("a name");
                read.read_part(name, value);
            }
            assert_eq!(read, choice);
        }
        assert!(AxesChoice::default().to_parts().is_empty());
    }

    #[test]
    fn series_offer_their_units_and_items_once() {
        let levels = [
            Level::new("uniform", 5.5),
            Level::factor(LevelUse::Exponent, "perplexity", 1.0),
            Level::factor(LevelUse::ItemsPerStep, "tokens", 512.0),
        ];
        let mut offer = AxesOffer::default();
        offer.add("nat", &levels);
        offer.add("nat", &levels);
        offer.add("Hz", &[]);
        assert_eq!(offer, AxesOffer { own_unit: "nat", units: vec!["perplexity".into()], items: "tokens".into() });
        let scale = XAxis::Items.scale(&levels, &Arc::default()).expect("items");
        assert_eq!(scale.text(10.0), "5,120 tokens");
        assert_eq!(XAxis::WallTime.scale(&levels, &Arc::default()), None, "not known");
    }
}
