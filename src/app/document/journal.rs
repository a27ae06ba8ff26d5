//! Crash journal. Every committed step of a document with unsaved changes is appended to a file in the state folder and
//! synced at once by a thread. A clean exit or a save removes the file. The journal of a process that has ended is offered
//! at the next start. An incomplete last line is skipped, so that the previous step is restored.

use super::session::Session;
use crate::{
    num::hash::StreamHash,
    project::{self, Project},
};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::{
    fs::File,
    io::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
};

/// Prefix of the file names; the process id follows.
const PREFIX: &str = "journal-";
/// Size above which a journal is replaced by its last step, bytes.
const MAX_BYTES: u64 = 8 << 20;

/// Unsaved work of a crashed window.
pub struct UnsavedWork {
    /// The journal file.
    pub file: PathBuf,
    /// File of the project; `None` if the project was never saved.
    pub path: Option<PathBuf>,
    /// Document after its last step.
    pub project: Box<Project>,
    /// Document as saved in `path`; `None` if this file cannot be read.
    pub base: Option<Box<Project>>,
    /// Number of steps in the journal.
    pub n_steps: usize,
    /// Label of the last step.
    pub label: String,
}

impl UnsavedWork {
    /// Lists the unsaved changes: differences from the saved document, or from a new project of the kind.
    pub fn differences(&self) -> Vec<String> {
        let fresh = || {
            crate::kinds::Model::by_name(self.project.model.name()).map(|model| Project { model, ..Project::default() })
        };
        let base = self.base.as_deref().cloned().or_else(fresh).unwrap_or_default();
        project::titled_diff(&base, &self.project).iter().map(ToString::to_string).collect()
    }
}

/// Entry of the journal: path of the project's file, label of the step, document.
type Entry = (Option<PathBuf>, String, Arc<Project>);

enum JournalCommand {
    Append(Entry),
    Clear,
}

/// Journal of this window.
pub struct Journal {
    file: Option<PathBuf>,
    written: Option<Arc<Project>>,
    commands: Option<Sender<JournalCommand>>,
    writer: Option<JoinHandle<()>>,
}

impl Journal {
    /// Creates the journal of this process. Without a state folder, nothing is written.
    pub fn new(state_dir: Option<&Path>) -> Self {
        let file = state_dir.map(|d| d.join(format!("{PREFIX}{}.ron", std::process::id())));
        let (commands, inbox) = bounded(64);
        let writer = file.clone().and_then(|file| {
            let write = move || write(&file, &inbox);
            std::thread::Builder::new().name("journal".into()).spawn(write).ok()
        });
        Self { file, written: None, commands: writer.is_some().then_some(commands), writer }
    }

    /// Sends the last committed step to the thread, or removes the file if nothing is unsaved. Called once per frame.
    pub fn keep(&mut self, session: &Session) {
        if !session.is_dirty() {
            return self.clear();
        }
        let now = session.history.committed();
        if self.written.as_ref().is_some_and(|w| Arc::ptr_eq(w, now)) {
            return;
        }
        let path = session.path.as_deref().map(|p| std::path::absolute(p).unwrap_or_else(|_| p.to_owned()));
        let label = session.history.labels().0.unwrap_or("restored").to_owned();
        if self.send(JournalCommand::Append((path, label, now.clone()))) {
            self.written = Some(now.clone());
        }
    }

    /// Removes the journal, because nothing is unsaved.
    pub fn clear(&mut self) {
        if self.written.is_some() && self.send(JournalCommand::Clear) {
            self.written = None;
        }
    }

    /// Continues the journal of a crashed window, so that the restored work always has a file.
    pub fn adopt(&mut self, left: &Path) {
        if let Some(file) = &self.file
            && std::fs::rename(left, file).is_ok()
        {
            self.written = Some(Arc::default());
        }
    }

    fn send(&self, command: JournalCommand) -> bool {
        self.commands.as_ref().is_some_and(|commands| commands.try_send(command).is_ok())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(writer) = self.writer.take() {
            writer.join().ok();
        }
    }
}

/// Runs the journal thread, which appends the entries and then syncs the file.
fn write(file: &Path, inbox: &Receiver<JournalCommand>) {
    let mut open: Option<File> = None;
    while let Ok(command) = inbox.recv() {
        let mut dirty = false;
        for command in std::iter::once(command).chain(inbox.try_iter()) {
            match command {
                JournalCommand::Clear => {
                    (open, dirty) = (None, false);
                    std::fs::remove_file(file).ok();
                }
                JournalCommand::Append(entry) => match append(&mut open, file, &entry) {
                    Ok(()) => dirty = true,
                    Err(e) => tracing::warn!("autosave: {e}"),
                },
            }
        }
        if let Some(Err(e)) = open.as_ref().filter(|_| dirty).map(File::sync_data) {
            tracing::warn!("autosave: {e}");
        }
    }
}

fn append(open: &mut Option<File>, file: &Path, entry: &Entry) -> std::io::Result<()> {
    let (path, label, document) = entry;
    let text = project::to_line(&(path, label, &**document)).map_err(std::io::Error::other)?;
    let line = format!("{} {text}\n", checksum(&text));
    if open.as_ref().is_some_and(|f| f.metadata().is_ok_and(|m| m.len() > MAX_BYTES)) {
        *open = None;
        return project::write_atomic(file, line.as_bytes(), false);
    }
    let to = match open {
        Some(to) => to,
        None => {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            open.insert(File::options().create(true).append(true).open(file)?)
        }
    };
    to.write_all(line.as_bytes())
}

fn checksum(text: &str) -> String {
    let mut hash = StreamHash::default();
    text.bytes().for_each(|b| hash.push(b.into()));
    hash.hex()
}

/// Finds the newest readable journal of a process that has ended; `None` if there is no such journal.
pub fn find(state_dir: &Path) -> Option<UnsavedWork> {
    let entries = std::fs::read_dir(state_dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|e| e.path()).filter(|p| process_of(p).is_some_and(|id| !is_alive(id))).collect();
    files.sort_by_key(|f| f.metadata().and_then(|m| m.modified()).ok());
    files.into_iter().rev().find_map(read)
}

/// Reads the last complete step of a journal; `None` if there is no such step. A journal that equals the project's file is
/// removed.
fn read(file: PathBuf) -> Option<UnsavedWork> {
    let bytes = std::fs::read(&file).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = |line: &&str| line.split_once(' ').is_some_and(|(sum, text)| sum == checksum(text));
    let lines: Vec<&str> = text.lines().filter(whole).collect();
    let (_, last) = lines.last()?.split_once(' ')?;
    let (path, label, project) = project::from_ron::<(Option<PathBuf>, String, Box<Project>)>(last).ok()?;
    let base = path.as_ref().and_then(|p| project::open(p).ok()).map(|(base, _)| Box::new(base));
    if base.as_ref().is_some_and(|base| project::diff(base, &project).is_empty()) {
        std::fs::remove_file(&file).ok();
        return None;
    }
    Some(UnsavedWork { n_steps: lines.len(), file, path, project, base, label })
}

fn process_of(file: &Path) -> Option<u32> {
    file.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(".ron")?.parse().ok()
}

/// Whether a process is alive. A process of unknown state counts as ended, because an unneeded offer is better than lost
/// work.
pub fn is_alive(process: u32) -> bool {
    process == std::process::id() || Path::new("/proc").join(process.to_string()).exists()
}
