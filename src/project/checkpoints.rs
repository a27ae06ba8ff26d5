//! Checkpoints of a run folder, written during the recording.

use super::{
    Project, RunWriter, Status,
    append_file::AppendFile,
    checkpoint_file::{self, CheckpointInfo, RecordedUntil},
    checkpoint_settings::CheckpointSettings,
    durability, file,
    run::at,
    unlisted::remove,
    writer::save_manifest,
};
use crate::engine::{BestState, Checkpoint, CheckpointPlan};
use std::{io, thread::JoinHandle};

/// Checkpoints of a run that is being written.
#[derive(Default)]
pub(super) struct Checkpoints {
    /// Conditions on which checkpoints are taken.
    pub plan: CheckpointPlan,
    /// Number of checkpoints to keep; 0 keeps all.
    keep: usize,
    /// Thread that writes a checkpoint; `None` if no checkpoint is being written.
    writing: Option<JoinHandle<io::Result<CheckpointInfo>>>,
    /// Checkpoints beyond the number to keep, which are removed when no manifest lists them.
    obsolete: Vec<CheckpointInfo>,
    /// Step of the last saved state, and the data written up to that step; `None` before the first state.
    pub marked: Option<(u64, RecordedUntil)>,
    /// Step at which the run continues an earlier recording; `None` for a new recording.
    pub resumed_at: Option<u64>,
}

impl Checkpoints {
    /// Creates the checkpoints of a project's plan. A series of trials takes no checkpoints.
    pub fn of(project: &Project, has_trials: bool) -> Self {
        let plan = if has_trials { CheckpointPlan::default() } else { project.checkpoint_plan() };
        Self { plan, keep: project.run.kept(&plan) as usize, ..Self::default() }
    }

    /// Describes the checkpoints for the manifest.
    pub fn settings(&self) -> CheckpointSettings {
        CheckpointSettings::of(&self.plan, self.keep as u32)
    }

    /// Marks the checkpoints as those of a run that continues at a step, up to which `best` was the best state.
    pub fn resumed_at(mut self, step: u64, best: Option<BestState>) -> Self {
        if let Some(plan) = &mut self.plan.best {
            plan.known = best;
        }
        Self { resumed_at: Some(step), ..self }
    }
}

/// Removes from a list, the last of which is new, the states that are no longer the best, and the oldest beyond `keep`. Returns
/// them.
fn superseded(list: &mut Vec<CheckpointInfo>, keep: usize) -> Vec<CheckpointInfo> {
    let best = list.last().and_then(|last| last.best).map(|best| best.step);
    let n_planned = list.iter().filter(|info| !info.is_only_best).count();
    let mut excess = if keep == 0 { 0 } else { n_planned.saturating_sub(keep) };
    let is_superseded = |info: &mut CheckpointInfo| {
        let is_old = !info.is_only_best && excess > 0;
        excess -= usize::from(is_old);
        (is_old || info.is_only_best) && best != Some(info.step)
    };
    list.extract_if(.., is_superseded).collect()
}

impl RunWriter {
    /// Starts a thread that writes a checkpoint during the recording. The data before the checkpoint are synced to disk
    /// first. Fails if the data cannot be synced or the thread not be started.
    pub(super) fn start_checkpoint(&mut self, checkpoint: Checkpoint) -> io::Result<()> {
        self.collect_checkpoint(true)?;
        for file in self.growing() {
            durability::sync(&file.file).map_err(|e| at(&file.path, &e))?;
        }
        let recorded = self.recorded_until()?;
        let folder = self.folder.clone();
        let write = move || checkpoint_file::write(&folder, &checkpoint, &recorded);
        self.checkpoints.writing = Some(std::thread::Builder::new().name("checkpoint".into()).spawn(write)?);
        Ok(())
    }

