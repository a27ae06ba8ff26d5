//! Ring buffers of spikes in transit between partitions, one slot per step.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Result of one partition in one step.
#[derive(Debug, Default)]
pub struct Slot {
    /// Neurons that fired, ascending.
    pub spikes: Vec<u32>,
    /// Number of synaptic events.
    pub events: u32,
    /// Number of neurons evaluated: those with input, or possibly above the threshold.
    pub active: u32,
    /// v and g of the traced neurons of the partition, mV, if this step is sampled.
    pub trace: Vec<[f32; 2]>,
}

/// Recent steps of one partition. Its owner writes a slot, and all partitions read the slot in a later window. The locks are
/// never contended; they exist because the compiler cannot prove that accesses do not overlap.
pub struct RingBuffer {
    slots: Vec<RwLock<Slot>>,
}

impl RingBuffer {
    /// Allocates slots for `len` steps.
    pub fn new(len: usize) -> Self {
        Self { slots: (0..len).map(|_| RwLock::default()).collect() }
    }

    fn slot(&self, step: u64) -> &RwLock<Slot> {
        &self.slots[(step % self.slots.len() as u64) as usize]
    }

    /// Locks the slot of a step for reading.
    pub fn read(&self, step: u64) -> RwLockReadGuard<'_, Slot> {
        self.slot(step).read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the slot of a step for writing.
    pub fn write(&self, step: u64) -> RwLockWriteGuard<'_, Slot> {
        self.slot(step).write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears all slots.
    pub fn clear(&mut self) {
        for slot in &mut self.slots {
            *slot = RwLock::default();
        }
    }

    pub fn n_bytes(&self) -> u64 {
        let held = |s: &RwLock<Slot>| {
            let slot = s.read().unwrap_or_else(PoisonError::into_inner);
            size_of::<RwLock<Slot>>() + slot.spikes.capacity() * 4 + slot.trace.capacity() * 8
        };
        self.slots.iter().map(|s| held(s) as u64).sum()
    }
}
