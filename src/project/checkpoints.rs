//! The checkpoints of a run folder, written while the run is recorded.

use super::{
    Project, RunWriter, Status,
    append_file::AppendFile,
    checkpoint_file::{self, CheckpointInfo, RecordedUntil},
    durability, file,
    run::at,
    unlisted::remove,
    writer::save_manifest,
};
use crate::engine::{Checkpoint, CheckpointPlan};
use std::{io, thread::JoinHandle, time::Duration};

/// The checkpoints of a run that is being written.
#[derive(Default)]
pub(super) struct Checkpoints {
    /// When they are taken.
    pub plan: CheckpointPlan,
    /// How many are kept; 0: all.
    keep: usize,
    /// The one that is being written.
    writing: Option<JoinHandle<io::Result<CheckpointInfo>>>,
    /// Beyond the number that is kept. They are removed when no manifest lists them any more.
    obsolete: Vec<CheckpointInfo>,
    /// What was written when a state was last saved, with its step.
    pub marked: Option<(u64, RecordedUntil)>,
    /// The step at which the run continues an earlier recording.
    pub resumed_at: Option<u64>,
}

impl Checkpoints {
    /// As a project plans them; none for a series of trials.
    pub fn of(project: &Project, has_trials: bool) -> Self {
        let plan = if has_trials { CheckpointPlan::default() } else { project.checkpoint_plan() };
        Self { plan, keep: project.run.keep_checkpoints as usize, ..Self::default() }
    }

    /// The same, of a run that continues at a step.
    pub fn resumed_at(self, step: u64) -> Self {
        Self { resumed_at: Some(step), ..self }
    }
}

impl RunWriter {
    /// Starts to write a checkpoint on its own thread while the recording continues. The data until then reach
    /// the disk first.
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

    /// The files that grow.
    pub(super) fn growing(&self) -> impl Iterator<Item = &AppendFile> {
        let streams = self.files.iter().chain(&self.segments).map(|stream| &stream.file);
        streams.chain([&self.commands, &self.timings])
    }

    /// What is written now. The hashes are those of the bytes that were appended: no file is read.
    pub(super) fn recorded_until(&self) -> io::Result<RecordedUntil> {
        let files = self.growing().map(AppendFile::info).chain(self.written.iter().cloned()).collect();
        let project = file::write(&self.project).map_err(io::Error::other)?;
        Ok(RecordedUntil { files, project })
    }

    /// Writes the state that was saved at the last mark. Without it the run ends as it would: a failure is logged only.
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

    /// Lists a checkpoint that was written. While the run goes on, the oldest beyond the number that is kept are removed.
    pub(super) fn collect_checkpoint(&mut self, wait: bool) -> io::Result<()> {
        if !wait && self.checkpoints.writing.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ok(());
        }
        let Some(thread) = self.checkpoints.writing.take() else { return Ok(()) };
        let written = thread.join().unwrap_or_else(|_| Err(io::Error::other("the checkpoint thread panicked")))?;
        let list = &mut self.manifest.checkpoints;
        list.retain(|known| known.step < written.step);
        list.push(written);
        let excess = if self.checkpoints.keep == 0 { 0 } else { list.len().saturating_sub(self.checkpoints.keep) };
        self.checkpoints.obsolete.extend(list.drain(..excess));
        if self.manifest.status != Status::Running {
            return Ok(()); // the last manifest follows
        }
        save_manifest(&self.folder, &self.manifest)?;
        self.remove_obsolete()
    }

    /// Removes the checkpoints that the manifest no longer lists.
    pub(super) fn remove_obsolete(&mut self) -> io::Result<()> {
        std::mem::take(&mut self.checkpoints.obsolete).iter().try_for_each(|info| remove(&self.folder, &info.file))
    }

    /// The recording ends with a checkpoint, whatever its project plans.
    #[must_use]
    pub const fn with_final_state(mut self) -> Self {
        self.checkpoints.plan.at_end = true;
        self
    }

    /// Keeps only the last of the checkpoints that it receives.
    #[must_use]
    pub(super) const fn keeping_last_state(mut self) -> Self {
        (self.checkpoints.plan, self.checkpoints.keep) =
            (CheckpointPlan { every: Duration::ZERO, every_steps: 0, at_end: false }, 1);
        self
    }
}
