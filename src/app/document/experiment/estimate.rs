//! Estimate of the duration of trials, from earlier ones or from a recorded run of equal length.

use super::Results;
use crate::{
    app::{document::library::Run, kit::text::rough_time},
    kinds::Model,
    params::Apply,
    project::Status,
};

/// Known duration of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Wall time of a trial, seconds.
    secs: f64,
    /// Source of the time: `0003-usual took 9.1 s on CPU`; empty for the experiment on display.
    source: String,
}

impl Estimate {
    /// Returns the mean time of the trials on display if they have `steps` steps, otherwise that of the newest complete run with
    /// `steps` steps and an equal build. `None` without either.
    pub fn of(shown: Option<&Results>, runs: &[Run], model: &Model, steps: u64) -> Option<Self> {
        let of_run = || {
            let Run { name, wall_secs, device, .. } = Self::run_of(runs, model, steps)?;
            Some(Self { secs: *wall_secs, source: format!("{name} took {wall_secs:.1} s on {device}") })
        };
        let shown = shown.and_then(|results| secs_per_trial(results, steps));
        shown.map(|secs| Self { secs, source: String::new() }).or_else(of_run)
    }

    /// Returns the run from which the duration is estimated; `None` if there is no such run.
    pub fn run_of<'a>(runs: &'a [Run], model: &Model, steps: u64) -> Option<&'a Run> {
        let is_like = |run: &&Run| {
            let is_whole = run.problem.is_none() && run.status == Status::Complete;
            let is_alike = run.model.as_ref().is_some_and(|then| are_built_alike(then, model));
            is_whole && run.parent.is_none() && run.steps == steps && is_alike
        };
        runs.iter().filter(is_like).max_by(|a, b| a.started.cmp(&b.started))
    }

    /// Formats the estimate: `About 2 min: 0003-usual took 9.1 s on CPU`.
    pub fn text(this: Option<&Self>, n_trials: usize) -> String {
        let Some(Self { secs, source }) = this else {
            return "Duration unknown: no run of this length is recorded yet".into();
        };
        let source = if source.is_empty() { String::new() } else { format!(": {source}") };
        format!("About {}{source}", rough_time((secs * n_trials as f64).ceil()))
    }
}

/// Returns the wall time per trial of an experiment with trials of this number of steps; `None` if they have another one, or no
/// trial was run.
fn secs_per_trial(results: &Results, steps: u64) -> Option<f64> {
    let n_run: usize = results.states.iter().map(|state| state.n_done - state.n_same).sum();
    let is_alike = results.folder.project.planned_steps() == Some(steps);
    (is_alike && n_run > 0 && results.folder.manifest.wall_s > 0.0)
        .then(|| results.folder.manifest.wall_s / n_run as f64)
}

/// Whether two models differ only in parameters that apply without a rebuild. The folder may also contain runs of other
/// projects.
fn are_built_alike(a: &Model, b: &Model) -> bool {
    let (params, is_same_kind) = (a.params(), a.name() == b.name());
    let needs_build = |id| params.spec(id).is_some_and(|spec| spec.apply == Apply::Rebuild);
    is_same_kind && !params.changes_since(b.params()).iter().any(|change| needs_build(change.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::path;
    use std::sync::Arc;

    #[test]
    fn the_newest_whole_run_of_the_same_length_counts() {
        let model = Model::by_name("spiking").unwrap();
        let with = |text: &str| {
            let mut model = model.clone();
            let change = path::parse(model.params(), text).unwrap();
            assert!(model.params_mut().set(&change));
            model
        };
        let run = |name: &str, steps, wall_secs| Run {
            name: name.into(),
            started: name.into(),
            model: Some(Arc::new(model.clone())),
            status: Status::Complete,
            device: "CPU".into(),
            steps,
            wall_secs,
            ..Run::default()
        };
        let mut runs = vec![run("a", 100, 7.0), run("b", 100, 9.04), run("c", 50, 1.0), run("d", 100, 1.0)];
        runs[3].status = Status::Interrupted { step: 100 };
        let of = |model: &Model, steps| Estimate::of(None, &runs, model, steps);
        let known = of(&model, 100);
        assert_eq!(Estimate::text(known.as_ref(), 20), "About 3 min: b took 9.0 s on CPU");
        assert!(Estimate::text(of(&model, 50).as_ref(), 1).starts_with("About 1 s"));
        assert_eq!(of(&with("lif.tau_m=11"), 100), known, "the same network");
        let others = [Model::by_name("nuclei").unwrap(), with("network.n_neurons=77")];
        assert!(others.iter().all(|other| of(other, 100).is_none()), "other networks");
        assert_eq!(of(&model, 99), None);
        assert!(Estimate::text(None, 20).starts_with("Duration unknown"));
    }
}
