//! Exported files and folders, which are written under temporary names and renamed after all of them are complete.

use super::trial::at;
use crate::project::RunFolder;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// File in an exported folder that identifies it as an export, so that a later export may replace it.
const MARKER: &str = "neuropil-export.txt";

/// Files and folders of one export. If the value is dropped without [`commit`](Self::commit), the temporary ones are removed.
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
        let temporary = temporary(path);
        fs::remove_file(&temporary).ok();
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(at(path))?;
        self.files.push((temporary, path.to_owned()));
        Ok(file)
    }

    /// Creates a temporary folder for the final path `path`. Fails if `path` is a file, a file of the run or a folder that is
    /// no export, or if the folder cannot be created.
    pub fn create_folder(&mut self, path: &Path) -> io::Result<PathBuf> {
        let refuse = |what: &str| {
            let what = format!("{} {what}; choose another name", path.display());
            Err(io::Error::new(ErrorKind::AlreadyExists, what))
        };
        if self.run.is_own_file(path) {
            return refuse("is part of the run");
        }
        if fs::symlink_metadata(path).is_ok() && !is_export(path) {
            return refuse("exists and is no export");
        }
        let temporary = temporary(path);
        fs::remove_dir_all(&temporary).ok();
        fs::create_dir(&temporary).map_err(at(path))?;
        self.files.push((temporary.clone(), path.to_owned()));
        let marker = temporary.join(MARKER);
        fs::write(&marker, "Exported by neuropil. A later export of this name replaces the folder.\n")
            .map_err(at(&marker))?;
        Ok(temporary)
    }

    /// Renames all files and folders to their final names and returns their paths. Fails at the first that cannot be renamed; the
    /// temporary ones after it are removed.
    pub fn commit(mut self) -> io::Result<Vec<PathBuf>> {
        for (temporary, path) in &self.files {
            if temporary.is_dir() && is_export(path) {
                fs::remove_dir_all(path).map_err(at(path))?;
            }
            fs::rename(temporary, path).map_err(at(path))?;
        }
        Ok(std::mem::take(&mut self.files).into_iter().map(|(_, path)| path).collect())
    }
}

impl Drop for Outputs<'_> {
    fn drop(&mut self) {
        for (temporary, _) in &self.files {
            if temporary.is_dir() {
                fs::remove_dir_all(temporary).ok();
            }
            fs::remove_file(temporary).ok();
        }
    }
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

/// Whether a path is the folder of an export.
fn is_export(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir()) && path.join(MARKER).is_file()
}

/// Returns the size of a file, or of all files in a folder, bytes. Files that cannot be read are left out.
pub(super) fn size_of(path: &Path) -> u64 {
    let Ok(about) = fs::symlink_metadata(path) else { return 0 };
    if !about.is_dir() {
        return about.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size_of(&entry.path())).sum()
}
