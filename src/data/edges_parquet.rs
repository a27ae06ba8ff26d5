//! Reads edge lists in Parquet: row groups, or parts of long row groups, decoded on several threads.

use super::{
    DataError, column_names,
    edge_columns::{DELAY_MS, POST, PRE, WEIGHT_EXPONENT},
    edges::{
        Batch, BatchFn, EdgeColumn, EdgeSource, Need, RowValues, WeightColumn, out_of_range_message, weight_column,
    },
    messages,
    parquet_file::{ColumnType, Cursor, IntegerBatch, ParquetFile},
};
use std::path::{Path, PathBuf};

/// Number of rows decoded at a time: three columns of them fit into the second-level cache.
const BATCH: usize = 16_384;
/// Maximum number of rows in a part; longer row groups are divided.
const PART_ROWS: u64 = 1 << 20;

/// A column of integers.
#[derive(Clone, Copy)]
struct Integers {
    column: usize,
    unsigned: bool,
}

/// A column of integers or floating point numbers.
#[derive(Clone, Copy)]
struct Numbers {
    column: usize,
    column_type: ColumnType,
}

impl Numbers {
    /// Whether the numbers are unsigned integers.
    fn is_unsigned(self) -> bool {
        self.column_type == ColumnType::Integer { unsigned: true }
    }
}

/// Edge list in a Parquet file.
pub struct ParquetEdges {
    path: PathBuf,
    names: Vec<String>,
    pre: Integers,
    post: Integers,
    /// Column of synapse counts or weights; `None` if each row counts as one synapse.
    weight: Option<Numbers>,
    sign: Option<Integers>,
    delay: Option<Numbers>,
    weight_exponent: Option<i32>,
    /// Parts: (row group, first row, number of rows).
    parts: Vec<(usize, u64, u64)>,
}

impl ParquetEdges {
    /// Opens a file, finds its columns and divides its rows into parts. Fails if a column is missing, repeated or not of the
    /// numbers that `values` requires.
    pub fn open(path: &Path, values: RowValues) -> Result<Self, DataError> {
        let file = ParquetFile::open(path)?;
        let names = file.names();
        column_names::reject_repeated(&names).map_err(|what| DataError::format(path, what))?;
        let pre = integers(path, &file, find(path, &file, PRE)?)?;
        let post = integers(path, &file, find(path, &file, POST)?)?;
        let weight = weight_column(&names).map_err(|what| DataError::format(path, what))?;
        let (weights, signs) = match weight {
            WeightColumn::Counts(counts) => (Some(counts), None),
            WeightColumn::WithSigns { counts, signs } => (Some(counts), Some(signs)),
            WeightColumn::Absent => (None, None),
        };
        let is_counts = values == RowValues::Counts || signs.is_some();
        let weight = weights.map(|column| numbers(path, &file, column, is_counts)).transpose()?;
        let sign = signs.map(|column| integers(path, &file, column)).transpose()?;
        let delays = names.iter().position(|name| values == RowValues::Weights && name == DELAY_MS);
        let delay = delays.map(|column| numbers(path, &file, column, false)).transpose()?;
        let weight_exponent = file.metadata(WEIGHT_EXPONENT).and_then(|text| text.parse().ok());
        let parts = parts(path, &file)?;
        Ok(Self { path: path.to_owned(), names, pre, post, weight, sign, delay, weight_exponent, parts })
    }
}

/// Divides the rows of a file. Fails for a row group with an implausible number of rows.
fn parts(path: &Path, file: &ParquetFile) -> Result<Vec<(usize, u64, u64)>, DataError> {
    let mut parts = Vec::new();
    for (group, rows) in file.group_rows.iter().enumerate() {
        if *rows > u64::from(u32::MAX) {
            let rows = messages::group_digits(*rows);
            return Err(DataError::format(path, format!("row group {group} claims {rows} rows")));
        }
        let n = rows.div_ceil(PART_ROWS);
        parts.extend((0..n).map(|p| (group, p * PART_ROWS, PART_ROWS.min(rows - p * PART_ROWS))));
    }
    Ok(parts)
}

