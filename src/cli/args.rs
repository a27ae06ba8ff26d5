//! The arguments of the command line.

use super::{
    ask_args::AskArgs,
    bench_args::BenchArgs,
    checkpoint_args::{AtStep, CheckpointInterval, at_step, checkpoint_interval},
    experiment_args::{ExperimentArgs, MergeArgs},
    runs_args::{RunsArgs, TagArgs},
    suggest::DeviceParser,
};
use crate::{
    export::Format,
    kinds::Model,
    params::Unit,
    project::{DeviceChoice, MAX_TRIALS, RunPlan},
    sim::TimeBase,
};
use clap::{Args as Group, Parser, Subcommand, ValueEnum, builder::PossibleValue};
use std::path::PathBuf;

/// A workbench for neural simulation. Without a command it opens a window.
#[derive(Parser, Debug)]
#[command(name = "neuropil", version, args_conflicts_with_subcommands = true, arg_required_else_help = false)]
#[command(after_help = "Exit codes: 0 ok, 1 error, 2 usage, 3 cancelled, 4 no usable GPU or a GPU that failed.\n\
    NEUROPIL_LOG (or RUST_LOG) sets what is logged to stderr, e.g. NEUROPIL_LOG=debug.")]
pub(super) struct Args {
    /// Project, run folder, lineages (.nwk) or SONATA circuit (.json) to open.
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
    /// Write a new project file: of a kind, of an example, of a SONATA circuit, or with the shape of a file of weights.
    New(NewArgs),
    /// Repeat a recorded run and compare every stream, or a trial of an experiment and compare its hash: exit 0 when identical,
    /// 1 when not.
    Replay(ReplayArgs),
    /// Join the parts of an experiment that ran with --shard: the same table as in one piece.
    Merge(MergeArgs),
    /// Write a run in a format of other programs, or the statistics of an experiment.
    Export(ExportArgs),
    /// Compare the files of a run with the lengths and hashes in its manifest: exit 0 when all match, 1 when not.
    Check {
        /// Folder of a run or an experiment.
        run: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Describe a project, a run, an experiment or exported lineages.
    Info {
        /// Project file, folder of a run or an experiment, or lineages (.nwk).
        path: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the runs in a folder, with their results and tags.
    Runs(RunsArgs),
    /// List or change the tags of a run.
    Tag(TagArgs),
    /// Check a project file and its input files: exit 0 when `run` accepts it, 2 when it does not.
    Validate(ValidateArgs),
    /// List the differences of two projects: exit 0 when there are none, 1 when there are.
    Diff {
        /// Project file.
        a: PathBuf,
        /// Project file.
        b: PathBuf,
    },
    /// Ask the simulation of a run: sample a text, score one, list connections. It changes nothing.
    Ask(AskArgs),
    /// List the parameters of a kind.
    Params {
        /// Name of the kind.
        kind: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Measure the speed of a kind, or the peak performance of the device.
    Bench(BenchArgs),
    /// Print a completion script for a shell.
    Completions {
        /// Shell of the script.
        shell: clap_complete::Shell,
    },
    /// Write manual pages of the program and its commands: `neuropil.1`, `neuropil-run.1`.
    #[command(hide = true)]
    Man {
        /// Folder to write to; it must exist.
        folder: PathBuf,
    },
}

#[derive(Group, Debug, Clone)]
pub(super) struct RunArgs {
    /// Project file.
    #[arg(required_unless_present_any = ["resume", "branch"])]
    pub project: Option<PathBuf>,
    /// Continue the recording in this run folder from its last checkpoint: the result equals that of a run that was not
    /// interrupted. A longer --duration extends a complete run. Of an experiment, runs the missing trials.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["project", "branch", "set", "probe", "seed", "trials", "out", "dry_run"])]
    pub resume: Option<PathBuf>,
    /// Begin a new run at the last checkpoint of this run folder, with the given project file or else the project of that
    /// run; --set changes it.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["trials", "seed", "dry_run"])]
    pub branch: Option<PathBuf>,
    /// The last checkpoint of --branch at or before this step; `best` for that with the lowest held-out loss.
    #[arg(long, value_name = "STEP", requires = "branch", value_parser = at_step)]
    pub at: Option<AtStep>,
    /// Write a checkpoint at this interval: wall time with a unit, e.g. `10min`, or steps, e.g. `5000steps`.
    #[arg(long, value_parser = checkpoint_interval, value_name = "INTERVAL")]
    pub checkpoint_every: Option<CheckpointInterval>,
    /// End the run when the held-out loss has not improved in this many evaluations in a row, and keep the checkpoint with the
    /// lowest one; 0: never. Trials are not ended.
    #[arg(long, value_name = "EVALUATIONS")]
    pub stop_early: Option<u32>,
    /// Change a parameter, e.g. `lif.tau_m=15ms`. Relative paths start from the working directory.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Record this probe too, with its arguments: attention:layer=2,head=1
    #[arg(long, value_name = "PROBE[:ARGUMENT=VALUE,…]")]
    pub probe: Vec<String>,
    /// Simulated time with a unit, e.g. `200ms`, `1s`, `2min`, or a number of steps, e.g. `400generations`; a number
    /// without a unit is in ms, or in steps where the kind counts them. 0 runs until it is interrupted.
    #[arg(long, value_parser = duration, allow_hyphen_values = true, value_name = "TIME")]
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
    /// Run this many trials, with the same network and different draws, as --set run.trials; writes rates.csv.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TRIALS)))]
    pub trials: Option<u32>,
    /// Run folder to write: new, empty, or an old run, which is replaced. By default the next number in runs/.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Mark the run as part of this sweep; the window draws runs with equal names together. A time after @, as in
    /// `g@2026-03-01T12:00:00Z`, orders sweeps.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["resume", "branch", "trials"])]
    pub sweep: Option<String>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Steps per batch. Results do not depend on it.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
    /// Build the simulation, print its parameters and memory, and do not run it.
    #[arg(long)]
    pub dry_run: bool,
    /// Try a model whose predicted memory exceeds the available memory.
    #[arg(long)]
    pub force: bool,
    /// Accept a project from another folder that names files outside its folder.
    #[arg(long)]
    pub allow_outside: bool,
    /// Conditions, seeds and measures.
    #[command(flatten, next_help_heading = "Experiments")]
    pub experiment: ExperimentArgs,
}

#[derive(Group, Debug)]
pub(super) struct NewArgs {
    /// Name of a kind or an example, e.g. `transformer` or `gpt2`, a project file, or a SONATA circuit: its circuit_config.json,
    /// the simulation_config.json of a run, or the folder.
    pub from: String,
    /// Begin with the weights in this safetensors file, and take the shape of the model from it: layers, heads, width,
    /// context, and the tokenizer beside it.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// Change a parameter, after those of --weights.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Project file to write; by default NAME.ron.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub replace: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Group, Debug)]
pub(super) struct ValidateArgs {
    /// Project file.
    pub project: PathBuf,
    /// Exit 1 on warnings too.
    #[arg(long)]
    pub strict: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Accept a project that names files outside its folder.
    #[arg(long)]
    pub allow_outside: bool,
}

#[derive(Group, Debug)]
pub(super) struct ReplayArgs {
    /// Folder of a run or an experiment.
    pub run: PathBuf,
    /// Repeat the trial of this condition of an experiment.
    #[arg(long, value_name = "NAME", requires = "seed")]
    pub condition: Option<String>,
    /// Seed of the trial to repeat.
    #[arg(long, requires = "condition")]
    pub seed: Option<u64>,
    /// Device of the replay.
    #[arg(long, value_parser = DeviceParser, default_value = "auto")]
    pub device: DeviceArg,
    /// CPU threads.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Try a model whose predicted memory exceeds the available memory.
    #[arg(long)]
    pub force: bool,
    /// Accept a run from another folder that reads files outside its folder.
    #[arg(long)]
    pub allow_outside: bool,
}

#[derive(Group, Debug)]
pub(super) struct ExportArgs {
    /// Folder of a run or an experiment.
    pub run: PathBuf,
    /// File format; without one, lists the formats in which the run can be written.
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// File to write, or the folder with `huggingface`, `nwb` and `sonata`; by default in the run folder. Several edge lists have
    /// the name of their projection after that of the file: `edges.E-I.parquet`.
    #[arg(long, value_name = "F", requires = "format")]
    pub out: Option<PathBuf>,
    /// Width of a PNG on paper, mm; journals have columns of 85, 114 and 174 mm. The file states its resolution.
    #[arg(long, value_name = "MM", requires = "format")]
    pub width_mm: Option<f64>,
    /// Resolution of a PNG, dots per inch; 300 by default with `--width-mm`.
    #[arg(long, value_name = "DPI", requires = "width_mm")]
    pub dpi: Option<f64>,
    /// Subject or session of an NWB file: subject_id, species, sex, age, strain, genotype, experimenter, institution, lab,
    /// session_id, experiment_description or keywords. Archives require the first four.
    #[arg(long, value_name = "FIELD=VALUE", requires = "format")]
    pub about: Vec<String>,
    /// Also export streams whose files differ from the recording, as they are.
    #[arg(long, requires = "format")]
    pub allow_damaged: bool,
    /// Accept a run from another folder with a network from files outside its folder, with `edges`, `nwb` and
    /// `sonata`.
    #[arg(long, requires = "format")]
    pub allow_outside: bool,
    /// Print the formats, or the written files with their sizes, as JSON.
    #[arg(long)]
    pub json: bool,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.docs()))
    }
}

/// Device argument: `auto`, `cpu`, `cuda`, or `cuda:1` on a machine with several GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeviceArg {
    pub choice: DeviceChoice,
    /// Index of the GPU; `None` if the argument contains no index.
    pub gpu: Option<u32>,
}

