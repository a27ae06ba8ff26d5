//! The checkpoints of a run folder: written while the run is recorded, and what a run or a branch continues from.

use super::{
    Project, RunFolder, RunStart, RunWriter, Status,
    append_file::AppendFile,
    checkpoint_file::{self, CheckpointFile, CheckpointInfo},
    durability, input_data,
    lock::RunLock,
    manifest::{FileInfo, Stream, record_bytes},
    run::{self, COMMANDS, PROJECT, TIMINGS, at},
    run_file,
    sets::SetInfo,
    unlisted::{remove, remove_unlisted},
    writer::{StreamFile, save_manifest},
};
use crate::{
    engine::{Checkpoint, CheckpointPlan, CommandHistory, LoggedCommand},
    sim::{Clock, ProbeSpec, Progress, SimError, Snapshot, Tap, TapArgs},
};
use std::{
    io::{self, ErrorKind, Read as _, Seek as _, SeekFrom},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
    time::Instant,
};

/// The checkpoints of a run that is being written.
#[derive(Default)]
pub(super) struct Checkpoints {
    /// When they are taken.
    pub plan: CheckpointPlan,
    /// How many are kept; 0: all.
    keep: usize,
    /// The one that is being written.
    writing: Option<JoinHandle<io::Result<CheckpointInfo>>>,
    /// Lengths of the files when a state was last saved, with its step.
    pub marked: Option<(u64, Vec<(String, u64)>)>,
    /// The step at which the run continues an earlier recording.
    pub resumed_at: Option<u64>,
}

impl Checkpoints {
    /// As a project plans them; none for a series of trials.
    pub fn of(project: &Project, has_trials: bool) -> Self {
        let plan = if has_trials { CheckpointPlan::default() } else { project.checkpoint_plan() };
        Self { plan, keep: project.run.keep_checkpoints as usize, ..Self::default() }
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
        let lengths = self.lengths();
        let folder = self.folder.clone();
        let write = move || checkpoint_file::write(&folder, &checkpoint, lengths);
        self.checkpoints.writing = Some(std::thread::Builder::new().name("checkpoint".into()).spawn(write)?);
        Ok(())
    }

    /// The files that grow.
    fn growing(&self) -> impl Iterator<Item = &AppendFile> {
        let streams = self.files.iter().chain(&self.segments).map(|stream| &stream.file);
        streams.chain([&self.commands, &self.timings])
    }

    /// Names and lengths of all files, as a checkpoint lists them.
    pub(super) fn lengths(&self) -> Vec<(String, u64)> {
        let written = self.written.iter().map(|file| (file.name.clone(), file.n_bytes));
        self.growing().map(|file| (file.name(), file.n_bytes)).chain(written).collect()
    }

    /// Writes the state that was saved at the last mark. Without it the run ends as it would: a failure is logged only.
    pub(super) fn write_rescue(&mut self, checkpoint: &Checkpoint) {
        let Some((step, lengths)) = self.checkpoints.marked.take() else { return };
        if step != checkpoint.clock.step {
            return;
        }
        match checkpoint_file::write(&self.folder, checkpoint, lengths) {
            Ok(info) => self.manifest.checkpoints.push(info),
            Err(error) => tracing::warn!("the last saved state is not kept: {error}"),
        }
    }

