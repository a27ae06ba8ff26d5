//! Compares the files of a run with the lengths and hashes in its manifest.

use super::{
    CheckpointFile, CheckpointInfo, RunFolder, Status, Stream,
    recorded_files::{RecordedFiles, recorded_info},
    run::{COMMANDS, MANIFEST, PROJECT, TIMINGS},
    run_file,
};
use crate::{
    data::{counted, group_digits},
    sim::Progress,
};
use std::{fmt, io, path::Path};

/// Result of checking one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Length and hash equal those in the manifest.
    Intact,
    /// The manifest has no hash, because the run was not closed or an older version wrote it.
    NoHash,
    /// The run was not closed. The content is as recorded up to `n_bytes`, at the checkpoint of `step`; no hash covers the
    /// later content.
    IntactUntil {
        /// Number of verified bytes.
        n_bytes: u64,
        /// Step of the checkpoint.
        step: u64,
    },
    /// The file does not exist.
    Missing,
    /// The length differs from the written length.
    Length {
        /// Number of bytes written.
        expected: u64,
    },
    /// The content has changed.
    Changed,
    /// The file could not be read.
    Unreadable(String),
}

/// Check of one file of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCheck {
    /// File name; in a trial, with the trial's folder.
    pub name: String,
    /// Recorded probe; empty for other files.
    pub probe: String,
    /// Size of the file, bytes.
    pub n_bytes: u64,
    /// Number of whole records; 0 for files of lines or text.
    pub n_records: u64,
    /// Result of the check.
    pub finding: Finding,
}

impl FileCheck {
    /// Whether the file is damaged.
    pub const fn is_damaged(&self) -> bool {
        !matches!(self.finding, Finding::Intact | Finding::IntactUntil { .. } | Finding::NoHash)
    }
}

fn bytes(n: u64) -> String {
    counted(n, "byte", "bytes")
}

impl fmt::Display for FileCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match &self.finding {
            Finding::Intact => write!(f, "{}, hash matches", bytes(self.n_bytes)),
            Finding::IntactUntil { n_bytes, step } => {
                write!(
                    f,
                    "{}, hash matches for {}, up to the checkpoint of step {}",
                    bytes(self.n_bytes),
                    bytes(*n_bytes),
                    group_digits(*step)
                )
            }
            Finding::NoHash => write!(f, "{}, no hash recorded", bytes(self.n_bytes)),
            Finding::Missing => f.write_str("missing"),
            Finding::Length { expected } => {
                write!(f, "damaged: {}, {} were written", bytes(self.n_bytes), group_digits(*expected))
            }
            Finding::Changed => write!(f, "damaged: {}, the hash differs", bytes(self.n_bytes)),
            Finding::Unreadable(why) => write!(f, "cannot be read: {why}"),
        }
    }
}

/// Reads and checks every file of a run and its trials. Fails if `progress` cancels or a manifest names a file outside its
/// folder.
pub fn check(run: &RunFolder, progress: &Progress) -> io::Result<Vec<FileCheck>> {
    let mut out = check_one(run, "", progress)?;
    if run.manifest.trials > 0 {
        for trial in &run.trials()? {
            let k = trial.trial.unwrap_or_default();
            out.extend(check_one(trial, &format!("{}/{k:04}/", super::run::TRIALS), progress)?);
        }
    }
    Ok(out)
}

fn check_one(run: &RunFolder, prefix: &str, progress: &Progress) -> io::Result<Vec<FileCheck>> {
    let manifest = &run.manifest;
    let is_open = matches!(manifest.status, Status::Running | Status::Unclosed);
    let recorded = if is_open { RecordedFiles::newest(run) } else { None };
    let mut names: Vec<&str> = manifest.streams.iter().map(|stream| stream.file.as_str()).collect();
    names.extend(manifest.files.iter().map(|file| file.name.as_str()));
    // The manifest of an unclosed run may list files that were never created.
    let has_begun = |name: &str| {
        let is_recorded = recorded.as_ref().and_then(RecordedFiles::last).is_some_and(|d| d.length(name).is_some());
        is_recorded || run_file::size_of(&run.path.join(name)).is_some()
    };
    names.extend([PROJECT, COMMANDS, TIMINGS].iter().filter(|name| is_open && has_begun(name)));
    let mut out: Vec<FileCheck> = check_manifest(run, prefix).into_iter().collect();
    for name in names {
        if out.iter().any(|known| known.name.strip_prefix(prefix) == Some(name)) {
            continue;
        }
        let path = run_file::inside(&run.path, name)?;
        let size = run_file::size_of(&path);
        let n_bytes = size.unwrap_or(0);
        let expected = recorded_info(run, name);
        let finding = match (size, &expected, &recorded) {
            (None, ..) if std::fs::symlink_metadata(&path).is_ok() => Finding::Unreadable("not a regular file".into()),
            (None, ..) => Finding::Missing,
            (_, Some(expected), _) if n_bytes != expected.n_bytes => Finding::Length { expected: expected.n_bytes },
            (_, Some(expected), _) => compare(&path, &expected.hash, progress)?,
            (.., Some(recorded)) => compare_until(run, recorded, name, progress)?,
            (.., None) => Finding::NoHash,
        };
        let stream = manifest.streams.iter().find(|stream| stream.file == name);
        let (probe, n_records) = stream.map_or((String::new(), 0), |s| (s.probe.clone(), run.n_records(s)));
        out.push(FileCheck { name: format!("{prefix}{name}"), probe, n_bytes, n_records, finding });
    }
    for info in &manifest.checkpoints {
        let path = run_file::inside(&run.path, &info.file)?;
        if manifest.status == Status::Running && run_file::size_of(&path).is_none() {
            continue; // the process that writes the run removed the checkpoint after the manifest was read
        }
        out.push(check_state(&path, format!("{prefix}{}", info.file), info, || run.checkpoint(info), progress)?);
    }
    if let Some(parent) = manifest.parent.as_ref().filter(|parent| !parent.copy.is_empty()) {
        let path = run_file::inside(&run.path, &parent.copy)?;
        let (name, open) = (format!("{prefix}{}", parent.copy), || run.parent_file(parent));
        out.push(check_state(&path, name, &parent.checkpoint, open, progress)?);
    }
    Ok(out)
}

