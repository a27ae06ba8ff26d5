//! What the threads of the window ended with, taken up.

use super::{
    App,
    jobs::{Done, Purpose},
    log::Level,
};
use crate::project::run::MANIFEST;

impl App {
    /// Takes up what a thread ended with.
    pub(super) fn finish_job(&mut self, done: Done) {
        match done {
            Done::Picked { purpose, path: Some(path), .. } => self.picked(purpose, path),
            Done::Picked { purpose, path: None, took } => {
                // A dialog that closes at once was never there: no portal answers on this desktop.
                if took.as_millis() < 400 {
                    self.ask_path(purpose);
                } else if purpose == Purpose::SaveAs {
                    self.after_save = None;
                }
            }
            Done::Opened(path, Ok((project, warnings))) => {
                for warning in &warnings {
                    self.log.add(Level::Warning, format!("{}:{}: {}", path.display(), warning.line, warning.what));
                }
                if !warnings.is_empty() {
                    self.say(
                        Level::Warning,
                        format!("{} things in the file were put right: see the log", warnings.len()),
                    );
                }
                // The project inside a run belongs to the run: saving must not write over it.
                let is_of_run = path.parent().is_some_and(|folder| folder.join(MANIFEST).exists());
                if !is_of_run {
                    self.recent.add(&path);
                }
                self.take_document(*project, (!is_of_run).then_some(path));
            }
            Done::Opened(_, Err(e)) => self.say(Level::Error, format!("Could not open: {e}")),
            Done::Saved(path, project, Ok(())) => {
                self.workspace.stored_now();
                self.recent.add(&path);
                self.log.add(Level::Info, format!("Saved {}", path.display()));
                self.session.saved(path, &project);
                if let Some(intent) = self.after_save.take() {
                    self.carry_out(intent);
                }
            }
            Done::Saved(_, _, Err(e)) => {
                self.after_save = None;
                self.say(Level::Error, format!("Could not save: {e}"));
            }
            Done::RecordingReady(taps, folder, Ok(writer)) => self.session.live.record(taps, writer, folder),
            Done::RecordingReady(_, _, Err(e)) => self.say(Level::Error, format!("Could not record: {e}")),
            Done::Exported(Ok(text)) => self.say(Level::Info, text),
            Done::Exported(Err(e)) => self.say(Level::Error, format!("Could not export: {e}")),
            Done::Journal(_) | Done::Crash(_) => self.take_leftover(done),
            Done::Selected(set, elements, asked_at) => self.session.selection.replace_late(set, elements, asked_at),
            Done::Outside(path, found) => self.changed_outside(path, *found),
            Done::Runs(runs) => {
                self.profile.machine.runs = runs.iter().map(|run| run.folder.clone()).collect();
                self.library.take(runs);
            }
            Done::Compared(parity) => self.take_parity(*parity),
            Done::Ceilings(ceilings) => self.take_ceilings(ceilings),
            Done::RunOpened(Ok(opened)) => self.show_recording(*opened),
            Done::RunOpened(Err(e)) => self.say(Level::Error, format!("Could not open the run: {e}")),
            Done::Found(query, found) => {
                if let Some(palette) = &mut self.palette {
                    palette.take(query, found);
                }
            }
            Done::Replayed(name, verdict) => self.replayed(&name, verdict),
            Done::Figure(figure) => self.took_figure(figure),
            Done::Revealed(Ok(())) => {}
            Done::Revealed(Err(folder)) => {
                self.say(Level::Warning, format!("No file manager answered. The folder is {}", folder.display()));
            }
            Done::Layouts(layouts) => self.workspace.layouts.user = layouts,
            Done::LayoutKept(Ok(name)) => self.say(Level::Info, format!("Saved layout “{name}”")),
            Done::LayoutKept(Err(e)) => self.say(Level::Error, format!("Could not save the layout: {e}")),
        }
    }
}
