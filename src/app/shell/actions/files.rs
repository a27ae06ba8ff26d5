//! File dialogs, and the files that the window reads and writes.

use super::super::workspace::saved;
use crate::{
    app::{
        kit::level::Level,
        shell::{
            App,
            dialogs::Dialog,
            figure::{self, FigureHandle},
        },
    },
    data::io_reason,
    params::Change,
    project::{self, Project, Warning, run::MANIFEST},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

/// A dialog that closes sooner was never shown: this desktop has no file portal.
const SHORTEST: Duration = Duration::from_millis(400);
/// Beginning of the message of a failed save.
const SAVE_FAILED: &str = "Could not save";

/// Purpose of a file dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To open a project.
    Open,
    /// To save the project.
    SaveAs,
    /// To set a parameter to the path.
    Parameter(crate::params::ParamId),
    /// A connection list to import.
    Import,
    /// To write a text: a proposed name and the text.
    SaveText(String, Arc<str>),
    /// To write a picture of a panel.
    Figure(FigureHandle),
}

impl App {
    /// Reads a project, a run folder or a file of trees on a thread.
    pub(crate) fn open_path(&mut self, path: PathBuf) {
        if let Some(folder) = run_folder(&path) {
            return self.open_run(folder);
        }
        if super::trees::is_tree_file(&path) {
            return self.open_trees(path);
        }
        let read = move || {
            let read = project::open(&path).map_err(|e| e.to_string());
            (path, read.map(|(project, warnings)| (Box::new(project), warnings)))
        };
        self.job("open", read, |app, (path, read)| match read {
            Ok((project, warnings)) => app.receive(path, project, warnings),
            Err(e) => app.open_failed(format!("Could not open: {e}")),
        });
    }

    /// Opens a file dialog: the system's, or a field for the path.
    pub(crate) fn pick(&mut self, purpose: Purpose) {
        if !self.host.native_dialogs {
            return self.ask_path(purpose);
        }
        let place = self.document.session.default_path();
        let ask = move || {
            let since = Instant::now();
            let path = pick(&purpose, &place);
            (purpose, path, since.elapsed())
        };
        self.job("dialog", ask, |app, (purpose, path, took)| match path {
            Some(path) => app.picked(purpose, path),
            None if took < SHORTEST => app.ask_path(purpose),
            None if purpose == Purpose::SaveAs => app.flow.after_save = None,
            None => {}
        });
    }

    pub(crate) fn ask_path(&mut self, purpose: Purpose) {
        let here = self.document.session.default_path();
        let text = match &purpose {
            Purpose::SaveText(name, _) => here.with_file_name(name).display().to_string(),
            Purpose::Figure(figure) => here.with_file_name(figure.file_name()).display().to_string(),
            Purpose::SaveAs => here.display().to_string(),
            _ => self.document.session.path.as_ref().map(|p| p.display().to_string()).unwrap_or_default(),
        };
        self.overlays.dialog = Some(Dialog::Path { purpose, text });
    }

    /// Saves to the project's file; asks for a path when it has none.
    pub(crate) fn save(&mut self) {
        match self.document.session.path.clone() {
            Some(path) => self.save_to(path),
            None => self.pick(Purpose::SaveAs),
        }
    }

    pub(crate) fn save_to(&mut self, path: PathBuf) {
        let (document, left_out) = self.document.session.accepted_document();
        let document = Project { workspace: self.workspace.to_text(), ..document };
        let save = move || {
            let saved = project::save(&document, &path).map_err(|e| e.to_string());
            (path, document, saved)
        };
        if !self.job("save", save, |app, (path, document, saved)| app.saved(path, &document, saved)) {
            return;
        }
        if !left_out.is_empty() {
            let what = "was rejected by the simulation: the project is saved with the value in use";
            self.messages.notify(Level::Warning, format!("The value of {} {what}", left_out.join(", ")));
        }
    }

    /// The project was written, or could not be.
    fn saved(&mut self, path: PathBuf, document: &Project, saved: Result<(), String>) {
        if let Err(e) = saved {
            self.flow.after_save = None;
            return self.messages.notify(Level::Error, format!("{SAVE_FAILED}: {e}"));
        }
        self.workspace.mark_saved();
        self.host.recent.add(&path);
        self.messages.log.add(Level::Info, format!("Saved {}", path.display()));
        self.allow_own(&path, document);
        self.document.session.saved(path, document);
        self.messages.toasts.resolve(&[SAVE_FAILED]);
        if let Some(intent) = self.flow.after_save.take() {
            self.run_intent(intent);
        }
    }

