//! Exported files, which are written under temporary names and renamed after all files are complete.

use super::at;
use crate::project::RunFolder;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// Files of one export. If the value is dropped without [`commit`](Self::commit), the temporary files are removed.
pub(super) struct Outputs<'a> {
    run: &'a RunFolder,
    /// Temporary and final paths.
    files: Vec<(PathBuf, PathBuf)>,
}

impl<'a> Outputs<'a> {
    pub fn new(run: &'a RunFolder) -> Self {
        Self { run, files: vec![] }
    }

    /// Creates a temporary file whose final path is `path`. Fails if `path` is a folder or a file of the run, or if the
    /// file cannot be created.
    pub fn create(&mut self, path: &Path) -> io::Result<File> {
        if self.run.is_own_file(path) {
            let what = format!("{} is part of the run; choose another name", path.display());
            return Err(io::Error::new(ErrorKind::AlreadyExists, what));
        }
        if path.is_dir() {
            return Err(io::Error::new(ErrorKind::IsADirectory, format!("{} is a folder", path.display())));
        }
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        fs::remove_file(&temporary).ok();
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(at(path))?;
        self.files.push((temporary, path.to_owned()));
        Ok(file)
    }

    /// Renames all files to their final names and returns their paths. Fails at the first file that cannot be renamed; the
    /// temporary files after it are removed.
    pub fn commit(mut self) -> io::Result<Vec<PathBuf>> {
        for (temporary, path) in &self.files {
            fs::rename(temporary, path).map_err(at(path))?;
        }
        Ok(std::mem::take(&mut self.files).into_iter().map(|(_, path)| path).collect())
    }
}

impl Drop for Outputs<'_> {
    fn drop(&mut self) {
        for (temporary, _) in &self.files {
            fs::remove_file(temporary).ok();
        }
    }
}
