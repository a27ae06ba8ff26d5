//! A long job on a thread of its own: project → simulation, with progress and cancel.

use crate::sim::{Progress, SimError, Simulation};
use crossbeam_channel::{Receiver, bounded};
use std::{sync::Arc, time::Instant};

/// What a loader ends with.
pub type Outcome = Result<Box<dyn Simulation>, SimError>;

/// A job in progress.
pub struct Loader {
    /// How far it is; `cancel()` stops it.
    pub progress: Arc<Progress>,
    /// When it began.
    pub since: Instant,
    outcome: Receiver<Outcome>,
}

impl Loader {
    /// Starts the job. `wake` is called when it has ended.
    pub fn spawn(
        job: impl FnOnce(&Progress) -> Outcome + Send + 'static,
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
    pub fn poll(&self) -> Option<Outcome> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(crossbeam_channel::TryRecvError::Empty) => None,
            Err(crossbeam_channel::TryRecvError::Disconnected) => {
                Some(Err(SimError::Diverged("the loader thread ended without a result".into())))
            }
        }
    }

    /// Waits for the outcome.
    pub fn wait(&self) -> Outcome {
        self.outcome.recv().unwrap_or_else(|_| Err(SimError::Diverged("the loader thread panicked".into())))
    }
}
