//! Lock file of a run folder. The process that writes a run holds an advisory lock on the file. The system releases the
//! lock when the process ends in any way, so that no lock of an ended process remains.
//!
//! ```text
//! neuropil run 4f1c02d97ab3e655     id of the run, as in its manifest
//! process 4711
//! step 12000                        the last step whose data are written
//! spikes.u32 80000                  bytes of each stream up to that step; 0 for a file that is being created
//! end 44bc2cf5ad770999              hash of the lines above
//! ```

use super::{
    run::{LOCK, at},
    run_file::{self, Hash},
};
use std::{
    fmt::Write as _,
    fs::{File, OpenOptions, TryLockError},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

/// Bytes reserved for the last manifest of a run whose disk fills up.
const RESERVE: usize = 32 << 10;
/// Maximum size of a lock file, bytes.
const LIMIT: u64 = 16 << 20;
/// Maximum number of attempts to lock, because a reader that tests the lock holds it for a short time.
const ATTEMPTS: u32 = 20;

/// Lock that this process holds.
pub(super) struct RunLock {
    file: File,
    path: PathBuf,
    /// Id of the run in the folder.
    pub id: String,
    text: String,
    /// Files being created that the manifest does not list yet.
    unlisted: Vec<String>,
}

/// Amount of data that a run has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Id of the run in the folder.
    pub id: String,
    /// Id of the process that writes the run.
    pub process: u32,
    /// Last step whose data are written; `None` before the recording begins.
    pub step: Option<u64>,
    /// Length of each stream's file, bytes.
    pub files: Vec<(String, u64)>,
}

impl RunLock {
    /// Locks a folder for a new run. Fails if another process is writing to the folder; the error names the process.
    pub fn acquire(folder: &Path) -> io::Result<Self> {
        let path = folder.join(LOCK);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        run_file::no_follow(&mut options);
        let file = options.open(&path).map_err(|e| at(&path, &e))?;
        if !file.metadata().map_err(|e| at(&path, &e))?.is_file() {
            return Err(io::Error::other(format!("{} is not a regular file", path.display())));
        }
        for attempt in 1.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if attempt < ATTEMPTS => std::thread::sleep(Duration::from_millis(2)),
                Err(TryLockError::WouldBlock) => return Err(busy(folder)),
                // On a file system without locks, a second writer remains undetected.
                Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => break,
                Err(TryLockError::Error(e)) => return Err(at(&path, &e)),
            }
        }
        let id = format!("{:016x}", RandomState::new().build_hasher().finish());
        Ok(Self { file, path, id, text: String::new(), unlisted: vec![] })
    }

    /// Writes the lock file without data and reserves space. Fails if the file cannot be written.
    pub fn begin(&mut self) -> io::Result<()> {
        self.update(None, std::iter::empty::<(&str, u64)>())?;
        self.reserve()
    }

    /// Reserves space after the text for the last manifest. Fails if the file cannot be written.
    fn reserve(&mut self) -> io::Result<()> {
        let reserve = vec![b'\n'; RESERVE];
        self.file.write_all(&reserve).map_err(|e| at(&self.path, &e))
    }

    /// Reads the content of the lock file. Fails if the file cannot be read.
    pub fn content(&mut self) -> io::Result<Vec<u8>> {
        let mut content = vec![];
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut content));
        read.map(|_| content).map_err(|e| at(&self.path, &e))
    }

    /// Writes the content from before a failure again.
    pub fn restore(&mut self, content: &[u8]) {
        let written = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(content));
        if let Err(error) = written.and_then(|()| self.file.set_len(content.len() as u64)) {
            tracing::warn!("{}: {error}", self.path.display());
        }
    }

    /// Writes the lock file of a run that continues: the data written up to `step`, and files that will be removed. Fails
    /// if the file cannot be written.
    pub fn begin_again(&mut self, step: u64, files: &[(String, u64)], removed: &[String]) -> io::Result<()> {
        self.unlisted = removed.to_vec();
        self.update(Some(step), files.iter().map(|(name, n)| (name.as_str(), *n)))?;
        self.reserve()
    }

    /// Overwrites the lock file with the amount of data written. Fails if the file cannot be written.
    pub fn update<'a>(&mut self, step: Option<u64>, files: impl Iterator<Item = (&'a str, u64)>) -> io::Result<()> {
        self.text.clear();
        let _ = write!(self.text, "neuropil run {}\nprocess {}\n", self.id, std::process::id());
        if let Some(step) = step {
            let _ = writeln!(self.text, "step {step}");
        }
        for (name, n_bytes) in files {
            let _ = writeln!(self.text, "{name} {n_bytes}");
        }
        for name in &self.unlisted {
            let _ = writeln!(self.text, "{name} 0");
        }
        self.write()
    }

    /// Adds a file that will be created, until the manifest lists the file ([`Self::all_are_listed`]). If the process ends
    /// in between, the lock file proves that the file belongs to this run. Fails if the file cannot be written.
    pub fn announce(&mut self, name: &str) -> io::Result<()> {
        self.unlisted.push(name.to_owned());
        let end = self.text.rfind("end ").unwrap_or(0);
        self.text.truncate(end);
        let _ = writeln!(self.text, "{name} 0");
        self.write()
    }

    /// Records that the manifest lists every announced file.
    pub fn all_are_listed(&mut self) {
        self.unlisted.clear();
    }

    /// Appends the hash of the text to the text and overwrites the lock file. Fails if the file cannot be written.
    fn write(&mut self) -> io::Result<()> {
        let mut hash = Hash::default();
        hash.add(self.text.as_bytes());
        let _ = writeln!(self.text, "end {}", hash.hex());
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(self.text.as_bytes()))
            .map_err(|e| at(&self.path, &e))
    }

    /// Frees the reserved space, so that the last manifest fits on a full disk.
    pub fn release_reserve(&mut self) {
        self.file.set_len(self.text.len() as u64).ok();
    }
}

