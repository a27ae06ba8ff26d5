//! Work survives a crash: the document is kept in the state folder while it has unsaved changes. A clean exit or a
//! save removes it; what is found of a process that is gone is offered at the next start.

use super::{jobs::Done, session::Session};
use crate::project::{self, Project};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// At most one write in this time.
const EVERY: Duration = Duration::from_secs(2);
/// Beginning of the file names; the process id follows.
const PREFIX: &str = "journal-";

/// What a crashed window left behind.
pub struct Leftover {
    /// The journal itself.
    pub file: PathBuf,
    /// The project's file, when it had one.
    pub path: Option<PathBuf>,
    /// The document.
    pub project: Box<Project>,
}

/// The journal of this window.
pub struct Journal {
    file: Option<PathBuf>,
    written: Option<Arc<Project>>,
    at: Instant,
    busy: Arc<AtomicBool>,
}

impl Journal {
    /// The journal of this process; without a state folder nothing is kept.
    pub fn new(state_dir: Option<&Path>) -> Self {
        let file = state_dir.map(|d| d.join(format!("{PREFIX}{}.ron", std::process::id())));
        Self { file, written: None, at: Instant::now(), busy: Arc::default() }
    }

    /// Once a frame: writes the last committed step on a thread, removes the file when there is nothing unsaved.
    pub fn keep(&mut self, session: &Session) {
        let Some(file) = self.file.clone() else { return };
        if !session.is_dirty() {
            return self.clear();
        }
        let now = session.history.committed();
        let known = self.written.as_ref().is_some_and(|w| Arc::ptr_eq(w, now));
        if known || self.at.elapsed() < EVERY || self.busy.swap(true, Ordering::AcqRel) {
            return;
        }
        self.at = Instant::now();
        self.written = Some(now.clone());
        let (document, path, busy) = (now.clone(), session.path.clone(), self.busy.clone());
        let write = move || {
            if let Err(e) = write(&file, path.as_deref(), &document) {
                tracing::warn!("autosave: {e}");
            }
            busy.store(false, Ordering::Release);
        };
        if std::thread::Builder::new().name("journal".into()).spawn(write).is_err() {
            self.busy.store(false, Ordering::Release);
        }
    }

    /// Nothing is unsaved any more.
    pub fn clear(&mut self) {
        if let (Some(_), Some(file)) = (self.written.take(), &self.file) {
            std::fs::remove_file(file).ok();
        }
    }
}

fn write(file: &Path, path: Option<&Path>, document: &Project) -> Result<(), String> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    }
    let absolute = path.map(|p| std::path::absolute(p).unwrap_or_else(|_| p.to_owned()));
    let text = project::to_ron(&(absolute, document)).map_err(|e| e.to_string())?;
    project::write_atomic(file, text.as_bytes(), false).map_err(|e| e.to_string())
}

/// Looks for what crashed windows left: the newest journal whose process is gone.
pub fn find(state_dir: &Path) -> Done {
    let entries = std::fs::read_dir(state_dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|e| e.path()).filter(|p| process_of(p).is_some_and(|id| !is_alive(id))).collect();
    files.sort_by_key(|f| f.metadata().and_then(|m| m.modified()).ok());
    let newest = files.into_iter().next_back().and_then(|file| {
        let text = std::fs::read_to_string(&file).ok()?;
        let (path, project) = project::from_ron::<(Option<PathBuf>, Box<Project>)>(&text).ok()?;
        Some(Leftover { file, path, project })
    });
    Done::Journal(newest)
}

fn process_of(file: &Path) -> Option<u32> {
    file.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(".ron")?.parse().ok()
}

/// Where that cannot be told, a process counts as gone: an offer too many is better than lost work.
fn is_alive(process: u32) -> bool {
    process == std::process::id() || Path::new("/proc").join(process.to_string()).exists()
}
