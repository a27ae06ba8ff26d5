//! Writes the results of trials: appended rows while the experiment runs, the sorted table at its end.

use super::setting::Counters;
use crate::{
    data::io_reason,
    experiment::{
        folder::{ExperimentFolder, RESULTS_PARQUET},
        table::{RESULTS, Table, TrialResult, TrialState},
    },
    project::write_atomic,
    sim::SimError,
};
use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::PathBuf,
    sync::atomic::Ordering,
};

/// Table of a running experiment and its file.
pub(super) struct Output<'a> {
    path: PathBuf,
    file: File,
    pub table: Table,
    counters: &'a Counters,
}

impl<'a> Output<'a> {
    /// Opens the file of a table and writes its rows anew, without those of unfinished and failed trials. Fails if the file cannot
    /// be written.
    pub fn open(folder: &ExperimentFolder, table: Table, counters: &'a Counters) -> Result<Self, SimError> {
        let path = folder.path.join(RESULTS);
        write_atomic(&path, table.text().as_bytes(), false).map_err(|e| SimError::Input(e.to_string()))?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|e| failed(&path, &e))?;
        Ok(Self { path, file, table, counters })
    }

    /// Returns the counters of the experiment.
    pub const fn counters(&self) -> &'a Counters {
        self.counters
    }

    /// Adds results, all rows in one write, so that they survive the end of the process. Fails if the file cannot be written.
    pub fn add(&mut self, trials: impl IntoIterator<Item = ((usize, u64), TrialResult)>) -> Result<(), SimError> {
        let mut rows = String::new();
        for ((condition, seed), trial) in trials {
            rows += &self.table.rows(condition, seed, &trial);
            self.counters.n_done.fetch_add(1, Ordering::Relaxed);
            match trial.state {
                TrialState::Run => {}
                TrialState::SameAsControl => drop(self.counters.n_same.fetch_add(1, Ordering::Relaxed)),
                TrialState::Failed(_) => drop(self.counters.n_failed.fetch_add(1, Ordering::Relaxed)),
            }
            self.table.trials.insert((condition, seed), trial);
        }
        self.file.write_all(rows.as_bytes()).map_err(|e| failed(&self.path, &e))
    }

    /// Writes the sorted table as CSV and Parquet. Fails if a file cannot be written.
    pub fn finish(&self, folder: &ExperimentFolder) -> Result<(), SimError> {
        write_table(folder, &self.table)
    }
}

/// Writes a sorted table as CSV and Parquet. Fails if a file cannot be written.
pub fn write_table(folder: &ExperimentFolder, table: &Table) -> Result<(), SimError> {
    let write = |name: &str, bytes: &[u8]| {
        write_atomic(&folder.path.join(name), bytes, false).map_err(|e| SimError::Input(e.to_string()))
    };
    write(RESULTS, table.text().as_bytes())?;
    let parquet = table.parquet().map_err(|e| SimError::Input(e.to_string()))?;
    write(RESULTS_PARQUET, &parquet)
}

fn failed(path: &std::path::Path, error: &std::io::Error) -> SimError {
    SimError::Input(format!("{}: {}", path.display(), io_reason(error)))
}
