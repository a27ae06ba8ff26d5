//! A text that a copy of the model writes while the model takes further steps.

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

/// A periodic text that is due: what it shows is fixed by the step, whenever it is written.
#[derive(Clone, Debug)]
pub struct DueText {
    /// The step after which it is due: the text is written with the weights of that step.
    pub step: u64,
    /// Its prompt as text.
    pub prompt: String,
    /// Temperature of the draws.
    pub temperature: f64,
    /// How long it is, and how tokens are drawn.
    pub writing: Writing,
}

/// A text that is being written by a thread.
pub struct TextInProgress {
    /// What is written.
    pub due: DueText,
    stop: StopFlag,
    thread: Option<JoinHandle<Result<Vec<u32>, SimError>>>,
}

impl TextInProgress {
    /// Starts the thread; with the context and the vocabulary of the model.
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

    /// Whether [`finish`](Self::finish) does not wait.
    pub fn is_written(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the tokens of prompt and text.
    pub fn finish(mut self) -> (DueText, Result<Vec<u32>, SimError>) {
        let written = self.thread.take().map(JoinHandle::join);
        let ended = || SimError::Input("the thread of the sampled text ended by a fault, see the log".to_owned());
        (self.due.clone(), written.and_then(Result::ok).unwrap_or_else(|| Err(ended())))
    }
}

impl Drop for TextInProgress {
    /// Cancels the text, and waits until its model is no longer in use.
    fn drop(&mut self) {
        self.stop.raise();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
