//! Reads edge lists as text: one pass over the bytes, in parts of a few megabytes on several threads.
//!
//! Fields are separated by comma, semicolon or tab; lines end with `\n` or `\r\n`, and the first line is a header. Fields may
//! be quoted, but contain no line break.

use super::{
    DataError, MAX_NEURONS, column_names,
    csv_fields::{UNCLOSED, after_line, field_end, is_open_quoted, number, real},
    edge_columns::{DELAY_MS, POST, PRE},
    edges::{
        Batch, BatchFn, EdgeColumn, EdgeSource, Need, RowValues, WeightColumn, out_of_range_message, weight_column,
    },
    input_file, messages,
};
use std::{
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// Size of a part, bytes.
const PART: u64 = 4 << 20;
/// Number of rows per batch.
const BATCH: usize = 16_384;
/// Maximum length of a line in bytes; a file with longer lines is not an edge list.
const MAX_LINE_BYTES: u64 = 1 << 16;

/// Role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Pre,
    Post,
    Weight,
    Sign,
    Delay,
}

/// Numbers of a line.
#[derive(Clone, Copy)]
struct Line {
    pre: i64,
    post: i64,
    /// Synapse count without its sign; 1 for a floating point weight.
    count: i64,
    sign: i64,
    /// Floating point weight; `None` for a whole count.
    real: Option<f64>,
    delay_ms: f64,
}

impl Line {
    /// Line without columns of weights and delays.
    const EMPTY: Self = Self { pre: 0, post: 0, count: 1, sign: 1, real: None, delay_ms: 0.0 };

    fn weight(&self) -> f64 {
        self.real.unwrap_or(self.count as f64) * self.sign as f64
    }
}

/// Edge list in a text file.
pub struct CsvEdges {
    path: PathBuf,
    separator: u8,
    columns: Vec<String>,
    /// Role of each column up to the last used column.
    role_of: Vec<Option<Role>>,
    weight: WeightColumn,
    values: RowValues,
    /// Offset of the first byte after the header.
    body: u64,
    end: u64,
}

impl CsvEdges {
    /// Opens a file and reads its header. Fails if the header lacks a column or repeats one.
    pub fn open(path: &Path, values: RowValues) -> Result<Self, DataError> {
        let file = input_file::open(path).map_err(|e| DataError::io(path, e))?;
        let end = file.metadata().map_err(|e| DataError::io(path, e))?.len();
        let mut header = Vec::new();
        let mut reader = BufReader::new(file).take(MAX_LINE_BYTES);
        let body = reader.read_until(b'\n', &mut header).map_err(|e| DataError::io(path, e))? as u64;
        if header.iter().all(u8::is_ascii_whitespace) {
            return Err(DataError::format(path, "the file is empty; a header line with pre, post, w expected"));
        }
        let text = String::from_utf8_lossy(&header);
        let text = text.trim_start_matches('\u{feff}').trim_end();
        let separator = super::data_table::separator(text);
        let columns: Vec<String> =
            text.split(char::from(separator)).map(|c| c.trim().trim_matches('"').to_owned()).collect();
        let wrong = |what: String| DataError::at_line(path, 1, what);
        if is_open_quoted(text.as_bytes()) {
            return Err(wrong(UNCLOSED.to_owned()));
        }
        column_names::reject_repeated(&columns).map_err(wrong)?;
        let find = |names: &[&str]| {
            let at = names.iter().find_map(|n| columns.iter().position(|c| c == n));
            at.ok_or_else(|| wrong(messages::no_column(names, &columns)))
        };
        let mut role_of = vec![None; columns.len()];
        role_of[find(PRE)?] = Some(Role::Pre);
        role_of[find(POST)?] = Some(Role::Post);
        let weight = weight_column(&columns).map_err(wrong)?;
        match weight {
            WeightColumn::Counts(counts) => role_of[counts] = Some(Role::Weight),
            WeightColumn::WithSigns { counts, signs } => {
                (role_of[counts], role_of[signs]) = (Some(Role::Weight), Some(Role::Sign));
            }
            WeightColumn::Absent => {}
        }
        if let Some(delay) = columns.iter().position(|c| values == RowValues::Weights && c == DELAY_MS) {
            role_of[delay] = Some(Role::Delay);
        }
        while role_of.last() == Some(&None) {
            role_of.pop();
        }
        Ok(Self { path: path.to_owned(), separator, columns, role_of, weight, values, body, end })
    }

