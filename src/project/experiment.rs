//! Experiment of a project: conditions, seeds and measures, as the project file holds them.
//!
//! ```text
//! experiment: (
//!     conditions: [
//!         Condition((name: "no inhibition", changes: [Set("network.inhibitory_count", "0")])),
//!         Values((path: "interventions.drive taste.rate_hz", values: "25..200/8")),
//!         Grid([(path: "lif.tau_m", values: "10, 20 ms"), (path: "lif.v_reset", values: "-60, -55 mV")]),
//!         SilenceEach((query: "class = gustatory")),
//!     ],
//!     seeds: "1..30",
//!     measures: [(name: "MN9", read: "spikes[in MN9]", reduce: Mean, from: 200.0, to: 1000.0)],
//! )
//! ```

use super::{Project, record};
use crate::choices;
use serde::{Deserialize, Serialize};

/// Conditions that run with every seed, and what is measured in each trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Experiment {
    /// Name in the folders of results; empty for the name of the project.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Conditions, and rules that generate conditions.
    pub conditions: Vec<ConditionRule>,
    /// Name of the condition with which the others are compared; empty: the unchanged project, as a condition named `control`.
    pub control: String,
    /// Seeds of the random draws of the trials: `1..30`, `1, 2, 5`. A generated network keeps the seed of the project.
    pub seeds: String,
    /// Values that are computed from every trial.
    pub measures: Vec<Measure>,
    /// Whether trials are recorded.
    pub record: TrialRecording,
    /// Whether an element that never spikes in the control has the result of the control with the same seed, without a run.
    pub infer_silent: bool,
}

impl Default for Experiment {
    fn default() -> Self {
        Self {
            name: String::new(),
            conditions: vec![],
            control: String::new(),
            seeds: "1..10".to_owned(),
            measures: vec![],
            record: TrialRecording::MeasuresOnly,
            infer_silent: true,
        }
    }
}

impl Experiment {
    /// Replaces each query for which `new` returns another one: in conditions, and in the brackets of measures.
    pub fn map_queries(&mut self, new: &dyn Fn(&str) -> Option<String>) {
        let replace = |query: &mut String| {
            if let Some(other) = new(query) {
                *query = other;
            }
        };
        for rule in &mut self.conditions {
            match rule {
                ConditionRule::SilenceEach(of) => replace(&mut of.query),
                ConditionRule::Condition(condition) => {
                    for change in &mut condition.changes {
                        if let ConditionChange::Target(_, query) | ConditionChange::Silence(query) = change {
                            replace(query);
                        }
                    }
                }
                ConditionRule::Values(_) | ConditionRule::Grid(_) => {}
            }
        }
        for measure in &mut self.measures {
            if let Some(query) = record::query_of(&measure.read).and_then(new) {
                measure.read = record::with_query(&measure.read, &query);
            }
        }
    }
}

impl Project {
    /// Returns the name in the folders of experiments: that of the experiment, otherwise that of the project.
    pub fn experiment_name(&self) -> &str {
        let own = self.experiment.as_ref().map(|experiment| experiment.name.trim());
        own.filter(|name| !name.is_empty()).unwrap_or(&self.name)
    }
}

choices! {
    /// Data of trials that an experiment keeps.
    pub enum TrialRecording {
        /// The table of measures, with the hash of each trial, by which a trial can be repeated and compared.
        #[title("Measures only")]
        MeasuresOnly,
        /// A run folder per trial with the recorded probes of the project, which replays alone.
        #[title("Every trial")]
        EveryTrial,
    }
}

/// A condition, or a rule that generates conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ConditionRule {
    /// One condition with a name.
    Condition(Condition),
    /// One condition per value of a parameter.
    Values(ParameterValues),
    /// One condition per combination of the values of several parameters.
    Grid(Vec<ParameterValues>),
    /// One condition per element of a query, in which the element is silenced.
    SilenceEach(ElementQuery),
}

/// Changes of the project under a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// Name of the condition, unique in the experiment.
    pub name: String,
    /// Changes in the order in which they apply; empty for the unchanged project.
    pub changes: Vec<ConditionChange>,
    /// Seeds of this condition; empty: those of the experiment.
    pub seeds: String,
}

/// Change of the project under a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionChange {
    /// Gives a parameter, named by its path, a value with its unit.
    Set(String, String),
    /// Enables an intervention, named by its name or its index.
    On(String),
    /// Disables an intervention.
    Off(String),
    /// Gives an intervention another target: the name of a selection, or a query.
    Target(String, String),
    /// Silences the output of the elements of a selection or a query during the whole trial.
    Silence(String),
}

