//! Table in memory, read from text, Parquet or the nodes of a SONATA file. Errors name line and column of a cell.

mod sonata;

use super::{
    DataError, ProgressFn,
    gzip::GzReader,
    input_file,
    limited::{LimitedReader, is_cancelled, read_error},
    memory::{Budget, text_bytes},
    messages,
    parquet_file::{ColumnType, IntegerBatch, ParquetFile},
    report,
    row_check::{LineBreaks, RowCheck, row_error},
};
use std::{
    cell::Cell,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

/// Number of rows between two progress reports.
const REPORT_EVERY: usize = 4096;
/// Maximum number of rows.
const MAX_ROWS: u64 = 1 << 26;
/// Maximum size of a decompressed text table, bytes.
const MAX_TEXT: u64 = 1 << 30;
/// Memory per cell of a text column in addition to its text, bytes: the cell's end offset.
const CELL_BYTES: u64 = size_of::<u32>() as u64;
/// Memory per row of a text table, bytes: its line number.
const ROW_BYTES: u64 = size_of::<u32>() as u64;
/// Memory per numeric cell, bytes.
const NUMBER_BYTES: u64 = 8;

/// Returns the ending of a file name in lower case, without the dot.
pub fn ending(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Returns the field separator of a header: tab, comma or semicolon.
pub fn separator(header: &str) -> u8 {
    match (header.contains('\t'), header.contains(','), header.contains(';')) {
        (true, _, _) => b'\t',
        (false, false, true) => b';',
        _ => b',',
    }
}

/// Short strings in one allocation of at most [`MAX_TEXT`] bytes.
#[derive(Default)]
pub struct Texts {
    all: String,
    ends: Vec<u32>,
}

impl Texts {
    fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len() as u32);
    }

    /// Returns the text of a row.
    pub fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.all[start as usize..self.ends[row] as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|row| self.get(row))
    }
}

/// Cells of a column.
pub enum Cells {
    /// Text; also numbers of a text file.
    Text(Texts),
    /// Integers, as 64 bits.
    Integer {
        bits: Vec<i64>,
        /// Whether the bits are unsigned.
        unsigned: bool,
    },
    /// Floating point numbers.
    Real(Vec<f64>),
}

/// Form in which messages name rows.
enum Rows {
    /// Line number of each row.
    Lines(Vec<u32>),
    /// Number of rows of each row group.
    Groups(Vec<u64>),
}

pub struct DataTable {
    pub path: PathBuf,
    /// Size of the file, bytes.
    pub n_bytes: u64,
    /// Number of rows without the header.
    pub n_rows: usize,
    /// Names and cells of the columns that were read.
    pub columns: Vec<(String, Cells)>,
    /// Names of all columns of the file.
    pub names: Vec<String>,
    rows: Rows,
    budget: Cell<Budget>,
}

impl DataTable {
    /// Reads the columns whose index and name `wanted` accepts. Fails if the file is not a table, or has too many rows or too
    /// much text.
    pub fn read(path: &Path, wanted: impl Fn(usize, &str) -> bool, watch: &ProgressFn) -> Result<Self, DataError> {
        Self::read_at_most(path, wanted, MAX_ROWS, watch)
    }

    /// Reads the columns that `wanted` accepts from a table with at most `max_rows` rows. Fails if the file is not a table, or
    /// has too many rows or too much text.
    pub fn read_at_most(
        path: &Path,
        wanted: impl Fn(usize, &str) -> bool,
        max_rows: u64,
        watch: &ProgressFn,
    ) -> Result<Self, DataError> {
        let budget = Budget::of(std::fs::metadata(path).map_err(|e| DataError::io(path, e))?.len());
        Self::read_within(path, wanted, (max_rows, budget), watch)
    }

    /// Reads a table within limits: the number of rows and the memory.
    fn read_within(
        path: &Path,
        wanted: impl Fn(usize, &str) -> bool,
        limits: (u64, Budget),
        watch: &ProgressFn,
    ) -> Result<Self, DataError> {
        match ending(path).as_str() {
            "parquet" => read_parquet(path, wanted, limits, watch),
            "csv" | "tsv" | "txt" | "gz" => read_text(path, wanted, limits, watch),
            "h5" | "hdf5" => sonata::read(path, wanted, limits, watch),
            _ => Err(DataError::format(path, "not a table: .parquet, .csv, .tsv, .csv.gz or .h5 (SONATA) expected")),
        }
    }

