//! Execution of the window's commands.

use super::{
    actions::{experiment, figures, files, graph, probing, profiling, recording, requests, run_folders, runs, shape},
    dialogs::{
        Dialog,
        answers::Purpose,
        import::Import,
        paths,
        preferences::{self, SettingsDialog},
    },
    messages::Messages,
    overlays::Overlays,
    pacing::Pacing,
    pages::{help, home, system},
    palette::Palette,
    panels::{side::OpenPanels, state::Panels},
    parts::ActionParts,
    preferences::Preferences,
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
    export::Format,
    params::Change,
};

/// Executes a command, or shows the reason why it is not available.
pub fn run(parts: &mut ActionParts<'_>, preferences: &mut Preferences, ctx: &egui::Context, command: UiCommand) {
    if let Some(why) = command.why_not(&parts.command_state(&preferences.keymap)) {
        return parts.messages.notify(Level::Warning, why);
    }
    let ActionParts { document, workspace, panels, overlays, messages, host, .. } = &mut *parts;
    match command {
        UiCommand::NewLike => {
            let kind = document.session.project.model.name();
            requests::confirm_unsaved(parts, Intent::New(kind));
        }
        UiCommand::New(kind) => requests::confirm_unsaved(parts, Intent::New(kind)),
        UiCommand::Example(name) => requests::confirm_unsaved(parts, Intent::Example(name)),
        UiCommand::ImportData => overlays.import = Some(Import::default()),
        UiCommand::Open => files::pick(parts, Purpose::Open),
        UiCommand::OpenRun(i) => {
            if let Some(path) = document.library.runs.get(i).map(|run| run.folder.clone()) {
                requests::confirm_unsaved(parts, Intent::Open(path));
            }
        }
        UiCommand::OpenRecent(i) => {
            if let Some(place) = host.recent.projects.get(i).cloned() {
                requests::confirm_unsaved(parts, Intent::Open(place.path));
            }
        }
        UiCommand::Save => files::save(parts),
        UiCommand::SaveAs => files::pick(parts, Purpose::SaveAs),
        UiCommand::Export(format) => runs::export(parts, None, format),
        UiCommand::ExportRun(folder, format) => runs::export(parts, Some(folder), format),
        UiCommand::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
        UiCommand::Undo => travel(&mut document.session, messages, true),
        UiCommand::Redo => travel(&mut document.session, messages, false),
        UiCommand::UndoSteps(steps) => {
            (0..steps.unsigned_abs()).for_each(|_| travel(&mut document.session, messages, steps < 0))
        }
        UiCommand::ResetParameters => reset_parameters(&mut document.session),
        UiCommand::UseShape => shape::take(document, host, messages),
        UiCommand::RunPause => run_pause(document, workspace, messages),
        UiCommand::Step | UiCommand::StepMore | UiCommand::Rewind if document.session.live.playback.is_some() => {
            move_in_playback(document, panels.pacing, &command);
        }
        UiCommand::Step => {
            workspace.is_home = false;
            document.session.live.step(panels.pacing.steps(&document.session));
        }
        UiCommand::RunToEnd => {
            if let Some(end) = document.session.project.planned_steps() {
                workspace.is_home = false;
                document.session.live.run_to(end);
            }
        }
        UiCommand::PauseDisplay => {
            panels.pacing.updates_are_off = !panels.pacing.updates_are_off;
            document.session.live.set_quiet(panels.pacing.updates_are_off);
        }
        UiCommand::StepMore => document.session.live.step(panels.pacing.steps(&document.session).saturating_mul(10)),
        UiCommand::Rewind => requests::confirm_unsaved(parts, Intent::Rewind),
        UiCommand::NextTrial => document.session.live.show_next_trial(1),
        UiCommand::PreviousTrial => document.session.live.show_next_trial(-1),
        UiCommand::Rebuild => requests::confirm_unsaved(parts, Intent::Rebuild),
        UiCommand::RerunRecorded => document.session.rerun_as_recorded(),
        UiCommand::ContinueOnCpu => document.session.continue_on_cpu(),
        UiCommand::Compare(steps) => profiling::compare(document, host, messages, steps),
        UiCommand::MeasurePeak => profiling::measure_ceilings(document, host, messages),
        UiCommand::CancelLoading => document.session.live.cancel_loading(),
        UiCommand::Record => recording::toggle_recording(parts),
        UiCommand::Stimulate => intervene(&mut document.session, messages, Intervention::Stimulate),
        UiCommand::Silence => intervene(&mut document.session, messages, Intervention::Silence),
        UiCommand::SaveSelection => {
            probing::save_selection(&mut document.session, messages);
        }
        UiCommand::Probe => probing::probe_selection(document, workspace, messages, ctx),
        UiCommand::SelectNone => select_none(document, panels, overlays),
        UiCommand::MoveCursor(n) => {
            let step = panels.pacing.steps(&document.session) as f64;
            document.move_cursor(f64::from(n) * step);
        }
        UiCommand::GoStart => document.move_cursor(f64::NEG_INFINITY),
        UiCommand::GoLive if document.time.axis.is_recorded => document.move_cursor(f64::INFINITY),
        UiCommand::GoLive => document.time.axis.go_live(),
        UiCommand::PlayPast => document.toggle_playback(),
        UiCommand::Loop => document.time.axis.is_looping = !document.time.axis.is_looping,
        UiCommand::ZoomToRange => document.time.axis.zoom_to_range(),
        UiCommand::ClearRange => document.time.axis.range = None,
        UiCommand::ExportPanel => {
            let settings = &preferences.settings.figures;
            figures::export_panel(document, workspace, overlays, settings, messages);
        }
        UiCommand::FocusSelection => views::ask_focus(ctx),
        UiCommand::ColorMenu => overlays.palette = Some(Palette::with("Colour by ")),
        UiCommand::ColorBy(at) => workspace.color_by(&document.session.live.schema, at),
        UiCommand::ToggleRange => toggle_range(document, workspace, messages),
        UiCommand::ShowView(name) => workspace.show_view(name, &document.session.live.schema),
        UiCommand::OpenAnother(name) => workspace.open_another(name, &document.session.live.schema),
        UiCommand::Home => workspace.is_home = !workspace.is_home,
        UiCommand::Workspace(at) => show_workspace(parts, at),
        UiCommand::AddNode => add_to_graph(parts, false),
        UiCommand::AddToNode => add_to_graph(parts, true),
        UiCommand::Rename => rename_item(document, panels),
        UiCommand::Duplicate => duplicate_item(document, panels),
        UiCommand::Delete => delete_item(document, panels, messages),
        UiCommand::RefreshRuns => runs::list(document, host, messages),
        UiCommand::RenameRun(folder) => run_folders::ask_name(parts, folder),
        UiCommand::DeleteRuns(folders) => run_folders::ask_deletion(parts, folders),
        UiCommand::RevealRun(folder) => runs::reveal(host, messages, folder),
        UiCommand::Replay(folder) => recording::replay(parts, &folder),
        UiCommand::Branch(folder, step) => requests::confirm_unsaved(parts, Intent::Branch(folder, step)),
        UiCommand::Resume(folder) => requests::confirm_unsaved(parts, Intent::Resume(folder)),
        UiCommand::Requests => overlays.requests.open(document.session.project.model.requests().first()),
        UiCommand::StartExperiment => experiment::start(parts),
        UiCommand::CancelExperiment => experiment::cancel(document),
        UiCommand::ContinueExperiment(folder) => experiment::resume(parts, folder),
        UiCommand::CancelExport => {
            if let Some(export) = &document.library.exporting {
                export.progress.cancel();
            }
        }
        UiCommand::CancelReplay => {
            if let Some(replay) = &document.library.replaying {
                replay.progress.cancel();
            }
        }
        UiCommand::NewWorkspace => workspace.duplicate(),
        UiCommand::CloseWorkspace => workspace.close(),
        UiCommand::Maximise => workspace.maximise(),
        UiCommand::FilterPanel => filter_panel(workspace, messages, ctx),
        UiCommand::NextPanel => next_panel(&panels.open, workspace, ctx, false),
        UiCommand::PreviousPanel => next_panel(&panels.open, workspace, ctx, true),
        UiCommand::UndoLayout => workspace.travel(true, &document.session.live.schema),
        UiCommand::RedoLayout => workspace.travel(false, &document.session.live.schema),
        UiCommand::ResetLayout(target) => workspace.reset_layout(target, &document.session.live.schema),
        UiCommand::SaveLayout => overlays.dialog = Some(Dialog::layout_name()),
        UiCommand::ApplyLayout(at) => {
            let name = workspace.layouts.iter().nth(at).map(|l| l.name.clone()).unwrap_or_default();
            workspace.apply(&name, &document.session.live.schema);
        }
        UiCommand::ToggleTree => panels.open.tree = !panels.open.tree,
        UiCommand::ToggleInspector => panels.open.inspector = !panels.open.inspector,
        UiCommand::ToggleLog => panels.open.log = !panels.open.log,
        UiCommand::ToggleDev => panels.open.dev = !panels.open.dev,
        UiCommand::Theme(theme) => preferences.settings.appearance.theme = theme,
        UiCommand::ZoomIn => preferences.settings.zoom(1),
        UiCommand::ZoomOut => preferences.settings.zoom(-1),
        UiCommand::ZoomReset => preferences.settings.zoom(0),
        UiCommand::Settings => overlays.settings = Some(SettingsDialog::default()),
        UiCommand::Keys => overlays.settings = Some(SettingsDialog::at(preferences::Page::Keys, "")),
        UiCommand::FullScreen => {
            let now = ctx.input(|i| i.viewport().fullscreen.unwrap_or(false));
            ctx.send_viewport_cmd(egui::ViewportCommand::Fullscreen(!now));
        }
        UiCommand::Palette => overlays.palette = Some(Palette::default()),
        UiCommand::Help => overlays.shortcuts_sheet = true,
        UiCommand::PanelHelp => panel_help(document, workspace, overlays),
        UiCommand::ModelHelp => model_help(document, overlays),
        UiCommand::ExportFormats => overlays.dialog = Some(Dialog::Text("Export formats", Format::help())),
        UiCommand::Semantics => semantics(document, overlays, messages),
        UiCommand::About => overlays.dialog = Some(Dialog::Text("About Neuropil", help::about())),
        UiCommand::System => {
            let dirs = (host.config_dir.as_deref(), host.state_dir.as_deref());
            let text = system::describe(&host.devices, host.render_state.as_ref(), dirs);
            overlays.dialog = Some(Dialog::Text("System", text));
        }
    }
}

