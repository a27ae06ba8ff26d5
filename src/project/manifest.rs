//! The manifest of a run, `run.ron`.

use super::{checkpoint_file::CheckpointInfo, provenance::DataFile, run_file::Hash, sets::SetInfo};
use crate::{
    kinds::Model,
    sim::{Digest, Exactness, Execution, Level, Matrix, ProbeSpec, Shape, Tap, TimeBase},
};
use std::path::PathBuf;

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
    /// The arguments of its tap, as on the command line: `layer=2,head=1`.
    pub args: String,
    /// File in the run folder.
    pub file: String,
    /// `spikes`, `series`, `field`, `matrix`, `histogram`, `lineage`, `text`, `samples`, `tokens` or `links`.
    pub shape: String,
    /// Unit of the values.
    pub unit: String,
    /// One record, as numpy spells it; empty for texts.
    pub dtype: String,
    /// Values per record.
    pub width: u32,
    /// Names of the lanes, when they are fixed.
    pub lanes: Vec<String>,
    /// Of a matrix: its number of columns.
    pub n_columns: u32,
    /// Of a matrix: names of its rows; empty when they only have numbers.
    pub rows: Vec<String>,
    /// Of a matrix: names of its columns.
    pub columns: Vec<String>,
    /// Of a histogram: limits of its bins.
    pub edges: Vec<f32>,
    /// Reference values of a series, each with the steps for which it holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// Elements of the lanes, for a probe of chosen elements.
    pub elements: Vec<u32>,
    /// Their public ids, when they have some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub element_ids: Vec<u64>,
    /// The set the lanes are elements of.
    pub over: String,
    /// Least number of steps between two recorded states; 0 records every sample.
    pub every_steps: u64,
    /// Of a further segment of the probe's data, with other lanes: the step after which it begins; 0 for the first segment.
    pub from_step: u64,
    /// Of a lineage: its ids count from step 0 of the run, and every declared attribute is written. In older runs, ids counted
    /// from the first tap.
    #[serde(skip_serializing_if = "is_false")]
    pub has_run_ids: bool,
    /// Size of the file when the run was closed.
    pub n_bytes: u64,
    /// XXH64 of the file when the run was closed (`xxhsum -H64`); empty before, and in runs of older versions.
    pub hash: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Stream {
    /// Whether it is a segment of the same tap's data.
    pub fn is_of_tap(&self, other: &Self) -> bool {
        self.probe == other.probe && self.args == other.args
    }

    /// Describes the shape and labels of a matrix.
    pub(super) fn describe_matrix(&mut self, matrix: &Matrix) {
        let (rows, columns) = (matrix.rows.len, matrix.columns.len);
        (self.width, self.n_columns) = (rows * columns, columns);
        (self.rows, self.columns) = (matrix.rows.labels.to_vec(), matrix.columns.labels.to_vec());
        self.dtype = format!("[('step', '<u8'), ('value', '<f4', ({rows}, {columns}))]");
    }

    /// Whether a matrix has the shape and labels of this stream.
    pub(super) fn is_of_matrix(&self, matrix: &Matrix) -> bool {
        self.width == matrix.rows.len * matrix.columns.len
            && self.n_columns == matrix.columns.len
            && self.rows == *matrix.rows.labels
            && self.columns == *matrix.columns.labels
    }

    /// Describes the bins of a histogram.
    pub(super) fn describe_bins(&mut self, edges: &[f32]) {
        self.width = edges.len().saturating_sub(1) as u32;
        self.edges = edges.to_vec();
        self.dtype = record_dtype(self.width);
    }
}

/// A file of a run that is not a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct FileInfo {
    /// Its name.
    pub name: String,
    /// Size when the run was closed.
    pub n_bytes: u64,
    /// XXH64 when the run was closed.
    pub hash: String,
}

/// Where a branch begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Parent {
    /// Folder of the other run, relative to the folder of this one where possible.
    #[serde(with = "super::path_serde")]
    pub run: PathBuf,
    /// The checkpoint.
    pub checkpoint: CheckpointInfo,
    /// The copy of it in the folder of this run; empty in branches of older versions, which read it in the other run.
    pub copy: String,
}

