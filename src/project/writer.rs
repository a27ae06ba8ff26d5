//! Writes a run folder: the [`Sink`] behind every recording, from the window and from the command line.

use super::{
    Manifest, Project, Status, Stream, file, provenance, run,
    run::{COMMANDS, FORMAT, MANIFEST, PROJECT, SetInfo, TIMINGS, at},
    write_atomic,
};
use crate::{
    engine::{LoggedCommand, Sink},
    kinds::Model,
    sim::{Clock, Digest, ElementSet, Frame, ProbeId, ProbeSpec, Reading, Spike, Tap},
};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// Everything a new run starts from.
pub struct RunStart<'a> {
    /// The project as it was at step 0: after a rewind, as it was then.
    pub project: &'a Project,
    /// Folder the project's relative paths start from.
    pub base: &'a Path,
    /// What was logged between step 0 and the start of the recording.
    pub history: &'a [(u64, LoggedCommand)],
    /// Recorded probes.
    pub taps: Vec<Tap>,
    /// The sets of the simulation ([`SimSchema::sets`](crate::engine::SimSchema)).
    pub sets: &'a [Arc<ElementSet>],
    /// Device, as text.
    pub device: String,
    /// CPU threads.
    pub threads: u32,
    /// The command line, when there is one.
    pub command: String,
    /// The run this is a trial of: `(trial's seed, path from here to the folder that holds the ids)`.
    pub trial: Option<(u64, &'a str)>,
    /// How many trials this run consists of; 0 for an ordinary run.
    pub trials: u32,
}

/// A run folder being written.
pub struct RunWriter {
    folder: PathBuf,
    manifest: Manifest,
    model: Model,
    probes: &'static [ProbeSpec],
    taps: Vec<Tap>,
    files: Vec<StreamFile>,
    commands: AppendFile,
    timings: AppendFile,
    started: Instant,
    buffer: Vec<u8>,
}

struct StreamFile {
    probe: ProbeId,
    stream: usize,
    file: AppendFile,
    last_step: Option<u64>,
}

/// A file that only grows, in whole blocks.
struct AppendFile {
    file: File,
    path: PathBuf,
    n_bytes: u64,
}

impl AppendFile {
    fn create(folder: &Path, name: &str, head: &str) -> io::Result<Self> {
        let path = folder.join(name);
        let open = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
        let mut appended = Self { file: open.map_err(|e| at(&path, &e))?, path, n_bytes: 0 };
        appended.append(head.as_bytes())?;
        Ok(appended)
    }

    /// Appends a block and passes it to the system, so that it survives a crash of the program. A block that does not
    /// fit on the disk is removed as a whole.
    fn append(&mut self, block: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(block) {
            self.file.set_len(self.n_bytes).ok();
            return Err(at(&self.path, &error));
        }
        self.n_bytes += block.len() as u64;
        Ok(())
    }
}

impl RunWriter {
    /// Prepares the folder and writes everything known before the first step. A folder that is not empty is
    /// used only when it is an older run, which is replaced.
    pub fn create(folder: &Path, start: RunStart<'_>) -> io::Result<Self> {
        run::prepare_folder(folder)?;
        let project = start.project;
        let ids_in = start.trial.map_or("", |(_, ids_in)| ids_in);
        let manifest = Manifest {
            format: FORMAT,
            app: run::app_version(),
            kind: project.model.name().into(),
            name: project.name.clone(),
            seed: start.trial.map_or(project.seed, |(seed, _)| seed),
            setup_seed: project.seed,
            rng: "Philox 4x32-10, addressed by seed, purpose, step and lane".into(),
            device: start.device,
            threads: start.threads,
            host: run::host(),
            secs_per_step: project.model.secs_per_step(),
            started: run::now_utc(),
            base: fs::canonicalize(start.base).unwrap_or_else(|_| start.base.to_owned()),
            command: start.command,
            trials: start.trials,
            sets: run::describe_sets(start.sets, ids_in),
            data: if start.trial.is_none() { provenance::data_files(project, start.base) } else { vec![] },
            ..Manifest::default()
        };
        save_manifest(folder, &manifest)?;
        let text = file::write(project).map_err(io::Error::other)?;
        write_atomic(&folder.join(PROJECT), text.as_bytes(), false)?;
        if start.trial.is_none() {
            save_ids(folder, start.sets, &manifest.sets)?;
        }
        let head = "// One (step, command) per line, in the order they were applied.\n";
        let mut writer = Self {
            folder: folder.to_owned(),
            manifest,
            model: project.model.clone(),
            probes: project.model.probes(),
            taps: start.taps,
            files: vec![],
            commands: AppendFile::create(folder, COMMANDS, head)?,
            timings: AppendFile::create(folder, TIMINGS, "step,kernel,launches,nanos,max_nanos,bytes,items\n")?,
            started: Instant::now(),
            buffer: vec![],
        };
        for (step, what) in start.history {
            writer.log(*step, what)?;
        }
        Ok(writer)
    }

