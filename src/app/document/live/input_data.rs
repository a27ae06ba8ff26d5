//! Input data that are read while the simulation runs. The loader prepares the data, and the engine replaces them between
//! two steps.

use super::{Live, LiveEvent};
use crate::{
    app::kit::level::Level,
    engine::{Command, Loader},
    params::{Apply, Change, ParamId, Params},
    project::{Project, load_data},
    sim::{InputData, Progress, SimError},
};
use std::{path::Path, time::Duration};

/// File that is being read. The old data stay in use until the new data are complete.
pub(super) struct DataLoading {
    loader: Loader<InputData>,
    change: Change,
    /// Path of the parameter.
    parameter: String,
    /// Data that were read but could not be sent yet; `None` without such data.
    ready: Option<InputData>,
}

impl Live {
    /// Whether an edit of a parameter is applied together with the data that its value names.
    pub(super) fn is_data(params: &dyn Params, id: ParamId) -> bool {
        params.spec(id).is_some_and(|spec| spec.apply == Apply::Data)
    }

    /// Starts to read the file of an edit. A newer edit of the same parameter cancels the reading; an edit of another parameter
    /// waits.
    pub(super) fn load_data(&mut self, project: &Project, folder: &Path, change: Change) {
        match self.data_loading.take() {
            Some(other) if other.change.id != change.id => return self.data_loading = Some(other),
            Some(older) => {
                older.loader.progress.cancel();
                self.acks.needs_rebuild(&older.change); // The older change gets no other answer.
            }
            None => {}
        }
        let (model, context, wanted) = (project.model.clone(), project.build_context(folder), change.clone());
        let job = move |progress: &Progress| load_data(&model, &context, &wanted, progress);
        let wake = self.wake.clone();
        let parameter = project.model.params().path(change.id);
        if let Some(sent) = &mut self.versions.sent {
            sent.model.params_mut().set(&change);
        }
        self.acks.sent(change.clone());
        match Loader::spawn(job, move || wake.request_repaint()) {
            Ok(loader) => self.data_loading = Some(DataLoading { loader, change, parameter, ready: None }),
            Err(e) => {
                self.acks.rejected(change, format!("loader thread: {e}"));
                self.update_sent();
            }
        }
    }

    /// Sends data that have been read to the engine, or reports why they could not be read.
    pub(super) fn poll_data(&mut self, events: &mut Vec<LiveEvent>) {
        let Some(mut loading) = self.data_loading.take() else { return };
        match loading.ready.take().map(Ok).or_else(|| loading.loader.poll()) {
            None => self.data_loading = Some(loading),
            Some(Ok(data)) => {
                if !self.send(Command::Replace(data.clone())) {
                    loading.ready = Some(data); // The engine computes a long step, so that its queue is full.
                    self.data_loading = Some(loading);
                }
            }
            Some(Err(error)) => {
                let (level, text) = match &error {
                    SimError::Cancelled => (Level::Info, format!("Loading of {} cancelled", loading.parameter)),
                    _ => (Level::Warning, format!("Could not load {}: {error}. The old data stay", loading.parameter)),
                };
                if self.acks.rejected(loading.change, error.to_string()) {
                    events.push(LiveEvent::Message(level, text));
                }
                self.update_sent();
            }
        }
    }

    /// Returns the text, completed fraction and elapsed time of data that are being read; `None` if no data are being read.
    pub fn data_progress(&self) -> Option<(String, f32, Duration)> {
        let loading = self.data_loading.as_ref()?;
        let (stage, fraction) = loading.loader.progress.now();
        Some((format!("Loading {}: {stage}", loading.parameter), fraction, loading.loader.since.elapsed()))
    }

    /// Cancels the reading of data, which stops at its next progress report.
    pub(super) fn cancel_data(&self) {
        if let Some(loading) = &self.data_loading {
            loading.loader.progress.cancel();
        }
    }
}
