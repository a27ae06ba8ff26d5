//! Writer of a run folder: the [`Sink`] of every recording, from the window and from the command line.

use super::{
    Manifest, Project, Status,
    append_file::AppendFile,
    atomic_file,
    checkpoints::Checkpoints,
    command_log,
    encode::encode,
    file,
    lock::RunLock,
    manifest::FileInfo,
    provenance, replace, run,
    run::{COMMANDS, FORMAT, MANIFEST, PROJECT, TIMINGS, at},
    run_file::Hash,
    run_times,
    sets::{describe_sets, save_ids},
};
use crate::{
    data::counted,
    engine::{
        Checkpoint, CheckpointPlan, CommandHistory, EndStatus, LoggedCommand, RecordingEnd, RecordingStart, Sink,
    },
    sim::{Clock, ElementSet, Frame, Level, ProbeId, ProbeSpec, Reading, Tap},
};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// Inputs of a new run.
#[derive(Clone)]
pub struct RunStart<'a> {
    /// Project of the run. Its parameters are written as they were at step 0, which the engine provides.
    pub project: &'a Project,
    /// Base folder of relative paths in the project.
    pub base: &'a Path,
    /// Taps to record.
    pub taps: Vec<Tap>,
    /// Element sets of the simulation ([`SimSchema::sets`](crate::engine::SimSchema)).
    pub sets: &'a [Arc<ElementSet>],
    /// Name of the device.
    pub device: String,
    /// Number of CPU threads.
    pub threads: u32,
    /// Command line; empty for a run of the window.
    pub command: String,
    /// Seed of a trial, and the path from the trial's folder to the folder with the ids; `None` for other runs.
    pub trial: Option<(u64, &'a str)>,
    /// Number of trials in this run; 0 for an ordinary run.
    pub trials: u32,
}

/// Run folder that is being written.
pub struct RunWriter {
    pub(super) folder: PathBuf,
    pub(super) lock: RunLock,
    pub(super) manifest: Manifest,
    pub(super) project: Project,
    pub(super) probes: &'static [ProbeSpec],
    pub(super) sets: Vec<Arc<ElementSet>>,
    pub(super) taps: Vec<Tap>,
    pub(super) files: Vec<StreamFile>,
    /// Segments of streams that are complete because their lanes changed.
    pub(super) segments: Vec<StreamFile>,
    /// Names, lengths and hashes of the files that no longer change.
    pub(super) written: Vec<FileInfo>,
    pub(super) commands: AppendFile,
    pub(super) timings: AppendFile,
    pub(super) started: Instant,
    /// Wall time of the earlier parts of a continued run, seconds.
    pub(super) earlier_s: f64,
    /// Computing time of the earlier parts, seconds.
    pub(super) earlier_computed_s: f64,
    /// Computing time of the simulation at the start of the recording.
    pub(super) computed_at_start: Duration,
    /// Running time of the epoch at the last block, seconds; `None` if it is not known yet.
    pub(super) ran_secs: Option<f64>,
    /// Folder of the safety recording that this recording continues; `None` if there is none.
    pub(super) beginning: Option<PathBuf>,
    pub(super) buffer: Vec<u8>,
    pub(super) checkpoints: Checkpoints,
}

pub(super) struct StreamFile {
    pub tap: Tap,
    pub stream: usize,
    pub file: AppendFile,
    pub last_step: Option<u64>,
}

impl RunWriter {
    /// Marks the run as part of a sweep. Fails if the manifest cannot be written.
    pub fn in_sweep(mut self, sweep: &str) -> io::Result<Self> {
        sweep.clone_into(&mut self.manifest.sweep);
        if !sweep.is_empty() {
            save_manifest(&self.folder, &self.manifest)?;
        }
        Ok(self)
    }

