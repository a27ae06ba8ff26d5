//! Runs the trials of an experiment.
//!
//! Trials are grouped by build: conditions that differ in parameters which take effect while a simulation runs share one. Within a
//! group the trials of the control come first, because [`silent`] needs them, then all conditions of a seed before those of the
//! next. As many trials run at a time as [`Prepared::concurrent_trials`](crate::kinds::Prepared::concurrent_trials) allows, each
//! on a simulation that the next trial reuses. No result depends on the order or on the number of workers.

mod build;
mod group;
mod output;
mod recorded;
mod setting;
mod silent;
mod trial;

pub(in crate::experiment) use build::Build;
pub use output::write_table;
pub(in crate::experiment) use recorded::Recording;
pub use setting::{Counters, Setting};
pub(in crate::experiment) use trial::{Trial, Worker};

use super::{
    changes, expand,
    folder::{ExperimentFolder, FolderLock, Manifest, Status},
    shard::Shard,
    table::{Table, TrialState},
};
use crate::{
    project::{DeferredSync, Elements, Project, experiment::TrialRecording, run::now_utc, save_shared_ids},
    sim::{Progress, SimError, Simulation},
};
use output::Output;
use std::{
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::Instant,
};

/// Experiment with a folder and a prepared first model.
pub struct Started {
    folder: ExperimentFolder,
    lock: FolderLock,
    table: Table,
    build: Build,
    sim: Box<dyn Simulation>,
    base: PathBuf,
}

/// Begins an experiment in a new folder. The project has an experiment.
///
/// # Errors
/// Fails if the project, a condition, a measure or the folder is invalid, and with [`SimError::Cancelled`].
pub fn begin(
    project: &Project,
    base: &Path,
    path: &Path,
    shard: Shard,
    setting: &Setting,
    progress: &Progress,
) -> Result<Started, SimError> {
    let experiment = project.experiment.clone().unwrap_or_default();
    // Mistakes that need no model are found before a long build.
    expand(project, &experiment, &Elements { base: Some(base), ..Elements::default() }).map_err(SimError::Input)?;
    let (build, sim) = Build::new(project, base, setting, progress)?;
    let elements =
        Elements { sets: &build.schema.sets, connectivity: build.schema.connectivity.as_ref(), base: Some(base) };
    let plan = expand(project, &experiment, &elements).map_err(SimError::Input)?;
    let absolute = std::fs::canonicalize(base).unwrap_or_else(|_| base.to_owned());
    let manifest = Manifest {
        name: project.name.clone(),
        kind: project.model.name().to_owned(),
        device: setting.device_name.clone(),
        threads: setting.threads,
        base: absolute.to_string_lossy().into_owned(),
        command: setting.command.clone(),
        control: plan.conditions[plan.control].name.clone(),
        shard,
        measures: build.measures.iter().map(|m| (m.name.clone(), m.unit.clone())).collect(),
        ..Manifest::default()
    };
    let (folder, lock) = ExperimentFolder::create(path, manifest, project.clone(), plan).map_err(SimError::Input)?;
    if experiment.record == TrialRecording::EveryTrial {
        save_shared_ids(path, &build.schema.sets).map_err(|e| SimError::Input(e.to_string()))?;
    }
    let table = folder.empty_table();
    Ok(Started { folder, lock, table, build, sim, base: base.to_owned() })
}

/// Continues an experiment that was cancelled, or interrupted by the end of its process. Finished trials are kept, failed ones run again.
///
/// # Errors
/// Fails if the folder is invalid, damaged or being written, the model cannot be built, and with [`SimError::Cancelled`].
pub fn resume(path: &Path, setting: &Setting, progress: &Progress) -> Result<Started, SimError> {
    let mut folder = ExperimentFolder::open(path).map_err(SimError::Input)?;
    let lock = folder.lock().map_err(SimError::Input)?;
    let mut table = folder.table().map_err(SimError::Input)?;
    table.trials.retain(|_, trial| !matches!(trial.state, TrialState::Failed(_)));
    folder.manifest.status = Status::Running;
    folder.save_manifest().map_err(SimError::Input)?;
    let base = PathBuf::from(&folder.manifest.base);
    let (build, sim) = Build::new(&folder.project, &base, setting, progress)?;
    Ok(Started { folder, lock, table, build, sim, base })
}

