//! Consent to files outside the folder of a project: asked once per project and file, and remembered.

use super::{App, dialogs::Dialog, settings};
use crate::project::{self, OutsidePath, Project, Warning};
use std::path::{Path, PathBuf};

/// Projects remembered.
const MAX: usize = 64;

/// A project that was read and waits for consent.
pub struct Received {
    /// Its file.
    pub path: PathBuf,
    /// The project.
    pub project: Box<Project>,
    /// What was corrected when it was read.
    pub warnings: Vec<Warning>,
    /// The files outside its folder that it names.
    pub outside: Vec<OutsidePath>,
}

/// The files outside their folder that projects may read, and the file this is saved in.
pub struct Consent {
    allowed: Vec<(PathBuf, Vec<String>)>,
    file: Option<PathBuf>,
}

impl Consent {
    /// Reads the list: one small file, before the first frame. A damaged list is ignored: the question is asked again.
    pub fn load(state_dir: Option<&Path>) -> Self {
        let file = state_dir.map(|d| d.join("consent.ron"));
        let text = file.as_deref().and_then(|f| std::fs::read_to_string(f).ok());
        Self { allowed: text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default(), file }
    }

    /// Whether a project may read these files.
    pub fn allows(&self, path: &Path, outside: &[OutsidePath]) -> bool {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let known = self.allowed.iter().find(|(of, _)| *of == path).map(|(_, files)| &files[..]).unwrap_or_default();
        outside.iter().all(|one| known.contains(&one.path))
    }

    /// Allows a project to read these files and no others.
    pub fn allow(&mut self, path: &Path, outside: &[OutsidePath]) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let files: Vec<String> = outside.iter().map(|one| one.path.clone()).collect();
        let is_new = !self.allowed.iter().any(|(of, known)| *of == path && *known == files);
        self.allowed.retain(|(of, _)| *of != path);
        if !files.is_empty() {
            self.allowed.insert(0, (path, files));
        }
        self.allowed.truncate(MAX);
        if is_new && !outside.is_empty() {
            settings::write(self.file.clone(), project::to_ron(&self.allowed).ok());
        }
    }
}

impl App {
    /// A project was read: it is opened, or first asks whether it may read files outside its folder.
    pub(super) fn receive(&mut self, path: PathBuf, project: Box<Project>, warnings: Vec<Warning>) {
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let outside = project::outside_paths(&project, base);
        if self.consent.allows(&path, &outside) {
            return self.open_project(path, *project, &warnings);
        }
        self.open_dialog(Dialog::OutsideFiles(Received { path, project, warnings, outside }));
    }

    /// The user allowed a project to read its files.
    pub(super) fn allow_outside(&mut self, received: Received) {
        self.consent.allow(&received.path, &received.outside);
        self.open_project(received.path, *received.project, &received.warnings);
    }

    /// The user did not allow it: the project is not opened.
    pub(super) fn deny_outside(&mut self, received: &Received) {
        let name = received.path.display();
        self.open_failed(format!("{name} was not opened: it reads files outside its folder"));
    }

    /// The user's own project may read the files it names when it is saved.
    pub(super) fn allow_own(&mut self, path: &Path, project: &Project) {
        let base = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.consent.allow(path, &project::outside_paths(project, base));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_is_for_one_project_and_its_files() {
        let mut consent = Consent { allowed: vec![], file: None };
        let file = |path: &str| OutsidePath { parameter: "network.path".into(), path: path.into() };
        let project = Path::new("/tmp/received.ron");
        assert!(consent.allows(project, &[]) && !consent.allows(project, &[file("/etc/passwd")]));
        consent.allow(project, &[file("/data/a.csv")]);
        assert!(consent.allows(project, &[file("/data/a.csv")]) && !consent.allows(project, &[file("/data/b.csv")]));
        assert!(!consent.allows(Path::new("/tmp/other.ron"), &[file("/data/a.csv")]));
    }
}
