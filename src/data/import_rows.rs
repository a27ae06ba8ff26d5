//! Rows of a connection list as text cells, from a delimited text file or from Parquet.

use super::{
    DataError, column_names,
    data_table::ending,
    gzip::GzReader,
    input_file, messages,
    parquet_file::{ColumnType, Cursor, IntegerBatch, ParquetFile},
    row_check::{LineBreaks, RowCheck, row_error},
};
use csv::StringRecord;
use std::{
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

/// Number of rows of a Parquet file decoded at a time.
const BATCH: u64 = 4_096;
/// Maximum length of a cell in a Parquet file, bytes: ids, counts and transmitters are short.
const MAX_CELL_BYTES: usize = 1 << 12;

/// Whether the file is a Parquet file, by its extension.
pub fn is_parquet(path: &Path) -> bool {
    ending(path) == "parquet"
}

/// Opens a text file, plain or compressed as `.gz`. Fails if a `.gz` file is not gzip.
pub fn open_text(path: &Path) -> Result<Box<dyn Read>, DataError> {
    let file = BufReader::new(input_file::open(path).map_err(|e| DataError::io(path, e))?);
    match ending(path).as_str() {
        "gz" => Ok(Box::new(GzReader::new(file).map_err(|e| DataError::io(path, e))?)),
        _ => Ok(Box::new(file)),
    }
}

pub enum RowSource {
    Text(Box<TextRows>),
    Parquet(Box<ParquetRows>),
}

impl RowSource {
    /// Opens a file; the delimiter is ignored for Parquet. In a Parquet file only the wanted columns are decoded (`None`: all
    /// columns of numbers or text); other cells are empty. Fails if a column name occurs twice or a wanted column cannot be
    /// decoded.
    pub fn open(path: &Path, delimiter: u8, wanted: Option<&[usize]>) -> Result<Self, DataError> {
        match is_parquet(path) {
            true => Ok(Self::Parquet(Box::new(ParquetRows::open(path, wanted)?))),
            false => Ok(Self::Text(Box::new(TextRows::open(path, delimiter)?))),
        }
    }

    pub fn columns(&self) -> Vec<String> {
        match self {
            Self::Text(text) => text.columns.clone(),
            Self::Parquet(rows) => rows.file.names(),
        }
    }

    /// Reads the next row; returns `false` at the end. Fails if the row is damaged.
    pub fn next(&mut self, row: &mut StringRecord) -> Result<bool, DataError> {
        match self {
            Self::Text(text) => text.next(row),
            Self::Parquet(rows) => rows.next(row),
        }
    }

    /// Returns the fraction of the file read so far, 0 to 1.
    pub fn done(&self) -> f32 {
        match self {
            Self::Text(text) => (text.reader.position().byte() as f32 / text.n_bytes as f32).min(1.0),
            Self::Parquet(rows) => rows.n_read as f32 / rows.n_rows.max(1) as f32,
        }
    }

    /// Returns an error about the row that was read last.
    pub fn error(&self, row: &StringRecord, what: &str) -> DataError {
        match self {
            Self::Text(text) => DataError::at_line(&text.path, row.position().map_or(0, csv::Position::line), what),
            Self::Parquet(rows) => {
                let row = messages::group_digits(rows.n_read);
                DataError::format(&rows.path, format!("row {row}: {what}"))
            }
        }
    }
}

fn text_error(path: &Path, error: &csv::Error) -> DataError {
    if let csv::ErrorKind::Io(error) = error.kind()
        && let Some(error) = row_error(path, error)
    {
        return error;
    }
    DataError::at_line(path, error.position().map_or(1, csv::Position::line), error.to_string())
}

/// Rows of a text file.
pub struct TextRows {
    path: PathBuf,
    /// Size of the file, bytes; progress in a compressed file is overestimated, up to 1.
    n_bytes: u64,
    reader: csv::Reader<RowCheck<Box<dyn Read>>>,
    columns: Vec<String>,
}

impl TextRows {
    /// Opens a file and reads its header. Fails if a column name occurs twice.
    fn open(path: &Path, delimiter: u8) -> Result<Self, DataError> {
        let n_bytes = std::fs::metadata(path).map_or(1, |m| m.len()).max(1);
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(delimiter).flexible(true).trim(csv::Trim::All);
        let mut reader = builder.from_reader(RowCheck::new(open_text(path)?, delimiter, LineBreaks::BetweenRows));
        let header = reader.headers().map_err(|e| text_error(path, &e))?;
        let columns: Vec<String> = header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
        column_names::reject_repeated(&columns).map_err(|what| DataError::at_line(path, 1, what))?;
        Ok(Self { path: path.to_owned(), n_bytes, reader, columns })
    }

    /// Reads the next row; returns `false` at the end. A row may have fewer columns than the header; a row with more columns is
    /// an error.
    fn next(&mut self, row: &mut StringRecord) -> Result<bool, DataError> {
        if !self.reader.read_record(row).map_err(|e| text_error(&self.path, &e))? {
            return Ok(false);
        }
        let what = if row.len() > self.columns.len() {
            format!("{} where the header has {}", messages::counted(row.len(), "column", "columns"), self.columns.len())
        } else if row.iter().eq(&self.columns) {
            "the header occurs again; import files with a header each as several files".to_owned()
        } else {
            return Ok(true);
        };
        Err(DataError::at_line(&self.path, row.position().map_or(0, csv::Position::line), what))
    }
}

/// Rows of a Parquet file.
pub struct ParquetRows {
    path: PathBuf,
    file: ParquetFile,
    /// Columns that are decoded.
    wanted: Vec<usize>,
    /// Index of the next row group, and number of undecoded rows of the present one.
    group: usize,
    n_left: u64,
    cursors: Vec<Cursor>,
    cells: Vec<Cells>,
    /// Current row in the batch, and number of rows in the batch.
    at: usize,
    n_batch: usize,
    n_read: u64,
    n_rows: u64,
}

/// Decoded cells of one column, in sequence.
#[derive(Default)]
struct Cells {
    text: String,
    ends: Vec<usize>,
}

impl Cells {
    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len());
    }

    fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.text[start..self.ends[row]]
    }
}

