//! Progress of a job that reads streams of a run, measured in bytes.

use crate::sim::Progress;
use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Number of bytes between two reports.
const EVERY: u64 = 1 << 18;

/// Counts the bytes that readers of streams have read. The readers fail after the job was cancelled.
pub struct ReadMeter {
    progress: Arc<Progress>,
    stage: String,
    total: u64,
    done: AtomicU64,
}

impl fmt::Debug for ReadMeter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {} bytes", self.stage, self.done.load(Ordering::Relaxed), self.total)
    }
}

impl ReadMeter {
    /// Creates a meter of a job that reads `total` bytes.
    pub fn new(progress: &Arc<Progress>, stage: impl Into<String>, total: u64) -> Arc<Self> {
        Arc::new(Self { progress: progress.clone(), stage: stage.into(), total, done: AtomicU64::new(0) })
    }

    /// Adds bytes that were read. Fails if the job was cancelled.
    pub fn add(&self, n_bytes: u64) -> io::Result<()> {
        let before = self.done.fetch_add(n_bytes, Ordering::Relaxed);
        let now = before + n_bytes;
        if before > 0 && before / EVERY == now / EVERY {
            return Ok(());
        }
        let fraction = (now as f64 / self.total.max(1) as f64).min(1.0) as f32;
        // Readers repeat a read that was interrupted, so the error has another kind.
        self.progress.report(&self.stage, fraction).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fraction_follows_the_bytes_and_a_cancelled_job_reads_no_further() {
        let progress = Arc::new(Progress::default());
        let meter = ReadMeter::new(&progress, "Writing CSV", 4 * EVERY);
        meter.add(1).unwrap();
        meter.add(2 * EVERY - 1).unwrap();
        assert_eq!(progress.now(), ("Writing CSV".to_owned(), 0.5));
        progress.cancel();
        meter.add(8).unwrap();
        assert!(meter.add(EVERY).is_err());
    }
}
