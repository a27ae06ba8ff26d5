//! Protects unsaved work: confirmation before a document is closed, autosave, and restoring after a crash.

use crate::{
    app::{
        document::{
            command::Intent,
            journal::{self, UnsavedWork},
        },
        kit::level::Level,
        shell::{App, dialogs::Dialog},
    },
    project::{self, Project},
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

impl App {
    /// Saves a document that has a file, at the interval of the settings.
    pub(crate) fn autosave(&mut self, ctx: &egui::Context) {
        let is_dirty =
            self.document.session.is_dirty() && self.document.session.path.is_some() && !self.overlays.is_modal();
        match self.document.autosave.due(is_dirty, Duration::from_secs_f64(self.preferences.settings.work.autosave_s)) {
            Ok(()) => self.save(),
            Err(Duration::MAX) => {}
            Err(left) => ctx.request_repaint_after(left),
        }
    }

    /// Runs the intent now, or asks first when work would be lost: the run, then the changes of the project.
    pub(crate) fn confirm_unsaved(&mut self, intent: Intent) {
        match self.document.session.live.unrecorded() {
            Some(unrecorded) => self.overlays.dialog = Some(Dialog::Unrecorded(intent, unrecorded)),
            None => self.confirm_changes(intent),
        }
    }

    /// Runs the intent now, or asks first when changes of the project would be lost, or a recording or sweep would end.
    pub(crate) fn confirm_changes(&mut self, intent: Intent) {
        if self.would_lose_changes(&intent) {
            self.overlays.dialog = Some(Dialog::Unsaved(intent));
        } else {
            self.run_intent(intent);
        }
    }

    /// Unsaved changes, a recording in progress, or a sweep that ends with the window.
    fn would_lose_changes(&self, intent: &Intent) -> bool {
        let is_recording = self.document.session.live.recording.is_some();
        let ends_sweep = *intent == Intent::Close && self.document.library.sweeping.is_some();
        intent.closes_document() && (self.document.session.is_dirty() || is_recording || ends_sweep)
    }

    /// Asks before the window closes when work would be lost.
    pub(crate) fn confirm_close(&mut self, ctx: &egui::Context) {
        let leaves = ctx.input(|i| i.viewport().close_requested()) && !self.flow.may_close;
        let asks = || self.document.session.live.unrecorded().is_some() || self.would_lose_changes(&Intent::Close);
        if leaves && (self.flow.keeping.is_some() || asks()) {
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
            if self.flow.keeping.is_none() {
                self.confirm_unsaved(Intent::Close);
            }
        }
    }

    /// Opens a project or a run folder dropped on the window.
    pub(crate) fn open_dropped(&mut self, ctx: &egui::Context) {
        let dropped = ctx.input(|i| i.raw.dropped_files.first().map(|f| f.path().to_owned()));
        match dropped {
            Some(path) if super::trees::is_tree_file(&path) => self.open_trees(path),
            Some(path) if path.is_dir() || path.extension().is_some_and(|e| e == "ron") => {
                self.confirm_unsaved(Intent::Open(path))
            }
            Some(path) => self
                .messages
                .notify(Level::Warning, format!("{} is not a project: project files end in .ron", path.display())),
            None => {}
        }
    }

    /// Runs an intent after the confirmation.
    pub(crate) fn run_intent(&mut self, intent: Intent) {
        match intent {
            Intent::Close => self.flow.may_close = true,
            Intent::Rewind => self.document.session.live.rewind(),
            Intent::Rebuild => self.document.session.build(false),
            Intent::Branch(folder, step) => self.branch(&folder, step),
            Intent::Resume(folder) => self.resume(&folder),
            Intent::Pick => self.pick(crate::app::shell::actions::files::Purpose::Open),
            Intent::Open(path) => self.open_path(path),
            Intent::Example(name) => self.open_example(name),
            Intent::Import(folder) => self.build_imported(&folder),
            Intent::New(kind) => {
                let project = project::new_project(kind).unwrap_or_default();
                self.set_document(project, None);
            }
        }
    }

    /// Replaces the open document and builds its simulation.
    pub(crate) fn set_document(&mut self, project: Project, path: Option<PathBuf>) {
        self.clear_document();
        self.document.session.replace(project, path);
        if self.document.session.live.has_engine() {
            self.document.session.build(false);
        }
        self.list_runs();
    }

    /// Before another document is opened: its layout is dropped, and with it the problems of the old one.
    pub(crate) fn clear_document(&mut self) {
        self.workspace.clear();
        self.messages.toasts.clear_errors();
        (self.flow.opening, self.flow.resuming) = (None, None);
    }

    /// Restores the unsaved work of a crashed window as one undoable step.
    pub(crate) fn restore(&mut self, left: UnsavedWork) {
        self.document.journal.adopt(&left.file);
        self.clear_document();
        let has_base = left.base.is_some();
        let base = left.base.unwrap_or_else(|| left.project.clone());
        self.document.session.replace(*base, left.path);
        self.document.session.project = Project { workspace: None, ..*left.project };
        self.document.session.history.commit_as(&self.document.session.project, "restore unsaved work");
        if !has_base {
            self.document.session.mark_unsaved();
        }
        if self.document.session.live.has_engine() {
            self.document.session.build(false);
        }
        self.list_runs();
    }

    /// Restores the unsaved work and opens the saved file in a second window.
    pub(crate) fn restore_beside_file(&mut self, left: UnsavedWork) {
        let path = left.path.clone().unwrap_or_default();
        if let Err(e) = (self.host.second_window)(&path) {
            self.messages.notify(Level::Error, format!("Could not open a second window: {e}"));
        }
        self.restore(left);
    }

    /// Deletes the unsaved work of a crashed window and looks for more.
    pub(crate) fn delete_unsaved_work(&mut self, left: &Path) {
        std::fs::remove_file(left).ok();
        let Some(folder) = left.parent().map(Path::to_owned) else { return };
        self.job("journal", move || journal::find(&folder), Self::offer_unsaved_work);
    }

    /// The project's file was written. Content equal to the last save is our own.
    pub(crate) fn file_changed(&mut self, path: PathBuf, found: Project) {
        let found = Project { workspace: None, ..found };
        let is_ours =
            self.document.session.is_as_saved(&found) || self.document.session.path.as_deref() != Some(&*path);
        if !is_ours && !matches!(self.overlays.dialog, Some(Dialog::FileChanged(..))) {
            let lines = project::diff(&self.document.session.project, &found).iter().map(ToString::to_string).collect();
            self.overlays.open_dialog(Dialog::FileChanged(path, Box::new(found), lines));
        }
    }

    /// Reloads the project's file as one undoable step.
    pub(crate) fn reload(&mut self, found: Project) {
        self.document.session.reload(found);
        self.messages.log.add(Level::Info, "Reloaded the project file");
    }

    /// Offers the unsaved work of a crashed window.
    pub(crate) fn offer_unsaved_work(&mut self, left: Option<UnsavedWork>) {
        if let Some(left) = left {
            let lines = left.differences();
            self.overlays.open_dialog(Dialog::Restore(left, lines));
        }
    }

    /// Shows the report of a crash.
    pub(crate) fn show_crash_report(&mut self, report: Option<(PathBuf, String)>) {
        if let Some((file, text)) = report {
            self.overlays.open_dialog(Dialog::Crash(file, text));
        }
    }
}
