//! Size of the edited experiment before it starts: numbers of conditions and trials, time, bytes, and its first mistake.

use super::{Estimate, Experiments};
use crate::{
    app::{
        document::{library::Run, session::Session},
        kit::text,
    },
    engine::SimSchema,
    experiment::{Plan, expand, measure},
    project::{
        Elements, Project,
        experiment::{ConditionRule, Experiment, TrialRecording},
    },
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Maximum number of names of conditions that a summary lists.
const MAX_NAMES: usize = 200;
/// Approximate bytes of a row of the table in addition to the names of its condition and measure, in CSV and Parquet.
const ROW_BYTES: usize = 90;

/// Inputs of a summary: address of the document, and of each set of the simulation.
pub type PlanKey = (usize, Vec<usize>);

/// Size of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanSummary {
    /// Number of conditions.
    pub n_conditions: usize,
    /// Number of trials.
    pub n_trials: usize,
    /// Names of the first conditions.
    pub names: Vec<String>,
    /// Bytes of the table.
    pub table_bytes: u64,
    /// Bytes of a recorded trial, as a run of equal length has; `None` if trials are not recorded, or no such run is known.
    pub trial_bytes: Option<u64>,
    /// First mistake; `None` if the experiment can start.
    pub problem: Option<String>,
    /// Whether conditions of queries are not counted, because no simulation is built.
    pub is_partial: bool,
    /// Document that was summarised, so that its address is not reused.
    of: Option<Arc<Project>>,
}

impl PlanSummary {
    /// Formats the size: `22 trials: 2 conditions, table 4 kB`.
    pub fn text(&self) -> String {
        let at_least = if self.is_partial { "at least " } else { "" };
        let trials = text::plural(self.n_trials, "trial", "trials");
        let conditions = text::plural(self.n_conditions, "condition", "conditions");
        let table = text::bytes(self.table_bytes);
        let recorded = self.trial_bytes.map_or_else(String::new, |bytes| {
            format!(", run folders about {}", text::bytes(bytes.saturating_mul(self.n_trials as u64)))
        });
        format!("{at_least}{trials} of {conditions}, table {table}{recorded}")
    }
}

impl Experiments {
    /// Summarises the edited experiment on the pool if the document or its simulation has changed.
    pub fn update_plan(&mut self, ctx: &egui::Context, session: &Session, runs: &[Run]) {
        let document = session.history.committed();
        let schema = &session.live.schema;
        let sets = schema.sets.iter().map(|set| Arc::as_ptr(set) as usize).collect();
        let key = (Arc::as_ptr(document) as usize, sets);
        self.plan.poll();
        if document.experiment.is_none() || !self.plan.is_stale(&key) {
            return;
        }
        let (document, schema, base) = (document.clone(), schema.clone(), session.folder());
        let steps = document.planned_steps();
        let run = steps.and_then(|steps| Estimate::run_of(runs, &document.model, steps)).map(|run| run.folder.clone());
        self.estimate = steps.and_then(|steps| Estimate::of(None, runs, &document.model, steps));
        self.plan.want(ctx, key, move |_| Some(summary(&document, &schema, &base, run)));
    }

    /// Describes the expected duration of the edited experiment, from the experiment on display or a recorded run of equal length.
    pub fn duration_text(&self, session: &Session) -> String {
        let Some(plan) = self.plan.get() else { return String::new() };
        let Some(steps) = session.project.planned_steps() else { return String::new() };
        let shown = Estimate::of(self.results().as_deref(), &[], &session.project.model, steps);
        Estimate::text(shown.as_ref().or(self.estimate.as_ref()), plan.n_trials)
    }
}

fn summary(document: &Arc<Project>, schema: &SimSchema, base: &Path, run: Option<PathBuf>) -> PlanSummary {
    let experiment = document.experiment.clone().unwrap_or_default();
    let elements = Elements { sets: &schema.sets, connectivity: schema.connectivity.as_ref(), base: Some(base) };
    let (plan, problem) = match expand(document, &experiment, &elements) {
        Ok(plan) => (plan, None),
        Err(why) => (Plan::default(), Some(why)),
    };
    let problem = problem.or_else(|| measures_problem(document, &experiment, schema, base));
    let has_queries = experiment.conditions.iter().any(|rule| matches!(rule, ConditionRule::SilenceEach(_)));
    let is_recorded = experiment.record == TrialRecording::EveryTrial;
    PlanSummary {
        n_conditions: plan.conditions.len(),
        n_trials: plan.n_trials(),
        names: plan.conditions.iter().take(MAX_NAMES).map(|condition| condition.name.clone()).collect(),
        table_bytes: table_bytes(&plan, &experiment),
        trial_bytes: run.filter(|_| is_recorded).map(|folder| folder_bytes(&folder)),
        problem,
        is_partial: has_queries && schema.sets.is_empty(),
        of: Some(document.clone()),
    }
}

/// Returns the first mistake in measures, or the missing end of a trial; without a simulation, queries are not checked.
fn measures_problem(document: &Project, experiment: &Experiment, schema: &SimSchema, base: &Path) -> Option<String> {
    let Some(until) = document.planned_steps() else {
        return Some("A trial needs an end: set Run settings › Duration".to_owned());
    };
    if experiment.measures.is_empty() {
        return Some("The experiment has no measure".to_owned());
    }
    if schema.probes.is_empty() {
        return None;
    }
    measure::resolve(document, &experiment.measures, schema, base, until).err()
}

fn table_bytes(plan: &Plan, experiment: &Experiment) -> u64 {
    let measures: usize = experiment.measures.iter().map(|measure| measure.name.len()).sum();
    let of = |condition: &crate::experiment::Planned| {
        let row = condition.name.len() + ROW_BYTES;
        condition.seeds.len() * (row * experiment.measures.len() + measures)
    };
    plan.conditions.iter().map(of).sum::<usize>() as u64
}

/// Returns the bytes of the files in a folder and its folders; unreadable ones count as empty.
fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => folder_bytes(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::experiment::{Measure, ParameterValues};

    #[test]
    fn the_plan_counts_trials_and_names_the_first_mistake() {
        let rule =
            |values: &str| ConditionRule::Values(ParameterValues { path: "lif.tau_m".into(), values: values.into() });
        let measure = Measure { name: "rate".into(), read: "spikes".into(), ..Measure::default() };
        let project = |values: &str, measures: Vec<Measure>| {
            let conditions = vec![rule(values)];
            let experiment = Experiment { conditions, measures, seeds: "1..5".into(), ..Experiment::default() };
            let mut project = Project { experiment: Some(experiment), ..Project::default() };
            project.run.continuous = false;
            Arc::new(project)
        };
        let of = |project: &Arc<Project>| summary(project, &SimSchema::default(), Path::new("."), None);
        let good = of(&project("10, 20 ms", vec![measure.clone()]));
        assert_eq!((good.n_conditions, good.n_trials, good.problem.as_deref()), (3, 15, None), "with the control");
        assert_eq!(good.names[0], "control");
        assert!(good.text().starts_with("15 trials of 3 conditions, table "), "{}", good.text());
        let wrong = of(&project("10 mV", vec![measure]));
        assert!(wrong.problem.as_deref().is_some_and(|why| why.contains("lif.tau_m")), "{wrong:?}");
        let none = of(&project("10 ms", vec![]));
        assert_eq!(none.problem.as_deref(), Some("The experiment has no measure"));
    }
}
