//! The open document, and the simulation that follows it.

use super::{
    history::History,
    live::Live,
    views::{Selection, filter::Filter},
};
use crate::{kinds::Model, project::Project};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// The open document.
pub struct Session {
    /// The document. Widgets edit it in place; undo, saving and the engine follow from comparing.
    pub project: Project,
    /// Its file, when it has one.
    pub path: Option<PathBuf>,
    saved: Arc<Project>,
    /// The saved layout, until a simulation is there to use it. While the document is open, the layout is the
    /// workspace's and rearranging it is no edit.
    pub layout: Option<String>,
    /// When it was last saved.
    pub saved_at: Option<Instant>,
    /// Undo.
    pub history: History,
    /// The kind's defaults: hollow dots and resets.
    pub defaults: Model,
    /// The simulation.
    pub live: Live,
    /// What is selected, in all views.
    pub selection: Selection,
    /// Which elements all views show.
    pub filter: Filter,
}

impl Session {
    /// A session around a document that nothing has been done to yet.
    pub fn new(mut project: Project, path: Option<PathBuf>, live: Live) -> Self {
        let mut session = Self {
            layout: project.workspace.take(),
            saved: Arc::new(project.clone()),
            saved_at: None,
            history: History::new(&project),
            defaults: project.model.clone(),
            project,
            path,
            live,
            selection: Selection::default(),
            filter: Filter::default(),
        };
        session.fetch_defaults();
        session
    }

    /// Puts another document in place of this one. The simulation of the old one is forgotten.
    pub fn replace(&mut self, mut project: Project, path: Option<PathBuf>) {
        self.live.forget();
        self.layout = project.workspace.take();
        self.saved = Arc::new(project.clone());
        self.saved_at = None;
        self.history = History::new(&project);
        self.project = project;
        self.path = path;
        self.selection = Selection::default();
        self.filter = Filter::default();
        self.fetch_defaults();
    }

    fn fetch_defaults(&mut self) {
        if let Some(model) = Model::by_name(self.project.model.name()) {
            self.defaults = model;
        }
    }

    /// Whether there is anything to save.
    pub fn is_dirty(&self) -> bool {
        self.project != *self.saved
    }

    /// Whether this is the document as it was last saved or opened.
    pub fn is_as_saved(&self, project: &Project) -> bool {
        *project == *self.saved
    }

    /// Another program has written the file: its content becomes the document, as one step that can be undone.
    pub fn reload(&mut self, project: Project) {
        self.saved = Arc::new(project.clone());
        self.project = project;
        self.history.commit_as(&self.project, "reload the file");
        self.fetch_defaults();
    }

    /// The document reached the disk.
    pub fn saved(&mut self, path: PathBuf, project: &Project) {
        self.path = Some(path);
        self.saved = Arc::new(Project { workspace: None, ..project.clone() });
        self.saved_at = Some(Instant::now());
    }

    /// The document is not what is on the disk, whatever that is: it was restored after a crash.
    pub fn mark_unsaved(&mut self) {
        self.saved = Arc::new(Project { version: 0, ..Project::default() });
    }

    /// The folder relative paths of the document start from.
    pub fn folder(&self) -> PathBuf {
        let parent = self.path.as_deref().and_then(Path::parent);
        parent.filter(|p| !p.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_owned)
    }

    /// Its file; or where it would be, named after the project, before it has one.
    pub fn place(&self) -> PathBuf {
        let path = self.path.clone().unwrap_or_else(|| self.folder().join(self.file_name()));
        std::path::absolute(&path).unwrap_or(path)
    }

    /// A project whose file was named after it is named after its new file: a copy of an example is not that example. A
    /// name of its own stays.
    pub fn rename_for(&mut self, path: &Path) {
        let (named, place) = (self.file_name(), self.place());
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

    /// Where its runs are kept.
    pub fn runs_folder(&self) -> PathBuf {
        self.folder().join("runs")
    }

    /// Builds the simulation from the document as it is now.
    pub fn build(&mut self, play: bool) {
        let scene = self.project.scene(&self.folder());
        self.live.build(&self.project, scene, play);
    }

    /// Builds the simulation on the CPU after the device has failed.
    pub fn continue_on_cpu(&mut self) {
        let folder = self.folder();
        self.live.continue_on_cpu(&self.project, &folder);
    }

    /// Once a frame, after the widgets: undo steps are cut, the engine is told what changed. `true` while a step
    /// waits to be cut.
    pub fn reconcile(&mut self, pointer_down: bool, typing: bool, now_secs: f64) -> bool {
        self.project.follow_links();
        self.live.reconcile(&self.project.model);
        let speed = self.project.run.speed;
        self.live.limit_speed((speed > 0.0).then_some(speed));
        self.history.feed(&self.project, pointer_down, typing, now_secs)
    }
}
