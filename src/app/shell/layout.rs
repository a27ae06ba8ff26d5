//! Layout of the window: bars, side panels and the centre. It also determines which probes the engine samples.

use super::{
    frame_times::Part,
    host::Host,
    keymap::Keymap,
    log, pacing,
    pages::{home, opening, welcome},
    panels::{
        inspector, runbar,
        side::{self, Side},
        state::Panels,
        status, tabs, time_panel, topbar, tree,
    },
    parts::ActionParts,
    preferences::Preferences,
    queue::{Queue, ShellRequest},
    workspace::{TabRename, Workspaces},
};
use crate::app::{
    document::{experiment::ExperimentContext, layout::Page, open_document::Document},
    kit::{icons, theme::Tokens},
    views::{self, ViewRequest},
};
use egui::{CentralPanel, Frame, Ui};
use std::time::Instant;

/// Draws the window.
pub fn panels_ui(parts: &mut ActionParts<'_>, preferences: &Preferences, ui: &mut Ui, queue: &mut Queue) {
    update_graph(parts.document, parts.workspace, parts.panels);
    let is_shown = parts.document.session.live.is_loaded() && !parts.workspace.is_home;
    let secs = ui.input(|i| f64::from(i.unstable_dt.min(0.25)));
    if is_shown && parts.document.play_past(secs) {
        ui.ctx().request_repaint();
    }
    let mut rename = std::mem::take(&mut parts.workspace.rename);
    let renamed = bars_ui(parts, preferences, ui, &mut rename, queue);
    parts.workspace.rename = rename;
    if let Some((at, title)) = renamed {
        parts.workspace.set_title(at, title);
    }
    let centre = ui.available_rect_before_wrap();
    parts.panels.centre = side::uncovered(centre, &parts.panels.open, parts.workspace.is_home);
    let (frame, keymap) = (Frame::new().fill(Tokens::of(ui.ctx()).canvas), &preferences.keymap);
    let since = Instant::now();
    CentralPanel::default().frame(frame).show(ui, |ui| centre_ui(parts, keymap, ui, queue));
    parts.host.frames.laid_out(Part::Centre, since);
    drawers_ui(parts, keymap, ui, centre, queue);
    subscribe(parts.document, parts.workspace, parts.panels);
}

/// Updates the graph that the views show to the document.
fn update_graph(document: &Document, workspace: &mut Workspaces, panels: &Panels) {
    let (model, graph) = (&document.session.project.model, &mut workspace.graph);
    graph.update(model);
    graph.selected = panels.tree.item(&panels.sets, model.params());
    graph.is_read_only = document.session.live.playback.is_some();
}

/// Draws all panels except the centre. Returns the index and the new title of a renamed workspace.
fn bars_ui(
    parts: &mut ActionParts<'_>,
    preferences: &Preferences,
    ui: &mut Ui,
    rename: &mut TabRename,
    queue: &mut Queue,
) -> Option<(usize, String)> {
    let ActionParts { document, workspace, panels, messages, flow, host, .. } = parts;
    let params = document.session.project.model.params();
    let around = panels.around(params, workspace, flow, &host.recent, &preferences.keymap);
    let mut since = Instant::now();
    topbar::ui(ui, &around.with(document), &panels.open, queue);
    let renamed = tabs::ui(ui, rename, &around.with(document), queue);
    runbar::ui(ui, document, &mut panels.pacing, around, queue);
    runbar::notice_ui(ui, document, &host.devices, around, queue);
    let facts = status::Facts {
        messages,
        flow,
        devices: &host.devices,
        process_memory: &mut host.process_memory,
        frame_ms: host.frames.own.quantiles().map(|ms| ms[0]),
        log_is_open: panels.open.log,
    };
    status::ui(ui, document, facts, queue);
    let are_hidden = workspace.is_home || flow.opening.is_some();
    panels.messages = None;
    if are_hidden || !panels.open.has_docked_tree(ui.ctx().content_rect().width()) {
        queue.extend(messages.toasts.strip_ui(ui, preferences.settings.work.messages_ms * 1e-3));
    }
    log::panel::ui(ui, &mut messages.log, &mut panels.open.log, document, queue);
    host.frames.laid_out(Part::Bars, since);
    if document.session.live.is_loaded() && !workspace.is_home {
        since = Instant::now();
        time_panel::ui(ui, document, &mut panels.time, around, queue);
        host.frames.laid_out(Part::TimePanel, since);
    }
    side::docked_ui(ui, &mut panels.open, are_hidden, |ui, side| {
        let since = Instant::now();
        match side {
            Side::Tree => {
                panels.messages = Some(ui.max_rect());
                tree::ui(ui, document, (&mut panels.tree, &mut panels.sets), around, queue);
            }
            Side::Inspector => inspector::ui(ui, document, &mut panels.inspector, &host.devices, around, queue),
        }
        let part = match side {
            Side::Tree => Part::ProjectTree,
            Side::Inspector => Part::Inspector,
        };
        host.frames.laid_out(part, since);
    });
    time_panel::banner_ui(ui, &around.with(document), queue);
    renamed
}

/// Draws the side panels that have no room next to the centre as drawers over it.
fn drawers_ui(parts: &mut ActionParts<'_>, keymap: &Keymap, ui: &Ui, centre: egui::Rect, queue: &mut Queue) {
    let ActionParts { document, workspace, panels, flow, host, .. } = parts;
    if workspace.is_home || flow.opening.is_some() {
        return;
    }
    let params = document.session.project.model.params();
    let around = panels.around(params, workspace, flow, &host.recent, keymap);
    side::drawers_ui(ui, centre, &panels.open, |ui, side| match side {
        Side::Tree => tree::ui(ui, document, (&mut panels.tree, &mut panels.sets), around, queue),
        Side::Inspector => inspector::ui(ui, document, &mut panels.inspector, &host.devices, around, queue),
    });
}

