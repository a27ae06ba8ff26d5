//! Variation of one or two parameters, as the dialog *Vary* describes it, and the experiment that it becomes.

use super::edit;
use crate::{
    app::{document::varied::VariedParameter, kit::text},
    experiment::{expand, values},
    project::{
        Elements, Project,
        experiment::{ConditionRule, Experiment, ParameterValues, TrialRecording},
    },
};
use std::path::Path;

/// Maximum number of trials of a variation.
pub const MAX_TRIALS: usize = 1000;
/// Maximum number of values that are named.
const NAMED: usize = 8;

/// Parameter with the values that the conditions give it.
#[derive(Clone, Debug)]
pub struct VariedAxis {
    pub parameter: VariedParameter,
    /// Values in the form of [`ParameterValues::values`].
    pub text: String,
    /// Name of each value in the window.
    pub labels: Vec<String>,
}

/// Values of one or two parameters, and seeds.
#[derive(Clone, Debug)]
pub struct Variation {
    /// Name of the experiment; empty for the labels of the parameters.
    pub name: String,
    /// Varied parameters, one or two.
    pub axes: Vec<VariedAxis>,
    /// Seeds of the trials, as [`Experiment::seeds`].
    pub seeds: String,
}

/// Experiment of a variation, and its size.
#[derive(Clone, Debug, PartialEq)]
pub struct Varied {
    /// Experiment of the document with the conditions of the variation alone.
    pub experiment: Experiment,
    /// Number of trials.
    pub n_trials: usize,
    /// Values and seeds of the trials: `20 ms, 25 ms, each with 2 seeds`.
    pub what: String,
}

impl VariedAxis {
    /// Lists the first values: `10 ms, 20 ms, …`.
    pub fn named(&self) -> String {
        let more = if self.labels.len() > NAMED { ", …" } else { "" };
        self.labels.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ") + more
    }

    fn values(&self) -> ParameterValues {
        ParameterValues { path: self.parameter.path.clone(), values: self.text.clone() }
    }

    /// Returns the present value as conditions have it; `None` if a condition cannot have it.
    fn now(&self) -> Option<String> {
        let VariedParameter { spec, now, .. } = &self.parameter;
        values::values(spec, now, spec.scale, 1).ok()?.pop()
    }
}

impl Variation {
    /// Returns the experiment of a project with these conditions alone. Measures of the project's experiment are kept, otherwise
    /// there is the usual one; trials are recorded. The control is the condition with the present values, otherwise the unchanged
    /// project. Relative paths in values start from `base`.
    ///
    /// # Errors
    /// Fails with a sentence if a value or a seed is not accepted, there is a single trial or more than [`MAX_TRIALS`], or one of
    /// two parameters has a single value.
    pub fn varied(&self, project: &Project, base: &Path) -> Result<Varied, String> {
        let n_seeds = values::seeds(&self.seeds, MAX_TRIALS)?.len();
        let n_combinations: usize = self.axes.iter().map(|axis| axis.labels.len()).product();
        if let Some(axis) = self.axes.iter().find(|axis| self.axes.len() > 1 && axis.labels.len() < 2) {
            return Err(format!("{}: choose at least two values", axis.parameter.title));
        }
        if n_combinations * n_seeds > MAX_TRIALS {
            let (n, most) = (n_combinations * n_seeds, text::count(MAX_TRIALS as u64));
            return Err(format!("{} trials ({}); at most {most}", text::count(n as u64), self.product(n_seeds)));
        }
        let mut experiment = self.experiment(project);
        let elements = Elements { base: Some(base), ..Elements::default() };
        let mut plan = expand(project, &experiment, &elements)?;
        let now: Option<Vec<String>> = self.axes.iter().map(VariedAxis::now).collect();
        let is_present = |factors: &[(String, String)]| {
            now.as_ref().is_some_and(|now| factors.iter().map(|(_, value)| value).eq(now))
        };
        let present = plan.conditions.iter().find(|condition| is_present(&condition.factors));
        if let Some(name) = present.map(|condition| condition.name.clone()) {
            experiment.control = name;
            plan.conditions.remove(plan.control);
        }
        let n_trials = plan.n_trials();
        if n_trials < 2 {
            return Err("This is a single trial: choose two values, or type two seeds".to_owned());
        }
        let what = self.what(n_seeds, experiment.control.is_empty());
        Ok(Varied { experiment, n_trials, what })
    }

    fn experiment(&self, project: &Project) -> Experiment {
        let mut edited = project.experiment.clone();
        let mut experiment = edit::of_document(&mut edited, &project.model).clone();
        if experiment.measures.is_empty() {
            experiment.measures.extend(edit::usual(&project.model));
        }
        let labels: Vec<&str> = self.axes.iter().map(|axis| axis.parameter.label.as_str()).collect();
        let name = self.name.trim();
        experiment.name = if name.is_empty() { labels.join(" × ") } else { name.to_owned() };
        let rule = match &self.axes[..] {
            [axis] => ConditionRule::Values(axis.values()),
            axes => ConditionRule::Grid(axes.iter().map(VariedAxis::values).collect()),
        };
        experiment.conditions = vec![rule];
        experiment.control.clear();
        self.seeds.trim().clone_into(&mut experiment.seeds);
        experiment.record = TrialRecording::EveryTrial;
        experiment
    }

