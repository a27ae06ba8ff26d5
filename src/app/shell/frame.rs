//! One frame of the window. `logic` handles arrived events and results (also while the window is hidden); `ui` draws and then
//! executes the requests of the panels. Neither blocks: files, dialogs, builds and runs are handled on other threads.

use super::{
    App,
    actions::{arrivals, attention, figures, files, graph, requests, shown_trial, unrecorded},
    commands, dev,
    dialogs::{self, ask, import, paths, preferences, recovery::AtRisk, shortcuts_sheet, trees},
    execute, figure,
    flow::Flow,
    frame_times::Part,
    keymap::Keymap,
    layout,
    pages::home,
    palette::{self, Sources},
    panels::sets,
    parts::ActionParts,
    preferences::Preferences,
    queue::Queue,
};
use crate::app::{
    document::{command::UiCommand, open_document::Document, session::Session, settings},
    host::store,
    kit::level::Level,
};
use std::time::{Duration, Instant};

impl App {
    /// Executes a command; only tests use it.
    pub fn command(&mut self, ctx: &egui::Context, command: UiCommand) {
        let (mut parts, preferences) = self.parts();
        execute::run(&mut parts, preferences, ctx, command);
    }
}

impl eframe::App for App {
    fn raw_input_hook(&mut self, _: &egui::Context, _: &mut egui::RawInput) {
        self.host.frames.begin();
    }

    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        let (mut parts, preferences) = self.parts();
        if let Some(intent) = arrivals::take(&mut parts, preferences.reset_layout) {
            requests::confirm_changes(&mut parts, intent);
        }
        while let Some(done) = parts.host.jobs.poll() {
            done(&mut parts);
        }
        requests::confirm_close(&mut parts, ctx);
        requests::open_dropped(&mut parts, ctx);
        if parts.document.session.live.is_loaded() {
            parts.document.update_marks();
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        let ctx_zoom = ctx.zoom_factor();
        let (mut parts, preferences) = self.parts();
        if let Some(secs) = frame.info().cpu_usage {
            parts.host.frames.with_window_system.push(secs * 1e3);
        }
        parts.host.frames.mark_first(&ctx);
        parts.messages.title_new(&parts.document.session.project);
        let mut queue = Queue::default();
        let state = parts.command_state(&preferences.keymap);
        queue.extend(commands::pressed(&ctx, &state, parts.overlays.is_modal()));
        parts.overlays.figures.restore(&ctx, &preferences.settings);
        parts.overlays.figures.poll(&ctx, parts.host.render_state.as_ref());
        if !figure_ui(&mut parts, &preferences.keymap, ui, &mut queue) {
            layout::panels_ui(&mut parts, preferences, ui, &mut queue);
            let (figures, settings) = (&mut parts.overlays.figures, &mut preferences.settings.figures);
            figure::dialog::ui(&ctx, figures, settings, parts.host.render_state.as_ref());
        }
        let since = Instant::now();
        overlays_ui(&mut parts, preferences, &ctx, &mut queue);
        parts.host.frames.laid_out(Part::Overlays, since);
        apply_settings(&mut parts, preferences, &ctx);
        parts.host.frames.mark_last(&ctx);
        do_queued(&mut parts, preferences, &ctx, queue);
        end_frame(&mut parts, &preferences.settings, &ctx);
        ctx.input(|i| parts.host.placement.follow(i.viewport(), ctx_zoom));
    }

    fn on_exit(&mut self) {
        self.document.experiments.end();
        self.host.placement.keep(self.host.state_dir.as_ref());
        self.document.journal.clear();
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }
}