    /// The same with other probes, for tests.
    #[doc(hidden)]
    pub fn with_probes(mut self, probes: &'static [ProbeSpec]) -> Self {
        self.probes = probes;
        self
    }

    /// Closes a run that failed, with the reason in its manifest.
    pub fn fail(mut self, why: &str) -> io::Result<()> {
        self.manifest.status = Status::Failed(why.to_owned());
        self.manifest.stopped = run::now_utc();
        self.manifest.wall_s = self.started.elapsed().as_secs_f64();
        save_manifest(&self.folder, &self.manifest)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn add_stream(&mut self, tap: &Tap, lanes: &[String]) -> io::Result<()> {
        let Some(probe) = self.probes.get(usize::from(tap.probe)) else { return Ok(()) };
        let stream = run::stream_of(probe, tap, lanes, &self.manifest.sets, self.manifest.secs_per_step);
        let file = AppendFile::create(&self.folder, &stream.file, "")?;
        self.files.push(StreamFile { probe: tap.probe, stream: self.manifest.streams.len(), file, last_step: None });
        self.manifest.streams.push(stream);
        Ok(())
    }

    fn append(&mut self, which: usize, reading: &Reading, clock: Clock) -> io::Result<()> {
        let Self { files, manifest, buffer, folder, .. } = self;
        let target = &mut files[which];
        let stream = &mut manifest.streams[target.stream];
        if matches!(reading, Reading::Field(_) | Reading::Matrix(..)) {
            let is_due =
                target.last_step.is_none_or(|last| clock.step > last && clock.step - last >= stream.every_steps);
            if !is_due {
                return Ok(());
            }
            target.last_step = Some(clock.step);
        }
        if let (Reading::Matrix(columns, values), 0) = (reading, stream.width) {
            stream.width = values.len() as u32;
            let rows = values.len() as u32 / (*columns).max(1);
            stream.dtype = format!("[('step', '<u8'), ('value', '<f4', ({rows}, {columns}))]");
            save_manifest(folder, manifest)?;
        }
        buffer.clear();
        encode(reading, clock, &self.manifest.streams[target.stream], buffer).map_err(|e| at(&target.file.path, &e))?;
        target.file.append(buffer)
    }

    fn append_timings(&mut self, block: &Frame) -> io::Result<()> {
        self.buffer.clear();
        for t in &block.timings {
            let (step, name) = (block.clock.step, t.name);
            writeln!(self.buffer, "{step},{name},{},{},{},{},{}", t.launches, t.nanos, t.max_nanos, t.bytes, t.items)?;
        }
        if self.buffer.is_empty() { Ok(()) } else { self.timings.append(&self.buffer) }
    }
}

impl Sink for RunWriter {
    fn begin(&mut self, clock: Clock, lanes: &[(ProbeId, Vec<String>)]) -> io::Result<()> {
        self.started = Instant::now();
        self.manifest.first_step = clock.step;
        self.manifest.last_step = clock.step;
        self.manifest.secs_per_step = clock.secs_per_step;
        for tap in self.taps.clone() {
            let names = lanes.iter().find(|(probe, _)| *probe == tap.probe).map_or(&[][..], |(_, names)| names);
            self.add_stream(&tap, names)?;
        }
        save_manifest(&self.folder, &self.manifest)
    }

