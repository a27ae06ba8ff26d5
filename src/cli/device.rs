//! Which device a run takes.

use super::error::CliError;
use crate::{gpu::Gpu, project::DeviceChoice, sim::Device};

/// A device, and how it is called.
pub(super) struct Chosen {
    pub device: Device,
    pub name: String,
    pub threads: u32,
    /// Whether the CPU is second best: a kind without a GPU backend may fall back to it.
    pub may_fall_back: bool,
}

/// Opens what was asked for. With `Auto`, no GPU is a reason to take the CPU, said once.
pub(super) fn choose(choice: DeviceChoice, threads: u32) -> Result<Chosen, CliError> {
    if choice == DeviceChoice::Cpu {
        return Ok(cpu(threads));
    }
    match (Gpu::open(0), choice) {
        (Ok(gpu), _) => Ok(Chosen {
            name: gpu.describe(),
            device: Device::Cuda(gpu),
            threads: resolve(threads),
            may_fall_back: choice == DeviceChoice::Auto,
        }),
        (Err(error), DeviceChoice::Cuda) => Err(CliError::NoGpu(error.to_string())),
        (Err(error), _) => {
            tracing::info!("{error}");
            Ok(cpu(threads))
        }
    }
}

/// The CPU with this many threads; 0 takes all cores.
pub(super) fn cpu(threads: u32) -> Chosen {
    let threads = resolve(threads);
    let device = Device::Cpu { threads: threads as usize };
    Chosen { device, name: format!("CPU, {threads} threads"), threads, may_fall_back: false }
}

fn resolve(threads: u32) -> u32 {
    if threads > 0 { threads } else { std::thread::available_parallelism().map_or(1, |n| n.get() as u32) }
}