    /// Lists a checkpoint that was written, and removes the oldest beyond the number that is kept.
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
        let old: Vec<CheckpointInfo> = list.drain(..excess).collect();
        if self.manifest.status == Status::Running {
            save_manifest(&self.folder, &self.manifest)?;
        }
        old.iter().try_for_each(|info| remove(&self.folder, &info.file))
    }

    /// Continues a run from one of its checkpoints: its files are cut where they were then. `start` names sets, device and
    /// command; project and probes are those of the run.
    pub fn resume(run: &RunFolder, from: &CheckpointFile, start: &RunStart<'_>) -> io::Result<Self> {
        let (folder, directory) = (&run.path, &from.directory);
        let mut lock = RunLock::acquire(folder)?;
        let project = run.project().map_err(io::Error::other)?;
        let probes = project.model.probes();
        let length = |name: &str| directory.files.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
        let known = |name: &str| {
            let what = format!("the checkpoint of step {} does not know {name}", directory.step);
            length(name).ok_or_else(|| io::Error::new(ErrorKind::InvalidData, what))
        };
        let mut manifest = run.manifest.clone();
        for stream in manifest.streams.extract_if(.., |stream| length(&stream.file).is_none()) {
            std::fs::remove_file(run_file::inside(folder, &stream.file)?).ok(); // began after the checkpoint
        }
        // Sets that changed after the checkpoint. Checkpoints of older versions do not list the files of sets.
        let lists_sets = length(PROJECT).is_some();
        let is_later = |set: &SetInfo| match lists_sets && !set.ids.is_empty() {
            true => length(&set.ids).is_none(),
            false => set.from_step > directory.step,
        };
        for set in manifest.sets.extract_if(.., |set| is_later(set)) {
            for name in [set.ids, set.table].iter().filter(|name| !name.is_empty()) {
                std::fs::remove_file(run_file::inside(folder, name)?).ok();
            }
        }
        let kept = |name: &str| length(name).is_some() || manifest.checkpoints.iter().any(|info| info.file == name);
        remove_unlisted(folder, &manifest, probes, kept)?;
        let (mut files, mut segments) = (vec![], vec![]);
        for (i, stream) in manifest.streams.iter_mut().enumerate() {
            let tap = tap_of(stream, probes).unwrap_or_else(|| Tap::of(u16::MAX));
            let file = AppendFile::reopen(folder, &stream.file, known(&stream.file)?)?;
            let last_step = last_step(stream, &file)?;
            (stream.n_bytes, stream.hash) = (0, String::new());
            let next = StreamFile { tap: tap.clone(), stream: i, file, last_step };
            // The last segment of a tap grows.
            match files.iter_mut().find(|f: &&mut StreamFile| f.tap.key() == tap.key()) {
                Some(last) => segments.push(std::mem::replace(last, next)),
                None => files.push(next),
            }
        }
        let commands = AppendFile::reopen(folder, COMMANDS, known(COMMANDS)?)?;
        let timings = AppendFile::reopen(folder, TIMINGS, known(TIMINGS)?)?;
        let later = manifest.checkpoints.extract_if(.., |info| info.step > directory.step);
        later.into_iter().try_for_each(|info| remove(folder, &info.file))?;
        let of_sets = manifest.sets.iter().flat_map(|set| [&set.ids, &set.table]);
        let of_sets: Vec<String> = of_sets.filter(|name| !name.is_empty()).cloned().collect();
        let mut written = vec![];
        for name in std::iter::once(PROJECT.to_owned()).chain(of_sets) {
            let (n_bytes, hash) = run_file::hash_file(&run_file::inside(folder, &name)?, &mut |_| true)?;
            written.push(FileInfo { name, n_bytes, hash });
        }
        let earlier_s = manifest.wall_s;
        manifest.id.clone_from(&lock.id);
        (manifest.status, manifest.stopped, manifest.last_step) = (Status::Running, String::new(), directory.step);
        (manifest.app, manifest.device, manifest.threads) = (run::app_version(), start.device.clone(), start.threads);
        manifest.resumed.push((directory.step, run::now_utc()));
        lock.begin()?;
        save_manifest(folder, &manifest)?;
        let checkpoints =
            Checkpoints { resumed_at: Some(directory.step), ..Checkpoints::of(start.project, run.trial.is_some()) };
        Ok(Self {
            folder: folder.clone(),
            lock,
            manifest,
            project,
            probes,
            sets: start.sets.to_vec(),
            taps: run.taps(probes, directory.step),
            files,
            segments,
            written,
            commands,
            timings,
            started: Instant::now(),
            earlier_s,
            buffer: vec![],
            checkpoints,
        })
    }

    /// The recording of a run that continues begins.
    pub(super) fn begin_again(&mut self, clock: Clock) -> io::Result<()> {
        if self.checkpoints.resumed_at != Some(clock.step) {
            return Err(io::Error::other(format!("the simulation is at step {}, not at the checkpoint", clock.step)));
        }
        self.started = Instant::now();
        self.write_progress(clock.step)
    }
}

/// The step of the last record of a stream of states.
fn last_step(stream: &Stream, file: &AppendFile) -> io::Result<Option<u64>> {
    let is_state = matches!(stream.shape.as_str(), "field" | "matrix");
    let record = record_bytes(stream).filter(|n| is_state && file.n_bytes >= *n);
    let Some(record) = record else { return Ok(None) };
    let mut step = [0; 8];
    let mut source = run_file::open_regular(&file.path)?;
    let read = source.seek(SeekFrom::Start(file.n_bytes - record)).and_then(|_| source.read_exact(&mut step));
    read.map_err(|e| at(&file.path, &e))?;
    Ok(Some(u64::from_le_bytes(step)))
}

/// A run at one of its checkpoints.
#[derive(Clone, Debug)]
pub struct Continuation {
    /// The project as it was where the run began.
    pub project: Project,
    /// The commands since then.
    pub history: CommandHistory,
    /// The project with the parameters in effect at the checkpoint.
    pub now: Project,
    /// The checkpoint.
    pub file: CheckpointFile,
    /// Its entry in the manifest.
    pub info: CheckpointInfo,
    /// The state.
    pub snapshot: Arc<Snapshot>,
}

/// The tap of a stream, if the kind has its probe.
fn tap_of(stream: &Stream, probes: &[ProbeSpec]) -> Option<Tap> {
    let probe = probes.iter().position(|p| p.name == stream.probe)?;
    let args = TapArgs::parse(&stream.args, probes[probe].args).ok()?;
    Some(Tap { probe: probe as u16, elements: stream.elements.clone(), args })
}

impl RunFolder {
    /// The recorded probes, arguments, and elements as they were numbered at a step.
    pub fn taps(&self, probes: &[ProbeSpec], step: u64) -> Vec<Tap> {
        let mut taps: Vec<Tap> = vec![];
        for stream in self.manifest.streams.iter().filter(|stream| stream.from_step <= step) {
            let Some(tap) = tap_of(stream, probes) else { continue };
            match taps.iter_mut().find(|t| t.key() == tap.key()) {
                Some(known) => *known = tap,
                None => taps.push(tap),
            }
        }
        taps
    }

