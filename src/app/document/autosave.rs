//! Timer of automatic saves.

use std::time::{Duration, Instant};

/// Time at which the open document got unsaved changes; `None` without unsaved changes.
#[derive(Default)]
pub struct Autosave(Option<Instant>);

impl Autosave {
    /// Returns `Ok` if it is time to save. Otherwise fails with the time left, which is [`Duration::MAX`] if nothing has to
    /// be saved.
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
