//! Recording and exporting: from the project's list of probes to run folders.

use super::{App, commands::ExportFormat, log::Level, text};
use crate::sim::{ProbeSpec, Shape, Tap};
use std::{path::Path, time::Duration};

/// A tap on every probe of spikes.
pub fn spike_taps(probes: &[ProbeSpec]) -> Vec<Tap> {
    let is_spikes = |p: &ProbeSpec| matches!(p.shape, Shape::Spikes { .. });
    probes.iter().enumerate().filter(|(_, p)| is_spikes(p)).map(|(i, _)| Tap { probe: i as u16, elements: vec![] }).collect()
}

impl App {
    /// Starts or ends a recording.
    pub(super) fn toggle_recording(&mut self) {
        if self.session.live.recording.is_some() {
            return self.session.live.stop_recording();
        }
        self.say(Level::Warning, "Run folders cannot be written by this build");
    }

    /// A recording is complete.
    pub(super) fn recorded(&mut self, folder: &Path, took: Duration) {
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        self.say(Level::Info, format!("Recorded {name} in {}", text::wall_time(took)));
        self.list_runs();
    }

    /// Writes the last run for other programs, on a thread.
    pub(super) fn export(&mut self, format: ExportFormat) {
        self.say(Level::Warning, format!("{} files cannot be written by this build", format.title()));
    }

    /// Looks for runs, on a thread.
    pub(super) fn list_runs(&mut self) {
        if let Err(e) = self.jobs.list_runs(self.session.runs_folder()) {
            self.say(Level::Error, e);
        }
    }
}
