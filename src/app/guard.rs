//! Nothing is lost on the way out: what is asked before a document is left, and how work comes back.

use super::{
    App,
    dialogs::{Dialog, Intent},
    jobs::Done,
    journal::{self, Leftover},
    log::Level,
};
use crate::{
    kinds::Model,
    project::{self, Project},
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Since when the open document has had unsaved changes.
#[derive(Default)]
pub struct Autosave(Option<Instant>);

impl Autosave {
    /// Whether it is time to save, and in how long it will be.
    fn due(&mut self, is_dirty: bool, every: Duration) -> Result<(), Duration> {
        if !is_dirty || every.is_zero() {
            self.0 = None;
            return Err(Duration::MAX);
        }
        let left = every.saturating_sub(self.0.get_or_insert_with(Instant::now).elapsed());
        if left.is_zero() {
            self.0 = None;
            return Ok(());
        }
        Err(left)
    }
}

impl App {
    /// Saves a document that has a file, when the user wants that now and then.
    pub(super) fn autosave(&mut self, ctx: &egui::Context) {
        let is_dirty = self.session.is_dirty() && self.session.path.is_some() && !self.is_modal();
        match self.autosave.due(is_dirty, Duration::from_secs_f64(self.settings.work.autosave_s)) {
            Ok(()) => self.save(),
            Err(Duration::MAX) => {}
            Err(left) => ctx.request_repaint_after(left),
        }
    }

    /// Does it now, or asks first when there is something to lose.
    pub(super) fn unless_dirty(&mut self, intent: Intent) {
        if self.has_something_to_lose() {
            self.dialog = Some(Dialog::Unsaved(intent));
        } else {
            self.carry_out(intent);
        }
    }

    /// Changes that are not saved, a recording in progress, or a run that took long to get where it is.
    fn has_something_to_lose(&self) -> bool {
        self.session.is_dirty() || self.session.live.recording.is_some() || self.attention.is_long_run(Instant::now())
    }

    /// Closing the window asks first when there is something to lose.
    pub(super) fn guard_close(&mut self, ctx: &egui::Context) {
        let leaves = ctx.input(|i| i.viewport().close_requested()) && !self.may_close;
        if leaves && self.has_something_to_lose() {
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
            self.dialog = Some(Dialog::Unsaved(Intent::Close));
        }
    }

    /// A project or a run folder that is dropped on the window is opened.
    pub(super) fn take_dropped(&mut self, ctx: &egui::Context) {
        let dropped = ctx.input(|i| i.raw.dropped_files.first().map(|f| f.path().to_owned()));
        match dropped {
            Some(path) if path.is_dir() || path.extension().is_some_and(|e| e == "ron") => {
                self.unless_dirty(Intent::Open(path))
            }
            Some(path) => self.say(Level::Warning, format!("{} is no project: projects end in .ron", path.display())),
            None => {}
        }
    }

    /// Does what was asked before the question about unsaved changes.
    pub(super) fn carry_out(&mut self, intent: Intent) {
        match intent {
            Intent::Close => self.may_close = true,
            Intent::Pick => self.pick(super::jobs::Purpose::Open),
            Intent::Open(path) => self.open_path(path),
            Intent::Example(name) => self.open_example(name),
            Intent::New(kind) => {
                let model = Model::by_name(kind).unwrap_or_else(|| self.session.defaults.clone());
                self.take_document(Project { model, ..Project::default() }, None);
            }
        }
    }

    /// A document takes the place of the open one, and its simulation is built.
    pub(super) fn take_document(&mut self, project: Project, path: Option<PathBuf>) {
        self.workspace.clear();
        self.session.replace(project, path);
        if self.session.live.has_engine() {
            self.session.build(false);
        }
        self.list_runs();
    }

    /// Takes up what a crashed window left behind, as one step that can be undone.
    pub(super) fn restore(&mut self, left: Leftover) {
        self.journal.adopt(&left.file);
        self.workspace.clear();
        let has_base = left.base.is_some();
        let base = left.base.unwrap_or_else(|| left.project.clone());
        self.session.replace(*base, left.path);
        self.session.project = Project { workspace: None, ..*left.project };
        self.session.history.commit_as(&self.session.project, "restore unsaved work");
        if !has_base {
            self.session.mark_unsaved();
        }
        if self.session.live.has_engine() {
            self.session.build(false);
        }
        self.list_runs();
    }

    /// The same, and the file as it is in a window of its own.
    pub(super) fn restore_beside_file(&mut self, left: Leftover) {
        let path = left.path.clone().unwrap_or_default();
        if let Err(e) = (self.second_window)(&path) {
            self.say(Level::Error, format!("No second window: {e}"));
        }
        self.restore(left);
    }

    /// What a crashed window left is not wanted; there may be more.
    pub(super) fn forget_leftover(&mut self, left: &Path) {
        std::fs::remove_file(left).ok();
        let Some(folder) = left.parent().map(Path::to_owned) else { return };
        if let Err(e) = self.jobs.spawn("journal", move || journal::find(&folder)) {
            self.say(Level::Error, e);
        }
    }

    /// The project's file was written by somebody. Our own writing is what was last saved.
    pub(super) fn changed_outside(&mut self, path: PathBuf, found: Project) {
        let found = Project { workspace: None, ..found };
        let is_ours = self.session.is_as_saved(&found) || self.session.path.as_deref() != Some(&*path);
        if !is_ours && !matches!(self.dialog, Some(Dialog::Outside(..))) {
            let lines = project::diff(&self.session.project, &found).iter().map(ToString::to_string).collect();
            self.ask(Dialog::Outside(path, Box::new(found), lines));
        }
    }

    /// Takes up the project's file as somebody else wrote it, as one step that can be undone.
    pub(super) fn reload(&mut self, found: Project) {
        self.session.reload(found);
        self.log.add(Level::Info, "Reloaded the project's file");
    }

    /// Asks now, or after the question that is open.
    pub(super) fn ask(&mut self, dialog: Dialog) {
        match self.dialog {
            None => self.dialog = Some(dialog),
            Some(_) => self.questions.push_back(dialog),
        }
    }

    /// What the search for leftovers of crashed windows ended with.
    pub(super) fn take_leftover(&mut self, done: Done) {
        match done {
            Done::Journal(Some(left)) => {
                let lines = left.differences();
                self.ask(Dialog::Restore(left, lines));
            }
            Done::Crash(Some((file, text))) => self.ask(Dialog::Crash(file, text)),
            _ => {}
        }
    }
}
