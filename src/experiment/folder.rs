//! The folder of an experiment.
//!
//! ```text
//! runs/0008-taste/
//!   project.ron        the project with its experiment
//!   experiment.ron     the manifest: status, device, control, units of the measures
//!   conditions.csv     the flat list of conditions
//!   results.csv        a row per condition, seed and measure
//!   results.parquet    the same rows, when all trials are finished
//!   trials/000012-7    the run folder of condition 12 (from 0) with seed 7, if every trial is recorded
//! ```

use super::{
    Plan, plan_file,
    shard::Shard,
    table::{RESULTS, Table},
};
use crate::{
    data::io_reason,
    project::{self, Project, experiment::Experiment, run::PROJECT, write_atomic},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{File, OpenOptions, TryLockError},
    path::{Path, PathBuf},
};

/// File name of the manifest.
pub const MANIFEST: &str = "experiment.ron";
/// File name of the table in Parquet.
pub const RESULTS_PARQUET: &str = "results.parquet";
/// File name of the lock.
const LOCK: &str = "experiment.lock";
/// Folder of recorded trials.
pub const TRIALS: &str = "trials";
/// Version of the folder's format.
const FORMAT: u32 = 1;

/// State of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Trials are missing: a process runs them, or it was ended.
    #[default]
    Running,
    /// All trials are finished or have failed.
    Complete,
    /// The user cancelled the experiment.
    Interrupted,
    /// The experiment ended for this reason.
    Failed(String),
}

impl Status {
    /// Returns the state as a word, with the reason of a failure.
    pub fn words(&self) -> String {
        match self {
            Self::Running => "not finished".to_owned(),
            Self::Complete => "complete".to_owned(),
            Self::Interrupted => "interrupted".to_owned(),
            Self::Failed(why) => format!("failed: {why}"),
        }
    }
}

/// Manifest of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Version of the folder's format.
    pub format: u32,
    /// Program and version.
    pub app: String,
    /// Name of the project.
    pub name: String,
    /// Name of the kind.
    pub kind: String,
    /// State of the experiment.
    pub status: Status,
    /// Device of the trials.
    pub device: String,
    /// Number of CPU threads.
    pub threads: u32,
    /// Folder from which relative paths of the project start.
    pub base: String,
    /// Command line that began the experiment; empty for the window.
    pub command: String,
    /// Start of the experiment, UTC.
    pub started: String,
    /// End of the last part, UTC.
    pub stopped: String,
    /// Wall time of all parts, seconds.
    pub wall_s: f64,
    /// Name of the control.
    pub control: String,
    /// Part of the experiment that the folder holds.
    pub shard: Shard,
    /// Names of the measures with the units of their values.
    pub measures: Vec<(String, String)>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            format: FORMAT,
            app: project::run::app_version(),
            name: String::new(),
            kind: String::new(),
            status: Status::Running,
            device: String::new(),
            threads: 0,
            base: String::new(),
            command: String::new(),
            started: project::run::now_utc(),
            stopped: String::new(),
            wall_s: 0.0,
            control: String::new(),
            shard: Shard::default(),
            measures: vec![],
        }
    }
}

/// Experiment in a folder.
#[derive(Clone, Debug)]
pub struct ExperimentFolder {
    /// Path of the folder.
    pub path: PathBuf,
    /// Contents of the manifest.
    pub manifest: Manifest,
    /// The project with its experiment.
    pub project: Project,
    /// Conditions in the order of the table.
    pub plan: Plan,
}

