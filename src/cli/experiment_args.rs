//! Arguments of experiments.

use crate::experiment::shard::Shard;
use clap::Args as Group;
use std::path::PathBuf;

#[derive(Group, Debug, Clone, Default)]
pub(super) struct ExperimentArgs {
    /// Run the experiment of the project: its conditions with every seed, and a table of its measures.
    #[arg(long, conflicts_with_all = ["trials", "sweep", "branch", "dry_run"])]
    pub experiment: bool,
    /// Run an experiment with a condition per value: `lif.tau_m=10,20,30`, `lif.tau_m=10..30 ms/3`. Several make a grid.
    #[arg(long, value_name = "PATH=VALUES", conflicts_with_all = ["trials", "sweep", "branch", "resume"])]
    pub vary: Vec<String>,
    /// Run an experiment with a condition per element of a query, in which the output of the element is silenced.
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["trials", "sweep", "branch", "resume"])]
    pub silence_each: Option<String>,
    /// Seeds of every condition: how many, from that of the project on, or a list: `1..30`, `1,2,5`.
    #[arg(long, value_name = "N|LIST", conflicts_with_all = ["trials", "sweep", "branch", "resume"])]
    pub seeds: Option<String>,
    /// Compute this from each trial: `NAME = REDUCTION PROBE[ELEMENTS] FROM..TO`, e.g. `MN9 = mean spikes[in MN9] 200..1000`.
    /// Reductions: mean, last, lowest, highest, count, latency, active.
    #[arg(long, value_name = "MEASURE", conflicts_with_all = ["trials", "sweep", "branch", "resume"])]
    pub measure: Vec<String>,
    /// Record every trial of the experiment in a run folder of its own, which replays alone.
    #[arg(long, conflicts_with_all = ["trials", "sweep", "branch", "resume"])]
    pub record_trials: bool,
    /// Run part K of N of the experiment, on one of several machines; `merge` joins the parts.
    #[arg(long, value_name = "K/N", conflicts_with_all = ["trials", "sweep", "branch", "resume"])]
    pub shard: Option<Shard>,
    /// Run every trial, also those that silence an element without events in the control and have its result.
    #[arg(long, conflicts_with_all = ["trials", "sweep", "branch", "resume"])]
    pub run_silent: bool,
    /// Run this many trials that are marked *same as control*, chosen at random, and compare them with the control.
    #[arg(long, value_name = "K", default_value_t = 0, conflicts_with_all = ["trials", "sweep", "branch"])]
    pub check_silent: u32,
}

impl ExperimentArgs {
    /// Whether the arguments ask for an experiment.
    pub const fn is_wanted(&self) -> bool {
        self.experiment || self.changes_experiment() || self.shard.is_some() || self.check_silent > 0
    }

    /// Whether the arguments change the experiment of the project, or make one.
    pub const fn changes_experiment(&self) -> bool {
        let rules = !self.vary.is_empty() || self.silence_each.is_some() || self.seeds.is_some();
        rules || !self.measure.is_empty() || self.record_trials || self.run_silent
    }
}

#[derive(Group, Debug)]
pub(super) struct MergeArgs {
    /// Folders of the parts.
    #[arg(required = true, value_name = "PARTS")]
    pub parts: Vec<PathBuf>,
    /// Folder of the joined experiment: new or empty.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}
