//! Counts allocations by kind of memory, and injects faults for tests.

use super::Gpu;
use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Kind of memory that a buffer occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Device memory of the GPU.
    Device,
    /// Page-locked host memory.
    Pinned,
    /// Pageable host memory.
    Host,
}

thread_local! {
    /// Number of allocations that succeed before one fails; `None` if none fails.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Injects a fault for tests: the allocation of a registered buffer on this thread that follows `n` others fails, once. Returns
/// the remaining count of the previous fault: `None` if that fault has happened or there was none.
pub fn fail_after(n: Option<u64>) -> Option<u64> {
    LEFT.replace(n)
}

/// Whether the current allocation must fail. Counts the allocation.
pub fn fails() -> bool {
    LEFT.with(|left| {
        let n = left.get();
        left.set(n.and_then(|n| n.checked_sub(1)));
        n == Some(0)
    })
}

/// Counter of bytes held in buffers of a device.
#[derive(Debug, Default)]
pub(super) struct HeldBytes {
    device: AtomicU64,
    pinned: AtomicU64,
}

impl HeldBytes {
    fn of(&self, place: Place) -> &AtomicU64 {
        match place {
            Place::Device => &self.device,
            _ => &self.pinned,
        }
    }

    pub(super) fn get(&self, place: Place) -> u64 {
        self.of(place).load(Ordering::Relaxed)
    }
}

/// Guard that counts an allocation as held until the guard is dropped.
pub(super) struct Counted {
    held: Arc<HeldBytes>,
    place: Place,
    bytes: u64,
}

impl Counted {
    pub(super) fn new(gpu: &Gpu, place: Place, bytes: u64) -> Self {
        gpu.allocations.fetch_add(1, Ordering::Relaxed);
        gpu.held.of(place).fetch_add(bytes, Ordering::Relaxed);
        Self { held: gpu.held.clone(), place, bytes }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.held.of(self.place).fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_allocation_fails_once() {
        assert_eq!(fail_after(Some(2)), None);
        assert_eq!([fails(), fails(), fails(), fails()], [false, false, true, false]);
        assert_eq!(fail_after(Some(7)), None);
        assert!(!fails());
        assert_eq!(fail_after(None), Some(6));
        assert!(!fails());
    }
}