/// Draws the panel of a figure instead of the window. Returns `false` if there is no figure.
fn figure_ui(parts: &mut ActionParts<'_>, keymap: &Keymap, ui: &mut egui::Ui, queue: &mut Queue) -> bool {
    let ctx = ui.ctx().clone();
    let Some(area) = parts.overlays.figures.begin_frame(&ctx) else { return false };
    parts.workspace.figure_area = Some(area);
    // The layout has the size of the figure, even if it does not fit into the window.
    ui.scope_builder(egui::UiBuilder::new().max_rect(area), |ui| {
        ui.set_clip_rect(area);
        layout::centre_ui(parts, keymap, ui, queue);
    });
    parts.workspace.figure_area = None;
    layout::subscribe(parts.document, parts.workspace, parts.panels);
    ctx.request_repaint();
    match parts.overlays.figures.end_frame(&ctx, area) {
        Some(Ok(request)) => figures::draw(&ctx, parts.overlays, parts.host, parts.messages, request),
        Some(Err(why)) => parts.messages.notify(Level::Warning, why),
        None => {}
    }
    true
}

/// Draws the overlays, and handles the answer of a dialog.
fn overlays_ui(parts: &mut ActionParts<'_>, preferences: &mut Preferences, ctx: &egui::Context, queue: &mut Queue) {
    let ActionParts { document, workspace, panels, overlays, flow, host, .. } = &mut *parts;
    let params = document.session.project.model.params();
    let around = panels.around(params, workspace, flow, &host.recent, &preferences.keymap);
    let sources = Sources { state: around.with(document), settings: &preferences.settings };
    palette::ui(ctx, &mut overlays.palette, sources, &mut host.used, queue);
    let is_covered = overlays.dialog.is_some();
    import::ui(ctx, &mut overlays.import, is_covered, queue);
    trees::ui(ctx, &mut overlays.trees, overlays.reading_trees.as_ref());
    let answer = dialogs::ui(ctx, &mut overlays.dialog, || at_risk(document));
    if let Some((answer, dialog)) = answer {
        requests::answer(parts, answer, dialog);
    }
    let ActionParts { document, workspace, panels, overlays, messages, flow, host } = parts;
    if overlays.dialog.is_none() {
        overlays.dialog = overlays.waiting.pop_front();
    }
    if flow.may_close {
        ctx.send_viewport_cmd(egui::ViewportCommand::Close);
    }
    let params = document.session.project.model.params();
    let around = panels.around(params, workspace, flow, &host.recent, &preferences.keymap);
    let (dialog, sheet, settings) = (&mut overlays.settings, &mut overlays.shortcuts_sheet, &mut preferences.settings);
    let changed = preferences::ui(ctx, dialog, settings, host.config_dir.as_deref(), &around.with(document));
    shortcuts_sheet::ui(ctx, sheet, dialog, &around.with(document));
    if let Some(keymap) = changed {
        preferences.keymap = keymap;
    }
    paths::ui(ctx, &mut overlays.requests.paths, &mut document.session, panels.centre, queue);
    ask::ui(ctx, &mut overlays.requests, &mut document.session, panels.centre);
    dev::ui(ctx, &mut panels.open.dev, &host.frames, &document.session.live);
    home::hover_ui(ctx);
    messages.title_new(&document.session.project);
    if let Some(area) = panels.messages {
        queue.extend(messages.toasts.ui(ctx, area, preferences.settings.work.messages_ms * 1e-3));
    }
}

/// Returns the data that an action that closes the document would lose.
fn at_risk(document: &Document) -> AtRisk {
    let session = &document.session;
    AtRisk {
        name: session.project.name.clone(),
        unsaved: session.is_dirty(),
        recording: session.live.recording.is_some(),
        experiment: document.experiments.running.is_some(),
        base: session.live.clock.base,
        keeps: unrecorded::kept_probes(&session.live),
        trials: session.live.schema.trials,
    }
}

