//! Table of runs: rows of typed cells, and columns as data. The window and the command line show, filter, sort and export the
//! same table.
//!
//! A [`Row`] consists of cells by column key and the recorded series from which more cells can be read. Nothing else in this
//! module depends on what a row is, so trials and conditions can be rows, too.

mod cell;
mod column;
mod csv;
mod filter;
mod row;
mod run_columns;
mod series;
mod settings;
mod sort;

pub use cell::Cell;
pub use column::{Column, Quantity, columns, find};
pub use csv::to_csv;
pub use filter::Filter;
pub use row::{Row, run_folders};
pub use run_columns::{CHANGES, KIND, NAME, NOTE, STARTED, STATUS, TAGS};
pub use series::{RecordedSeries, SeriesColumn, SeriesSummary, Statistic, Summary, Version, needed_series};
pub use settings::{Setting, differing};
pub use sort::{Sort, sort};

#[cfg(test)]
mod tests;
