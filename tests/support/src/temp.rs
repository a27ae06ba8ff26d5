//! Folders of tests.

use std::{
    env, fs,
    ops::Deref,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// An empty folder that no other test has, removed at the end.
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// The name is part of the path, for who looks at what a killed test left.
    #[track_caller]
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("neuropil-{name}-{}-{number}", process::id()));
        // A process with the same id may have been killed.
        fs::remove_dir_all(&path).ok();
        fs::create_dir_all(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        Self(path)
    }
}

impl Deref for TempFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for TempFolder {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}
