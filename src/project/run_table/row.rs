//! Row of the table of runs.

use super::{
    cell::Cell,
    run_columns::{self, Facts, NAME, NOTE, STATUS, TAGS},
    series::{self, RecordedSeries, SeriesSummary},
    settings::{self, Setting},
};
use crate::project::{ParamHistory, RunFolder, labels::Labels, run::MANIFEST};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Cells of a run by column key, and the data from which more cells can be read.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Folder of the run.
    pub folder: PathBuf,
    cells: BTreeMap<String, Cell>,
    /// Parameters by path.
    pub settings: Arc<BTreeMap<String, Setting>>,
    /// Series with fixed lanes that were recorded.
    pub series: Arc<Vec<RecordedSeries>>,
    /// Text that words of a filter search, in lower case.
    search: String,
}

/// Value of a column that a row lacks.
const NOTHING: &Cell = &Cell::Empty;

impl Row {
    /// Creates the row of a run. `history` are its parameters, or the reason why they are unreadable; `changes` are listed in the
    /// column of the same name.
    pub fn of(run: &RunFolder, labels: &Labels, history: Option<&ParamHistory>, changes: &[String]) -> Self {
        let name = name_of(&run.path);
        let model = history.map(|history| &history.first.model);
        let facts = Facts { name: &name, manifest: &run.manifest, model, labels, changes };
        let mut row = Self {
            folder: run.path.clone(),
            cells: run_columns::cells(&facts).collect(),
            settings: Arc::new(history.map(settings::settings).unwrap_or_default()),
            series: Arc::new(series::recorded(run)),
            search: String::new(),
        };
        row.update_search();
        row
    }

    /// Creates the row of a run that cannot be read.
    pub fn unreadable(folder: &Path, labels: &Labels) -> Self {
        let cells = [(NAME, Cell::text_of(name_of(folder))), (STATUS, Cell::text_of("unreadable"))];
        let cells = cells.map(|(key, cell)| (key.to_owned(), cell)).into();
        let mut row = Self { folder: folder.to_owned(), cells, ..Self::default() };
        row.set_labels(labels);
        row
    }

    /// Reads the row of a run folder without changes. Returns the row, and messages about labels or parameters that cannot be
    /// read.
    pub fn read(folder: &Path) -> (Self, Vec<String>) {
        let (labels, mut notices) = Labels::read(folder);
        let run = match RunFolder::open(folder) {
            Ok(run) => run,
            Err(e) => {
                notices.push(e.to_string());
                return (Self::unreadable(folder, &labels), notices);
            }
        };
        let history = ParamHistory::read(&run).map_err(|why| notices.push(why)).ok();
        (Self::of(&run, &labels, history.as_ref(), &[]), notices)
    }

    /// Returns the value in a column; the empty value if the row has none.
    pub fn cell(&self, key: &str) -> &Cell {
        self.cells.get(key).or_else(|| self.settings.get(key).map(|setting| &setting.cell)).unwrap_or(NOTHING)
    }

    /// Sets note and tags.
    pub fn set_labels(&mut self, labels: &Labels) {
        self.cells.insert(NOTE.to_owned(), Cell::text_of(&*labels.note));
        self.cells.insert(TAGS.to_owned(), Cell::Tags(labels.tags.clone()));
        self.update_search();
    }

    /// Adds the statistics of a series that was read.
    pub fn add_summary(&mut self, summary: &SeriesSummary) {
        self.cells.extend(summary.cells());
    }

    /// Whether the fixed columns contain a word in lower case.
    pub fn contains(&self, word: &str) -> bool {
        self.search.contains(word)
    }

    fn update_search(&mut self) {
        let texts: Vec<_> = self.cells.values().filter(|cell| cell.number().is_none()).map(Cell::text).collect();
        self.search = texts.join(" ").to_lowercase();
    }
}

/// Lists the run folders in a folder, sorted by name; empty if it cannot be read.
pub fn run_folders(runs: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(runs).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.join(MANIFEST).exists()).collect();
    folders.sort();
    folders
}

/// Returns the name of a run's folder.
fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