impl ParquetRows {
    fn open(path: &Path, wanted: Option<&[usize]>) -> Result<Self, DataError> {
        let file = ParquetFile::open(path)?;
        column_names::reject_repeated(&file.names()).map_err(|what| DataError::format(path, what))?;
        let is_read = |at: &usize| file.columns.get(*at).is_some_and(|c| c.column_type != ColumnType::Other);
        let mut columns: Vec<usize> = match wanted {
            Some(wanted) => wanted.to_vec(),
            None => (0..file.columns.len()).filter(is_read).collect(),
        };
        columns.sort_unstable();
        columns.dedup();
        if let Some(column) = columns.iter().find(|at| !is_read(at)) {
            let what = file.columns.get(*column).map_or_else(
                || format!("column {} is missing", column + 1),
                |c| {
                    format!(
                        "column \"{}\" has type {}; numbers or text expected",
                        messages::truncated(&c.name),
                        c.type_name
                    )
                },
            );
            return Err(DataError::format(path, what));
        }
        Ok(Self {
            path: path.to_owned(),
            n_rows: file.group_rows.iter().sum(),
            cells: columns.iter().map(|_| Cells::default()).collect(),
            wanted: columns,
            file,
            group: 0,
            n_left: 0,
            cursors: vec![],
            at: 0,
            n_batch: 0,
            n_read: 0,
        })
    }

    fn next(&mut self, row: &mut StringRecord) -> Result<bool, DataError> {
        if self.at == self.n_batch && !self.decode()? {
            return Ok(false);
        }
        row.clear();
        let mut decoded = self.wanted.iter().zip(&self.cells).peekable();
        for column in 0..self.file.columns.len() {
            let cells = decoded.next_if(|(wanted, _)| **wanted == column).map(|(_, cells)| cells);
            row.push_field(cells.map_or("", |cells| cells.get(self.at).trim()));
        }
        self.at += 1;
        self.n_read += 1;
        Ok(true)
    }

    /// Decodes the next batch; returns `false` at the end of the file. Fails if the file is damaged or a text exceeds
    /// [`MAX_CELL_BYTES`].
    fn decode(&mut self) -> Result<bool, DataError> {
        while self.n_left == 0 {
            let Some(rows) = self.file.group_rows.get(self.group) else { return Ok(false) };
            self.n_left = *rows;
            let open = |column: &usize| self.file.cursor(self.group, *column, 0);
            self.cursors = self.wanted.iter().map(open).collect::<Result<_, _>>()?;
            self.group += 1;
        }
        let n = self.n_left.min(BATCH) as usize;
        let (mut integers, mut reals) = (IntegerBatch::default(), vec![]);
        for ((column, cursor), cells) in self.wanted.iter().zip(&mut self.cursors).zip(&mut self.cells) {
            cells.clear();
            match self.file.columns[*column].column_type {
                ColumnType::Integer { unsigned } => {
                    cursor.integers(n, unsigned, &mut integers)?;
                    let text = |v: &i64| if unsigned { (*v as u64).to_string() } else { v.to_string() };
                    integers.wide.iter().for_each(|v| cells.push(&text(v)));
                }
                ColumnType::Real => {
                    reals.clear();
                    cursor.reals(n, &mut reals)?;
                    reals.iter().for_each(|v| cells.push(&if v.is_nan() { String::new() } else { v.to_string() }));
                }
                ColumnType::Text | ColumnType::Other => {
                    let mut longest = 0;
                    cursor.texts(n, |text| {
                        longest = text.len().max(longest);
                        cells.push(if text.len() <= MAX_CELL_BYTES { text } else { "" });
                    })?;
                    if longest > MAX_CELL_BYTES {
                        return Err(
                            cursor.error(n as u64, &format!("a text of {longest} bytes; ids or names expected"))
                        );
                    }
                }
            }
        }
        (self.at, self.n_batch) = (0, n);
        self.n_left -= n as u64;
        Ok(true)
    }
}
