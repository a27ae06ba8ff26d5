//! Reads the streams of a run record by record. Memory does not depend on the length of a file.

use super::{Stream, encode::LinksAt, manifest::record_bytes, read_meter::ReadMeter, run::at, run_file};
use crate::sim::{LifeEvent, Spike, TextSample, Tokens};
use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, ErrorKind, Read, Seek as _, SeekFrom},
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Size of the read buffer, bytes.
const BUFFER: usize = 128 << 10;

/// Valid part of a stream's file.
pub(super) struct StreamFile {
    file: io::Take<BufReader<File>>,
    path: PathBuf,
    /// Counts the bytes that are read; `None` if no job observes the reading.
    meter: Option<Arc<ReadMeter>>,
}

impl StreamFile {
    /// Opens the first `n_bytes` bytes of a file. Fails if the name is not plain or the file is not regular.
    pub fn open(folder: &Path, name: &str, n_bytes: u64) -> io::Result<Self> {
        let path = run_file::inside(folder, name)?;
        let file = run_file::open_regular(&path)?;
        Ok(Self { file: BufReader::with_capacity(BUFFER, file).take(n_bytes), path, meter: None })
    }

    /// Fills a buffer. Returns `false` at the end or at an incomplete record. Fails if the file cannot be read.
    pub fn fill(&mut self, bytes: &mut [u8]) -> io::Result<bool> {
        if self.file.limit() < bytes.len() as u64 {
            return Ok(false);
        }
        match self.file.read_exact(bytes) {
            Ok(()) => self.count(bytes.len()).map(|()| true),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(e) => Err(at(&self.path, &e)),
        }
    }

    /// Skips `n_bytes` bytes, or the remaining bytes if there are fewer. Fails if the file cannot be read.
    pub fn skip(&mut self, n_bytes: u64) -> io::Result<()> {
        let n = n_bytes.min(self.file.limit());
        let left = self.file.limit() - n;
        let forward = i64::try_from(n).map_err(io::Error::other)?;
        self.file.get_mut().seek_relative(forward).map_err(|e| at(&self.path, &e))?;
        self.file.set_limit(left);
        Ok(())
    }

    /// Reads the next complete line without its end; `None` after the last line. Fails if the file cannot be read.
    pub fn line<'a>(&mut self, line: &'a mut String) -> io::Result<Option<&'a str>> {
        line.clear();
        let n = self.file.read_line(line).map_err(|e| at(&self.path, &e))?;
        self.count(n)?;
        Ok(line.strip_suffix('\n'))
    }

    /// Counts bytes that were read. Fails if the observing job was cancelled.
    fn count(&self, n_bytes: usize) -> io::Result<()> {
        self.meter.as_ref().map_or(Ok(()), |meter| meter.add(n_bytes as u64))
    }

    /// Lets a meter count the bytes of a file that exists.
    fn metered(file: &mut Option<Self>, meter: Option<&Arc<ReadMeter>>) {
        if let Some(file) = file {
            file.meter = meter.cloned();
        }
    }

    /// Returns the number of remaining bytes.
    pub fn left(&self) -> u64 {
        self.file.limit()
    }
}

/// Reader of a stream's spikes in order.
pub struct SpikeReader {
    file: Option<StreamFile>,
}

impl SpikeReader {
    pub(super) fn new(file: Option<StreamFile>) -> Self {
        Self { file }
    }

    /// Returns a reader without spikes.
    pub fn empty() -> Self {
        Self { file: None }
    }

    /// Returns the reader with a meter that counts what it reads.
    pub fn metered(mut self, meter: Option<&Arc<ReadMeter>>) -> Self {
        StreamFile::metered(&mut self.file, meter);
        self
    }

    /// Reads the next spike; `None` after the last spike. Fails if the file cannot be read.
    pub fn next_spike(&mut self) -> io::Result<Option<Spike>> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let mut record = [0; 8];
        Ok(file.fill(&mut record)?.then(|| spike(&record)))
    }
}

impl Iterator for SpikeReader {
    type Item = io::Result<Spike>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_spike().transpose()
    }
}

/// Reader of the rows of a series, a field or a matrix in order.
pub struct RowReader {
    file: Option<StreamFile>,
    width: usize,
    step: Option<u64>,
    bytes: Vec<u8>,
}

impl RowReader {
    pub(super) fn new(file: Option<StreamFile>, width: usize) -> Self {
        Self { file: file.filter(|_| width > 0), width, step: None, bytes: vec![] }
    }