impl Started {
    /// Returns the folder of the experiment.
    pub fn folder(&self) -> &ExperimentFolder {
        &self.folder
    }

    /// Returns notices about the model, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.build.schema.notices
    }

    /// Runs the trials that have no result yet. A trial that fails is reported in the table, and the others run. Returns the
    /// folder with its table.
    ///
    /// # Errors
    /// Fails if the device or the disk fails, or a repeated control differs; and with [`SimError::Cancelled`] within 100 ms after
    /// `progress` was cancelled. Finished trials are kept.
    pub fn run(
        self,
        setting: &Setting,
        counters: &Counters,
        progress: &Progress,
    ) -> Result<(ExperimentFolder, Table), SimError> {
        let Self { mut folder, lock, table, build, sim, base } = self;
        let since = Instant::now();
        let own = folder.trials();
        counters.n_trials.store(own.len() as u64, Ordering::Relaxed);
        counters.n_done.store(table.trials.len() as u64, Ordering::Relaxed);
        let mut output = Output::open(&folder, table, counters)?;
        // Syncing each file of a short trial would take most of its time.
        let is_recorded = folder.experiment().record == TrialRecording::EveryTrial;
        let series = is_recorded.then(|| DeferredSync::new(&folder.path));
        let ended = run_groups(&folder, &own, (build, sim), &base, setting, &mut output, progress);
        let is_complete = ended.is_ok() && own.iter().all(|key| output.table.trials.contains_key(key));
        folder.manifest.status = match &ended {
            Ok(()) if is_complete => Status::Complete,
            Ok(()) => Status::Running,
            Err(SimError::Cancelled) => Status::Interrupted,
            Err(error) => Status::Failed(error.to_string()),
        };
        if is_complete {
            output.finish(&folder)?;
        }
        series.map_or(Ok(()), DeferredSync::finish).map_err(|e| SimError::Input(e.to_string()))?;
        folder.manifest.stopped = now_utc();
        folder.manifest.wall_s += since.elapsed().as_secs_f64();
        folder.save_manifest().map_err(SimError::Input)?;
        drop(lock);
        ended.map(|()| (folder, output.table))
    }
}

/// Runs the trials that have no result, group by group.
fn run_groups(
    folder: &ExperimentFolder,
    own: &[(usize, u64)],
    first: (Build, Box<dyn Simulation>),
    base: &Path,
    setting: &Setting,
    output: &mut Output<'_>,
    progress: &Progress,
) -> Result<(), SimError> {
    let open: Vec<(usize, u64)> = own.iter().filter(|key| !output.table.trials.contains_key(key)).copied().collect();
    let mut groups = group::by_build(&folder.project, &folder.plan, &open, base)?;
    let context = group::Context { folder, base, setting, progress };
    let counters = output.counters();
    let steps = first.0.until * open.len() as u64;
    counters.n_planned_steps.store(steps, Ordering::Relaxed);
    let (build, sim) = first;
    if let Some(shared) = groups.first_mut().filter(|group| group.is_first_build) {
        let shared = std::mem::take(shared);
        context.run(&shared, &build, Some(sim), output)?;
    }
    drop(build);
    for group in groups.iter().filter(|group| !group.is_first_build && !group.trials.is_empty()) {
        let project = changes::changed(&folder.project, &folder.plan.conditions[group.representative].changes, base);
        let built = project.map_err(SimError::Input).and_then(|project| Build::new(&project, base, setting, progress));
        match built {
            Ok((build, sim)) => context.run(group, &build, Some(sim), output)?,
            Err(error @ (SimError::Cancelled | SimError::Device(_))) => return Err(error),
            Err(error) => output.add(group.failed(&folder.experiment(), &error))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
