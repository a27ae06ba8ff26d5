//! Atomic file replacement: a file is either old or new, never partial.

use crate::data::io_reason;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Replaces a file: temporary file in the same folder, fsync, rename, fsync of the folder. With `backup` the old content is
/// kept as `NAME.bak`. Fails if a step fails; the old file is then unchanged.
pub fn write_atomic(path: &Path, content: &[u8], backup: bool) -> io::Result<()> {
    // A link is resolved, so that its target is replaced and the link kept.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    write(path, content, backup)
}

/// Replaces a file in a run folder. A link is replaced and not followed. Fails if the file cannot be written.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    write(path, content, false)
}

fn write(path: &Path, content: &[u8], backup: bool) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(temporary_name(&name, std::process::id()));
    let done = fill(&temporary, path, content).and_then(|()| {
        if backup && path.exists() {
            keep_backup(path)?;
        }
        fs::rename(&temporary, path)
    });
    if let Err(error) = done {
        fs::remove_file(&temporary).ok();
        return Err(explain(error, path));
    }
    sync_folder(path);
    Ok(())
}

/// Returns the name of the temporary file to which the process with the id `process` writes the new content of `name`.
pub(super) fn temporary_name(name: &str, process: u32) -> String {
    format!("{name}.{process}.tmp")
}

fn fill(temporary: &Path, like: &Path, content: &[u8]) -> io::Result<()> {
    fs::remove_file(temporary).ok();
    let mut file = OpenOptions::new().write(true).create_new(true).open(temporary)?;
    file.write_all(content)?;
    if let Some(old) = fs::symlink_metadata(like).ok().filter(fs::Metadata::is_file) {
        file.set_permissions(old.permissions())?;
    }
    super::durability::sync(&file)
}

/// Keeps a backup as a hard link, which also works on a full disk, or as a copy on file systems without links. Fails if
/// neither works.
fn keep_backup(path: &Path) -> io::Result<()> {
    let backup = sibling(path, ".bak");
    let fresh = sibling(path, &format!(".{}.bak", std::process::id()));
    fs::remove_file(&fresh).ok();
    if fs::hard_link(path, &fresh).is_err() {
        fs::copy(path, &fresh).inspect_err(|_| drop(fs::remove_file(&fresh)))?;
    }
    fs::rename(&fresh, backup)
}

/// Makes a rename in the folder of `path` durable, on systems where folders can be synced.
fn sync_folder(path: &Path) {
    if let Some(Ok(folder)) = path.parent().map(File::open) {
        super::durability::sync(&folder).ok();
    }
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Adds the path to an error and, if the file exists, a note that the file is unchanged.
fn explain(error: io::Error, path: &Path) -> io::Error {
    let intact = if path.exists() { "; the existing file is unchanged" } else { "" };
    io::Error::new(error.kind(), format!("cannot write {}: {}{intact}", path.display(), io_reason(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn old_or_new_and_one_backup() {
        let folder = TempFolder::new("disk");
        let path = folder.join("a.ron");
        for text in ["one", "two", "three"] {
            write_atomic(&path, text.as_bytes(), true).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_to_string(folder.join("a.ron.bak")).unwrap(), "two");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no temporary file is left");
        let error = write_atomic(&folder.join("missing/b.ron"), b"x", true).unwrap_err();
        assert!(error.to_string().contains("missing/b.ron"), "{error}");
    }
}
