//! Context of a profile: the device, the project, and the declared work per kernel.

use crate::{
    engine::SimSchema,
    gpu::{
        Timing,
        ceilings::{Ceilings, Limit},
    },
    sim::{MemoryReport, RooflineWork},
};
use std::path::PathBuf;

/// Inputs of the profile panels other than frames.
#[derive(Clone, Default)]
pub struct Machine {
    /// Name of the device.
    pub device: String,
    /// Whether the device is a GPU.
    pub is_gpu: bool,
    pub threads: u32,
    /// Path of the project file; `None` if the project was never saved.
    pub project: Option<PathBuf>,
    /// Memory predicted before the build.
    pub predicted: MemoryReport,
    /// Memory of the device, bytes; 0 if unknown.
    pub total: u64,
    /// Bytes and operations per work item, by row.
    pub work: &'static [RooflineWork],
    /// Measured peak performance of the device; `None` if it was not measured.
    pub ceilings: Option<Ceilings>,
    /// Whether the peak performance is being measured.
    pub measuring: bool,
    /// Recorded runs to compare with.
    pub runs: Vec<PathBuf>,
}

impl Machine {
    /// Returns the share of the measured peak performance that a row reaches, of arithmetic or of memory, whichever is
    /// higher; `None` if no peak or no work is known.
    pub fn of_peak(&self, timing: &Timing) -> Option<f64> {
        let peaks = self.ceilings.as_ref()?;
        let amounts = [(Limit::Ops, ops_of(timing, self)), (Limit::Bytes, bytes_of(timing, self))];
        let share = |(limit, n)| Some(timing.per_sec(n)? / peaks.best(limit)?.value);
        amounts.into_iter().filter_map(share).reduce(f64::max)
    }

    /// Returns the declared bytes and operations per item of a row; `None` if the row has no declaration.
    pub fn work_of(&self, row: &str) -> Option<&'static RooflineWork> {
        self.work.iter().find(|w| w.row == row)
    }
}

/// Returns the bytes moved by a row: counted by the launcher, otherwise declared per item; 0 if unknown.
pub fn bytes_of(timing: &Timing, machine: &Machine) -> u64 {
    match (timing.bytes, machine.work_of(timing.name)) {
        (0, Some(work)) => (work.bytes * timing.items as f64) as u64,
        (counted, _) => counted,
    }
}

/// Returns the operations of a row: counted by the launcher, otherwise declared per item; 0 if unknown.
pub fn ops_of(timing: &Timing, machine: &Machine) -> u64 {
    match (timing.ops, machine.work_of(timing.name)) {
        (0, Some(work)) => (work.ops * timing.items as f64) as u64,
        (counted, _) => counted,
    }
}

/// Returns the value of `--device` for command lines.
pub fn device_flag(schema: &SimSchema, machine: &Machine) -> &'static str {
    if machine.is_gpu || !schema.kernels.is_empty() { "cuda" } else { "cpu" }
}
