//! Opening of a file of trees.

use crate::{
    app::{
        kit::level::Level,
        shell::{
            dialogs::trees::{ReadingTrees, TreeFile},
            flow::Flow,
            host::Host,
            messages::Messages,
            overlays::Overlays,
        },
    },
    export::newick::{self, Trees},
    sim::Progress,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// Reads a file of trees on a thread, and cancels the reading of an earlier one.
pub fn open(overlays: &mut Overlays, host: &mut Host, messages: &mut Messages, path: PathBuf) {
    let progress = Arc::new(Progress::default());
    let reading = ReadingTrees { path: path.clone(), progress: progress.clone(), since: Instant::now() };
    let read = move || {
        let watch = |what: &str, done: f32| progress.report(what, done).is_ok();
        let trees = newick::read(&path, &watch).map_err(|e| e.to_string());
        (path, trees)
    };
    if let Some(earlier) = overlays.reading_trees.take() {
        earlier.progress.cancel();
    }
    if host.job(messages, "open", read, |parts, (path, trees)| {
        show(parts.overlays, parts.flow, parts.messages, &path, trees)
    }) {
        overlays.reading_trees = Some(reading);
    }
}

/// Shows the trees that were read, or an error.
pub fn show(
    overlays: &mut Overlays,
    flow: &mut Flow,
    messages: &mut Messages,
    path: &Path,
    read: Result<Trees, String>,
) {
    // The result for an earlier file than the newest one is dropped.
    let Some(reading) = overlays.reading_trees.take_if(|reading| reading.path == *path) else { return };
    match read {
        Err(_) if reading.progress.is_cancelled() => {
            open_failed(flow, messages, format!("{} was not opened", path.display()))
        }
        Ok(trees) => {
            flow.opening = None;
            overlays.trees = Some(TreeFile::new(path, trees));
        }
        Err(e) => open_failed(flow, messages, format!("Could not open: {e}")),
    }
}

/// Shows an error about a file. If the file was given at start its page shows it, otherwise a toast.
pub fn open_failed(flow: &mut Flow, messages: &mut Messages, message: String) {
    match &mut flow.opening {
        Some(opening) => {
            messages.log.add(Level::Error, message.clone());
            opening.error = Some(message);
        }
        None => messages.notify(Level::Error, message),
    }
}
