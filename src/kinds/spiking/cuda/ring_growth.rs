//! Growth of the rings of spikes and chunks.
//!
//! Rings begin with room for one window and little more, because few neurons fire in most windows. A window that might overflow a ring
//! is halted; then the ring is doubled, with its contents, up to the size for the highest possible activity.

use super::{
    CudaSim,
    buffers::DeviceBuffers,
    rings::{FullRing, Rings, SpikeBounds},
    sizes::BufferSizes,
};
use crate::{
    gpu::{Buf, Gpu, GpuError, layout::CudaType},
    kinds::spiking::constants::Real,
};
use std::sync::Arc;

impl DeviceBuffers {
    /// Replaces a ring by one with at least `len` entries, a power of two, unless it has them. Returns false if device memory is
    /// full, which leaves the ring as it is. Fails if the device fails.
    pub fn enlarge(&mut self, ring: FullRing, len: u32) -> Result<bool, GpuError> {
        let gpu = self.gpu.clone();
        let enlarged = match ring {
            FullRing::Spikes => enlarge(&gpu, &mut self.spikes, len as usize),
            FullRing::Chunks => enlarge(&gpu, &mut self.chunks, len as usize),
        };
        match enlarged {
            Ok(false) => return Ok(true),
            Ok(true) => {}
            Err(GpuError::OutOfMemory { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
        let mut model = self.model.value();
        model.layout.spike_mask = self.spikes.len() as u32 - 1;
        model.layout.chunk_mask = self.chunks.len() as u32 - 1;
        self.model.set(model)?;
        self.was_replaced = true;
        gpu.synchronize()?; // copies on the other stream read the new ring
        Ok(true)
    }
}

/// Replaces a ring by one with `len` entries. Entries keep their offsets modulo both lengths, because the new ring repeats the old
/// one. Returns whether the ring was replaced.
fn enlarge<T: CudaType>(gpu: &Arc<Gpu>, ring: &mut Buf<T>, len: usize) -> Result<bool, GpuError> {
    let part = ring.len();
    if len <= part {
        return Ok(false);
    }
    let mut new = Buf::zeros(gpu, ring.what, len)?;
    for start in (0..len).step_by(part) {
        new.part_mut(start..start + part)?.copy_from(ring)?;
    }
    *ring = new;
    Ok(true)
}

impl<T: Real> CudaSim<T> {
    /// Returns the present rings.
    pub(super) fn rings(&self) -> Rings {
        let BufferSizes { n, row_chunks, delay, .. } = self.sizes;
        let (spikes, chunks) = (self.memory.spikes.len() as u32, self.memory.chunks.len() as u32);
        Rings { n, row_chunks, delay, spikes, chunks, bounds: self.bounds }
    }

    /// Bounds the spikes of neurons with these flags, and enlarges the rings to the room that whole windows need. If device memory is
    /// full, windows become shorter. Fails if the device fails.
    pub(super) fn fit_rings(&mut self, marks: &[u32]) -> Result<(), GpuError> {
        let rows = &self.host.setup.connectivity.rows;
        self.bounds = SpikeBounds::of_marks(self.host.constants.refractory, marks, rows);
        let is_persistent = self.persistent.is_some();
        let [spikes, chunks] = self.sizes.rings_for(self.bounds, is_persistent);
        self.memory.enlarge(FullRing::Spikes, spikes)?;
        self.memory.enlarge(FullRing::Chunks, chunks)?;
        Ok(())
    }

    /// Doubles a ring that had no room for a window. Returns false if it has its full size or device memory is full. Fails if the
    /// device fails.
    pub(super) fn double_ring(&mut self, ring: FullRing) -> Result<bool, GpuError> {
        let (len, full) = match ring {
            FullRing::Spikes => (self.memory.spikes.len() as u32, self.sizes.full_spike_ring),
            FullRing::Chunks => (self.memory.chunks.len() as u32, self.sizes.full_chunk_ring),
        };
        Ok(len < full && self.memory.enlarge(ring, 2 * len)?)
    }

    /// Discards captured graphs if a buffer that they use was replaced.
    pub(super) fn refresh_graphs(&mut self) {
        if std::mem::take(&mut self.memory.was_replaced) {
            self.clear_graphs();
            self.variants = None;
        }
    }
}