    /// Prepares the folder and writes all data known before the first step. Replaces an older run in the folder; fails if
    /// the folder contains anything else.
    pub fn create(folder: &Path, start: RunStart<'_>) -> io::Result<Self> {
        let mut lock = replace::prepare_folder(folder)?;
        // A run of one trial is opened and rebuilt as such.
        let mut project = start.project.clone();
        project.run.trials = start.trials.max(1);
        let project = &project;
        let ids_in = start.trial.map_or("", |(_, ids_in)| ids_in);
        let checkpoints = Checkpoints::of(project, start.trial.is_some() || start.trials > 0);
        let manifest = Manifest {
            checkpoint_settings: checkpoints.settings(),
            format: FORMAT,
            id: lock.id.clone(),
            app: run::app_version(),
            kind: project.model.name().into(),
            name: project.name.clone(),
            seed: start.trial.map_or(project.seed, |(seed, _)| seed),
            setup_seed: project.seed,
            rng: "Philox 4x32-10, addressed by seed, purpose, step and lane".into(),
            device: start.device,
            threads: start.threads,
            host: run::host(),
            secs_per_step: project.model.time_base().per_step(),
            time_base: project.model.time_base().into(),
            started: run::now_utc(),
            base: fs::canonicalize(start.base).unwrap_or_else(|_| start.base.to_owned()),
            command: start.command,
            trials: start.trials,
            sets: describe_sets(start.sets, ids_in),
            data: if start.trial.is_none() { provenance::data_files(project, start.base) } else { vec![] },
            ..Manifest::default()
        };
        lock.begin()?;
        save_manifest(folder, &manifest)?;
        let text = file::write(project).map_err(io::Error::other)?;
        let mut written = vec![AppendFile::create(folder, PROJECT, text.as_bytes())?.info()];
        if start.trial.is_none() {
            written.extend(save_ids(folder, start.sets, &manifest.sets)?);
        }
        let commands = b"// One (step, command) per line, in the order they were applied.\n";
        let timings = b"step,kernel,launches,nanos,max_nanos,bytes,items\n";
        Ok(Self {
            folder: folder.to_owned(),
            lock,
            manifest,
            written,
            project: project.clone(),
            probes: project.model.probes(),
            sets: start.sets.to_vec(),
            taps: start.taps,
            files: vec![],
            segments: vec![],
            commands: AppendFile::create(folder, COMMANDS, commands)?,
            timings: AppendFile::create(folder, TIMINGS, timings)?,
            started: Instant::now(),
            earlier_s: 0.0,
            earlier_computed_s: 0.0,
            computed_at_start: Duration::ZERO,
            ran_secs: None,
            beginning: None,
            buffer: vec![],
            checkpoints,
        })
    }

    /// Replaces the probes, for tests.
    #[doc(hidden)]
    pub fn with_probes(mut self, probes: &'static [ProbeSpec]) -> Self {
        self.probes = probes;
        self
    }

    /// Closes a failed run with the reason `why` in its manifest. Fails if a file cannot be written.
    pub fn fail(mut self, why: &str) -> io::Result<()> {
        self.manifest.status = Status::Failed(why.to_owned());
        self.close()
    }

    /// Closes a run that was interrupted at step `step`. Fails if a file cannot be written.
    pub fn interrupt(mut self, step: u64) -> io::Result<()> {
        self.manifest.status = Status::Interrupted { step };
        self.close()
    }

    /// Writes the last manifest with lengths and hashes of all files. Dropping the writer releases the lock. Fails if a
    /// file cannot be written.
    fn close(&mut self) -> io::Result<()> {
        self.manifest.stopped = run::now_utc();
        self.manifest.wall_s = self.earlier_s + self.started.elapsed().as_secs_f64();
        let checkpoints = self.collect_checkpoint(true);
        for target in self.files.iter().chain(&self.segments) {
            let stream = &mut self.manifest.streams[target.stream];
            (stream.n_bytes, stream.hash) = (target.file.n_bytes, target.file.hash.hex());
        }
        let ends = [self.commands.info(), self.timings.info()];
        self.manifest.files = self.written.iter().cloned().chain(ends).collect();
        let streams = self.files.iter().chain(&self.segments);
        let synced =
            streams.map(|f| &f.file).try_for_each(|f| super::durability::sync(&f.file).map_err(|e| at(&f.path, &e)));
        self.lock.release_reserve();
        save_manifest(&self.folder, &self.manifest)?;
        self.remove_obsolete().and(synced).and(checkpoints)
    }

    /// Returns the path of the run folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the project with its parameters at step 0, and the commands applied since step 0. Fails if a file cannot be
    /// written.
    pub(super) fn write_history(&mut self, history: &CommandHistory) -> io::Result<()> {
        let built = self.project.clone();
        for change in &history.params {
            self.project.model.params_mut().set(change);
        }
        if self.project != built {
            let text = file::write(&self.project).map_err(io::Error::other)?;
            atomic_file::replace(&self.folder.join(PROJECT), text.as_bytes())?;
            let mut hash = Hash::default();
            hash.add(text.as_bytes());
            let info = FileInfo { name: PROJECT.into(), n_bytes: text.len() as u64, hash: hash.hex() };
            self.written.iter_mut().filter(|f| f.name == PROJECT).for_each(|f| *f = info.clone());
        }
        self.manifest.n_history = history.commands.len() as u64;
        history.commands.iter().try_for_each(|(step, what)| self.log(*step, what))
    }

