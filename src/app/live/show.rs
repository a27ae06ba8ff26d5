//! A finished run instead of a simulation.

use super::{Builder, Live, News, SinceZero};
use crate::{
    app::{
        log::Level,
        recorded::{Opened, Recorded},
    },
    sim::Clock,
};

impl Live {
    /// How simulations are made.
    pub fn builder(&self) -> Builder {
        self.builder.clone()
    }

    /// Shows a finished run instead of a simulation.
    pub fn show(&mut self, opened: Opened) -> Result<(), String> {
        let wake = self.wake.clone();
        let recorded = Recorded::read(&opened, move || wake.request_repaint())?;
        self.clock = Clock { step: recorded.first, secs_per_step: opened.run.manifest.secs_per_step };
        self.since_zero = Some(SinceZero { project: opened.project, log: opened.log });
        self.exhibit = opened.exhibit;
        self.recorded = Some(recorded);
        Ok(())
    }

    /// What has been read of the run on show.
    pub(super) fn poll_recorded(&mut self, news: &mut Vec<News>) {
        let Some(recorded) = &mut self.recorded else { return };
        for frame in recorded.take() {
            self.clock = frame.clock;
            news.push(News::Frame(frame));
        }
        if let Some(error) = recorded.error.take() {
            news.push(News::Said(Level::Error, format!("The run could not be read to its end: {error}")));
        }
    }
}
