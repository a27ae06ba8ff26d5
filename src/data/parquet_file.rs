//! Reads Parquet files column by column and in batches, with errors that name the column and row group.
//!
//! The decoder is an external crate that checks most but not all damage, so every call of the decoder is made in [`guarded`]: a
//! panic of the decoder becomes a [`DataError`] like any other damage.

use super::{DataError, input_file, messages, parquet_footer, parquet_pages::CheckedPages};
use parquet::{
    basic::{ConvertedType, LogicalType, Type},
    column::reader::{ColumnReader, get_column_reader},
    data_type::ByteArray,
    file::reader::{FileReader, SerializedFileReader},
};
use std::{
    cell::Cell,
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Once,
};

thread_local! {
    /// Whether this thread is inside [`guarded`], where a panic is expected and need not be printed.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls the decoder. Errors and panics of the decoder become messages about the file.
///
/// The first call installs a panic hook that is silent inside the guard and passes every other panic to the previous
/// hook. If another hook is installed later, guarded panics are printed.
fn guarded<T>(run: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                earlier(info);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(outer);
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(messages::truncated_to(&error.to_string(), 200)),
        Err(_) => Err("the file is damaged".to_owned()),
    }
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    Integer {
        /// Whether the bits are unsigned.
        unsigned: bool,
    },
    /// Floating point numbers.
    Real,
    Text,
    /// Type that is not supported.
    Other,
}

#[derive(Clone, Debug)]
pub struct ColumnInfo {
    /// Name of the column; parts of nested names are joined by dots.
    pub name: String,
    pub column_type: ColumnType,
    /// Name of the type in the file.
    pub type_name: String,
    nullable: bool,
}

/// Open Parquet file. Threads do not share a value: each thread opens the file.
pub struct ParquetFile {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    pub columns: Vec<ColumnInfo>,
    /// Number of rows per row group.
    pub group_rows: Vec<u64>,
}

impl ParquetFile {
    /// Opens a file and reads its footer. Fails if the footer is damaged.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let mut file = input_file::open(path).map_err(|e| DataError::io(path, e))?;
        let n_bytes = file.metadata().map_err(|e| DataError::io(path, e))?.len();
        if n_bytes == 0 {
            return Err(DataError::format(path, "the file is empty"));
        }
        if !parquet_footer::is_plausible(&mut file).map_err(|e| DataError::io(path, e))? {
            return Err(DataError::format(path, "not a complete Parquet file: the schema in its footer is damaged"));
        }
        let (reader, columns, group_rows) = guarded(|| {
            let reader = SerializedFileReader::new(file)?;
            let schema = reader.metadata().file_metadata().schema_descr();
            let columns = schema.columns().iter().map(|c| describe(c)).collect::<Vec<_>>();
            let group_rows = reader.metadata().row_groups().iter().map(|g| g.num_rows().max(0) as u64).collect();
            Ok((reader, columns, group_rows))
        })
        .map_err(|why| DataError::format(path, format!("not a complete Parquet file: {why}")))?;
        Ok(Self { path: path.to_owned(), reader, columns, group_rows })
    }

    /// Returns the names of all columns.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }

    /// Returns the index of the first of these names that exists, case-sensitive; `None` if none does.
    pub fn find(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|n| self.columns.iter().position(|c| c.name == *n))
    }

    /// Returns the value of a key in the metadata of the file; `None` if there is no such key.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        let entries = self.reader.metadata().file_metadata().key_value_metadata()?;
        entries.iter().find(|entry| entry.key == key)?.value.as_deref()
    }

    /// Starts reading a column in a row group after `skip` rows. Fails if the group has fewer rows.
    pub fn cursor(&self, group: usize, column: usize, skip: usize) -> Result<Cursor, DataError> {
        let reader = guarded(|| {
            let rows = self.reader.get_row_group(group)?;
            let kind = rows.metadata().column(column).column_descr_ptr();
            let pages = CheckedPages(rows.get_column_page_reader(column)?);
            let mut reader = get_column_reader(kind, Box::new(pages));
            let skipped = match &mut reader {
                ColumnReader::Int32ColumnReader(r) => r.skip_records(skip)?,
                ColumnReader::Int64ColumnReader(r) => r.skip_records(skip)?,
                ColumnReader::FloatColumnReader(r) => r.skip_records(skip)?,
                ColumnReader::DoubleColumnReader(r) => r.skip_records(skip)?,
                _ => 0,
            };
            Ok((skipped == skip).then_some(reader))
        });
        let location = Location { path: self.path.clone(), column: self.columns[column].name.clone(), group };
        match reader {
            Ok(Some(reader)) => Ok(Cursor {
                reader,
                nullable: self.columns[column].nullable,
                levels: Vec::new(),
                location,
                row: skip as u64,
            }),
            Ok(None) => Err(location.error(None, "fewer rows than the file says")),
            Err(why) => Err(location.error(None, &why)),
        }
    }
}

fn describe(c: &parquet::schema::types::ColumnDescriptor) -> ColumnInfo {
    let flat = c.max_rep_level() == 0 && c.max_def_level() <= 1;
    let logical = c.logical_type_ref();
    let plain_integer = matches!(logical, None | Some(LogicalType::Integer(_)))
        && !matches!(c.converted_type(), ConvertedType::DECIMAL);
    let unsigned = matches!(logical, Some(LogicalType::Integer(kind)) if !kind.is_signed)
        || matches!(
            c.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        );
    let column_type = match c.physical_type() {
        _ if !flat => ColumnType::Other,
        Type::INT32 | Type::INT64 if plain_integer => ColumnType::Integer { unsigned },
        Type::FLOAT | Type::DOUBLE => ColumnType::Real,
        Type::BYTE_ARRAY => ColumnType::Text,
        _ => ColumnType::Other,
    };
    let type_name = if flat { format!("{}", c.physical_type()) } else { "nested".to_owned() };
    ColumnInfo { name: c.path().string(), column_type, type_name, nullable: c.max_def_level() > 0 }
}

