//! Jobs of the window: work on a thread, with a function that handles the result in the window.

use super::{host::Host, messages::Messages, parts::ActionParts};
use crate::app::kit::level::Level;

/// Function that handles the result of a job in the window.
pub type Done = Box<dyn FnOnce(&mut ActionParts<'_>) + Send>;

impl Host {
    /// Starts `work` on a thread of this name; `done` then receives its result in the window. Fails if no thread can be started.
    pub fn try_job<T: Send + 'static>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
        done: impl FnOnce(&mut ActionParts<'_>, T) + Send + 'static,
    ) -> Result<(), String> {
        self.jobs.spawn(name, move || {
            let result = work();
            Box::new(move |parts: &mut ActionParts<'_>| done(parts, result)) as Done
        })
    }

    /// Starts `work` like [`Host::try_job`], and shows an error if no thread can be started. Returns whether one was.
    pub fn job<T: Send + 'static>(
        &mut self,
        messages: &mut Messages,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
        done: impl FnOnce(&mut ActionParts<'_>, T) + Send + 'static,
    ) -> bool {
        self.try_job(name, work, done).map_err(|why| messages.notify(Level::Error, why)).is_ok()
    }
}
