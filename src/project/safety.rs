//! Safety recording on disk: a run folder that the program writes automatically for a run that the user does not record. The
//! recording contains compact histories and the last state, up to a size limit. A recording of the user may continue it;
//! otherwise it is removed.

use super::{CheckpointInfo, Project, RunStart, RunWriter};
use crate::{
    engine::{Checkpoint, CheckpointPlan, LoggedCommand, RecordingEnd, RecordingStart, Sink},
    sim::{ElementSet, Frame, Level, ProbeId, ProbeSpec, Shape, Tap},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Returns the taps among `taps` that a safety recording contains: scalars and sampled texts.
pub fn safety_taps(taps: Vec<Tap>, probes: &[ProbeSpec]) -> Vec<Tap> {
    let shape = |tap: &Tap| probes.get(usize::from(tap.probe)).map(|probe| probe.shape);
    let is_light = |tap: &Tap| matches!(shape(tap), Some(Shape::Series { of: "" } | Shape::Samples));
    taps.into_iter().filter(is_light).collect()
}

/// Owned [`RunStart`], for a folder that is created later on another thread.
pub struct OwnedRunStart {
    /// Project at step 0.
    pub project: Project,
    /// Base folder of relative paths in the project.
    pub base: PathBuf,
    /// Taps to record.
    pub taps: Vec<Tap>,
    /// Probes of the simulation.
    pub probes: &'static [ProbeSpec],
    /// Element sets of the simulation.
    pub sets: Vec<Arc<ElementSet>>,
    /// Name of the device.
    pub device: String,
    /// Number of CPU threads.
    pub threads: u32,
    /// Checkpoint of another run at which the simulation began, with the folder of that run; `None` for a start at step 0.
    pub origin: Option<(PathBuf, CheckpointInfo)>,
}

impl OwnedRunStart {
    /// Creates the run folder, as a branch if the simulation has an origin. Fails if the folder cannot be created.
    pub fn create(&self, folder: &Path) -> io::Result<RunWriter> {
        let start = RunStart {
            project: &self.project,
            base: &self.base,
            taps: self.taps.clone(),
            sets: &self.sets,
            device: self.device.clone(),
            threads: self.threads,
            command: String::new(),
            trial: None,
            trials: 0,
        };
        let writer = RunWriter::create(folder, start)?.with_probes(self.probes);
        match &self.origin {
            Some((run, checkpoint)) => writer.branch_of(run, checkpoint.clone()),
            None => Ok(writer),
        }
    }
}

/// Destination of a safety recording. Its folder is created when the first data arrive.
pub struct SafetyWriter {
    folder: PathBuf,
    start: OwnedRunStart,
    limit_bytes: u64,
    writer: Option<Box<RunWriter>>,
}

impl SafetyWriter {
    /// Creates a safety recording of at most `limit_bytes` bytes. The folder `folder` must be new.
    pub const fn new(folder: PathBuf, start: OwnedRunStart, limit_bytes: u64) -> Self {
        Self { folder, start, limit_bytes, writer: None }
    }

    fn writer(&mut self) -> io::Result<&mut RunWriter> {
        self.writer.as_deref_mut().ok_or_else(|| io::Error::other("the safety recording has not begun"))
    }

    /// Fails if the recording has reached its size limit.
    fn check_size(&mut self) -> io::Result<()> {
        let (limit, n_bytes) = (self.limit_bytes, self.writer()?.n_bytes());
        if n_bytes < limit {
            return Ok(());
        }
        let what = format!("the limit of {} MB for unrecorded runs is reached", limit / 1_000_000);
        Err(io::Error::new(io::ErrorKind::QuotaExceeded, what))
    }
}

impl Sink for SafetyWriter {
    fn begin(&mut self, start: &RecordingStart) -> io::Result<()> {
        let writer = self.start.create(&self.folder)?.keeping_last_state();
        self.writer.insert(Box::new(writer)).begin(start)
    }

    fn write(&mut self, block: &Frame) -> io::Result<()> {
        self.check_size()?;
        self.writer()?.write(block)
    }

    fn log(&mut self, step: u64, what: &LoggedCommand) -> io::Result<()> {
        self.writer()?.log(step, what)
    }

    fn lanes_changed(&mut self, step: u64, probe: ProbeId, lanes: &[String]) -> io::Result<()> {
        self.writer()?.lanes_changed(step, probe, lanes)
    }

    fn levels_changed(&mut self, step: u64, probe: ProbeId, levels: &[Level]) -> io::Result<()> {
        self.writer()?.levels_changed(step, probe, levels)
    }

    fn checkpoints(&self) -> CheckpointPlan {
        CheckpointPlan::default()
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) -> io::Result<()> {
        let has_room = self.writer()?.n_bytes() + checkpoint.snapshot.n_bytes() <= self.limit_bytes;
        if has_room { self.writer()?.checkpoint(checkpoint) } else { Ok(()) }
    }

    fn idle(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.idle())
    }

    fn sets_changed(&mut self, step: u64, sets: &[Arc<ElementSet>]) -> io::Result<()> {
        self.writer()?.sets_changed(step, sets)
    }

    fn discard(mut self: Box<Self>) -> io::Result<()> {
        self.writer.take(); // waits until the pending state is written
        match fs::remove_dir_all(&self.folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>, end: &RecordingEnd) -> io::Result<()> {
        self.writer.take().map_or(Ok(()), |writer| writer.finish(end))
    }
}
