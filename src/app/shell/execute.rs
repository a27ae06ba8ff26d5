//! Execution of the window's commands.

use super::{
    App,
    actions::{figures, files, graph, probing, profiling, recording, requests, run_folders, runs, shape},
    dialogs::{
        Dialog,
        answers::Purpose,
        import::Import,
        paths,
        preferences::{self, SettingsDialog},
    },
    messages::Messages,
    pages::{help, home, system},
    palette::Palette,
    workspace::Workspaces,
};
use crate::{
    app::{
        document::{
            command::{Intent, UiCommand},
            graph::refusal,
            interventions::{self, Intervention},
            items,
            layout::Page,
            open_document::Document,
            session::Session,
        },
        kit::{focus, level::Level},
        views,
    },
    params::Change,
};

/// Executes a command, or shows the reason why it is not available.
pub fn run(app: &mut App, ctx: &egui::Context, command: UiCommand) {
    if let Some(why) = command.why_not(&app.command_state()) {
        return app.messages.notify(Level::Warning, why);
    }
    match command {
        UiCommand::NewLike => {
            let kind = app.document.session.project.model.name();
            requests::confirm_unsaved(&mut app.parts(), Intent::New(kind));
        }
        UiCommand::New(kind) => requests::confirm_unsaved(&mut app.parts(), Intent::New(kind)),
        UiCommand::Example(name) => requests::confirm_unsaved(&mut app.parts(), Intent::Example(name)),
        UiCommand::ImportData => app.overlays.import = Some(Import::default()),
        UiCommand::Open => files::pick(&mut app.parts(), Purpose::Open),
        UiCommand::OpenRun(i) => {
            if let Some(path) = app.document.library.runs.get(i).map(|run| run.folder.clone()) {
                requests::confirm_unsaved(&mut app.parts(), Intent::Open(path));
            }
        }
        UiCommand::OpenRecent(i) => {
            if let Some(place) = app.host.recent.projects.get(i).cloned() {
                requests::confirm_unsaved(&mut app.parts(), Intent::Open(place.path));
            }
        }
        UiCommand::Save => files::save(&mut app.parts()),
        UiCommand::SaveAs => files::pick(&mut app.parts(), Purpose::SaveAs),
        UiCommand::Export(format) => {
            runs::export(&mut app.document.library, &mut app.host, &mut app.messages, None, format)
        }
        UiCommand::ExportRun(folder, format) => {
            runs::export(&mut app.document.library, &mut app.host, &mut app.messages, Some(folder), format)
        }
        UiCommand::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
        UiCommand::Undo => travel(app, true),
        UiCommand::Redo => travel(app, false),
        UiCommand::UndoSteps(steps) => (0..steps.unsigned_abs()).for_each(|_| travel(app, steps < 0)),
        UiCommand::ResetParameters => reset_parameters(&mut app.document.session),
        UiCommand::UseShape => shape::take(&app.document, &mut app.host, &mut app.messages),
        UiCommand::RunPause => run_pause(&mut app.document, &mut app.workspace, &mut app.messages),
        UiCommand::Step | UiCommand::StepMore | UiCommand::Rewind if app.document.session.live.playback.is_some() => {
            move_in_playback(app, &command);
        }
        UiCommand::Step => {
            app.workspace.is_home = false;
            app.document.session.live.step(app.panels.pacing.steps(&app.document.session));
        }
        UiCommand::RunToEnd => {
            if let Some(end) = app.document.session.project.planned_steps() {
                app.workspace.is_home = false;
                app.document.session.live.run_to(end);
            }
        }
        UiCommand::PauseDisplay => {
            app.panels.pacing.updates_are_off = !app.panels.pacing.updates_are_off;
            app.document.session.live.set_quiet(app.panels.pacing.updates_are_off);
        }
        UiCommand::StepMore => {
            app.document.session.live.step(app.panels.pacing.steps(&app.document.session).saturating_mul(10))
        }
        UiCommand::Rewind => requests::confirm_unsaved(&mut app.parts(), Intent::Rewind),
        UiCommand::Rebuild => requests::confirm_unsaved(&mut app.parts(), Intent::Rebuild),
        UiCommand::RerunRecorded => app.document.session.rerun_as_recorded(),
        UiCommand::ContinueOnCpu => app.document.session.continue_on_cpu(),
        UiCommand::Compare(steps) => profiling::compare(&mut app.document, &mut app.host, &mut app.messages, steps),
        UiCommand::MeasurePeak => profiling::measure_ceilings(&mut app.document, &mut app.host, &mut app.messages),
        UiCommand::CancelLoading => app.document.session.live.cancel_loading(),
        UiCommand::Record => recording::toggle_recording(&mut app.parts()),
        UiCommand::Stimulate => intervene(&mut app.document.session, &mut app.messages, Intervention::Stimulate),
        UiCommand::Silence => intervene(&mut app.document.session, &mut app.messages, Intervention::Silence),
        UiCommand::SaveSelection => {
            probing::save_selection(&mut app.document.session, &mut app.messages);
        }
        UiCommand::Probe => probing::probe_selection(&mut app.document, &mut app.workspace, &mut app.messages, ctx),
        UiCommand::SelectNone => select_none(app),
        UiCommand::MoveCursor(n) => {
            let step = app.panels.pacing.steps(&app.document.session) as f64;
            app.document.move_cursor(f64::from(n) * step);
        }
        UiCommand::GoStart => app.document.move_cursor(f64::NEG_INFINITY),
        UiCommand::GoLive if app.document.time.axis.is_recorded => app.document.move_cursor(f64::INFINITY),
        UiCommand::GoLive => app.document.time.axis.go_live(),
        UiCommand::PlayPast => app.document.toggle_playback(),
        UiCommand::Loop => app.document.time.axis.is_looping = !app.document.time.axis.is_looping,
        UiCommand::ZoomToRange => app.document.time.axis.zoom_to_range(),
        UiCommand::ClearRange => app.document.time.axis.range = None,
        UiCommand::ExportPanel => {
            let settings = &app.preferences.settings.figures;
            figures::export_panel(&app.document, &mut app.workspace, &mut app.overlays, settings, &mut app.messages);
        }
        UiCommand::FocusSelection => views::ask_focus(ctx),
        UiCommand::ColorMenu => app.overlays.palette = Some(Palette::with("Colour by ")),
        UiCommand::ColorBy(at) => app.workspace.color_by(&app.document.session.live.schema, at),
        UiCommand::ToggleRange => toggle_range(app),
        UiCommand::ShowView(name) => app.workspace.show_view(name, &app.document.session.live.schema),
        UiCommand::OpenAnother(name) => app.workspace.open_another(name, &app.document.session.live.schema),
        UiCommand::Home => app.workspace.is_home = !app.workspace.is_home,
        UiCommand::Workspace(at) => show_workspace(app, at),
        UiCommand::AddNode => add_to_graph(app, false),
        UiCommand::AddToNode => add_to_graph(app, true),
        UiCommand::Rename => rename_item(app),
        UiCommand::Duplicate => duplicate_item(app),
        UiCommand::Delete => delete_item(app),
        UiCommand::RefreshRuns => runs::list(&mut app.document, &mut app.host, &mut app.messages),
        UiCommand::RenameRun(folder) => run_folders::ask_name(&mut app.parts(), folder),
        UiCommand::DeleteRuns(folders) => run_folders::ask_deletion(&mut app.parts(), folders),
        UiCommand::RevealRun(folder) => runs::reveal(&mut app.host, &mut app.messages, folder),
        UiCommand::Replay(folder) => recording::replay(&mut app.parts(), &folder),
        UiCommand::Branch(folder, step) => requests::confirm_unsaved(&mut app.parts(), Intent::Branch(folder, step)),
        UiCommand::Resume(folder) => requests::confirm_unsaved(&mut app.parts(), Intent::Resume(folder)),
        UiCommand::Requests => app.overlays.requests.open(app.document.session.project.model.requests().first()),
        UiCommand::CancelExport => {
            if let Some(export) = &app.document.library.exporting {
                export.progress.cancel();
            }
        }
        UiCommand::CancelReplay => {
            if let Some(replay) = &app.document.library.replaying {
                replay.progress.cancel();
            }
        }
        UiCommand::NewWorkspace => app.workspace.duplicate(),
        UiCommand::CloseWorkspace => app.workspace.close(),
        UiCommand::Maximise => app.workspace.maximise(),
        UiCommand::FilterPanel => filter_panel(app, ctx),
        UiCommand::NextPanel => next_panel(app, ctx, false),
        UiCommand::PreviousPanel => next_panel(app, ctx, true),
        UiCommand::UndoLayout => app.workspace.travel(true, &app.document.session.live.schema),
        UiCommand::RedoLayout => app.workspace.travel(false, &app.document.session.live.schema),
        UiCommand::ResetLayout(target) => app.workspace.reset_layout(target, &app.document.session.live.schema),
        UiCommand::SaveLayout => app.overlays.dialog = Some(Dialog::layout_name()),
        UiCommand::ApplyLayout(at) => {
            let name = app.workspace.layouts.iter().nth(at).map(|l| l.name.clone()).unwrap_or_default();
            app.workspace.apply(&name, &app.document.session.live.schema);
        }
        UiCommand::ToggleTree => app.panels.open.tree = !app.panels.open.tree,
        UiCommand::ToggleInspector => app.panels.open.inspector = !app.panels.open.inspector,
        UiCommand::ToggleLog => app.panels.open.log = !app.panels.open.log,
        UiCommand::ToggleDev => app.panels.open.dev = !app.panels.open.dev,
        UiCommand::Theme(theme) => app.preferences.settings.appearance.theme = theme,
        UiCommand::ZoomIn => app.preferences.settings.zoom(1),
        UiCommand::ZoomOut => app.preferences.settings.zoom(-1),
        UiCommand::ZoomReset => app.preferences.settings.zoom(0),
        UiCommand::Settings => app.overlays.settings = Some(SettingsDialog::default()),
        UiCommand::Keys => app.overlays.settings = Some(SettingsDialog::at(preferences::Page::Keys, "")),
        UiCommand::FullScreen => {
            let now = ctx.input(|i| i.viewport().fullscreen.unwrap_or(false));
            ctx.send_viewport_cmd(egui::ViewportCommand::Fullscreen(!now));
        }
        UiCommand::Palette => app.overlays.palette = Some(Palette::default()),
        UiCommand::Help => app.overlays.shortcuts_sheet = true,
        UiCommand::PanelHelp => panel_help(app),
        UiCommand::ModelHelp => model_help(app),
        UiCommand::Semantics => semantics(app),
        UiCommand::About => app.overlays.dialog = Some(Dialog::Text("About Neuropil", help::about())),
        UiCommand::System => {
            let dirs = (app.host.config_dir.as_deref(), app.host.state_dir.as_deref());
            let text = system::describe(&app.host.devices, app.host.render_state.as_ref(), dirs);
            app.overlays.dialog = Some(Dialog::Text("System", text));
        }
    }
}

