//! Consent to files outside the folder of a project or run. The user is asked once per project and file; the answer is saved.

use crate::{
    app::host::store,
    export::Format,
    project::{self, OutsidePath, Project, Warning},
};
use std::path::{Path, PathBuf};

const MAX: usize = 64;

/// A project or run that waits for consent.
pub struct Received {
    /// Project file or run folder.
    pub path: PathBuf,
    /// Files outside the folder that the project or run reads.
    pub outside: Vec<OutsidePath>,
    /// Action that follows the consent.
    pub purpose: ReceivedPurpose,
}

/// Action for which a received project or run is opened.
pub enum ReceivedPurpose {
    /// Opening the project, which was read with these corrections.
    OpenProject(Box<Project>, Vec<Warning>),
    /// Opening the SONATA circuit of a configuration.
    OpenCircuit,
    /// Opening the run.
    OpenRun,
    /// Replaying the run.
    ReplayRun,
    /// Exporting the run, whose network is made again.
    ExportRun(Format),
}

/// Files outside their folder that projects and runs may read, and the file in which this list is saved.
#[derive(Clone)]
pub struct Consent {
    allowed: Vec<(PathBuf, Vec<String>)>,
    file: Option<PathBuf>,
}

impl Consent {
    /// Reads the list, one small file, before the first frame. If it is missing or damaged, the user is asked again.
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

    /// Whether a run may read these files: they are allowed for the run or for any project.
    pub fn allows_run(&self, run: &Path, outside: &[OutsidePath]) -> bool {
        let is_allowed = |wanted: &OutsidePath| {
            let file = Path::new(&wanted.path);
            self.allowed.iter().any(|(of, files)| {
                let folder = of.parent().unwrap_or(Path::new("."));
                files.iter().any(|known| folder.join(known) == file)
            })
        };
        self.allows(run, outside) || outside.iter().all(is_allowed)
    }

    /// Allows a project or run to read these files only, and saves the list.
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
            store::write(self.file.clone(), project::to_ron(&self.allowed).ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_is_for_one_project_and_its_files() {
        let mut consent = Consent { allowed: vec![], file: None };
        let file = |path: &str| OutsidePath {
            parameter: "network.path".into(),
            title: "Network › Folder".into(),
            path: path.into(),
        };
        let project = Path::new("/tmp/received.ron");
        assert!(consent.allows(project, &[]) && !consent.allows(project, &[file("/etc/passwd")]));
        consent.allow(project, &[file("/data/a.csv")]);
        assert!(consent.allows(project, &[file("/data/a.csv")]) && !consent.allows(project, &[file("/data/b.csv")]));
        assert!(!consent.allows(Path::new("/tmp/other.ron"), &[file("/data/a.csv")]));
        let run = Path::new("/tmp/received/runs/0001-x");
        assert!(consent.allows_run(run, &[file("/data/a.csv")]), "allowed for the project");
        assert!(!consent.allows_run(run, &[file("/data/a.csv"), file("/data/b.csv")]));
        consent.allow(run, &[file("/data/b.csv")]);
        assert!(consent.allows_run(run, &[file("/data/b.csv")]));
    }
}
