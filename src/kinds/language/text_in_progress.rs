//! Sampling of a text with a copy of the model, concurrently with further training steps.

use super::{
    backend::TextModel,
    writing::{self, Writing},
};
use crate::{gpu::StopFlag, sim::SimError};
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread::{Builder, JoinHandle},
};

/// Periodic text that is due. Its content depends only on the step, not on the time of sampling.
#[derive(Clone, Debug)]
pub struct DueText {
    /// Step after which the weights are used.
    pub step: u64,
    /// Prompt as a string, for display.
    pub prompt: String,
    /// Sampling temperature, for display.
    pub temperature: f64,
    /// Prompt tokens, length and sampling parameters.
    pub writing: Writing,
}

/// Text that a thread is sampling.
pub struct TextInProgress {
    /// Description of the text.
    pub due: DueText,
    stop: StopFlag,
    thread: Option<JoinHandle<Result<Vec<u32>, SimError>>>,
}

impl TextInProgress {
    /// Starts a thread that samples `due` with `model`. Fails if the thread cannot be started.
    pub fn start(
        due: DueText,
        model: Arc<Mutex<dyn TextModel>>,
        (context, vocab): (usize, usize),
    ) -> Result<Self, SimError> {
        let (stop, writing) = (StopFlag::default(), due.writing.clone());
        let is_stopped = stop.clone();
        let write = move || {
            let mut model = model.lock().unwrap_or_else(PoisonError::into_inner);
            let goes_on = |_| if is_stopped.is_raised() { Err(SimError::Cancelled) } else { Ok(()) };
            writing::write(&mut *model.decoder()?, context, vocab, &writing, goes_on)
        };
        let started = Builder::new().name("text".to_owned()).spawn(write);
        let failed = |why: io::Error| SimError::Input(format!("no thread for the sampled text: {why}"));
        Ok(Self { due, stop, thread: Some(started.map_err(failed)?) })
    }

    /// Whether [`finish`](Self::finish) returns without waiting.
    pub fn is_written(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the thread. Returns the tokens of the prompt and the sampled text, or the error of the thread.
    pub fn finish(mut self) -> (DueText, Result<Vec<u32>, SimError>) {
        let written = self.thread.take().map(JoinHandle::join);
        let ended = || SimError::Input("the thread of the sampled text ended by a fault, see the log".to_owned());
        (self.due.clone(), written.and_then(Result::ok).unwrap_or_else(|| Err(ended())))
    }
}

impl Drop for TextInProgress {
    /// Stops the thread and waits until it has released the model.
    fn drop(&mut self) {
        self.stop.raise();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