    /// Iterates over the files that are appended to.
    pub(super) fn growing(&self) -> impl Iterator<Item = &AppendFile> {
        let streams = self.files.iter().chain(&self.segments).map(|stream| &stream.file);
        streams.chain([&self.commands, &self.timings])
    }

    /// Returns lengths and hashes of the data written so far. Hashes cover appended bytes; no file is read. Fails if the
    /// project cannot be formatted.
    pub(super) fn recorded_until(&self) -> io::Result<RecordedUntil> {
        let files = self.growing().map(AppendFile::info).chain(self.written.iter().cloned()).collect();
        let project = file::write(&self.project).map_err(io::Error::other)?;
        Ok(RecordedUntil { files, project })
    }

    /// Writes the state of the last mark if `checkpoint` has the step of the mark. A failure is only logged, because the
    /// run has already failed.
    pub(super) fn write_rescue(&mut self, checkpoint: &Checkpoint) {
        let Some((step, recorded)) = self.checkpoints.marked.take() else { return };
        if step != checkpoint.clock.step {
            return;
        }
        match checkpoint_file::write(&self.folder, checkpoint, &recorded) {
            Ok(info) => self.manifest.checkpoints.push(info),
            Err(error) => tracing::warn!("the last saved state is not kept: {error}"),
        }
    }

    /// Adds a written checkpoint to the manifest. During the run, removes the oldest checkpoints beyond the number to keep.
    /// With `wait`, waits for the writing thread. Fails if the checkpoint was not written.
    pub(super) fn collect_checkpoint(&mut self, wait: bool) -> io::Result<()> {
        if !wait && self.checkpoints.writing.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ok(());
        }
        let Some(thread) = self.checkpoints.writing.take() else { return Ok(()) };
        let written = thread.join().unwrap_or_else(|_| Err(io::Error::other("the checkpoint thread panicked")))?;
        let list = &mut self.manifest.checkpoints;
        list.retain(|known| known.step < written.step);
        list.push(written);
        self.checkpoints.obsolete.extend(superseded(list, self.checkpoints.keep));
        if self.manifest.status != Status::Running {
            return Ok(()); // the last manifest follows
        }
        save_manifest(&self.folder, &self.manifest)?;
        self.remove_obsolete()
    }

    /// Removes the checkpoints that the manifest no longer lists. Fails if a file cannot be removed.
    pub(super) fn remove_obsolete(&mut self) -> io::Result<()> {
        std::mem::take(&mut self.checkpoints.obsolete).iter().try_for_each(|info| remove(&self.folder, &info.file))
    }

    /// Ends the recording with a checkpoint regardless of the project's plan.
    #[must_use]
    pub const fn with_final_state(mut self) -> Self {
        self.checkpoints.plan.at_end = true;
        self.manifest.checkpoint_settings.at_end = true;
        self
    }

    /// Keeps only the last checkpoint that is received.
    #[must_use]
    pub(super) fn keeping_last_state(mut self) -> Self {
        (self.checkpoints.plan, self.checkpoints.keep) = (CheckpointPlan::default(), 1);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_state_is_kept_beside_the_newest() {
        let mut list = vec![];
        let mut kept = vec![];
        // Step, step of the best state, whether it was taken for that alone.
        for (step, best, is_only_best) in [
            (10, 10, true),
            (20, 20, true),
            (25, 20, false),
            (30, 30, false),
            (35, 30, false),
            (45, 30, false),
            (50, 50, true),
        ] {
            let best = Some(BestState { step: best, value: 1.0, n_later: 0 });
            list.push(CheckpointInfo { step, best, is_only_best, ..CheckpointInfo::default() });
            superseded(&mut list, 2);
            kept.push(list.iter().map(|info| info.step).collect::<Vec<_>>());
        }
        let want: [&[u64]; 7] = [&[10], &[20], &[20, 25], &[25, 30], &[30, 35], &[30, 35, 45], &[35, 45, 50]];
        assert_eq!(kept, want);
    }
}
