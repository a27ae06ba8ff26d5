//! Settings and progress of an experiment.

use crate::sim::Device;
use std::sync::atomic::{AtomicU64, Ordering};

/// Device of an experiment, and options that have no effect on results.
#[derive(Clone)]
pub struct Setting {
    /// Device of the trials.
    pub device: Device,
    /// Name of the device, for manifests.
    pub device_name: String,
    /// Number of CPU threads.
    pub threads: u32,
    /// Whether a model is built although its predicted memory exceeds the available memory.
    pub ignores_memory: bool,
    /// Number of trials marked *same as control* that are run as a check, chosen at random.
    pub check_silent: u32,
    /// Command line, for manifests; empty for the window.
    pub command: String,
}

/// Progress of an experiment in numbers.
#[derive(Debug, Default)]
pub struct Counters {
    /// Number of trials of the folder.
    pub n_trials: AtomicU64,
    /// Number of trials with a result, those of earlier parts included.
    pub n_done: AtomicU64,
    /// Number of trials that are the same as the control.
    pub n_same: AtomicU64,
    /// Number of trials that failed.
    pub n_failed: AtomicU64,
    /// Number of steps taken in this part.
    pub n_steps: AtomicU64,
    /// Number of steps to take in this part, as far as it is known.
    pub n_planned_steps: AtomicU64,
    /// Number of trials marked *same as control* that were run and gave the result of the control.
    pub n_checked: AtomicU64,
}

impl Counters {
    /// Reads a counter.
    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}
