//! Reads a dataset of a file that is being written.

use super::{Dataset, Writer};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

impl Writer {
    /// Calls `found` with the values that a one-dimensional dataset has so far, chunk by chunk, in order. One chunk is in memory. Fails
    /// if the file cannot be read, or with the error of `found`; the file is then incomplete.
    pub fn read_back(
        &mut self,
        dataset: &Dataset<u64>,
        mut found: impl FnMut(&[u64]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_mut();
        let (mut bytes, mut values) = (vec![0; dataset.per_chunk as usize * size_of::<u64>()], vec![]);
        for address in &dataset.chunks {
            file.seek(SeekFrom::Start(*address))?;
            file.read_exact(&mut bytes)?;
            decode(&bytes, &mut values);
            found(&values)?;
        }
        file.seek(SeekFrom::Start(self.end))?;
        decode(&dataset.bytes, &mut values);
        found(&values)
    }
}

/// Replaces `values` by those of little-endian bytes.
fn decode(bytes: &[u8], values: &mut Vec<u64>) {
    values.clear();
    values.extend(bytes.as_chunks().0.iter().map(|value| u64::from_le_bytes(*value)));
}
