//! Handling of the requests of panels, views and dialogs. Actions that close the document are confirmed first if work would be
//! lost.

use super::{
    branch, documents, experiment, files, graph, open, resume, run_folders, runs, selecting, unrecorded, vary,
};
use crate::{
    app::{
        document::{command::Intent, interventions, open_document::Document},
        kit::{level::Level, text},
        shell::{
            dialogs::{
                Dialog,
                answers::{Answer, Purpose},
                preferences::{Page, SettingsDialog},
                trees::is_tree_file,
            },
            messages::Messages,
            panels::{inspector, state::Panels},
            parts::ActionParts,
            queue::ShellRequest,
        },
        views::{self, ViewRequest},
    },
    data::circuit::config_of,
    params::Role,
    project,
};

/// Handles the request of a panel.
pub fn handle(parts: &mut ActionParts<'_>, ctx: &egui::Context, request: ShellRequest) {
    let ActionParts { document, workspace, panels, overlays, messages, host, flow } = &mut *parts;
    match request {
        ShellRequest::Notify(level, text) => messages.notify(level, text),
        ShellRequest::View(request) => handle_view(parts, request),
        ShellRequest::Intent(intent) => confirm_unsaved(parts, intent),
        ShellRequest::FindParameter(text) => panels.find_parameter(&text),
        ShellRequest::ShowGroup(name) => panels.show_group(name),
        ShellRequest::ShowProbe(id) => {
            let schema = &document.session.live.schema;
            if let Some(probe) = schema.probes.get(usize::from(id)) {
                let view = views::showing(&probe.shape).name;
                workspace.show_in(view, schema, |view| view.show_probe(schema, id));
            }
        }
        ShellRequest::ShowSet(set) => {
            let schema = &document.session.live.schema;
            workspace.show_in("table", schema, |view| view.show_set(schema, set));
        }
        ShellRequest::Set(change) => drop(document.session.project.model.params_mut().set(&change)),
        ShellRequest::Browse(id) => files::pick(parts, Purpose::Parameter(id)),
        ShellRequest::BrowseImport => files::pick(parts, Purpose::Import),
        ShellRequest::Vary(id) => vary::ask(document, overlays, messages, id),
        ShellRequest::Select(set, elements) => {
            document.session.selection.replace(set, elements);
            views::ask_focus(ctx);
        }
        ShellRequest::SelectNamed(name) => selecting::select_named(document, host, messages, &name),
        ShellRequest::SearchElements(query) => selecting::search_elements(document, host, query),
        ShellRequest::Path(set, ends) => {
            let search = &mut overlays.requests.paths;
            (search.from, search.to, search.set) = (Some(ends.0), Some(ends.1), set);
            selecting::find_path(document, overlays, host, messages, ends);
        }
        ShellRequest::Requests(spec) => overlays.requests.open(Some(spec)),
        ShellRequest::Settings(text) => overlays.settings = Some(SettingsDialog::at(Page::Settings, &text)),
        ShellRequest::ShowRun(folder) => runs::show(workspace, document, host, messages, &folder),
        ShellRequest::RetryOpening => {
            if let Some(opening) = &mut flow.opening {
                opening.error = None;
                let path = opening.path.clone();
                open::open_path(parts, path);
            }
        }
        ShellRequest::ForgetRecent(path) => host.recent.remove(&path),
    }
}

fn handle_view(parts: &mut ActionParts<'_>, request: ViewRequest) {
    let ActionParts { document, workspace, panels, overlays, messages, host, .. } = &mut *parts;
    match request {
        ViewRequest::Command(_) => {} // queued with the commands of the frame
        ViewRequest::Toast(text) => messages.notify(Level::Info, text),
        ViewRequest::Act(action) => {
            let action = inspector::with_values(&document.session, &mut panels.inspector, action);
            document.session.live.act(action);
        }
        ViewRequest::Intervene(effect) => intervene_with(document, panels, messages, effect),
        ViewRequest::SaveSet(query, set) => save_set(document, messages, &query, set),
        ViewRequest::SelectPartners { of, inputs } => {
            selecting::select_partners(document, host, messages, of, inputs);
        }
        ViewRequest::Path { set, from, to } => {
            selecting::path_between(document, overlays, host, messages, set, from, to);
        }
        ViewRequest::Graph(edit) => graph::edit(document, workspace, panels, messages, &edit),
        ViewRequest::AddConditions(rule) => experiment::add_conditions(parts, rule),
        ViewRequest::ShowTrials(folder, trials) => experiment::show_trials(parts, folder, &trials),
        ViewRequest::ColorByEffect => experiment::color_by_effect(parts),
        ViewRequest::Parameters => panels.open.inspector = true,
        ViewRequest::SaveText { name, text } => files::pick(parts, Purpose::SaveText(name, text.into())),
    }
}

