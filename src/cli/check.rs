//! `neuropil check`: compares the files of a run with its manifest.

use super::{error::CliError, experiment_info, stdout::print_line};
use crate::{
    data::counted,
    experiment::is_experiment,
    project::{
        RunFolder,
        check::{FileCheck, Finding, check as check_files},
    },
    sim::Progress,
};
use serde_json::json;
use std::path::Path;

pub(super) fn check(path: &Path, as_json: bool) -> Result<(), CliError> {
    if is_experiment(path) {
        return experiment_info::check(path, as_json);
    }
    let run = RunFolder::open(path)?;
    let files = check_files(&run, &Progress::default())?;
    let damaged = files.iter().filter(|f| f.is_damaged()).count();
    if as_json {
        let list: Vec<_> = files.iter().map(file_json).collect();
        let (status, notes) = (run.manifest.status.word(), &run.notes);
        print_line!(
            "{:#}",
            json!({
                "run": path.display().to_string(), "status": status, "notes": notes, "intact": damaged == 0, "files": list,
                "not_verified_before": run.manifest.not_verified_before,
                "hash": run.manifest.digest.hash, "data_hash": run.manifest.data_hash(),
            })
        );
    } else {
        files.iter().for_each(|file| print_line!("{file}"));
        run.notes.iter().for_each(|note| print_line!("{note}"));
        print_hashes(&run);
        print_line!("{}: {}, {}", path.display(), run.manifest.status.word(), summary(&files));
    }
    match damaged {
        0 => Ok(()),
        n => Err(CliError::Failed(damaged_text(n, files.len()))),
    }
}

/// Prints the hashes of the simulation and of the recorded histories, if they are known.
pub(super) fn print_hashes(run: &RunFolder) {
    if !run.manifest.digest.hash.is_empty() {
        print_line!("hash {}", run.manifest.digest.hash);
    }
    if let Some(hash) = run.manifest.data_hash() {
        print_line!("data hash {hash}");
    }
}

/// Formats `2 of 7 files are damaged`.
fn damaged_text(n: usize, of: usize) -> String {
    let verb = if n == 1 { "is" } else { "are" };
    format!("{n} of {} {verb} damaged", counted(of, "file", "files"))
}

/// Summarises the findings: `all 7 files match their hashes`.
pub(super) fn summary(files: &[FileCheck]) -> String {
    let count = |of: fn(&FileCheck) -> bool| files.iter().filter(|f| of(f)).count();
    let has_no_hash = |f: &FileCheck| matches!(f.finding, Finding::NoHash | Finding::IntactUntil { .. });
    let (damaged, unknown) = (count(FileCheck::is_damaged), count(has_no_hash));
    let in_part = count(|f| matches!(f.finding, Finding::IntactUntil { .. }));
    let matching = |n: usize| match n {
        1 => "1 file matches its hash".to_owned(),
        n => format!("{n} files match their hashes"),
    };
    match (damaged, unknown) {
        (0, n) if in_part > 0 => {
            let whole = files.len() - n;
            format!("{}, {in_part} up to a checkpoint, {} without a hash", matching(whole), n - in_part)
        }
        (0, 0) if files.len() == 1 => "the only file matches its hash".to_owned(),
        (0, 0) => format!("all {} files match their hashes", files.len()),
        (0, n) if n == files.len() => "no hashes recorded".to_owned(),
        (0, n) => format!("{}, {n} without a hash", matching(files.len() - n)),
        (n, _) => damaged_text(n, files.len()),
    }
}

fn file_json(file: &FileCheck) -> serde_json::Value {
    json!({
        "file": file.name, "probe": file.probe, "n_bytes": file.n_bytes, "n_records": file.n_records,
        "damaged": file.is_damaged(), "finding": file.to_string(),
    })
}
