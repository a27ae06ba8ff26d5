//! What a call of `advance` does beside steps.

use std::sync::{Arc, Mutex, PoisonError};

/// Work between two steps that takes long: a name and the share done. Clones share it, so that a window can show it while
/// the step count stands.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Mutex<Option<(&'static str, f32)>>>);

impl Activity {
    /// What is being done, `held-out text`, and the share done, 0 to 1.
    pub fn report(&self, name: &'static str, share: f32) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((name, share));
    }

    /// It is over.
    pub fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What is being done.
    pub fn now(&self) -> Option<(&'static str, f32)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
