//! What was used before, newest first: projects, and entries of the palette.

use super::settings;
use crate::project;
use std::path::{Path, PathBuf};

/// Projects remembered.
const MAX: usize = 8;
/// Entries of the palette remembered.
const MAX_USED: usize = 12;

/// A project that was open before.
#[derive(Clone, PartialEq)]
pub struct Place {
    /// Its file.
    pub path: PathBuf,
    /// Whether the file was gone when the list was read.
    pub is_missing: bool,
}

/// The list, and the file it is kept in.
pub struct Recent {
    /// Newest first.
    pub places: Vec<Place>,
    file: Option<PathBuf>,
}

impl Recent {
    /// Reads the list: one small file, once, before the first frame. A damaged list is an empty one.
    pub fn load(state_dir: Option<&Path>) -> Self {
        let file = state_dir.map(|d| d.join("recent.ron"));
        let paths: Vec<PathBuf> = read(file.as_deref());
        let place = |path: PathBuf| Place { is_missing: !path.exists(), path };
        Self { places: paths.into_iter().take(MAX).map(place).collect(), file }
    }

    /// Puts a project first.
    pub fn add(&mut self, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.places.retain(|p| p.path != path);
        self.places.insert(0, Place { path, is_missing: false });
        self.places.truncate(MAX);
        self.keep();
    }

    /// Forgets a project.
    pub fn remove(&mut self, path: &Path) {
        self.places.retain(|p| p.path != path);
        self.keep();
    }

    fn keep(&self) {
        let paths: Vec<&PathBuf> = self.places.iter().map(|p| &p.path).collect();
        settings::write(self.file.clone(), project::to_ron(&paths).ok());
    }
}

/// Entries of the palette, by what they are called.
pub struct Used {
    names: Vec<String>,
    file: Option<PathBuf>,
}

impl Used {
    /// Reads the list, as [`Recent::load`] does.
    pub fn load(state_dir: Option<&Path>) -> Self {
        let file = state_dir.map(|d| d.join("used.ron"));
        Self { names: read(file.as_deref()), file }
    }

    /// Puts an entry first.
    pub fn add(&mut self, name: String) {
        self.names.retain(|n| *n != name);
        self.names.insert(0, name);
        self.names.truncate(MAX_USED);
        settings::write(self.file.clone(), project::to_ron(&self.names).ok());
    }

    /// Newest first.
    pub fn iter(&self) -> impl Iterator<Item = &String> {
        self.names.iter()
    }
}

fn read<T: serde::de::DeserializeOwned>(file: Option<&Path>) -> Vec<T> {
    let text = file.and_then(|f| std::fs::read_to_string(f).ok());
    text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default()
}