/// Lock of a folder, held while a process writes it. The system releases the lock when the process ends.
#[derive(Debug)]
pub struct FolderLock(#[expect(dead_code, reason = "holds the lock")] File);

/// Whether a folder contains an experiment.
pub fn is_experiment(folder: &Path) -> bool {
    folder.join(MANIFEST).is_file()
}

impl ExperimentFolder {
    /// Writes the files of a new experiment into a new or empty folder: project, conditions, an empty table and the manifest,
    /// which is the last.
    ///
    /// # Errors
    /// Fails if the folder contains anything, or a file cannot be written.
    pub fn create(path: &Path, manifest: Manifest, project: Project, plan: Plan) -> Result<(Self, FolderLock), String> {
        let wrong = |e: std::io::Error| format!("{}: {}", path.display(), io_reason(&e));
        std::fs::create_dir_all(path).map_err(wrong)?;
        if is_experiment(path) {
            return Err(format!(
                "{} contains an experiment; --resume continues it, or choose another folder",
                path.display()
            ));
        }
        if std::fs::read_dir(path).map_err(wrong)?.next().is_some() {
            return Err(format!("{} is not empty; choose another folder", path.display()));
        }
        let new = Self { path: path.to_owned(), manifest, project, plan };
        let lock = new.lock()?;
        new.write(PROJECT, &project::write(&new.project).map_err(|e| e.to_string())?)?;
        new.write(plan_file::CONDITIONS, &plan_file::text(&new.plan)?)?;
        new.write(RESULTS, &Table::head())?;
        new.save_manifest()?;
        Ok((new, lock))
    }

    /// Opens the experiment in a folder.
    ///
    /// # Errors
    /// Fails if the folder contains no experiment, or its manifest, project or list of conditions is invalid.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = path.join(MANIFEST);
        let text = std::fs::read_to_string(&file).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => format!("{} is not an experiment: it has no {MANIFEST}", path.display()),
            _ => format!("{}: {}", file.display(), io_reason(&e)),
        })?;
        let manifest: Manifest = project::from_ron(&text).map_err(|e| e.in_file(&file).to_string())?;
        if manifest.format != FORMAT || !manifest.shard.is_valid() {
            return Err(format!("{}: a manifest of another version, or an invalid one", file.display()));
        }
        let (project, _) = project::open(&path.join(PROJECT)).map_err(|e| e.to_string())?;
        if project.experiment.is_none() {
            return Err(format!("{}: the project has no experiment", path.join(PROJECT).display()));
        }
        let plan = plan_file::open(&path.join(plan_file::CONDITIONS), &manifest.control)?;
        Ok(Self { path: path.to_owned(), manifest, project, plan })
    }

    /// Returns the experiment of the project.
    pub fn experiment(&self) -> Experiment {
        self.project.experiment.clone().unwrap_or_default()
    }

    /// Locks the folder for writing.
    ///
    /// # Errors
    /// Fails if another process is writing the folder.
    pub fn lock(&self) -> Result<FolderLock, String> {
        let path = self.path.join(LOCK);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|e| format!("{}: {}", path.display(), io_reason(&e)))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock(file)),
            // On a file system without locks, a second writer remains undetected.
            Err(TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => Ok(FolderLock(file)),
            Err(TryLockError::WouldBlock) => Err(format!("another process is writing {}", self.path.display())),
            Err(TryLockError::Error(e)) => Err(format!("{}: {}", path.display(), io_reason(&e))),
        }
    }

    /// Returns a table without rows for the conditions and measures.
    pub fn empty_table(&self) -> Table {
        Table::new(&self.plan, self.experiment().measures.iter().map(|measure| measure.name.clone()).collect())
    }

    /// Reads the table. The table of an experiment that is not complete may end within a trial.
    ///
    /// # Errors
    /// Fails with the line of the first mistake.
    pub fn table(&self) -> Result<Table, String> {
        self.empty_table().open(&self.path.join(RESULTS), self.manifest.status == Status::Complete)
    }

    /// Reads the table and leaves out the damaged rows. Returns a message about each.
    pub fn table_with_problems(&self) -> (Table, Vec<String>) {
        let file = self.path.join(RESULTS);
        match std::fs::read_to_string(&file) {
            Ok(text) => {
                let is_closed = self.manifest.status == Status::Complete;
                self.empty_table().read_with_problems(&text, &file, is_closed)
            }
            Err(e) => (self.empty_table(), vec![format!("{}: {}", file.display(), io_reason(&e))]),
        }
    }

    /// Returns the trials that the folder holds, as index of the condition and seed, in the order of the table.
    pub fn trials(&self) -> Vec<(usize, u64)> {
        let all = self.plan.conditions.iter().enumerate();
        let all = all.flat_map(|(i, condition)| condition.seeds.iter().map(move |seed| (i, *seed)));
        let own = all.enumerate().filter(|(i, _)| self.manifest.shard.has(*i));
        own.map(|(_, trial)| trial).collect()
    }

    /// Returns the run folder of a recorded trial.
    pub fn trial_folder(&self, condition: usize, seed: u64) -> PathBuf {
        self.path.join(TRIALS).join(format!("{condition:06}-{seed}"))
    }

    /// Writes the manifest.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn save_manifest(&self) -> Result<(), String> {
        self.write(MANIFEST, &project::to_ron(&self.manifest).map_err(|e| e.to_string())?)
    }

    /// Replaces a file.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), String> {
        write_atomic(&self.path.join(name), text.as_bytes(), false).map_err(|e| e.to_string())
    }
}