/// What a step of a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum RecordedTimeBase {
    /// A run of an older version: a count where `secs_per_step` is 1.
    #[default]
    Unknown,
    /// A span of simulated time, `secs_per_step` long.
    Seconds,
    /// A count.
    Count {
        /// The name of one: `generation`.
        singular: String,
        /// The name of several.
        plural: String,
    },
}

impl From<TimeBase> for RecordedTimeBase {
    fn from(base: TimeBase) -> Self {
        match base {
            TimeBase::Seconds { .. } => Self::Seconds,
            TimeBase::Count { singular, plural } => Self::Count { singular: singular.into(), plural: plural.into() },
        }
    }
}

/// The manifest of a run: everything but its data.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    /// Random number of this run, also in its lock file: shows which files the writer made. Empty in older versions.
    pub id: String,
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
    /// Backend, driver and chosen implementations; empty in older versions.
    pub execution: Execution,
    /// Operating system, architecture and cores.
    pub host: String,
    /// Simulated seconds per step; 1 where steps are counted.
    pub secs_per_step: f64,
    /// What a step is.
    pub time_base: RecordedTimeBase,
    /// Step at which the recording began.
    pub first_step: u64,
    /// Step at which it ended.
    pub last_step: u64,
    /// Start, UTC.
    pub started: String,
    /// End, UTC.
    pub stopped: String,
    /// Wall time of the recording with its pauses, seconds.
    pub wall_s: f64,
    /// Computing time of the recorded steps, seconds: neither pauses nor waits for the speed limit or the disk. 0 in older
    /// versions.
    pub computed_s: f64,
    /// Hash and totals of the simulation.
    pub digest: Digest,
    /// Folder the project's relative paths start from.
    #[serde(with = "super::path_serde")]
    pub base: PathBuf,
    /// The command line; empty for a run of the window.
    pub command: String,
    /// Runs under `trials/`; 0 for an ordinary run.
    pub trials: u32,
    /// Commands of the log that were applied before the recording began.
    pub n_history: u64,
    /// Recorded streams.
    pub streams: Vec<Stream>,
    /// Other files with their hashes: project, command log, ids.
    pub files: Vec<FileInfo>,
    /// The sets the lanes belong to.
    pub sets: Vec<SetInfo>,
    /// Input files.
    pub data: Vec<DataFile>,
    /// Checkpoints that the run keeps, by step.
    pub checkpoints: Vec<CheckpointInfo>,
    /// Steps at which the run was continued from a checkpoint, with the time, UTC.
    pub resumed: Vec<(u64, String)>,
    /// Data before this step were not compared with hashes when the run was continued: the checkpoint was one of an older
    /// version, which holds none. 0: all were.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_verified_before: u64,
    /// The checkpoint of another run that this one began at; its project and log begin there.
    pub parent: Option<Parent>,
}

impl Manifest {
    /// The recorded spikes, if any.
    pub fn spikes(&self) -> Option<&Stream> {
        self.streams.iter().find(|s| s.shape == "spikes")
    }

    /// What a step is. A count has the names that the kind declares now.
    pub fn time_base(&self) -> TimeBase {
        let is_count = match self.time_base {
            RecordedTimeBase::Unknown => self.secs_per_step >= 1.0,
            RecordedTimeBase::Seconds => false,
            RecordedTimeBase::Count { .. } => true,
        };
        if !is_count {
            return TimeBase::seconds(self.secs_per_step);
        }
        let declared = Model::by_name(&self.kind).map(|model| model.time_base());
        declared.filter(|base| base.is_count()).unwrap_or(TimeBase::STEPS)
    }

    /// XXH64 over the recorded histories by name: names, arguments and hashes of their files. It is the same for every
    /// repetition, where the kind declares so. States (fields, matrices, tokens, links) are not part of it, because they
    /// are recorded when a batch ends; nor are wall-clock times. `None` before the run is closed, and without histories.
    pub fn data_hash(&self) -> Option<String> {
        let model = Model::by_name(&self.kind)?;
        let is_history = |s: &&Stream| {
            matches!(s.shape.as_str(), "spikes" | "series" | "histogram" | "lineage" | "samples" | "text")
        };
        let is_repeated = |s: &&Stream| model.exactness(Some(&s.probe)) != Exactness::WallClock;
        let mut streams: Vec<&Stream> = self.streams.iter().filter(is_history).filter(is_repeated).collect();
        if streams.is_empty() || streams.iter().any(|s| s.hash.is_empty()) {
            return None;
        }
        streams.sort_by_key(|s| (&s.probe, &s.args, s.from_step));
        let mut hash = Hash::default();
        for stream in streams {
            hash.add(format!("{}\n{}\n{}\n{}\n", stream.probe, stream.args, stream.from_step, stream.hash).as_bytes());
        }
        Some(hash.hex())
    }

