//! What the parts of the network tell each other: spikes on their way, one slot per step.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What one part did in one step.
#[derive(Debug, Default)]
pub struct Slot {
    /// Who fired, ascending.
    pub spikes: Vec<u32>,
    /// Deliveries over a synapse.
    pub events: u32,
    /// Neurons that were looked at: input arrived, or they might have crossed the threshold.
    pub active: u32,
    /// v and g of the traced neurons of the part, in mV, when this is a step of theirs.
    pub trace: Vec<[f32; 2]>,
}

/// The recent steps of one part. Its owner writes a slot, everybody reads it in a later window; the locks are
/// never contended, they only make that visible to the compiler.
pub struct Ring {
    slots: Vec<RwLock<Slot>>,
}

impl Ring {
    /// Holds this many steps.
    pub fn new(len: usize) -> Self {
        Self { slots: (0..len).map(|_| RwLock::default()).collect() }
    }

    fn slot(&self, step: u64) -> &RwLock<Slot> {
        &self.slots[(step % self.slots.len() as u64) as usize]
    }

    /// The slot of a step, to read.
    pub fn read(&self, step: u64) -> RwLockReadGuard<'_, Slot> {
        self.slot(step).read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The slot of a step, to fill.
    pub fn write(&self, step: u64) -> RwLockWriteGuard<'_, Slot> {
        self.slot(step).write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for slot in &mut self.slots {
            *slot = RwLock::default();
        }
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        let held = |s: &RwLock<Slot>| {
            let slot = s.read().unwrap_or_else(PoisonError::into_inner);
            size_of::<RwLock<Slot>>() + slot.spikes.capacity() * 4 + slot.trace.capacity() * 8
        };
        self.slots.iter().map(|s| held(s) as u64).sum()
    }
}