fn busy(folder: &Path) -> io::Error {
    let process = read(folder).map_or_else(String::new, |p| format!(" (process {})", p.process));
    let what = format!("{} is being written by another recording{process}; choose another folder", folder.display());
    io::Error::new(ErrorKind::ResourceBusy, what)
}

/// Whether a live process writes the run in this folder.
pub(super) fn is_locked(folder: &Path) -> bool {
    let Ok(file) = run_file::open_regular(&folder.join(LOCK)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Reads the lock file; `None` if the file is missing or incomplete.
pub(super) fn read(folder: &Path) -> Option<Progress> {
    let text = run_file::read_text(&folder.join(LOCK), LIMIT).ok()?;
    let (lines, end) = text.split_once("\nend ")?;
    let mut hash = Hash::default();
    hash.add(lines.as_bytes());
    hash.add(b"\n");
    if end.lines().next()? != hash.hex() {
        return None;
    }
    let mut lines = lines.lines();
    let id = lines.next()?.strip_prefix("neuropil run ")?.to_owned();
    let process = lines.next()?.strip_prefix("process ")?.parse().ok()?;
    let mut progress = Progress { id, process, ..Progress::default() };
    for line in lines {
        let (name, number) = line.rsplit_once(' ')?;
        let number = number.parse().ok()?;
        if name == "step" {
            progress.step = Some(number);
        } else {
            progress.files.push((name.to_owned(), number));
        }
    }
    Some(progress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn a_folder_has_one_writer_and_says_how_far_it_is() {
        let folder = TempFolder::new("lock");
        assert!(!is_locked(&folder));
        let mut lock = RunLock::acquire(&folder).unwrap();
        lock.begin().unwrap();
        assert!(is_locked(&folder));
        let why = RunLock::acquire(&folder).err().unwrap().to_string();
        assert!(why.contains(&format!("process {}", std::process::id())), "{why}");
        lock.update(Some(12), [("spikes.u32", 80), ("a b.f32", 7)].into_iter()).unwrap();
        let progress = read(&folder).unwrap();
        assert_eq!((progress.id.as_str(), progress.step), (lock.id.as_str(), Some(12)));
        assert_eq!(progress.files, [("spikes.u32".to_owned(), 80), ("a b.f32".to_owned(), 7)]);
        lock.release_reserve();
        assert_eq!(read(&folder).unwrap(), progress);
        lock.announce("rate-2.f32").unwrap();
        let files = [("spikes.u32".to_owned(), 80), ("a b.f32".to_owned(), 7), ("rate-2.f32".to_owned(), 0)];
        assert_eq!((read(&folder).unwrap().step, &read(&folder).unwrap().files[..]), (Some(12), &files[..]));
        lock.update(Some(13), [("spikes.u32", 80), ("a b.f32", 7)].into_iter()).unwrap();
        assert_eq!(read(&folder).unwrap().files, files, "until the manifest lists it");
        lock.all_are_listed();
        lock.update(Some(12), [("spikes.u32", 80), ("a b.f32", 7)].into_iter()).unwrap();
        assert_eq!(read(&folder).unwrap(), progress);
        drop(lock);
        assert!(!is_locked(&folder) && read(&folder).is_some());
        let text = std::fs::read_to_string(folder.join(LOCK)).unwrap();
        std::fs::write(folder.join(LOCK), text.replace(" 80", " 81")).unwrap();
        assert_eq!(read(&folder), None, "an incomplete lock file is ignored");
    }
}
