//! The runs that begin at a checkpoint of another run and are in the same folder.

use super::{
    Manifest, file, lock,
    run::{MANIFEST, at},
    run_file,
    writer::{manifest_matches, save_manifest},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Maximum size of a manifest, bytes.
const MAX_MANIFEST: u64 = 1 << 28;

/// Run that begins at a checkpoint of another run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Folder of the branch.
    pub folder: PathBuf,
    /// Whether the branch keeps a copy of the checkpoint. A branch of an older version reads the other run and cannot be
    /// replayed without it.
    pub has_copy: bool,
}

impl Branch {
    /// Returns the name of the folder.
    pub fn name(&self) -> String {
        name_of(&self.folder)
    }

    /// Whether a process is writing the branch, so that its manifest must not be changed.
    pub(super) fn is_written(&self) -> bool {
        lock::is_locked(&self.folder)
    }

    /// Names another folder as the parent of the branch. Fails if the manifest cannot be read or written, or if its
    /// hash differs.
    pub(super) fn set_parent(&self, parent: &Path) -> io::Result<()> {
        let path = self.folder.join(MANIFEST);
        let text = run_file::read_text(&path, MAX_MANIFEST)?;
        if manifest_matches(&text) == Some(false) {
            return Err(io::Error::other(format!("{}: its hash differs", path.display())));
        }
        let mut manifest = parse(&text).ok_or_else(|| io::Error::other(format!("{} is unreadable", path.display())))?;
        if let Some(known) = &mut manifest.parent {
            known.run = parent.to_owned();
        }
        save_manifest(&self.folder, &manifest)
    }
}

fn parse(text: &str) -> Option<Manifest> {
    file::from_ron(text).ok()
}

/// Returns the name of a folder for messages.
pub(super) fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Lists the branches of a run among the runs beside it, sorted by name. Fails if the folder of the runs cannot be read.
pub fn branches_of(run: &Path) -> io::Result<Vec<Branch>> {
    let (run, runs) = (full(run)?, run.parent().unwrap_or(Path::new(".")));
    let entries = fs::read_dir(runs).map_err(|e| at(runs, &e))?.flatten().map(|entry| entry.path());
    let mut branches: Vec<Branch> = entries.filter_map(|folder| branch(folder, &run)).collect();
    branches.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(branches)
}

fn full(folder: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(folder).map_err(|e| at(folder, &e))
}

/// Returns the run in a folder if it begins at a checkpoint of the run `of`, whose path is absolute and without links.
fn branch(folder: PathBuf, of: &Path) -> Option<Branch> {
    let manifest = parse(&run_file::read_text(&folder.join(MANIFEST), MAX_MANIFEST).ok()?)?;
    let parent = manifest.parent?;
    let is_of = fs::canonicalize(folder.join(&parent.run)).is_ok_and(|path| path == of);
    is_of.then_some(Branch { folder, has_copy: !parent.copy.is_empty() })
}
