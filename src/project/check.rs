//! Compares the files of a run with the lengths and hashes in its manifest.

use super::{CheckpointInfo, RunFolder, run_file};
use crate::sim::Progress;
use std::{fmt, io};

/// What a check found about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Length and hash are those of the manifest.
    Intact,
    /// The manifest holds no hash: the run was not closed, or an older version wrote it.
    NoHash,
    /// There is no such file.
    Missing,
    /// The file has another length than was written.
    Length {
        /// Bytes that were written.
        expected: u64,
    },
    /// The content has changed.
    Changed,
    /// It could not be read.
    Unreadable(String),
}

/// One file of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCheck {
    /// Its name; with its folder for a trial.
    pub name: String,
    /// The recorded probe; empty for other files.
    pub probe: String,
    /// Size.
    pub n_bytes: u64,
    /// Whole records; 0 for lines and text.
    pub n_records: u64,
    /// What was found.
    pub finding: Finding,
}

impl FileCheck {
    /// Whether the file is damaged.
    pub const fn is_damaged(&self) -> bool {
        !matches!(self.finding, Finding::Intact | Finding::NoHash)
    }
}

impl fmt::Display for FileCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match &self.finding {
            Finding::Intact => write!(f, "{} bytes, hash matches", self.n_bytes),
            Finding::NoHash => write!(f, "{} bytes, no hash recorded", self.n_bytes),
            Finding::Missing => f.write_str("missing"),
            Finding::Length { expected } => write!(f, "damaged: {} bytes, {expected} were written", self.n_bytes),
            Finding::Changed => write!(f, "damaged: {} bytes, the hash differs", self.n_bytes),
            Finding::Unreadable(why) => write!(f, "cannot be read: {why}"),
        }
    }
}

/// Checks every file of a run and of its trials. Reads all of them.
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
    let streams = manifest.streams.iter().map(|s| (s.file.as_str(), s.n_bytes, s.hash.as_str(), Some(s)));
    let others = manifest.files.iter().map(|f| (f.name.as_str(), f.n_bytes, f.hash.as_str(), None));
    let mut out = vec![];
    for (name, expected, hash, stream) in streams.chain(others) {
        let path = run_file::inside(&run.path, name)?;
        let size = run_file::size_of(&path);
        let n_bytes = size.unwrap_or(0);
        let finding = match size {
            None if std::fs::symlink_metadata(&path).is_ok() => Finding::Unreadable("not a regular file".into()),
            None => Finding::Missing,
            Some(_) if hash.is_empty() => Finding::NoHash,
            Some(_) if n_bytes != expected => Finding::Length { expected },
            Some(_) => compare(&path, hash, progress)?,
        };
        let (probe, n_records) = stream.map_or((String::new(), 0), |s| (s.probe.clone(), run.n_records(s)));
        out.push(FileCheck { name: format!("{prefix}{name}"), probe, n_bytes, n_records, finding });
    }
    for info in &manifest.checkpoints {
        out.push(check_checkpoint(run, prefix, info, progress)?);
    }
    Ok(out)
}

/// Verifies the directory and every section.
fn check_checkpoint(
    run: &RunFolder,
    prefix: &str,
    info: &CheckpointInfo,
    progress: &Progress,
) -> io::Result<FileCheck> {
    let path = run_file::inside(&run.path, &info.file)?;
    let size = run_file::size_of(&path);
    let verify = || run.checkpoint(info)?.verify(&mut |_| progress.report("checking", 0.0).is_ok());
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
    let name = format!("{prefix}{}", info.file);
    Ok(FileCheck { name, probe: String::new(), n_bytes: size.unwrap_or(0), n_records: 0, finding })
}

fn compare(path: &std::path::Path, expected: &str, progress: &Progress) -> io::Result<Finding> {
    match run_file::hash_file(path, &mut |_| progress.report("checking", 0.0).is_ok()) {
        Ok((_, hash)) if hash == expected => Ok(Finding::Intact),
        Ok(_) => Ok(Finding::Changed),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
        Err(e) => Ok(Finding::Unreadable(e.to_string())),
    }
}