    /// Returns the reader with a meter that counts what it reads.
    pub fn metered(mut self, meter: Option<&Arc<ReadMeter>>) -> Self {
        StreamFile::metered(&mut self.file, meter);
        self
    }

    /// Returns the step of the next row; `None` after the last row. Fails if the file cannot be read.
    pub fn peek(&mut self) -> io::Result<Option<u64>> {
        let row_bytes = self.width as u64 * 4;
        if let (None, Some(file)) = (self.step, &mut self.file)
            && file.left() >= 8 + row_bytes
        {
            let mut step = [0; 8];
            self.step = file.fill(&mut step)?.then(|| u64::from_le_bytes(step));
        }
        Ok(self.step)
    }

    /// Replaces `values` by the values of the next row and returns the row's step; `None` after the last row. Fails if the
    /// file cannot be read.
    pub fn next_row(&mut self, values: &mut Vec<f32>) -> io::Result<Option<u64>> {
        values.clear();
        let Some(step) = self.peek()? else { return Ok(None) };
        self.step = None;
        let Some(file) = &mut self.file else { return Ok(None) };
        self.bytes.resize(self.width * 4, 0);
        if !file.fill(&mut self.bytes)? {
            return Ok(None);
        }
        values.extend(self.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
        Ok(Some(step))
    }

    /// Skips the next row without reading it. Fails if the file cannot be read.
    pub fn skip_row(&mut self) -> io::Result<()> {
        if self.peek()?.is_some()
            && let Some(file) = &mut self.file
        {
            self.step = None;
            file.skip(self.width as u64 * 4)?;
        }
        Ok(())
    }
}

/// Line of a file that contains its step.
pub(super) trait StepLine: serde::de::DeserializeOwned {
    /// Returns the step of the line.
    fn step(&self) -> u64;
}

impl StepLine for LifeEvent {
    fn step(&self) -> u64 {
        Self::step(self)
    }
}

impl StepLine for TextSample {
    fn step(&self) -> u64 {
        self.step
    }
}

impl StepLine for Tokens {
    fn step(&self) -> u64 {
        self.step
    }
}

impl StepLine for LinksAt {
    fn step(&self) -> u64 {
        self.step
    }
}

/// Reader of a stream's lines in order.
pub struct LineReader<T> {
    file: Option<StreamFile>,
    line: String,
    lines: PhantomData<T>,
}

/// Reader of the events of a lineage in order.
pub type LineageReader = LineReader<LifeEvent>;

impl<T: serde::de::DeserializeOwned> LineReader<T> {
    pub(super) fn new(file: Option<StreamFile>) -> Self {
        Self { file, line: String::new(), lines: PhantomData }
    }

    /// Returns the reader with a meter that counts what it reads.
    pub fn metered(mut self, meter: Option<&Arc<ReadMeter>>) -> Self {
        StreamFile::metered(&mut self.file, meter);
        self
    }

    /// Reads and parses the next line; `None` after the last complete line. Fails if the line cannot be parsed.
    pub fn next_event(&mut self) -> io::Result<Option<T>> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let Some(line) = file.line(&mut self.line)? else { return Ok(None) };
        let wrong = |e| io::Error::new(ErrorKind::InvalidData, format!("{}: {e}", file.path.display()));
        serde_json::from_str(line).map(Some).map_err(wrong)
    }

    /// Reads the next line as text; `None` after the last complete line. Fails if the file cannot be read.
    pub(super) fn next_line(&mut self) -> io::Result<Option<&str>> {
        match &mut self.file {
            Some(file) => file.line(&mut self.line),
            None => Ok(None),
        }
    }
}

impl<T: serde::de::DeserializeOwned> Iterator for LineReader<T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_event().transpose()
    }
}

pub(super) fn spike(record: &[u8; 8]) -> Spike {
    let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
    Spike { step: word(0), lane: word(4) }
}

/// Bytes at the end of a file that are searched for its last valid record.
const TAIL: u64 = 256 << 10;
/// Maximum plausible gap between two records in steps. Longer gaps are plausible up to `PLAUSIBLE_RATIO` times the largest
/// earlier gap.
const PLAUSIBLE_GAP: u64 = 1 << 20;
const PLAUSIBLE_RATIO: u64 = 1000;

