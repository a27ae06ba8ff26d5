//! What can be typed.

use crate::{export::Format, params::Unit, project::DeviceChoice};
use clap::{Args as Group, Parser, Subcommand, ValueEnum, builder::PossibleValue};
use std::path::PathBuf;

/// A workbench for neural simulation. Opens a window; the subcommands do without.
#[derive(Parser, Debug)]
#[command(name = "neuropil", version, args_conflicts_with_subcommands = true, arg_required_else_help = false)]
#[command(after_help = "Exit codes: 0 ok, 1 error, 2 usage, 3 cancelled, 4 no usable GPU or a GPU that failed.\n\
    NEUROPIL_LOG (or RUST_LOG) sets what is logged to stderr, e.g. NEUROPIL_LOG=debug.")]
pub(super) struct Args {
    /// Project or run folder to open; the built-in fly brain without one.
    pub project: Option<PathBuf>,
    /// How the window opens.
    #[command(flatten)]
    pub window: WindowArgs,
    /// What to do instead of opening a window.
    #[command(subcommand)]
    pub task: Option<Task>,
}

#[derive(Group, Debug, Clone)]
pub(super) struct WindowArgs {
    /// Open with the layout that fits, and the window where the system likes it.
    #[arg(long)]
    pub reset_layout: bool,
    /// Open with the default settings and keys; the present ones are renamed to *.bak.
    #[arg(long)]
    pub reset_settings: bool,
    /// Open as if nothing had ever been set, drawn without the graphics processor.
    #[arg(long)]
    pub safe_mode: bool,
}

#[derive(Subcommand, Debug)]
pub(super) enum Task {
    /// Run a project and record it.
    Run(RunArgs),
    /// Run a recorded run again and compare every spike: exit 0 when identical, 1 when not.
    Replay(ReplayArgs),
    /// Write a run in a format other programs read.
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
    /// Say what is wrong with a project file: exit 0 when it opens, 2 when it does not.
    Validate {
        /// Project file.
        project: PathBuf,
        /// Exit 1 on warnings too.
        #[arg(long)]
        strict: bool,
    },
    /// Say what two projects differ in: exit 0 when nothing, 1 when something.
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
    /// Measure how fast a kind runs here, or what the device can do at best.
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
    pub project: PathBuf,
    /// Change a parameter, e.g. `lif.tau_m=15ms`. Relative paths start from the working directory.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Simulated time, e.g. `200ms`, `1s`; 0 runs until it is interrupted.
    #[arg(long, value_parser = duration_ms)]
    pub duration: Option<f64>,
    /// Seed of every random draw. Trial k takes seed + k.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Where to run.
    #[arg(long, value_enum)]
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
}

#[derive(Group, Debug)]
pub(super) struct ReplayArgs {
    /// Run folder.
    pub run: PathBuf,
    /// Where to run it again.
    #[arg(long, value_enum, default_value = "auto")]
    pub device: DeviceArg,
    /// CPU threads.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Result as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Group, Debug)]
pub(super) struct ExportArgs {
    /// Run folder.
    pub run: PathBuf,
    /// What to write.
    #[arg(long, value_enum)]
    pub format: Format,
    /// File to write; inside the run folder without.
    #[arg(long, value_name = "F")]
    pub out: Option<PathBuf>,
}

#[derive(Group, Debug)]
pub(super) struct BenchArgs {
    /// Name of the kind; `device` measures bandwidth, arithmetic and launches, and keeps them for the roofline; `window`
    /// measures the UI thread at 1 and 30 million spikes per second.
    #[arg(default_value = "spiking")]
    pub kind: String,
    /// Result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Folder with a network to measure on; generated ones without.
    #[arg(long, value_name = "DIR")]
    pub network: Option<PathBuf>,
    /// Where to measure.
    #[arg(long, value_enum, default_value_t = DeviceArg::Auto)]
    pub device: DeviceArg,
    /// CPU threads.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Simulated time per measurement.
    #[arg(long, value_parser = duration_ms)]
    pub duration: Option<f64>,
    /// Measurements per case; the median counts.
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

/// `200ms`, `1 s`, `2min`; a bare number is milliseconds.
fn duration_ms(text: &str) -> Result<f64, String> {
    match Unit::Ms.parse(text)? {
        ms if (0.0..=1e12).contains(&ms) => Ok(ms),
        _ => Err(format!("`{text}` is not a duration from 0 to 1e12 ms")),
    }
}
