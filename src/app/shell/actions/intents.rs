//! Actions that close the open document: confirmed first where work would be lost.

use super::{branch, documents, files, open, resume, trees};
use crate::{
    app::{
        document::command::Intent,
        kit::level::Level,
        shell::{
            App,
            dialogs::{Dialog, answers::Purpose, trees::is_tree_file},
        },
    },
    project,
};

/// Runs the intent now, or asks first when work would be lost: the run, then the changes of the project.
pub fn confirm_unsaved(app: &mut App, intent: Intent) {
    match app.document.session.live.unrecorded() {
        Some(unrecorded) => app.overlays.dialog = Some(Dialog::Unrecorded(intent, unrecorded)),
        None => confirm_changes(app, intent),
    }
}

/// Runs the intent now, or asks first when changes of the project would be lost, or a recording or sweep would end.
pub fn confirm_changes(app: &mut App, intent: Intent) {
    if would_lose_changes(app, &intent) {
        app.overlays.dialog = Some(Dialog::Unsaved(intent));
    } else {
        run_intent(app, intent);
    }
}

/// Unsaved changes, a recording in progress, or a sweep that ends with the window.
fn would_lose_changes(app: &App, intent: &Intent) -> bool {
    let is_recording = app.document.session.live.recording.is_some();
    let ends_sweep = *intent == Intent::Close && app.document.library.sweeping.is_some();
    intent.closes_document() && (app.document.session.is_dirty() || is_recording || ends_sweep)
}

/// Asks before the window closes when work would be lost.
pub fn confirm_close(app: &mut App, ctx: &egui::Context) {
    let leaves = ctx.input(|i| i.viewport().close_requested()) && !app.flow.may_close;
    let asks = || app.document.session.live.unrecorded().is_some() || would_lose_changes(app, &Intent::Close);
    if leaves && (app.flow.keeping.is_some() || asks()) {
        ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
        if app.flow.keeping.is_none() {
            confirm_unsaved(app, Intent::Close);
        }
    }
}

/// Opens a project or a run folder dropped on the window.
pub fn open_dropped(app: &mut App, ctx: &egui::Context) {
    let dropped = ctx.input(|i| i.raw.dropped_files.first().map(|f| f.path().to_owned()));
    match dropped {
        Some(path) if is_tree_file(&path) => trees::open(&mut app.overlays, &mut app.host, &mut app.messages, path),
        Some(path) if path.is_dir() || path.extension().is_some_and(|e| e == "ron") => {
            confirm_unsaved(app, Intent::Open(path))
        }
        Some(path) => app
            .messages
            .notify(Level::Warning, format!("{} is not a project: project files end in .ron", path.display())),
        None => {}
    }
}

/// Runs an intent after the confirmation.
pub fn run_intent(app: &mut App, intent: Intent) {
    match intent {
        Intent::Close => app.flow.may_close = true,
        Intent::Rewind => app.document.session.live.rewind(),
        Intent::Rebuild => app.document.session.build(false),
        Intent::Branch(folder, step) => branch::branch(&mut app.host, &mut app.messages, &folder, step),
        Intent::Resume(folder) => resume::resume(app, &folder),
        Intent::Pick => files::pick(app, Purpose::Open),
        Intent::Open(path) => open::open_path(app, path),
        Intent::Example(name) => documents::open_example(app, name),
        Intent::Import(folder) => documents::build_imported(app, &folder),
        Intent::New(kind) => {
            let project = project::new_project(kind).unwrap_or_default();
            documents::set(app, project, None);
        }
    }
}
