//! A sweep: the project is run and recorded once for every value of one or two parameters and every seed, concurrently with the
//! window. Each run is marked for comparison when it ends.

pub mod estimate;
pub mod job;
pub mod name;
pub mod parameter;
pub mod values;

use crate::{app::kit::text, sim::Progress};
use crossbeam_channel::Receiver;
use job::FailedRun;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum time that a closing window waits for the run in progress to close its folder.
const CLOSING: Duration = Duration::from_secs(5);

/// The sweep started last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LastSweep {
    /// Name with the time ([`name`]); empty before the first sweep.
    pub name: String,
    /// Paths of the swept parameters.
    pub paths: Vec<String>,
    /// Runs that failed.
    pub failed: Vec<FailedRun>,
}

/// Sweep in progress.
pub struct Sweeping {
    /// Progress of the run in progress, and share of the runs that have ended.
    pub progress: Arc<Progress>,
    /// Number of runs.
    pub n: usize,
    /// Number of runs that have ended, including failed runs.
    pub n_ended: usize,
    since: Instant,
    /// Time from the start of the sweep to the end of the last run.
    ended_after: Duration,
    /// Channel that disconnects when the sweep has ended.
    is_ended: Receiver<()>,
}

impl Sweeping {
    /// Creates the state of a sweep that starts. `is_ended` disconnects when the sweep has ended.
    pub fn new(progress: Arc<Progress>, n: usize, is_ended: Receiver<()>) -> Self {
        Self { progress, n, n_ended: 0, since: Instant::now(), ended_after: Duration::ZERO, is_ended }
    }

    /// Counts a run that has ended.
    pub fn run_ended(&mut self) {
        self.n_ended += 1;
        self.ended_after = self.since.elapsed();
    }

    /// Cancels the sweep, and waits until the run in progress has closed its folder.
    pub fn end(self) {
        self.progress.cancel();
        self.is_ended.recv_timeout(CLOSING).ok();
    }

    /// Formats the remaining time, estimated from the runs that have ended: `, about 4 min left`; empty before a run has
    /// ended.
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
