//! Reading of the recorded series that the table shows, on the pool. A series is read once while its files do not change.

use crate::{
    app::{document::library::Library, kit::pool::PoolJob},
    project::run_table::{Row, SeriesSummary, Version},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// Maximum number of series read in one job.
const AT_ONCE: usize = 16;

/// Folder of a run, name of a series, and the content of its files.
type Request = (PathBuf, String, Version);
/// Summary of a series, or the reason why it cannot be read.
type Outcome = Result<SeriesSummary, String>;

/// Summaries of series that were read.
#[derive(Default)]
pub struct SeriesReader {
    read: BTreeMap<(PathBuf, String), (Version, Outcome)>,
    job: PoolJob<Vec<Request>, Vec<Outcome>>,
    /// Number of results that have arrived.
    pub n_arrived: u64,
    /// Number of series that are not read yet.
    pub n_missing: usize,
}

impl SeriesReader {
    /// Takes the results of a reading job, and starts one for the needed series that were not yet read.
    pub fn update(&mut self, ctx: &egui::Context, library: &Library, needed: &BTreeSet<String>) {
        if let Some((requests, results)) = self.job.poll() {
            for ((folder, name, version), result) in requests.into_iter().zip(results) {
                self.n_arrived += 1;
                self.read.insert((folder, name), (version, result));
            }
        }
        let mut missing = self.missing(library, needed);
        self.n_missing = missing.len();
        missing.truncate(AT_ONCE);
        if !missing.is_empty() && self.job.is_free(&missing) {
            let requests = missing.clone();
            self.job.start(ctx, missing, move || {
                let read = |(folder, name, _): &Request| SeriesSummary::read(folder, name).map_err(|e| e.to_string());
                requests.iter().map(read).collect()
            });
        }
    }

    fn missing(&self, library: &Library, needed: &BTreeSet<String>) -> Vec<Request> {
        let rows = library.runs.iter().map(|run| &run.row);
        let of_row = |row: &Row| -> Vec<Request> {
            let series = row.series.iter().filter(|series| needed.contains(&series.name));
            series.map(|series| (row.folder.clone(), series.name.clone(), series.version.clone())).collect()
        };
        let is_missing = |(folder, name, version): &Request| {
            self.read.get(&(folder.clone(), name.clone())).is_none_or(|(read, _)| read != version)
        };
        rows.flat_map(of_row).filter(is_missing).collect()
    }

    /// Adds the summaries of a run to its row.
    pub fn add_to(&self, row: &mut Row) {
        for series in row.series.clone().iter() {
            if let Some((_, Ok(summary))) = self.read.get(&(row.folder.clone(), series.name.clone())) {
                row.add_summary(summary);
            }
        }
    }
}
