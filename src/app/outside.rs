//! Watches the project's file for changes that other programs make. What is found is compared with what was last
//! saved, so our own writing is no news.

use super::jobs::Done;
use crate::project;
use crossbeam_channel::Sender;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, SystemTime},
};

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Which file is watched. Dropping it ends the thread.
pub struct Outside(Arc<Mutex<Option<PathBuf>>>);

impl Outside {
    /// Starts the thread; it reports to `mail` and wakes the window.
    pub fn new(mail: Sender<Done>, wake: egui::Context) -> Result<Self, String> {
        let shared = Arc::new(Mutex::new(None));
        let weak = Arc::downgrade(&shared);
        let watch = move || watch(&weak, &mail, &wake);
        std::thread::Builder::new().name("outside".into()).spawn(watch).map_err(|e| format!("outside: {e}"))?;
        Ok(Self(shared))
    }

    /// Watches this file from now on.
    pub fn follow(&self, path: Option<&Path>) {
        let mut followed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.as_deref() != path {
            *followed = path.map(Path::to_owned);
        }
    }
}

type Stamp = Option<(SystemTime, u64)>;

fn stamp(path: &Path) -> Stamp {
    let facts = path.metadata().ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

fn watch(shared: &Weak<Mutex<Option<PathBuf>>>, mail: &Sender<Done>, wake: &egui::Context) {
    let mut known: Option<(PathBuf, Stamp)> = None;
    loop {
        let Some(followed) = shared.upgrade() else { return };
        let path = followed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        drop(followed);
        if let Some(path) = path {
            let now = stamp(&path);
            let changed = known.as_ref().is_some_and(|(of, before)| *of == path && *before != now);
            // A file that is gone is being replaced, or will be missed when it is saved.
            if changed
                && now.is_some()
                && let Ok((project, _)) = project::open(&path)
            {
                mail.try_send(Done::Outside(path.clone(), Box::new(project))).ok();
                wake.request_repaint();
            }
            known = Some((path, now));
        }
        std::thread::sleep(EVERY);
    }
}