    /// Reads the lines that start in this part; returns the file offset of the first line and the bytes.
    fn lines_of(&self, part: usize) -> std::io::Result<(u64, Vec<u8>)> {
        let from = self.body + part as u64 * PART;
        let to = (from + PART).min(self.end);
        let mut file = input_file::open(&self.path)?;
        // Reading starts one byte earlier, because a line starts only after a line break.
        file.seek(SeekFrom::Start(from - 1))?;
        let mut bytes = Vec::with_capacity((to - from + 1) as usize + 256);
        let mut reader = BufReader::new(file);
        reader.by_ref().take(to - from + 1).read_to_end(&mut bytes)?;
        if bytes.last().is_some_and(|b| *b != b'\n') {
            let more = reader.take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
            if more as u64 == MAX_LINE_BYTES {
                return Err(std::io::Error::other(format!("a line longer than {MAX_LINE_BYTES} bytes")));
            }
        }
        let skip = if part == 0 { 1 } else { bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |at| at + 1) };
        // A line longer than the part belongs to an earlier part.
        if skip as u64 > to - from + 1 {
            return Ok((from, Vec::new()));
        }
        bytes.drain(..skip);
        Ok((from - 1 + skip as u64, bytes))
    }

    /// Returns the line number of a byte, counted from 1; 0 if the file cannot be read.
    fn line_of(&self, at: u64) -> u64 {
        let count = || -> std::io::Result<u64> {
            let mut reader = BufReader::with_capacity(1 << 20, input_file::open(&self.path)?).take(at);
            let mut lines = 1;
            loop {
                let bytes = reader.fill_buf()?;
                if bytes.is_empty() {
                    return Ok(lines);
                }
                lines += bytes.iter().filter(|b| **b == b'\n').count() as u64;
                let n = bytes.len();
                reader.consume(n);
            }
        };
        count().unwrap_or(0)
    }

    fn error(&self, at: u64, what: impl Into<String>) -> DataError {
        DataError::at_line(&self.path, self.line_of(at), what)
    }

    /// Parses the line that starts at `at`. Returns its numbers, `None` for a blank line, and the start of the next line. Fails
    /// if a number is missing or invalid, a quote is not closed, or the line has the wrong number of columns.
    #[inline]
    fn line(&self, bytes: &[u8], mut at: usize) -> Result<(Option<Line>, usize), String> {
        let mut line = Line::EMPTY;
        if matches!(bytes.get(at), Some(b'\n' | b'\r') | None) {
            return Ok((None, after_line(bytes, at)?));
        }
        for (column, role) in self.role_of.iter().enumerate() {
            if let Some(role) = role {
                let start = at;
                self.field(bytes, &mut at, *role, &mut line)
                    .ok_or_else(|| self.no_number(bytes, start, column, *role))?;
            } else {
                at = field_end(bytes, at, self.separator).ok_or(UNCLOSED)?;
            }
            if column + 1 < self.role_of.len() {
                if bytes.get(at) != Some(&self.separator) {
                    return Err(format!("{} of {} columns", column + 1, self.columns.len()));
                }
                at += 1;
            }
        }
        Ok((Some(line), after_line(bytes, self.check_rest(bytes, at)?)?))
    }

    /// Parses one field into `line`; `None` if it is not a number of the kind that its column holds.
    #[inline]
    fn field(&self, bytes: &[u8], at: &mut usize, role: Role, line: &mut Line) -> Option<()> {
        let start = *at;
        match (role, number(bytes, at, self.separator)) {
            (Role::Pre, whole) => line.pre = whole?,
            (Role::Post, whole) => line.post = whole?,
            (Role::Sign, whole) => line.sign = whole?,
            (Role::Weight, Some(count)) => line.count = count,
            (Role::Weight, None) if self.may_be_real() => {
                *at = start;
                line.real = Some(real(bytes, at, self.separator)?);
            }
            (Role::Weight, None) => return None,
            (Role::Delay, _) => {
                *at = start;
                line.delay_ms = real(bytes, at, self.separator)?;
            }
        }
        Some(())
    }

    /// Returns the error about a field that is not a number of the kind that its column holds.
    fn no_number(&self, bytes: &[u8], start: usize, column: usize, role: Role) -> String {
        let Some(end) = field_end(bytes, start, self.separator) else { return UNCLOSED.to_owned() };
        let is_real = role == Role::Delay || role == Role::Weight && self.may_be_real();
        format!(
            "column \"{}\": \"{}\" is not a {}",
            self.columns[column],
            messages::truncated(String::from_utf8_lossy(&bytes[start..end]).trim()),
            if is_real { "number" } else { "whole number" }
        )
    }

    /// Skips the columns after the last used column. Fails if there are more columns than in the header.
    #[inline]
    fn check_rest(&self, bytes: &[u8], mut at: usize) -> Result<usize, String> {
        let mut n_columns = self.role_of.len();
        while bytes.get(at) == Some(&self.separator) {
            at = field_end(bytes, at + 1, self.separator).ok_or(UNCLOSED)?;
            n_columns += 1;
        }
        match n_columns > self.columns.len() {
            true => Err(format!(
                "{} where the header has {}",
                messages::counted(n_columns, "column", "columns"),
                self.columns.len()
            )),
            false => Ok(at),
        }
    }
}

