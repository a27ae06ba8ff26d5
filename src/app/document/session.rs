//! The open document and its simulation.

use super::{
    filter::Filter,
    history::{self, History, UndoableAction},
    in_force::InForce,
    items::LeftChoices,
    live::{EditAcks, Live, Origin, RunLog},
    playback::OpenedRun,
    selection::Selection,
};
use crate::{
    kinds::Model,
    params::Change,
    project::{Continuation, Project, RunFolder, RunPlan},
    sim::{ElementSet, Frame, Snapshot},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// The open document.
pub struct Session {
    /// The document. Widgets edit it in place; undo, saving and engine commands are derived by comparison.
    pub project: Project,
    /// File of the document; `None` if the document was never saved.
    pub path: Option<PathBuf>,
    /// Base folder of relative paths for a document without a file, such as a run that is displayed or continued; `None`
    /// otherwise.
    pub base: Option<PathBuf>,
    saved: Arc<Project>,
    /// Saved layout of the document, until a simulation is loaded. While the document is open, the layout is in the
    /// workspace, and rearranging it is not an edit.
    pub layout: Option<String>,
    /// Whether no simulation of this document has been loaded yet, so that views start with their defaults.
    pub is_new: bool,
    /// Whether an edit was reverted, because a finished run is read-only.
    pub was_read_only: bool,
    /// Time of the last save; `None` if the document was not saved since it was opened.
    pub saved_at: Option<Instant>,
    pub history: History,
    /// Default parameters of the kind, for change marks and resets.
    pub defaults: Model,
    pub live: Live,
    /// The selection, shared by all views.
    pub selection: Selection,
    /// [`Frame::epoch`] of the last frame.
    epoch: u64,
    /// The element filter of all views.
    pub filter: Filter,
    /// Values of the groups that were chosen before; a group that is chosen again gets its values back.
    pub left_choices: LeftChoices,
    /// Parameters in effect along the shown run; `None` if no run is shown.
    in_force: Option<InForce>,
}

impl Session {
    /// Creates a session with an unchanged document.
    pub fn new(mut project: Project, path: Option<PathBuf>, live: Live) -> Self {
        let mut session = Self {
            layout: project.workspace.take(),
            saved: Arc::new(project.clone()),
            saved_at: None,
            is_new: true,
            was_read_only: false,
            history: History::new(&project),
            defaults: project.model.clone(),
            project,
            path,
            base: None,
            live,
            selection: Selection::default(),
            epoch: 0,
            filter: Filter::default(),
            left_choices: LeftChoices::default(),
            in_force: None,
        };
        session.fetch_defaults();
        session
    }

    /// Replaces the document, and drops the simulation of the old one.
    pub fn replace(&mut self, mut project: Project, path: Option<PathBuf>) {
        self.live.forget();
        self.layout = project.workspace.take();
        self.saved = Arc::new(project.clone());
        self.saved_at = None;
        self.is_new = true;
        self.history = History::new(&project);
        self.project = project;
        (self.path, self.base) = (path, None);
        self.selection = Selection::default();
        self.filter = Filter::default();
        self.left_choices = LeftChoices::default();
        self.in_force = None;
        self.fetch_defaults();
    }

    /// Shows a finished run. The document then has the parameters in effect at the time cursor. Fails if the run's streams
    /// cannot be read.
    pub fn show_run(&mut self, opened: OpenedRun) -> Result<(), String> {
        self.replace(opened.project.clone(), None);
        self.base = Some(opened.run.base());
        self.in_force = Some(InForce::new(opened.project.model.clone(), opened.log.clone()));
        self.live.show(opened)
    }

    /// Shows another trial of the shown series. Selection, filter and playback speed stay. Fails, and shows the former trial, if the
    /// streams of the trial cannot be read.
    pub fn show_other_trial(&mut self, opened: OpenedRun) -> Result<(), String> {
        let (project, log, base) = (opened.project.clone(), opened.log.clone(), opened.run.base());
        self.live.show_other_trial(opened)?;
        let speed = self.project.run.speed;
        self.in_force = Some(InForce::new(project.model.clone(), log));
        self.project = Project { workspace: None, ..project };
        self.saved = Arc::new(self.project.clone());
        self.history = History::new(&self.project);
        self.project.run.speed = speed;
        self.base = Some(base);
        Ok(())
    }

    /// Returns the number of edits and actions of a finished run before the time cursor, and the number in the whole run;
    /// `None` without a run.
    pub fn counts_in_force(&self) -> Option<(usize, usize)> {
        self.in_force.as_ref().map(InForce::counts)
    }

    /// Builds the simulation of the shown run and repeats its edits at their steps.
    pub fn rerun_as_recorded(&mut self) {
        let (Some(log), Some(run)) = (self.live.run_log(), &self.live.playback) else { return };
        let context = run.build_context(&log.project);
        self.live.rerun_as_recorded(context);
    }

    /// Sets the document to the one from which the simulation was built, because a simulation was loaded in place of the
    /// shown run.
    pub fn leave_run(&mut self) {
        if self.in_force.take().is_some()
            && let Some(built) = self.live.built_model()
        {
            self.project.model = built.clone();
            self.history = History::new(&self.project);
        }
    }

    /// Applies to the document a recorded change that a rerun has repeated. The change is an undoable step.
    pub fn follow_repeated(&mut self, change: &Change) {
        let before = self.project.clone();
        if self.project.model.params_mut().set(change) && self.project != before {
            let label = format!("{} (as recorded)", history::describe(&before, &self.project));
            self.history.commit_as(&self.project, &label);
        }
    }

    /// Undoes a step, or redoes one, and returns its label; `None` if there is no step. The engine performs the action of a
    /// step.
    pub fn travel(&mut self, back: bool) -> Option<String> {
        let step = match back {
            true => self.history.undo(&mut self.project),
            false => self.history.redo(&mut self.project),
        }?;
        if let Some(action) = step.action {
            self.live.act_again(action);
        }
        Some(step.label)
    }

    /// Adds a performed action to the undo history.
    pub fn add_action(&mut self, action: UndoableAction) {
        let specs = self.project.model.actions().iter();
        let label =
            specs.into_iter().find(|spec| spec.name == action.done.name).map(|spec| spec.label().to_lowercase());
        self.history.add_action(label.unwrap_or_default(), action);
    }

    fn fetch_defaults(&mut self) {
        if let Some(model) = Model::by_name(self.project.model.name()) {
            self.defaults = model;
        }
    }

    /// Whether there are unsaved changes. A value that the engine rejected does not count as a change, unless it was saved before
    /// the engine rejected it.
    pub fn is_dirty(&self) -> bool {
        if self.live.playback.is_some() {
            return false;
        }
        let is_rejected_since = self.saved_at.is_some() && self.live.without_rejected(&self.saved.model).is_some();
        is_rejected_since || (self.project != *self.saved && self.accepted_document().0 != *self.saved)
    }

    /// Returns the document to save, and the paths of the values that it omits. Values that the engine rejected are
    /// replaced by those of the engine, so that the saved document can be built.
    pub fn accepted_document(&self) -> (Project, Vec<String>) {
        match self.live.without_rejected(&self.project.model) {
            Some((model, left_out)) => (Project { model, ..self.project.clone() }, left_out),
            None => (self.project.clone(), vec![]),
        }
    }

    /// Whether a project equals the document as last saved or opened.
    pub fn is_as_saved(&self, project: &Project) -> bool {
        *project == *self.saved
    }

    /// Replaces the document by the file's new content, as one undoable step.
    pub fn reload(&mut self, project: Project) {
        self.saved = Arc::new(project.clone());
        self.saved_at = None; // Another program wrote the file, so that a value that the engine rejects is not overwritten.
        self.project = project;
        self.history.commit_as(&self.project, "reload the file");
        self.fetch_defaults();
    }

    /// Replaces the document by the project of a checkpoint as one undoable step, and builds a simulation in the state of
    /// the checkpoint. Name, notes, colours and layout are kept.
    pub fn branch(&mut self, origin: Origin, now: Project, state: Arc<Snapshot>) {
        let Project { version, name, notes, view, workspace, .. } = self.project.clone();
        self.project = Project { version, name, notes, view, workspace, ..now };
        let label = format!("branch from step {}", crate::app::kit::text::count(origin.1.step));
        self.history.commit_as(&self.project, &label);
        self.fetch_defaults();
        let context = self.project.build_context(&self.folder());
        self.live.branch(&self.project, context, state, origin);
    }

    /// Replaces the document by the project of a run at its last checkpoint, and builds the simulation that continues it.
    pub fn resume(&mut self, run: &RunFolder, from: &Continuation) {
        self.replace(from.now.clone(), None);
        self.base = Some(run.base());
        let since = RunLog { project: from.project.clone(), log: from.history.commands.clone() };
        let context = run.build_context(&self.project);
        self.live.resume(&self.project, context, from.snapshot.clone(), (from.info.step, since));
    }

    /// Records that the document was saved as `project` in `path`.
    pub fn saved(&mut self, path: PathBuf, project: &Project) {
        self.path = Some(path);
        self.saved = Arc::new(Project { workspace: None, ..project.clone() });
        self.saved_at = Some(Instant::now());
    }

    /// Marks the document as unsaved, for example after a crash recovery.
    pub fn mark_unsaved(&mut self) {
        self.saved = Arc::new(Project { version: 0, ..Project::default() });
    }

    /// Returns the base folder of relative paths in the document: the folder of its file, otherwise `base`, otherwise the
    /// working directory.
    pub fn folder(&self) -> PathBuf {
        let parent = self.path.as_deref().and_then(Path::parent).filter(|p| !p.as_os_str().is_empty());
        parent.or(self.base.as_deref()).map_or_else(|| PathBuf::from("."), Path::to_owned)
    }

    /// Returns the file of the document. For a document without a file, the path is derived from the project's name.
    pub fn default_path(&self) -> PathBuf {
        let path = self.path.clone().unwrap_or_else(|| self.folder().join(self.file_name()));
        std::path::absolute(&path).unwrap_or(path)
    }

    /// Renames a project after its new file if its name was that of the former file. A name chosen by the user is kept.
    pub fn rename_for(&mut self, path: &Path) {
        let (named, place) = (self.file_name(), self.default_path());
        let is_of_file = place.file_name().is_some_and(|file| file.to_string_lossy() == named);
        let is_same = path.file_name().is_some_and(|file| file.to_string_lossy() == named);
        if let Some(stem) = path.file_stem().filter(|_| is_of_file && !is_same) {
            self.project.name = stem.to_string_lossy().into_owned();
        }
    }

    fn file_name(&self) -> String {
        let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = self.project.name.trim().chars().map(plain).collect();
        format!("{}.ron", if name.is_empty() { "project" } else { &name })
    }

    /// Returns the folder of the project's runs.
    pub fn runs_folder(&self) -> PathBuf {
        self.folder().join("runs")
    }

    /// Takes the individuals of a frame, and updates the selection.
    pub fn follow_individuals(&mut self, frame: &mut Frame) {
        self.selection.now = frame.clock.step;
        if std::mem::replace(&mut self.epoch, frame.epoch) != frame.epoch {
            self.selection.forget_individuals();
        }
        for (set, now) in &frame.individuals {
            self.selection.identify(set, now);
        }
        if !frame.individuals.is_empty() {
            self.live.individuals.clone_from(&frame.individuals);
        }
    }

    /// Whether slots with individuals are selected, or a query may name individuals.
    pub fn names_individuals(&self) -> bool {
        let is_slots = |set: &Arc<ElementSet>| set.are_slots && !self.selection.of(set.name).is_empty();
        self.live.schema.sets.iter().any(is_slots) || self.filter.names_individuals()
    }

    /// Builds the simulation from the current document.
    pub fn build(&mut self, play: bool) {
        self.live.limit_steps(self.project.steps_per_run());
        let context = self.project.build_context(&self.folder());
        self.live.build(&self.project, context, play);
    }

    /// Whether *Run* restarts at step 0. This is the case at the end of a run, unless the run trains or began at a
    /// checkpoint; such runs continue.
    pub fn runs_again(&self) -> bool {
        self.live.has_ended() && !self.project.model.keeps_final_state() && self.live.origin.is_none()
    }

    /// Builds the simulation on the CPU after a device failure.
    pub fn continue_on_cpu(&mut self) {
        let folder = self.folder();
        self.live.continue_on_cpu(&self.project, &folder);
    }

    /// Commits undo steps and sends changes to the engine. Called once per frame, after the widgets. Returns `true` while an edit
    /// is uncommitted.
    pub fn reconcile(&mut self, pointer_down: bool, typing: bool, now_secs: f64, shown_step: u64) -> bool {
        if self.live.playback.is_some() {
            self.keep_playback(shown_step);
            return false;
        }
        self.project.follow_links();
        let folder = self.folder();
        self.live.reconcile(&self.project, &folder, typing);
        let speed = self.project.run.speed;
        self.live.limit_speed((speed > 0.0).then_some(speed));
        self.live.limit_steps(self.project.steps_per_run());
        self.history.feed(&self.project, pointer_down, typing, now_secs)
    }

    /// Keeps a finished run read-only: sets the parameters in effect at a step, and reverts edits except those of the
    /// playback speed.
    fn keep_playback(&mut self, shown_step: u64) {
        let is_same = |a: &Project, b: &Project| {
            let run = RunPlan { speed: 0.0, ..a.run.clone() } == RunPlan { speed: 0.0, ..b.run.clone() };
            run && Project { run: b.run.clone(), ..a.clone() } == *b
        };
        let recorded = self.history.committed().clone();
        let is_edited = self.project != *recorded && !is_same(&self.project, &recorded);
        let moved = self.in_force.as_mut().and_then(|run| run.move_to(shown_step).cloned());
        if !is_edited && moved.is_none() {
            return;
        }
        let speed = self.project.run.speed;
        self.project = Project::clone(&recorded);
        if let Some(model) = moved {
            self.project.model = model;
            self.history = History::new(&self.project);
            self.live.acks = EditAcks::of_recorded(self.in_force.iter().flat_map(InForce::changes));
        }
        self.project.run.speed = speed;
        self.was_read_only |= is_edited;
    }
}