/// Checks the manifest against its own hash; `None` if the manifest contains no hash.
fn check_manifest(run: &RunFolder, prefix: &str) -> Option<FileCheck> {
    let finding = if run.manifest_matches? { Finding::Intact } else { Finding::Changed };
    let n_bytes = run_file::size_of(&run.path.join(MANIFEST)).unwrap_or(0);
    Some(FileCheck { name: format!("{prefix}{MANIFEST}"), probe: String::new(), n_bytes, n_records: 0, finding })
}

/// Verifies the directory and every section of a checkpoint. Fails if `progress` cancels.
fn check_state(
    path: &Path,
    name: String,
    info: &CheckpointInfo,
    open: impl Fn() -> io::Result<CheckpointFile>,
    progress: &Progress,
) -> io::Result<FileCheck> {
    let size = run_file::size_of(path);
    let verify = || open()?.verify(&mut |_| progress.report("checking", 0.0).is_ok());
    let finding = match size {
        None => Finding::Missing,
        Some(n) if n != info.n_bytes => Finding::Length { expected: info.n_bytes },
        Some(_) => match verify() {
            Ok(()) => Finding::Intact,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Err(e),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Finding::Changed,
            Err(e) => Finding::Unreadable(e.to_string()),
        },
    };
    Ok(FileCheck { name, probe: String::new(), n_bytes: size.unwrap_or(0), n_records: 0, finding })
}

/// Compares a file of an unclosed run with the hashes of its checkpoints. Fails if `progress` cancels.
fn compare_until(run: &RunFolder, recorded: &RecordedFiles, name: &str, progress: &Progress) -> io::Result<Finding> {
    let Some((n_bytes, step)) = recorded.last().and_then(|d| Some((d.length(name)?, d.step))) else {
        return Ok(Finding::NoHash); // the file began after the checkpoint
    };
    match recorded.verify(&run.path, name, progress) {
        Ok(_) => Ok(Finding::IntactUntil { n_bytes, step }),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
        Err(e) if e.kind() == io::ErrorKind::InvalidData => Ok(Finding::Changed),
        Err(e) => Ok(Finding::Unreadable(e.to_string())),
    }
}

/// Returns a description of the damage of a stream's file; `None` if there is no damage. Reads the file of a closed run and
/// compares its hash; without a hash in the manifest, the file must only exist. An unclosed run is not checked. Fails if
/// `progress` cancels.
pub fn damage_of(run: &RunFolder, stream: &Stream, progress: &Progress) -> io::Result<Option<String>> {
    let name = &stream.file;
    let is_closed = !matches!(run.manifest.status, Status::Running | Status::Unclosed);
    let damage = run.damage(stream);
    if damage.is_some() || stream.hash.is_empty() || !is_closed {
        return Ok(damage);
    }
    Ok(match compare(&run_file::inside(&run.path, name)?, &stream.hash, progress)? {
        Finding::Changed => Some(format!("{name} is damaged: its content is not what was written")),
        Finding::Unreadable(why) => Some(format!("{name} cannot be read: {why}")),
        _ => None,
    })
}

fn compare(path: &Path, expected: &str, progress: &Progress) -> io::Result<Finding> {
    match run_file::hash_file(path, &mut |_| progress.report("checking", 0.0).is_ok()) {
        Ok((_, hash)) if hash == expected => Ok(Finding::Intact),
        Ok(_) => Ok(Finding::Changed),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
        Err(e) => Ok(Finding::Unreadable(e.to_string())),
    }
}
