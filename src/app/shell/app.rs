//! [`App`] holds the open document, the views and the panels around them. `logic` processes messages (also while the
//! window is hidden), `ui` draws. Nothing here blocks: files, dialogs, builds and runs are on other threads.

use super::{
    actions::{attention, import, resume, trees, unrecorded, unsaved_guard},
    commands, dev,
    dialogs::{self, ask, preferences, shortcuts_sheet},
    figure, frame_times,
    jobs::Done,
    keymap, log, pacing,
    pages::{home, opening, welcome},
    palette,
    panels::{inspector, runbar, sets, side, status, time_panel, toasts, topbar, tree},
    start::Start,
    workspace,
};
use crate::app::{
    document::{command::UiCommand, journal, library, live, profile, session::Session, settings, time},
    host::{consent, crash, device, file_watch, jobs, placement, recent, software, system},
    kit::{icons, level::Level, style, theme::Tokens},
    views,
};
use std::{path::PathBuf, sync::Arc};

/// The program's window.
pub struct App {
    pub(crate) session: Session,
    pub(crate) workspace: workspace::Workspaces,
    pub(crate) profile: profile::Profile,
    pub(crate) keymap: keymap::Keymap,
    pub(crate) settings: settings::Settings,
    /// The settings in effect.
    pub(crate) applied: settings::Settings,
    pub(crate) preferences: Option<preferences::Preferences>,
    pub(crate) shortcuts_sheet: bool,
    pub(crate) requests: ask::Requests,
    pub(crate) config_dir: Option<PathBuf>,
    pub(crate) state_dir: Option<PathBuf>,
    pub(crate) panels: side::Panels,
    pub(crate) time: time::Time,
    pub(crate) time_panel: time_panel::TimePanel,
    pub(crate) inspector: inspector::Inspector,
    pub(crate) import: Option<import::Import>,
    pub(crate) sets: sets::Sets,
    pub(crate) outline: tree::Outline,
    pub(crate) palette: Option<palette::Palette>,
    pub(crate) dialog: Option<dialogs::Dialog>,
    pub(crate) toasts: toasts::Toasts,
    pub(crate) log: log::Log,
    pub(crate) jobs: jobs::Jobs<Done>,
    pub(crate) recent: recent::Recent,
    pub(crate) consent: consent::Consent,
    pub(crate) figures: figure::Figures,
    pub(crate) autosave: unsaved_guard::Autosave,
    pub(crate) attention: attention::Attention,
    pub(crate) journal: journal::Journal,
    pub(crate) file_watch: file_watch::FileWatch,
    /// Dialogs that wait until the open one is closed.
    pub(crate) waiting_dialogs: std::collections::VecDeque<dialogs::Dialog>,
    pub(crate) library: library::Library,
    pub(crate) used: recent::RecentCommands,
    pub(crate) pacing: pacing::Pacing,
    pub(crate) frames: frame_times::FrameTimes,
    pub(crate) devices: Arc<device::Devices>,
    pub(crate) native_dialogs: bool,
    pub(crate) after_save: Option<crate::app::document::command::Intent>,
    /// A run that is being kept.
    pub(crate) keeping: Option<unrecorded::Keeping>,
    /// A run that is resumed, until its simulation is loaded.
    pub(crate) resuming: Option<resume::Resuming>,
    /// An open file of trees.
    pub(crate) trees: Option<trees::TreeFile>,
    /// A file of trees that is being read.
    pub(crate) reading_trees: Option<trees::ReadingTrees>,
    /// The file given at start, until a document is open.
    pub(crate) opening: Option<opening::Opening>,
    /// The area of the views, for the toasts.
    pub(crate) centre: egui::Rect,
    pub(crate) process_memory: system::ProcessMemory,
    pub(crate) may_close: bool,
    pub(crate) second_window: fn(&std::path::Path) -> std::io::Result<()>,
    pub(crate) program: Option<PathBuf>,
    pub(crate) render_state: Option<egui_wgpu::RenderState>,
    pub(crate) title: String,
    pub(crate) placement: placement::Placement,
    /// Layouts saved with projects are ignored.
    pub(crate) reset_layout: bool,
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
        let mut app = Self {
            session: Session::new(project, None, live),
            workspace: workspace::Workspaces::default(),
            profile: profile::Profile::default(),
            keymap: keymap::Keymap::load(start.config_dir.as_deref()),
            applied: settings.clone(),
            settings,
            preferences: None,
            shortcuts_sheet: false,
            requests: ask::Requests::default(),
            config_dir: start.config_dir.clone(),
            state_dir: start.state_dir.clone(),
            panels: side::Panels::default(),
            time: time::Time::with_indexer(ctx),
            time_panel: time_panel::TimePanel::default(),
            inspector: inspector::Inspector::default(),
            import: None,
            sets: sets::Sets::default(),
            outline: tree::Outline::default(),
            palette: None,
            dialog: None,
            toasts: toasts::Toasts::default(),
            log: log::Log::default(),
            file_watch: file_watch::FileWatch::new(changed)?,
            waiting_dialogs: Default::default(),
            jobs,
            figures: figure::Figures::default(),
            autosave: unsaved_guard::Autosave::default(),
            attention: attention::Attention::default(),
            journal: journal::Journal::new(start.state_dir.as_deref()),
            recent: recent::Recent::load(start.state_dir.as_deref()),
            consent: consent::Consent::load(start.state_dir.as_deref()),
            used: recent::RecentCommands::load(start.state_dir.as_deref()),
            library: library::Library::default(),
            pacing: pacing::Pacing::default(),
            frames: frame_times::FrameTimes::default(),
            devices,
            native_dialogs: start.native_dialogs,
            after_save: None,
            keeping: None,
            resuming: None,
            trees: None,
            reading_trees: None,
            opening: start.path.clone().map(opening::Opening::new),
            centre: egui::Rect::EVERYTHING,
            process_memory: system::ProcessMemory::default(),
            may_close: false,
            second_window: start.second_window,
            program: start.program,
            render_state: cc.wgpu_render_state.clone(),
            title: String::new(),
            placement: placement::Placement::default(),
            reset_layout: start.reset_layout || start.safe_mode,
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
            app.session.build(true);
        }
        Ok(app)
    }

    /// Whether a dialog or the command palette has the keyboard.
    pub(crate) fn is_modal(&self) -> bool {
        let is_open = self.dialog.is_some() || self.palette.is_some() || self.preferences.is_some();
        is_open || self.import.is_some() || self.figures.dialog.is_some() || self.shortcuts_sheet
    }

    /// Shows a toast and adds a line to the log.
    pub(crate) fn notify(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.toasts.add(level, text.clone());
        self.log.add(level, text);
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
        self.centre = side::uncovered(centre, self);
        egui::CentralPanel::default().frame(frame).show(ui, |ui| self.centre_ui(ui, queue));
        side::drawers_ui(ui, centre, self, queue);
        self.subscribe();
    }

    pub(crate) fn centre_ui(&mut self, ui: &mut egui::Ui, queue: &mut Vec<UiCommand>) {
        let is_empty = !self.session.live.is_loaded() || self.session.live.schema.probes.is_empty();
        if self.workspace.is_home {
            return home::ui(ui, self, queue);
        }
        if self.opening.is_some() {
            return opening::ui(ui, self, queue);
        }
        if is_empty && !self.workspace.page().needs_no_simulation() {
            return welcome::ui(ui, self, queue);
        }
        if self.pacing.updates_are_off {
            return pacing::quiet_ui(ui, self);
        }
        let (mut requests, t) = (Vec::new(), Tokens::of(ui.ctx()));
        let features = self.session.features();
        let session = &mut self.session;
        let live_edge = self.time.past.complete_to(session.live.clock.step);
        self.time.axis.line.update(ui, live_edge as f64);
        if let Some(frame) = self.workspace.follow_cursor(&session.live.schema, &mut self.time, session.live.clock) {
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
            time: &mut self.time,
            filter: &mut session.filter,
            features: &features,
            runs: &mut self.library,
            color_scales: &mut color_scales,
            saved_views: &mut saved_views,
            render_state: self.render_state.as_ref(),
            timing_docs: &|row| model.timing_docs(row),
            share_levels: model.share_levels(),
            profile: &mut self.profile,
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
        self.frames.begin();
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
            self.frames.with_window_system.push(secs * 1e3);
        }
        self.frames.mark_first(&ctx);
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
        self.toasts.ui(&ctx, self.centre, self.settings.work.messages_ms * 1e-3);
        self.apply_settings(&ctx);
        self.frames.mark_last(&ctx);
        for command in queue {
            self.handle_command(&ctx, command);
        }
        let (pointer_down, typing) = (ctx.input(|i| i.pointer.any_down()), ctx.text_edit_focused());
        self.follow_selection_names();
        let shown_step = self.time.shown(self.session.live.clock.step);
        if self.session.reconcile(pointer_down, typing, ctx.input(|i| i.time), shown_step) {
            ctx.request_repaint_after(std::time::Duration::from_millis(200));
        }
        if std::mem::take(&mut self.session.was_read_only) {
            self.notify(Level::Info, "A finished run is read-only. Rerun it to change it");
        }
        self.autosave(&ctx);
        self.journal.keep(&self.session);
        self.file_watch.follow(self.session.path.as_deref());
        self.request_attention(&ctx);
        self.session.live.latency.drawn();
        self.update_title(&ctx);
        ctx.input(|i| self.placement.follow(i.viewport(), ctx_zoom));
        let live = &self.session.live;
        if live.progress().is_some() || live.data_progress().is_some() {
            ctx.request_repaint_after(std::time::Duration::from_millis(50));
        } else if live.running && !self.pacing.updates_are_off {
            // No frame arrives while something beside steps takes long.
            ctx.request_repaint_after(std::time::Duration::from_millis(250));
        }
    }

    fn on_exit(&mut self) {
        self.end_sweep();
        self.placement.keep(self.state_dir.as_ref());
        self.journal.clear();
    }

    fn clear_color(&self, visuals: &egui::Visuals) -> [f32; 4] {
        visuals.panel_fill.to_normalized_gamma_f32()
    }
}
