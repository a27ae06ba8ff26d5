//! The run folder: its files and their names.
//!
//! ```text
//! runs/0007-sugar/
//!   project.ron      the project as it was at step 0
//!   commands.ron     one `(step, command)` per line: with the project, the run is replayable bit for bit
//!   run.ron          the manifest; written at the start with `status: Running` and again at the end
//!   run.lock         locked by the process that writes the run; lists how much of each stream is written
//!   spikes.u32       np.fromfile("spikes.u32", "<u4").reshape(-1, 2): step, lane
//!   rate.f32         one record per sample: see `dtype` of its stream in run.ron
//!   neurons.u64      public ids of the elements, if they have any
//!   timings.csv      kernel times and running times
//!   checkpoint-000012000.state   the state at a step, if the project plans checkpoints
//!   parent.state     in a branch: the checkpoint of the other run at which it begins
//!   note.txt         the user's note, if there is one
//!   tags.txt         the user's tags, one per line, if there are any
//! ```
//!
//! Streams, commands.ron and timings.csv only grow, in whole blocks, so a run is readable while it is written and after a
//! crash.

use crate::{
    data::{counted, io_reason},
    params::Value,
};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{SystemTime, UNIX_EPOCH},
};

/// Version of the run folder's format. Since version 2, the command log names parameters, choices and elements.
pub const FORMAT: u32 = 2;
/// File name of the manifest.
pub const MANIFEST: &str = "run.ron";
/// File name of the project in a run folder.
pub const PROJECT: &str = "project.ron";
/// File name of the user's note, plain text.
pub const NOTE: &str = "note.txt";
/// File name of the user's tags, one per line.
pub const TAGS: &str = "tags.txt";
/// File name of the command log.
pub const COMMANDS: &str = "commands.ron";
/// File name of the lock file.
pub const LOCK: &str = "run.lock";
/// File name of the list of exports.
pub const EXPORTS: &str = "exports.ron";
/// File name of mean rates over trials.
pub const RATES: &str = "rates.csv";
/// File name of kernel times.
pub const TIMINGS: &str = "timings.csv";
/// Folder of a run's trials, each a run folder.
pub const TRIALS: &str = "trials";

/// Creates the next numbered run folder in `runs`, e.g. `0007-sugar`. Fails if folders cannot be created in `runs`.
pub fn next_folder(runs: &Path, name: &str) -> io::Result<PathBuf> {
    let wrong = |e: io::Error| at(runs, &e);
    fs::create_dir_all(runs).map_err(wrong)?;
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.split('-').next()?.parse::<u32>().ok();
    let mut next = fs::read_dir(runs).map_err(wrong)?.flatten().filter_map(number).max().unwrap_or(0) + 1;
    loop {
        let folder = runs.join(format!("{next:04}-{}", slug(name)));
        match fs::create_dir(&folder) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => next += 1, // another process created it first
            other => return other.map_err(|e| at(&folder, &e)).map(|()| folder),
        }
    }
}

/// Converts a name to a part of a file name: `Sugar GRNs, 150 Hz` becomes `sugar-grns-150-hz`.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
    }
    let out: String = out.trim_end_matches('-').chars().take(40).collect();
    if out.is_empty() { "run".into() } else { out }
}

/// Adds the path of the file to the message of an I/O error.
pub(super) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {}", path.display(), io_reason(error)))
}

/// Commit of the program.
static COMMIT: OnceLock<&str> = OnceLock::new();

/// Sets the commit that [`app_version`] names. The program calls it once at the start.
pub fn set_commit(commit: &'static str) {
    COMMIT.set(commit).ok();
}

/// Returns the program, its version and, if it is known, the commit.
pub fn app_version() -> String {
    let commit = COMMIT.get().map_or(String::new(), |c| format!(" ({c})"));
    format!("neuropil {}{commit}", env!("CARGO_PKG_VERSION"))
}

pub(super) fn host() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} {}, {}", std::env::consts::OS, std::env::consts::ARCH, counted(cores, "core", "cores"))
}

/// Returns the current time, UTC, as `2026-03-01T12:34:56Z`.
pub fn now_utc() -> String {
    let secs = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (year, month, day) = civil(secs / 86_400);
    let (h, m, s) = (secs / 3600 % 24, secs / 60 % 60, secs % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z")
}

/// Converts days since 1970-01-01 to year, month and day.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, days + 1)
}

/// Describes a logged change, for the comment after a logged command.
pub(super) fn describe_change(model: &crate::kinds::Model, change: &crate::params::Change) -> String {
    let params = model.params();
    let path = params.path(change.id);
    match (params.spec(change.id), &change.value) {
        (Some(spec), value) => format!("{path} = {}", crate::params::path::show(spec, value)),
        (None, Value::Rows(rows)) => format!("{path}: {}", counted(rows.len(), "item", "items")),
        (None, _) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn names_and_dates() {
        assert_eq!(slug("Sugar GRNs, 150 Hz!"), "sugar-grns-150-hz");
        assert_eq!(slug("../.."), "run");
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_513), (2026, 3, 1));
        let temp = TempFolder::new("runs");
        let made: Vec<_> = (0..3).map(|_| next_folder(&temp.join("runs"), "A b").unwrap()).collect();
        assert!(made[2].ends_with("0003-a-b"), "{made:?}");
    }
}
