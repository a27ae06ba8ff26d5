//! Readers with a limit on the decompressed size, progress and cancellation.

use super::{DataError, ProgressFn, messages};
use std::{
    io::{self, ErrorKind, Read},
    path::Path,
};

/// Number of bytes between two progress reports.
const REPORT_EVERY: u64 = 1 << 20;

/// Number of bytes by which a file may grow while it is read.
const MAX_GROWTH: u64 = 64 << 20;

/// Marker of a cancelled read inside an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("cancelled")]
struct CancelledRead;

/// Reader of at most `limit` bytes that reports progress. More bytes are an error.
pub struct LimitedReader<'a, R> {
    from: R,
    limit: u64,
    /// Approximate number of bytes in total, for progress.
    expected: u64,
    n_read: u64,
    reported: u64,
    stage: String,
    watch: &'a ProgressFn<'a>,
}

impl<'a, R: Read> LimitedReader<'a, R> {
    /// Limits `from` to `limit` bytes; `expected` is its approximate size.
    pub fn new(from: R, limit: u64, expected: u64, stage: &str, watch: &'a ProgressFn<'a>) -> Self {
        Self { from, limit, expected, n_read: 0, reported: 0, stage: stage.to_owned(), watch }
    }
}

impl<R: Read> Read for LimitedReader<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(to)?;
        self.n_read += n as u64;
        if self.n_read > self.limit {
            let limit = messages::group_digits(self.limit >> 20);
            return Err(io::Error::new(ErrorKind::InvalidData, format!("more than {limit} MB of data, the limit")));
        }
        if self.n_read - self.reported >= REPORT_EVERY {
            self.reported = self.n_read;
            let part = self.n_read as f32 / self.expected.max(1) as f32;
            if !(self.watch)(&self.stage, part.min(1.0)) {
                return Err(io::Error::other(CancelledRead));
            }
        }
        Ok(n)
    }
}

/// Reads a file of at most `limit` bytes. A longer or endless file is read only slightly beyond its apparent size.
///
/// # Errors
/// Returns an error if the file cannot be read or is too long, and [`DataError::Cancelled`] if `watch` cancels.
pub fn read_at_most(path: &Path, limit: u64, watch: &ProgressFn) -> Result<Vec<u8>, DataError> {
    let file = super::input_file::open(path).map_err(|e| DataError::io(path, e))?;
    let n_bytes = file.metadata().map_err(|e| DataError::io(path, e))?.len();
    let limit = limit.min(n_bytes.saturating_add(MAX_GROWTH));
    let stage = format!("reading {}", path.file_name().unwrap_or_default().to_string_lossy());
    let mut bytes = Vec::with_capacity(n_bytes.min(limit) as usize);
    LimitedReader::new(file, limit, n_bytes, &stage, watch).read_to_end(&mut bytes).map_err(|e| read_error(path, e))?;
    Ok(bytes)
}

/// Reads a text file of at most `limit` bytes. Fails if the text is not UTF-8.
pub fn read_text_at_most(path: &Path, limit: u64, watch: &ProgressFn) -> Result<String, DataError> {
    let bytes = read_at_most(path, limit, watch)?;
    String::from_utf8(bytes).map_err(|_| DataError::format(path, "not UTF-8 text"))
}

/// Converts an error of a limited reader, and adds the file.
pub fn read_error(path: &Path, error: io::Error) -> DataError {
    if is_cancelled(&error) { DataError::Cancelled } else { DataError::io(path, error) }
}

/// Whether an error is a cancellation by the progress function.
pub fn is_cancelled(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<CancelledRead>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_is_limited_and_reading_can_be_cancelled() {
        let path = Path::new("x.gz");
        let read = |n: u64, limit: u64, watch: &ProgressFn| {
            let mut reader = LimitedReader::new(io::repeat(7).take(n), limit, n, "x", watch);
            io::copy(&mut reader, &mut io::sink()).map_err(|e| read_error(path, e))
        };
        assert_eq!(read(5 << 20, 8 << 20, &|_, _| true).unwrap(), 5 << 20);
        let why = read(9 << 20, 8 << 20, &|_, _| true).unwrap_err().to_string();
        assert_eq!(why, "x.gz: more than 8 MB of data, the limit");
        let cancelled = read(9 << 20, 1 << 40, &|_, part| part < 0.4);
        assert!(matches!(cancelled, Err(DataError::Cancelled)), "{cancelled:?}");
    }
}
