//! Loader thread: builds a simulation from a project, or input data from a file, with progress and cancellation.

use crate::sim::{Progress, SimError, Simulation};
use crossbeam_channel::{Receiver, bounded};
use std::{sync::Arc, time::Instant};

/// Result of building a simulation.
pub type Outcome = Result<Box<dyn Simulation>, SimError>;

/// Loader job in progress.
pub struct Loader<T = Box<dyn Simulation>> {
    /// Progress of the job; `cancel()` stops it.
    pub progress: Arc<Progress>,
    /// Start time of the job.
    pub since: Instant,
    outcome: Receiver<Result<T, SimError>>,
}

impl<T: Send + 'static> Loader<T> {
    /// Starts the job on a new thread. `wake` is called when the job ends. Fails if the thread cannot be started.
    pub fn spawn(
        job: impl FnOnce(&Progress) -> Result<T, SimError> + Send + 'static,
        wake: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Self> {
        let progress = Arc::new(Progress::default());
        let (sender, outcome) = bounded(1);
        let shared = progress.clone();
        std::thread::Builder::new().name("loader".into()).spawn(move || {
            sender.send(job(&shared)).ok();
            wake();
        })?;
        Ok(Self { progress, since: Instant::now(), outcome })
    }

    /// Returns the outcome of the job; `None` while the job runs. The outcome is an error if the thread panicked or the
    /// outcome was already returned.
    pub fn poll(&self) -> Option<Result<T, SimError>> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(crossbeam_channel::TryRecvError::Empty) => None,
            Err(crossbeam_channel::TryRecvError::Disconnected) => {
                Some(Err(SimError::Diverged("the loader thread ended without a result".into())))
            }
        }
    }

    /// Waits for the job and returns its outcome. Returns an error if the thread panicked or the outcome was already returned.
    pub fn wait(&self) -> Result<T, SimError> {
        self.outcome.recv().unwrap_or_else(|_| Err(SimError::Diverged("the loader thread panicked".into())))
    }
}
