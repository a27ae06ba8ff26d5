//! Reads a run folder, closed or not.

use super::{
    Manifest, Project, ReadError, Status, Stream, command_log, file, load_logged_data, lock,
    manifest::record_bytes,
    parent::PARENT_STATE,
    run::{COMMANDS, EXPORTS, FORMAT, LOCK, MANIFEST, NOTE, PROJECT, RATES, TAGS, TIMINGS, TRIALS, at},
    run_file,
    sets::{ElementTable, SetInfo},
    stream_reader::{LineReader, LineageReader, RowReader, SpikeReader, StreamFile, recover},
    writer::manifest_matches,
};
use crate::{
    engine::LoggedCommand,
    kinds::Model,
    params::Change,
    sim::{BuildContext, ElementSet, InputData, LifeEvent, Progress, SimError, Spike},
};
use std::{
    io::{self, ErrorKind, Read as _},
    path::{Path, PathBuf},
};

/// A project with warnings about its file, or the reason why the file cannot be read.
type ReadProject = Result<(Project, Vec<file::Warning>), ReadError>;

/// Maximum size of manifest and command log, bytes.
const MAX_TEXT: u64 = 1 << 28;
/// Maximum size of a stream's record, bytes.
const MAX_RECORD: u64 = 1 << 30;

/// Run on disk.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// Path of the folder.
    pub path: PathBuf,
    /// Manifest of the run. A run without an end is [`Status::Running`] or [`Status::Unclosed`].
    pub manifest: Manifest,
    /// Messages about the condition of the run: not closed, disk full, damaged.
    pub notes: Vec<String>,
    /// Number of the trial within a series of trials; `None` for a single run.
    pub trial: Option<u32>,
    /// Whether the manifest matches its own hash; `None` if the manifest has no hash.
    pub(super) manifest_matches: Option<bool>,
    /// Number of valid bytes in the file of each stream of the manifest.
    extents: Vec<u64>,
}

/// Rows of a numeric stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Step of each row.
    pub steps: Vec<u64>,
    /// Number of values per row.
    pub width: usize,
    /// Values in row-major order.
    pub values: Vec<f32>,
}