/// Locks or unlocks the colour range. A toast shows the result, because a tooltip may cover the panel.
fn toggle_range(document: &Document, workspace: &mut Workspaces, messages: &mut Messages) {
    match workspace.toggle_range(&document.session.live.schema) {
        Some(true) => messages.notify(Level::Info, "Colour range locked"),
        Some(false) => messages.notify(Level::Info, "Colour range follows the data"),
        None => messages.notify(Level::Info, "This panel has no colour range"),
    }
}

/// Moves the keyboard focus to the filter of the focused panel.
fn filter_panel(workspace: &mut Workspaces, messages: &mut Messages, ctx: &egui::Context) {
    let side = ["tree", "inspector", "log"].into_iter().find(|name| focus::has(ctx, name));
    let panel = side.or_else(|| workspace.focused_view().map(|v| v.declaration().name));
    match panel.filter(|name| focus::WITH_FILTER.contains(name)) {
        Some(name) => ctx.memory_mut(|m| m.request_focus(focus::filter_id(name))),
        None => messages.notify(Level::Info, "This panel has no filter"),
    }
}

/// Cycles the keyboard focus: project tree, panels of the workspace, inspector, log.
fn next_panel(open: &OpenPanels, workspace: &mut Workspaces, ctx: &egui::Context, back: bool) {
    const TREE: &str = "tree";
    const INSPECTOR: &str = "inspector";
    const LOG: &str = "log";
    let side_panels = [(TREE, open.tree), (INSPECTOR, open.inspector), (LOG, open.log)];
    let mut stops: Vec<Option<&str>> = vec![Some(TREE), None, Some(INSPECTOR), Some(LOG)];
    stops.retain(|stop| stop.is_none_or(|name| side_panels.contains(&(name, true))));
    if back {
        stops.reverse();
    }
    let now = stops.iter().position(|stop| stop.is_some_and(|name| focus::has(ctx, name)));
    if now.is_none() && workspace.next_panel(ctx, back, false) {
        return;
    }
    let centre = stops.iter().position(Option::is_none).unwrap_or(0);
    let from = now.unwrap_or(centre);
    for step in 1..=stops.len() {
        match stops[(from + step) % stops.len()] {
            Some(name) => return focus::request(ctx, name),
            None if workspace.next_panel(ctx, back, true) => return,
            None => {}
        }
    }
}

