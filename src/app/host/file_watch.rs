//! Watches the project's file for changes by other programs.

use crate::project::{self, Project};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, SystemTime},
};

/// Interval between two polls.
const INTERVAL: Duration = Duration::from_secs(1);

/// Path of the watched file, shared with the watching thread. The thread ends when the value is dropped.
pub struct FileWatch(Arc<Mutex<Option<PathBuf>>>);

impl FileWatch {
    /// Starts the thread, which calls `changed` with the path and the project of a changed file. Fails if the thread cannot be
    /// started.
    pub fn new(changed: impl Fn(PathBuf, Box<Project>) + Send + 'static) -> Result<Self, String> {
        let shared = Arc::new(Mutex::new(None));
        let weak = Arc::downgrade(&shared);
        let watch = move || watch(&weak, &changed);
        std::thread::Builder::new()
            .name("file watch".into())
            .spawn(watch)
            .map_err(|e| format!("file watch thread: {e}"))?;
        Ok(Self(shared))
    }

    /// Sets the watched file; with `None`, no file is watched.
    pub fn follow(&self, path: Option<&Path>) {
        let mut followed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.as_deref() != path {
            *followed = path.map(Path::to_owned);
        }
    }
}

/// Modification time and length of a file; `None` if they cannot be read.
type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let facts = path.metadata().ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

fn watch(shared: &Weak<Mutex<Option<PathBuf>>>, changed: &impl Fn(PathBuf, Box<Project>)) {
    let mut known: Option<(PathBuf, Stamp)> = None;
    loop {
        let Some(followed) = shared.upgrade() else { return };
        let path = followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        drop(followed);
        if let Some(path) = path {
            let now = stamp(&path);
            let is_changed = known.as_ref().is_some_and(|(of, before)| *of == path && *before != now);
            // A missing file is being replaced, or the next save reports the loss.
            if is_changed
                && now.is_some()
                && let Ok((project, _)) = project::open(&path)
            {
                changed(path.clone(), Box::new(project));
            }
            known = Some((path, now));
        }
        std::thread::sleep(INTERVAL);
    }
}
