//! Checks the rows of delimited text before the CSV parser, which accepts some damage: an unclosed quote swallows the rest of a
//! file, and a row may be as long as the file.

use super::DataError;
use std::{
    io::{self, ErrorKind, Read},
    path::Path,
};

/// Maximum length of a row, bytes.
const MAX_ROW_BYTES: u64 = 16 << 20;

/// Damaged row, inside an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what}")]
struct DamagedRow {
    line: u64,
    what: &'static str,
}

/// Whether quoted cells may hold line breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineBreaks {
    /// Quoted cells may hold line breaks. This variant is for tables with text.
    InCells,
    /// Line breaks end rows. This variant is for lists of numbers and ids, in which a line break in a cell means an unclosed
    /// quote.
    BetweenRows,
}

/// Position within a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    FieldStart,
    Field,
    Quoted,
    QuoteInQuoted,
}

/// Reader that passes text on and checks its quotes and the length of its rows.
pub struct RowCheck<R> {
    from: R,
    delimiter: u8,
    line_breaks: LineBreaks,
    at: At,
    /// Line of the next byte, and of the last opening quote, counted from 1.
    line: u64,
    quote_line: u64,
    n_row_bytes: u64,
}

impl<R: Read> RowCheck<R> {
    /// Creates a checker of text with this delimiter.
    pub const fn new(from: R, delimiter: u8, line_breaks: LineBreaks) -> Self {
        Self { from, delimiter, line_breaks, at: At::FieldStart, line: 1, quote_line: 1, n_row_bytes: 0 }
    }

    #[inline]
    fn step(&mut self, byte: u8) -> Result<(), DamagedRow> {
        self.n_row_bytes += 1;
        let is_break = byte == b'\n';
        if is_break {
            self.line += 1;
        }
        self.at = match (self.at, byte) {
            (At::Quoted, b'"') => At::QuoteInQuoted,
            (At::Quoted, _) => {
                if (is_break || byte == b'\r') && self.line_breaks == LineBreaks::BetweenRows {
                    return Err(self.unclosed());
                }
                At::Quoted
            }
            (At::QuoteInQuoted, b'"') => At::Quoted,
            (At::FieldStart, b'"') => {
                self.quote_line = self.line;
                At::Quoted
            }
            (_, b'\n' | b'\r') => {
                self.n_row_bytes = 0;
                At::FieldStart
            }
            (_, other) if other == self.delimiter => At::FieldStart,
            _ => At::Field,
        };
        if self.n_row_bytes > MAX_ROW_BYTES {
            return Err(match self.at {
                At::Quoted => self.unclosed(),
                _ => DamagedRow { line: self.line, what: "the row is longer than 16 MB; a table expected" },
            });
        }
        Ok(())
    }

    const fn unclosed(&self) -> DamagedRow {
        DamagedRow { line: self.quote_line, what: "a quote is not closed" }
    }
}

impl<R: Read> Read for RowCheck<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(to)?;
        let damaged = match n {
            0 if self.at == At::Quoted && !to.is_empty() => Err(self.unclosed()),
            _ => to[..n].iter().try_for_each(|byte| self.step(*byte)),
        };
        damaged.map(|()| n).map_err(|row| io::Error::new(ErrorKind::InvalidData, row))
    }
}

/// Converts the error of a reader to the error about a damaged row; `None` if the error is another one.
pub fn row_error(path: &Path, error: &io::Error) -> Option<DataError> {
    let row = error.get_ref()?.downcast_ref::<DamagedRow>()?;
    Some(DataError::at_line(path, row.line, row.what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: impl Read, line_breaks: LineBreaks) -> Result<u64, String> {
        let mut check = RowCheck::new(text, b',', line_breaks);
        let error = |e: io::Error| row_error(Path::new("t.csv"), &e).map_or_else(|| e.to_string(), |e| e.to_string());
        io::copy(&mut check, &mut io::sink()).map_err(error)
    }

    #[test]
    fn unclosed_quotes_are_found_and_name_their_line() {
        use LineBreaks::{BetweenRows, InCells};
        for (text, line_breaks, line) in [
            ("a,b\n1,\"2\n3,4\n", BetweenRows, 2),
            ("a,b\n1,\"2\n3,4\n", InCells, 2),
            ("a,b\n1,2\n3,\"4", BetweenRows, 3),
            ("a,b\n\"1\n2\",3\n\"4", InCells, 4),
            ("\"a,b\n1,2\n", BetweenRows, 1),
            ("a,b\n\"1\"\",2\n3,4\n", InCells, 2),
        ] {
            assert_eq!(
                check(text.as_bytes(), line_breaks),
                Err(format!("t.csv:{line}: a quote is not closed")),
                "{text}"
            );
        }
        for text in ["a,b\n\"1\",\"x\"\"y\"\n", "a,b\n1,5\" pipe\n", "\"a\",\"b\"\r\n\"1\",\"2\"", ""] {
            assert_eq!(check(text.as_bytes(), BetweenRows), Ok(text.len() as u64), "{text}");
        }
        assert!(check("a\n\"1\n2\"\n".as_bytes(), InCells).is_ok());
    }

    #[test]
    fn a_row_without_end_is_refused() {
        let why = check(io::repeat(0), LineBreaks::InCells).unwrap_err();
        assert_eq!(why, "t.csv:1: the row is longer than 16 MB; a table expected");
    }
}
