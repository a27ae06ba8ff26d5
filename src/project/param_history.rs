//! Parameters in effect during a run: its project at step 0, and the changes of its command log.

use super::{Project, RunFolder};
use crate::{
    engine::LoggedCommand,
    num::digits::{counted, group_digits},
    params::{Change, ParamId, titles},
    sim::TimeBase,
};

/// Maximum number of values of a parameter that are listed, because a dragged slider logs one value per frame.
const MAX_WRITTEN: usize = 4;

/// Parameters in effect from the first to the last recorded step.
#[derive(Clone, Debug)]
pub struct ParamHistory {
    /// Project at the first step, with earlier changes applied.
    pub first: Project,
    /// Project at the last step.
    pub last: Project,
    /// Changes after the first step, with their steps.
    changes: Vec<(u64, Change)>,
    base: TimeBase,
}

impl ParamHistory {
    /// Reads project and command log of a run folder.
    ///
    /// # Errors
    /// Fails if the project or the command log of the run cannot be read.
    pub fn read(run: &RunFolder) -> Result<Self, String> {
        let (project, _) = run.displayed_project().map_err(|e| e.to_string())?;
        let log = run.commands().map_err(|e| e.to_string())?;
        Ok(Self::new(project, &log, run.manifest.first_step, run.manifest.time_base()))
    }

    /// Applies a command log to the project at step 0. Changes after `first_step` are kept with their steps.
    pub fn new(mut first: Project, log: &[(u64, LoggedCommand)], first_step: u64, base: TimeBase) -> Self {
        let changes = log.iter().filter_map(|(step, command)| Some((*step, command.change()?.clone())));
        let (before, changes): (Vec<_>, Vec<_>) = changes.partition(|(step, _)| *step <= first_step);
        apply(&before, &mut first);
        let mut last = first.clone();
        apply(&changes, &mut last);
        Self { first, last, changes, base }
    }

    /// Returns the parameters that changed, or that differ from those of another project at some step.
    pub fn ids_that_differ(&self, from: &Project) -> Vec<ParamId> {
        let of = |project: &Project| project.model.params().changes_since(from.model.params());
        let differing = of(&self.first).into_iter().chain(of(&self.last)).map(|change| change.id);
        sorted(differing.chain(self.edited_ids()).collect())
    }

    /// Returns the parameters that changed after the first step.
    pub fn edited_ids(&self) -> Vec<ParamId> {
        sorted(self.changes.iter().map(|(_, change)| change.id).collect())
    }

    /// Formats the values of a parameter with the steps of the changes: `0.006 → 0.02 (step 1,200)`.
    pub fn text(&self, id: ParamId) -> String {
        let values = self.values(id);
        let since = |step: u64| match self.base {
            TimeBase::Count { singular, .. } => format!("{singular} {}", group_digits(step)),
            TimeBase::Seconds { per_step } => {
                format!("{:.6}", step as f64 * per_step * 1e3).trim_end_matches('0').trim_end_matches('.').to_owned()
                    + " ms"
            }
        };
        let written = |(step, value): &(u64, String)| format!("{value} ({})", since(*step));
        match &values[..] {
            [] => String::new(),
            [(_, only)] => only.clone(),
            [(_, first), later @ ..] if values.len() <= MAX_WRITTEN => {
                std::iter::once(first.clone()).chain(later.iter().map(written)).collect::<Vec<_>>().join(" → ")
            }
            [(_, first), .., (step, last)] => {
                let n = group_digits(values.len() as u64 - 1);
                format!("{first} → … → {last} ({n} changes, last at {})", since(*step))
            }
        }
    }

    /// Returns the values of a parameter in order, with the steps at which they took effect.
    fn values(&self, id: ParamId) -> Vec<(u64, String)> {
        let mut project = self.first.clone();
        let mut values = vec![(0, shown(&project, id))];
        let of_list = |at: ParamId| at.group == id.group && (at.field == ParamId::WHOLE || id.field == ParamId::WHOLE);
        for (step, change) in self.changes.iter().filter(|(_, change)| change.id == id || of_list(change.id)) {
            project.model.params_mut().set(change);
            // If several changes were made between two steps, only the last took effect.
            values.pop_if(|(at, _)| *at == *step);
            let now = shown(&project, id);
            if values.last().is_none_or(|(_, before)| *before != now) {
                values.push((*step, now));
            }
        }
        values
    }
}

fn sorted(mut ids: Vec<ParamId>) -> Vec<ParamId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn apply(changes: &[(u64, Change)], project: &mut Project) {
    for (_, change) in changes {
        project.model.params_mut().set(change);
    }
}

/// Returns the displayed value of a parameter, or the number of items of a list; empty if the parameter does not exist.
fn shown(project: &Project, id: ParamId) -> String {
    let params = project.model.params();
    match params.spec(id) {
        None => counted(params.len(id.group), "item", "items"),
        Some(_) if usize::from(id.item) >= params.len(id.group) || !params.has(id) => String::new(),
        Some(spec) => titles::shown(spec, &params.get(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Model;
    use std::path::Path;

    const RATE: &str = "training.learning_rate";

    fn project(rate: f64) -> Project {
        let mut project = Project { model: Model::by_name("transformer").expect("a kind"), ..Project::default() };
        project.set(&format!("{RATE}={rate}"), Path::new(".")).expect(RATE);
        project
    }

    /// Returns the history of a learning rate that begins at `began` and has the given edits.
    fn history(began: f64, edits: &[(u64, f64)], first_step: u64) -> ParamHistory {
        let change = |rate: f64| project(rate).model.params().changes_since(project(9.0).model.params()).remove(0);
        let log: Vec<_> = edits.iter().map(|(step, rate)| (*step, LoggedCommand::Set(change(*rate)))).collect();
        ParamHistory::new(project(began), &log, first_step, TimeBase::STEPS)
    }

    #[test]
    fn the_values_in_force_are_written_with_their_steps() {
        for (began, edits, first_step, expected) in [
            (0.006, &[][..], 0, "0.006"),
            (0.006, &[(0, 0.02)], 0, "0.02"),
            (0.006, &[(1200, 0.02)], 0, "0.006 → 0.02 (step 1,200)"),
            (0.006, &[(1200, 0.02)], 1200, "0.02"),
            (0.006, &[(5, 0.01), (7, 0.01), (9, 0.006)], 0, "0.006 → 0.01 (step 5) → 0.006 (step 9)"),
            (0.006, &[(5, 0.01), (5, 0.006)], 0, "0.006"),
        ] {
            let history = history(began, edits, first_step);
            let ids = history.ids_that_differ(&project(0.5));
            assert_eq!(ids.len(), 1);
            assert_eq!(history.text(ids[0]), expected, "{edits:?}");
        }
        let dragged: Vec<(u64, f64)> = (1..=50).map(|i| (10 * i, 0.006 + 0.001 * i as f64)).collect();
        let history = history(0.006, &dragged, 0);
        let id = history.ids_that_differ(&project(0.006))[0];
        let text = history.text(id);
        assert!(text.starts_with("0.006 → … → 0.056") && text.ends_with("(50 changes, last at step 500)"), "{text}");
    }

    #[test]
    fn a_parameter_that_came_back_to_the_value_of_the_other_project_differs() {
        let history = history(0.02, &[(100, 0.006), (200, 0.02)], 0);
        assert_eq!(history.ids_that_differ(&project(0.02)).len(), 1);
        assert_eq!(history.first, history.last);
    }
}
