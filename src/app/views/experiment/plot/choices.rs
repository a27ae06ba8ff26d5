//! Choices in the toolbar of the plot, stored with the project.

/// Kind of plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// Means with intervals.
    Points,
    /// Cells by two factors.
    Map,
    /// Differences against q.
    Volcano,
}

impl PlotKind {
    pub const ALL: [Self; 3] = [Self::Points, Self::Map, Self::Volcano];

    pub const fn label(self) -> &'static str {
        match self {
            Self::Points => "Points",
            Self::Map => "Heat map",
            Self::Volcano => "Volcano",
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Chosen kind of plot; `None`: the one that fits the experiment.
    pub kind: Option<PlotKind>,
    pub value: MapValue,
    /// Whether points of single trials are drawn.
    pub has_trials: bool,
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
                _ => {}
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_back() {
        for choices in [
            Choices::default(),
            Choices { kind: Some(PlotKind::Map), value: MapValue::Effect, has_trials: true },
            Choices { kind: Some(PlotKind::Volcano), ..Choices::default() },
        ] {
            assert_eq!(Choices::from_text(&choices.to_text().unwrap_or_default()), choices);
        }
    }
}
