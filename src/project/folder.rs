//! Reads a run folder, closed or not.

use super::{
    Manifest, Project, ReadError, Status, Stream, file,
    run::{COMMANDS, FORMAT, MANIFEST, PROJECT, TIMINGS, TRIALS, at},
};
use crate::{
    engine::LoggedCommand,
    sim::{LifeEvent, Spike},
};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// A run on disk.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Messages about its condition: not closed, disk full.
    pub notes: Vec<String>,
}

/// Rows of a stream of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// When.
    pub steps: Vec<u64>,
    /// Values per row.
    pub width: usize,
    /// Row-major.
    pub values: Vec<f32>,
}

impl RunFolder {
    /// Opens a run. One that was not closed is opened too, with a note of what was recovered.
    pub fn open(path: &Path) -> io::Result<Self> {
        let manifest_path = path.join(MANIFEST);
        let text = fs::read_to_string(&manifest_path).map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                io::Error::new(e.kind(), format!("{} is not a run: it has no {MANIFEST}", path.display()))
            }
            _ => at(&manifest_path, &e),
        })?;
        let manifest: Manifest = file::from_ron(&text).map_err(|e| invalid(e.in_file(&manifest_path)))?;
        if manifest.format == 0 || manifest.format > FORMAT {
            let what = format!("format {} is newer than this program, which reads 1 to {FORMAT}", manifest.format);
            return Err(invalid(format!("{}: {what}", manifest_path.display())));
        }
        let mut run = Self { path: path.to_owned(), manifest, notes: vec![] };
        run.examine();
        Ok(run)
    }

    fn examine(&mut self) {
        match &self.manifest.status {
            Status::Complete => {}
            Status::Failed(why) => {
                self.notes.push(format!("the recording failed: {why}; its data up to there can be read"))
            }
            Status::Interrupted { step } => self.notes.push(format!("interrupted at step {step}")),
            Status::Running | Status::Unclosed => {
                let recovered: Vec<String> = self.manifest.streams.iter().map(|s| self.recovered(s)).collect();
                self.notes.push(format!("not closed properly (or still running); recovered {}", recovered.join(", ")));
                self.manifest.last_step = self.last_recorded_step().unwrap_or(self.manifest.first_step);
            }
        }
    }

    fn recovered(&self, stream: &Stream) -> String {
        let n_bytes = fs::metadata(self.path.join(&stream.file)).map_or(0, |m| m.len());
        match record_bytes(stream) {
            Some(n) => format!("{} {} of {}", n_bytes / n, if n == 8 { "events" } else { "rows" }, stream.probe),
            None => format!("{n_bytes} bytes of {}", stream.probe),
        }
    }

    /// The last recorded step of an unclosed run: the latest of any stream.
    fn last_recorded_step(&self) -> Option<u64> {
        let of = |stream: &Stream| match stream.shape.as_str() {
            "spikes" => self.spikes_of(stream).ok()?.last().map(|s| u64::from(s.step) + 1),
            "series" | "field" | "matrix" => self.rows(stream).ok()?.steps.last().copied(),
            _ => None,
        };
        self.manifest.streams.iter().filter_map(of).max()
    }

    /// Whether the end of the run was recorded.
    pub fn is_complete(&self) -> bool {
        self.manifest.status == Status::Complete
    }

    /// The project as it was at step 0.
    pub fn project(&self) -> Result<Project, ReadError> {
        file::open(&self.path.join(PROJECT)).map(|(project, _)| project)
    }

    /// The command log. A last line that was cut off is left out.
    pub fn commands(&self) -> io::Result<Vec<(u64, LoggedCommand)>> {
        let path = self.path.join(COMMANDS);
        let text = fs::read_to_string(&path).map_err(|e| at(&path, &e))?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut out = vec![];
        for (i, line) in whole.lines().enumerate().filter(|(_, l)| !l.trim_start().starts_with("//")) {
            let entry =
                file::from_ron(line).map_err(|e| invalid(format!("{}:{}: {}", path.display(), i + 1, e.what)))?;
            out.push(entry);
        }
        Ok(out)
    }

    /// The recorded spikes, in order; empty when none were recorded.
    pub fn spikes(&self) -> io::Result<Vec<Spike>> {
        self.manifest.spikes().map_or_else(|| Ok(vec![]), |stream| self.spikes_of(stream))
    }

    fn spikes_of(&self, stream: &Stream) -> io::Result<Vec<Spike>> {
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let bytes = self.whole_records(stream, 8)?;
        Ok(bytes.chunks_exact(8).map(|b| Spike { step: word(b), lane: word(&b[4..]) }).collect())
    }

    /// The lines of a lineage. The last one of a killed run may be torn, and is left out.
    pub fn lineage(&self, stream: &Stream) -> io::Result<Vec<LifeEvent>> {
        let path = self.path.join(&stream.file);
        let text = fs::read_to_string(&path).map_err(|e| at(&path, &e))?;
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let wrong = |e: serde_json::Error| invalid(format!("{}: {e}", path.display()));
        whole.lines().map(|line| serde_json::from_str(line).map_err(wrong)).collect()
    }

    /// The rows of a series, a field or a matrix.
    pub fn rows(&self, stream: &Stream) -> io::Result<Rows> {
        let width = stream.width as usize;
        let mut rows = Rows { width, ..Rows::default() };
        if width == 0 {
            return Ok(rows);
        }
        for record in self.whole_records(stream, 8 + 4 * width)?.chunks_exact(8 + 4 * width) {
            let (step, values) = record.split_at(8);
            rows.steps.push(step.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)));
            rows.values.extend(values.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        }
        Ok(rows)
    }

    /// A file cut down to whole records: the last block of a killed run may be torn.
    fn whole_records(&self, stream: &Stream, n_bytes: usize) -> io::Result<Vec<u8>> {
        let path = self.path.join(&stream.file);
        let mut bytes = match fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => vec![],
            other => other.map_err(|e| at(&path, &e))?,
        };
        bytes.truncate(bytes.len() / n_bytes * n_bytes);
        Ok(bytes)
    }

    /// Public ids of a set; empty when its elements have none.
    pub fn ids(&self, set: &str) -> io::Result<Vec<u64>> {
        let Some(info) = self.manifest.set(set).filter(|s| !s.ids.is_empty()) else { return Ok(vec![]) };
        let path = self.path.join(&info.ids);
        let bytes = fs::read(&path).map_err(|e| at(&path, &e))?;
        if bytes.len() != info.len as usize * 8 {
            return Err(invalid(format!("{}: {} ids expected, {} bytes found", path.display(), info.len, bytes.len())));
        }
        Ok(bytes.chunks_exact(8).map(|b| b.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))).collect())
    }

    /// The trials of this run, in order; itself when it has none.
    pub fn trials(&self) -> io::Result<Vec<Self>> {
        if self.manifest.trials == 0 {
            return Ok(vec![self.clone()]);
        }
        (0..self.manifest.trials).map(|k| Self::open(&trial_folder(&self.path, k))).collect()
    }

    /// Removes the files of a run, and nothing else.
    pub(super) fn clear(&self) -> io::Result<()> {
        for k in 0..self.manifest.trials {
            let folder = trial_folder(&self.path, k);
            if let Ok(trial) = Self::open(&folder) {
                trial.clear()?;
                fs::remove_dir(&folder).ok();
            }
        }
        fs::remove_dir(self.path.join(TRIALS)).ok();
        let streams = self.manifest.streams.iter().map(|s| s.file.as_str());
        let ids = self.manifest.sets.iter().map(|s| s.ids.as_str()).filter(|ids| !ids.starts_with(".."));
        // The manifest last: without it the folder is not a run.
        for name in streams.chain(ids).chain([COMMANDS, TIMINGS, PROJECT, "rates.csv", MANIFEST]) {
            if name.is_empty() || Path::new(name).components().count() != 1 {
                continue; // a manifest is untrusted text
            }
            match fs::remove_file(self.path.join(name)) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Folder of one trial.
pub fn trial_folder(run: &Path, trial: u32) -> PathBuf {
    run.join(TRIALS).join(format!("{trial:04}"))
}

/// Bytes of a record; `None` for texts.
fn record_bytes(stream: &Stream) -> Option<u64> {
    match stream.shape.as_str() {
        "spikes" => Some(8),
        "series" | "field" | "matrix" if stream.width > 0 => Some(8 + 4 * u64::from(stream.width)),
        _ => None,
    }
}

fn invalid(what: impl ToString) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_string())
}
