//! When and with how many blocks only reached neurons are stepped.

use crate::gpu::Gpu;

/// Maximum mean number of synaptic events per window for which only reached neurons are stepped. Beyond it, launches on the whole
/// device are faster.
pub const MAX_EVENTS_REACHED: u64 = 200_000;
/// Minimum mean number of synaptic events per window for which a simulation that shares a device takes [`BLOCKS_BUSY`] blocks.
const BUSY: u64 = 5_000;
/// Minimum number of blocks of a busy simulation: simulations that find no room wait for each other.
const BLOCKS_BUSY: u32 = 12;
/// Number of hardware queues of a device: so many launches run at a time.
const QUEUES: u32 = 32;
/// Number of blocks on a device that is not shared.
const BLOCKS_ALONE: u32 = 8;

/// Returns the number of blocks that step reached neurons: an equal part of the device for each simulation that shares it.
pub fn reached_blocks(gpu: &Gpu) -> u32 {
    match (gpu.sharing as u32).min(QUEUES) {
        0 | 1 => BLOCKS_ALONE,
        sharing => gpu.multiprocessors / sharing,
    }
}

/// Returns the number of blocks for the next launch of a simulation that otherwise takes `blocks`, given the mean number of
/// synaptic events per window of its last launch.
pub fn blocks_for(blocks: u32, events_per_window: u64) -> u32 {
    if events_per_window > BUSY { blocks.max(BLOCKS_BUSY) } else { blocks }
}
