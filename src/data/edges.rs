//! Edge lists: the interface of every format, and a reader of parts on several threads.

use super::{
    DataError, ProgressFn, column_names,
    edge_columns::{UNSIGNED, WEIGHT},
    edges_csv::CsvEdges,
    edges_parquet::ParquetEdges,
    edges_sonata::SonataEdges,
    messages, report,
};
use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

/// Column of the synapse counts or weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightColumn {
    /// Signed counts, or counts without signs that are used unchanged.
    Counts(usize),
    /// Unsigned counts with a separate column of signs.
    WithSigns {
        /// Column of the counts.
        counts: usize,
        /// Column of the signs.
        signs: usize,
    },
    /// There is no column of counts; each row counts as one synapse.
    Absent,
}

/// Finds the column of the synapse counts. Fails if unsigned counts have no column of signs; the error names that
/// column.
pub fn weight_column(names: &[String]) -> Result<WeightColumn, String> {
    let exact = |wanted: &str| names.iter().position(|name| name == wanted);
    if let Some(column) = WEIGHT.iter().find_map(|name| exact(name)) {
        return Ok(WeightColumn::Counts(column));
    }
    if let Some(counts) = exact(UNSIGNED.0) {
        let signs = exact(UNSIGNED.1).ok_or_else(|| messages::no_column(&[UNSIGNED.1], names))?;
        return Ok(WeightColumn::WithSigns { counts, signs });
    }
    Ok(column_names::find(column_names::WEIGHTS, names).map_or(WeightColumn::Absent, WeightColumn::Counts))
}

/// Rows of an edge list. Columns that were not requested are empty.
#[derive(Default)]
pub struct Batch {
    pub pre: Vec<u32>,
    pub post: Vec<u32>,
    /// Signed synapse counts.
    pub count: Vec<i32>,
    /// Signed weights.
    pub weight: Vec<f64>,
    /// Delays in milliseconds; empty if the file has none.
    pub delay_ms: Vec<f64>,
    /// Whether the file holds a weight of this batch as a floating point number.
    pub is_real: bool,
}

impl Batch {
    /// Removes all rows; the memory is kept.
    pub fn clear(&mut self) {
        self.pre.clear();
        self.post.clear();
        self.count.clear();
        self.weight.clear();
        self.delay_ms.clear();
        self.is_real = false;
    }
}

/// Values that the rows of a file are read as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RowValues {
    /// Whole synapse counts; a column of delays is not read.
    Counts,
    /// Weights, and delays if the file has any.
    Weights,
}

/// Columns that a pass reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Pre,
    /// `pre` and `post`.
    Ends,
    /// All columns of an edge list opened with [`RowValues::Counts`].
    Counts,
    /// All columns of an edge list opened with [`RowValues::Weights`].
    Weights,
}

/// Column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeColumn {
    Pre,
    Post,
    Weight,
    Delay,
}

/// Row of a batch that a consumer refuses.
pub struct InvalidRow {
    /// Index of the row within the batch.
    pub row: usize,
    /// Column of the invalid value.
    pub column: EdgeColumn,
    /// Mistake, as a sentence.
    pub what: String,
}

impl InvalidRow {
    /// Creates the error about an index of a row that is not below `n`.
    pub fn out_of_range(batch: &Batch, row: usize, column: EdgeColumn, n: u64) -> Self {
        let index = if column == EdgeColumn::Post { batch.post[row] } else { batch.pre[row] };
        Self { row, column, what: out_of_range_message(index.into(), n) }
    }
}

/// Consumes a batch, or returns its invalid row.
pub type BatchFn<'a> = dyn FnMut(&Batch) -> Result<(), InvalidRow> + 'a;