/// Draws the centre: the views, or a page instead of them.
pub fn centre_ui(parts: &mut ActionParts<'_>, keymap: &Keymap, ui: &mut Ui, queue: &mut Queue) {
    parts.workspace.show_editor_alone(false);
    let live = &parts.document.session.live;
    let is_empty = !live.is_loaded() || live.schema.probes.is_empty();
    if parts.workspace.is_home {
        return home::ui(ui, &parts.command_state(keymap), queue);
    }
    if let Some(file) = &parts.flow.opening {
        return opening::ui(ui, file, queue);
    }
    if is_empty && !parts.workspace.page().needs_no_simulation() {
        return unbuilt_ui(parts, keymap, ui, queue);
    }
    if parts.panels.pacing.updates_are_off {
        return pacing::quiet_ui(ui, &mut parts.document.session.live, &mut parts.panels.pacing);
    }
    let live_edge = parts.document.time.past.complete_to(parts.document.session.live.clock.step);
    parts.document.time.axis.line.update(ui, live_edge as f64);
    if let Some(frame) = parts.document.absorb_states_at_cursor() {
        parts.workspace.absorb(&parts.document.session.live.schema, &frame, false);
    }
    views_ui(parts.document, parts.workspace, (parts.host, keymap), ui, queue, Workspaces::ui);
}

/// Draws the centre of a workspace without a simulation: the editor of the graph that the document describes, otherwise a page.
fn unbuilt_ui(parts: &mut ActionParts<'_>, keymap: &Keymap, ui: &mut Ui, queue: &mut Queue) {
    if parts.workspace.graph.graph.is_none() || parts.document.session.live.progress().is_some() {
        return welcome::ui(ui, &parts.command_state(keymap), &parts.host.devices, queue);
    }
    parts.workspace.show_editor_alone(true);
    if let Some(error) = parts.document.session.live.error.clone() {
        welcome::failed_bar_ui(ui, &error, queue);
    }
    views_ui(parts.document, parts.workspace, (parts.host, keymap), ui, queue, Workspaces::editor_ui);
}

/// Draws views with `draw`, and passes on their requests.
fn views_ui(
    document: &mut Document,
    workspace: &mut Workspaces,
    (host, keymap): (&Host, &Keymap),
    ui: &mut Ui,
    queue: &mut Queue,
    draw: impl FnOnce(&mut Workspaces, &mut Ui, views::ViewCtx<'_>),
) {
    let (mut requests, t, context) = (Vec::new(), Tokens::of(ui.ctx()), ui.ctx().clone());
    let features = document.session.features();
    let session = &mut document.session;
    session.filter.update(ui.ctx(), &session.live.schema, &features);
    if workspace.page() == Page::Experiment {
        document.experiments.update(ui.ctx(), &session.runs_folder());
        document.experiments.update_plan(ui.ctx(), session, &document.library.runs);
    }
    let duration = document.experiments.duration_text(session);
    let (before, model) = (session.selection.clone(), &session.project.model);
    let mut color_scales = std::mem::take(&mut workspace.color_scales);
    let mut saved_views = std::mem::take(&mut workspace.saved_views);
    let mut graph = std::mem::take(&mut workspace.graph);
    let ctx = views::ViewCtx {
        schema: &session.live.schema,
        clock: session.live.clock,
        running: session.live.running,
        stop_reason: session.live.stop_reason.as_ref(),
        icon: icons::GRID,
        unrecorded: vec![],
        views: &views::ALL,
        tokens: &t,
        selection: &mut session.selection,
        time: &mut document.time,
        filter: &mut session.filter,
        features: &features,
        runs: &mut document.library,
        experiments: ExperimentContext {
            state: &mut document.experiments,
            edited: &mut session.project.experiment,
            duration,
            model,
            is_read_only: session.live.playback.is_some(),
        },
        color_scales: &mut color_scales,
        saved_views: &mut saved_views,
        graph: &mut graph,
        render_state: host.render_state.as_ref(),
        timing_docs: &|row| model.timing_docs(row),
        keys: &|command| keymap.text(&context, command),
        share_levels: model.share_levels(),
        profile: &mut document.profile,
        requests: &mut requests,
    };
    draw(workspace, ui, ctx);
    (workspace.color_scales, workspace.saved_views, workspace.graph) = (color_scales, saved_views, graph);
    let now = &mut session.selection;
    if now.generation == before.generation && (now.set, &now.elements) != (before.set, &before.elements) {
        now.generation += 1;
    }
    for request in requests {
        match request {
            ViewRequest::Command(command) => queue.push(command),
            other => queue.ask(ShellRequest::View(other)),
        }
    }
}

/// Subscribes to the probes of the visible views. The engine samples no other probes for the window.
pub fn subscribe(document: &mut Document, workspace: &Workspaces, panels: &Panels) {
    let session = &mut document.session;
    if !workspace.unfed.is_empty() | session.filter.take_needs_sample() {
        session.live.sample_again();
    }
    let is_quiet = panels.pacing.updates_are_off;
    let schema = &session.live.schema;
    let mut taps = vec![];
    if !is_quiet {
        taps = workspace.taps(schema, &session.selection);
        for tap in time_panel::taps(schema).into_iter().chain(session.filter.taps(schema)) {
            if taps.iter().all(|t| t.probe != tap.probe) {
                taps.push(tap);
            }
        }
    }
    taps.sort_by_key(|tap| tap.probe);
    session.live.subscribe(taps);
    let wants_individuals = session.names_individuals();
    session.live.follow_individuals(wants_individuals);
    session.live.profile(workspace.profiles().then_some(document.profile.every));
}