impl RunFolder {
    /// Opens a run and adds a note if the run is not closed. Reads the manifest and, for an unclosed run without a lock
    /// file, the ends of its streams. Fails if the folder has no manifest, or the manifest is invalid or of a newer format.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, || lock::is_locked(path))
    }

    /// Opens a run whose lock this process holds, without checking for writers. Fails as [`RunFolder::open`] does.
    pub(super) fn open_locked(path: &Path) -> io::Result<Self> {
        Self::open_with(path, || false)
    }

    fn open_with(path: &Path, is_written: impl FnOnce() -> bool) -> io::Result<Self> {
        let manifest_path = path.join(MANIFEST);
        let text = run_file::read_text(&manifest_path, MAX_TEXT).map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                io::Error::new(e.kind(), format!("{} is not a run: it has no {MANIFEST}", path.display()))
            }
            _ => e,
        })?;
        let manifest: Manifest = file::from_ron(&text).map_err(|e| invalid(e.in_file(&manifest_path)))?;
        let wrong = |what: String| invalid(format!("{}: {what}", manifest_path.display()));
        if manifest.format == 0 || manifest.format > FORMAT {
            let (format, is) =
                (manifest.format, if manifest.format == 0 { "unknown" } else { "newer than this program" });
            return Err(wrong(format!("format {format} is {is}, which reads 1 to {FORMAT}")));
        }
        is_plausible(&manifest).map_err(wrong)?;
        let (path, manifest_matches) = (path.to_owned(), manifest_matches(&text));
        let mut run = Self { path, manifest, notes: vec![], trial: None, manifest_matches, extents: vec![] };
        run.examine(is_written)?;
        Ok(run)
    }

    fn examine(&mut self, is_written: impl FnOnce() -> bool) -> io::Result<()> {
        if self.manifest_matches == Some(false) {
            self.notes.push(format!("{MANIFEST} is not what was written: its hash differs"));
        }
        if self.manifest.not_verified_before > 0 {
            let step = self.manifest.not_verified_before;
            let why = "it was continued there from a checkpoint of an older version, which holds no hashes";
            self.notes.push(format!("not verified before step {step}: {why}"));
        }
        match &self.manifest.status {
            Status::Running | Status::Unclosed => return self.examine_unclosed(is_written()),
            Status::Complete => {}
            Status::Interrupted { step } => self.notes.push(format!("interrupted at step {step}")),
            Status::Failed(why) => {
                self.notes.push(format!("the recording failed: {why}; its data up to there can be read"));
            }
        }
        for stream in &self.manifest.streams {
            let n_bytes = run_file::size_of(&self.path.join(&stream.file)).unwrap_or(0);
            let expected = if stream.hash.is_empty() { n_bytes } else { stream.n_bytes };
            self.notes.extend(self.damage(stream));
            self.extents.push(whole_records(stream, n_bytes.min(expected)));
        }
        Ok(())
    }

    /// Determines status and valid data of an unclosed run: from its lock file, or else from the ends of its streams.
    fn examine_unclosed(&mut self, is_running: bool) -> io::Result<()> {
        let progress = lock::read(&self.path).filter(|p| p.id == self.manifest.id);
        self.manifest.status = if is_running { Status::Running } else { Status::Unclosed };
        let (mut last_step, first) = (progress.as_ref().and_then(|p| p.step), self.manifest.first_step);
        for stream in &self.manifest.streams {
            let extent = if let Some(progress) = &progress {
                let written = progress.files.iter().find(|(name, _)| *name == stream.file).map_or(0, |(_, n)| *n);
                written.min(run_file::size_of(&self.path.join(&stream.file)).unwrap_or(0))
            } else {
                let n_lanes = self.manifest.set(&stream.over).map_or(0, |s| s.len);
                let (extent, last) = recover(&self.path, stream, n_lanes, first)?;
                let end = if stream.shape == "spikes" { last.map(|s| s + 1) } else { last };
                last_step = last_step.max(end);
                extent
            };
            self.extents.push(whole_records(stream, extent));
        }
        self.manifest.last_step = last_step.unwrap_or(first).max(first);
        let parts: Vec<String> =
            (self.manifest.streams.iter().zip(&self.extents)).map(|(s, n)| amount(s, *n)).collect();
        let recorded = if parts.is_empty() { "no data".to_owned() } else { parts.join(", ") };
        self.notes.push(match (is_running, &progress) {
            (true, Some(p)) => format!("still being written by process {}; {recorded} so far", p.process),
            (true, None) => format!("still being written; {recorded} so far"),
            _ => format!("not closed: its process ended; recovered {recorded}"),
        });
        Ok(())
    }

    /// Describes a missing file or wrong length of a closed run's stream; `None` without damage and for unclosed runs.
    pub fn damage(&self, stream: &Stream) -> Option<String> {
        if matches!(self.manifest.status, Status::Running | Status::Unclosed) {
            return None;
        }
        let Some(n_bytes) = run_file::size_of(&self.path.join(&stream.file)) else {
            return Some(format!("{} is missing", stream.file));
        };
        let is_damaged = !stream.hash.is_empty() && n_bytes != stream.n_bytes;
        is_damaged
            .then(|| format!("{} is damaged: {} bytes were written, it has {n_bytes}", stream.file, stream.n_bytes))
    }

    /// Reads the input data of a logged change again, with the parameters `now` in effect.
    ///
    /// # Errors
    /// Fails if the file cannot be read or its content differs from the content that the run read.
    pub fn load_logged_data(
        &self,
        project: &Project,
        now: Vec<Change>,
        logged: (&Change, &str),
        progress: &Progress,
    ) -> Result<InputData, SimError> {
        let mut model = project.model.clone();
        for change in now {
            model.params_mut().set(&change);
        }
        let context = BuildContext { seed: self.manifest.setup_seed, ..self.build_context(project) };
        load_logged_data(&model, &context, logged, progress)
    }

    /// Returns the build context of the run's simulation: folder and seed of its project, and the recorded kernel choices.
    pub fn build_context(&self, project: &Project) -> BuildContext {
        BuildContext { kernels: self.manifest.execution.kernels.clone(), ..project.build_context(&self.base()) }
    }

    /// Returns the base folder of relative paths in the run's project, or the run folder if the manifest names none.
    pub fn base(&self) -> PathBuf {
        let base = &self.manifest.base;
        if base.as_os_str().is_empty() { self.path.clone() } else { base.clone() }
    }

    /// Whether the run reached its end.
    pub fn is_complete(&self) -> bool {
        self.manifest.status == Status::Complete
    }

    /// Whether a path is a file of this run or of one of its trials.
    pub fn is_own_file(&self, path: &Path) -> bool {
        let full = |folder: &Path| std::fs::canonicalize(folder).ok();
        let folder = path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
        let (Some(own), Some(folder)) = (full(&self.path), folder.and_then(full)) else { return false };
        if folder.starts_with(own.join(TRIALS)) {
            return true;
        }
        let manifest = &self.manifest;
        let names = (manifest.streams.iter().map(|s| s.file.as_str()))
            .chain(manifest.sets.iter().map(|s| s.ids.as_str()))
            .chain(manifest.files.iter().map(|f| f.name.as_str()))
            .chain(manifest.checkpoints.iter().map(|c| c.file.as_str()))
            .chain([MANIFEST, LOCK, PROJECT, COMMANDS, TIMINGS, NOTE, TAGS, EXPORTS, RATES, PARENT_STATE]);
        folder == own
            && path.file_name().and_then(|n| n.to_str()).is_some_and(|name| names.into_iter().any(|n| n == name))
    }

    /// Returns the number of valid bytes in a stream's file, without damage and incomplete records; 0 for an unknown stream.
    pub fn n_bytes(&self, stream: &Stream) -> u64 {
        let at = self.manifest.streams.iter().position(|s| s.file == stream.file);
        at.and_then(|at| self.extents.get(at)).copied().unwrap_or(0)
    }

    /// Returns the number of records in a stream; 0 for lines and text.
    pub fn n_records(&self, stream: &Stream) -> u64 {
        record_bytes(stream).map_or(0, |n| self.n_bytes(stream) / n)
    }

    /// Reads the project at step 0 for computing. Fails if the file cannot be parsed.
    pub fn project(&self) -> Result<Project, ReadError> {
        self.read_project(file::read_bytes).map(|(project, _)| project)
    }

    /// Reads the project at step 0 for display; removed choices are replaced, with messages. Fails for an invalid file.
    pub fn displayed_project(&self) -> Result<(Project, Vec<String>), ReadError> {
        let (project, warnings) = self.read_project(file::read_recorded)?;
        Ok((project, warnings.iter().map(|warning| format!("{PROJECT}, {warning}")).collect()))
    }

    fn read_project(&self, read_bytes: fn(&[u8]) -> ReadProject) -> ReadProject {
        let path = self.path.join(PROJECT);
        let mut bytes = vec![];
        let read = run_file::open_regular(&path).and_then(|f| f.take(MAX_TEXT).read_to_end(&mut bytes));
        read.map_err(|e| ReadError { file: String::new(), line: 0, column: 0, what: e.to_string() })?;
        read_bytes(&bytes).map_err(|e| e.in_file(&path))
    }

    /// Reads the command log, or fails, as [`Self::commands_with`] does. Elements are indices into the run's sets.
    pub fn commands(&self) -> io::Result<Vec<(u64, LoggedCommand)>> {
        self.commands_with(&|set| self.ids(set).unwrap_or_default())
    }

    /// Reads the command log without an incomplete last line. Elements of actions are indices into sets whose public ids `ids`
    /// returns by name. Fails if a line is invalid or the kind is unknown.
    pub fn commands_with(&self, ids: &dyn Fn(&str) -> Vec<u64>) -> io::Result<Vec<(u64, LoggedCommand)>> {
        let path = self.path.join(COMMANDS);
        let text = run_file::read_text(&path, MAX_TEXT)?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines: Vec<(usize, &str)> =
            whole.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")).collect();
        if lines.is_empty() {
            return Ok(vec![]);
        }
        let Manifest { kind, format, .. } = &self.manifest;
        let model = Model::by_name(kind).ok_or_else(|| invalid(format!("{}: no kind `{kind}`", path.display())))?;
        let order = command_log::order_of(*format, kind).map_err(|e| invalid(format!("{}: {e}", path.display())))?;
        let ids = |set: &str, version: u32| match version {
            0 | 1 => ids(set),
            n => {
                let versions = self.manifest.sets.iter().filter(|info| info.name == set);
                versions
                    .skip(n as usize - 1)
                    .map(|info| self.ids_of(info).unwrap_or_default())
                    .next()
                    .unwrap_or_default()
            }
        };
        let declarations = command_log::Declarations {
            params: model.params(),
            actions: model.actions(),
            ids: &ids,
            version: &|_| 1,
            order,
        };
        let read = |(i, line): (usize, &str)| {
            declarations.read(line).map_err(|what| invalid(format!("{}:{}: {what}", path.display(), i + 1)))
        };
        lines.into_iter().map(read).collect()
    }

    /// Reads all recorded spikes in order, possibly none, into memory. Fails if the file is unreadable or invalid.
    pub fn spikes(&self) -> io::Result<Vec<Spike>> {
        self.manifest.spikes().map_or_else(|| Ok(vec![]), |stream| self.read_spikes(stream)?.collect())
    }

    /// Reads all events of a lineage into memory. Fails if the file is unreadable or invalid.
    pub fn lineage(&self, stream: &Stream) -> io::Result<Vec<LifeEvent>> {
        self.read_lineage(stream)?.collect()
    }

    /// Reads all rows of a series, a field or a matrix into memory. Fails if the file is unreadable or invalid.
    pub fn rows(&self, stream: &Stream) -> io::Result<Rows> {
        let mut reader = self.read_rows(stream)?;
        let (mut rows, mut values) = (Rows { width: stream.width as usize, ..Rows::default() }, vec![]);
        while let Some(step) = reader.next_row(&mut values)? {
            rows.steps.push(step);
            rows.values.extend_from_slice(&values);
        }
        Ok(rows)
    }

    /// Returns a reader of single spikes. Fails if the file cannot be opened.
    pub fn read_spikes(&self, stream: &Stream) -> io::Result<SpikeReader> {
        Ok(SpikeReader::new(self.stream_file(stream)?))
    }

    /// Returns a reader of single rows. Fails if the file cannot be opened.
    pub fn read_rows(&self, stream: &Stream) -> io::Result<RowReader> {
        Ok(RowReader::new(self.stream_file(stream)?, stream.width as usize))
    }

    /// Returns a reader of single lines of a stream, such as texts or tokens. Fails if the file cannot be opened.
    pub fn read_lines<T: serde::de::DeserializeOwned>(&self, stream: &Stream) -> io::Result<LineReader<T>> {
        Ok(LineReader::new(self.stream_file(stream)?))
    }

    /// Reads the text of a log stream into memory; empty if its file is missing. Fails if the file is unreadable.
    pub fn read_text(&self, stream: &Stream) -> io::Result<String> {
        let Some(mut file) = self.stream_file(stream)? else { return Ok(String::new()) };
        let mut bytes = vec![0; file.left().min(MAX_TEXT) as usize];
        let is_read = file.fill(&mut bytes)?;
        Ok(if is_read { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() })
    }

    /// Returns a reader of the single events of a lineage. Fails if the file cannot be opened.
    pub fn read_lineage(&self, stream: &Stream) -> io::Result<LineageReader> {
        Ok(LineageReader::new(self.stream_file(stream)?))
    }

    /// Opens the valid part of a stream's file; `None` if the file is missing. Fails if the file cannot be opened.
    pub(super) fn stream_file(&self, stream: &Stream) -> io::Result<Option<StreamFile>> {
        match StreamFile::open(&self.path, &stream.file, self.n_bytes(stream)) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    /// Reads the public ids in the first version of a set; empty without set or ids. Fails if the file is unreadable.
    pub fn ids(&self, set: &str) -> io::Result<Vec<u64>> {
        self.manifest.set(set).map_or(Ok(vec![]), |info| self.ids_of(info))
    }

    /// Reads ids and names of a version of a set, and positions and categories of a later one. Unreadable data stay empty.
    pub fn stored_set(&self, name: &'static str, info: &SetInfo) -> ElementSet {
        let ids = self.ids_of(info).unwrap_or_default();
        let mut set = ElementSet { name, len: info.len, ids, names: info.names.clone(), ..ElementSet::default() };
        let read = || run_file::read_text(&run_file::inside(&self.path, &info.table).ok()?, MAX_TEXT).ok();
        if let Some(table) = read().filter(|_| !info.table.is_empty()).and_then(|text| file::from_ron(&text).ok()) {
            ElementTable::add_to(table, &mut set);
        }
        set
    }

    /// Reads the public ids of a version of a set; empty if it has no ids. Fails if the file does not have `info.len` ids.
    pub fn ids_of(&self, info: &SetInfo) -> io::Result<Vec<u64>> {
        if info.ids.is_empty() {
            return Ok(vec![]);
        }
        // The trials of a series share the ids of the series.
        let path = match info.ids.strip_prefix("../../") {
            Some(name) => run_file::inside(&self.path.join("../.."), name)?,
            None => run_file::inside(&self.path, &info.ids)?,
        };
        let expected = u64::from(info.len) * 8;
        let n_bytes = run_file::size_of(&path).unwrap_or(0);
        if n_bytes != expected {
            return Err(invalid(format!("{}: {} ids expected, {n_bytes} bytes found", path.display(), info.len)));
        }
        let mut bytes = Vec::with_capacity(expected as usize);
        run_file::open_regular(&path)?.take(expected).read_to_end(&mut bytes).map_err(|e| at(&path, &e))?;
        Ok(bytes.chunks_exact(8).map(|b| b.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))).collect())
    }

    /// Opens the existing trials of this run, sorted by number; an interrupted series has gaps. Returns the run itself if
    /// it is not a series. Fails if no trial exists.
    pub fn trials(&self) -> io::Result<Vec<Self>> {
        if self.manifest.trials == 0 {
            return Ok(vec![self.clone()]);
        }
        let folder = self.path.join(TRIALS);
        let mut numbers: Vec<u32> = std::fs::read_dir(&folder)
            .map_err(|e| at(&folder, &e))?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|k| *k < self.manifest.trials && trial_folder(&self.path, *k).join(MANIFEST).is_file())
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return Err(invalid(format!("{}: none of the {} trials exists", folder.display(), self.manifest.trials)));
        }
        let open = |k| Ok(Self { trial: Some(k), ..Self::open(&trial_folder(&self.path, k))? });
        numbers.into_iter().map(open).collect()
    }
}

