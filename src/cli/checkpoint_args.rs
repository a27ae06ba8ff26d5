//! Arguments of `neuropil run` about checkpoints.

use super::{args::RunArgs, error::CliError};
use crate::{params::Unit, project::Project};

impl RunArgs {
    /// Applies the arguments about checkpoints to a project. Fails if the kind has no result that could end the run.
    pub(super) fn apply_checkpoints(&self, project: &mut Project) -> Result<(), CliError> {
        match self.checkpoint_every {
            Some(CheckpointInterval::Secs(secs)) => project.run.checkpoint_every_s = secs,
            Some(CheckpointInterval::Steps(steps)) => project.run.checkpoint_steps = steps,
            None => {}
        }
        let Some(n) = self.stop_early else { return Ok(()) };
        if n > 0 && project.model.result_probe().is_none() {
            let title = project.model.title();
            return Err(CliError::Usage(format!(
                "{title} has no held-out loss by which --stop-early could end the run"
            )));
        }
        project.run.stop_early = n;
        Ok(())
    }
}

/// Checkpoint of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtStep {
    /// The last one at or before a step.
    Step(u64),
    /// The one with the lowest result.
    Best,
}

/// Parses a step or `best`. Fails if the text is neither.
pub(super) fn at_step(text: &str) -> Result<AtStep, String> {
    match text.trim() {
        "best" => Ok(AtStep::Best),
        step => step.parse().map(AtStep::Step).map_err(|_| format!("`{text}` is neither a step nor `best`")),
    }
}

/// Interval between checkpoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CheckpointInterval {
    /// Wall time in seconds.
    Secs(f64),
    Steps(u64),
}

/// Parses an interval such as `10min`, `90 s` or `5000steps`. Fails if the text is not a positive interval with a unit.
pub(super) fn checkpoint_interval(text: &str) -> Result<CheckpointInterval, String> {
    let steps = text.trim().strip_suffix("steps").or_else(|| text.trim().strip_suffix("step"));
    if let Some(n) = steps.and_then(|n| n.trim().parse().ok()).filter(|n| *n > 0) {
        return Ok(CheckpointInterval::Steps(n));
    }
    match Unit::S.parse(text) {
        Ok(secs) if secs > 0.0 && secs <= 1e9 && text.trim().parse::<f64>().is_err() => {
            Ok(CheckpointInterval::Secs(secs))
        }
        _ => Err(format!("`{text}` is not an interval; expected e.g. `10min`, `90s` or `5000steps`")),
    }
}