    fn append(&mut self, which: usize, reading: &Reading, clock: Clock) -> io::Result<()> {
        let which = self.follow_shape(which, reading, clock)?;
        let Self { files, manifest, buffer, .. } = self;
        let target = &mut files[which];
        let stream = &manifest.streams[target.stream];
        if matches!(reading, Reading::Field(_) | Reading::Matrix(_) | Reading::Tokens(_) | Reading::Links(_)) {
            let is_due =
                target.last_step.is_none_or(|last| clock.step > last && clock.step - last >= stream.every_steps);
            // The state at a change belongs to neither segment.
            let is_due = is_due && (stream.from_step == 0 || clock.step > stream.from_step);
            if !is_due {
                return Ok(());
            }
            target.last_step = Some(clock.step);
        }
        buffer.clear();
        encode(reading, clock, stream, buffer).map_err(|e| at(&target.file.path, &e))?;
        target.file.append(buffer)
    }

    fn append_block(&mut self, block: &Frame) -> io::Result<()> {
        for (key, reading) in &block.readings {
            if let Some(which) = self.files.iter().position(|f| f.tap.has_key(key)) {
                self.append(which, reading, block.clock)?;
            }
        }
        self.append_timings(block)?;
        self.write_progress(block.clock.step)
    }

    pub(super) fn write_progress(&mut self, step: u64) -> io::Result<()> {
        let streams = self.files.iter().chain(&self.segments);
        let names = streams.map(|f| (self.manifest.streams[f.stream].file.as_str(), f.file.n_bytes));
        self.lock.update(Some(step), names)
    }

    fn append_timings(&mut self, block: &Frame) -> io::Result<()> {
        self.buffer.clear();
        for t in &block.timings {
            let (step, name) = (block.clock.step, t.name);
            writeln!(self.buffer, "{step},{name},{},{},{},{},{}", t.launches, t.nanos, t.max_nanos, t.bytes, t.items)?;
        }
        if let Some(before) = self.ran_secs.replace(block.ran_secs) {
            run_times::write(&mut self.buffer, block.clock.step, block.ran_secs - before)?;
        }
        if self.buffer.is_empty() { Ok(()) } else { self.timings.append(&self.buffer) }
    }
}

impl Sink for RunWriter {
    fn begin(&mut self, start: &RecordingStart) -> io::Result<()> {
        let RecordingStart { clock, begun, computed, execution, n_parameters, lanes, levels, history } = start;
        self.manifest.execution = execution.clone();
        self.manifest.n_parameters = *n_parameters;
        self.computed_at_start = *computed;
        self.ran_secs = (clock.step == 0).then_some(0.0);
        if self.checkpoints.resumed_at.is_some() {
            self.begin_again(*clock)?;
            return levels.iter().try_for_each(|(probe, levels)| self.levels_changed(clock.step, *probe, levels));
        }
        self.started = begun.unwrap_or_else(Instant::now);
        if let Some(beginning) = self.take_beginning(clock.step) {
            return self.begin_with(&beginning, start);
        }
        self.write_history(history)?;
        self.manifest.first_step = clock.step;
        self.manifest.last_step = clock.step;
        self.manifest.secs_per_step = clock.base.per_step();
        self.manifest.time_base = clock.base.into();
        for tap in self.taps.clone() {
            let names = lanes.iter().find(|(probe, _)| *probe == tap.probe).map_or(&[][..], |(_, names)| names);
            self.add_stream(&tap, names, 0)?;
            let levels = levels.iter().find(|(probe, _)| *probe == tap.probe);
            if let Some(((_, levels), stream)) = levels.zip(self.manifest.streams.last_mut()) {
                stream.levels.clone_from(levels);
            }
        }
        self.list_files()?;
        self.write_progress(clock.step)
    }

    fn checkpoints(&self) -> CheckpointPlan {
        self.checkpoints.plan
    }

    fn continues(&self) -> bool {
        self.checkpoints.resumed_at.is_some()
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) -> io::Result<()> {
        self.start_checkpoint(checkpoint)
    }

    fn mark(&mut self, step: u64) {
        self.checkpoints.marked = self.recorded_until().ok().map(|recorded| (step, recorded));
    }

    fn rescue(&mut self, checkpoint: &Checkpoint) {
        self.write_rescue(checkpoint);
    }