/// Returns the number of valid bytes in an unclosed stream without a lock file, and the step of its last record.
/// Records are valid if they are whole and their steps neither decrease nor jump. Only the end of the file is read,
/// because a crash damages nothing else. Fails if the file cannot be read.
pub(super) fn recover(folder: &Path, stream: &Stream, n_lanes: u32, first: u64) -> io::Result<(u64, Option<u64>)> {
    let path = run_file::inside(folder, &stream.file)?;
    let Some(n_bytes) = run_file::size_of(&path) else { return Ok((0, None)) };
    let Some(record) = record_bytes(stream) else { return Ok((n_bytes, None)) };
    let n_records = before_zeros(&path, n_bytes / record, record)?;
    // The tail has at least two rows of any length.
    let n_tail = n_records.min((TAIL / record).max(2));
    let start = (n_records - n_tail) * record;
    let mut file = run_file::open_regular(&path)?;
    file.seek(SeekFrom::Start(start)).map_err(|e| at(&path, &e))?;
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let is_spikes = stream.shape == "spikes";
    let (mut last, mut gap, mut valid) = (None::<u64>, 0_u64, 0);
    for k in 0..n_tail {
        let mut head = [0; 8];
        reader.read_exact(&mut head).map_err(|e| at(&path, &e))?;
        let (step, lane) = match is_spikes {
            true => {
                let spike = spike(&head);
                (first + u64::from(spike.step.wrapping_sub(first as u32)), spike.lane)
            }
            false => (u64::from_le_bytes(head), 0),
        };
        reader.seek_relative(record as i64 - 8).map_err(|e| at(&path, &e))?;
        let since = last.map_or_else(|| step.checked_sub(first).map(|_| 0), |last| step.checked_sub(last));
        let limit = gap.saturating_mul(PLAUSIBLE_RATIO).max(PLAUSIBLE_GAP);
        let Some(since) = since.filter(|since| *since <= limit && (n_lanes == 0 || lane < n_lanes)) else { break };
        gap = gap.max(since);
        last = Some(step);
        valid = k + 1;
    }
    Ok((start + valid * record, last))
}

/// Returns the number of records before zeros at the end of a file: after a power loss, a file system may leave a file
/// longer than its written data. Steps never decrease and only the first record can begin with 8 zero bytes, so binary
/// search finds the boundary. Fails if the file cannot be read.
fn before_zeros(path: &Path, n_records: u64, record: u64) -> io::Result<u64> {
    let mut file = run_file::open_regular(path)?;
    let mut is_zero = |k: u64| -> io::Result<bool> {
        let mut head = [0; 8];
        file.seek(SeekFrom::Start(k * record)).and_then(|_| file.read_exact(&mut head)).map_err(|e| at(path, &e))?;
        Ok(head == [0; 8])
    };
    if n_records < 2 || !is_zero(n_records - 1)? {
        return Ok(n_records);
    }
    let (mut written, mut zeros) = (1, n_records - 1);
    while written < zeros {
        let middle = written + (zeros - written) / 2;
        if is_zero(middle)? { zeros = middle } else { written = middle + 1 }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn zeros_at_the_end_of_an_unclosed_stream_are_not_records() {
        let folder = TempFolder::new("zeros");
        let stream =
            |shape: &str, width| Stream { file: "x.bin".into(), shape: shape.into(), width, ..Stream::default() };
        let recovered = |bytes: &[u8], size: u64, stream: &Stream| {
            let path = folder.join("x.bin");
            std::fs::write(&path, bytes).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_len(size).unwrap();
            recover(&folder, stream, 10, 0).unwrap()
        };
        let spikes: Vec<u8> =
            (0..100_u32).flat_map(|step| [step.to_le_bytes(), 0_u32.to_le_bytes()].concat()).collect();
        // The largest file exceeds memory but is sparse. Only its ends and a few records in between are read.
        for size in [800, 801, 808, 1 << 20, 1 << 36] {
            assert_eq!(recovered(&spikes, size, &stream("spikes", 2)), (800, Some(99)), "{size}");
        }
        let row = |step: u64| [step.to_le_bytes().to_vec(), vec![7; 4]].concat();
        let rows: Vec<u8> = (0..50).flat_map(|k| row(k * 10)).collect();
        for size in [600, 612, 1 << 20] {
            assert_eq!(recovered(&rows, size, &stream("series", 1)), (600, Some(490)), "{size}");
        }
        assert_eq!(recovered(&row(0), 12, &stream("series", 1)), (12, Some(0)), "one row at step 0");
    }
}
