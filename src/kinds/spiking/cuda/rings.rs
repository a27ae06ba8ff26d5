//! Rings of spikes and chunks: how many entries a window may add, and replacement by longer rings.
//!
//! Rings begin with room for one window and little more, because few neurons fire in most windows. A window that might overflow a ring
//! is halted; then the ring is doubled, with its contents, up to the size for the highest possible activity.

use super::{
    CudaSim,
    buffers::DeviceBuffers,
    kernels::Window,
    sizes::{BufferSizes, CHUNK},
};
use crate::{
    gpu::{Buf, Gpu, GpuError, layout::CudaType},
    kinds::spiking::{constants::Real, saved_state::mark},
};
use std::sync::Arc;

/// Upper bound on the spikes of a network in any steps: a neuron fires at most once per refractory time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpikeBounds {
    /// Number of steps from a spike of a neuron to its next possible one, at least 1.
    pub refractory: u32,
    /// Number of neurons without a refractory time.
    pub n_driven: u32,
    /// Number of chunks in the rows of these neurons.
    pub driven_chunks: u32,
}

impl SpikeBounds {
    /// Creates the bound of neurons that all have the refractory time.
    pub const fn new(refractory: u32) -> Self {
        Self { refractory, n_driven: 0, driven_chunks: 0 }
    }

    /// Creates the bound of neurons with these flags; `rows` holds the first connection of each row.
    pub fn of_marks(refractory: u32, marks: &[u32], rows: &[u32]) -> Self {
        let mut bounds = Self::new(refractory);
        for (row, _) in rows.windows(2).zip(marks).filter(|(_, flags)| **flags & mark::DRIVEN != 0) {
            bounds.n_driven += 1;
            bounds.driven_chunks += (row[1] - row[0]).div_ceil(CHUNK);
        }
        bounds
    }

    /// Returns the maximum number of spikes of `n` neurons in `steps` successive steps.
    pub fn spikes(self, n: u32, steps: u32) -> u64 {
        self.most(n, self.n_driven, steps)
    }

    /// Returns the maximum number of chunks in the rows of these spikes; `row_chunks` is the number in all rows.
    pub fn chunks(self, row_chunks: u32, steps: u32) -> u64 {
        self.most(row_chunks, self.driven_chunks, steps)
    }

    fn most(self, all: u32, driven: u32, steps: u32) -> u64 {
        let others = u64::from(all.saturating_sub(driven)) * u64::from(steps.div_ceil(self.refractory.max(1)));
        others + u64::from(driven) * u64::from(steps)
    }
}

/// Lengths of the rings, and the bound on the entries that windows add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rings {
    /// Number of neurons.
    pub n: u32,
    /// Number of chunks in all rows.
    pub row_chunks: u32,
    /// Number of steps from a spike to its effect.
    pub delay: u32,
    /// Number of entries in the ring of spikes.
    pub spikes: u32,
    /// Number of entries in the ring of chunks.
    pub chunks: u32,
    /// Bound on the spikes of a window.
    pub bounds: SpikeBounds,
}

impl Rings {
    /// Returns the maximum number of spikes in the ring before a window of `steps` steps with the most possible spikes; -1 if the
    /// window can never fit.
    pub fn most_spikes(&self, steps: u32) -> i32 {
        left(self.spikes, self.bounds.spikes(self.n, steps))
    }

    /// Returns the maximum number of chunks in the ring before a window of `steps` steps with the most possible spikes; -1 if the
    /// window can never fit.
    pub fn most_chunks(&self, steps: u32) -> i32 {
        left(self.chunks, self.bounds.chunks(self.row_chunks, steps))
    }

    /// Whether the spikes in transit at the end of a persistent launch fit: chunks of two windows.
    pub fn can_persist(&self, window: u32) -> bool {
        u64::from(self.chunks) >= self.bounds.chunks(self.row_chunks, 2 * window)
    }

    /// Returns the window of `steps` steps from `step` on. The plan adds its segments and kicks.
    pub fn window_from(&self, step: u64, steps: u32) -> Window {
        Window {
            step,
            steps,
            sent: (step as u32).wrapping_sub(self.delay),
            most_spikes: self.most_spikes(steps),
            most_chunks: self.most_chunks(steps),
            ..Window::default()
        }
    }
}

fn left(ring: u32, added: u64) -> i32 {
    (i64::from(ring) - added.min(1 << 40) as i64).clamp(-1, i32::MAX.into()) as i32
}

/// Ring that has no room for a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullRing {
    /// Ring of spikes, which the host reads.
    Spikes,
    /// Ring of chunks, which are delivered one delay later.
    Chunks,
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neurons_fire_once_per_refractory_time() {
        let bounds = SpikeBounds::new(22);
        let steps = [0, 1, 18, 22, 23, 36, 44, 45];
        assert_eq!(steps.map(|steps| bounds.spikes(10, steps)), [0, 10, 10, 10, 20, 20, 20, 30]);
        let every_step = SpikeBounds::new(1);
        assert_eq!((every_step.spikes(10, 18), every_step.chunks(7, 36)), (180, 252));
    }

    #[test]
    fn driven_neurons_may_fire_in_every_step() {
        let rows = [0, 0, 1, 129, 258, 1000];
        let marks = [0, mark::DRIVEN, mark::CLOSED, mark::DRIVEN | mark::CLOSED, 0];
        let bounds = SpikeBounds::of_marks(22, &marks, &rows);
        assert_eq!((bounds.n_driven, bounds.driven_chunks), (2, 1 + 2));
        assert_eq!((bounds.spikes(5, 18), bounds.chunks(10, 18)), (3 + 2 * 18, 7 + 3 * 18));
    }

    #[test]
    fn a_window_leaves_room_for_all_its_spikes() {
        let bounds = SpikeBounds::new(22);
        let rings = Rings { n: 5, row_chunks: 10, delay: 18, spikes: 64, chunks: 16, bounds };
        assert_eq!([1, 18, 32].map(|steps| rings.most_spikes(steps)), [59, 59, 54]);
        assert_eq!([1, 18, 32].map(|steps| rings.most_chunks(steps)), [6, 6, -1]);
        assert!(!rings.can_persist(18) && Rings { chunks: 32, ..rings }.can_persist(18));
        let window = rings.window_from(7, 18);
        assert_eq!((window.sent, window.most_spikes), (7_u32.wrapping_sub(18), 59));
        assert_eq!(left(u32::MAX, u64::MAX), -1);
    }
}