fn intervene_with(document: &mut Document, panels: &mut Panels, messages: &mut Messages, effect: u16) {
    let session = &mut document.session;
    let params = session.project.model.params_mut();
    let verb = interventions::effects(params).get(usize::from(effect)).map_or("", |c| c.name);
    let verb = text::title(&text::words(verb));
    let group = interventions::list(params, Role::Interventions).map(|g| params.groups()[g].name);
    match interventions::add_effect(params, &session.live.schema, &session.selection, effect, &verb) {
        Some(name) => {
            messages.notify(Level::Info, format!("Added “{name}”"));
            panels.open.inspector = true;
            group.into_iter().for_each(|name| panels.inspector.show_group(name));
        }
        None => messages.notify(Level::Warning, "This kind has no stimuli"),
    }
}

fn save_set(document: &mut Document, messages: &mut Messages, query: &str, set: &str) {
    let proposed = match query.len() {
        0..=40 => query.to_owned(),
        _ => "Filtered".to_owned(),
    };
    let session = &mut document.session;
    let over = interventions::set_text(&session.live.schema, set);
    if let Some(name) = interventions::add_set(session.project.model.params_mut(), query, &proposed, over) {
        messages.notify(Level::Info, format!("Saved group “{name}”"));
    }
}

/// Handles the answer of a dialog.
pub fn answer(parts: &mut ActionParts<'_>, answer: Answer, dialog: Dialog) {
    match (answer, dialog) {
        (Answer::Restore, Dialog::Restore(left, _)) => documents::restore(parts, left),
        (Answer::Both, Dialog::Restore(left, _)) => documents::restore_beside_file(parts, left),
        (Answer::Forget, Dialog::Restore(left, _)) => {
            unrecorded::delete_unsaved_work(parts.host, parts.messages, &left.file);
        }
        (Answer::Restore, Dialog::LeftRun(left)) => unrecorded::keep_left_run(parts, &left),
        (Answer::Forget, Dialog::LeftRun(left)) => unrecorded::delete_left_run(parts, &left),
        (Answer::Reload, Dialog::FileChanged(_, found, _)) => {
            parts.document.session.reload(*found);
            parts.messages.log.add(Level::Info, "Reloaded the project file");
        }
        (Answer::Cancel, Dialog::FileChanged(..)) => parts.document.session.mark_unsaved(),
        (Answer::Restore, Dialog::OutsideFiles(received)) => open::allow_outside(parts, received),
        (_, Dialog::OutsideFiles(received)) => open::deny_outside(parts, &received),
        (Answer::Forget, Dialog::Crash(file, _)) => drop(std::fs::remove_file(file)),
        (Answer::KeepReport, Dialog::Crash(file, _)) => drop(std::fs::rename(&file, file.with_extension("read"))),
        (Answer::Save(intent), _) => files::save_then(parts, intent),
        (Answer::Discard(intent), _) => run_intent(parts, intent),
        (Answer::KeepRun(intent), _) => unrecorded::keep_as_run(parts, Some(intent)),
        (Answer::DiscardRun(intent), _) => confirm_changes(parts, intent),
        (Answer::Path(purpose, path), _) => {
            if let Some(intent) = files::picked(parts, purpose, path) {
                confirm_unsaved(parts, intent);
            }
        }
        (Answer::RenameRun(folder, name), _) => run_folders::rename(parts, folder, name),
        (Answer::ExportNwb(run, about), _) => runs::export_nwb(parts, run, about),
        (Answer::DeleteRuns(folders), _) => run_folders::delete(parts, folders),
        (Answer::Layout(name, in_project), _) => files::keep_layout(parts, &name, in_project),
        (Answer::RunVaried(experiment), _) => vary::run(parts, experiment),
        (Answer::AddVaried(experiment), _) => vary::add(parts, experiment),
        _ => {}
    }
}

