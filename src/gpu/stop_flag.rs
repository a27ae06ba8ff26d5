//! A request to end a call of `advance` early.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// Request to a simulation inside `advance` to return soon. Clones share the request.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicU32>);

impl StopFlag {
    /// Adds a request to stop, until [`StopFlag::lower`] removes it.
    pub fn raise(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes one request, if any.
    pub fn lower(&self) {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).ok();
    }

    /// Whether at least one stop is requested.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}
