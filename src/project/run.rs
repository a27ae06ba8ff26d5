//! The run folder: names and manifest.
//!
//! ```text
//! runs/0007-sugar/
//!   project.ron      the project as it was at step 0
//!   commands.ron     one `(step, command)` per line: with the project, the run is replayable bit for bit
//!   run.ron          this manifest; written at the start with `status: Running` and again at the end
//!   spikes.u32       np.fromfile("spikes.u32", "<u4").reshape(-1, 2): step, lane
//!   rate.f32         one record per sample: see `dtype` of its stream in run.ron
//!   neurons.u64      public ids of the elements, when they have any
//!   timings.csv      kernel times
//!   note.txt         the user's note, when there is one
//! ```
//!
//! Every file but run.ron and note.txt only ever grows, in whole blocks, so a run is readable while it is written and
//! after a crash.

use super::provenance::DataFile;
use crate::{
    params::Value,
    sim::{Digest, ElementSet, ProbeSpec, Shape, Tap},
};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// Version of the run folder's format.
pub const FORMAT: u32 = 1;
/// The manifest's file name.
pub const MANIFEST: &str = "run.ron";
/// The project's file name inside a run.
pub const PROJECT: &str = "project.ron";
/// The user's note about a run, plain text.
pub const NOTE: &str = "note.txt";
/// The command log's file name.
pub const COMMANDS: &str = "commands.ron";
/// The kernel times' file name.
pub const TIMINGS: &str = "timings.csv";
/// Folder of a run's trials, each a run folder of its own.
pub const TRIALS: &str = "trials";

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Status {
    /// It is being written by a live process. In a manifest: not closed yet.
    #[default]
    Running,
    /// It reached its end, or was stopped by the user.
    Complete,
    /// A signal or a closing window ended it before its planned end. Its data are valid up to this step.
    Interrupted {
        /// The last step.
        step: u64,
    },
    /// The disk or the device failed. Data up to the last step of the manifest are valid.
    Failed(String),
    /// Its process ended without closing it. Never in a manifest: a `Running` one that no process writes.
    Unclosed,
}

impl Status {
    /// One word for tables.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Interrupted { .. } => "interrupted",
            Self::Failed(_) => "failed",
            Self::Unclosed => "not closed",
        }
    }
}

/// One recorded probe.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Stream {
    /// The probe's name.
    pub probe: String,
    /// File in the run folder.
    pub file: String,
    /// `spikes`, `series`, `field`, `matrix`, `lineage` or `text`.
    pub shape: String,
    /// Unit of the values.
    pub unit: String,
    /// One record, as numpy spells it; empty for texts.
    pub dtype: String,
    /// Values per record.
    pub width: u32,
    /// Names of the lanes, when they are fixed.
    pub lanes: Vec<String>,
    /// Elements of the lanes, for a probe of chosen elements.
    pub elements: Vec<u32>,
    /// The set the lanes are elements of.
    pub over: String,
    /// Least number of steps between two recorded states; 0 records every sample.
    pub every_steps: u64,
}

/// A set of elements the streams refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SetInfo {
    /// Its name.
    pub name: String,
    /// Number of elements.
    pub len: u32,
    /// File of little-endian u64 public ids, relative to the run folder; empty when there are none.
    pub ids: String,
}

/// The manifest of a run: everything but its data.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    /// Program, version and commit.
    pub app: String,
    /// Kind of the simulation.
    pub kind: String,
    /// Name of the project.
    pub name: String,
    /// How it ended.
    pub status: Status,
    /// Seed of the random draws.
    pub seed: u64,
    /// Seed of generated data (a network); the same as `seed` except in trials.
    pub setup_seed: u64,
    /// Generator of the random draws.
    pub rng: String,
    /// Device.
    pub device: String,
    /// CPU threads.
    pub threads: u32,
    /// Operating system, architecture and cores.
    pub host: String,
    /// Simulated seconds per step.
    pub secs_per_step: f64,
    /// Step at which the recording began.
    pub first_step: u64,
    /// Step at which it ended.
    pub last_step: u64,
    /// Start, UTC.
    pub started: String,
    /// End, UTC.
    pub stopped: String,
    /// Wall time of the recording, seconds.
    pub wall_s: f64,
    /// Hash and totals of the simulation.
    pub digest: Digest,
    /// Folder the project's relative paths start from.
    pub base: PathBuf,
    /// The command line; empty for a run of the window.
    pub command: String,
    /// Runs under `trials/`; 0 for an ordinary run.
    pub trials: u32,
    /// Recorded streams.
    pub streams: Vec<Stream>,
    /// The sets the lanes belong to.
    pub sets: Vec<SetInfo>,
    /// Input files.
    pub data: Vec<DataFile>,
}

impl Manifest {
    /// The recorded spikes, if any.
    pub fn spikes(&self) -> Option<&Stream> {
        self.streams.iter().find(|s| s.shape == "spikes")
    }

    /// A set by name.
    pub fn set(&self, name: &str) -> Option<&SetInfo> {
        self.sets.iter().find(|s| s.name == name)
    }
}

/// Simulated seconds between two recorded states of a field or matrix.
const STATE_EVERY_S: f64 = 0.01;

