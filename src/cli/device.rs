//! Opens the device of a run.

use super::error::CliError;
use crate::{data::counted, gpu::Gpu, project::DeviceChoice, sim::Device};

/// An opened device with its name.
pub(super) struct Chosen {
    pub device: Device,
    pub name: String,
    pub threads: u32,
    /// Whether a kind without a GPU backend may run on the CPU instead.
    pub may_fall_back: bool,
}

/// Opens the requested device; `gpu` is the index of the GPU. Without a usable GPU, `Auto` chooses the CPU and logs the
/// reason, and `Cuda` fails.
pub(super) fn choose(choice: DeviceChoice, gpu: u32, threads: u32) -> Result<Chosen, CliError> {
    if choice == DeviceChoice::Cpu {
        return Ok(cpu(threads));
    }
    match (Gpu::open(gpu as usize), choice) {
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

/// Returns the CPU with `threads` threads; 0 means all cores.
pub(super) fn cpu(threads: u32) -> Chosen {
    let threads = resolve(threads);
    let device = Device::Cpu { threads: threads as usize };
    Chosen { device, name: format!("CPU, {}", counted(threads, "thread", "threads")), threads, may_fall_back: false }
}

fn resolve(threads: u32) -> u32 {
    if threads > 0 { threads } else { std::thread::available_parallelism().map_or(1, |n| n.get() as u32) }
}
