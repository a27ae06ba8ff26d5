//! Results of an experiment folder, as views show them. All statistics come from [`experiment::statistics`].
//!
//! [`experiment::statistics`]: crate::experiment::statistics

use super::{Opened, factors::Factors};
use crate::{
    data::csv_text,
    experiment::{
        ExperimentFolder, Table,
        export::statistics,
        folder::{MANIFEST, Status},
        statistics::{Line, Report},
        table::{RESULTS, TrialState},
    },
    project::experiment::TrialRecording,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

/// Time and size of the files from which results were read.
type Stamp = [Option<(SystemTime, u64)>; 2];

/// Results of an experiment.
#[derive(Clone, Debug)]
pub struct Results {
    /// Manifest, project and conditions.
    pub folder: ExperimentFolder,
    /// Results of the trials that were read.
    pub table: Table,
    /// Statistics of all measures.
    pub report: Report,
    /// Messages about rows of the table that cannot be read, with their lines.
    pub damaged: Vec<String>,
    /// State of each condition.
    pub states: Vec<ConditionState>,
    /// Parameters that all conditions vary; `None` if they differ in other ways.
    pub factors: Option<Factors>,
    stamp: Stamp,
}

/// Trials of a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionState {
    /// Number of trials that the folder holds when it is complete.
    pub n_planned: usize,
    /// Number of trials with a result, failed ones excluded.
    pub n_done: usize,
    /// Number of trials that have the result of the control without a run.
    pub n_same: usize,
    /// Number of failed trials.
    pub n_failed: usize,
    /// Reason of the first failure; empty without one.
    pub why_failed: String,
    /// Damaged rows of the table, one reason each.
    pub damaged: Vec<String>,
}

impl ConditionState {
    /// Describes what distinguishes the condition from a finished one: `2 failed: …`, `same as control`; empty for nothing.
    pub fn text(&self) -> String {
        let mut parts = self.damaged.clone();
        if self.n_failed > 0 {
            parts.push(format!("{} failed: {}", self.n_failed, self.why_failed));
        }
        match self.n_same {
            0 => {}
            n if n == self.n_planned => parts.push("same as control".to_owned()),
            n => parts.push(format!("{n} same as control")),
        }
        let n_ended = self.n_done + self.n_failed;
        if n_ended < self.n_planned && self.damaged.is_empty() {
            parts.push(format!("{n_ended} of {} trials", self.n_planned));
        }
        parts.join("; ")
    }

    /// Whether trials failed or rows are damaged.
    pub fn is_bad(&self) -> bool {
        self.n_failed > 0 || !self.damaged.is_empty()
    }
}

/// Reads a folder; returns `before` if its files have not changed.
pub fn read(folder: &Path, before: Option<Arc<Results>>) -> Opened {
    let now = stamp(folder);
    if let Some(before) = before.filter(|before| before.folder.path == folder && before.stamp == now) {
        return Ok(before);
    }
    let opened = ExperimentFolder::open(folder)?;
    Ok(Arc::new(Results::new(opened, now)))
}

fn stamp(folder: &Path) -> Stamp {
    [MANIFEST, RESULTS].map(|name| {
        let about = std::fs::metadata(folder.join(name)).ok()?;
        Some((about.modified().ok()?, about.len()))
    })
}

impl Results {
    fn new(folder: ExperimentFolder, stamp: Stamp) -> Self {
        let (table, damaged) = folder.table_with_problems();
        let report = statistics(&folder, &table);
        let states = states(&folder, &table, &damaged);
        let factors = Factors::of(&folder.project, &folder.plan);
        Self { folder, table, report, damaged, states, factors, stamp }
    }

    /// Returns the state of the experiment.
    pub const fn status(&self) -> &Status {
        &self.folder.manifest.status
    }