/// Applies and saves changed settings.
fn apply_settings(parts: &mut ActionParts<'_>, preferences: &mut Preferences, ctx: &egui::Context) {
    let ActionParts { document, messages, host, .. } = parts;
    let Preferences { settings, applied, .. } = preferences;
    messages.log.limit = settings.work.log_lines as usize;
    document.session.history.keep(settings.work.undo_steps as usize);
    document.session.live.safety.limit_bytes = settings.unrecorded_bytes();
    if settings != applied {
        *applied = settings.clone();
        settings.apply(ctx);
        let file = host.config_dir.as_ref().map(|d| d.join(settings::FILE));
        store::write(file, crate::project::to_ron(settings).ok());
    }
}

/// Executes the requests and commands that were queued while the frame was drawn.
fn do_queued(parts: &mut ActionParts<'_>, preferences: &mut Preferences, ctx: &egui::Context, queue: Queue) {
    if !queue.requests.is_empty() {
        ctx.request_repaint(); // the panels drawn before show the result
    }
    for request in queue.requests {
        requests::handle(parts, ctx, request);
    }
    for command in queue.commands {
        execute::run(parts, preferences, ctx, command);
    }
}

/// Ends a frame: sends edits to the engine, adds them to the history, and saves the document if that is due.
fn end_frame(parts: &mut ActionParts<'_>, settings: &settings::Settings, ctx: &egui::Context) {
    shown_trial::open_chosen(parts);
    let (pointer_down, typing) = (ctx.input(|i| i.pointer.any_down()), ctx.text_edit_focused());
    let ActionParts { document, workspace, panels, messages, .. } = &mut *parts;
    sets::follow_names(&mut document.session, &mut panels.sets);
    graph::follow_names(document, workspace);
    let shown_step = document.time.shown(document.session.live.clock.step);
    if document.session.reconcile(pointer_down, typing, ctx.input(|i| i.time), shown_step) {
        ctx.request_repaint_after(Duration::from_millis(200));
    }
    if std::mem::take(&mut document.session.was_read_only) {
        messages.notify(Level::Info, "A finished run is read-only. Rerun it to change it");
    }
    autosave(parts, settings.work.autosave_s, ctx);
    let ActionParts { document, panels, messages, flow, host, .. } = parts;
    document.journal.keep(&document.session);
    host.file_watch.follow(document.session.path.as_deref());
    attention::request(document, host, &messages.toasts, ctx);
    document.session.live.latency.drawn();
    update_title(ctx, &document.session, flow, &mut host.title);
    let live = &document.session.live;
    if live.progress().is_some() || live.data_progress().is_some() {
        ctx.request_repaint_after(Duration::from_millis(50));
    } else if live.running && !panels.pacing.updates_are_off {
        // No frame of the engine arrives during a long operation between steps.
        ctx.request_repaint_after(Duration::from_millis(250));
    }
}

/// Saves a changed document that has a file every `autosave_s` seconds; 0: never.
fn autosave(parts: &mut ActionParts<'_>, autosave_s: f64, ctx: &egui::Context) {
    let session = &parts.document.session;
    let is_dirty = session.is_dirty() && session.path.is_some() && !parts.overlays.is_modal();
    match parts.document.autosave.due(is_dirty, Duration::from_secs_f64(autosave_s)) {
        Ok(()) => files::save(parts),
        Err(Duration::MAX) => {}
        Err(left) => ctx.request_repaint_after(left),
    }
}

/// Updates the title bar: `● name — running 7.8×`, or `232 generations/s` for kinds that count steps.
fn update_title(ctx: &egui::Context, session: &Session, flow: &Flow, sent: &mut String) {
    let dirty = if session.is_dirty() { "● " } else { "" };
    let state = match (session.live.running, session.live.speed_text()) {
        (true, Some(speed)) => format!(" — running {speed}"),
        (true, None) => " — running".to_owned(),
        _ => String::new(),
    };
    let title = match &flow.opening {
        Some(opening) => format!("{} — Neuropil", opening.name()),
        None => format!("{dirty}{}{state} — Neuropil", session.project.name),
    };
    if title != *sent {
        ctx.send_viewport_cmd(egui::ViewportCommand::Title(title.clone()));
        *sent = title;
    }
}