fn find(path: &Path, file: &ParquetFile, names: &[&str]) -> Result<usize, DataError> {
    file.find(names).ok_or_else(|| DataError::format(path, messages::no_column(names, &file.names())))
}

fn integers(path: &Path, file: &ParquetFile, column: usize) -> Result<Integers, DataError> {
    let numbers = numbers(path, file, column, true)?;
    Ok(Integers { column, unsigned: numbers.is_unsigned() })
}

/// Returns a column of numbers. Fails if the column holds other values, or floating point numbers where `is_whole`.
fn numbers(path: &Path, file: &ParquetFile, column: usize, is_whole: bool) -> Result<Numbers, DataError> {
    let info = &file.columns[column];
    match info.column_type {
        ColumnType::Integer { .. } => {}
        ColumnType::Real if !is_whole => {}
        _ => {
            let (name, expected) =
                (messages::truncated(&info.name), if is_whole { "whole numbers" } else { "numbers" });
            let what = format!("column \"{name}\" has type {}; {expected} expected", info.type_name);
            return Err(DataError::format(path, what));
        }
    }
    Ok(Numbers { column, column_type: info.column_type })
}

/// Cursors of the columns that a pass reads.
struct Cursors {
    pre: Cursor,
    post: Option<Cursor>,
    weight: Option<Cursor>,
    sign: Option<Cursor>,
    delay: Option<Cursor>,
}

impl Cursors {
    fn of(&self, column: EdgeColumn) -> &Cursor {
        let of = match column {
            EdgeColumn::Pre => None,
            EdgeColumn::Post => self.post.as_ref(),
            EdgeColumn::Weight => self.weight.as_ref(),
            EdgeColumn::Delay => self.delay.as_ref(),
        };
        of.unwrap_or(&self.pre)
    }
}

/// Buffers for decoding.
#[derive(Default)]
struct Buffers {
    numbers: IntegerBatch,
    signs: IntegerBatch,
}

impl ParquetEdges {
    fn cursors(&self, part: usize, need: Need) -> Result<Cursors, DataError> {
        let (group, first, _) = self.parts[part];
        let file = ParquetFile::open(&self.path)?;
        let start = |column: usize| file.cursor(group, column, first as usize);
        let (has_values, has_delays) = (matches!(need, Need::Counts | Need::Weights), need == Need::Weights);
        let values = |column: Option<usize>| column.filter(|_| has_values).map(start).transpose();
        Ok(Cursors {
            pre: start(self.pre.column)?,
            post: if need == Need::Pre { None } else { Some(start(self.post.column)?) },
            weight: values(self.weight.map(|of| of.column))?,
            sign: values(self.sign.map(|of| of.column))?,
            delay: values(self.delay.filter(|_| has_delays).map(|of| of.column))?,
        })
    }

    /// Reads the next `n` synapse counts; 1 each without a column.
    fn counts(&self, from: &mut Cursors, n: usize, room: &mut Buffers, batch: &mut Batch) -> Result<(), DataError> {
        let (Some(column), Some(cursor)) = (self.weight, &mut from.weight) else {
            batch.count.resize(n, 1);
            return Ok(());
        };
        cursor.integers(n, column.is_unsigned(), &mut room.numbers)?;
        if let (Some(column), Some(sign)) = (self.sign, &mut from.sign) {
            sign.integers(n, column.unsigned, &mut room.signs)?;
            let signs = &room.signs.wide;
            room.numbers.wide.iter_mut().zip(signs).for_each(|(count, sign)| *count = count.saturating_mul(*sign));
        }
        counts(cursor, &room.numbers.wide, &mut batch.count)
    }

