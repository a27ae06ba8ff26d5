//! The open document is replaced: by a project, an example, an import, or restored work.

use crate::{
    app::{
        document::journal::UnsavedWork,
        kit::level::Level,
        shell::{App, actions::runs, dialogs::Dialog, pages::examples::Example},
    },
    kinds::Model,
    params::{Change, ParamId, Params, Role, Value, ValueType},
    project::{self, Project},
    sim::Shape,
};
use std::path::{Path, PathBuf};

/// Replaces the open document and builds its simulation.
pub fn set(app: &mut App, project: Project, path: Option<PathBuf>) {
    clear(app);
    app.document.session.replace(project, path);
    if app.document.session.live.has_engine() {
        app.document.session.build(false);
    }
    runs::list(&mut app.document, &mut app.host, &mut app.messages);
}

/// Before another document is opened: its layout is dropped, and with it the problems of the old one.
pub fn clear(app: &mut App) {
    app.workspace.clear();
    app.document.forget_frames();
    app.messages.toasts.clear_errors();
    (app.flow.opening, app.flow.resuming) = (None, None);
}

/// Opens and runs an example; one that needs files shows where to choose them.
pub fn open_example(app: &mut App, name: &str) {
    let Some((example, project)) = Example::by_name(name).and_then(|e| Some((e, e.project()?))) else { return };
    if example.needs_files {
        clear(app);
        app.document.session.replace(project, None);
        runs::list(&mut app.document, &mut app.host, &mut app.messages);
        app.panels.open.inspector = true;
        let params = app.document.session.project.model.params();
        if let Some(at) = folder_parameter(params) {
            app.panels.inspector.find(&params.path(at));
        }
        return app.messages.notify(Level::Info, "Choose the data folder in the inspector, then run");
    }
    set(app, project, None);
    app.document.session.live.play();
}

/// Opens a project that reads a converted network, and builds it.
pub fn build_imported(app: &mut App, folder: &Path) {
    let mut project = Project::default();
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    project.name = name.trim_end_matches("-network").to_owned();
    match Model::all().into_iter().find_map(|model| reading(model, folder)) {
        Some(model) => project.model = model,
        None => {
            return app.messages.notify(Level::Error, "Could not import: no kind reads a network from a folder");
        }
    }
    // As in a new project, events are recorded.
    let probes = project.model.probes().iter();
    project.record = probes.filter(|p| matches!(p.shape, Shape::Spikes { .. })).map(|p| p.name.to_owned()).collect();
    set(app, project, None);
    app.messages.notify(Level::Info, format!("Imported {}", folder.display()));
}

/// The parameter for the folder of a network, if the kind has one.
pub(crate) fn folder_parameter(params: &dyn Params) -> Option<ParamId> {
    params.ids().into_iter().find(|id| params.spec(*id).is_some_and(|spec| spec.role == Role::NetworkFolder))
}

/// The model with its network read from a folder, if it can read one.
fn reading(mut model: Model, folder: &Path) -> Option<Model> {
    let params = model.params_mut();
    let at = folder_parameter(params)?;
    let source = params.groups()[usize::from(at.group)].fields().iter().enumerate().find_map(|(f, spec)| {
        let ValueType::Choice(choices) = spec.kind else { return None };
        let choice = choices.iter().position(|choice| choice.role == Role::ReadsFolder)?;
        Some(Change { id: ParamId::of(usize::from(at.group), f), value: Value::Choice(choice as u16) })
    });
    let folder = Change { id: at, value: Value::Text(folder.display().to_string()) };
    (params.set(&source?) && params.set(&folder)).then_some(model)
}

/// Restores the unsaved work of a crashed window as one undoable step.
pub fn restore(app: &mut App, left: UnsavedWork) {
    app.document.journal.adopt(&left.file);
    clear(app);
    let has_base = left.base.is_some();
    let base = left.base.unwrap_or_else(|| left.project.clone());
    app.document.session.replace(*base, left.path);
    app.document.session.project = Project { workspace: None, ..*left.project };
    app.document.session.history.commit_as(&app.document.session.project, "restore unsaved work");
    if !has_base {
        app.document.session.mark_unsaved();
    }
    if app.document.session.live.has_engine() {
        app.document.session.build(false);
    }
    runs::list(&mut app.document, &mut app.host, &mut app.messages);
}

/// Restores the unsaved work and opens the saved file in a second window.
pub fn restore_beside_file(app: &mut App, left: UnsavedWork) {
    let path = left.path.clone().unwrap_or_default();
    if let Err(e) = (app.host.second_window)(&path) {
        app.messages.notify(Level::Error, format!("Could not open a second window: {e}"));
    }
    restore(app, left);
}

/// The project's file was written. Content equal to the last save is our own.
pub fn file_changed(app: &mut App, path: PathBuf, found: Project) {
    let found = Project { workspace: None, ..found };
    let is_ours = app.document.session.is_as_saved(&found) || app.document.session.path.as_deref() != Some(&*path);
    if !is_ours && !matches!(app.overlays.dialog, Some(Dialog::FileChanged(..))) {
        let lines = project::diff(&app.document.session.project, &found).iter().map(ToString::to_string).collect();
        app.overlays.open_dialog(Dialog::FileChanged(path, Box::new(found), lines));
    }
}