impl EdgeSource for CsvEdges {
    fn n_parts(&self) -> usize {
        (self.end.saturating_sub(self.body)).div_ceil(PART) as usize
    }

    fn part_size(&self, part: usize) -> u64 {
        PART.min(self.end - self.body - part as u64 * PART)
    }

    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn weight_column(&self) -> Option<&str> {
        match self.weight {
            WeightColumn::Counts(column) | WeightColumn::WithSigns { counts: column, .. } => {
                Some(&self.columns[column])
            }
            WeightColumn::Absent => None,
        }
    }

    fn has_delays(&self) -> bool {
        self.role_of.contains(&Some(Role::Delay))
    }

    fn may_be_real(&self) -> bool {
        self.values == RowValues::Weights && matches!(self.weight, WeightColumn::Counts(_))
    }

    fn weight_exponent(&self) -> Option<i32> {
        None
    }

    fn read(
        &self,
        part: usize,
        need: Need,
        take: &mut BatchFn<'_>,
        progress: &(dyn Fn(u64) -> Result<(), DataError> + Sync),
    ) -> Result<(), DataError> {
        let (start, bytes) = self.lines_of(part).map_err(|e| DataError::io(&self.path, e))?;
        let mut batch = Batch::default();
        let mut starts: Vec<u32> = Vec::with_capacity(BATCH);
        let (mut at, mut reported) = (0, 0);
        while at < bytes.len() {
            batch.clear();
            starts.clear();
            while at < bytes.len() && starts.len() < BATCH {
                let here = start + at as u64;
                let (line, next) = self.line(&bytes, at).map_err(|why| self.error(here, why))?;
                if let Some(line) = line {
                    batch.pre.push(self.index(line.pre, "pre", here)?);
                    batch.post.push(self.index(line.post, "post", here)?);
                    match need {
                        Need::Weights => self.push_weight(&mut batch, &line),
                        _ => batch.count.push(self.count(&line, here)?),
                    }
                    starts.push(at as u32);
                }
                at = next;
            }
            take(&batch).map_err(|wrong| {
                let what = format!("column \"{}\": {}", self.name_of(wrong.column), wrong.what);
                self.error(start + u64::from(starts[wrong.row]), what)
            })?;
            progress((at - reported) as u64)?;
            reported = at;
        }
        Ok(())
    }
}

impl CsvEdges {
    /// Returns the name of a column, for messages.
    fn name_of(&self, column: EdgeColumn) -> &str {
        match column {
            EdgeColumn::Pre => PRE[0],
            EdgeColumn::Post => POST[0],
            EdgeColumn::Weight => self.weight_column().unwrap_or_default(),
            EdgeColumn::Delay => DELAY_MS,
        }
    }

    /// Returns the signed synapse count of a line. Fails if it does not fit 32 bits.
    #[inline]
    fn count(&self, line: &Line, at: u64) -> Result<i32, DataError> {
        let count = line.count.saturating_mul(line.sign);
        i32::try_from(count).map_err(|_| self.error(at, format!("synapse count {count} does not fit 32 bits")))
    }

    fn push_weight(&self, batch: &mut Batch, line: &Line) {
        batch.weight.push(line.weight());
        batch.is_real |= line.real.is_some();
        if self.has_delays() {
            batch.delay_ms.push(line.delay_ms);
        }
    }

    #[inline]
    fn index(&self, value: i64, column: &str, at: u64) -> Result<u32, DataError> {
        u32::try_from(value).map_err(|_| {
            let why = if value < 0 {
                format!("negative index {value}")
            } else {
                out_of_range_message(value as u64, u64::from(MAX_NEURONS))
            };
            self.error(at, format!("column \"{column}\": {why}"))
        })
    }
}
