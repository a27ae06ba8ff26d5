//! How long a sweep takes, by a run of the same length that was recorded before.

use crate::{
    app::{library::Run, text::rough_time},
    project::Status,
};

/// A run of the same length.
#[derive(Debug, PartialEq)]
pub struct Estimate {
    run: String,
    wall_secs: f64,
    device: String,
}

impl Estimate {
    /// By the newest complete run of this kind and number of steps.
    pub fn of(runs: &[Run], kind: &str, steps: u64) -> Option<Self> {
        let is_like = |run: &&Run| {
            let is_whole = run.problem.is_none() && run.status == Status::Complete;
            is_whole && run.parent.is_none() && run.kind == kind && run.steps == steps
        };
        let run = runs.iter().filter(is_like).max_by(|a, b| a.started.cmp(&b.started))?;
        Some(Self { run: run.name.clone(), wall_secs: run.wall_secs, device: run.device.clone() })
    }

    /// `About 2 min and the start of each run: 0003-usual took 9.1 s on CPU`.
    pub fn text(this: &Option<Self>, n_runs: usize) -> String {
        let Some(Self { run, wall_secs, device }) = this else {
            return "Duration unknown: no run of this length is recorded yet".into();
        };
        let total = rough_time((wall_secs * n_runs as f64).ceil());
        format!("About {total} and the start of each run: {run} took {wall_secs:.1} s on {device}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_whole_run_of_the_same_length_counts() {
        let run = |name: &str, steps, wall_secs| Run {
            name: name.into(),
            started: name.into(),
            kind: "spiking".into(),
            status: Status::Complete,
            device: "CPU".into(),
            steps,
            wall_secs,
            ..Run::default()
        };
        let mut runs = vec![run("a", 100, 7.0), run("b", 100, 9.04), run("c", 50, 1.0), run("d", 100, 1.0)];
        runs[3].status = Status::Interrupted { step: 100 };
        let known = Estimate::of(&runs, "spiking", 100);
        assert_eq!(Estimate::text(&known, 20), "About 3 min and the start of each run: b took 9.0 s on CPU");
        assert!(Estimate::text(&Estimate::of(&runs, "spiking", 50), 1).starts_with("About 1 s"));
        assert_eq!((Estimate::of(&runs, "nuclei", 100), Estimate::of(&runs, "spiking", 99)), (None, None));
        assert!(Estimate::text(&None, 20).starts_with("Duration unknown"));
    }
}
