//! Executes the commands of the window.

use super::{
    App,
    dialogs::{
        Dialog,
        preferences::{self, SettingsDialog},
    },
    pages::{examples::Example, help, home},
    palette::Palette,
};
use crate::{
    app::{
        document::{
            command::{Intent, UiCommand},
            interventions::{self, Intervention},
            layout::Page,
        },
        kit::{focus, level::Level},
        shell::actions::files::Purpose,
        views,
    },
    params::Change,
};
use std::path::Path;

impl App {
    /// Executes a command, or shows why it is not possible.
    pub(crate) fn handle_command(&mut self, ctx: &egui::Context, command: UiCommand) {
        if let Some(why) = command.why_not(self) {
            return self.messages.notify(Level::Warning, why);
        }
        match command {
            UiCommand::NewLike => self.confirm_unsaved(Intent::New(self.document.session.project.model.name())),
            UiCommand::New(kind) => self.confirm_unsaved(Intent::New(kind)),
            UiCommand::Example(name) => self.confirm_unsaved(Intent::Example(name)),
            UiCommand::ImportData => self.overlays.import = Some(super::actions::import::Import::default()),
            UiCommand::Open => self.confirm_unsaved(Intent::Pick),
            UiCommand::OpenRun(i) => {
                if let Some(path) = self.document.library.runs.get(i).map(|run| run.folder.clone()) {
                    self.confirm_unsaved(Intent::Open(path));
                }
            }
            UiCommand::OpenRecent(i) => {
                if let Some(place) = self.host.recent.projects.get(i).cloned() {
                    self.confirm_unsaved(Intent::Open(place.path));
                }
            }
            UiCommand::Save => self.save(),
            UiCommand::SaveAs => self.pick(Purpose::SaveAs),
            UiCommand::Export(format) => self.export(None, format),
            UiCommand::ExportRun(folder, format) => self.export(Some(folder), format),
            UiCommand::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            UiCommand::Undo => self.travel(true),
            UiCommand::Redo => self.travel(false),
            UiCommand::UndoSteps(steps) => (0..steps.unsigned_abs()).for_each(|_| self.travel(steps < 0)),
            UiCommand::ResetParameters => self.reset_parameters(),
            UiCommand::RunPause => self.run_pause(),
            UiCommand::Step | UiCommand::StepMore | UiCommand::Rewind
                if self.document.session.live.playback.is_some() =>
            {
                self.move_in_playback(&command);
            }
            UiCommand::Step => {
                self.workspace.is_home = false;
                self.document.session.live.step(self.step_steps());
            }
            UiCommand::RunToEnd => {
                if let Some(end) = self.planned_end() {
                    self.workspace.is_home = false;
                    self.document.session.live.run_to(end);
                }
            }
            UiCommand::PauseDisplay => {
                self.panels.pacing.updates_are_off = !self.panels.pacing.updates_are_off;
                self.document.session.live.set_quiet(self.panels.pacing.updates_are_off);
            }
            UiCommand::StepMore => self.document.session.live.step(self.step_steps().saturating_mul(10)),
            UiCommand::Rewind => self.confirm_unsaved(Intent::Rewind),
            UiCommand::Rebuild => self.confirm_unsaved(Intent::Rebuild),
            UiCommand::RerunRecorded => self.document.session.rerun_as_recorded(),
            UiCommand::ContinueOnCpu => self.document.session.continue_on_cpu(),
            UiCommand::Compare(steps) => self.compare(steps),
            UiCommand::MeasurePeak => self.measure_ceilings(),
            UiCommand::CancelLoading => self.document.session.live.cancel_loading(),
            UiCommand::Record => self.toggle_recording(),
            UiCommand::Stimulate => self.intervene(Intervention::Stimulate),
            UiCommand::Silence => self.intervene(Intervention::Silence),
            UiCommand::SaveSelection => {
                self.save_selection();
            }
            UiCommand::Probe => self.probe_selection(ctx),
            UiCommand::SelectNone => self.select_none(),
            UiCommand::MoveCursor(n) => self.move_cursor(f64::from(n) * self.step_steps() as f64),
            UiCommand::GoStart => self.move_cursor(f64::NEG_INFINITY),
            UiCommand::GoLive if self.document.time.axis.is_recorded => self.move_cursor(f64::INFINITY),
            UiCommand::GoLive => self.document.time.axis.go_live(),
            UiCommand::PlayPast => self.toggle_playback(),
            UiCommand::Loop => self.document.time.axis.is_looping = !self.document.time.axis.is_looping,
            UiCommand::ZoomToRange => self.document.time.axis.zoom_to_range(),
            UiCommand::ClearRange => self.document.time.axis.range = None,
            UiCommand::ExportPanel => self.export_panel(ctx),
            UiCommand::FocusSelection => views::ask_focus(ctx),
            UiCommand::ColorMenu => self.overlays.palette = Some(Palette::with("Colour by ")),
            UiCommand::ColorBy(at) => self.workspace.color_by(&self.document.session.live.schema, at),
            UiCommand::ToggleRange => self.toggle_range(),
            UiCommand::ShowView(name) => self.workspace.show_view(name, &self.document.session.live.schema),
            UiCommand::OpenAnother(name) => self.workspace.open_another(name, &self.document.session.live.schema),
            UiCommand::Home => self.workspace.is_home = !self.workspace.is_home,
            UiCommand::Workspace(at) => self.show_workspace(at),
            UiCommand::Rename => self.rename_item(),
            UiCommand::Duplicate => self.duplicate_item(),
            UiCommand::Delete => self.delete_item(),
            UiCommand::RefreshRuns => self.list_runs(),
            UiCommand::RevealRun(folder) => self.reveal(folder),
            UiCommand::Replay(folder) => self.replay(&folder),
            UiCommand::Branch(folder, step) => self.confirm_unsaved(Intent::Branch(folder, step)),
            UiCommand::Resume(folder) => self.confirm_unsaved(Intent::Resume(folder)),
            UiCommand::Requests => self.overlays.requests.open(self.document.session.project.model.requests().first()),
            UiCommand::CancelReplay => {
                if let Some(replay) = &self.document.library.replaying {
                    replay.progress.cancel();
                }
            }
            UiCommand::NewWorkspace => self.workspace.duplicate(),
            UiCommand::CloseWorkspace => self.workspace.close(),
            UiCommand::Maximise => self.workspace.maximise(),
            UiCommand::FilterPanel => self.filter_panel(ctx),
            UiCommand::NextPanel => self.next_panel(ctx, false),
            UiCommand::PreviousPanel => self.next_panel(ctx, true),
            UiCommand::UndoLayout => self.workspace.travel(true, &self.document.session.live.schema),
            UiCommand::RedoLayout => self.workspace.travel(false, &self.document.session.live.schema),
            UiCommand::ResetLayout(target) => self.workspace.reset_layout(target, &self.document.session.live.schema),
            UiCommand::SaveLayout => self.overlays.dialog = Some(Dialog::layout_name()),
            UiCommand::ApplyLayout(at) => {
                let name = self.workspace.layouts.iter().nth(at).map(|l| l.name.clone()).unwrap_or_default();
                self.workspace.apply(&name, &self.document.session.live.schema);
            }
            UiCommand::ToggleTree => self.panels.open.tree = !self.panels.open.tree,
            UiCommand::ToggleInspector => self.panels.open.inspector = !self.panels.open.inspector,
            UiCommand::ToggleLog => self.panels.open.log = !self.panels.open.log,
            UiCommand::ToggleDev => self.panels.open.dev = !self.panels.open.dev,
            UiCommand::Theme(theme) => self.preferences.settings.appearance.theme = theme,
            UiCommand::ZoomIn => self.preferences.settings.zoom(1),
            UiCommand::ZoomOut => self.preferences.settings.zoom(-1),
            UiCommand::ZoomReset => self.preferences.settings.zoom(0),
            UiCommand::Settings => self.overlays.settings = Some(SettingsDialog::default()),
            UiCommand::Keys => self.overlays.settings = Some(SettingsDialog::at(preferences::Page::Keys, "")),
            UiCommand::FullScreen => {
                let now = ctx.input(|i| i.viewport().fullscreen.unwrap_or(false));
                ctx.send_viewport_cmd(egui::ViewportCommand::Fullscreen(!now));
            }
            UiCommand::Palette => self.overlays.palette = Some(Palette::default()),
            UiCommand::Help => self.overlays.shortcuts_sheet = true,
            UiCommand::PanelHelp => self.panel_help(),
            UiCommand::ModelHelp => self.model_help(),
            UiCommand::About => self.overlays.dialog = Some(Dialog::Text("About Neuropil", help::about())),
            UiCommand::System => {
                self.overlays.dialog = Some(Dialog::Text("System", super::pages::system::describe(self)))
            }
        }
    }