    /// Returns the index in `columns` of the first of these names that exists; `None` if none does.
    pub fn find(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|n| self.columns.iter().position(|(name, _)| name == n))
    }

    /// Returns the names of the columns that were read.
    pub fn column_names(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Adds memory that a caller needs for the content. Fails beyond the limit for the size of the file.
    pub fn take_memory(&self, n_bytes: u64) -> Result<(), DataError> {
        let mut budget = self.budget.get();
        budget.take(&self.path, n_bytes)?;
        self.budget.set(budget);
        Ok(())
    }

    /// Returns an error about a cell.
    pub fn error(&self, row: usize, column: usize, what: &str) -> DataError {
        let name = messages::truncated(&self.columns[column].0);
        match &self.rows {
            Rows::Lines(lines) => {
                let line = lines.get(row).copied().unwrap_or(0);
                DataError::at_line(&self.path, u64::from(line), format!("column \"{name}\": {what}"))
            }
            Rows::Groups(groups) => {
                let (mut group, mut row) = (0, row as u64);
                while groups.get(group).is_some_and(|rows| row >= *rows) {
                    row -= groups[group];
                    group += 1;
                }
                DataError::format(&self.path, format!("column \"{name}\", row group {group}, row {row}: {what}"))
            }
        }
    }

    /// Converts a column to exact unsigned integers. A floating point column is an error, because it has lost digits of long
    /// ids.
    pub fn unsigned(&self, column: usize) -> Result<Vec<u64>, DataError> {
        self.take_memory(NUMBER_BYTES * self.n_rows as u64)?;
        match &self.columns[column].1 {
            Cells::Text(texts) => texts
                .iter()
                .enumerate()
                .map(|(row, text)| text.trim().parse().map_err(|_| self.error(row, column, &not_unsigned(text))))
                .collect(),
            Cells::Integer { bits, unsigned } => bits
                .iter()
                .enumerate()
                .map(|(row, v)| match u64::try_from(*v) {
                    Ok(v) => Ok(v),
                    Err(_) if *unsigned => Ok(*v as u64),
                    Err(_) => Err(self.error(row, column, &format!("negative number {v}"))),
                })
                .collect(),
            Cells::Real(_) => Err(DataError::format(
                &self.path,
                format!(
                    "column \"{}\" holds floating point numbers, which cannot hold 18-digit ids exactly; write it as \
                     64-bit integers",
                    messages::truncated(&self.columns[column].0)
                ),
            )),
        }
    }

    /// Converts a column to real numbers; an empty cell becomes NaN. Fails if a cell is not a number.
    pub fn reals(&self, column: usize) -> Result<Vec<f64>, DataError> {
        self.take_memory(NUMBER_BYTES * self.n_rows as u64)?;
        match &self.columns[column].1 {
            Cells::Text(texts) => texts
                .iter()
                .enumerate()
                .map(|(row, text)| match text.trim() {
                    "" | "NA" => Ok(f64::NAN),
                    number => number.parse().map_err(|_| {
                        self.error(row, column, &format!("\"{}\" is not a number", messages::truncated(number)))
                    }),
                })
                .collect(),
            Cells::Integer { bits, .. } => Ok(bits.iter().map(|v| *v as f64).collect()),
            Cells::Real(values) => Ok(values.clone()),
        }
    }

    /// Converts a column to texts. Fails if memory is exhausted.
    pub fn texts(&self, column: usize) -> Result<Vec<String>, DataError> {
        let cells = &self.columns[column].1;
        self.take_memory(match cells {
            Cells::Text(texts) => texts.iter().map(|text| text_bytes(text.len())).sum(),
            _ => text_bytes(NUMBER_BYTES as usize) * self.n_rows as u64,
        })?;
        Ok(match cells {
            Cells::Text(texts) => texts.iter().map(|t| t.trim().to_owned()).collect(),
            Cells::Integer { bits, unsigned: true } => bits.iter().map(|v| (*v as u64).to_string()).collect(),
            Cells::Integer { bits, .. } => bits.iter().map(i64::to_string).collect(),
            Cells::Real(values) => values.iter().map(f64::to_string).collect(),
        })
    }
}

fn not_unsigned(text: &str) -> String {
    let text = text.trim();
    if text.parse::<i64>().is_ok() {
        return format!("negative number {text}");
    }
    if text.parse::<f64>().is_ok() {
        return format!(
            "\"{}\" is not a whole number; ids and indices must be written with all their digits",
            messages::truncated(text)
        );
    }
    format!("\"{}\" is not a whole number", messages::truncated(text))
}

