//! "Branch from here": the document and the simulation continue from a checkpoint of a recorded run.

use crate::{
    app::{
        document::command::UiCommand,
        kit::{level::Level, text},
        shell::App,
    },
    project::{Continuation, RunFolder, outside_paths_of_run},
    sim::Progress,
};
use std::path::{Path, PathBuf};

/// A checkpoint that was read.
pub struct Branch {
    pub folder: PathBuf,
    /// The run at the checkpoint.
    pub from: Continuation,
}

impl App {
    /// Reads a checkpoint, on a thread.
    pub(crate) fn branch(&mut self, folder: &Path, step: u64) {
        let read = RunFolder::open(folder).map_err(|e| e.to_string());
        let read = read.and_then(|run| run.project().map(|project| (run, project)).map_err(|e| e.to_string()));
        let (run, project) = match read {
            Ok(read) => read,
            Err(why) => return self.messages.notify(Level::Error, why),
        };
        if !self.host.consent.allows_run(folder, &outside_paths_of_run(&run, &project)) {
            let what = "The run reads files outside its folder. Open it first, and allow that";
            return self.messages.notify(Level::Warning, what.to_owned());
        }
        let job = move || {
            let from = run.continuation(Some(step), &Progress::default()).map_err(|e| e.to_string());
            from.map(|from| Box::new(Branch { folder: run.path, from }))
        };
        self.job("branch", job, Self::branched);
    }

    /// Finds the last checkpoint of the shown run at or before the time cursor.
    pub(crate) fn checkpoint_at_cursor(&self) -> Option<UiCommand> {
        let run = self.document.session.live.playback.as_ref()?;
        let step = run.checkpoint_before(self.document.time.axis.cursor().unwrap_or(run.last as f64))?;
        Some(UiCommand::Branch(run.folder.clone(), step))
    }

    /// Takes the project of a checkpoint up as one undoable edit, and builds its simulation.
    pub(crate) fn branched(&mut self, read: Result<Box<Branch>, String>) {
        let Branch { folder, from } = match read {
            Ok(branch) => *branch,
            Err(why) => return self.messages.notify(Level::Error, format!("Could not branch: {why}")),
        };
        for message in from.messages() {
            self.messages.notify(Level::Warning, message);
        }
        let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let step = text::count(from.info.step);
        self.document.session.branch((folder, from.info), from.now, from.snapshot);
        self.messages
            .notify(Level::Info, format!("Branch from step {step} of {name}. Change parameters, run and record"));
    }
}