    fn idle(&mut self) -> io::Result<()> {
        self.collect_checkpoint(false)
    }

    fn write(&mut self, block: &Frame) -> io::Result<()> {
        self.collect_checkpoint(false)?;
        let before = self.ends();
        let result = self.append_block(block);
        match &result {
            Ok(()) => self.manifest.last_step = block.clock.step,
            Err(error) => {
                self.manifest.status = Status::Failed(error.to_string());
                // The data of a block are written to all streams or to none.
                self.cut_to(&before);
            }
        }
        result
    }

    fn lanes_changed(&mut self, step: u64, probe: ProbeId, lanes: &[String]) -> io::Result<()> {
        self.begin_segments(step, lanes, |_, f| f.tap.probe == probe)
    }

    fn levels_changed(&mut self, step: u64, probe: ProbeId, levels: &[Level]) -> io::Result<()> {
        let name = self.probes.get(usize::from(probe)).map_or("", |spec| spec.name);
        let streams = self.manifest.streams.iter_mut().filter(|stream| stream.probe == name);
        streams.for_each(|stream| Level::follow(&mut stream.levels, levels, step));
        save_manifest(&self.folder, &self.manifest)
    }

    fn sets_changed(&mut self, step: u64, sets: &[Arc<ElementSet>]) -> io::Result<()> {
        self.follow_sets(step, sets)
    }

    fn log(&mut self, step: u64, what: &LoggedCommand) -> io::Result<()> {
        let ids = |set: &str, _| self.sets.iter().find(|s| s.name == set).map_or(vec![], |s| s.ids.clone());
        let version = |set: &str| self.manifest.sets.iter().filter(|info| info.name == set).count() as u32;
        let model = &self.project.model;
        let declarations = command_log::Declarations {
            params: model.params(),
            actions: model.actions(),
            ids: &ids,
            version: &version,
            order: None,
        };
        let line = declarations.write(step, what).map_err(io::Error::other)?;
        let words = match what {
            LoggedCommand::Set(change) | LoggedCommand::Data(change, _) => {
                run::describe_change(&self.project.model, change)
            }
            LoggedCommand::Act(action) => {
                format!("{} on {}", action.name, counted(action.n_elements(), "element", "elements"))
            }
            LoggedCommand::Rewind => "back to step 0".into(),
            LoggedCommand::Former(path, _) => format!("{path}, a former parameter"),
        };
        self.commands.append(format!("{line} // {}\n", words.replace('\n', " ")).as_bytes())
    }

    fn finish(mut self: Box<Self>, end: &RecordingEnd) -> io::Result<()> {
        if self.manifest.status == Status::Running {
            self.manifest.last_step = end.clock.step;
            self.manifest.status = match &end.status {
                EndStatus::Complete => Status::Complete,
                EndStatus::Interrupted => Status::Interrupted { step: end.clock.step },
                EndStatus::Failed(why) => Status::Failed(why.clone()),
            };
        }
        self.manifest.digest = end.digest.clone();
        let computed = end.computed.saturating_sub(self.computed_at_start);
        self.manifest.computed_s = self.earlier_computed_s + computed.as_secs_f64();
        self.close()
    }
}

/// Writes the manifest by atomic replacement of its file. Fails if a file cannot be written.
pub(super) fn save_manifest(folder: &Path, manifest: &Manifest) -> io::Result<()> {
    let text = file::to_ron(manifest).map_err(io::Error::other)?;
    let head = "// A run of neuropil. Read a stream with numpy.fromfile(file, dtype).";
    let text = format!("{head}\n{HASH_LINE}{}\n{text}", hash_of_lines(head, &text));
    atomic_file::replace(&folder.join(MANIFEST), text.as_bytes())
}

/// Prefix of the second line of a manifest, which contains the hash of the other lines.
const HASH_LINE: &str = "// XXH64 of the other lines: ";

fn hash_of_lines(head: &str, rest: &str) -> String {
    let mut hash = Hash::of(head.as_bytes());
    hash.add(rest.as_bytes());
    hash.hex()
}

/// Whether a manifest matches its own hash; `None` if the manifest contains no hash, as in older versions.
pub(super) fn manifest_matches(text: &str) -> Option<bool> {
    let (head, lines) = text.split_once('\n')?;
    if !lines.starts_with("//") && !head.contains(HASH_LINE.trim_end()) {
        return None;
    }
    let named = lines.strip_prefix(HASH_LINE).and_then(|line| line.split_once('\n'));
    Some(named.is_some_and(|(hash, rest)| hash == hash_of_lines(head, rest)))
}
