//! Recently used projects and palette entries, newest first.

use super::store;
use crate::project;
use std::path::{Path, PathBuf};

/// Maximum number of projects.
const MAX: usize = 8;
/// Maximum number of palette entries.
const MAX_USED: usize = 12;

/// A recent project.
#[derive(Clone, PartialEq)]
pub struct RecentProject {
    pub path: PathBuf,
    /// Whether the file was missing when the list was read.
    pub is_missing: bool,
}

/// List of recent projects, and its file.
pub struct Recent {
    /// Recent projects, newest first.
    pub projects: Vec<RecentProject>,
    file: Option<PathBuf>,
}

impl Recent {
    /// Reads the list, one small file, before the first frame. A damaged list is ignored.
    pub fn load(state_dir: Option<&Path>) -> Self {
        let file = state_dir.map(|d| d.join("recent.ron"));
        let paths: Vec<PathBuf> = read(file.as_deref());
        let entry = |path: PathBuf| RecentProject { is_missing: !path.exists(), path };
        Self { projects: paths.into_iter().take(MAX).map(entry).collect(), file }
    }

    /// Moves a project to the front.
    pub fn add(&mut self, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.projects.retain(|p| p.path != path);
        self.projects.insert(0, RecentProject { path, is_missing: false });
        self.projects.truncate(MAX);
        self.save();
    }

    /// Removes a project.
    pub fn remove(&mut self, path: &Path) {
        self.projects.retain(|p| p.path != path);
        self.save();
    }

    fn save(&self) {
        let paths: Vec<&PathBuf> = self.projects.iter().map(|p| &p.path).collect();
        store::write(self.file.clone(), project::to_ron(&paths).ok());
    }
}

/// Names of recently used palette entries.
pub struct RecentCommands {
    names: Vec<String>,
    file: Option<PathBuf>,
}

impl RecentCommands {
    /// Reads the list as [`Recent::load`] does.
    pub fn load(state_dir: Option<&Path>) -> Self {
        let file = state_dir.map(|d| d.join("used.ron"));
        Self { names: read(file.as_deref()), file }
    }

    /// Moves an entry to the front.
    pub fn add(&mut self, name: String) {
        self.names.retain(|n| *n != name);
        self.names.insert(0, name);
        self.names.truncate(MAX_USED);
        store::write(self.file.clone(), project::to_ron(&self.names).ok());
    }

    /// Iterates over the names, newest first.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }
}

fn read<T: serde::de::DeserializeOwned>(file: Option<&Path>) -> Vec<T> {
    let text = file.and_then(|f| std::fs::read_to_string(f).ok());
    text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default()
}
