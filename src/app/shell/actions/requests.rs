//! Does what panels, views and dialogs ask for.

use super::{documents, files, intents, open, runs, selecting, sweep, unrecorded};
use crate::{
    app::{
        document::{interventions, open_document::Document},
        kit::{level::Level, text},
        shell::{
            App,
            dialogs::{
                Dialog,
                answers::{Answer, Purpose},
                preferences::{Page, SettingsDialog},
            },
            messages::Messages,
            panels::{inspector, state::Panels},
            queue::ShellRequest,
        },
        views::{self, ViewRequest},
    },
    params::Role,
};

/// Does what a panel asks for.
pub fn handle(app: &mut App, ctx: &egui::Context, request: ShellRequest) {
    let App { document, workspace, panels, overlays, messages, host, flow, .. } = app;
    match request {
        ShellRequest::Notify(level, text) => messages.notify(level, text),
        ShellRequest::View(request) => handle_view(app, request),
        ShellRequest::Intent(intent) => intents::confirm_unsaved(app, intent),
        ShellRequest::FindParameter(text) => panels.find_parameter(&text),
        ShellRequest::ShowGroup(name) => panels.show_group(name),
        ShellRequest::Set(change) => drop(document.session.project.model.params_mut().set(&change)),
        ShellRequest::Browse(id) => files::pick(app, Purpose::Parameter(id)),
        ShellRequest::BrowseImport => files::pick(app, Purpose::Import),
        ShellRequest::Sweep(id) => sweep::ask(document, overlays, messages, id),
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
                open::open_path(app, path);
            }
        }
        ShellRequest::ForgetRecent(path) => host.recent.remove(&path),
    }
}

fn handle_view(app: &mut App, request: ViewRequest) {
    let App { document, panels, overlays, messages, host, .. } = app;
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
        ViewRequest::Parameters => panels.open.inspector = true,
        ViewRequest::SaveText { name, text } => files::pick(app, Purpose::SaveText(name, text.into())),
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

/// Does what the answer of a dialog asks for.
pub fn answer(app: &mut App, answer: Answer, dialog: Dialog) {
    match (answer, dialog) {
        (Answer::Restore, Dialog::Restore(left, _)) => documents::restore(app, left),
        (Answer::Both, Dialog::Restore(left, _)) => documents::restore_beside_file(app, left),
        (Answer::Forget, Dialog::Restore(left, _)) => {
            unrecorded::delete_unsaved_work(&mut app.host, &mut app.messages, &left.file);
        }
        (Answer::Restore, Dialog::LeftRun(left)) => unrecorded::keep_left_run(app, &left),
        (Answer::Forget, Dialog::LeftRun(left)) => unrecorded::delete_left_run(app, &left),
        (Answer::Reload, Dialog::FileChanged(_, found, _)) => {
            app.document.session.reload(*found);
            app.messages.log.add(Level::Info, "Reloaded the project file");
        }
        (Answer::Cancel, Dialog::FileChanged(..)) => app.document.session.mark_unsaved(),
        (Answer::Restore, Dialog::OutsideFiles(received)) => open::allow_outside(app, received),
        (_, Dialog::OutsideFiles(received)) => open::deny_outside(app, &received),
        (Answer::Forget, Dialog::Crash(file, _)) => drop(std::fs::remove_file(file)),
        (Answer::KeepReport, Dialog::Crash(file, _)) => drop(std::fs::rename(&file, file.with_extension("read"))),
        (Answer::Save(intent), _) => files::save_then(app, intent),
        (Answer::Discard(intent), _) => intents::run_intent(app, intent),
        (Answer::KeepRun(intent), _) => unrecorded::keep_as_run(app, Some(intent)),
        (Answer::DiscardRun(intent), _) => intents::confirm_changes(app, intent),
        (Answer::Path(purpose, path), _) => files::picked(app, purpose, path),
        (Answer::Layout(name, in_project), _) => files::keep_layout(app, &name, in_project),
        (Answer::Sweep(values), _) => {
            sweep::start(&mut app.workspace, &mut app.document, &mut app.host, &mut app.messages, values);
        }
        _ => {}
    }
}
