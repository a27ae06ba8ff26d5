//! When an open document is saved automatically.

use std::time::{Duration, Instant};

/// Autosave timer: since when the open document has unsaved changes.
#[derive(Default)]
pub struct Autosave(Option<Instant>);

impl Autosave {
    /// `Ok` when it is time to save, else the time left.
    pub fn due(&mut self, is_dirty: bool, every: Duration) -> Result<(), Duration> {
        if !is_dirty || every.is_zero() {
            self.0 = None;
            return Err(Duration::MAX);
        }
        let left = every.saturating_sub(self.0.get_or_insert_with(Instant::now).elapsed());
        if left.is_zero() {
            self.0 = None;
            return Ok(());
        }
        Err(left)
    }
}