fn too_many_rows(path: &Path, max_rows: u64) -> DataError {
    DataError::format(path, format!("more than {} rows, the limit of this table", messages::group_digits(max_rows)))
}

fn read_text(
    path: &Path,
    wanted: impl Fn(usize, &str) -> bool,
    (max_rows, mut budget): (u64, Budget),
    watch: &ProgressFn,
) -> Result<DataTable, DataError> {
    let file = input_file::open(path).map_err(|e| DataError::io(path, e))?;
    let n_bytes = file.metadata().map_err(|e| DataError::io(path, e))?.len();
    let is_compressed = ending(path) == "gz";
    let plain: Box<dyn Read> = if is_compressed {
        Box::new(GzReader::new(BufReader::new(file)).map_err(|e| DataError::io(path, e))?)
    } else {
        Box::new(file)
    };
    // Tables usually compress to about a fifth.
    let expected = if is_compressed { n_bytes * 5 } else { n_bytes };
    let limited = LimitedReader::new(plain, MAX_TEXT, expected, &label(path), watch);
    let mut reader = BufReader::with_capacity(1 << 18, limited);
    let start = reader.fill_buf().map_err(|e| read_error(path, e))?;
    if start.iter().all(u8::is_ascii_whitespace) && (is_compressed || (start.len() as u64) == n_bytes) {
        return Err(DataError::format(path, "the file is empty; a header line expected"));
    }
    let header = start.split(|b| *b == b'\n').next().unwrap_or_default();
    let separator = separator(&String::from_utf8_lossy(header));
    let reader = RowCheck::new(reader, separator, LineBreaks::InCells);
    let mut csv = csv::ReaderBuilder::new().delimiter(separator).from_reader(reader);
    let header = csv.headers().map_err(|e| text_error(path, &e))?.clone();
    let names: Vec<String> = header.iter().map(|n| n.trim_start_matches('\u{feff}').trim().to_owned()).collect();
    let kept: Vec<usize> = (0..names.len()).filter(|i| wanted(*i, &names[*i])).collect();
    let mut columns: Vec<Texts> = kept.iter().map(|_| Texts::default()).collect();
    let mut lines = Vec::new();
    let label = label(path);
    let mut record = csv::StringRecord::new();
    while csv.read_record(&mut record).map_err(|e| text_error(path, &e))? {
        let position = record.position();
        lines.push(position.map_or(0, |p| p.line()) as u32);
        let mut n_row_bytes = ROW_BYTES;
        for (column, i) in columns.iter_mut().zip(&kept) {
            let cell = record.get(*i).unwrap_or_default();
            n_row_bytes += CELL_BYTES + cell.len() as u64;
            column.push(cell);
        }
        budget.take(path, n_row_bytes)?;
        if lines.len() as u64 > max_rows {
            return Err(too_many_rows(path, max_rows));
        }
        if lines.len().is_multiple_of(REPORT_EVERY) {
            report(watch, &label, (position.map_or(0, |p| p.byte()) as f32 / expected.max(1) as f32).min(1.0))?;
        }
    }
    let columns = kept.iter().map(|i| names[*i].clone()).zip(columns.into_iter().map(Cells::Text)).collect();
    let (path, n_rows, budget) = (path.to_owned(), lines.len(), Cell::new(budget));
    Ok(DataTable { path, n_bytes, n_rows, columns, names, rows: Rows::Lines(lines), budget })
}

fn text_error(path: &Path, error: &csv::Error) -> DataError {
    let line = error.position().map_or(1, |p| p.line());
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => DataError::at_line(
            path,
            line,
            format!("{} where the header has {expected_len}", messages::counted(*len, "column", "columns")),
        ),
        csv::ErrorKind::Io(error) if is_cancelled(error) => DataError::Cancelled,
        csv::ErrorKind::Io(error) => row_error(path, error)
            .unwrap_or_else(|| DataError::at_line(path, line, messages::truncated_to(&error.to_string(), 200))),
        csv::ErrorKind::Utf8 { .. } => DataError::at_line(path, line, "not UTF-8 text"),
        _ => DataError::at_line(path, line, messages::truncated_to(&error.to_string(), 200)),
    }
}

