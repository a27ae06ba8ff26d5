//! The arguments of `neuropil runs` and `neuropil tag`.

use clap::Args as Group;
use std::path::PathBuf;

#[derive(Group, Debug)]
pub(super) struct RunsArgs {
    /// Folder of runs, or a project file or folder with `runs/` beside it.
    #[arg(default_value = ".")]
    pub folder: PathBuf,
    /// Print only runs that fit every condition: words, `tag:best`, `kind:spiking`, `status:complete`, `seed=3`,
    /// `held_out<1.5`, `tau_m>=15ms`, `!tag:draft`.
    #[arg(long, value_name = "EXPR")]
    pub filter: Option<String>,
    /// Sort by this column, in descending order with a leading `-`. By default the newest run is first.
    #[arg(long, value_name = "COLUMN", default_value = "-started", allow_hyphen_values = true)]
    pub sort: String,
    /// Columns to list, e.g. `name,tags,tau_m,best(held_out),mean(rate)`; `all` lists the names of all columns.
    #[arg(long, value_name = "COLUMN,…")]
    pub columns: Option<String>,
    /// Print JSON, with all digits.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print CSV, with all digits.
    #[arg(long)]
    pub csv: bool,
}

#[derive(Group, Debug)]
pub(super) struct TagArgs {
    /// Folder of the run.
    pub run: PathBuf,
    /// Tags to add; without one, the tags of the run are listed.
    #[arg(value_name = "TAG")]
    pub tags: Vec<String>,
    /// Remove these tags.
    #[arg(long, value_name = "TAG")]
    pub remove: Vec<String>,
    /// List the tags as JSON.
    #[arg(long)]
    pub json: bool,
}
