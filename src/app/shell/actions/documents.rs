//! Replacement of the open document by a project, an example, an import or restored work.

use crate::{
    app::{
        document::{graph, journal::UnsavedWork, open_document::Document, session::Session},
        kit::level::Level,
        shell::{actions::runs, dialogs::Dialog, overlays::Overlays, pages::examples, parts::ActionParts},
    },
    kinds::Model,
    params::{Change, ParamId, Params, Role, Value, ValueType},
    project::{self, Project},
    sim::Shape,
};
use std::path::{Path, PathBuf};

/// Replaces the open document and lists its runs. Builds its simulation if there is an engine, unless its graph is incomplete.
pub fn set(parts: &mut ActionParts<'_>, project: Project, path: Option<PathBuf>) {
    clear(parts);
    parts.document.session.replace(project, path);
    parts.workspace.read_places(parts.document.session.layout.as_deref());
    build_complete(&mut parts.document.session);
    runs::list(parts.document, parts.host, parts.messages);
}

/// Replaces the open document by that of an experiment, with the base folder of its relative paths, and lists its runs. Builds its
/// simulation like [`set`] unless `is_built` is false.
pub fn set_of_experiment(parts: &mut ActionParts<'_>, project: Project, base: PathBuf, is_built: bool) {
    clear(parts);
    parts.document.session.replace(project, None);
    parts.document.session.base = Some(base);
    // The page of the experiment stays in front when the simulation is loaded.
    parts.document.session.layout = None;
    if is_built {
        build_complete(&mut parts.document.session);
    }
    runs::list(parts.document, parts.host, parts.messages);
}

/// Builds the simulation if there is an engine, unless the graph of the document is incomplete.
fn build_complete(session: &mut Session) {
    if session.live.has_engine() && graph::refusal(&session.project.model).is_none() {
        session.build(false);
    }
}

/// Prepares the window for another document: removes the layout, frames and errors of the open one, and drops pending
/// requests to open or resume a run.
pub fn clear(parts: &mut ActionParts<'_>) {
    parts.workspace.clear();
    parts.document.forget_frames();
    parts.messages.toasts.clear_errors();
    (parts.flow.opening, parts.flow.resuming) = (None, None);
    (parts.document.experiments.shown, parts.document.library.trials_of) = (None, None);
}

/// Opens and runs an example. One that needs files is only opened, and the path of the parameter that names them is returned.
/// Returns `None` for other examples, and if the example does not exist or cannot be read.
pub fn open_example(parts: &mut ActionParts<'_>, name: &str) -> Option<String> {
    let example = examples::by_name(name)?;
    let project = examples::project_of(example)?;
    if example.needs_files {
        clear(parts);
        parts.document.session.replace(project, None);
        runs::list(parts.document, parts.host, parts.messages);
        let params = parts.document.session.project.model.params();
        parts.messages.notify(Level::Info, "Choose the data folder in the inspector, then run");
        return Some(folder_parameter(params).map_or_else(String::new, |at| params.path(at)));
    }
    set(parts, project, None);
    parts.document.session.live.play();
    None
}

/// Opens a project that reads a converted network, and builds its simulation if there is an engine. Shows an error if no
/// kind reads networks from folders.
pub fn build_imported(parts: &mut ActionParts<'_>, folder: &Path) {
    let mut project = Project::default();
    let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    project.name = name.trim_end_matches("-network").to_owned();
    match Model::all().into_iter().find_map(|model| reading(model, folder)) {
        Some(model) => project.model = model,
        None => {
            return parts.messages.notify(Level::Error, "Could not import: no kind reads a network from a folder");
        }
    }
    // Events are recorded, as in a new project.
    let probes = project.model.probes().iter();
    project.record = probes.filter(|p| matches!(p.shape, Shape::Spikes { .. })).map(|p| p.name.to_owned()).collect();
    set(parts, project, None);
    parts.messages.notify(Level::Info, format!("Imported {}", folder.display()));
}

/// Returns the parameter for the folder of a network; `None` if the kind has none.
pub(crate) fn folder_parameter(params: &dyn Params) -> Option<ParamId> {
    params.ids().into_iter().find(|id| params.spec(*id).is_some_and(|spec| spec.role == Role::NetworkFolder))
}

/// Returns the model set to read its network from a folder; `None` if it cannot read one.
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
pub fn restore(parts: &mut ActionParts<'_>, left: UnsavedWork) {
    parts.document.journal.adopt(&left.file);
    clear(parts);
    let has_base = left.base.is_some();
    let base = left.base.unwrap_or_else(|| left.project.clone());
    parts.document.session.replace(*base, left.path);
    parts.document.session.project = Project { workspace: None, ..*left.project };
    parts.document.session.history.commit_as(&parts.document.session.project, "restore unsaved work");
    if !has_base {
        parts.document.session.mark_unsaved();
    }
    build_complete(&mut parts.document.session);
    runs::list(parts.document, parts.host, parts.messages);
}

/// Restores the unsaved work, and opens the saved file in a second window.
pub fn restore_beside_file(parts: &mut ActionParts<'_>, left: UnsavedWork) {
    let path = left.path.clone().unwrap_or_default();
    if let Err(e) = (parts.host.second_window)(&path) {
        parts.messages.notify(Level::Error, format!("Could not open a second window: {e}"));
    }
    restore(parts, left);
}

/// Opens a dialog if `found`, the new content of the project's file at `path`, differs from the project as last saved or
/// opened. Has no effect for another file, or while such a dialog is open.
pub fn file_changed(document: &Document, overlays: &mut Overlays, path: PathBuf, found: Project) {
    let found = Project { workspace: None, ..found };
    let is_ours = document.session.is_as_saved(&found) || document.session.path.as_deref() != Some(&*path);
    if !is_ours && !matches!(overlays.dialog, Some(Dialog::FileChanged(..))) {
        let lines = project::titled_diff(&document.session.project, &found).iter().map(ToString::to_string).collect();
        overlays.open_dialog(Dialog::FileChanged(path, Box::new(found), lines));
    }
}
