//! `neuropil tag`: lists or changes the tags of a run.

use super::{error::CliError, runs_args::TagArgs, stdout::print_line};
use crate::project::{
    RunFolder,
    labels::{Labels, parse_tags, save_tags},
};
use serde_json::json;

/// Adds and removes tags, and then prints the tags of the run. Fails if the folder is not a run or a tag is invalid.
pub(super) fn tag(args: &TagArgs) -> Result<(), CliError> {
    RunFolder::open(&args.run)?;
    let (Labels { mut tags, .. }, notices) = Labels::read(&args.run);
    notices.iter().for_each(|notice| eprintln!("neuropil: {notice}"));
    let is_removed = |tag: &String| args.remove.contains(tag);
    if !args.tags.is_empty() || !args.remove.is_empty() {
        let all: Vec<String> = tags.into_iter().chain(args.tags.iter().cloned()).collect();
        tags =
            parse_tags(&all.join(" ")).map_err(CliError::Usage)?.into_iter().filter(|tag| !is_removed(tag)).collect();
        save_tags(&args.run, &tags)?;
    }
    match args.json {
        true => print_line!("{:#}", json!({ "run": args.run.display().to_string(), "tags": tags })),
        false => tags.iter().for_each(|tag| print_line!("{tag}")),
    }
    Ok(())
}
