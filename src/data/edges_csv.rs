//! Reads edge lists as text: one pass over the bytes, in parts of a few megabytes on several threads.
//!
//! Fields are separated by comma, semicolon or tab; lines end with `\n` or `\r\n`, and the first line is a header. Fields may
//! be quoted, but contain no line break.

use super::{
    DataError, MAX_NEURONS, column_names,
    edges::{Batch, BatchFn, EdgeSource, Need, POST, PRE, WeightColumn, out_of_range_message, weight_column},
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

/// Edge list in a text file.
pub struct CsvEdges {
    path: PathBuf,
    separator: u8,
    columns: Vec<String>,
    /// Role of each column up to the last used column: 0 pre, 1 post, 2 count, 3 sign.
    role_of: Vec<Option<usize>>,
    weight: WeightColumn,
    /// Offset of the first byte after the header.
    body: u64,
    end: u64,
}

impl CsvEdges {
    /// Opens a file and reads its header. Fails if the header lacks a column or repeats one.
    pub fn open(path: &Path) -> Result<Self, DataError> {
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
        role_of[find(PRE)?] = Some(0);
        role_of[find(POST)?] = Some(1);
        let weight = weight_column(&columns).map_err(wrong)?;
        match weight {
            WeightColumn::Counts(counts) => role_of[counts] = Some(2),
            WeightColumn::WithSigns { counts, signs } => (role_of[counts], role_of[signs]) = (Some(2), Some(3)),
            WeightColumn::Absent => {}
        }
        while role_of.last() == Some(&None) {
            role_of.pop();
        }
        Ok(Self { path: path.to_owned(), separator, columns, role_of, weight, body, end })
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

    /// Parses the line that starts at `at`. Returns its numbers by role, `None` for a blank line, and the start of the next
    /// line. Fails if a number is missing or invalid, a quote is not closed, or the line has the wrong number of columns.
    #[inline]
    fn line(&self, bytes: &[u8], mut at: usize) -> Result<(Option<[i64; 4]>, usize), String> {
        let mut values = [0, 0, 1, 1];
        if matches!(bytes.get(at), Some(b'\n' | b'\r') | None) {
            return Ok((None, after_line(bytes, at)?));
        }
        for (column, role) in self.role_of.iter().enumerate() {
            if let Some(role) = role {
                let start = at;
                values[*role] = number(bytes, &mut at, self.separator).ok_or_else(|| {
                    let Some(end) = field_end(bytes, start, self.separator) else { return UNCLOSED.to_owned() };
                    format!(
                        "column \"{}\": \"{}\" is not a whole number",
                        self.columns[column],
                        messages::truncated(String::from_utf8_lossy(&bytes[start..end]).trim())
                    )
                })?;
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
        Ok((Some(values), after_line(bytes, self.check_rest(bytes, at)?)?))
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

/// Error about a line that ends inside a quoted field.
const UNCLOSED: &str = "a quote is not closed";

impl EdgeSource for CsvEdges {
    fn n_parts(&self) -> usize {
        (self.end.saturating_sub(self.body)).div_ceil(PART) as usize
    }

    fn weight_column(&self) -> Option<&str> {
        match self.weight {
            WeightColumn::Counts(column) | WeightColumn::WithSigns { counts: column, .. } => {
                Some(&self.columns[column])
            }
            WeightColumn::Absent => None,
        }
    }

    fn part_size(&self, part: usize) -> u64 {
        PART.min(self.end - self.body - part as u64 * PART)
    }

    fn read(
        &self,
        part: usize,
        _need: Need,
        n: u64,
        take: &mut BatchFn<'_>,
        progress: &(dyn Fn(u64) -> Result<(), DataError> + Sync),
    ) -> Result<(), DataError> {
        let (start, bytes) = self.lines_of(part).map_err(|e| DataError::io(&self.path, e))?;
        let mut batch = Batch::default();
        let mut starts: Vec<u32> = Vec::with_capacity(BATCH);
        let (mut at, mut reported) = (0, 0);
        while at < bytes.len() {
            batch.pre.clear();
            batch.post.clear();
            batch.count.clear();
            starts.clear();
            while at < bytes.len() && starts.len() < BATCH {
                let here = start + at as u64;
                let (values, next) = self.line(&bytes, at).map_err(|why| self.error(here, why))?;
                if let Some([pre, post, count, sign]) = values {
                    // Without a column of signs, every sign is 1.
                    let count = count.saturating_mul(sign);
                    batch.pre.push(self.index(pre, "pre", here)?);
                    batch.post.push(self.index(post, "post", here)?);
                    batch.count.push(
                        i32::try_from(count)
                            .map_err(|_| self.error(here, format!("synapse count {count} does not fit 32 bits")))?,
                    );
                    starts.push(at as u32);
                }
                at = next;
            }
            take(&batch).map_err(|out_of_range| {
                let (name, of) = if out_of_range.post { ("post", &batch.post) } else { ("pre", &batch.pre) };
                let what = format!("column \"{name}\": {}", out_of_range_message(u64::from(of[out_of_range.row]), n));
                self.error(start + u64::from(starts[out_of_range.row]), what)
            })?;
            progress((at - reported) as u64)?;
            reported = at;
        }
        Ok(())
    }
}

impl CsvEdges {
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

/// Returns the first byte of the line after the line that ends at `at`. Fails if a carriage return is within the line.
#[inline]
fn after_line(bytes: &[u8], at: usize) -> Result<usize, String> {
    match bytes.get(at..) {
        None | Some([] | [b'\r']) => Ok(bytes.len()),
        Some([b'\n', ..]) => Ok(at + 1),
        Some([b'\r', b'\n', ..]) => Ok(at + 2),
        Some(_) => Err("a carriage return within a line; lines end with \\n or \\r\\n".to_owned()),
    }
}

/// Returns the end of the field that starts at `at`; separators between quotes do not count. `None` if a quote is not closed.
#[inline]
fn field_end(bytes: &[u8], mut at: usize, separator: u8) -> Option<usize> {
    let mut quoted = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' => break,
            b if *b == separator && !quoted => break,
            _ => {}
        }
        at += 1;
    }
    (!quoted).then_some(at)
}

/// Whether a line ends inside a quoted field.
fn is_open_quoted(line: &[u8]) -> bool {
    !line.iter().filter(|byte| **byte == b'"').count().is_multiple_of(2)
}

/// Parses an integer, with optional spaces or quotes, up to a separator or the end of the line; `None` if the field is not an
/// integer.
#[inline]
fn number(bytes: &[u8], at: &mut usize, separator: u8) -> Option<i64> {
    let skip_spaces = |at: &mut usize| {
        while bytes.get(*at) == Some(&b' ') {
            *at += 1;
        }
    };
    skip_spaces(at);
    let is_quoted = bytes.get(*at) == Some(&b'"');
    if is_quoted {
        *at += 1;
        skip_spaces(at);
    }
    let negative = bytes.get(*at) == Some(&b'-');
    if negative || bytes.get(*at) == Some(&b'+') {
        *at += 1;
    }
    let first = *at;
    let mut value: i64 = 0;
    while let Some(digit @ b'0'..=b'9') = bytes.get(*at) {
        value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
        *at += 1;
    }
    if *at == first {
        return None;
    }
    skip_spaces(at);
    if is_quoted {
        if bytes.get(*at) != Some(&b'"') {
            return None;
        }
        *at += 1;
        skip_spaces(at);
    }
    match bytes.get(*at) {
        None | Some(b'\n' | b'\r') => {}
        Some(b) if *b == separator => {}
        _ => return None,
    }
    Some(if negative { -value } else { value })
}
