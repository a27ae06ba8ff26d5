//! A sweep: the project is run and recorded once for every value of a parameter, or of two, and every seed, beside the
//! window. The runs are marked for comparison as they end.

pub mod estimate;
pub mod job;
pub mod values;

use crate::{app::kit::text, sim::Progress};
use crossbeam_channel::Receiver;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How long a closing window waits for the run in progress to close its folder.
const CLOSING: Duration = Duration::from_secs(5);

/// A sweep in progress.
pub struct Sweeping {
    /// The run in progress, and the part of runs that ended.
    pub progress: Arc<Progress>,
    /// Number of runs.
    pub n: usize,
    /// Those that ended.
    pub n_ended: usize,
    since: Instant,
    /// From the start to the end of the last run.
    ended_after: Duration,
    /// Disconnects when the sweep has ended.
    is_ended: Receiver<()>,
}

impl Sweeping {
    /// A sweep that begins. `is_ended` disconnects when it has ended.
    pub fn new(progress: Arc<Progress>, n: usize, is_ended: Receiver<()>) -> Self {
        Self { progress, n, n_ended: 0, since: Instant::now(), ended_after: Duration::ZERO, is_ended }
    }

    /// Another run ended.
    pub fn run_ended(&mut self) {
        self.n_ended += 1;
        self.ended_after = self.since.elapsed();
    }

    /// Cancels it, and waits until the run in progress has closed its folder.
    pub fn end(self) {
        self.progress.cancel();
        self.is_ended.recv_timeout(CLOSING).ok();
    }

    /// `, about 4 min left`, by the runs that ended; empty before the first one.
    pub fn time_left(&self) -> String {
        if self.n_ended == 0 {
            return String::new();
        }
        let each = self.ended_after.as_secs_f64() / self.n_ended as f64;
        let of_this = (self.since.elapsed() - self.ended_after).as_secs_f64();
        let left = each * self.n.saturating_sub(self.n_ended) as f64 - of_this;
        format!(", about {} left", text::rough_time(left.max(0.0)))
    }
}
