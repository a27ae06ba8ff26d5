//! Manifest of a run, `run.ron`.

use super::{
    checkpoint_file::CheckpointInfo, checkpoint_settings::CheckpointSettings, provenance::DataFile, run_file::Hash,
    sets::SetInfo,
};
use crate::{
    kinds::Model,
    sim::{Digest, Exactness, Execution, Level, Matrix, ProbeSpec, Shape, Tap, TimeBase},
};
use std::path::PathBuf;

/// Status of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Status {
    /// A live process is writing the run. In a manifest, the value means that the run is not closed.
    #[default]
    Running,
    /// The run reached its end or was stopped by the user.
    Complete,
    /// A signal or a closed window ended the run before its planned end. The data are valid up to `step`.
    Interrupted {
        /// Last recorded step.
        step: u64,
    },
    /// The disk or the device failed; contains the reason. The data are valid up to the last step of the manifest.
    Failed(String),
    /// The process ended without closing the run. A manifest never contains this value; it contains `Running` instead.
    Unclosed,
}

impl Status {
    /// Returns a word for tables.
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

/// Recorded stream of a probe.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Stream {
    /// Name of the probe.
    pub probe: String,
    /// Arguments of the tap, as on the command line: `layer=2,head=1`.
    pub args: String,
    /// File name in the run folder.
    pub file: String,
    /// Shape: `spikes`, `series`, `field`, `matrix`, `histogram`, `lineage`, `text`, `samples`, `tokens` or `links`.
    pub shape: String,
    /// Unit of the values.
    pub unit: String,
    /// Type of a record in numpy notation; empty for texts.
    pub dtype: String,
    /// Number of values per record.
    pub width: u32,
    /// Names of fixed lanes.
    pub lanes: Vec<String>,
    /// Number of columns, for a matrix.
    pub n_columns: u32,
    /// Names of the rows of a matrix; empty if the rows are numbered.
    pub rows: Vec<String>,
    /// Names of the columns of a matrix.
    pub columns: Vec<String>,
    /// Bin edges of a histogram.
    pub edges: Vec<f32>,
    /// Reference values of a series and factors that convert it, with the steps for which they hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// Elements of the lanes, for a series over selected elements.
    pub elements: Vec<u32>,
    /// Public ids of `elements`; empty if the elements have no ids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub element_ids: Vec<u64>,
    /// Set whose elements are the lanes.
    pub over: String,
    /// Minimum number of steps between two recorded states; 0 records every sample.
    pub every_steps: u64,
    /// Step after which a further segment of the probe's data, with other lanes, begins; 0 for the first segment.
    pub from_step: u64,
    /// Whether ids of a lineage count from step 0 of the run and every declared attribute is written. In older runs,
    /// ids count from the first tap.
    #[serde(skip_serializing_if = "is_false")]
    pub has_run_ids: bool,
    /// Size of the file when the run was closed, bytes.
    pub n_bytes: u64,
    /// XXH64 of the file when the run was closed (`xxhsum -H64`); empty before the end, and in runs of older versions.
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
    /// Whether both streams are segments of the same tap's data.
    pub fn is_of_tap(&self, other: &Self) -> bool {
        self.probe == other.probe && self.args == other.args
    }

    /// Sets width, labels and record type of the stream to those of a matrix.
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

    /// Sets width, edges and record type of the stream to those of a histogram.
    pub(super) fn describe_bins(&mut self, edges: &[f32]) {
        self.width = edges.len().saturating_sub(1) as u32;
        self.edges = edges.to_vec();
        self.dtype = record_dtype(self.width);
    }
}

/// File of a run other than a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct FileInfo {
    /// Name of the file.
    pub name: String,
    /// Size when the run was closed, bytes.
    pub n_bytes: u64,
    /// XXH64 of the file when the run was closed.
    pub hash: String,
}

