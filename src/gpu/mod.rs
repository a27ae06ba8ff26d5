//! The device floor: the only module that names `cudarc`. Knows no simulation.

pub mod kernel;
pub mod timing;

pub use kernel::{KernelSpec, ModuleSpec};
pub use timing::{Pass, Timing};

/// An opened CUDA device.
pub struct Gpu {
    /// Name as the driver reports it.
    pub name: String,
}