/// Locks or unlocks the colour range. A toast shows the result, because a tooltip may cover the panel.
fn toggle_range(app: &mut App) {
    match app.workspace.toggle_range(&app.document.session.live.schema) {
        Some(true) => app.messages.notify(Level::Info, "Colour range locked"),
        Some(false) => app.messages.notify(Level::Info, "Colour range follows the data"),
        None => app.messages.notify(Level::Info, "This panel has no colour range"),
    }
}

/// Moves the keyboard focus to the filter of the focused panel.
fn filter_panel(app: &mut App, ctx: &egui::Context) {
    let side = ["tree", "inspector", "log"].into_iter().find(|name| focus::has(ctx, name));
    let panel = side.or_else(|| app.workspace.focused_view().map(|v| v.declaration().name));
    match panel.filter(|name| focus::WITH_FILTER.contains(name)) {
        Some(name) => ctx.memory_mut(|m| m.request_focus(focus::filter_id(name))),
        None => app.messages.notify(Level::Info, "This panel has no filter"),
    }
}

/// Cycles the keyboard focus: project tree, panels of the workspace, inspector, log.
fn next_panel(app: &mut App, ctx: &egui::Context, back: bool) {
    const TREE: &str = "tree";
    const INSPECTOR: &str = "inspector";
    const LOG: &str = "log";
    let side_panels =
        [(TREE, app.panels.open.tree), (INSPECTOR, app.panels.open.inspector), (LOG, app.panels.open.log)];
    let mut stops: Vec<Option<&str>> = vec![Some(TREE), None, Some(INSPECTOR), Some(LOG)];
    stops.retain(|stop| stop.is_none_or(|name| side_panels.contains(&(name, true))));
    if back {
        stops.reverse();
    }
    let now = stops.iter().position(|stop| stop.is_some_and(|name| focus::has(ctx, name)));
    if now.is_none() && app.workspace.next_panel(ctx, back, false) {
        return;
    }
    let centre = stops.iter().position(Option::is_none).unwrap_or(0);
    let from = now.unwrap_or(centre);
    for step in 1..=stops.len() {
        match stops[(from + step) % stops.len()] {
            Some(name) => return focus::request(ctx, name),
            None if app.workspace.next_panel(ctx, back, true) => return,
            None => {}
        }
    }
}

