//! Connections on a device: one copy for all simulations of a setup.

use super::{block_csr::BlockCsr, kernels::Overflow, sizes::BufferSizes};
use crate::{
    buffers,
    data::Csr,
    gpu::{Buf, Gpu, GpuError},
    kinds::shared::device_cache::DeviceCache,
    sim::{Buffers as _, MemoryReport},
};
use std::{
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

buffers! {
    /// Connections of a network, which kernels only read.
    pub struct NetworkBuffers(gpu: Arc<Gpu>, s: BufferSizes) {
        "connectivity" {
            /// `[n + 1]` index of the first connection of each row.
            pub(super) rows: Buf<u32> = Derived "connectivity rows" s.n as usize + 1;
            /// Packed connections, row by row.
            pub(super) words: Buf<u32> = Derived "connectivity" s.connections as usize;
            /// Synapse counts that do not fit into a packed connection.
            pub(super) overflow: Buf<Overflow> = Derived "overflow counts" s.overflow as usize;
        }
        plain {
            gpu: Arc<Gpu> = gpu.clone();
            /// Connections partitioned over numbers of blocks, while they are in use.
            by_block: Mutex<Vec<(u32, Weak<BlockBuffers>)>> = Mutex::default();
        }
    }
}

buffers! {
    /// Connections partitioned by block, for persistent kernels. Sizes: the lengths of heads, tails and starts.
    pub struct BlockBuffers(gpu: Arc<Gpu>, s: [usize; 3]) {
        "connectivity by block" {
            /// Heads, by neuron and block: the only connection, or the position of several connections in `tails`.
            pub(super) heads: Buf<u32> = Derived "connectivity by block, heads" s[0];
            /// Connections of neurons with several connections to one block.
            pub(super) tails: Buf<u32> = Derived "connectivity by block, tails" s[1];
            /// Start of the tails of each block.
            pub(super) tail_starts: Buf<u32> = Derived "connectivity by block, starts" s[2];
        }
    }
}

impl NetworkBuffers {
    /// Uploads connections, and waits until they are on the device, because other streams read them. Fails if device memory is
    /// full or the device fails.
    fn upload(gpu: &Arc<Gpu>, sizes: &BufferSizes, connectivity: &Csr) -> Result<Self, GpuError> {
        let mut new = Self::allocate(gpu, sizes)?;
        let overflow: Vec<Overflow> =
            connectivity.overflow.iter().map(|(word, count)| Overflow { word: *word, count: *count }).collect();
        new.rows.write(&connectivity.rows)?;
        new.words.write(&connectivity.words)?;
        new.overflow.write(&overflow)?;
        gpu.synchronize()?;
        Ok(new)
    }
}

impl BlockBuffers {
    /// Uploads partitioned connections as [`NetworkBuffers::upload`] does.
    fn upload(gpu: &Arc<Gpu>, csr: &BlockCsr) -> Result<Self, GpuError> {
        let mut new = Self::allocate(gpu, &[csr.heads.len(), csr.tails.len(), csr.starts.len()])?;
        new.heads.write(&csr.heads)?;
        new.tails.write(&csr.tails)?;
        new.tail_starts.write(&csr.starts)?;
        gpu.synchronize()?;
        Ok(new)
    }
}

/// Use of shared connections by one simulation; empty until it is attached.
#[derive(Default)]
pub struct SharedNetwork(Option<Use>);

struct Use {
    /// Handle with the streams of the simulation.
    gpu: Arc<Gpu>,
    buffers: Arc<NetworkBuffers>,
    by_block: Option<Arc<BlockBuffers>>,
}

/// The last use frees the buffers in the order of another stream, so that the kernels of this simulation must have ended.
impl Drop for Use {
    fn drop(&mut self) {
        self.gpu.synchronize().ok(); // a lost device runs no kernels
    }
}

impl Deref for SharedNetwork {
    type Target = NetworkBuffers;
    fn deref(&self) -> &NetworkBuffers {
        &self.0.as_ref().expect("attached before the first launch").buffers
    }
}

impl SharedNetwork {
    /// Returns the connections on a device, and uploads them unless a simulation of the setup uses them there. Fails if device memory
    /// is full or the device fails.
    pub fn of(setup: &DeviceCache, gpu: &Arc<Gpu>, sizes: &BufferSizes, connectivity: &Csr) -> Result<Self, GpuError> {
        let is_there = |network: &NetworkBuffers| network.gpu.is_same_device(gpu);
        let buffers = setup.share(is_there, || NetworkBuffers::upload(gpu, sizes, connectivity))?;
        Ok(Self(Some(Use { gpu: gpu.clone(), buffers, by_block: None })))
    }

    /// Returns the connections by block, which persistent kernels read.
    pub(super) fn blocks(&self) -> &BlockBuffers {
        let by_block = self.0.as_ref().and_then(|network| network.by_block.as_deref());
        by_block.expect("attached before the first persistent launch")
    }

    /// Attaches the connections partitioned over `blocks` blocks. Unless a simulation uses them, they are uploaded if they fit
    /// and leave half of the free memory, with `more` bytes of other buffers. Returns whether they are attached. Fails if the
    /// device fails.
    pub(super) fn share_blocks(
        &mut self,
        sizes: &BufferSizes,
        connectivity: &Csr,
        blocks: u32,
        more: u64,
    ) -> Result<bool, GpuError> {
        let Some(Use { gpu, buffers, by_block }) = &mut self.0 else { return Ok(false) };
        let mut known = locked(&buffers.by_block);
        known.retain(|(_, by_block)| by_block.strong_count() > 0);
        if let Some(found) = known.iter().find(|(n, _)| *n == blocks).and_then(|(_, by_block)| by_block.upgrade()) {
            *by_block = Some(found);
            return Ok(true);
        }
        let bytes = BlockCsr::most_bytes(sizes.n.into(), sizes.connections, blocks.into()) + more;
        if bytes > gpu.memory()?.free / 2 {
            return Ok(false);
        }
        let Some(partitioned) = BlockCsr::new(connectivity, blocks) else { return Ok(false) };
        let new = Arc::new(BlockBuffers::upload(gpu, &partitioned)?);
        known.push((blocks, Arc::downgrade(&new)));
        *by_block = Some(new);
        Ok(true)
    }

    /// Adds the shared buffers to a report.
    pub(super) fn report(&self, to: &mut MemoryReport) {
        let Some(network) = &self.0 else { return };
        let mut report = network.buffers.held();
        if let Some(by_block) = &network.by_block {
            by_block.report(&mut report);
        }
        *to += report.shared();
    }
}

/// Locks a list; a panic elsewhere leaves it usable.
fn locked<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}
