//! Choices in the toolbar of the plot, stored with the project.

use super::time_course::Quantity;

/// Kind of plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// Means with intervals.
    Points,
    /// Cells by two factors.
    Map,
    /// Differences against q.
    Volcano,
    /// Rates and series over time.
    TimeCourse,
}

impl PlotKind {
    pub const ALL: [Self; 4] = [Self::Points, Self::Map, Self::Volcano, Self::TimeCourse];

    pub const fn label(self) -> &'static str {
        match self {
            Self::Points => "Points",
            Self::Map => "Heat map",
            Self::Volcano => "Volcano",
            Self::TimeCourse => "Time course",
        }
    }
}

/// Value that colours a cell of the heat map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapValue {
    #[default]
    Mean,
    Difference,
    Effect,
}

impl MapValue {
    pub const ALL: [Self; 3] = [Self::Mean, Self::Difference, Self::Effect];

    pub const fn label(self) -> &'static str {
        match self {
            Self::Mean => "Mean",
            Self::Difference => "Difference",
            Self::Effect => "Effect size",
        }
    }
}

/// Width of a bin of a time course that is not chosen, ms or steps.
const BIN: f64 = 10.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// Chosen kind of plot; `None`: the one that fits the experiment.
    pub kind: Option<PlotKind>,
    pub value: MapValue,
    /// Whether points or lines of single trials are drawn.
    pub has_trials: bool,
    /// Quantity of the time courses.
    pub quantity: Quantity,
    /// Time to which the bins of time courses are aligned, and width of a bin, ms or steps.
    pub align: f64,
    pub bin: f64,
}

impl Default for Choices {
    fn default() -> Self {
        let (kind, value, has_trials, quantity) = Default::default();
        Self { kind, value, has_trials, quantity, align: 0.0, bin: BIN }
    }
}

impl Choices {
    /// Formats the choices as text: `plot=Volcano;value=Mean`. `None` without a choice.
    pub fn to_text(&self) -> Option<String> {
        let mut parts: Vec<String> = self.kind.iter().map(|kind| format!("plot={}", kind.label())).collect();
        if self.value != MapValue::default() {
            parts.push(format!("value={}", self.value.label()));
        }
        if self.has_trials {
            parts.push("trials=1".to_owned());
        }
        if self.quantity != Quantity::default() {
            parts.push(format!("of={}", self.quantity.to_text()));
        }
        if self.align != 0.0 {
            parts.push(format!("align={}", self.align));
        }
        if self.bin != BIN {
            parts.push(format!("bin={}", self.bin));
        }
        (!parts.is_empty()).then(|| parts.join(";"))
    }

    /// Parses choices; ignores unknown parts.
    pub fn from_text(text: &str) -> Self {
        let mut out = Self::default();
        for (name, value) in text.split(';').filter_map(|part| part.split_once('=')) {
            match name {
                "plot" => out.kind = PlotKind::ALL.into_iter().find(|kind| kind.label() == value),
                "value" => {
                    out.value = MapValue::ALL.into_iter().find(|known| known.label() == value).unwrap_or_default();
                }
                "trials" => out.has_trials = value == "1",
                "of" => out.quantity = Quantity::from_text(value),
                "align" => out.align = time(value).unwrap_or_default(),
                "bin" => out.bin = time(value).unwrap_or(BIN),
                _ => {}
            }
        }
        out
    }
}

/// Parses a time; `None` if it is no finite number of at least 0.
fn time(text: &str) -> Option<f64> {
    text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_back() {
        for choices in [
            Choices::default(),
            Choices { kind: Some(PlotKind::Map), value: MapValue::Effect, has_trials: true, ..Choices::default() },
            Choices { kind: Some(PlotKind::Volcano), ..Choices::default() },
            Choices { quantity: Quantity::Group("a = b".to_owned()), align: 12.5, bin: 2.0, ..Choices::default() },
            Choices { quantity: Quantity::Series("rate.bin".to_owned(), Some(2)), ..Choices::default() },
            Choices { quantity: Quantity::Selected, kind: Some(PlotKind::TimeCourse), ..Choices::default() },
        ] {
            assert_eq!(Choices::from_text(&choices.to_text().unwrap_or_default()), choices);
        }
    }
}
