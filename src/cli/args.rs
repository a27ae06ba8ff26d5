//! The arguments of the command line.

use super::suggest::DeviceParser;
use crate::{export::Format, params::Unit, project::DeviceChoice};
use clap::{Args as Group, Parser, Subcommand, ValueEnum, builder::PossibleValue};
use std::path::PathBuf;

/// A workbench for neural simulation. Without a command it opens a window.
#[derive(Parser, Debug)]
#[command(name = "neuropil", version, args_conflicts_with_subcommands = true, arg_required_else_help = false)]
#[command(after_help = "Exit codes: 0 ok, 1 error, 2 usage, 3 cancelled, 4 no usable GPU or a GPU that failed.\n\
    NEUROPIL_LOG (or RUST_LOG) sets what is logged to stderr, e.g. NEUROPIL_LOG=debug.")]
pub(super) struct Args {
    /// Project or run folder to open.
    pub project: Option<PathBuf>,
    /// Options of the window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// Command to run instead of opening a window.
    #[command(subcommand)]
    pub task: Option<Task>,
}

#[derive(Group, Debug, Clone)]
pub(super) struct WindowArgs {
    /// Open with the default layout and window position.
    #[arg(long)]
    pub reset_layout: bool,
    /// Open with the default settings and keys; the present ones are renamed to *.bak.
    #[arg(long)]
    pub reset_settings: bool,
    /// Open with default settings and layout, and draw in software.
    #[arg(long)]
    pub safe_mode: bool,
}