/// Length of a run as given in the argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Duration {
    /// Number without a unit.
    Bare(f64),
    /// Simulated time, ms.
    Time(f64),
    /// Number of steps, and the name of the unit as given.
    Count(u64, String),
}

/// Parses a length such as `200ms`, `1 s`, `2min`, `400generations` or `1 update`. [`Duration::apply`] checks whether the
/// unit fits the kind. Fails if the text is not a length.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(n) = text.trim().parse::<f64>() {
        return duration_ms(text).map(|_| Duration::Bare(n));
    }
    let (number, word) = text.trim().split_at(text.trim().find(char::is_alphabetic).unwrap_or(0));
    let mut counted: Vec<TimeBase> = Model::all().iter().map(Model::time_base).filter(|base| base.is_count()).collect();
    counted.push(TimeBase::STEPS);
    if counted.iter().any(|base| [base.singular(), base.plural()].contains(&word)) {
        let digits: String = number.chars().filter(|c| !" _,".contains(*c)).collect();
        let n = digits.parse().map_err(|_| format!("`{}` is not a whole number of {word}", number.trim()))?;
        return Ok(Duration::Count(n, word.to_owned()));
    }
    duration_ms(text).map(Duration::Time)
}

/// Parses a simulated time and returns it in ms; a number without a unit is in ms. Fails if the text is not a time, or the
/// time is out of range.
pub(super) fn duration_ms(text: &str) -> Result<f64, String> {
    match Unit::Ms.parse(text)? {
        ms if (0.0..=1e12).contains(&ms) => Ok(ms),
        ms => Err(format!("{ms} ms is not a simulated time; expected 0 to 1e12 ms, e.g. `200ms` or `1s`")),
    }
}