/// Shows a workspace. On the Runs page the list of runs is read again, because it shows differences to the open project.
fn show_workspace(parts: &mut ActionParts<'_>, at: usize) {
    let ActionParts { document, workspace, host, messages, .. } = parts;
    workspace.show(at);
    if workspace.page() == Page::Runs {
        runs::list(document, host, messages);
    }
}

/// Shows help on the focused panel, or the shortcuts if no panel has the focus.
fn panel_help(document: &Document, workspace: &mut Workspaces, overlays: &mut Overlays) {
    // The panels are hidden while Home is shown.
    let help = match workspace.is_home {
        true => Some(home::HELP.to_owned()),
        false => {
            let sets = &document.session.live.schema.sets;
            workspace.focused_view().map(|view| help::in_words(view.declaration().help, sets))
        }
    };
    match help {
        Some(help) => overlays.dialog = Some(Dialog::Text("Help", help)),
        None => overlays.shortcuts_sheet = true,
    }
}

/// Shows help on the kind: its page, or its description if it has none.
fn model_help(document: &Document, overlays: &mut Overlays) {
    let model = &document.session.project.model;
    let text = match model.help() {
        "" => format!("# {}\n{}", model.title(), model.about()),
        page => page.to_owned(),
    };
    overlays.dialog = Some(Dialog::Text("Model help", text));
}

