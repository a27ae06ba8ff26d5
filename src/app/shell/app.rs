//! [`App`] holds the open document, the views and the panels around them. `logic` processes messages (also while the
//! window is hidden), `ui` draws. Nothing here blocks: files, dialogs, builds and runs are on other threads.

use super::{
    actions::{import, trees},
    commands, dev,
    dialogs::{self, ask, preferences, shortcuts_sheet},
    figure,
    flow::{Flow, Opening},
    frame_times,
    host::Host,
    jobs::Done,
    keymap, log,
    messages::Messages,
    overlays::Overlays,
    pacing,
    pages::{home, opening, welcome},
    palette,
    panels::{runbar, side, state::Panels, status, time_panel, topbar},
    preferences::Preferences,
    start::Start,
    workspace::{self, Workspaces},
};
use crate::app::{
    document::{command::UiCommand, journal::Journal, live, open_document::Document, session::Session, settings, time},
    host::{attention, consent, crash, device, file_watch, jobs, placement, recent, software, system},
    kit::{icons, level::Level, style, theme::Tokens},
    views,
};
use std::sync::Arc;

/// The program's window, in its parts.
pub struct App {
    pub(crate) document: Document,
    pub(crate) workspace: Workspaces,
    pub(crate) panels: Panels,
    pub(crate) overlays: Overlays,
    pub(crate) messages: Messages,
    pub(crate) preferences: Preferences,
    pub(crate) flow: Flow,
    pub(crate) host: Host,
}

impl App {
    /// Creates the window's content and starts its threads. An error means that a thread could not be started.
    pub fn new(cc: &eframe::CreationContext<'_>, start: Start) -> Result<Self, String> {
        let ctx = cc.egui_ctx.clone();
        style::apply(&ctx);
        ctx.options_mut(|o| o.zoom_with_keyboard = false); // UiCommand::ZoomIn and ZoomOut replace it
        let settings = settings::Settings::load(start.config_dir.as_deref());
        if settings != settings::Settings::default() {
            settings.apply(&ctx);
        }
        let is_home = start.path.is_none() && start.project.is_none() && !start.run;
        let project = start.project.unwrap_or_else(crate::project::default_project);
        let devices = Arc::new(device::Devices::default());
        let builder = start.builder.unwrap_or_else(|| {
            let devices = devices.clone();
            Arc::new(move |project, context, progress| devices.build(&project.model, context, &project.run, progress))
        });
        let is_software = cc.wgpu_render_state.as_ref().is_some_and(software::is_software);
        let nice = if is_software { software::ENGINE_NICE } else { live::ENGINE_NICE };
        let live = live::Live::new(start.engine.then_some(nice), builder, ctx.clone())?;
        let jobs = jobs::Jobs::new(ctx.clone());
        if let Some(state) = cc.wgpu_render_state.as_ref() {
            crash::remember_adapter(state.adapter.get_info().name);
        }
        let (outbox, wake) = (jobs.outbox(), ctx.clone());
        let changed = move |path, found: Box<crate::project::Project>| {
            outbox.try_send(Box::new(|app: &mut Self| app.file_changed(path, *found)) as Done).ok();
            wake.request_repaint();
        };
        let session = Session::new(project, None, live);
        let journal = Journal::new(start.state_dir.as_deref());
        let mut app = Self {
            document: Document::new(session, time::Time::with_indexer(ctx), journal),
            workspace: Workspaces::default(),
            panels: Panels::default(),
            overlays: Overlays::default(),
            messages: Messages::default(),
            preferences: Preferences {
                applied: settings.clone(),
                settings,
                keymap: keymap::Keymap::load(start.config_dir.as_deref()),
                reset_layout: start.reset_layout || start.safe_mode,
            },
            flow: Flow { opening: start.path.clone().map(Opening::new), ..Flow::default() },
            host: Host {
                jobs,
                devices,
                recent: recent::Recent::load(start.state_dir.as_deref()),
                used: recent::Used::load(start.state_dir.as_deref()),
                consent: consent::Consent::load(start.state_dir.as_deref()),
                file_watch: file_watch::FileWatch::new(changed)?,
                config_dir: start.config_dir.clone(),
                state_dir: start.state_dir.clone(),
                placement: placement::Placement::default(),
                process_memory: system::ProcessMemory::default(),
                render_state: cc.wgpu_render_state.clone(),
                program: start.program,
                second_window: start.second_window,
                native_dialogs: start.native_dialogs,
                attention: attention::Attention::default(),
                frames: frame_times::FrameTimes::default(),
                title: String::new(),
            },
        };
        app.look_for_left_work(start.state_dir)?;
        if let Some(folder) = start.config_dir.map(|d| d.join("layouts")) {
            let read = move || workspace::saved::read_folder(&folder);
            app.try_job("layouts", read, |app, layouts| app.workspace.layouts.user = layouts)?;
        }
        app.workspace.is_home = is_home;
        if let Some(path) = start.path {
            app.open_path(path);
        } else if start.run {
            app.document.session.build(true);
        }
        Ok(app)
    }

    fn panels_ui(&mut self, ui: &mut egui::Ui, queue: &mut Vec<UiCommand>) {
        topbar::ui(ui, self, queue);
        workspace::tabs::ui(ui, self, queue);
        runbar::ui(ui, self, queue);
        runbar::notice_ui(ui, self, queue);
        status::ui(ui, self, queue);
        log::panel::ui(ui, self);
        time_panel::ui(ui, self, queue);
        side::docked_ui(ui, self, queue);
        time_panel::banner_ui(ui, self, queue);
        let t = Tokens::of(ui.ctx());
        let frame = egui::Frame::new().fill(t.canvas);
        let centre = ui.available_rect_before_wrap();
        self.panels.centre = side::uncovered(centre, self);
        egui::CentralPanel::default().frame(frame).show(ui, |ui| self.centre_ui(ui, queue));
        side::drawers_ui(ui, centre, self, queue);
        self.subscribe();
    }

