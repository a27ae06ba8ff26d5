//! Renaming of a run folder. Branches of the run name the new folder afterwards.

use super::{
    RunFolder,
    branches::{Branch, branches_of, name_of},
    lock::RunLock,
    run::{LOCK, at},
    run_file,
};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// Maximum length of a folder name in bytes, the limit of common file systems.
const MAX_NAME: usize = 255;

/// A run after renaming.
#[derive(Clone, Debug)]
pub struct Renamed {
    /// New path of the folder.
    pub folder: PathBuf,
    /// Branches that still name the old folder, with the reasons.
    pub problems: Vec<String>,
}

/// Returns the reason why a run cannot have this name; `None` if it can.
pub fn why_not_name(name: &str) -> Option<&'static str> {
    let is_odd = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    match name {
        "" => Some("Enter a name"),
        _ if name.len() > MAX_NAME => Some("The name is too long for a folder"),
        _ if name.starts_with('.') => Some("Names that begin with a point are hidden folders"),
        _ if name.trim() != name || name.ends_with('.') => Some("The name begins or ends with a space or a point"),
        _ if name.contains(is_odd) => Some("The name contains a character that folder names cannot have"),
        _ if !run_file::is_plain_name(name) => Some("This is not the name of a folder"),
        _ => None,
    }
}

/// Renames the folder of a run within its parent folder, and updates the branches of the run beside it.
///
/// # Errors
/// Fails, without a change, if the folder is not a run, the run or one of its branches is being recorded, the name is not usable,
/// or a file or folder with this name exists.
pub fn rename_run(run: &Path, name: &str) -> io::Result<Renamed> {
    if let Some(why) = why_not_name(name) {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{why}: `{name}`")));
    }
    RunFolder::open(run)?;
    let _lock = lock_existing(run)?;
    let branches = branches_of(run)?;
    if let Some(branch) = branches.iter().find(|branch| branch.is_written()) {
        let what = format!("{}, which branches from this run, is being recorded; wait for its end", branch.name());
        return Err(io::Error::new(ErrorKind::ResourceBusy, what));
    }
    let folder = run.with_file_name(name);
    move_to_free(run, &folder)?;
    let problems = branches.iter().filter_map(|branch| update(branch, &name_of(&folder))).collect();
    Ok(Renamed { folder, problems })
}

/// Locks a run that has a lock file, so that no process continues the run meanwhile. Fails if a process is writing the run.
pub(super) fn lock_existing(run: &Path) -> io::Result<Option<RunLock>> {
    match run_file::size_of(&run.join(LOCK)) {
        Some(_) => RunLock::acquire(run).map(Some),
        None => Ok(None),
    }
}

/// Moves a folder to a new path. Fails if something has this path.
fn move_to_free(from: &Path, to: &Path) -> io::Result<()> {
    // A folder that is created first reserves the name; the system replaces empty folders only.
    fs::create_dir(to).map_err(|e| at(to, &e))?;
    if !cfg!(unix) {
        fs::remove_dir(to)?;
    }
    fs::rename(from, to).map_err(|e| {
        fs::remove_dir(to).ok();
        at(from, &e)
    })
}

/// Makes a branch name the renamed folder beside it. Returns a message if this fails.
fn update(branch: &Branch, name: &str) -> Option<String> {
    let parent = Path::new("..").join(name);
    let why = branch.set_parent(&parent).err()?;
    Some(format!("{} still names the old folder as the run it branches from: {why}", branch.name()))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Manifest, Parent,
            manifest::Status,
            run::{FORMAT, MANIFEST},
            writer::save_manifest,
        },
        *,
    };
    use neuropil_test_support::temp::TempFolder;

    /// Writes a run without data that branches from another one.
    fn run(runs: &Path, name: &str, parent: Option<&str>) -> PathBuf {
        let folder = runs.join(name);
        fs::create_dir(&folder).expect("a folder");
        let parent = parent.map(|run| Parent { run: Path::new("..").join(run), ..Parent::default() });
        let parent = parent.map(|parent| Parent { copy: "parent.state".into(), ..parent });
        let manifest = Manifest {
            format: FORMAT,
            kind: "spiking".into(),
            status: Status::Complete,
            secs_per_step: 1e-4,
            parent,
            ..Manifest::default()
        };
        let manifest = match manifest.parent {
            Some(mut parent) => {
                parent.checkpoint.file = "checkpoint-000000001.state".into();
                Manifest { parent: Some(parent), ..manifest }
            }
            None => manifest,
        };
        save_manifest(&folder, &manifest).expect("a manifest");
        folder
    }

    #[test]
    fn a_renamed_run_is_still_the_parent_of_its_branches() {
        let runs = TempFolder::new("rename");
        let (a, b) = (run(&runs, "0001-a", None), run(&runs, "0002-b", Some("0001-a")));
        run(&runs, "0003-c", Some("0002-b"));
        let renamed = rename_run(&a, "baseline 2").expect("renamed");
        assert_eq!((renamed.folder.as_path(), renamed.problems.len()), (runs.join("baseline 2").as_path(), 0));
        assert!(!a.exists() && renamed.folder.join(MANIFEST).exists());
        let branch = RunFolder::open(&b).expect("the branch");
        assert_eq!(branch.manifest.parent.expect("a parent").run, Path::new("../baseline 2"));
        assert_eq!(branch.manifest_matches, Some(true), "its hash is that of the new manifest");
        assert_eq!(branches_of(&renamed.folder).expect("read").len(), 1);
    }

    #[test]
    fn nothing_is_renamed_to_an_existing_or_unusable_name() {
        let runs = TempFolder::new("rename-refused");
        let (a, _) = (run(&runs, "a", None), run(&runs, "b", None));
        fs::create_dir(runs.join("empty")).expect("a folder");
        for name in ["b", "empty", "a", "", "../x", "x/y", ".hidden", "x\n", "trailing ", "a:b"] {
            let error = rename_run(&a, name).expect_err(name);
            assert!(a.join(MANIFEST).exists() && runs.join("empty").exists(), "{name}: {error}");
        }
        assert!(rename_run(&runs.join("empty"), "c").is_err(), "not a run");
    }

    #[test]
    fn a_run_is_not_renamed_while_it_or_a_branch_is_recorded() {
        let runs = TempFolder::new("rename-busy");
        let (a, b) = (run(&runs, "a", None), run(&runs, "b", Some("a")));
        for busy in [&a, &b] {
            let mut lock = RunLock::acquire(busy).expect("a lock");
            lock.begin().expect("begun");
            assert!(rename_run(&a, "c").is_err() && a.exists(), "{}", busy.display());
            drop(lock);
        }
        rename_run(&a, "c").expect("no process writes it");
    }
}