    fn write(&mut self, block: &Frame) -> io::Result<()> {
        let result = (|| {
            for which in 0..self.files.len() {
                if let Some(reading) = block.reading(self.files[which].probe) {
                    self.append(which, reading, block.clock)?;
                }
            }
            self.append_timings(block)
        })();
        match &result {
            Ok(()) => self.manifest.last_step = block.clock.step,
            Err(error) => self.manifest.status = Status::Failed(error.to_string()),
        }
        result
    }

    fn log(&mut self, step: u64, what: &LoggedCommand) -> io::Result<()> {
        let line = ron::to_string(&(step, what)).map_err(io::Error::other)?;
        let words = match what {
            LoggedCommand::Set(change) => run::describe_change(&self.model, change),
            LoggedCommand::Act(action) => format!("{} on {} elements", action.name, action.elements.len()),
            LoggedCommand::Rewind => "back to step 0".into(),
        };
        let result = self.commands.append(format!("{line} // {}\n", words.replace('\n', " ")).as_bytes());
        if let Err(error) = &result {
            self.manifest.status = Status::Failed(error.to_string());
        }
        result
    }

    fn finish(mut self: Box<Self>, digest: &Digest, clock: Clock) -> io::Result<()> {
        if self.manifest.status == Status::Running {
            self.manifest.status = Status::Complete;
            self.manifest.last_step = clock.step;
            self.manifest.digest = digest.clone();
        }
        self.manifest.stopped = run::now_utc();
        self.manifest.wall_s = self.started.elapsed().as_secs_f64();
        for target in &self.files {
            target.file.file.sync_data().map_err(|e| at(&target.file.path, &e))?;
        }
        save_manifest(&self.folder, &self.manifest)
    }
}

/// Writes the manifest, whole or not at all.
pub(super) fn save_manifest(folder: &Path, manifest: &Manifest) -> io::Result<()> {
    let text = file::to_ron(manifest).map_err(io::Error::other)?;
    let head = "// A run of neuropil. Read a stream with numpy.fromfile(file, dtype).\n";
    write_atomic(&folder.join(MANIFEST), (head.to_owned() + &text).as_bytes(), false)
}

fn save_ids(folder: &Path, sets: &[Arc<ElementSet>], infos: &[SetInfo]) -> io::Result<()> {
    for (set, info) in sets.iter().zip(infos).filter(|(_, info)| !info.ids.is_empty()) {
        let bytes: Vec<u8> = set.ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        let path = folder.join(&info.ids);
        fs::write(&path, bytes).map_err(|e| at(&path, &e))?;
    }
    Ok(())
}

/// A reading in the format of its file, little-endian.
fn encode(reading: &Reading, clock: Clock, stream: &Stream, out: &mut Vec<u8>) -> io::Result<()> {
    match reading {
        Reading::Spikes(spikes) => encode_spikes(spikes, out),
        Reading::Series(series) => {
            let width = series.lanes as usize;
            if series.steps.is_empty() || width == 0 {
                return Ok(());
            }
            if series.lanes != stream.width {
                return Err(io::Error::other(format!("{} lanes instead of the {} of its stream", width, stream.width)));
            }
            for (step, row) in series.steps.iter().zip(series.values.chunks_exact(width)) {
                encode_row(*step, row, out);
            }
        }
        Reading::Field(values) | Reading::Matrix(_, values) => {
            if values.len() as u32 != stream.width {
                let (came, announced) = (values.len(), stream.width);
                return Err(io::Error::other(format!("{came} values instead of the {announced} of its stream")));
            }
            encode_row(clock.step, values, out);
        }
        Reading::Lineage(events) => {
            for event in events {
                serde_json::to_writer(&mut *out, event)?;
                out.push(b'\n');
            }
        }
        Reading::Text(text) => out.extend_from_slice(text.as_bytes()),
    }
    Ok(())
}

fn encode_spikes(spikes: &[Spike], out: &mut Vec<u8>) {
    if cfg!(target_endian = "little") {
        out.extend_from_slice(bytemuck::cast_slice(spikes));
    } else {
        out.extend(spikes.iter().flat_map(|s| [s.step.to_le_bytes(), s.lane.to_le_bytes()]).flatten());
    }
}

fn encode_row(step: u64, row: &[f32], out: &mut Vec<u8>) {
    out.extend_from_slice(&step.to_le_bytes());
    out.extend(row.iter().flat_map(|v| v.to_le_bytes()));
}
