//! Repeats a trial of an experiment and compares it with the table.

use super::{
    ExperimentFolder, changes,
    run::{Build, Counters, Recording, Setting, Trial, Worker},
    table::TrialResult,
};
use crate::{
    gpu::StopFlag,
    sim::{Progress, SimError},
};
use std::path::Path;

/// A trial in the table and its repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// Result in the table.
    pub recorded: TrialResult,
    /// Result of the repetition.
    pub now: TrialResult,
}

impl Repeated {
    /// Whether hash and values are those of the table.
    pub fn is_identical(&self) -> bool {
        (&self.recorded.hash, &self.recorded.values) == (&self.now.hash, &self.now.values)
    }
}

/// Runs the trial of a condition with a seed again, on a build of its own.
///
/// # Errors
/// Fails if there is no such condition or trial, the trial failed, the model cannot be built, and with [`SimError::Cancelled`].
pub fn repeat(
    folder: &ExperimentFolder,
    condition: &str,
    seed: u64,
    setting: &Setting,
    progress: &Progress,
) -> Result<Repeated, SimError> {
    let Some(at) = folder.plan.find(condition) else {
        let n = folder.plan.conditions.len();
        let known: Vec<&str> = folder.plan.conditions.iter().take(20).map(|c| c.name.as_str()).collect();
        let more = if n > known.len() { format!(" and {} more", n - known.len()) } else { String::new() };
        let known = known.join(", ");
        return Err(SimError::Input(format!("there is no condition `{condition}`; conditions: {known}{more}")));
    };
    let table = folder.table().map_err(SimError::Input)?;
    let Some(recorded) = table.trials.get(&(at, seed)).cloned() else {
        return Err(SimError::Input(format!("the table has no trial of `{condition}` with seed {seed}")));
    };
    if recorded.hash.is_empty() && recorded.values.iter().all(Option::is_none) {
        return Err(SimError::Input(format!("the trial of `{condition}` with seed {seed} {}", recorded.state)));
    }
    let base = Path::new(&folder.manifest.base);
    let project =
        changes::changed(&folder.project, &folder.plan.conditions[at].changes, base).map_err(SimError::Input)?;
    let (build, _) = Build::new(&project, base, setting, progress)?;
    let recording =
        Recording { base, device: &setting.device_name, threads: setting.threads, command: &setting.command };
    let counters = Counters::default();
    let mut worker = Worker::new(&build, setting.device.clone(), &counters, progress, StopFlag::default(), recording);
    let trial = Trial { project: &project, seed, finds_active: false, folder: None };
    let now = worker.run(&trial)?.result;
    Ok(Repeated { recorded, now })
}
