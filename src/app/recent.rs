//! Projects that were open before, newest first.

use crate::project;
use std::path::{Path, PathBuf};

/// Projects remembered.
const MAX: usize = 8;

/// The list, and the file it is kept in.
pub struct Recent {
    /// Newest first.
    pub paths: Vec<PathBuf>,
    file: Option<PathBuf>,
}

impl Recent {
    /// Reads the list: one small file, once, before the first frame. A damaged list is an empty one.
    pub fn load(state_dir: Option<PathBuf>) -> Self {
        let file = state_dir.map(|d| d.join("recent.ron"));
        let text = file.as_deref().and_then(|f| std::fs::read_to_string(f).ok());
        let paths: Vec<PathBuf> = text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default();
        Self { paths: paths.into_iter().filter(|p| p.exists()).take(MAX).collect(), file }
    }

    /// Puts a project first. Written on a thread of its own.
    pub fn add(&mut self, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.paths.retain(|p| *p != path);
        self.paths.insert(0, path);
        self.paths.truncate(MAX);
        let (Some(file), Ok(text)) = (self.file.clone(), project::to_ron(&self.paths)) else { return };
        let write = move || {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).ok();
            }
            std::fs::write(file, text).ok();
        };
        std::thread::Builder::new().name("recent".into()).spawn(write).ok();
    }
}
