//! Rows and columns that are shown, computed if the runs, the filter or the choices have changed.

use super::{choices::Choices, series::SeriesReader};
use crate::{
    app::document::library::{Library, as_tree},
    project::run_table::{self, Column, Filter, NAME, Row, STARTED},
};
use std::{collections::BTreeSet, path::PathBuf};

/// State on which the table depends: folder and version of the list, filter, choices, and number of series read.
type TableKey = (PathBuf, u64, String, Choices, u64);

/// Table of runs after filtering and sorting.
#[derive(Default)]
pub struct RunTable {
    of: Option<TableKey>,
    /// Rows of all runs of the list, in its order.
    pub rows: Vec<Row>,
    /// All columns that the rows can fill.
    pub columns: Vec<Column>,
    /// Indices of the shown columns.
    pub shown: Vec<usize>,
    /// Indices of the shown rows in their order.
    pub order: Vec<usize>,
    /// Whether branches follow the run that they continue.
    pub is_tree: bool,
    /// Reason why the filter cannot be read; `None` if it can. All rows are shown then.
    pub problem: Option<String>,
    /// Names of the series that columns, order and filter need.
    pub needed: BTreeSet<String>,
}

impl RunTable {
    /// Computes the table again if something it depends on has changed.
    pub fn update(&mut self, library: &Library, filter: &str, choices: &Choices, series: &SeriesReader) {
        let key = (library.folder.clone(), library.version, filter.to_owned(), choices.clone(), series.n_arrived);
        if self.of.as_ref() == Some(&key) {
            return;
        }
        let with_series = |row: &Row| {
            let mut row = row.clone();
            series.add_to(&mut row);
            row
        };
        self.rows = library.runs.iter().map(|run| with_series(&run.row)).collect();
        self.columns = run_table::columns(&self.rows);
        self.shown = (0..self.columns.len()).filter(|i| choices.shows(&self.columns[*i])).collect();
        let parsed = Filter::parse(filter, &self.columns);
        self.problem = parsed.as_ref().err().cloned();
        let filter = parsed.unwrap_or_default();
        let shown = self.shown.iter().map(|i| &*self.columns[*i].key);
        let keys = shown.chain(filter.keys()).chain([&*choices.sort.key]);
        self.needed = run_table::needed_series(&self.columns, keys);
        self.order = (0..self.rows.len()).filter(|i| filter.fits(&self.rows[*i])).collect();
        run_table::sort(&self.rows, &mut self.order, &choices.sort);
        // Any other order would be broken by branches that follow their run.
        self.is_tree = [NAME, STARTED].contains(&&*choices.sort.key);
        if self.is_tree {
            self.order = as_tree(&library.runs, std::mem::take(&mut self.order));
        }
        self.of = Some(key);
    }

    /// Iterates over the shown rows in their order.
    pub fn shown_rows(&self) -> impl Iterator<Item = &Row> {
        self.order.iter().map(|i| &self.rows[*i])
    }

    /// Iterates over the shown columns.
    pub fn shown_columns(&self) -> impl Iterator<Item = &Column> {
        self.shown.iter().map(|i| &self.columns[*i])
    }

    /// Formats the shown part of the table as CSV.
    pub fn to_csv(&self) -> String {
        let columns: Vec<&Column> = self.shown_columns().collect();
        run_table::to_csv(&columns, self.shown_rows())
    }
}
