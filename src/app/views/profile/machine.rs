//! What a profile is of: the device, the project, what was declared of the work.

use crate::{engine::SimSchema, gpu::ceilings::Ceilings, sim::RooflineWork};
use std::path::PathBuf;

/// What the panels cannot know from frames.
#[derive(Clone, Default)]
pub struct Machine {
    /// Device in words.
    pub device: String,
    /// Whether it is a GPU.
    pub is_gpu: bool,
    /// CPU threads.
    pub threads: u32,
    /// The project's file, when it has one.
    pub project: Option<PathBuf>,
    /// Memory as predicted before the build, by owner.
    pub predicted: Vec<(&'static str, u64)>,
    /// Memory of the device, bytes; 0 when not known.
    pub total: u64,
    /// Bytes and operations per work item, by row.
    pub work: &'static [RooflineWork],
    /// What the device can do at best, when that was measured.
    pub ceilings: Option<Ceilings>,
    /// Whether that is being measured now.
    pub measuring: bool,
    /// Recorded runs that can be compared with.
    pub runs: Vec<PathBuf>,
}

impl Machine {
    /// Bytes and operations per item of a row, when declared.
    pub fn work_of(&self, row: &str) -> Option<&'static RooflineWork> {
        self.work.iter().find(|w| w.row == row)
    }
}

/// Bytes of all owners.
pub fn total(owners: &[(&'static str, u64)]) -> u64 {
    owners.iter().map(|(_, bytes)| bytes).sum()
}

/// Where the project runs: for command lines.
pub fn device_flag(schema: &SimSchema, machine: &Machine) -> &'static str {
    if machine.is_gpu || !schema.kernels.is_empty() { "cuda" } else { "cpu" }
}
