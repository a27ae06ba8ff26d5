//! Jobs of the window: work on a thread, and what the window does with the result.

use super::App;
use crate::app::kit::level::Level;

/// What the window does with the result of a job.
pub type Done = Box<dyn FnOnce(&mut App) + Send>;

impl App {
    /// Works on a thread of this name; `done` receives the result in the window.
    pub(crate) fn try_job<T: Send + 'static>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
        done: impl FnOnce(&mut Self, T) + Send + 'static,
    ) -> Result<(), String> {
        self.host.jobs.spawn(name, move || {
            let result = work();
            Box::new(move |app: &mut Self| done(app, result)) as Done
        })
    }

    /// Works on a thread like [`App::try_job`], and shows an error when no thread can be started. Returns whether one was.
    pub(crate) fn job<T: Send + 'static>(
        &mut self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
        done: impl FnOnce(&mut Self, T) + Send + 'static,
    ) -> bool {
        self.try_job(name, work, done).map_err(|why| self.messages.notify(Level::Error, why)).is_ok()
    }
}