/// Origin of a branch.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Parent {
    /// Folder of the other run, relative to the folder of this run if possible.
    #[serde(with = "super::path_serde")]
    pub run: PathBuf,
    /// Checkpoint at which the branch begins.
    pub checkpoint: CheckpointInfo,
    /// File name of the checkpoint's copy in this run's folder; empty in branches of older versions, which read the checkpoint
    /// from the other run.
    pub copy: String,
}

/// Recorded time base of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum RecordedTimeBase {
    /// Unknown time base of a run of an older version: a count if `secs_per_step` is 1.
    #[default]
    Unknown,
    /// Simulated time of `secs_per_step` per step.
    Seconds,
    /// Count without a duration.
    Count {
        /// Singular noun: `generation`.
        singular: String,
        /// Plural noun of a step.
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

/// Manifest of a run: its metadata without its data.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Version of the format.
    pub format: u32,
    /// Random id of this run, which identifies the files of its writer and is also in the lock file; empty in runs of older
    /// versions.
    pub id: String,
    /// Program, version and commit that wrote the run.
    pub app: String,
    /// Kind of the simulation.
    pub kind: String,
    /// Name of the project.
    pub name: String,
    /// Status of the run.
    pub status: Status,
    /// Number of trainable parameters; 0 without any, and in runs of older versions.
    #[serde(skip_serializing_if = "is_zero")]
    pub n_parameters: u64,
    /// Seed of random draws.
    pub seed: u64,
    /// Seed of generated data (a network); equals `seed` except in trials.
    pub setup_seed: u64,
    /// Random number generator.
    pub rng: String,
    /// Name of the device.
    pub device: String,
    /// Number of CPU threads.
    pub threads: u32,
    /// Backend, driver and kernel choices; empty in older versions.
    pub execution: Execution,
    /// Operating system, architecture and cores.
    pub host: String,
    /// Simulated seconds per step; 1 for counted steps.
    pub secs_per_step: f64,
    /// Time base of a step.
    pub time_base: RecordedTimeBase,
    /// First step of the recording.
    pub first_step: u64,
    /// Last step of the recording.
    pub last_step: u64,
    /// Time of the start, UTC.
    pub started: String,
    /// Time of the end, UTC.
    pub stopped: String,
    /// Wall time of the recording including pauses, seconds.
    pub wall_s: f64,
    /// Computing time of the recorded steps in seconds, without pauses and waits for speed limit or disk; 0 in runs of
    /// older versions.
    pub computed_s: f64,
    /// Hash and totals of the simulation at the end.
    pub digest: Digest,
    /// Base folder of relative paths in the project.
    #[serde(with = "super::path_serde")]
    pub base: PathBuf,
    /// Command line; empty for a run of the window.
    pub command: String,
    /// Sweep to which the run belongs: its name, and its time after `@`; empty for other runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sweep: String,
    /// Number of runs under `trials/`; 0 for an ordinary run.
    pub trials: u32,
    /// Number of commands in the log that were applied before the recording began.
    pub n_history: u64,
    /// Recorded streams of probes.
    pub streams: Vec<Stream>,
    /// Other files with their hashes: project, command log, ids.
    pub files: Vec<FileInfo>,
    /// Element sets to which lanes refer.
    pub sets: Vec<SetInfo>,
    /// Input files of the project.
    pub data: Vec<DataFile>,
    /// Conditions on which checkpoints are taken, and the number that is kept.
    #[serde(skip_serializing_if = "CheckpointSettings::is_none")]
    pub checkpoint_settings: CheckpointSettings,
    /// Checkpoints that the run keeps, sorted by step.
    pub checkpoints: Vec<CheckpointInfo>,
    /// Steps at which the run continued from a checkpoint, with the time, UTC.
    pub resumed: Vec<(u64, String)>,
    /// Step before which data were not verified when the run was continued, because the checkpoint of an older version
    /// contains no hashes; 0 if all data were verified.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_verified_before: u64,
    /// Checkpoint of another run at which this run, its project and its log begin; `None` for a run from step 0.
    pub parent: Option<Parent>,
}

