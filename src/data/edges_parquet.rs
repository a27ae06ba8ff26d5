//! Reads edge lists in Parquet: row groups, or parts of long row groups, decoded on several threads.

use super::{
    DataError, column_names,
    edges::{Batch, BatchFn, EdgeSource, Need, POST, PRE, WeightColumn, out_of_range_message, weight_column},
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

/// Edge list in a Parquet file.
pub struct ParquetEdges {
    path: PathBuf,
    pre: Integers,
    post: Integers,
    /// Column of synapse counts; `None` if each row counts as one synapse.
    count: Option<Integers>,
    sign: Option<Integers>,
    /// Name of the column of the counts.
    count_name: Option<String>,
    /// Parts: (row group, first row, number of rows).
    parts: Vec<(usize, u64, u64)>,
}

impl ParquetEdges {
    /// Opens a file, finds its columns and divides its rows into parts. Fails if a column is missing, repeated or not of
    /// integers.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let file = ParquetFile::open(path)?;
        let names = file.names();
        column_names::reject_repeated(&names).map_err(|what| DataError::format(path, what))?;
        let pre = integers(path, &file, find(path, &file, PRE)?)?;
        let post = integers(path, &file, find(path, &file, POST)?)?;
        let weight = weight_column(&names).map_err(|what| DataError::format(path, what))?;
        let (counts, signs) = match weight {
            WeightColumn::Counts(counts) => (Some(counts), None),
            WeightColumn::WithSigns { counts, signs } => (Some(counts), Some(signs)),
            WeightColumn::Absent => (None, None),
        };
        let integers = |column: Option<usize>| column.map(|column| integers(path, &file, column)).transpose();
        let (count, sign) = (integers(counts)?, integers(signs)?);
        let count_name = counts.map(|column| names[column].clone());
        let mut parts = Vec::new();
        for (group, rows) in file.group_rows.iter().enumerate() {
            if *rows > u64::from(u32::MAX) {
                return Err(DataError::format(
                    path,
                    format!("row group {group} claims {} rows", messages::group_digits(*rows)),
                ));
            }
            let n = rows.div_ceil(PART_ROWS);
            parts.extend((0..n).map(|p| (group, p * PART_ROWS, PART_ROWS.min(rows - p * PART_ROWS))));
        }
        Ok(Self { path: path.to_owned(), pre, post, count, sign, count_name, parts })
    }
}

fn find(path: &Path, file: &ParquetFile, names: &[&str]) -> Result<usize, DataError> {
    file.find(names).ok_or_else(|| DataError::format(path, messages::no_column(names, &file.names())))
}

fn integers(path: &Path, file: &ParquetFile, column: usize) -> Result<Integers, DataError> {
    let info = &file.columns[column];
    match info.column_type {
        ColumnType::Integer { unsigned } => Ok(Integers { column, unsigned }),
        _ => Err(DataError::format(
            path,
            format!(
                "column \"{}\" has type {}; whole numbers expected",
                messages::truncated(&info.name),
                info.type_name
            ),
        )),
    }
}

impl EdgeSource for ParquetEdges {
    fn n_parts(&self) -> usize {
        self.parts.len()
    }

    fn weight_column(&self) -> Option<&str> {
        self.count_name.as_deref()
    }

    fn part_size(&self, part: usize) -> u64 {
        self.parts[part].2
    }

    fn read(
        &self,
        part: usize,
        need: Need,
        n: u64,
        take: &mut BatchFn<'_>,
        progress: &(dyn Fn(u64) -> Result<(), DataError> + Sync),
    ) -> Result<(), DataError> {
        let (group, first, rows) = self.parts[part];
        let file = ParquetFile::open(&self.path)?;
        let start = |of: Integers| file.cursor(group, of.column, first as usize);
        let mut pre = start(self.pre)?;
        let mut post = if need == Need::Pre { None } else { Some(start(self.post)?) };
        let wanted = |of: Option<Integers>| of.filter(|_| need == Need::All);
        let mut count = wanted(self.count).map(|of| Ok::<_, DataError>((start(of)?, of.unsigned))).transpose()?;
        let mut sign = wanted(self.sign).map(|of| Ok::<_, DataError>((start(of)?, of.unsigned))).transpose()?;
        let (mut room, mut signs, mut batch) = (IntegerBatch::default(), IntegerBatch::default(), Batch::default());
        let mut left = rows;
        while left > 0 {
            let size = left.min(BATCH as u64) as usize;
            indices(&mut pre, self.pre.unsigned, size, &mut room, &mut batch.pre)?;
            if let Some(post) = &mut post {
                indices(post, self.post.unsigned, size, &mut room, &mut batch.post)?;
            }
            if let Some((count, unsigned)) = &mut count {
                count.integers(size, *unsigned, &mut room)?;
                if let Some((sign, unsigned)) = &mut sign {
                    sign.integers(size, *unsigned, &mut signs)?;
                    room.wide.iter_mut().zip(&signs.wide).for_each(|(c, s)| *c = c.saturating_mul(*s));
                }
                counts(count, &room.wide, &mut batch.count)?;
            } else if need == Need::All {
                batch.count.clear();
                batch.count.resize(size, 1);
            }
            take(&batch).map_err(|out_of_range| {
                let (cursor, of) = match &post {
                    Some(post) if out_of_range.post => (post, batch.post[out_of_range.row]),
                    _ => (&pre, batch.pre[out_of_range.row]),
                };
                cursor.error((size - out_of_range.row) as u64, &out_of_range_message(u64::from(of), n))
            })?;
            left -= size as u64;
            progress(size as u64)?;
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
    out.clear();
    out.extend(values.iter().map(|v| *v as i32));
    let wrong = values.iter().zip(&*out).position(|(v, c)| *v != i64::from(*c));
    match wrong {
        None => Ok(()),
        Some(row) => {
            Err(from.error((values.len() - row) as u64, &format!("synapse count {} does not fit 32 bits", values[row])))
        }
    }
}