/// Returns the folder of one trial of a run.
pub fn trial_folder(run: &Path, trial: u32) -> PathBuf {
    run.join(TRIALS).join(format!("{trial:04}"))
}

/// Fails if a manifest from an untrusted source contains file names with folders, or sizes that exceed memory.
fn is_plausible(manifest: &Manifest) -> Result<(), String> {
    for stream in &manifest.streams {
        if !run_file::is_plain_name(&stream.file) {
            return Err(format!("`{}` of {} is not a file name in the run folder", stream.file, stream.probe));
        }
        if record_bytes(stream).is_some_and(|n| n > MAX_RECORD) {
            return Err(format!("{} has {} values per record, which is too many", stream.probe, stream.width));
        }
    }
    let parent = manifest.parent.as_ref().map(|parent| &parent.checkpoint);
    if let Some(info) = manifest.checkpoints.iter().chain(parent).find(|c| !run_file::is_plain_name(&c.file)) {
        return Err(format!("`{}` is not a file name in the run folder", info.file));
    }
    if let Some(parent) = manifest.parent.as_ref().filter(|p| !p.copy.is_empty() && !run_file::is_plain_name(&p.copy)) {
        return Err(format!("`{}` is not a file name in the run folder", parent.copy));
    }
    if let Some(set) = manifest.sets.iter().find(|s| s.len > crate::data::MAX_NEURONS) {
        return Err(format!("{} {} are more than this program allows", set.len, set.name));
    }
    if !(manifest.secs_per_step.is_finite() && manifest.secs_per_step >= 0.0) {
        return Err(format!("{} seconds per step", manifest.secs_per_step));
    }
    Ok(())
}

fn whole_records(stream: &Stream, n_bytes: u64) -> u64 {
    record_bytes(stream).map_or(n_bytes, |n| n_bytes / n * n)
}

/// Formats the amount of a stream's data: `8160 events of spikes`.
fn amount(stream: &Stream, n_bytes: u64) -> String {
    match record_bytes(stream) {
        Some(n) => format!("{} {} of {}", n_bytes / n, if n == 8 { "events" } else { "rows" }, stream.probe),
        None => format!("{n_bytes} bytes of {}", stream.probe),
    }
}

fn invalid(what: impl ToString) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_string())
}
