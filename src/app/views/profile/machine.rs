//! Context of a profile: the device, the project, declared work per kernel.

use crate::{
    engine::SimSchema,
    gpu::ceilings::Ceilings,
    sim::{MemoryReport, RooflineWork},
};
use std::path::PathBuf;

/// What the profile panels need besides frames.
#[derive(Clone, Default)]
pub struct Machine {
    /// Name of the device.
    pub device: String,
    /// Whether it is a GPU.
    pub is_gpu: bool,
    /// CPU threads.
    pub threads: u32,
    /// The project file, if saved.
    pub project: Option<PathBuf>,
    /// Memory predicted before the build.
    pub predicted: MemoryReport,
    /// Memory of the device, bytes; 0 when unknown.
    pub total: u64,
    /// Bytes and operations per work item, by row.
    pub work: &'static [RooflineWork],
    /// Measured peak performance of the device.
    pub ceilings: Option<Ceilings>,
    /// Whether it is being measured now.
    pub measuring: bool,
    /// Recorded runs to compare with.
    pub runs: Vec<PathBuf>,
}

impl Machine {
    /// Declared bytes and operations per item of a row.
    pub fn work_of(&self, row: &str) -> Option<&'static RooflineWork> {
        self.work.iter().find(|w| w.row == row)
    }
}

/// The `--device` value for command lines.
pub fn device_flag(schema: &SimSchema, machine: &Machine) -> &'static str {
    if machine.is_gpu || !schema.kernels.is_empty() { "cuda" } else { "cpu" }
}