/// How a probe is recorded.
pub(super) fn stream_of(
    probe: &ProbeSpec,
    tap: &Tap,
    lanes: &[String],
    sets: &[SetInfo],
    secs_per_step: f64,
) -> Stream {
    let len_of = |over: &str| sets.iter().find(|s| s.name == over).map_or(0, |s| s.len);
    let every = if secs_per_step < STATE_EVERY_S { (STATE_EVERY_S / secs_per_step).round() as u64 } else { 0 };
    let base = Stream { probe: probe.name.into(), unit: probe.unit.into(), ..Stream::default() };
    let name = probe.name;
    match probe.shape {
        Shape::Spikes { over } => Stream {
            file: format!("{name}.u32"),
            shape: "spikes".into(),
            dtype: "[('step', '<u4'), ('lane', '<u4')]".into(),
            width: 2,
            over: over.into(),
            ..base
        },
        Shape::Series { of } => {
            let (elements, lanes) =
                if of.is_empty() { (vec![], lanes.to_vec()) } else { (tap.elements.clone(), vec![]) };
            let width = if of.is_empty() { lanes.len().max(1) } else { elements.len() } as u32;
            let (file, dtype) = (format!("{name}.f32"), record_dtype(width));
            Stream { file, shape: "series".into(), dtype, width, lanes, elements, over: of.into(), ..base }
        }
        Shape::Field { over, .. } => {
            let (width, over) = (len_of(over), over.to_owned());
            let (file, dtype) = (format!("{name}.f32"), record_dtype(width));
            Stream { file, shape: "field".into(), dtype, width, over, every_steps: every, ..base }
        }
        Shape::Matrix { .. } => Stream {
            file: format!("{name}.f32"),
            shape: "matrix".into(), // its width is known when the first one comes
            every_steps: every,
            ..base
        },
        Shape::Lineage { over } => {
            Stream { file: format!("{name}.jsonl"), shape: "lineage".into(), over: over.into(), ..base }
        }
        Shape::Text => Stream { file: format!("{name}.txt"), shape: "text".into(), ..base },
    }
}

pub(super) fn record_dtype(width: u32) -> String {
    format!("[('step', '<u8'), ('value', '<f4', ({width},))]")
}

/// The sets as the manifest lists them; `ids_in` is the folder of their id files.
pub(super) fn describe_sets(sets: &[std::sync::Arc<ElementSet>], ids_in: &str) -> Vec<SetInfo> {
    let file = |s: &ElementSet| if s.ids.is_empty() { String::new() } else { format!("{ids_in}{}.u64", s.name) };
    sets.iter().map(|s| SetInfo { name: s.name.into(), len: s.len, ids: file(s) }).collect()
}

/// Makes the next numbered run folder, e.g. `0007-sugar`, in `runs`.
pub fn next_folder(runs: &Path, name: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(runs)?;
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.split('-').next()?.parse::<u32>().ok();
    let mut next = fs::read_dir(runs)?.flatten().filter_map(number).max().unwrap_or(0) + 1;
    loop {
        let folder = runs.join(format!("{next:04}-{}", slug(name)));
        match fs::create_dir(&folder) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => next += 1, // another process was quicker
            other => return other.map(|()| folder),
        }
    }
}

/// A name as part of a file name: `Sugar GRNs, 150 Hz` → `sugar-grns-150-hz`.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
    }
    let out: String = out.trim_end_matches('-').chars().take(40).collect();
    if out.is_empty() { "run".into() } else { out }
}

/// Prepares a folder for a run: new, empty, or an older run, which is cleared.
pub(super) fn prepare_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
    if fs::read_dir(folder).map_err(|e| at(folder, &e))?.next().is_none() {
        return Ok(());
    }
    let Ok(old) = super::RunFolder::open(folder) else {
        let what = format!("{} is not empty and not a run; choose another folder", folder.display());
        return Err(io::Error::new(ErrorKind::AlreadyExists, what));
    };
    old.clear().map_err(|e| at(folder, &e))
}

/// An I/O error with its path.
pub(super) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Program, version and, when the build knows it, the commit.
pub fn app_version() -> String {
    let commit = option_env!("NEUROPIL_GIT").map_or(String::new(), |c| format!(" ({c})"));
    format!("neuropil {}{commit}", env!("CARGO_PKG_VERSION"))
}

pub(super) fn host() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} {}, {cores} cores", std::env::consts::OS, std::env::consts::ARCH)
}

/// The present, UTC, as `2026-03-01T12:34:56Z`.
pub fn now_utc() -> String {
    let secs = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (year, month, day) = civil(secs / 86_400);
    let (h, m, s) = (secs / 3600 % 24, secs / 60 % 60, secs % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z")
}

/// Days since 1970 → date, by walking years and months.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, days + 1)
}

/// A logged change as text, for the comment after a logged command.
pub(super) fn describe_change(model: &crate::kinds::Model, change: &crate::params::Change) -> String {
    let params = model.params();
    let path = params.path(change.id);
    match (params.spec(change.id), &change.value) {
        (Some(spec), value) => format!("{path} = {}", crate::params::path::show(spec, value)),
        (None, Value::Rows(rows)) => format!("{path}: {} items", rows.len()),
        (None, _) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_dates() {
        assert_eq!(slug("Sugar GRNs, 150 Hz!"), "sugar-grns-150-hz");
        assert_eq!(slug("../.."), "run");
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_513), (2026, 3, 1));
        let runs = std::env::temp_dir().join(format!("neuropil-runs-{}", std::process::id()));
        let made: Vec<_> = (0..3).map(|_| next_folder(&runs, "A b").unwrap()).collect();
        assert!(made[2].ends_with("0003-a-b"), "{made:?}");
        fs::remove_dir_all(&runs).unwrap();
    }
}
