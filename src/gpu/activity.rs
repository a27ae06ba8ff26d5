//! Progress of slow work that `advance` does between steps, such as a held-out evaluation.

use std::sync::{Arc, Mutex, PoisonError};

/// Name and completed share of slow work between two steps. Clones share the value, so that the window can show it while the
/// step count does not change.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Mutex<Option<(&'static str, f32)>>>);

impl Activity {
    /// Publishes the current work, for example `held-out text`, and the completed share from 0 to 1.
    pub fn report(&self, name: &'static str, share: f32) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((name, share));
    }

    /// Clears the current work.
    pub fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the name and completed share of the current work; `None` if no work is in progress.
    pub fn now(&self) -> Option<(&'static str, f32)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
