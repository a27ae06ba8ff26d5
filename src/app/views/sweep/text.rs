//! Texts of the sweep plot: title, axes and caption.

use super::{SweepPlot, groups::Coordinate, runs::Part};
use crate::{
    app::{
        document::library::Library,
        kit::{self, text},
    },
    project::Status,
};
use std::collections::BTreeSet;

impl SweepPlot {
    /// Describes the values of the parameters: `4 values of LIF neuron › Reset potential`, and for a heat map also `× 3 of …`.
    pub(super) fn values_summary(&self) -> String {
        let n = |axis| self.values(axis).map(|at| &*at.text).collect::<BTreeSet<_>>().len();
        let first = |path| format!("{} of {}", text::plural(n(0), "value", "values"), self.shown.title(path));
        match &self.shown.paths[..] {
            [path] => first(path),
            [x, y] => format!("{} × {} of {}", first(x), n(1), self.shown.title(y)),
            _ => String::new(),
        }
    }

    /// Describes the plot for screen readers.
    pub(super) fn summary(&self) -> String {
        format!("{} against {}{}", self.title(), self.values_summary(), self.cells_summary())
    }

    /// Describes the cells of a heat map: ` | 11 of 12 combinations`; empty for curves.
    fn cells_summary(&self) -> String {
        match self.shown.has_map() {
            true => format!("  |  {} of {} combinations", self.shown.grid.n_filled(), self.shown.grid.cells.len()),
            false => String::new(),
        }
    }

    /// Returns the title of an axis: `Membrane time constant (ms)`.
    pub(super) fn axis_title(&self, axis: usize) -> String {
        let (Some(spec), Some(path)) = (self.shown.specs.get(axis), self.shown.paths.get(axis)) else {
            return String::new();
        };
        let (unit, label) = (spec.unit.suffix(), self.shown.label(path));
        if unit.is_empty() { label.to_owned() } else { format!("{label} ({unit})") }
    }

    /// Returns the title of the plot: `Mean of rate (Hz), last half of the steps`; of a group's rate with its number of
    /// elements: `Mean of Rate of sugar (Hz per neuron), n = 408`.
    pub(super) fn title(&self) -> String {
        let (number, series) = (self.shown.number.name(), self.shown.series.as_ref());
        let mut title = format!("{}{} of ", number[..1].to_uppercase(), &number[1..]);
        title += series.map_or("", |series| &series.title);
        if let Some(lane) = series.and_then(|series| series.lanes.get(self.choices.lane)) {
            title += &format!(", {lane}");
        }
        let sizes = self.shown.runs.iter().filter_map(|run| Some(run.group.as_ref()?.n)).collect::<BTreeSet<_>>();
        let count = |n: &u32| kit::thousands((*n).into());
        match (sizes.first(), sizes.last()) {
            (Some(n), Some(last)) if n == last => title += &format!(", n = {}", count(n)),
            (Some(low), Some(high)) => title += &format!(", n = {} to {}", count(low), count(high)),
            _ => {}
        }
        match self.choices.part {
            Part::All => title,
            Part::Half => title + ", last half of the steps",
            Part::Tenth => title + ", last tenth of the steps",
        }
    }

    /// Formats parameter values: `Membrane time constant 10 ms, Reset potential -60 mV`.
    pub(super) fn values_text(&self, at: &[Coordinate]) -> String {
        let named = self.shown.paths.iter().zip(at).map(|(path, at)| format!("{} {}", self.shown.label(path), at.text));
        named.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn caption(&self, library: &Library) -> String {
        let is_drawn = |i: usize| !self.shown.has_map() || i == self.shown.map;
        let groups = || self.shown.groups.iter().enumerate().filter(|(i, _)| is_drawn(*i));
        let points = || groups().flat_map(|(_, group)| &group.points);
        let n_runs: usize = points().map(|point| point.runs.len()).sum();
        let mut caption = format!("{}{}", self.values_summary(), self.cells_summary());
        caption += &format!("  |  {}", text::plural(n_runs, "run", "runs"));
        if points().any(|point| point.runs.len() > 1) {
            caption += "  |  mean ± standard deviation over seeds";
        }
        if let Some(run) = self.shown.runs.iter().find(|run| run.group.is_some())
            && let Some(group) = &run.group
        {
            let width = kit::steps(group.bin_steps, run.base);
            caption += &format!("  |  rates of the n {} in bins of {width}", kit::spaced(group.set));
        }
        let listed = || library.runs.iter().filter(|run| self.choices.includes(&run.sweep, &self.newest));
        match listed().filter(|run| run.problem.is_some() || run.status != Status::Complete).count() {
            0 => {}
            n => caption += &format!("  |  {} left out: not complete", text::plural(n, "run", "runs")),
        }
        if let Some(run) = self.shown.runs.iter().find(|run| run.problem.is_some()) {
            let n = self.shown.runs.iter().filter(|run| run.problem.is_some()).count();
            let why = run.problem.as_deref().unwrap_or_default();
            caption += &format!("  |  {} without this number: {why}", text::plural(n, "run", "runs"));
        }
        if self.shown.n_left_out > 0 {
            caption += &format!("  |  {}", text::plural(self.shown.n_left_out, "more curve", "more curves"));
        }
        caption
    }
}
