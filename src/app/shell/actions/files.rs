//! File dialogs, and the files that the window writes.

use super::{intents, open, runs};
use crate::{
    app::{
        document::command::Intent,
        host::consent::Consent,
        kit::level::Level,
        shell::{
            App,
            dialogs::{Dialog, answers::Purpose},
            figure,
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

/// A dialog that closes sooner was never shown: this desktop has no file portal.
const SHORTEST: Duration = Duration::from_millis(400);
/// Beginning of the message of a failed save.
const SAVE_FAILED: &str = "Could not save";

/// Opens a file dialog: the system's, or a field for the path.
pub fn pick(app: &mut App, purpose: Purpose) {
    if !app.host.native_dialogs {
        return ask_path(app, purpose);
    }
    let place = app.document.session.default_path();
    let ask = move || {
        let since = Instant::now();
        let path = system_dialog(&purpose, &place);
        (purpose, path, since.elapsed())
    };
    app.host.job(&mut app.messages, "dialog", ask, |app, (purpose, path, took)| match path {
        Some(path) => picked(app, purpose, path),
        None if took < SHORTEST => ask_path(app, purpose),
        None if purpose == Purpose::SaveAs => app.flow.after_save = None,
        None => {}
    });
}

/// Asks for a path in a field.
fn ask_path(app: &mut App, purpose: Purpose) {
    let here = app.document.session.default_path();
    let text = match &purpose {
        Purpose::SaveText(name, _) => here.with_file_name(name).display().to_string(),
        Purpose::Figure(figure) => here.with_file_name(figure.file_name()).display().to_string(),
        Purpose::SaveAs => here.display().to_string(),
        _ => app.document.session.path.as_ref().map(|p| p.display().to_string()).unwrap_or_default(),
    };
    app.overlays.dialog = Some(Dialog::Path { purpose, text });
}

/// Saves to the project's file; asks for a path when it has none.
pub fn save(app: &mut App) {
    match app.document.session.path.clone() {
        Some(path) => save_to(app, path),
        None => pick(app, Purpose::SaveAs),
    }
}

fn save_to(app: &mut App, path: PathBuf) {
    let (document, left_out) = app.document.session.accepted_document();
    let document = Project { workspace: app.workspace.to_text(), ..document };
    let save = move || {
        let saved = project::save(&document, &path).map_err(|e| e.to_string());
        (path, document, saved)
    };
    if !app
        .host
        .job(&mut app.messages, "save", save, |app, (path, document, result)| saved(app, path, &document, result))
    {
        return;
    }
    if !left_out.is_empty() {
        let what = "was rejected by the simulation: the project is saved with the value in use";
        app.messages.notify(Level::Warning, format!("The value of {} {what}", left_out.join(", ")));
    }
}

/// The project was written, or could not be.
pub fn saved(app: &mut App, path: PathBuf, document: &Project, saved: Result<(), String>) {
    if let Err(e) = saved {
        app.flow.after_save = None;
        return app.messages.notify(Level::Error, format!("{SAVE_FAILED}: {e}"));
    }
    app.workspace.mark_saved();
    app.host.recent.add(&path);
    app.messages.log.add(Level::Info, format!("Saved {}", path.display()));
    allow_own(&mut app.host.consent, &path, document);
    app.document.session.saved(path, document);
    app.messages.toasts.resolve(&[SAVE_FAILED]);
    if let Some(intent) = app.flow.after_save.take() {
        intents::run_intent(app, intent);
    }
}

/// Saves, then runs the intent.
pub fn save_then(app: &mut App, intent: Intent) {
    app.flow.after_save = Some(intent);
    save(app);
}

/// Saves a document that has a file, at the interval of the settings.
pub fn autosave(app: &mut App, ctx: &egui::Context) {
    let is_dirty = app.document.session.is_dirty() && app.document.session.path.is_some() && !app.overlays.is_modal();
    match app.document.autosave.due(is_dirty, Duration::from_secs_f64(app.preferences.settings.work.autosave_s)) {
        Ok(()) => save(app),
        Err(Duration::MAX) => {}
        Err(left) => ctx.request_repaint_after(left),
    }
}

/// Handles a path chosen in a dialog.
pub fn picked(app: &mut App, purpose: Purpose, path: PathBuf) {
    match purpose {
        Purpose::Open => open::open_path(app, path),
        Purpose::SaveAs => {
            let path = if path.extension().is_none() { path.with_extension("ron") } else { path };
            app.document.session.rename_for(&path);
            save_to(app, path);
        }
        Purpose::Figure(figure) => {
            app.host.job(
                &mut app.messages,
                "figure",
                move || figure::write(&figure.0, &path),
                |app, result| runs::exported(&mut app.messages, result),
            );
        }
        Purpose::SaveText(_, text) => {
            let write = move || match std::fs::write(&path, text.as_bytes()) {
                Ok(()) => Ok(format!("Wrote {}", path.display())),
                Err(e) => Err(format!("{}: {}", path.display(), io_reason(&e))),
            };
            app.host.job(&mut app.messages, "write", write, |app, result| runs::exported(&mut app.messages, result));
        }
        Purpose::Import => {
            app.overlays.import.get_or_insert_default().add(&path);
        }
        Purpose::Parameter(id) => {
            let value = crate::params::Value::Text(path.display().to_string());
            app.document.session.project.model.params_mut().set(&Change { id, value });
        }
    }
}

/// Saves the current layout under a name: in the project, or in a file for all projects.
pub fn keep_layout(app: &mut App, name: &str, in_project: bool) {
    let layout = app.workspace.save_layout(name, in_project);
    let folder = app.host.config_dir.as_ref().map(|d| d.join("layouts"));
    match folder.filter(|_| !in_project) {
        None => app.messages.notify(Level::Info, format!("Layout “{name}” is saved with the project")),
        Some(folder) => {
            let write = move || saved::write_to_folder(&folder, &layout).map(|_| layout.name);
            app.host.job(&mut app.messages, "layout", write, |app, kept| match kept {
                Ok(name) => app.messages.notify(Level::Info, format!("Saved layout “{name}”")),
                Err(e) => app.messages.notify(Level::Error, format!("Could not save the layout: {e}")),
            });
        }
    }
}

/// The user's own project may read the files it names when it is saved.
fn allow_own(consent: &mut Consent, path: &Path, project: &Project) {
    let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    consent.allow(path, &project::outside_paths(project, base));
}

/// Shows the system's file dialog.
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