/// Runs the intent, or asks first if an unrecorded run or changes of the project would be lost.
pub fn confirm_unsaved(parts: &mut ActionParts<'_>, intent: Intent) {
    match parts.document.session.live.unrecorded() {
        _ if keeps_document(&intent) => run_intent(parts, intent),
        Some(unrecorded) => parts.overlays.dialog = Some(Dialog::Unrecorded(intent, unrecorded)),
        None => confirm_changes(parts, intent),
    }
}

/// Whether an intent keeps the document and its run: lineages open in a window of their own.
fn keeps_document(intent: &Intent) -> bool {
    matches!(intent, Intent::Open(path) if is_tree_file(path))
}

/// Runs the intent, or asks first if changes of the project would be lost, or a recording or an experiment would end.
pub fn confirm_changes(parts: &mut ActionParts<'_>, intent: Intent) {
    if would_lose_changes(parts.document, &intent) {
        parts.overlays.dialog = Some(Dialog::Unsaved(intent));
    } else {
        run_intent(parts, intent);
    }
}

/// Whether an intent loses unsaved changes, or ends a recording or an experiment.
fn would_lose_changes(document: &Document, intent: &Intent) -> bool {
    let is_recording = document.session.live.recording.is_some();
    let ends_experiment = *intent == Intent::Close && document.experiments.running.is_some();
    intent.closes_document() && (document.session.is_dirty() || is_recording || ends_experiment)
}

/// Cancels closing of the window, and asks first, if work would be lost.
pub fn confirm_close(parts: &mut ActionParts<'_>, ctx: &egui::Context) {
    let leaves = ctx.input(|i| i.viewport().close_requested()) && !parts.flow.may_close;
    let asks =
        || parts.document.session.live.unrecorded().is_some() || would_lose_changes(parts.document, &Intent::Close);
    if leaves && (parts.flow.keeping.is_some() || asks()) {
        ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
        if parts.flow.keeping.is_none() {
            confirm_unsaved(parts, Intent::Close);
        }
    }
}

/// Opens a project, a run folder, a file of trees or a SONATA circuit that was dropped on the window.
pub fn open_dropped(parts: &mut ActionParts<'_>, ctx: &egui::Context) {
    let dropped = ctx.input(|i| i.raw.dropped_files.first().map(|f| f.path().to_owned()));
    match dropped {
        Some(path)
            if is_tree_file(&path)
                || path.is_dir()
                || config_of(&path).is_some()
                || path.extension().is_some_and(|e| e == "ron") =>
        {
            confirm_unsaved(parts, Intent::Open(path))
        }
        Some(path) => {
            let what = "is not a project: project files end in .ron, configurations of SONATA circuits in .json";
            parts.messages.notify(Level::Warning, format!("{} {what}", path.display()));
        }
        None => {}
    }
}

/// Runs an intent that was confirmed.
pub fn run_intent(parts: &mut ActionParts<'_>, intent: Intent) {
    match intent {
        Intent::Close => parts.flow.may_close = true,
        Intent::Rewind => parts.document.session.live.rewind(),
        Intent::Rebuild => parts.document.session.build(false),
        Intent::Branch(folder, step) => branch::branch(parts.host, parts.messages, &folder, step),
        Intent::Resume(folder) => resume::resume(parts, &folder),
        Intent::Open(path) => open::open_path(parts, path),
        Intent::Example(name) => {
            if let Some(parameter) = documents::open_example(parts, name) {
                parts.panels.find_parameter(&parameter);
            }
        }
        Intent::Import(folder) => documents::build_imported(parts, &folder),
        Intent::New(kind) => {
            let project = project::new_project(kind).unwrap_or_default();
            documents::set(parts, project, None);
        }
    }
}
