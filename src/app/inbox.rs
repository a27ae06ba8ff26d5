//! Handles the results of background jobs.

use super::{
    App,
    consent::{Received, ReceivedPurpose},
    dialogs::Dialog,
    jobs::{JobResult, Purpose},
    log::Level,
    text,
};
use crate::project::{Project, Warning, run::MANIFEST};
use std::path::PathBuf;

/// Beginning of the message of a failed save.
const SAVE_FAILED: &str = "Could not save";

impl App {
    /// Handles the result of a job.
    pub(super) fn finish_job(&mut self, done: JobResult) {
        match done {
            JobResult::Picked { purpose, path: Some(path), .. } => self.picked(purpose, path),
            JobResult::Picked { purpose, path: None, took } => {
                // A dialog that closes at once was never shown: this desktop has no file portal.
                if took.as_millis() < 400 {
                    self.ask_path(purpose);
                } else if purpose == Purpose::SaveAs {
                    self.after_save = None;
                }
            }
            JobResult::Opened(path, Ok((project, warnings))) => self.receive(path, project, warnings),
            JobResult::Opened(_, Err(e)) => self.open_failed(format!("Could not open: {e}")),
            JobResult::Path(progress, found) => self.path_found(&progress, found),
            JobResult::Trees(path, read) => self.show_trees(&path, read),
            JobResult::Saved(path, project, Ok(())) => {
                self.workspace.mark_saved();
                self.recent.add(&path);
                self.log.add(Level::Info, format!("Saved {}", path.display()));
                self.allow_own(&path, &project);
                self.session.saved(path, &project);
                self.toasts.resolve(&[SAVE_FAILED]);
                if let Some(intent) = self.after_save.take() {
                    self.run_intent(intent);
                }
            }
            JobResult::Saved(_, _, Err(e)) => {
                self.after_save = None;
                self.notify(Level::Error, format!("{SAVE_FAILED}: {e}"));
            }
            JobResult::RecordingReady { taps, problems, folder, writer } => self.record(taps, problems, folder, writer),
            JobResult::Exported(Ok(text)) => self.notify(Level::Info, text),
            JobResult::Exported(Err(e)) => self.notify(Level::Error, format!("Could not export: {e}")),
            JobResult::Journal(_) | JobResult::Crash(_) | JobResult::LeftRun(_) => self.offer_recovery(done),
            JobResult::RunKept(moved) => self.run_moved(moved),
            JobResult::Selected(set, elements, asked_at) => {
                self.session.selection.replace_late(set, elements, asked_at)
            }
            JobResult::FileChanged(path, found) => self.file_changed(path, *found),
            JobResult::Runs(runs) => {
                self.profile.machine.runs = runs.iter().map(|run| run.folder.clone()).collect();
                self.library.set_runs(runs);
            }
            JobResult::Compared(parity) => self.set_parity(*parity),
            JobResult::Ceilings(ceilings) => self.take_ceilings(ceilings),
            JobResult::RunOpened(Ok(opened)) => self.show_playback(*opened),
            JobResult::RunOpened(Err(e)) => self.open_failed(format!("Could not open the run: {e}")),
            JobResult::RunNeedsConsent(path, outside) => {
                let received = Received { path, outside, purpose: ReceivedPurpose::OpenRun };
                self.open_dialog(Dialog::OutsideFiles(received));
            }
            JobResult::Found(query, found) => {
                if let Some(palette) = &mut self.palette {
                    palette.set_hits(query, found);
                }
            }
            JobResult::SweepRun(folder) => self.sweep_run(folder),
            JobResult::SweepEnded(result) => self.sweep_ended(result),
            JobResult::Branched(read) => self.branched(read),
            JobResult::Resumed(read) => self.resumed(read),
            JobResult::Replayed(name, verdict) => self.replayed(&name, verdict),
            JobResult::Figure(figure) => self.figure_drawn(figure),
            JobResult::Revealed(Ok(())) => {}
            JobResult::Revealed(Err(folder)) => {
                self.notify(Level::Warning, format!("No file manager found. The folder is {}", folder.display()));
            }
            JobResult::Layouts(layouts) => self.workspace.layouts.user = layouts,
            JobResult::LayoutKept(Ok(name)) => self.notify(Level::Info, format!("Saved layout “{name}”")),
            JobResult::LayoutKept(Err(e)) => self.notify(Level::Error, format!("Could not save the layout: {e}")),
        }
    }

    /// Opens a project that was read.
    pub(super) fn open_project(&mut self, path: PathBuf, project: Project, warnings: &[Warning]) {
        for warning in warnings {
            self.log.add(Level::Warning, format!("{}:{}: {}", path.display(), warning.line, warning.what));
        }
        if !warnings.is_empty() {
            let fields = text::plural(warnings.len(), "field was corrected", "fields were corrected");
            self.notify(Level::Warning, format!("{fields}: see the log"));
        }
        // The project file in a run folder belongs to the run: saving must not overwrite it.
        let is_of_run = path.parent().is_some_and(|folder| folder.join(MANIFEST).exists());
        if !is_of_run {
            self.recent.add(&path);
        }
        self.set_document(project, (!is_of_run).then_some(path));
    }
}