#[derive(Subcommand, Debug)]
pub(super) enum Task {
    /// Run a project and record it.
    Run(RunArgs),
    /// Repeat a recorded run and compare every stream: exit 0 when identical, 1 when not.
    Replay(ReplayArgs),
    /// Write a run in a format of other programs.
    Export(ExportArgs),
    /// Compare the files of a run with the lengths and hashes in its manifest: exit 0 when all match, 1 when not.
    Check {
        /// Run folder.
        run: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Describe a project or a run.
    Info {
        /// Project file or run folder.
        path: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a project file and its input files: exit 0 when `run` accepts it, 2 when it does not.
    Validate(ValidateArgs),
    /// List the differences of two projects: exit 0 when there are none, 1 when there are.
    Diff {
        /// Project file.
        a: PathBuf,
        /// Project file.
        b: PathBuf,
    },
    /// List the parameters of a kind.
    Params {
        /// Name of the kind.
        kind: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Measure the speed of a kind, or the peak performance of the device.
    Bench(BenchArgs),
    /// Print a completion script for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Group, Debug, Clone)]
pub(super) struct RunArgs {
    /// Project file.
    #[arg(required_unless_present_any = ["resume", "branch"])]
    pub project: Option<PathBuf>,
    /// Continue the recording in this run folder from its last checkpoint: the result equals that of a run that was not
    /// interrupted. A longer --duration extends a complete run.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["project", "branch", "set", "seed", "trials", "out", "dry_run"])]
    pub resume: Option<PathBuf>,
    /// Begin a new run at the last checkpoint of this run folder. Without a project file with the project of that run;
    /// --set changes it.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["trials", "seed"])]
    pub branch: Option<PathBuf>,
    /// The last checkpoint of --branch at or before this step.
    #[arg(long, value_name = "STEP", requires = "branch")]
    pub at: Option<u64>,
    /// Write a checkpoint at this interval: wall time with a unit, e.g. `10min`, or steps, e.g. `5000steps`.
    #[arg(long, value_parser = checkpoint_interval, value_name = "INTERVAL")]
    pub checkpoint_every: Option<CheckpointInterval>,
    /// Change a parameter, e.g. `lif.tau_m=15ms`. Relative paths start from the working directory.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Simulated time with a unit, e.g. `200ms`, `1s`, `2min`; a number without a unit is in ms. 0 runs until it is
    /// interrupted.
    #[arg(long, value_parser = duration_ms, allow_hyphen_values = true, value_name = "TIME")]
    pub duration: Option<Duration>,
    /// Seed of every random draw. Trial k takes seed + k.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Device of the simulation.
    #[arg(long, value_parser = DeviceParser)]
    pub device: Option<DeviceArg>,
    /// CPU threads.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Run this many trials, with the same network and different draws; writes rates.csv.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub trials: Option<u32>,
    /// Run folder to write: new, empty, or an old run, which is replaced. Without: the next number in runs/.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Steps per batch. Results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
    /// Build the simulation, print its parameters and memory, and do not run it.
    #[arg(long)]
    pub dry_run: bool,
    /// Try a model whose predicted memory is more than what is available.
    #[arg(long)]
    pub force: bool,
    /// Accept a project from another folder that names files outside its folder.
    #[arg(long)]
    pub allow_outside: bool,
}

#[derive(Group, Debug)]
pub(super) struct ValidateArgs {
    /// Project file.
    pub project: PathBuf,
    /// Exit 1 on warnings too.
    #[arg(long)]
    pub strict: bool,
    /// Result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Accept a project that names files outside its folder.
    #[arg(long)]
    pub allow_outside: bool,
}

#[derive(Group, Debug)]
pub(super) struct ReplayArgs {
    /// Run folder.
    pub run: PathBuf,
    /// Device of the replay.
    #[arg(long, value_parser = DeviceParser, default_value = "auto")]
    pub device: DeviceArg,
    /// CPU threads.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Try a model whose predicted memory is more than what is available.
    #[arg(long)]
    pub force: bool,
    /// Accept a run from another folder that reads files outside its folder.
    #[arg(long)]
    pub allow_outside: bool,
}

#[derive(Group, Debug)]
pub(super) struct ExportArgs {
    /// Run folder.
    pub run: PathBuf,
    /// File format.
    #[arg(long, value_enum)]
    pub format: Format,
    /// File to write; by default in the run folder.
    #[arg(long, value_name = "F")]
    pub out: Option<PathBuf>,
}

#[derive(Group, Debug)]
pub(super) struct BenchArgs {
    /// Name of the kind; `device` measures bandwidth, arithmetic and launches for the roofline; `window` measures the UI
    /// thread at 1 and 30 million spikes per second.
    #[arg(default_value = "spiking")]
    pub kind: String,
    /// Result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Folder with a network; by default generated networks are used.
    #[arg(long, value_name = "DIR")]
    pub network: Option<PathBuf>,
    /// Device to measure.
    #[arg(long, value_parser = DeviceParser, default_value = "auto")]
    pub device: DeviceArg,
    /// CPU threads.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Simulated time per measurement, with a unit.
    #[arg(long, value_parser = duration_ms, allow_hyphen_values = true, value_name = "TIME")]
    pub duration: Option<Duration>,
    /// Measurements per case; the median is reported.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Only the case of this name.
    #[arg(long, value_name = "CASE")]
    pub only: Option<String>,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.extension()).help(self.docs()))
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceArg {
    /// A GPU when there is a usable one, else the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// An NVIDIA GPU, and nothing else.
    Cuda,
}

impl From<DeviceArg> for DeviceChoice {
    fn from(arg: DeviceArg) -> Self {
        match arg {
            DeviceArg::Auto => Self::Auto,
            DeviceArg::Cpu => Self::Cpu,
            DeviceArg::Cuda => Self::Cuda,
        }
    }
}

/// A simulated time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Duration {
    pub ms: f64,
    /// Whether it was typed without a unit.
    pub is_bare: bool,
}

/// An interval of checkpoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CheckpointInterval {
    /// Wall time, seconds.
    Secs(f64),
    Steps(u64),
}

/// `10min`, `90 s`, `5000steps`.
fn checkpoint_interval(text: &str) -> Result<CheckpointInterval, String> {
    let steps = text.trim().strip_suffix("steps").or_else(|| text.trim().strip_suffix("step"));
    if let Some(n) = steps.and_then(|n| n.trim().parse().ok()).filter(|n| *n > 0) {
        return Ok(CheckpointInterval::Steps(n));
    }
    match Unit::S.parse(text) {
        Ok(secs) if secs > 0.0 && secs <= 1e9 && text.trim().parse::<f64>().is_err() => {
            Ok(CheckpointInterval::Secs(secs))
        }
        _ => Err(format!("`{text}` is not an interval; expected e.g. `10min`, `90s` or `5000steps`")),
    }
}

/// `200ms`, `1 s`, `2min`; a number without a unit is in milliseconds.
fn duration_ms(text: &str) -> Result<Duration, String> {
    let is_bare = text.trim().parse::<f64>().is_ok();
    match Unit::Ms.parse(text)? {
        ms if (0.0..=1e12).contains(&ms) => Ok(Duration { ms, is_bare }),
        ms => Err(format!("{ms} ms is not a simulated time; expected 0 to 1e12 ms, e.g. `200ms` or `1s`")),
    }
}
