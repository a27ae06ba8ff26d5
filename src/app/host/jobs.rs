//! Background jobs on named threads, for files and dialogs. Results arrive in a queue, so the window never blocks.

use crossbeam_channel::{Receiver, Sender, bounded};

/// Starts jobs and collects their results.
pub struct Jobs<R> {
    outbox: Sender<R>,
    inbox: Receiver<R>,
    wake: egui::Context,
}

impl<R: Send + 'static> Jobs<R> {
    /// Creates a queue of results. The window of `wake` is repainted when a job ends.
    pub fn new(wake: egui::Context) -> Self {
        let (outbox, inbox) = bounded(64);
        Self { outbox, inbox, wake }
    }

    /// Runs a job on a new thread called `name`. Fails if the thread cannot be started.
    pub fn spawn(&mut self, name: &str, job: impl FnOnce() -> R + Send + 'static) -> Result<(), String> {
        let (outbox, wake) = (self.outbox.clone(), self.wake.clone());
        let run = move || {
            outbox.send(job()).ok();
            wake.request_repaint();
        };
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .map_err(|e| format!("no thread for {name}: {e}"))?;
        Ok(())
    }

    /// Returns the sender of the queue of results, for threads that are not started by [`Jobs::spawn`].
    pub fn outbox(&self) -> Sender<R> {
        self.outbox.clone()
    }

    /// Takes the next result; `None` if there is none.
    pub fn poll(&mut self) -> Option<R> {
        self.inbox.try_recv().ok()
    }
}