fn read_parquet(
    path: &Path,
    wanted: impl Fn(usize, &str) -> bool,
    (max_rows, mut budget): (u64, Budget),
    watch: &ProgressFn,
) -> Result<DataTable, DataError> {
    const BATCH: usize = 65_536;
    let file = ParquetFile::open(path)?;
    let n_bytes = std::fs::metadata(path).map_err(|e| DataError::io(path, e))?.len();
    let claimed = file.group_rows.iter().fold(0_u64, |a, b| a.saturating_add(*b));
    if claimed > max_rows {
        return Err(too_many_rows(path, max_rows));
    }
    let kept: Vec<usize> = (0..file.columns.len()).filter(|i| wanted(*i, &file.columns[*i].name)).collect();
    let label = label(path);
    let mut columns = Vec::new();
    for (done, i) in kept.iter().enumerate() {
        let info = &file.columns[*i];
        let mut cells = match info.column_type {
            ColumnType::Integer { unsigned } => Cells::Integer { bits: Vec::new(), unsigned },
            ColumnType::Real => Cells::Real(Vec::new()),
            ColumnType::Text => Cells::Text(Texts::default()),
            ColumnType::Other => continue,
        };
        let mut room = IntegerBatch::default();
        for (group, rows) in file.group_rows.iter().enumerate() {
            let mut cursor = file.cursor(group, *i, 0)?;
            let mut left = *rows as usize;
            while left > 0 {
                report(watch, &label, done as f32 / kept.len() as f32)?;
                let n = left.min(BATCH);
                budget.take(
                    path,
                    if info.column_type == ColumnType::Text { CELL_BYTES } else { NUMBER_BYTES } * n as u64,
                )?;
                match &mut cells {
                    Cells::Integer { bits, unsigned } => {
                        cursor.integers(n, *unsigned, &mut room)?;
                        bits.extend_from_slice(&room.wide);
                    }
                    Cells::Real(values) => cursor.reals(n, values)?,
                    Cells::Text(texts) => {
                        // A single long string in a dictionary may be the value of every row.
                        let before = texts.all.len() as u64;
                        let room = budget.left().min(MAX_TEXT - before);
                        let mut n_text_bytes = 0;
                        cursor.texts(n, |text| {
                            n_text_bytes += text.len() as u64;
                            texts.push(if n_text_bytes <= room { text } else { "" });
                        })?;
                        budget.take(path, n_text_bytes)?;
                        if before + n_text_bytes > MAX_TEXT {
                            let limit = messages::group_digits(MAX_TEXT >> 20);
                            return Err(DataError::format(path, format!("more than {limit} MB of text in a column")));
                        }
                    }
                }
                left -= n;
            }
        }
        columns.push((info.name.clone(), cells));
    }
    let names = file.names();
    Ok(DataTable {
        path: path.to_owned(),
        n_bytes,
        n_rows: claimed as usize,
        columns,
        names,
        rows: Rows::Groups(file.group_rows),
        budget: Cell::new(budget),
    })
}

fn label(path: &Path) -> String {
    format!("Reading {}", path.file_name().unwrap_or_default().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    /// A compressed table may have any size, so its memory is counted while it is read and when its columns are used.
    #[test]
    fn memory_is_limited() {
        let temp = TempFolder::new("table-memory");
        let path = temp.join("table.csv");
        std::fs::write(&path, "a,b\n".to_owned() + &"1,22\n".repeat(100)).unwrap();
        let read = |limit| DataTable::read_within(&path, |_, _| true, (1000, Budget::with_limit(limit)), &|_, _| true);
        // Each row needs the ends of its line and its two cells, and their text.
        let needed = 100 * (ROW_BYTES + 2 * CELL_BYTES + 3);
        let error = |read: Result<(), DataError>| read.unwrap_err().to_string();
        assert!(error(read(needed - 1).map(|_| ())).contains("of memory, the limit for its size"));
        let table = read(needed + 100 * NUMBER_BYTES).unwrap();
        assert!(table.reals(0).is_ok());
        assert!(error(table.reals(1).map(|_| ())).contains("of memory, the limit"));
        assert!(error(read(needed).unwrap().texts(0).map(|_| ())).contains("of memory, the limit"));
    }

    #[test]
    fn rows_are_limited() {
        let temp = TempFolder::new("rows");
        let path = temp.join("rows.csv");
        std::fs::write(&path, "a,b\n1,2\n3,4\n5,6\n").unwrap();
        let read = |max_rows| DataTable::read_at_most(&path, |_, _| true, max_rows, &|_, _| true);
        assert_eq!(read(3).map(|table| table.n_rows).unwrap(), 3);
        let error = read(2).map(|table| table.n_rows).unwrap_err().to_string();
        assert!(error.ends_with("more than 2 rows, the limit of this table"), "{error}");
    }
}
