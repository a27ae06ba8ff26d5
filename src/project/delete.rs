//! Deletion of runs. Only files of the run are removed; a folder that contains other files remains with them.

use super::{
    RunFolder,
    branches::{Branch, branches_of, name_of},
    checkpoint_file,
    rename::lock_existing,
    replace,
    run::{LOCK, NOTE, TAGS, at},
    unlisted::remove,
};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// Run that may be deleted, with the consequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Folder of the run.
    pub folder: PathBuf,
    /// Size of all files in the folder, bytes.
    pub n_bytes: u64,
    /// Branches of the run beside it.
    pub branches: Vec<Branch>,
}

impl Deletion {
    /// Reads size and branches of a run. Fails if the folder is not a run.
    pub fn of(run: &Path) -> io::Result<Self> {
        is_deletable(run)?;
        Ok(Self { folder: run.to_owned(), n_bytes: size_of_folder(run), branches: branches_of(run)? })
    }

    /// Returns the name of the run.
    pub fn name(&self) -> String {
        name_of(&self.folder)
    }
}

/// Opens a run that can be deleted. Fails if the folder is a link or not a run.
fn is_deletable(run: &Path) -> io::Result<RunFolder> {
    if fs::symlink_metadata(run).is_ok_and(|m| m.is_symlink()) {
        let what = format!("{} is a link to a folder; delete the folder itself", run.display());
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    }
    RunFolder::open(run)
}

/// Returns the size of all files in a folder without following links, bytes.
fn size_of_folder(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(m) if m.is_dir() => size_of_folder(&entry.path()),
        Ok(m) if m.is_file() => m.len(),
        _ => 0,
    };
    entries.map(size).sum()
}

/// Deletes a run. Returns the names of files that are not part of the run and remain in the folder.
///
/// # Errors
/// Fails if the folder is not a run, a process is writing the run, or a file cannot be removed. The manifest is removed last, so
/// that a run which was deleted in part can be deleted again.
pub fn delete_run(folder: &Path) -> io::Result<Vec<String>> {
    let run = is_deletable(folder)?;
    let lock = lock_existing(folder)?;
    // Runs of older versions have no id, which would identify their checkpoints.
    let checkpoints = run.manifest.checkpoints.iter().map(|info| info.file.as_str());
    for name in checkpoints.filter(|name| checkpoint_file::is_file_name(name)).chain([NOTE, TAGS]) {
        remove(folder, name)?;
    }
    replace::clear(&run).map_err(|e| at(folder, &e))?;
    drop(lock);
    remove(folder, LOCK)?;
    let mut others: Vec<String> = fs::read_dir(folder)
        .map_err(|e| at(folder, &e))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    others.sort();
    if others.is_empty() {
        fs::remove_dir(folder).map_err(|e| at(folder, &e))?;
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::{super::unlisted::tests as writing, *};
    use crate::project::{labels, run::MANIFEST};
    use neuropil_test_support::temp::TempFolder;

    /// Records a run with fields, sets and a checkpoint, and labels it.
    fn recorded(folder: &Path) {
        let mut writer = writing::create(folder).expect("a writer");
        writing::first_part(&mut writer).expect("recorded");
        writing::second_part(writer).expect("recorded");
        labels::save_note(folder, "a note").expect("saved");
        labels::save_tags(folder, &["kept".into()]).expect("saved");
    }

    #[test]
    fn a_deleted_run_leaves_nothing_but_files_of_others() {
        let runs = TempFolder::new("delete");
        let (a, b) = (runs.join("a"), runs.join("b"));
        recorded(&a);
        recorded(&b);
        let deletion = Deletion::of(&a).expect("a run");
        assert!(deletion.n_bytes > 1000 && deletion.branches.is_empty() && deletion.name() == "a", "{deletion:?}");
        assert_eq!(delete_run(&a).expect("deleted"), [""; 0]);
        assert!(!a.exists());
        fs::write(b.join("thesis.tex"), "years of work").expect("written");
        assert_eq!(delete_run(&b).expect("deleted"), ["thesis.tex"]);
        assert_eq!(fs::read_to_string(b.join("thesis.tex")).expect("it stays"), "years of work");
        assert!(!b.join(MANIFEST).exists());
    }

    #[test]
    fn only_runs_that_are_not_being_written_are_deleted() {
        let runs = TempFolder::new("delete-refused");
        fs::create_dir(runs.join("photos")).expect("a folder");
        fs::write(runs.join("photos/1.jpg"), "x").expect("written");
        assert!(Deletion::of(&runs.join("photos")).is_err() && delete_run(&runs.join("photos")).is_err());
        assert!(delete_run(&runs.join("missing")).is_err());
        let busy = runs.join("busy");
        let writer = writing::create(&busy).expect("a writer");
        assert!(delete_run(&busy).is_err() && busy.join(MANIFEST).exists());
        drop(writer);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&busy, runs.join("link")).expect("a link");
            assert!(delete_run(&runs.join("link")).is_err() && busy.join(MANIFEST).exists());
        }
        assert_eq!(delete_run(&busy).expect("its process ended"), [""; 0]);
    }
}
