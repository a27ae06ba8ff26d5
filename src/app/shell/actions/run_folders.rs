//! Renaming and deletion of run folders, on threads.

use super::runs;
use crate::{
    app::{
        kit::{level::Level, text},
        shell::{dialogs::Dialog, parts::ActionParts},
    },
    project::{
        delete::{Deletion, delete_run},
        rename::{Renamed, rename_run},
    },
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Whether the run is shown in the window, which reads its files. Shows a message then.
fn is_open(parts: &mut ActionParts<'_>, folder: &Path, verb: &str) -> bool {
    let shown = parts.document.session.live.playback.as_ref();
    let is_open = shown.is_some_and(|run| run.open_folder() == folder || run.folder == folder);
    if is_open {
        let what = format!("The run is open in this window: open another run or project, then {verb} it");
        parts.messages.notify(Level::Warning, what);
    }
    is_open
}

/// Opens the dialog for the new name of a run.
pub fn ask_name(parts: &mut ActionParts<'_>, folder: PathBuf) {
    if !is_open(parts, &folder, "rename") {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        parts.overlays.open_dialog(Dialog::RenameRun(folder, name));
    }
}

/// Renames a run, and reads the list again.
pub fn rename(parts: &mut ActionParts<'_>, folder: PathBuf, name: String) {
    let job = move || (rename_run(&folder, &name), folder);
    parts.host.job(parts.messages, "rename", job, |parts, (renamed, from)| ended(parts, &from, renamed));
}

fn ended(parts: &mut ActionParts<'_>, from: &Path, renamed: io::Result<Renamed>) {
    match renamed {
        Ok(Renamed { folder, problems }) => {
            parts.document.library.renamed(from, &folder);
            problems.into_iter().for_each(|why| parts.messages.notify(Level::Warning, why));
        }
        Err(e) => parts.messages.notify(Level::Error, format!("Could not rename the run: {e}")),
    }
    runs::list(parts.document, parts.host, parts.messages);
}

/// Measures runs on a thread, then asks whether to delete them.
pub fn ask_deletion(parts: &mut ActionParts<'_>, folders: Vec<PathBuf>) {
    if folders.iter().any(|folder| is_open(parts, folder, "delete")) {
        return;
    }
    let measure = move || folders.iter().map(|folder| Deletion::of(folder)).collect::<io::Result<Vec<Deletion>>>();
    parts.host.job(parts.messages, "size of runs", measure, |parts, measured| match measured {
        Ok(runs) => parts.overlays.open_dialog(Dialog::DeleteRuns(runs)),
        Err(e) => parts.messages.notify(Level::Error, format!("Could not delete the run: {e}")),
    });
}

/// Deletes runs, and reads the list again.
pub fn delete(parts: &mut ActionParts<'_>, folders: Vec<PathBuf>) {
    let job = move || folders.into_iter().map(|folder| (delete_run(&folder), folder)).collect::<Vec<_>>();
    parts.host.job(parts.messages, "delete", job, deleted);
}

fn deleted(parts: &mut ActionParts<'_>, results: Vec<(io::Result<Vec<String>>, PathBuf)>) {
    let mut n = 0;
    for (result, folder) in results {
        match result {
            Ok(others) => {
                n += 1;
                parts.document.library.deleted(&folder);
                if let Some(first) = others.first() {
                    let files = text::plural(others.len(), "file that is", "files that are");
                    let what = format!("{files} not part of the run remain in {}: {first}", folder.display());
                    parts.messages.notify(Level::Warning, what);
                }
            }
            Err(e) => parts.messages.notify(Level::Error, format!("Could not delete the run: {e}")),
        }
    }
    if n > 0 {
        parts.messages.notify(Level::Info, format!("Deleted {}", text::plural(n, "run", "runs")));
    }
    runs::list(parts.document, parts.host, parts.messages);
}