    /// Handles a path chosen in a dialog.
    pub(crate) fn picked(&mut self, purpose: Purpose, path: PathBuf) {
        match purpose {
            Purpose::Open => self.open_path(path),
            Purpose::SaveAs => {
                let path = if path.extension().is_none() { path.with_extension("ron") } else { path };
                self.document.session.rename_for(&path);
                self.save_to(path);
            }
            Purpose::Figure(figure) => {
                self.job("figure", move || figure::write(&figure.0, &path), Self::exported);
            }
            Purpose::SaveText(_, text) => {
                let write = move || match std::fs::write(&path, text.as_bytes()) {
                    Ok(()) => Ok(format!("Wrote {}", path.display())),
                    Err(e) => Err(format!("{}: {}", path.display(), io_reason(&e))),
                };
                self.job("write", write, Self::exported);
            }
            Purpose::Import => {
                self.overlays.import.get_or_insert_default().add(&path);
            }
            Purpose::Parameter(id) => {
                let value = crate::params::Value::Text(path.display().to_string());
                self.document.session.project.model.params_mut().set(&Change { id, value });
            }
        }
    }

    /// Saves the current layout under a name: in the project, or in a file for all projects.
    pub(crate) fn keep_layout(&mut self, name: &str, in_project: bool) {
        let layout = self.workspace.save_layout(name, in_project);
        let folder = self.host.config_dir.as_ref().map(|d| d.join("layouts"));
        match folder.filter(|_| !in_project) {
            None => self.messages.notify(Level::Info, format!("Layout “{name}” is saved with the project")),
            Some(folder) => {
                let write = move || saved::write_to_folder(&folder, &layout).map(|_| layout.name);
                self.job("layout", write, |app, kept| match kept {
                    Ok(name) => app.messages.notify(Level::Info, format!("Saved layout “{name}”")),
                    Err(e) => app.messages.notify(Level::Error, format!("Could not save the layout: {e}")),
                });
            }
        }
    }

    /// Shows the summary of a written file, or why it was not written.
    pub(crate) fn exported(&mut self, written: Result<String, String>) {
        match written {
            Ok(text) => self.messages.notify(Level::Info, text),
            Err(e) => self.messages.notify(Level::Error, format!("Could not export: {e}")),
        }
    }

    /// Shows a folder in the desktop's file manager.
    pub(crate) fn reveal(&mut self, folder: PathBuf) {
        let open = move || {
            let opened = std::process::Command::new("xdg-open").arg(&folder).status();
            let is_open = opened.is_ok_and(|status| status.success());
            (folder, is_open)
        };
        self.job("reveal", open, |app, (folder, is_open)| {
            if !is_open {
                app.messages
                    .notify(Level::Warning, format!("No file manager found. The folder is {}", folder.display()));
            }
        });
    }

    /// Opens a project that was read.
    pub(crate) fn open_project(&mut self, path: PathBuf, project: Project, warnings: &[Warning]) {
        for warning in warnings {
            self.messages.log.add(Level::Warning, format!("{}:{}: {}", path.display(), warning.line, warning.what));
        }
        if !warnings.is_empty() {
            let fields = crate::app::kit::text::plural(warnings.len(), "field was corrected", "fields were corrected");
            self.messages.notify(Level::Warning, format!("{fields}: see the log"));
        }
        // The project file in a run folder belongs to the run: saving must not overwrite it.
        let is_of_run = path.parent().is_some_and(|folder| folder.join(MANIFEST).exists());
        if !is_of_run {
            self.host.recent.add(&path);
        }
        self.set_document(project, (!is_of_run).then_some(path));
    }
}

/// The run folder of a path: the folder itself or the manifest in it; `None` for other paths.
fn run_folder(path: &Path) -> Option<PathBuf> {
    let is_manifest = path.file_name().is_some_and(|name| name == MANIFEST);
    let folder = if is_manifest { path.parent()? } else { path };
    folder.join(MANIFEST).exists().then(|| folder.to_owned())
}

/// Shows the system's file dialog.
fn pick(purpose: &Purpose, place: &Path) -> Option<PathBuf> {
    let mut dialog = rfd::FileDialog::new();
    if let Some(folder) = place.parent() {
        dialog = dialog.set_directory(folder);
    }
    let project = |d: rfd::FileDialog| d.add_filter("Project", &["ron"]);
    match purpose {
        Purpose::Open => {
            let trees = crate::export::Format::Newick;
            let dialog = project(dialog).add_filter(trees.label(), &[trees.extension()]);
            dialog.set_title("Open project").pick_file()
        }
        Purpose::SaveAs => {
            let name = place.file_name().unwrap_or_default().to_string_lossy();
            project(dialog).set_title("Save project").set_file_name(name).save_file()
        }
        Purpose::Figure(figure) => {
            let dialog = dialog.add_filter("PNG, SVG", &["png", "svg"]);
            dialog.set_title("Export panel").set_file_name(figure.file_name()).save_file()
        }
        Purpose::SaveText(name, _) => dialog.set_title("Save").set_file_name(name).save_file(),
        Purpose::Parameter(_) => dialog.set_title("Choose a file").pick_file(),
        Purpose::Import => dialog.set_title("Choose a connection list").pick_file(),
    }
}