/// Shows what a step does where simulators differ.
fn semantics(document: &Document, overlays: &mut Overlays, messages: &mut Messages) {
    let model = &document.session.project.model;
    let facts = model.semantics();
    if facts.is_empty() {
        let what = format!("{}: its steps are not compared with other simulators", model.title());
        return messages.notify(Level::Info, what);
    }
    overlays.dialog = Some(Dialog::Text("Semantics of a step", facts.markup()));
}

fn travel(session: &mut Session, messages: &mut Messages, back: bool) {
    let verb = if back { "Undid" } else { "Redid" };
    if let Some(label) = session.travel(back) {
        messages.log.add(Level::Info, format!("{verb}: {label}"));
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
fn select_none(document: &mut Document, panels: &mut Panels, overlays: &mut Overlays) {
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
fn move_in_playback(document: &mut Document, pacing: Pacing, command: &UiCommand) {
    let step = pacing.steps(&document.session) as f64;
    document.move_cursor(match command {
        UiCommand::Step => step,
        UiCommand::StepMore => step * 10.0,
        _ => f64::NEG_INFINITY,
    });
}

/// Adds a node to the graph of the document, or an item to the selected node.
fn add_to_graph(parts: &mut ActionParts<'_>, is_attached: bool) {
    let ActionParts { document, workspace, panels, messages, .. } = parts;
    if let Some(edit) = graph::addition(workspace, is_attached) {
        graph::edit(document, workspace, panels, messages, &edit);
    }
}

/// Starts renaming the selected item of the project tree.
fn rename_item(document: &Document, panels: &mut Panels) {
    let params = document.session.project.model.params();
    let item = panels.tree.item(&panels.sets, params);
    panels.tree.rename(item, params);
    panels.open.tree = true;
}

/// Duplicates the selected item of the project tree.
fn duplicate_item(document: &mut Document, panels: &mut Panels) {
    let project = &mut document.session.project;
    let params = project.model.params_mut();
    if let Some(item) = panels.tree.item(&panels.sets, params) {
        let name = items::item_name(params, item.0, item.1);
        panels.tree.duplicate(item, params);
        document.session.history.commit_as(project, &format!("duplicate “{name}”"));
    }
}

/// Deletes the selected item of the project tree.
fn delete_item(document: &mut Document, panels: &mut Panels, messages: &mut Messages) {
    let project = &mut document.session.project;
    let params = project.model.params_mut();
    if let Some(item) = panels.tree.item(&panels.sets, params) {
        let name = panels.tree.delete(item, params);
        document.session.history.commit_as(project, &format!("delete “{name}”"));
        messages.notify(Level::Info, format!("Deleted “{name}”. Undo restores it"));
    }
}