    /// Returns the name of the folder.
    pub fn name(&self) -> String {
        self.folder.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns the index of the control.
    pub const fn control(&self) -> usize {
        self.folder.plan.control
    }

    /// Returns the statistics of a measure under a condition; `None` if there are none.
    pub fn line(&self, measure: usize, condition: usize) -> Option<&Line> {
        self.report.line(measure, condition)
    }

    /// Returns the unit of a measure; empty for a number without a unit.
    pub fn unit(&self, measure: usize) -> &str {
        let name = self.table.measures.get(measure);
        let known = self.folder.manifest.measures.iter().find(|(known, _)| Some(known) == name);
        known.map_or("", |(_, unit)| unit.as_str())
    }

    /// Returns the name of a measure with its unit: `rate (Hz)`.
    pub fn title(&self, measure: usize) -> String {
        let name = self.table.measures.get(measure).map_or("", String::as_str);
        match self.unit(measure) {
            "" => name.to_owned(),
            unit => format!("{name} ({unit})"),
        }
    }

    /// Returns the numbers of trials with a result or a failure, and of all trials of the folder.
    pub fn n_trials(&self) -> (usize, usize) {
        (self.table.trials.len(), self.states.iter().map(|state| state.n_planned).sum())
    }

    /// Returns the values of a measure under a condition by seed; trials without a value are left out.
    pub fn values(&self, measure: usize, condition: usize) -> Vec<(u64, f64)> {
        let own = self.table.trials.range((condition, 0)..=(condition, u64::MAX));
        let value = |((_, seed), trial): (&(usize, u64), &crate::experiment::table::TrialResult)| {
            Some((*seed, trial.values.get(measure).copied().flatten()?))
        };
        own.filter_map(value).collect()
    }

    /// Returns the run folders of a condition's trials that exist; empty if trials were not recorded.
    pub fn recorded(&self, condition: usize) -> Vec<PathBuf> {
        let experiment = self.folder.project.experiment.as_ref();
        if experiment.is_none_or(|experiment| experiment.record != TrialRecording::EveryTrial) {
            return vec![];
        }
        let own = self.table.trials.range((condition, 0)..=(condition, u64::MAX));
        let folders = own.map(|((_, seed), _)| self.folder.trial_folder(condition, *seed));
        folders.filter(|folder| folder.is_dir()).collect()
    }

    /// Whether any condition silences one element.
    pub fn has_elements(&self) -> bool {
        self.folder.plan.conditions.iter().any(|condition| condition.element.is_some())
    }
}

/// Maximum number of conditions that a message names.
const NAMED: usize = 3;

/// Names the conditions with failed trials: `2 failed: tau_m 25 ms (became NaN)`; `None` without failures.
pub fn n_failed_text(table: &Table) -> Option<String> {
    let mut failed: Vec<(usize, &str)> = vec![];
    for ((condition, _), trial) in &table.trials {
        if let TrialState::Failed(why) = &trial.state
            && failed.last().is_none_or(|(last, _)| last != condition)
        {
            failed.push((*condition, why));
        }
    }
    let name = |condition: usize| table.conditions.get(condition).map_or("", String::as_str);
    let mut named: Vec<String> =
        failed.iter().take(NAMED).map(|(condition, why)| format!("{} ({why})", name(*condition))).collect();
    if failed.len() > NAMED {
        named.push(format!("and {} more conditions", failed.len() - NAMED));
    }
    (!named.is_empty()).then(|| format!("{} failed: {}", table.n_failed(), named.join(", ")))
}

/// Returns the index of the condition in the row that a message about the table names by its line; `None` if the row names none.
fn condition_of(message: &str, lines: &[&str], table: &Table) -> Option<usize> {
    let number = message.rsplit_once(" line ")?.1.split(':').next()?.parse::<usize>().ok()?;
    let row = lines.get(number.checked_sub(1)?)?;
    let starts = |name: &String| row.starts_with(csv_text([[name.as_str(), ""]]).trim_end());
    table.conditions.iter().position(starts)
}

fn states(folder: &ExperimentFolder, table: &Table, damaged: &[String]) -> Vec<ConditionState> {
    let mut states = vec![ConditionState::default(); folder.plan.conditions.len()];
    folder.trials().iter().for_each(|(condition, _)| states[*condition].n_planned += 1);
    for ((condition, _), trial) in &table.trials {
        let state = &mut states[*condition];
        match &trial.state {
            TrialState::Run => state.n_done += 1,
            TrialState::SameAsControl => (state.n_done, state.n_same) = (state.n_done + 1, state.n_same + 1),
            TrialState::Failed(why) => {
                state.n_failed += 1;
                if state.why_failed.is_empty() {
                    state.why_failed.clone_from(why);
                }
            }
        }
    }
    let text = if damaged.is_empty() { vec![] } else { std::fs::read(folder.path.join(RESULTS)).unwrap_or_default() };
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    for message in damaged {
        if let Some(state) = condition_of(message, &lines, table).and_then(|condition| states.get_mut(condition)) {
            state.damaged.push(message.clone());
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_say_what_is_missing() {
        let state = |n_done, n_same, n_failed| ConditionState {
            n_planned: 10,
            n_done,
            n_same,
            n_failed,
            why_failed: "became NaN".into(),
            ..ConditionState::default()
        };
        for (state, text) in [
            (state(10, 0, 0), ""),
            (state(10, 10, 0), "same as control"),
            (state(10, 3, 0), "3 same as control"),
            (state(8, 0, 2), "2 failed: became NaN"),
            (state(4, 0, 0), "4 of 10 trials"),
        ] {
            assert_eq!(state.text(), text);
        }
    }
}
