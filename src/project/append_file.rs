//! Append-only files of a run.

use super::{
    manifest::FileInfo,
    run::at,
    run_file::{self, Hash},
};
use std::{
    fs::{File, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

/// Append-only file of whole blocks, with its hash.
pub(super) struct AppendFile {
    pub file: File,
    pub path: PathBuf,
    pub n_bytes: u64,
    pub hash: Hash,
}

impl AppendFile {
    /// Creates a file with its first bytes. Fails if the file exists.
    pub fn create(folder: &Path, name: &str, head: &[u8]) -> io::Result<Self> {
        let path = run_file::inside(folder, name)?;
        let file = run_file::create_new(&path)?;
        let mut appended = Self { file, path, n_bytes: 0, hash: Hash::default() };
        #[cfg(test)]
        stop::after_a_file()?;
        appended.append(head)?;
        Ok(appended)
    }

    /// Opens a file to continue at the length `n_bytes`, up to which its hash is `hash`. The bytes after this length are
    /// kept until [`Self::cut_rest`]. Fails if the file cannot be opened for writing.
    pub fn reopen(folder: &Path, name: &str, n_bytes: u64, hash: Hash) -> io::Result<Self> {
        let path = run_file::inside(folder, name)?;
        let mut options = OpenOptions::new();
        options.write(true);
        run_file::no_follow(&mut options);
        let mut file = options.open(&path).map_err(|e| at(&path, &e))?;
        file.seek(SeekFrom::Start(n_bytes)).map_err(|e| at(&path, &e))?;
        Ok(Self { file, path, n_bytes, hash })
    }

    /// Removes the bytes after the length at which the file continues. Fails if the file cannot be truncated.
    pub fn cut_rest(&self) -> io::Result<()> {
        self.file.set_len(self.n_bytes).map_err(|e| at(&self.path, &e))?;
        #[cfg(test)]
        stop::after_a_file()?;
        Ok(())
    }

    /// Appends a block and passes it to the operating system, so that the block survives a crash of the program. Fails if
    /// the block cannot be written; a partly written block is then removed.
    pub fn append(&mut self, block: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(block) {
            self.cut(self.n_bytes);
            return Err(at(&self.path, &error));
        }
        self.hash.add(block);
        self.n_bytes += block.len() as u64;
        Ok(())
    }

    /// Cuts the file to `n_bytes` bytes. Errors are ignored.
    pub fn cut(&mut self, n_bytes: u64) {
        self.file.set_len(n_bytes).ok();
        self.file.seek(SeekFrom::Start(n_bytes)).ok();
    }

    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn info(&self) -> FileInfo {
        FileInfo { name: self.name(), n_bytes: self.n_bytes, hash: self.hash.hex() }
    }
}

/// Fault injection: makes a writer fail after a number of created or cut files, as if its process had been killed.
#[cfg(test)]
pub(super) mod stop {
    use std::{cell::Cell, io};

    thread_local! {
        static FILES_LEFT: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// Makes creating or cutting a file on this thread fail after `n_files` successful calls; with `None`, the calls never
    /// fail.
    pub fn after(n_files: Option<u32>) {
        FILES_LEFT.set(n_files);
    }

    pub fn after_a_file() -> io::Result<()> {
        match FILES_LEFT.get() {
            Some(0) => Err(io::Error::other("stopped")),
            left => {
                FILES_LEFT.set(left.map(|n| n - 1));
                Ok(())
            }
        }
    }
}