    /// The last step of a segment of a probe's data: where its next segment begins.
    pub fn last_step_of(&self, stream: &Stream) -> u64 {
        let later = self.streams.iter().skip_while(|s| s.file != stream.file).skip(1);
        later.filter(|s| s.is_of_tap(stream)).map(|s| s.from_step).next().unwrap_or(u64::MAX)
    }

    /// A set by name, as it was at first.
    pub fn set(&self, name: &str) -> Option<&SetInfo> {
        self.sets.iter().find(|s| s.name == name)
    }

    /// A set by name, as it was in the samples of this step.
    pub fn set_at(&self, name: &str, step: u64) -> Option<&SetInfo> {
        self.sets.iter().rfind(|s| s.name == name && (s.from_step == 0 || s.from_step < step))
    }

    /// The steps after which sets, lanes or labels are others, ascending.
    pub fn borders(&self) -> Vec<u64> {
        let of_sets = self.sets.iter().map(|s| s.from_step);
        let mut all: Vec<u64> = self.streams.iter().map(|s| s.from_step).chain(of_sets).filter(|s| *s > 0).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Bytes of one record; `None` for lines and text, and for a stream without values.
pub(super) fn record_bytes(stream: &Stream) -> Option<u64> {
    match stream.shape.as_str() {
        "spikes" => Some(8),
        "series" | "field" | "matrix" | "histogram" if stream.width > 0 => Some(8 + 4 * u64::from(stream.width)),
        _ => None,
    }
}

/// Shapes of streams and the extensions of their files.
pub(super) const EXTENSIONS: [(&str, &str); 10] = [
    ("spikes", "u32"),
    ("series", "f32"),
    ("field", "f32"),
    ("matrix", "f32"),
    ("histogram", "f32"),
    ("lineage", "jsonl"),
    ("samples", "jsonl"),
    ("tokens", "jsonl"),
    ("links", "jsonl"),
    ("text", "txt"),
];

/// The name the writer gives the file of a stream's first segment; `None` for an unknown shape.
pub(super) fn file_name(stream: &Stream) -> Option<String> {
    let (_, extension) = EXTENSIONS.iter().find(|(shape, _)| *shape == stream.shape)?;
    Some(format!("{}.{extension}", stem(&stream.probe, &stream.args)))
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
    let base = Stream {
        probe: probe.name.into(),
        args: tap.args.as_str().into(),
        unit: probe.unit.into(),
        ..Stream::default()
    };
    let name = &stem(probe.name, &base.args);
    let lines = |shape: &str| Stream { file: format!("{name}.jsonl"), shape: shape.into(), ..base.clone() };
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
        Shape::Histogram { .. } => Stream { file: format!("{name}.f32"), shape: "histogram".into(), ..base }, // as above
        Shape::Samples => lines("samples"),
        Shape::Tokens { .. } => Stream { every_steps: every, ..lines("tokens") },
        Shape::Links { from, .. } => Stream { every_steps: every, over: from.into(), ..lines("links") },
        Shape::Lineage { over, .. } => Stream { over: over.into(), has_run_ids: true, ..lines("lineage") },
        Shape::Text => Stream { file: format!("{name}.txt"), shape: "text".into(), ..base },
    }
}

/// Longest arguments in a file name; longer ones are a hash.
const MAX_ARGS: usize = 100;

/// The name of a stream's file without its extension: the probe, and its arguments behind `@`.
fn stem(probe: &str, args: &str) -> String {
    match args.len() {
        0 => probe.to_owned(),
        n if n <= MAX_ARGS => format!("{probe}@{args}"),
        _ => {
            let mut hash = Hash::default();
            hash.add(args.as_bytes());
            format!("{probe}@{}", hash.hex())
        }
    }
}

pub(super) fn record_dtype(width: u32) -> String {
    format!("[('step', '<u8'), ('value', '<f4', ({width},))]")
}
