//! Choices in the toolbar of the sweep plot, stored with the project.

use super::runs::{Part, SweptRun, TappedProbe};

/// Statistic of a series that represents a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Number {
    /// Mean of all samples.
    #[default]
    Mean,
    /// The last sample.
    Last,
    /// The lowest sample.
    Lowest,
    /// The highest sample.
    Highest,
}

impl Number {
    /// All statistics, with their names.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Mean, "mean"), (Self::Last, "last"), (Self::Lowest, "lowest"), (Self::Highest, "highest")];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(number, _)| *number == self).map_or("", |(_, name)| name)
    }

    /// Returns the statistic of a lane of a run; `None` if the run has no samples of the lane.
    pub fn of(self, run: &SweptRun, lane: usize) -> Option<f64> {
        let summary = run.lanes.get(lane).filter(|summary| summary.n > 0)?;
        let value = match self {
            Self::Mean => summary.mean(),
            Self::Last => summary.last,
            Self::Lowest => summary.min,
            Self::Highest => summary.max,
        };
        Some(f64::from(value))
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// Sweeps whose runs are drawn, with an empty name for the runs of no sweep; an empty list for all runs. `None`: the newest
    /// sweep.
    pub sweeps: Option<Vec<String>>,
    /// Parameters of the axes; empty: those with the most runs.
    pub paths: Vec<String>,
    /// Probe and arguments of the series; `None`: the result of the run, if the kind declares one, else the first series.
    pub series: Option<TappedProbe>,
    /// Lane of the series.
    pub lane: usize,
    /// Statistic that represents a run; `None`: the last value of a declared result, else the mean.
    pub number: Option<Number>,
    /// Part of the run that is summarised.
    pub part: Part,
    /// Whether the axis of each parameter is logarithmic; `None`: as the parameter declares.
    pub is_log: [Option<bool>; 2],
}

impl Choices {
    /// Whether the runs of a sweep are drawn; `newest` is the newest sweep.
    pub fn includes(&self, sweep: &str, newest: &str) -> bool {
        match &self.sweeps {
            None => sweep == newest,
            Some(chosen) => chosen.is_empty() || chosen.iter().any(|chosen| chosen == sweep),
        }
    }

    /// Formats the choices as text: `of=lif.tau_m,lif.v_reset;number=last;log=1,;series=rate:`. `None` without a choice.
    pub fn to_text(&self) -> Option<String> {
        let mut parts = vec![];
        if !self.paths.is_empty() {
            parts.push(format!("of={}", self.paths.join(",")));
        }
        if self.lane > 0 {
            parts.push(format!("lane={}", self.lane));
        }
        parts.extend(self.number.map(|number| format!("number={}", number.name())));
        parts.extend(self.sweeps.as_ref().map(|sweeps| {
            let names: Vec<String> = sweeps.iter().map(|name| escaped(name)).collect();
            format!("sweeps={}", if sweeps.is_empty() { ALL.to_owned() } else { names.join(",") })
        }));
        if self.part != Part::default() {
            parts.push(format!("part={}", self.part.name()));
        }
        if self.is_log != [None; 2] {
            let [x, y] = self.is_log.map(|is_log| is_log.map_or("", |is_log| if is_log { "1" } else { "0" }));
            parts.push(format!("log={x},{y}"));
        }
        // The series is last, because its arguments may contain separators.
        parts.extend(self.series.as_ref().map(|(probe, args)| format!("series={probe}:{args}")));
        (!parts.is_empty()).then(|| parts.join(";"))
    }

    /// Parses choices; ignores unknown parts.
    pub fn from_text(text: &str) -> Self {
        let (rest, series) = match text.find("series=") {
            Some(at) => (&text[..at], text[at..].strip_prefix("series=")),
            None => (text, None),
        };
        let series = series.and_then(|series| series.split_once(':'));
        let mut out = Self { series: series.map(|(probe, args)| (probe.into(), args.into())), ..Self::default() };
        for (name, value) in rest.split(';').filter_map(|part| part.split_once('=')) {
            match name {
                "of" => out.paths = value.split(',').take(2).map(ToOwned::to_owned).collect(),
                "lane" => out.lane = value.parse().unwrap_or_default(),
                "number" => out.number = Number::ALL.iter().find(|(_, name)| *name == value).map(|(number, _)| *number),
                "sweeps" if value == ALL => out.sweeps = Some(vec![]),
                "sweeps" => out.sweeps = Some(value.split(',').map(unescaped).collect()),
                "part" => out.part = named(&Part::ALL, value),
                "log" => {
                    let mut axes = value.split(',').map(|axis| if axis.is_empty() { None } else { Some(axis == "1") });
                    out.is_log = [axes.next().flatten(), axes.next().flatten()];
                }
                _ => {}
            }
        }
        out
    }
}

/// Stands for all runs in place of the names of sweeps.
const ALL: &str = "*";

/// Characters of names that separate the parts of the text, with the texts that stand for them.
const ESCAPES: [(&str, &str); 5] = [("%", "%25"), (";", "%3B"), (",", "%2C"), ("=", "%3D"), ("*", "%2A")];

fn escaped(name: &str) -> String {
    ESCAPES.iter().fold(name.to_owned(), |text, (plain, escape)| text.replace(plain, escape))
}

fn unescaped(text: &str) -> String {
    ESCAPES.iter().rev().fold(text.to_owned(), |text, (plain, escape)| text.replace(escape, plain))
}

fn named<T: Copy + Default>(all: &[(T, &str)], wanted: &str) -> T {
    all.iter().find(|(_, name)| *name == wanted).map_or_else(T::default, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_survive_as_text() {
        let all = Choices {
            sweeps: Some(vec!["a; b=50 %, c*@2026-03-01T12:00:00Z".into(), String::new()]),
            paths: vec!["lif.tau_m".into(), "lif.v_reset".into()],
            series: Some(("rate".into(), "group=a;b,layer=2".into())),
            lane: 3,
            number: Some(Number::Highest),
            part: Part::Tenth,
            is_log: [None, Some(false)],
        };
        let one = Choices { paths: vec!["lif.tau_m".into()], is_log: [Some(true), None], ..Choices::default() };
        let every = Choices { sweeps: Some(vec![]), ..Choices::default() };
        for choices in [all, one, every, Choices { number: Some(Number::Last), ..Choices::default() }] {
            let text = choices.to_text().expect("a choice");
            assert_eq!(Choices::from_text(&text), choices, "{text}");
        }
        assert_eq!(Choices::default().to_text(), None);
        assert!(Choices::default().includes("new", "new") && !Choices::default().includes("old", "new"));
        assert_eq!(Choices::from_text("number=median;lane=x;other=1"), Choices::default(), "of another version");
    }
}
