//! Checkpoint of another run at which a branch begins. The branch keeps a copy of the checkpoint, so that it can be
//! replayed without the other run; branches of older versions read the checkpoint from the other run.

use super::{
    CheckpointFile, CheckpointInfo, RunFolder, RunWriter, continuation, durability, manifest::Parent, run::at, run_file,
};
use crate::sim::{Progress, SimError, Snapshot};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Component, Path, PathBuf},
};

/// File name of the copied checkpoint.
pub const PARENT_STATE: &str = "parent.state";
/// File name of the copied checkpoint while it is written.
pub(super) const PARENT_PART: &str = "parent.state.part";

impl RunWriter {
    /// Makes this a run that begins at a checkpoint of another run, which is copied to the folder of this run. Fails if the
    /// checkpoint cannot be copied; the run is then closed as failed.
    pub fn branch_of(mut self, run: &Path, checkpoint: CheckpointInfo) -> io::Result<Self> {
        if let Err(error) = self.copy_parent(run, &checkpoint) {
            fs::remove_file(self.folder.join(PARENT_PART)).ok();
            self.fail(&error.to_string())?;
            return Err(error);
        }
        let copy = PARENT_STATE.to_owned();
        self.manifest.parent = Some(Parent { run: relative(&self.folder, run), checkpoint, copy });
        self.list_files()?;
        Ok(self)
    }

    /// Copies a checkpoint and verifies the copy. Fails if the other run's checkpoint has changed.
    fn copy_parent(&mut self, run: &Path, checkpoint: &CheckpointInfo) -> io::Result<()> {
        let (from, part) = (run_file::inside(run, &checkpoint.file)?, self.folder.join(PARENT_PART));
        let mut source = run_file::open_regular(&from)?;
        self.lock.announce(PARENT_PART)?;
        self.lock.announce(PARENT_STATE)?;
        let mut file = run_file::create_new(&part)?;
        io::copy(&mut source, &mut file).and_then(|_| durability::sync(&file)).map_err(|e| at(&part, &e))?;
        let copy = CheckpointFile::open(&part)?;
        if copy.hash != checkpoint.hash {
            let what = format!("{} is not the checkpoint of step {} any more", from.display(), checkpoint.step);
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        copy.verify(&mut |_| true)?;
        let path = self.folder.join(PARENT_STATE);
        fs::rename(&part, &path).map_err(|e| at(&path, &e))
    }
}

impl RunFolder {
    /// Reads the state at which a branch begins; `None` for a run that begins at step 0. Fails if the checkpoint is missing or
    /// damaged.
    pub fn parent_state(&self, progress: &Progress) -> Result<Option<Snapshot>, SimError> {
        let Some(parent) = &self.manifest.parent else { return Ok(None) };
        let missing = |why: &str| {
            let (run, step) = (self.path.join(&parent.run), parent.checkpoint.step);
            SimError::Input(format!("the run begins at the checkpoint of step {step} in {}: {why}", run.display()))
        };
        let file = self.parent_file(parent).map_err(|e| missing(&e.to_string()))?;
        continuation::read(&file, parent.checkpoint.n_bytes, progress).map(Some)
    }

    /// Opens the checkpoint at which a branch begins and verifies its directory. Fails if the file is another checkpoint.
    pub(super) fn parent_file(&self, parent: &Parent) -> io::Result<CheckpointFile> {
        let path = match parent.copy.as_str() {
            "" => run_file::inside(&self.path.join(&parent.run), &parent.checkpoint.file)?,
            copy => run_file::inside(&self.path, copy)?,
        };
        let file = CheckpointFile::open(&path)?;
        if file.hash != parent.checkpoint.hash {
            let what = format!("{}: another checkpoint is there now", path.display());
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        Ok(file)
    }
}

/// Whether two folders are equal or nested after links are resolved. The folders need not exist.
pub fn overlap(a: &Path, b: &Path) -> bool {
    let (a, b) = (resolved(a), resolved(b));
    a.starts_with(&b) || b.starts_with(&a)
}

/// Returns the absolute path, without links, of a folder that need not exist.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut out = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
        out = fs::canonicalize(&out).unwrap_or(out);
    }
    out
}

/// Returns the relative path from one folder to another, or `to` unchanged if one of the folders does not exist.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (Ok(from), Ok(to)) = (fs::canonicalize(from), fs::canonicalize(to)) else { return to.to_owned() };
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn folders_that_contain_each_other_overlap_by_every_path() {
        let temp = TempFolder::new("overlap");
        let run = temp.join("runs/a");
        fs::create_dir_all(&run).unwrap();
        let out = |path: &str| temp.join(path);
        for same in ["runs/a", "runs/./a/", "runs/b/../a", "runs/a/inside/deep", "runs/a/..", "runs"] {
            assert!(overlap(&out(same), &run), "{same}");
        }
        for other in ["runs/b", "runs/a2", "runs/a/../b", "x/y/z"] {
            assert!(!overlap(&out(other), &run), "{other}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&run, out("link")).unwrap();
            assert!(overlap(&out("link"), &run) && overlap(&out("link/new"), &run) && overlap(&run, &out("link/.")));
            assert!(!overlap(&out("link/../b"), &run), "beside the target");
        }
    }
}
