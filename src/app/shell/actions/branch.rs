//! "Branch from here": document and simulation continue from a checkpoint of a recorded run.

use crate::{
    app::{
        document::open_document::Document,
        kit::{level::Level, text},
        shell::{host::Host, messages::Messages},
    },
    project::{Continuation, RunFolder, outside_paths_of_run},
    sim::Progress,
};
use std::path::{Path, PathBuf};

/// Checkpoint that was read.
pub struct Branch {
    pub folder: PathBuf,
    /// State of the run at the checkpoint.
    pub from: Continuation,
}

/// Reads a checkpoint of a run on a thread, if the run may read its files.
pub fn branch(host: &mut Host, messages: &mut Messages, folder: &Path, step: u64) {
    let read = RunFolder::open(folder).map_err(|e| e.to_string());
    let read = read.and_then(|run| run.project().map(|project| (run, project)).map_err(|e| e.to_string()));
    let (run, project) = match read {
        Ok(read) => read,
        Err(why) => return messages.notify(Level::Error, why),
    };
    if !host.consent.allows_run(folder, &outside_paths_of_run(&run, &project)) {
        let what = "The run reads files outside its folder. Open it first, and allow that";
        return messages.notify(Level::Warning, what.to_owned());
    }
    let job = move || {
        let from = run.continuation(Some(step), &Progress::default()).map_err(|e| e.to_string());
        from.map(|from| Box::new(Branch { folder: run.path, from }))
    };
    host.job(messages, "branch", job, |parts, result| branched(parts.document, parts.messages, result));
}

/// Replaces the project by that of a checkpoint, as one undoable edit, and builds its simulation.
pub fn branched(document: &mut Document, messages: &mut Messages, read: Result<Box<Branch>, String>) {
    let Branch { folder, from } = match read {
        Ok(branch) => *branch,
        Err(why) => return messages.notify(Level::Error, format!("Could not branch: {why}")),
    };
    for message in from.messages() {
        messages.notify(Level::Warning, message);
    }
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let step = text::count(from.info.step);
    document.session.branch((folder, from.info), from.now, from.snapshot);
    messages.notify(Level::Info, format!("Branch from step {step} of {name}. Change parameters, run and record"));
}