    /// Describes the number of trials as a product: `4 values of Network › Neurons × 3 of LIF neuron › Reset potential × 2
    /// seeds`.
    fn product(&self, n_seeds: usize) -> String {
        let of = |(i, axis): (usize, &VariedAxis)| match i {
            0 => format!("{} of {}", text::plural(axis.labels.len(), "value", "values"), axis.parameter.title),
            _ => format!("{} of {}", axis.labels.len(), axis.parameter.title),
        };
        let seeds = (n_seeds > 1).then(|| format!("{n_seeds} seeds"));
        self.axes.iter().enumerate().map(of).chain(seeds).collect::<Vec<_>>().join(" × ")
    }

    fn what(&self, n_seeds: usize, adds_control: bool) -> String {
        let control = if adds_control { " and the unchanged project" } else { "" };
        match (&self.axes[..], n_seeds) {
            ([axis], 1) => format!("{}{control}", axis.named()),
            ([axis], n) => format!("{}{control}, each with {n} seeds", axis.named()),
            _ => format!("{}{control}", self.product(n_seeds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::path;

    fn axis(project: &Project, name: &str, text: &str) -> VariedAxis {
        let params = project.model.params();
        let parameter = VariedParameter::all(params, path::find(params, name).expect(name).0).remove(0);
        let labels = values::values(&parameter.spec, text, parameter.spec.scale, MAX_TRIALS).expect(text);
        VariedAxis { parameter, text: text.to_owned(), labels }
    }

    fn varied(axes: &[(&str, &str)], seeds: &str) -> Result<Varied, String> {
        let project = Project::default();
        let axes = axes.iter().map(|(name, text)| axis(&project, name, text)).collect();
        Variation { name: String::new(), axes, seeds: seeds.to_owned() }.varied(&project, Path::new("."))
    }

    #[test]
    fn values_and_seeds_become_conditions() {
        let one = varied(&[("lif.tau_m", "20, 30 ms")], "7").expect("an experiment");
        let values = |path: &str, values: &str| ParameterValues { path: path.into(), values: values.into() };
        assert_eq!(one.experiment.conditions, [ConditionRule::Values(values("lif.tau_m", "20, 30 ms"))]);
        assert_eq!((one.experiment.control.as_str(), one.n_trials), ("tau_m 20 ms", 2), "the present value");
        assert_eq!((one.experiment.record, one.experiment.measures.len()), (TrialRecording::EveryTrial, 1));
        assert_eq!((one.experiment.name.as_str(), one.what.as_str()), ("Membrane time constant", "20 ms, 30 ms"));
        let other = varied(&[("lif.tau_m", "10, 30")], "1..2").expect("an experiment");
        assert_eq!((other.experiment.control.as_str(), other.n_trials), ("", 6), "with the unchanged project");
        assert_eq!(other.what, "10 ms, 30 ms and the unchanged project, each with 2 seeds");
        let two = varied(&[("lif.tau_m", "20, 30"), ("lif.v_threshold", "-45, -40 mV")], "1").expect("a grid");
        let grid = vec![values("lif.tau_m", "20, 30"), values("lif.v_threshold", "-45, -40 mV")];
        assert_eq!((&two.experiment.conditions[..], two.n_trials), (&[ConditionRule::Grid(grid)][..], 4));
        let what = "2 values of LIF neuron › Membrane time constant × 2 of LIF neuron › Spike threshold";
        assert_eq!((two.experiment.control.as_str(), two.what.as_str()), ("tau_m 20 ms, v_threshold -45 mV", what));
        assert_eq!(varied(&[("lif.tau_m", "20")], "1..3").expect("seeds alone").n_trials, 3);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let tau = ("lif.tau_m", "20, 30");
        let single = "This is a single trial: choose two values, or type two seeds";
        let few = "LIF neuron › Spike threshold: choose at least two values";
        for (axes, seeds, why) in [
            (&[("lif.tau_m", "20")][..], "1", single),
            (&[tau, ("lif.v_threshold", "-45")], "1..9", few),
            (
                &[tau],
                "1..501",
                "1,002 trials (2 values of LIF neuron › Membrane time constant × 501 seeds); at most 1,000",
            ),
            (&[tau], "one", "seed `one` is not a whole number"),
            (&[tau], "", "Type a seed, or several separated by commas"),
        ] {
            assert_eq!(varied(axes, seeds).expect_err(why), why);
        }
    }

    #[test]
    fn measures_of_the_experiment_are_kept() {
        let measures = vec![crate::experiment::measure::parse("n = count spikes").expect("a measure")];
        let old = Experiment { measures: measures.clone(), control: "x".into(), ..Experiment::default() };
        let project = Project { experiment: Some(old), ..Project::default() };
        let axes = vec![axis(&project, "lif.tau_m", "30")];
        let varied = Variation { name: " mine ".into(), axes, seeds: "2".into() }.varied(&project, Path::new("."));
        let new = varied.expect("an experiment").experiment;
        assert_eq!((new.measures, new.control.as_str(), new.name.as_str()), (measures, "", "mine"));
    }
}