    /// Reads the next `n` weights, 1 each without a column, and delays.
    fn weights(&self, from: &mut Cursors, n: usize, room: &mut Buffers, batch: &mut Batch) -> Result<(), DataError> {
        if self.sign.is_some() || self.weight.is_none() {
            self.counts(from, n, room, batch)?;
            batch.weight.extend(batch.count.drain(..).map(f64::from));
        } else if let (Some(column), Some(cursor)) = (self.weight, &mut from.weight) {
            cursor.numbers(n, column.column_type, &mut room.numbers, &mut batch.weight)?;
            batch.is_real = column.column_type == ColumnType::Real;
        }
        match (self.delay, &mut from.delay) {
            (Some(column), Some(cursor)) => {
                cursor.numbers(n, column.column_type, &mut room.numbers, &mut batch.delay_ms)
            }
            _ => Ok(()),
        }
    }
}

impl EdgeSource for ParquetEdges {
    fn n_parts(&self) -> usize {
        self.parts.len()
    }

    fn part_size(&self, part: usize) -> u64 {
        self.parts[part].2
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn weight_column(&self) -> Option<&str> {
        self.weight.map(|of| self.names[of.column].as_str())
    }

    fn has_delays(&self) -> bool {
        self.delay.is_some()
    }

    fn may_be_real(&self) -> bool {
        self.weight.is_some_and(|of| of.column_type == ColumnType::Real)
    }

    fn weight_exponent(&self) -> Option<i32> {
        self.weight_exponent
    }

    fn read(
        &self,
        part: usize,
        need: Need,
        take: &mut BatchFn<'_>,
        progress: &(dyn Fn(u64) -> Result<(), DataError> + Sync),
    ) -> Result<(), DataError> {
        let mut from = self.cursors(part, need)?;
        let (mut room, mut batch) = (Buffers::default(), Batch::default());
        let mut left = self.parts[part].2;
        while left > 0 {
            let n = left.min(BATCH as u64) as usize;
            batch.clear();
            indices(&mut from.pre, self.pre.unsigned, n, &mut room.numbers, &mut batch.pre)?;
            if let Some(post) = &mut from.post {
                indices(post, self.post.unsigned, n, &mut room.numbers, &mut batch.post)?;
            }
            match need {
                Need::Pre | Need::Ends => {}
                Need::Counts => self.counts(&mut from, n, &mut room, &mut batch)?,
                Need::Weights => self.weights(&mut from, n, &mut room, &mut batch)?,
            }
            take(&batch).map_err(|wrong| from.of(wrong.column).error((n - wrong.row) as u64, &wrong.what))?;
            left -= n as u64;
            progress(n as u64)?;
        }
        Ok(())
    }
}

/// Reads the next `n` values as indices. Fails if a value is not a valid index.
fn indices(
    from: &mut Cursor,
    unsigned: bool,
    n: usize,
    room: &mut IntegerBatch,
    out: &mut Vec<u32>,
) -> Result<(), DataError> {
    from.integers(n, unsigned, room)?;
    out.clear();
    // The combined bits show at once whether all values fit, so only an invalid batch is searched.
    if room.wide.iter().fold(0, |all, v| all | *v) as u64 >> 32 == 0 {
        out.extend(room.wide.iter().map(|v| *v as u32));
        return Ok(());
    }
    let row = room.wide.iter().position(|v| u32::try_from(*v).is_err()).unwrap_or(0);
    let value = room.wide[row];
    let why = if value < 0 && !unsigned {
        format!("negative index {value}")
    } else {
        out_of_range_message(value as u64, u64::from(super::MAX_NEURONS))
    };
    Err(from.error((n - row) as u64, &why))
}

/// Converts values to signed counts. Fails if a value does not fit 32 bits.
fn counts(from: &Cursor, values: &[i64], out: &mut Vec<i32>) -> Result<(), DataError> {
    out.extend(values.iter().map(|v| *v as i32));
    let wrong = values.iter().zip(&*out).position(|(v, c)| *v != i64::from(*c));
    match wrong {
        None => Ok(()),
        Some(row) => {
            Err(from.error((values.len() - row) as u64, &format!("synapse count {} does not fit 32 bits", values[row])))
        }
    }
}
