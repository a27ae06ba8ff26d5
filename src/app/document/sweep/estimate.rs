//! Estimate of the duration of a sweep, from a recorded run of equal length.

use crate::{
    app::{document::library::Run, kit::text::rough_time},
    kinds::Model,
    params::Apply,
    project::Status,
};

/// Recorded run from which the duration is estimated.
#[derive(Debug, PartialEq)]
pub struct Estimate {
    run: String,
    wall_secs: f64,
    device: String,
}

impl Estimate {
    /// Finds the newest complete run with `steps` steps and an equal build; `None` if there is no such run.
    pub fn of(runs: &[Run], model: &Model, steps: u64) -> Option<Self> {
        let run = Self::run_of(runs, model, steps)?;
        Some(Self { run: run.name.clone(), wall_secs: run.wall_secs, device: run.device.clone() })
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

    /// Formats the estimate: `About 2 min and the start of each run: 0003-usual took 9.1 s on CPU`.
    pub fn text(this: &Option<Self>, n_runs: usize) -> String {
        let Some(Self { run, wall_secs, device }) = this else {
            return "Duration unknown: no run of this length is recorded yet".into();
        };
        let total = rough_time((wall_secs * n_runs as f64).ceil());
        format!("About {total} and the start of each run: {run} took {wall_secs:.1} s on {device}")
    }
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
        let known = Estimate::of(&runs, &model, 100);
        assert_eq!(Estimate::text(&known, 20), "About 3 min and the start of each run: b took 9.0 s on CPU");
        assert!(Estimate::text(&Estimate::of(&runs, &model, 50), 1).starts_with("About 1 s"));
        assert_eq!(Estimate::of(&runs, &with("lif.tau_m=11"), 100), known, "the same network");
        let others = [Model::by_name("nuclei").unwrap(), with("network.n_neurons=77")];
        assert!(others.iter().all(|other| Estimate::of(&runs, other, 100).is_none()), "other networks");
        assert_eq!(Estimate::of(&runs, &model, 99), None);
        assert!(Estimate::text(&None, 20).starts_with("Duration unknown"));
    }
}