/// Edge list that can be read repeatedly, in independent parts, on any thread.
pub trait EdgeSource: Sync {
    /// Returns the number of parts.
    fn n_parts(&self) -> usize;
    /// Returns the size of a part for progress, in a unit of the source.
    fn part_size(&self, part: usize) -> u64;
    /// Returns the names of all columns.
    fn columns(&self) -> &[String];
    /// Returns the name of the column of the synapse counts or weights; `None` if there is none.
    fn weight_column(&self) -> Option<&str>;
    /// Whether a column of delays is read.
    fn has_delays(&self) -> bool;
    /// Whether weights may be floating point numbers; batches say whether they are.
    fn may_be_real(&self) -> bool;
    /// Returns the exponent of the power of two of which all weights are multiples; `None` if the file declares none.
    fn weight_exponent(&self) -> Option<i32>;
    /// Reads one part in batches. `progress` receives the amount done since its last call and may cancel. Fails if the
    /// part cannot be read, a row is invalid, or `progress` cancels.
    fn read(
        &self,
        part: usize,
        need: Need,
        take: &mut BatchFn<'_>,
        progress: &(dyn Fn(u64) -> Result<(), DataError> + Sync),
    ) -> Result<(), DataError>;
}

/// Opens an edge file by its extension. Fails if the file cannot be opened, is compressed text, has an unknown
/// extension, or lacks a column with `values`.
pub fn open(path: &Path, values: RowValues) -> Result<Box<dyn EdgeSource>, DataError> {
    match super::data_table::ending(path).as_str() {
        "parquet" => Ok(Box::new(ParquetEdges::open(path, values)?)),
        "csv" | "tsv" | "txt" => Ok(Box::new(CsvEdges::open(path, values)?)),
        "h5" | "hdf5" | "sonata" => Ok(Box::new(SonataEdges::open(path, values)?)),
        "gz" => {
            Err(DataError::format(path, "a compressed edge list is not read: unpack it first, or write it as Parquet"))
        }
        _ => Err(DataError::format(path, "not an edge list: .parquet, .csv or .h5 (SONATA) expected")),
    }
}

/// Returns the error message for an index that is out of range.
pub fn out_of_range_message(index: u64, n: u64) -> String {
    if n >= u64::from(super::MAX_NEURONS) {
        return format!(
            "index {} is beyond the limit of {} neurons; edges name rows of the neuron table (0, 1, 2, …), not root ids; \
             Import connectivity… converts a list of root ids",
            messages::group_digits(index),
            messages::group_digits(n)
        );
    }
    format!(
        "index {} is beyond the {} neurons of the table (0 to {})",
        messages::group_digits(index),
        messages::group_digits(n),
        n.saturating_sub(1)
    )
}

/// Reads all parts on several threads. Each thread has its own state; returns the states of all threads. Fails with the error
/// of the first part that fails.
pub fn read_parts<S: Send>(
    source: &dyn EdgeSource,
    label: &str,
    (from, to): (f32, f32),
    watch: &ProgressFn,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, &(dyn Fn(u64) -> Result<(), DataError> + Sync)) -> Result<(), DataError> + Sync,
) -> Result<Vec<S>, DataError> {
    let n_parts = source.n_parts();
    let all = (0..n_parts).map(|p| source.part_size(p)).sum::<u64>().max(1);
    let (next, done, stop) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let progress = |more: u64| {
        let part = (done.fetch_add(more, Ordering::Relaxed) + more) as f32 / all as f32;
        if stop.load(Ordering::Relaxed) {
            return Err(DataError::Cancelled);
        }
        report(watch, label, from + (to - from) * part.min(1.0))
    };
    let run = || {
        let mut local = state();
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= n_parts {
                return Ok(local);
            }
            if let Err(error) = work(&mut local, part, &progress) {
                stop.store(true, Ordering::Relaxed);
                return Err((part, error));
            }
        }
    };
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get()).clamp(1, 4).min(n_parts.max(1));
    let results = std::thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(run)).collect();
        let mut results = vec![run()];
        results.extend(others.into_iter().map(|o| o.join().unwrap_or_else(|p| std::panic::resume_unwind(p))));
        results
    });
    let mut states = Vec::new();
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(s) => states.push(s),
            Err(e) => errors.push(e),
        }
    }
    // "Cancelled" may be a consequence of another thread's error, so other errors are reported first.
    errors.sort_by_key(|(part, e)| (matches!(e, DataError::Cancelled), *part));
    match errors.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(states),
    }
}