/// Parameter with its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParameterValues {
    /// Path of the parameter.
    pub path: String,
    /// Values with units, `10, 20 ms`, or a number of them in a range, `10..40 ms/4`.
    pub values: String,
}

/// Query over the elements of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ElementQuery {
    /// Name of a selection, or a query.
    pub query: String,
    /// Set of elements; empty for the first set of the model.
    pub set: String,
}

/// Value that is computed from a trial: a probe over a span of time, reduced to one number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measure {
    /// Name of the measure, unique in the experiment.
    pub name: String,
    /// Probe with its elements, as an entry of `record`: `spikes[in MN9]`, `v[class = motor]`, `loss`. For a series with named
    /// lanes, the brackets hold the name of a lane.
    pub read: String,
    /// Reduction to one number.
    pub reduce: Reduction,
    /// Start of the span, ms or steps.
    pub from: f64,
    /// End of the span, ms or steps; 0: the end of the trial.
    pub to: f64,
    /// Width of the time bins in which events are counted, ms or steps, for the last, lowest and highest rate; 0: the whole span.
    pub bin: f64,
}

choices! {
    /// Reduction of a series, or of the rate of events, to one number.
    pub enum Reduction {
        /// Mean of the samples; of events, the mean rate per element.
        Mean,
        /// Last sample; of events, the rate in the last time bin.
        Last,
        /// Lowest sample; of events, the lowest rate of a time bin.
        Lowest,
        /// Highest sample; of events, the highest rate of a time bin.
        Highest,
        /// Number of samples, or of events.
        Count,
        /// Time from the start of the span to the first event; a trial without an event has no value.
        #[title("Latency of the first event")]
        Latency,
        /// Share of the elements with at least one event.
        #[title("Share of active elements")]
        Active,
    }
}

#[allow(clippy::derivable_impls, reason = "`choices!` derives no default")]
impl Default for Reduction {
    fn default() -> Self {
        Self::Mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::{read, write};

    #[test]
    fn experiments_are_read_back_and_mistakes_have_a_line() {
        let text = r#"(experiment: (
            conditions: [
                Condition((name: "a", changes: [Set("lif.tau_m", "10 ms"), Off("x"), Target("x", "all"), Silence("idx = 1")])),
                Values((path: "lif.tau_m", values: "10, 20 ms")),
                Grid([(path: "lif.tau_m", values: "1, 2"), (path: "lif.tau_syn", values: "3")]),
                SilenceEach((query: "all", colour: "red")),
            ],
            seeds: "1..3", meassures: [],
            measures: [(name: "rate", read: "spikes", reduce: Highest, bin: 5.0)],
        ))"#;
        let (project, warnings) = read(text).expect("a project");
        let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "line 6: unknown field `colour` is ignored",
                "line 8: unknown field `meassures` is ignored; did you mean `measures`?"
            ]
        );
        let experiment = project.experiment.as_ref().expect("an experiment");
        assert_eq!((experiment.conditions.len(), experiment.infer_silent), (4, true));
        assert_eq!(experiment.measures[0].reduce, Reduction::Highest);
        let written = write(&project).expect("text");
        assert!(!written.contains("name: \"\""), "no empty name: {written}");
        assert_eq!(read(&written).expect("a project"), (project, vec![]), "{written}");
    }

    #[test]
    fn queries_of_conditions_and_measures_are_replaced() {
        let changes = vec![ConditionChange::Silence("in a".into()), ConditionChange::Off("in a".into())];
        let condition = Condition { name: "in a".into(), changes, ..Condition::default() };
        let each = ElementQuery { query: "in a".into(), ..ElementQuery::default() };
        let measure = Measure { read: "spikes[in a]".into(), ..Measure::default() };
        let mut experiment = Experiment {
            conditions: vec![ConditionRule::Condition(condition), ConditionRule::SilenceEach(each)],
            measures: vec![measure],
            ..Experiment::default()
        };
        experiment.map_queries(&|query| (query == "in a").then(|| "in b".to_owned()));
        let ConditionRule::Condition(condition) = &experiment.conditions[0] else { panic!("a condition") };
        let want = [ConditionChange::Silence("in b".into()), ConditionChange::Off("in a".into())];
        assert_eq!((condition.name.as_str(), &condition.changes[..]), ("in a", &want[..]));
        let ConditionRule::SilenceEach(each) = &experiment.conditions[1] else { panic!("a rule") };
        assert_eq!((each.query.as_str(), experiment.measures[0].read.as_str()), ("in b", "spikes[in b]"));
    }

    #[test]
    fn projects_without_an_experiment_do_not_mention_it() {
        assert!(!write(&Project::default()).expect("text").contains("experiment"));
    }
}