    /// Locks or unlocks the colour range. The toast shows the result: a tooltip may cover the panel.
    fn toggle_range(&mut self) {
        match self.workspace.toggle_range(&self.document.session.live.schema) {
            Some(true) => self.messages.notify(Level::Info, "Colour range locked"),
            Some(false) => self.messages.notify(Level::Info, "Colour range follows the data"),
            None => self.messages.notify(Level::Info, "This panel has no colour range"),
        }
    }

    /// Moves the keyboard focus to the filter of the focused panel.
    fn filter_panel(&mut self, ctx: &egui::Context) {
        let side = ["tree", "inspector", "log"].into_iter().find(|name| focus::has(ctx, name));
        let panel = side.or_else(|| self.workspace.focused_view().map(|v| v.name()));
        match panel.filter(|name| focus::WITH_FILTER.contains(name)) {
            Some(name) => ctx.memory_mut(|m| m.request_focus(focus::filter_id(name))),
            None => self.messages.notify(Level::Info, "This panel has no filter"),
        }
    }

    /// Cycles the keyboard focus: project tree, panels of the workspace, inspector, log.
    fn next_panel(&mut self, ctx: &egui::Context, back: bool) {
        const TREE: &str = "tree";
        const INSPECTOR: &str = "inspector";
        const LOG: &str = "log";
        let side_panels =
            [(TREE, self.panels.open.tree), (INSPECTOR, self.panels.open.inspector), (LOG, self.panels.open.log)];
        let mut stops: Vec<Option<&str>> = vec![Some(TREE), None, Some(INSPECTOR), Some(LOG)];
        stops.retain(|stop| stop.is_none_or(|name| side_panels.contains(&(name, true))));
        if back {
            stops.reverse();
        }
        let now = stops.iter().position(|stop| stop.is_some_and(|name| focus::has(ctx, name)));
        if now.is_none() && self.workspace.next_panel(ctx, back, false) {
            return;
        }
        let centre = stops.iter().position(Option::is_none).unwrap_or(0);
        let from = now.unwrap_or(centre);
        for step in 1..=stops.len() {
            match stops[(from + step) % stops.len()] {
                Some(name) => return focus::request(ctx, name),
                None if self.workspace.next_panel(ctx, back, true) => return,
                None => {}
            }
        }
    }

