//! The arguments of `neuropil ask`.

use super::{args::DeviceArg, suggest::DeviceParser};
use clap::Args as Group;
use std::path::PathBuf;

#[derive(Group, Debug, Default)]
pub(super) struct AskOptions {
    /// Use the last checkpoint at or before this step. By default the last checkpoint; in a run without checkpoints its
    /// end.
    #[arg(long, value_name = "STEP")]
    pub at: Option<u64>,
    /// Device of the simulation; by default auto.
    #[arg(long, value_parser = DeviceParser)]
    pub device: Option<DeviceArg>,
    /// CPU threads.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Answer as JSON, with texts as they are; tables escape control characters.
    #[arg(long)]
    pub json: bool,
    /// Accept a run from another folder that names files outside its folder.
    #[arg(long)]
    pub allow_outside: bool,
}

impl AskOptions {
    /// Combines options. The options in `later` have precedence.
    pub fn or(self, later: Self) -> Self {
        Self {
            at: later.at.or(self.at),
            device: later.device.or(self.device),
            threads: later.threads.or(self.threads),
            json: later.json || self.json,
            allow_outside: later.allow_outside || self.allow_outside,
        }
    }
}

#[derive(Group, Debug)]
pub(super) struct AskArgs {
    /// Options, before or after RUN and REQUEST.
    #[command(flatten)]
    pub options: AskOptions,
    /// Run folder.
    pub run: PathBuf,
    /// Name of the request; without one, the requests of the kind are listed.
    pub request: Option<String>,
    /// Arguments of the request, `--name value`, and options of `ask`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<String>,
}