/// Column and row group, for messages.
#[derive(Clone, Debug)]
struct Location {
    path: PathBuf,
    column: String,
    group: usize,
}

impl Location {
    fn error(&self, row: Option<u64>, what: &str) -> DataError {
        let row = row.map_or_else(String::new, |r| format!(", row {r}"));
        DataError::format(
            &self.path,
            format!("column \"{}\", row group {}{row}: {what}", messages::truncated(&self.column), self.group),
        )
    }
}

/// Reader of one column of one row group, forward only.
pub struct Cursor {
    reader: ColumnReader,
    nullable: bool,
    levels: Vec<i16>,
    location: Location,
    row: u64,
}

impl Cursor {
    /// Returns an error about the row `back` rows before the next row.
    pub fn error(&self, back: u64, what: &str) -> DataError {
        self.location.error(Some(self.row.saturating_sub(back)), what)
    }

    /// Reads exactly `n` integers, widened to 64 bits. Missing values are errors.
    pub fn integers(&mut self, n: usize, unsigned: bool, out: &mut IntegerBatch) -> Result<(), DataError> {
        out.narrow.clear();
        out.wide.clear();
        self.levels.clear();
        let read = guarded(|| match &mut self.reader {
            ColumnReader::Int32ColumnReader(r) => r.read_records(n, Some(&mut self.levels), None, &mut out.narrow),
            ColumnReader::Int64ColumnReader(r) => r.read_records(n, Some(&mut self.levels), None, &mut out.wide),
            _ => Ok((0, 0, 0)),
        });
        let (rows, values, _) = read.map_err(|why| self.location.error(None, &why))?;
        self.check(rows, n)?;
        if values != n {
            let missing = self.levels.iter().position(|l| *l == 0).unwrap_or(0) as u64;
            return Err(self.location.error(Some(self.row + missing), "a value is missing"));
        }
        if unsigned {
            out.wide.extend(out.narrow.iter().map(|v| i64::from(*v as u32)));
        } else {
            out.wide.extend(out.narrow.iter().map(|v| i64::from(*v)));
        }
        self.row += n as u64;
        Ok(())
    }

    /// Appends exactly `n` floating point numbers; a missing value becomes NaN. Fails if the group has fewer rows.
    pub fn reals(&mut self, n: usize, out: &mut Vec<f64>) -> Result<(), DataError> {
        self.levels.clear();
        let mut found: Vec<f64> = Vec::new();
        let read = guarded(|| match &mut self.reader {
            ColumnReader::FloatColumnReader(r) => {
                let mut narrow = Vec::new();
                let read = r.read_records(n, Some(&mut self.levels), None, &mut narrow)?;
                found.extend(narrow.into_iter().map(f64::from));
                Ok(read)
            }
            ColumnReader::DoubleColumnReader(r) => r.read_records(n, Some(&mut self.levels), None, &mut found),
            _ => Ok((0, 0, 0)),
        });
        let (rows, ..) = read.map_err(|why| self.location.error(None, &why))?;
        self.check(rows, n)?;
        let mut found = found.into_iter();
        for row in 0..n {
            let there = !self.nullable || self.levels.get(row).is_some_and(|l| *l > 0);
            out.push(if there { found.next().unwrap_or(f64::NAN) } else { f64::NAN });
        }
        self.row += n as u64;
        Ok(())
    }

    /// Replaces `out` by exactly `n` numbers. A missing integer is an error, a missing floating point number becomes NaN.
    pub fn numbers(
        &mut self,
        n: usize,
        column_type: ColumnType,
        room: &mut IntegerBatch,
        out: &mut Vec<f64>,
    ) -> Result<(), DataError> {
        out.clear();
        let ColumnType::Integer { unsigned } = column_type else { return self.reals(n, out) };
        self.integers(n, unsigned, room)?;
        out.extend(room.wide.iter().map(|value| *value as f64));
        Ok(())
    }

    /// Calls `each` with exactly `n` texts; a missing text is empty. Fails if the group has fewer rows or a text is not UTF-8.
    pub fn texts(&mut self, n: usize, mut each: impl FnMut(&str)) -> Result<(), DataError> {
        self.levels.clear();
        let mut found: Vec<ByteArray> = Vec::new();
        let read = guarded(|| match &mut self.reader {
            ColumnReader::ByteArrayColumnReader(r) => r.read_records(n, Some(&mut self.levels), None, &mut found),
            _ => Ok((0, 0, 0)),
        });
        let (rows, ..) = read.map_err(|why| self.location.error(None, &why))?;
        self.check(rows, n)?;
        let mut found = found.iter();
        for row in 0..n {
            let there = !self.nullable || self.levels.get(row).is_some_and(|l| *l > 0);
            let bytes = if there { found.next().map_or(&[][..], |b| b.data()) } else { &[] };
            match std::str::from_utf8(bytes) {
                Ok(text) => each(text),
                Err(_) => return Err(self.location.error(Some(self.row + row as u64), "not UTF-8 text")),
            }
        }
        self.row += n as u64;
        Ok(())
    }

    fn check(&self, rows: usize, wanted: usize) -> Result<(), DataError> {
        if rows == wanted { Ok(()) } else { Err(self.location.error(None, "fewer rows than the file says")) }
    }
}

/// Batch of integers, with a decoding buffer.
#[derive(Default)]
pub struct IntegerBatch {
    narrow: Vec<i32>,
    pub wide: Vec<i64>,
}
