//! The loader thread: project → simulation, or file → input data, with progress and cancel.

use crate::sim::{Progress, SimError, Simulation};
use crossbeam_channel::{Receiver, bounded};
use std::{sync::Arc, time::Instant};

/// Result of a loader.
pub type Outcome = Result<Box<dyn Simulation>, SimError>;

/// A job in progress.
pub struct Loader<T = Box<dyn Simulation>> {
    /// Its progress; `cancel()` stops it.
    pub progress: Arc<Progress>,
    /// When it started.
    pub since: Instant,
    outcome: Receiver<Result<T, SimError>>,
}

impl<T: Send + 'static> Loader<T> {
    /// Starts the job. `wake` is called at its end.
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

    /// The outcome, once.
    pub fn poll(&self) -> Option<Result<T, SimError>> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(crossbeam_channel::TryRecvError::Empty) => None,
            Err(crossbeam_channel::TryRecvError::Disconnected) => {
                Some(Err(SimError::Diverged("the loader thread ended without a result".into())))
            }
        }
    }

    /// Waits for the outcome.
    pub fn wait(&self) -> Result<T, SimError> {
        self.outcome.recv().unwrap_or_else(|_| Err(SimError::Diverged("the loader thread panicked".into())))
    }
}
