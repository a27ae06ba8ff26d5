//! File dialogs, and files that the window writes.

use super::{
    requests,
    runs::{self, Written},
};
use crate::{
    app::{
        document::command::Intent,
        host::consent::Consent,
        kit::level::Level,
        shell::{
            dialogs::{Dialog, answers::Purpose},
            figure,
            parts::ActionParts,
            workspace::saved,
        },
    },
    data::io_reason,
    params::Change,
    project::{self, Project},
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Duration below which a dialog was never shown, because the desktop has no file portal.
const SHORTEST: Duration = Duration::from_millis(400);
/// Start of the message about a failed save.
const SAVE_FAILED: &str = "Could not save";

/// Opens the system's file dialog, or a text field for the path if there is none.
pub fn pick(parts: &mut ActionParts<'_>, purpose: Purpose) {
    if !parts.host.native_dialogs {
        return ask_path(parts, purpose);
    }
    let place = parts.document.session.default_path();
    let ask = move || {
        let since = Instant::now();
        let path = system_dialog(&purpose, &place);
        (purpose, path, since.elapsed())
    };
    parts.host.job(parts.messages, "dialog", ask, |parts, (purpose, path, took)| match path {
        Some(path) => {
            if let Some(intent) = picked(parts, purpose, path) {
                requests::confirm_unsaved(parts, intent);
            }
        }
        None if took < SHORTEST => ask_path(parts, purpose),
        None if purpose == Purpose::SaveAs => parts.flow.after_save = None,
        None => {}
    });
}

/// Asks for a path in a text field.
fn ask_path(parts: &mut ActionParts<'_>, purpose: Purpose) {
    let here = parts.document.session.default_path();
    let text = match &purpose {
        Purpose::SaveText(name, _) => here.with_file_name(name).display().to_string(),
        Purpose::Figure(figure) => here.with_file_name(figure.file_name()).display().to_string(),
        Purpose::SaveAs => here.display().to_string(),
        _ => parts.document.session.path.as_ref().map(|p| p.display().to_string()).unwrap_or_default(),
    };
    parts.overlays.dialog = Some(Dialog::Path { purpose, text });
}

/// Saves to the project's file, or asks for a path if the project has none.
pub fn save(parts: &mut ActionParts<'_>) {
    match parts.document.session.path.clone() {
        Some(path) => save_to(parts, path),
        None => pick(parts, Purpose::SaveAs),
    }
}

fn save_to(parts: &mut ActionParts<'_>, path: PathBuf) {
    let (document, left_out) = parts.document.session.accepted_document();
    let layout = parts.workspace.to_text(parts.document.session.layout.as_deref());
    let document = Project { workspace: layout, ..document };
    let save = move || {
        let saved = project::save(&document, &path).map_err(|e| e.to_string());
        (path, document, saved)
    };
    if !parts.host.job(parts.messages, "save", save, |parts, (path, document, result)| {
        if let Some(intent) = saved(parts, path, &document, result) {
            requests::run_intent(parts, intent);
        }
    }) {
        return;
    }
    if !left_out.is_empty() {
        let what = "was rejected by the simulation: the project is saved with the value in use";
        parts.messages.notify(Level::Warning, format!("The value of {} {what}", left_out.join(", ")));
    }
}

/// Handles the result of a save. Returns the action that waited for it, if it succeeded.
fn saved(parts: &mut ActionParts<'_>, path: PathBuf, document: &Project, saved: Result<(), String>) -> Option<Intent> {
    if let Err(e) = saved {
        parts.flow.after_save = None;
        parts.messages.notify(Level::Error, format!("{SAVE_FAILED}: {e}"));
        return None;
    }
    parts.workspace.mark_saved();
    parts.host.recent.add(&path);
    parts.messages.log.add(Level::Info, format!("Saved {}", path.display()));
    allow_own(&mut parts.host.consent, &path, document);
    parts.document.session.saved(path, document);
    parts.messages.toasts.resolve(&[SAVE_FAILED]);
    parts.flow.after_save.take()
}

/// Saves the project, then runs the intent.
pub fn save_then(parts: &mut ActionParts<'_>, intent: Intent) {
    parts.flow.after_save = Some(intent);
    save(parts);
}

/// Handles a path chosen in a dialog, by its purpose. Returns the action that may lose work and is to be confirmed.
pub fn picked(parts: &mut ActionParts<'_>, purpose: Purpose, path: PathBuf) -> Option<Intent> {
    match purpose {
        Purpose::Open => return Some(Intent::Open(path)),
        Purpose::SaveAs => {
            let path = if path.extension().is_none() { path.with_extension("ron") } else { path };
            parts.document.session.rename_for(&path);
            save_to(parts, path);
        }
        Purpose::Figure(figure) => {
            parts.host.job(
                parts.messages,
                "figure",
                move || figure::write(&figure.0, &path).map(|size| Written::file(&path, &size)),
                |parts, result| runs::exported(parts.messages, result),
            );
        }
        Purpose::SaveText(_, text) => {
            let write = move || match std::fs::write(&path, text.as_bytes()) {
                Ok(()) => Ok(Written::file(&path, "")),
                Err(e) => Err(format!("{}: {}", path.display(), io_reason(&e))),
            };
            parts.host.job(parts.messages, "write", write, |parts, result| runs::exported(parts.messages, result));
        }
        Purpose::Import => {
            parts.overlays.import.get_or_insert_default().add(&path);
        }
        Purpose::Parameter(id) => {
            let value = crate::params::Value::Text(path.display().to_string());
            parts.document.session.project.model.params_mut().set(&Change { id, value });
        }
    }
    None
}

/// Saves the current layout under a name, in the project or in a file for all projects.
pub fn keep_layout(parts: &mut ActionParts<'_>, name: &str, in_project: bool) {
    let layout = parts.workspace.save_layout(name, in_project);
    let folder = parts.host.config_dir.as_ref().map(|d| d.join("layouts"));
    match folder.filter(|_| !in_project) {
        None => parts.messages.notify(Level::Info, format!("Layout “{name}” is saved with the project")),
        Some(folder) => {
            let write = move || saved::write_to_folder(&folder, &layout).map(|_| layout.name);
            parts.host.job(parts.messages, "layout", write, |parts, kept| match kept {
                Ok(name) => parts.messages.notify(Level::Info, format!("Saved layout “{name}”")),
                Err(e) => parts.messages.notify(Level::Error, format!("Could not save the layout: {e}")),
            });
        }
    }
}

/// Allows the user's own project to read the files that it names when it is saved.
fn allow_own(consent: &mut Consent, path: &Path, project: &Project) {
    let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    consent.allow(path, &project::outside_paths(project, base));
}

/// Shows the system's file dialog. Returns `None` if it was cancelled or could not be shown.
fn system_dialog(purpose: &Purpose, place: &Path) -> Option<PathBuf> {
    let mut dialog = rfd::FileDialog::new();
    if let Some(folder) = place.parent() {
        dialog = dialog.set_directory(folder);
    }
    let project = |d: rfd::FileDialog| d.add_filter("Project", &["ron"]);
    match purpose {
        Purpose::Open => {
            let trees = crate::export::Format::Newick;
            let dialog = project(dialog).add_filter(trees.label(), &[trees.extension()]);
            let dialog = dialog.add_filter("SONATA circuit", &["json"]);
            dialog.set_title("Open project").pick_file()
        }
        Purpose::SaveAs => {
            let name = place.file_name().unwrap_or_default().to_string_lossy();
            project(dialog).set_title("Save project").set_file_name(name).save_file()
        }
        Purpose::Figure(figure) => {
            let dialog = dialog.add_filter("PNG, SVG", &["png", "svg"]);
            dialog.set_title("Export panel").set_file_name(figure.file_name()).save_file()
        }
        Purpose::SaveText(name, _) => dialog.set_title("Save").set_file_name(name).save_file(),
        Purpose::Parameter(_) => dialog.set_title("Choose a file").pick_file(),
        Purpose::Import => dialog.set_title("Choose a connection list").pick_file(),
    }
}