    /// Opens one of its checkpoints and verifies its directory.
    pub fn checkpoint(&self, info: &CheckpointInfo) -> io::Result<CheckpointFile> {
        let path = run_file::inside(&self.path, &info.file)?;
        let file = CheckpointFile::open(&path)?;
        if file.hash == info.hash {
            return Ok(file);
        }
        let what = format!("{} is not the checkpoint that the run wrote", path.display());
        Err(io::Error::new(ErrorKind::InvalidData, what))
    }

    /// The run at its last checkpoint, or the last one at or before a step. Every hash is verified; a damaged checkpoint
    /// is passed over with a note.
    pub fn continuation(&self, up_to: Option<u64>, progress: &Progress) -> Result<Continuation, SimError> {
        let mut why = vec![];
        for info in self.manifest.checkpoints.iter().rev().filter(|c| up_to.is_none_or(|step| c.step <= step)) {
            match self.read_continuation(info, progress) {
                Err(SimError::Input(what)) => why.push(what),
                other => return other.and_then(|from| self.verify_data(from, progress)),
            }
        }
        if why.is_empty() {
            why.push("it has none; record with `--checkpoint-every` or a final checkpoint".to_owned());
        }
        Err(SimError::Input(format!("{} has no usable checkpoint: {}", self.path.display(), why.join("; "))))
    }

    fn read_continuation(&self, info: &CheckpointInfo, progress: &Progress) -> Result<Continuation, SimError> {
        let input = |e: io::Error| SimError::Input(e.to_string());
        let file = self.checkpoint(info).map_err(input)?;
        let snapshot = read(&file, info.n_bytes, progress)?;
        let mut project = self.project().map_err(|e| SimError::Input(e.to_string()))?;
        project.seed = self.manifest.seed;
        let mut commands = self.commands().map_err(input)?;
        commands.truncate(file.directory.n_logged as usize);
        let mut now = project.clone();
        for (_, command) in &commands {
            if let Some(change) = command.change() {
                now.model.params_mut().set(change);
            }
        }
        let history = CommandHistory { params: project.model.params().snapshot(), commands };
        Ok(Continuation { project, history, now, file, info: info.clone(), snapshot: Arc::new(snapshot) })
    }

    /// Checks that the input data in effect are those that the run read.
    fn verify_data(&self, from: Continuation, progress: &Progress) -> Result<Continuation, SimError> {
        let (commands, now) = (&from.history.commands, &from.now);
        for (i, (_, command)) in commands.iter().enumerate() {
            let LoggedCommand::Data(change, hash) = command else { continue };
            let is_last = commands[i + 1..].iter().all(|(_, c)| c.change().is_none_or(|later| later.id != change.id));
            if is_last {
                input_data::verify(&now.model, &self.build_context(now), (change, hash), progress)?;
            }
        }
        Ok(from)
    }

    /// The state in which a branch begins; none for a run that begins at step 0.
    pub fn parent_state(&self, progress: &Progress) -> Result<Option<Snapshot>, SimError> {
        let Some(parent) = &self.manifest.parent else { return Ok(None) };
        let folder = self.path.join(&parent.run);
        let file = run_file::inside(&folder, &parent.checkpoint.file).and_then(|path| CheckpointFile::open(&path));
        let missing = |why: &str| {
            let (run, step) = (folder.display(), parent.checkpoint.step);
            SimError::Input(format!("the run begins at the checkpoint of step {step} in {run}: {why}"))
        };
        let file = file.map_err(|e| missing(&e.to_string()))?;
        if file.hash != parent.checkpoint.hash {
            return Err(missing("another checkpoint is there now"));
        }
        read(&file, parent.checkpoint.n_bytes, progress).map(Some)
    }
}

fn read(file: &CheckpointFile, n_bytes: u64, progress: &Progress) -> Result<Snapshot, SimError> {
    let mut n_read = 0;
    let mut report = |n: u64| {
        n_read += n;
        progress.report("reading the checkpoint", n_read as f32 / n_bytes.max(1) as f32).is_ok()
    };
    file.read(&mut report).map_err(|e| match e.kind() {
        ErrorKind::Interrupted => SimError::Cancelled,
        _ => SimError::Input(e.to_string()),
    })
}

impl RunWriter {
    /// A run that begins at a checkpoint of another.
    #[must_use]
    pub fn branch_of(mut self, run: &Path, checkpoint: CheckpointInfo) -> Self {
        let run = relative(&self.folder, run);
        self.manifest.parent = Some(super::manifest::Parent { run, checkpoint });
        self
    }
}

/// A path from one folder to another; absolute when one of them has no absolute path.
fn relative(from: &Path, to: &Path) -> std::path::PathBuf {
    let (Ok(from), Ok(to)) = (std::fs::canonicalize(from), std::fs::canonicalize(to)) else { return to.to_owned() };
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| std::path::Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}