    /// Shows a workspace; the list of runs is read again because it shows differences to the open project.
    fn show_workspace(&mut self, at: usize) {
        self.workspace.show(at);
        if self.workspace.page() == Page::Runs {
            self.list_runs();
        }
    }

    /// Shows a run in the Runs panel.
    pub(crate) fn show_run(&mut self, folder: &Path) {
        self.workspace.show_page(Page::Runs);
        self.document.library.select(folder);
        self.list_runs();
    }

    /// Help on the focused panel.
    fn panel_help(&mut self) {
        // The panels are hidden while Home is shown.
        let help = match self.workspace.is_home {
            true => Some(home::HELP),
            false => self.workspace.focused_view().map(|view| view.help()),
        };
        match help {
            Some(help) => self.overlays.dialog = Some(Dialog::Text("Help", help.to_owned())),
            None => self.overlays.shortcuts_sheet = true,
        }
    }

    /// Help on the kind: its page, or its description.
    fn model_help(&mut self) {
        let model = &self.document.session.project.model;
        let text = match model.help() {
            "" => format!("# {}\n{}", model.title(), model.about()),
            page => page.to_owned(),
        };
        self.overlays.dialog = Some(Dialog::Text("Model help", text));
    }

    fn travel(&mut self, back: bool) {
        let session = &mut self.document.session;
        let (verb, label) = match back {
            true => ("Undid", session.history.undo(&mut session.project)),
            false => ("Redid", session.history.redo(&mut session.project)),
        };
        if let Some(label) = label {
            self.messages.log.add(Level::Info, format!("{verb}: {label}"));
        }
    }

    fn reset_parameters(&mut self) {
        let (params, defaults) =
            (self.document.session.project.model.params_mut(), self.document.session.defaults.params());
        for id in params.ids() {
            if !params.groups().get(usize::from(id.group)).is_some_and(|g| g.list) {
                params.set(&Change { id, value: defaults.get(id) });
            }
        }
    }

    fn intervene(&mut self, intervention: Intervention) {
        let session = &mut self.document.session;
        let added = interventions::add(
            session.project.model.params_mut(),
            &session.live.schema,
            &session.selection,
            intervention,
        );
        match added {
            Some(name) => self.messages.notify(Level::Info, format!("Added “{name}”")),
            None => self.messages.notify(Level::Warning, "This kind has no stimuli"),
        }
    }

    pub(crate) fn save_selection(&mut self) -> bool {
        let session = &mut self.document.session;
        let name =
            interventions::name_selection(session.project.model.params_mut(), &session.live.schema, &session.selection);
        if let Some(name) = &name {
            self.messages.notify(Level::Info, format!("Saved group “{name}”"));
        }
        name.is_some()
    }

    fn select_none(&mut self) {
        let selection = &mut self.document.session.selection;
        if !selection.elements.is_empty() {
            selection.clear();
        }
    }

    /// Opens and runs an example; one that needs files shows where to choose them.
    pub(crate) fn open_example(&mut self, name: &str) {
        let Some((example, project)) = Example::by_name(name).and_then(|e| Some((e, e.project()?))) else { return };
        if example.needs_files {
            self.clear_document();
            self.document.session.replace(project, None);
            self.list_runs();
            self.panels.open.inspector = true;
            let params = self.document.session.project.model.params();
            if let Some(at) = super::actions::import::folder_parameter(params) {
                self.panels.inspector.find(&params.path(at));
            }
            return self.messages.notify(Level::Info, "Choose the data folder in the inspector, then run");
        }
        self.set_document(project, None);
        self.document.session.live.play();
    }

    /// Saves, then runs the intent.
    pub(crate) fn save_then(&mut self, intent: Intent) {
        self.flow.after_save = Some(intent);
        self.save();
    }

    /// Whether the window may close now.
    pub(crate) fn may_close(&self) -> bool {
        self.flow.may_close
    }
}
