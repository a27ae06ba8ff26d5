//! Largest memory of the lines of a lineage.

use std::sync::atomic::{AtomicUsize, Ordering};

static MAX_BYTES: AtomicUsize = AtomicUsize::new(40_000_000);

/// Sets the largest memory of the lines of a view, bytes.
pub fn set(n_bytes: usize) {
    MAX_BYTES.store(n_bytes, Ordering::Relaxed);
}

/// The largest memory of the lines of a view, bytes.
pub fn get() -> usize {
    MAX_BYTES.load(Ordering::Relaxed)
}