/// Shows a workspace. On the Runs page the list of runs is read again, because it shows differences to the open project.
fn show_workspace(app: &mut App, at: usize) {
    app.workspace.show(at);
    if app.workspace.page() == Page::Runs {
        runs::list(&mut app.document, &mut app.host, &mut app.messages);
    }
}

/// Shows help on the focused panel, or the shortcuts if no panel has the focus.
fn panel_help(app: &mut App) {
    // The panels are hidden while Home is shown.
    let help = match app.workspace.is_home {
        true => Some(home::HELP.to_owned()),
        false => {
            let sets = &app.document.session.live.schema.sets;
            app.workspace.focused_view().map(|view| help::in_words(view.declaration().help, sets))
        }
    };
    match help {
        Some(help) => app.overlays.dialog = Some(Dialog::Text("Help", help)),
        None => app.overlays.shortcuts_sheet = true,
    }
}

/// Shows help on the kind: its page, or its description if it has none.
fn model_help(app: &mut App) {
    let model = &app.document.session.project.model;
    let text = match model.help() {
        "" => format!("# {}\n{}", model.title(), model.about()),
        page => page.to_owned(),
    };
    app.overlays.dialog = Some(Dialog::Text("Model help", text));
}

/// Shows what a step does where simulators differ.
fn semantics(app: &mut App) {
    let model = &app.document.session.project.model;
    let facts = model.semantics();
    if facts.is_empty() {
        let what = format!("{}: its steps are not compared with other simulators", model.title());
        return app.messages.notify(Level::Info, what);
    }
    app.overlays.dialog = Some(Dialog::Text("Semantics of a step", facts.markup()));
}