    pub(crate) fn centre_ui(&mut self, ui: &mut egui::Ui, queue: &mut Vec<UiCommand>) {
        let is_empty = !self.document.session.live.is_loaded() || self.document.session.live.schema.probes.is_empty();
        if self.workspace.is_home {
            return home::ui(ui, self, queue);
        }
        if self.flow.opening.is_some() {
            return opening::ui(ui, self, queue);
        }
        if is_empty && !self.workspace.page().needs_no_simulation() {
            return welcome::ui(ui, self, queue);
        }
        if self.panels.pacing.updates_are_off {
            return pacing::quiet_ui(ui, self);
        }
        let (mut requests, t) = (Vec::new(), Tokens::of(ui.ctx()));
        let features = self.document.session.features();
        let session = &mut self.document.session;
        let live_edge = self.document.time.past.complete_to(session.live.clock.step);
        self.document.time.axis.line.update(ui, live_edge as f64);
        if let Some(frame) =
            self.workspace.follow_cursor(&session.live.schema, &mut self.document.time, session.live.clock)
        {
            session.filter.absorb(&session.live.schema, &frame);
        }
        session.filter.update(ui.ctx(), &session.live.schema, &features);
        let (before, model) = (session.selection.clone(), &session.project.model);
        let mut color_scales = std::mem::take(&mut self.workspace.color_scales);
        let mut saved_views = std::mem::take(&mut self.workspace.saved_views);
        let ctx = views::ViewCtx {
            schema: &session.live.schema,
            clock: session.live.clock,
            running: session.live.running,
            stop_reason: session.live.stop_reason.as_ref(),
            icon: icons::GRID,
            unrecorded: vec![],
            tokens: &t,
            selection: &mut session.selection,
            time: &mut self.document.time,
            filter: &mut session.filter,
            features: &features,
            runs: &mut self.document.library,
            color_scales: &mut color_scales,
            saved_views: &mut saved_views,
            render_state: self.host.render_state.as_ref(),
            timing_docs: &|row| model.timing_docs(row),
            share_levels: model.share_levels(),
            profile: &mut self.document.profile,
            requests: &mut requests,
        };
        self.workspace.ui(ui, ctx);
        (self.workspace.color_scales, self.workspace.saved_views) = (color_scales, saved_views);
        let now = &mut session.selection;
        if now.generation == before.generation && (now.set, &now.elements) != (before.set, &before.elements) {
            now.generation += 1;
        }
        for request in requests {
            self.handle_request(request, queue);
        }
    }
}

impl eframe::App for App {
    fn raw_input_hook(&mut self, _: &egui::Context, _: &mut egui::RawInput) {
        self.host.frames.begin();
    }

    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        self.process_inbox();
        self.confirm_close(ctx);
        self.open_dropped(ctx);
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        let ctx_zoom = ctx.zoom_factor();
        if let Some(secs) = frame.info().cpu_usage {
            self.host.frames.with_window_system.push(secs * 1e3);
        }
        self.host.frames.mark_first(&ctx);
        let mut queue: Vec<UiCommand> = commands::pressed(&ctx, self).into_iter().collect();
        self.restore_after_figure(&ctx);
        self.poll_figure(&ctx);
        if !self.figure_stage_ui(ui, &mut queue) {
            self.panels_ui(ui, &mut queue);
            figure::dialog::ui(&ctx, self);
        }
        palette::ui(&ctx, self, &mut queue);
        import::ui(&ctx, self);
        trees::ui(&ctx, self);
        dialogs::ui(&ctx, self);
        preferences::ui(&ctx, self);
        shortcuts_sheet::ui(&ctx, self);
        ask::ui(&ctx, self);
        dev::ui(&ctx, self);
        home::hover_ui(&ctx);
        self.messages.toasts.ui(&ctx, self.panels.centre, self.preferences.settings.work.messages_ms * 1e-3);
        self.apply_settings(&ctx);
        self.host.frames.mark_last(&ctx);
        for command in queue {
            self.handle_command(&ctx, command);
        }
        let (pointer_down, typing) = (ctx.input(|i| i.pointer.any_down()), ctx.text_edit_focused());
        self.follow_selection_names();
        let shown_step = self.document.time.shown(self.document.session.live.clock.step);
        if self.document.session.reconcile(pointer_down, typing, ctx.input(|i| i.time), shown_step) {
            ctx.request_repaint_after(std::time::Duration::from_millis(200));
        }
        if std::mem::take(&mut self.document.session.was_read_only) {
            self.messages.notify(Level::Info, "A finished run is read-only. Rerun it to change it");
        }
        self.autosave(&ctx);
        self.document.journal.keep(&self.document.session);
        self.host.file_watch.follow(self.document.session.path.as_deref());
        self.request_attention(&ctx);
        self.document.session.live.latency.drawn();
        self.update_title(&ctx);
        ctx.input(|i| self.host.placement.follow(i.viewport(), ctx_zoom));
        let live = &self.document.session.live;
        if live.progress().is_some() || live.data_progress().is_some() {
            ctx.request_repaint_after(std::time::Duration::from_millis(50));
        } else if live.running && !self.panels.pacing.updates_are_off {
            // No frame arrives while something beside steps takes long.
            ctx.request_repaint_after(std::time::Duration::from_millis(250));
        }
    }

    fn on_exit(&mut self) {
        self.end_sweep();
        self.host.placement.keep(self.host.state_dir.as_ref());
        self.document.journal.clear();
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }
}
