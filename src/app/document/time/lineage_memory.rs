//! Memory limit of the lines of a lineage.

use std::sync::atomic::{AtomicUsize, Ordering};

static MAX_BYTES: AtomicUsize = AtomicUsize::new(40_000_000);

/// Sets the memory limit of the lines of a view, bytes.
pub fn set(n_bytes: usize) {
    MAX_BYTES.store(n_bytes, Ordering::Relaxed);
}

/// Returns the memory limit of the lines of a view, bytes.
pub fn get() -> usize {
    MAX_BYTES.load(Ordering::Relaxed)
}