fn travel(app: &mut App, back: bool) {
    let verb = if back { "Undid" } else { "Redid" };
    if let Some(label) = app.document.session.travel(back) {
        app.messages.log.add(Level::Info, format!("{verb}: {label}"));
    }
}

fn reset_parameters(session: &mut Session) {
    let (params, defaults) = (session.project.model.params_mut(), session.defaults.params());
    for id in params.ids() {
        if !params.groups().get(usize::from(id.group)).is_some_and(|g| g.list) {
            params.set(&Change { id, value: defaults.get(id) });
        }
    }
}

fn intervene(session: &mut Session, messages: &mut Messages, intervention: Intervention) {
    let added =
        interventions::add(session.project.model.params_mut(), &session.live.schema, &session.selection, intervention);
    match added {
        Some(name) => messages.notify(Level::Info, format!("Added “{name}”")),
        None => messages.notify(Level::Warning, "This kind has no stimuli"),
    }
}

/// Closes an open window over the panels; otherwise clears the selection.
fn select_none(app: &mut App) {
    let App { document, panels, overlays, .. } = app;
    let selection = &mut document.session.selection;
    if overlays.requests.close() || panels.inspector.close_table() || overlays.trees.take().is_some() {
        return;
    }
    if selection.path.is_some() {
        paths::forget(&mut overlays.requests.paths, selection);
    } else if !selection.elements.is_empty() {
        selection.clear();
    }
}

/// Runs or pauses the simulation; in playback, starts or stops playing.
fn run_pause(document: &mut Document, workspace: &mut Workspaces, messages: &mut Messages) {
    workspace.is_home &= document.session.live.running; // a run that starts is shown
    let runs_again = document.session.runs_again();
    let live = &mut document.session.live;
    if live.playback.is_some() {
        document.toggle_playback();
    } else if live.running {
        live.pause();
    } else if live.is_loaded() || live.is_load_pending() || live.progress().is_some() {
        if runs_again {
            live.rewind();
        }
        live.play();
    } else if let Some(why) = refusal(&document.session.project.model) {
        messages.notify(Level::Warning, format!("Cannot build the simulation. {why}"));
    } else {
        document.session.build(true);
    }
}

/// Moves the time cursor by one of the commands for steps, or to the start.
fn move_in_playback(app: &mut App, command: &UiCommand) {
    let step = app.panels.pacing.steps(&app.document.session) as f64;
    app.document.move_cursor(match command {
        UiCommand::Step => step,
        UiCommand::StepMore => step * 10.0,
        _ => f64::NEG_INFINITY,
    });
}

/// Adds a node to the graph of the document, or an item to the selected node.
fn add_to_graph(app: &mut App, is_attached: bool) {
    let App { document, workspace, panels, messages, .. } = app;
    if let Some(edit) = graph::addition(workspace, is_attached) {
        graph::edit(document, workspace, panels, messages, &edit);
    }
}

/// Starts renaming the selected item of the project tree.
fn rename_item(app: &mut App) {
    let params = app.document.session.project.model.params();
    let item = app.panels.tree.item(&app.panels.sets, params);
    app.panels.tree.rename(item, params);
    app.panels.open.tree = true;
}

/// Duplicates the selected item of the project tree.
fn duplicate_item(app: &mut App) {
    let project = &mut app.document.session.project;
    let params = project.model.params_mut();
    if let Some(item) = app.panels.tree.item(&app.panels.sets, params) {
        let name = items::item_name(params, item.0, item.1);
        app.panels.tree.duplicate(item, params);
        app.document.session.history.commit_as(project, &format!("duplicate “{name}”"));
    }
}

/// Deletes the selected item of the project tree.
fn delete_item(app: &mut App) {
    let project = &mut app.document.session.project;
    let params = project.model.params_mut();
    if let Some(item) = app.panels.tree.item(&app.panels.sets, params) {
        let name = app.panels.tree.delete(item, params);
        app.document.session.history.commit_as(project, &format!("delete “{name}”"));
        app.messages.notify(Level::Info, format!("Deleted “{name}”. Undo restores it"));
    }
}