impl Duration {
    /// Sets the length of a run. Fails if the unit does not fit the kind, or if the number of steps is not whole.
    pub fn apply(&self, plan: &mut RunPlan, base: TimeBase) -> Result<(), String> {
        match (self, base) {
            (Self::Bare(ms) | Self::Time(ms), TimeBase::Seconds { .. }) => plan.duration_ms = *ms,
            (Self::Bare(n), TimeBase::Count { .. }) if n.fract() == 0.0 => plan.steps = *n as u64,
            (Self::Count(n, word), TimeBase::Count { .. }) if is_name(word, base) => plan.steps = *n,
            (Self::Count(n, word), TimeBase::Seconds { per_step }) if is_name(word, base) => {
                plan.duration_ms = *n as f64 * per_step * 1e3;
            }
            (Self::Bare(n), _) => return Err(format!("--duration {n}: not a whole number of {}", base.plural())),
            (Self::Time(ms), _) => {
                let (many, one) = (base.plural(), base.singular());
                return Err(format!(
                    "--duration: this project counts {many}, and a {one} has no duration; write e.g. `400{many}`, not {ms} ms"
                ));
            }
            (Self::Count(_, word), TimeBase::Count { plural, .. }) => {
                return Err(format!("--duration: this project counts {plural}, not {word}; write e.g. `400{plural}`"));
            }
            (Self::Count(_, word), TimeBase::Seconds { .. }) => {
                return Err(format!(
                    "--duration: this project has no {word}; write a simulated time, e.g. `200ms` or `1s`"
                ));
            }
        }
        Ok(())
    }
}

/// Whether `word` names the steps of a kind: `steps`, or the unit that the kind counts.
fn is_name(word: &str, base: TimeBase) -> bool {
    [base.singular(), base.plural(), "step", "steps"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_times_or_counts() {
        let (time, count) = (TimeBase::seconds(1e-4), TimeBase::count("generation", "generations"));
        let apply = |text: &str, base| {
            let mut plan = RunPlan::default();
            duration(text).and_then(|d| d.apply(&mut plan, base)).map(|()| plan.planned_steps(base))
        };
        for (text, steps) in
            [("400generations", 400), ("1 generation", 1), ("12,000 generations", 12_000), ("7 steps", 7), ("30", 30)]
        {
            assert_eq!(apply(text, count), Ok(Some(steps)), "{text}");
        }
        assert_eq!(apply("0", count), Ok(None));
        for (text, steps) in [("200ms", 2_000), ("1 s", 10_000), ("5", 50), ("7steps", 7)] {
            assert_eq!(apply(text, time), Ok(Some(steps)), "{text}");
        }
        for (text, base, why) in [
            ("2s", count, "a generation has no duration; write e.g. `400generations`"),
            ("400generations", time, "no generations; write a simulated time"),
            ("0.5", count, "not a whole number of generations"),
            ("1.5 generations", count, "`1.5` is not a whole number of generations"),
            ("long", count, "is not a number"),
            // A shell that expands an unset variable in `${UNSET}ms` gives the argument `ms`.
            ("ms", time, "a number is missing before the unit"),
            ("generations", count, "`` is not a whole number of generations"),
            ("-1", time, "-1 ms is not a simulated time"),
        ] {
            let said = apply(text, base).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