impl Manifest {
    /// Returns the first stream of spikes; `None` without such a stream.
    pub fn spikes(&self) -> Option<&Stream> {
        self.streams.iter().find(|s| s.shape == "spikes")
    }

    /// Returns the time base of a step. A count uses the nouns that the kind declares now.
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

    /// Returns the XXH64 over the recorded histories: names, arguments and hashes of their files. The hash is equal for
    /// every repetition if the kind declares exact repetition. States (fields, matrices, tokens, links), which are recorded
    /// at the ends of batches, and wall-clock times are excluded. Returns `None` before the run is closed, without
    /// histories, and for an unknown kind.
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

    /// Returns the last step of a segment of a probe's data, where the next segment begins; `u64::MAX` for the last segment.
    pub fn last_step_of(&self, stream: &Stream) -> u64 {
        let later = self.streams.iter().skip_while(|s| s.file != stream.file).skip(1);
        later.filter(|s| s.is_of_tap(stream)).map(|s| s.from_step).next().unwrap_or(u64::MAX)
    }

    /// Returns the first version of a named set; `None` if the run has no such set.
    pub fn set(&self, name: &str) -> Option<&SetInfo> {
        self.sets.iter().find(|s| s.name == name)
    }

    /// Returns the version of a named set to which the samples of step `step` refer; `None` if the run has no such set.
    pub fn set_at(&self, name: &str, step: u64) -> Option<&SetInfo> {
        self.sets.iter().rfind(|s| s.name == name && (s.from_step == 0 || s.from_step < step))
    }

    /// Returns the steps after which sets, lanes or labels change, ascending.
    pub fn borders(&self) -> Vec<u64> {
        let of_sets = self.sets.iter().map(|s| s.from_step);
        let mut all: Vec<u64> = self.streams.iter().map(|s| s.from_step).chain(of_sets).filter(|s| *s > 0).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Returns the size of a record in bytes; `None` for lines and text, and for a stream without values.
pub(super) fn record_bytes(stream: &Stream) -> Option<u64> {
    match stream.shape.as_str() {
        "spikes" => Some(8),
        "series" | "field" | "matrix" | "histogram" if stream.width > 0 => Some(8 + 4 * u64::from(stream.width)),
        _ => None,
    }
}

/// Shapes of streams with the extensions of their files.
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

/// Returns the file name of a stream's first segment; `None` for an unknown shape.
pub(super) fn file_name(stream: &Stream) -> Option<String> {
    let (_, extension) = EXTENSIONS.iter().find(|(shape, _)| *shape == stream.shape)?;
    Some(format!("{}.{extension}", stem(&stream.probe, &stream.args)))
}

/// Minimum simulated time between two recorded states of a field or matrix, seconds.
const STATE_EVERY_S: f64 = 0.01;

/// Returns the description of the stream in which a tap of a probe is recorded. `lanes` are the names of fixed lanes.
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
            shape: "matrix".into(), // the first matrix determines its width
            every_steps: every,
            ..base
        },
        Shape::Histogram { .. } => Stream { file: format!("{name}.f32"), shape: "histogram".into(), ..base }, // as for matrices
        Shape::Samples => lines("samples"),
        Shape::Tokens { .. } => Stream { every_steps: every, ..lines("tokens") },
        Shape::Links { from, .. } => Stream { every_steps: every, over: from.into(), ..lines("links") },
        Shape::Lineage { over, .. } => Stream { over: over.into(), has_run_ids: true, ..lines("lineage") },
        Shape::Text => Stream { file: format!("{name}.txt"), shape: "text".into(), ..base },
    }
}

/// Maximum length of arguments in a file name; longer arguments are replaced by a hash.
const MAX_ARGS: usize = 100;

/// Returns the stem of a stream's file name: the probe, and the arguments after `@`.
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
