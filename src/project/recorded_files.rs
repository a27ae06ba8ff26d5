//! Compares the files of a run with the lengths and hashes in its checkpoints and its manifest.

use super::{
    RunFolder, Status,
    checkpoint_file::Directory,
    manifest::FileInfo,
    run::{COMMANDS, PROJECT, TIMINGS, at},
    run_file::{self, Hash},
};
use crate::sim::Progress;
use std::{
    io::{self, ErrorKind, Read as _},
    path::Path,
};

/// Length of a file with the hash of its content up to that length.
struct Mark {
    n_bytes: u64,
    /// XXH64; empty if unknown.
    hash: String,
    /// Time at which the file had this length.
    when: String,
}

/// Checkpoints of a run that contain hashes of its files, sorted by step.
pub(super) struct RecordedFiles(Vec<Directory>);

impl RecordedFiles {
    /// Returns the checkpoint `directory`, which contains hashes, with the readable earlier checkpoints.
    pub fn until(run: &RunFolder, directory: &Directory) -> Self {
        let earlier = run.manifest.checkpoints.iter().filter(|info| info.step < directory.step);
        let read = earlier.filter_map(|info| run.checkpoint(info).ok()).map(|file| file.directory);
        Self(read.filter(Directory::has_hashes).chain([directory.clone()]).collect())
    }

    /// Returns the checkpoints up to the newest readable one; `None` if that contains no hashes or no checkpoint is
    /// readable.
    pub fn newest(run: &RunFolder) -> Option<Self> {
        let read = |info| run.checkpoint(info).ok().map(|file| file.directory);
        let newest = run.manifest.checkpoints.iter().rev().find_map(read)?;
        newest.has_hashes().then(|| Self::until(run, &newest))
    }

    /// Returns the newest of the checkpoints; `None` if there are none.
    pub fn last(&self) -> Option<&Directory> {
        self.0.last()
    }

    /// Verifies a file up to the last checkpoint that lists the file, and returns the hash of the file at that checkpoint.
    ///
    /// # Errors
    /// Fails with the names of the checkpoints between which the content differs.
    pub fn verify(&self, folder: &Path, name: &str, progress: &Progress) -> io::Result<Hash> {
        let mark = |directory: &Directory| {
            let (n_bytes, hash) = directory.length(name).zip(directory.hash(name))?;
            let when = format!("the checkpoint of step {}", directory.step);
            Some(Mark { n_bytes, hash: hash.to_owned(), when })
        };
        let marks: Vec<Mark> = self.0.iter().filter_map(mark).collect();
        let hashes = verify_marks(&run_file::inside(folder, name)?, &marks, progress)?;
        Ok(hashes.into_iter().next_back().unwrap_or_default())
    }
}

/// Verifies the files of a run up to a checkpoint, and returns their hashes at the checkpoint in the order of its
/// directory. The project is omitted, because it is compared by value.
///
/// # Errors
/// Fails with the first file that differs and the position of the difference.
pub(super) fn verify_until(
    run: &RunFolder,
    directory: &Directory,
    progress: &Progress,
) -> io::Result<Vec<(FileInfo, Hash)>> {
    let recorded = directory.has_hashes().then(|| RecordedFiles::until(run, directory));
    let mut out = vec![];
    for (name, n_bytes) in directory.files.iter().filter(|(name, _)| name != PROJECT) {
        let hash = match &recorded {
            Some(recorded) => recorded.verify(&run.path, name, progress)?,
            None => verify_whole(run, directory, (name, *n_bytes), progress)?,
        };
        out.push((FileInfo { name: name.clone(), n_bytes: *n_bytes, hash: hash.hex() }, hash));
    }
    Ok(out)
}

/// Verifies a whole file against the hash in the manifest, if the manifest has one. Returns the hash up to a checkpoint of
/// an older version, which contains no hashes. Fails if the file differs or cannot be read.
fn verify_whole(
    run: &RunFolder,
    directory: &Directory,
    (name, n_bytes): (&str, u64),
    progress: &Progress,
) -> io::Result<Hash> {
    let path = run_file::inside(&run.path, name)?;
    let when = format!("the checkpoint of step {}", directory.step);
    let mut marks = vec![Mark { n_bytes, hash: String::new(), when }];
    if let Some(closed) = recorded_info(run, name) {
        let size = run_file::size_of(&path).unwrap_or(0);
        if size != closed.n_bytes {
            let what = format!("{} has {size} bytes; {} were recorded", path.display(), closed.n_bytes);
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        marks.push(Mark { n_bytes: closed.n_bytes, hash: closed.hash, when: "the end of the run".to_owned() });
    }
    Ok(verify_marks(&path, &marks, progress)?.swap_remove(0))
}

/// Returns length and hash of a file in the manifest; `None` if the file has no valid hash. The values of growing files are
/// outdated while a run is written and after its process was killed.
pub(super) fn recorded_info(run: &RunFolder, name: &str) -> Option<FileInfo> {
    let is_open = matches!(run.manifest.status, Status::Running | Status::Unclosed);
    if is_open && [COMMANDS, TIMINGS].contains(&name) {
        return None;
    }
    let streams = run.manifest.streams.iter().filter(|_| !is_open);
    let streams = streams.map(|s| FileInfo { name: s.file.clone(), n_bytes: s.n_bytes, hash: s.hash.clone() });
    let mut all = streams.chain(run.manifest.files.iter().cloned());
    all.find(|file| file.name == name && !file.hash.is_empty())
}

/// Reads a file up to its last mark, and returns its hash at each mark. Fails if the file is too short or a hash differs.
fn verify_marks(path: &Path, marks: &[Mark], progress: &Progress) -> io::Result<Vec<Hash>> {
    let invalid = |what: String| io::Error::new(ErrorKind::InvalidData, format!("{}: {what}", path.display()));
    let total = marks.iter().map(|mark| mark.n_bytes).max().unwrap_or(0);
    let mut file = run_file::open_regular(path)?;
    let mut buffer = vec![0; 1 << 18];
    let (mut hash, mut n_read, mut out) = (Hash::default(), 0, vec![]);
    for (i, mark) in marks.iter().enumerate() {
        let from = n_read;
        while n_read < mark.n_bytes {
            let part = (mark.n_bytes - n_read).min(buffer.len() as u64) as usize;
            let n = file.read(&mut buffer[..part]).map_err(|e| at(path, &e))?;
            if n == 0 {
                return Err(invalid(format!("it ends after {n_read} bytes; it had {} at {}", mark.n_bytes, mark.when)));
            }
            hash.add(&buffer[..n]);
            n_read += n as u64;
            if progress.report("verifying the recorded files", n_read as f32 / total.max(1) as f32).is_err() {
                return Err(io::Error::new(ErrorKind::Interrupted, "cancelled"));
            }
        }
        if !mark.hash.is_empty() && hash.hex() != mark.hash {
            let since = i.checked_sub(1).map_or_else(|| "the start".to_owned(), |before| marks[before].when.clone());
            let (to, when) = (mark.n_bytes, &mark.when);
            return Err(invalid(format!(
                "bytes {from} to {to} are not those that were recorded between {since} and {when}"
            )));
        }
        out.push(hash.clone());
    }
    Ok(out)
}
