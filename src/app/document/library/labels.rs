//! Note and tags of the listed runs, which a thread saves in the order of the edits.

use super::{Library, Run};
use crate::project::labels;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, Sender, channel},
    thread::JoinHandle,
};

/// Label to save in a run folder.
enum Edit {
    Note(PathBuf, String),
    Tags(PathBuf, Vec<String>),
    /// Reports that all earlier edits are saved.
    Report(Sender<()>),
}

/// Thread that saves labels. It starts at the first edit; dropping the writer waits until all edits are saved.
#[derive(Default)]
pub struct LabelWriter {
    sender: Option<Sender<Edit>>,
    thread: Option<JoinHandle<()>>,
}

impl LabelWriter {
    fn save(&mut self, edit: Edit) {
        let sender = self.sender.get_or_insert_with(|| {
            let (sender, receiver) = channel();
            let thread = std::thread::Builder::new().name("labels".into()).spawn(move || write(&receiver));
            self.thread = thread.inspect_err(|e| tracing::warn!("labels of runs are not saved: {e}")).ok();
            sender
        });
        sender.send(edit).ok();
    }
}

impl LabelWriter {
    /// Returns a function that waits on another thread until all edits so far are saved.
    pub fn wait(&self) -> impl FnOnce() + Send + use<> {
        let saved = self.sender.as_ref().map(|sender| {
            let (to, saved) = channel();
            sender.send(Edit::Report(to)).ok();
            saved
        });
        move || {
            if let Some(saved) = saved {
                saved.recv().ok();
            }
        }
    }
}

impl Drop for LabelWriter {
    fn drop(&mut self) {
        drop(self.sender.take());
        self.thread.take().map(JoinHandle::join);
    }
}

fn write(edits: &Receiver<Edit>) {
    for edit in edits {
        let saved = match &edit {
            Edit::Note(folder, note) => labels::save_note(folder, note),
            Edit::Tags(folder, tags) => labels::save_tags(folder, tags),
            Edit::Report(to) => {
                to.send(()).ok();
                Ok(())
            }
        };
        if let Err(e) = saved {
            tracing::warn!("a label was not saved: {e}");
        }
    }
}

impl Library {
    /// Saves a note in the folder of the run at an index.
    pub fn set_note(&mut self, at: usize, note: String) {
        let Some(run) = self.runs.get_mut(at) else { return };
        run.labels.note.clone_from(&note);
        run.row.set_labels(&run.labels);
        self.version += 1;
        self.writer.save(Edit::Note(run.folder.clone(), note));
    }

    /// Adds a tag to runs, or removes it from them.
    pub fn set_tag(&mut self, folders: &[PathBuf], tag: &str, is_set: bool) {
        for run in self.runs.iter_mut().filter(|run| folders.contains(&run.folder)) {
            if run.has_tag(tag) == is_set {
                continue;
            }
            let tags = &mut run.labels.tags;
            match is_set {
                true => tags.push(tag.to_owned()),
                false => tags.retain(|known| known != tag),
            }
            run.notices.clear();
            run.row.set_labels(&run.labels);
            self.writer.save(Edit::Tags(run.folder.clone(), run.labels.tags.clone()));
        }
        self.version += 1;
    }

    /// Lists the tags of all runs, sorted.
    pub fn tags(&self) -> BTreeSet<String> {
        self.runs.iter().flat_map(|run| run.labels.tags.iter().cloned()).collect()
    }

    /// Returns the marked runs if this run is marked, otherwise this run alone: actions on a row apply to them.
    pub fn marked_with(&self, folder: &Path) -> Vec<PathBuf> {
        match self.compared.color(folder) {
            Some(_) => self.compared_runs().into_iter().map(|(run, _)| run.folder.clone()).collect(),
            None => vec![folder.to_owned()],
        }
    }
}

impl Library {
    /// Returns the marked runs, to which commands apply; `None` if no run is selected.
    pub fn selected_runs(&self) -> Option<Vec<PathBuf>> {
        self.selected.as_deref().map(|folder| self.marked_with(folder))
    }

    /// Keeps selection and mark of a run whose folder was renamed.
    pub fn renamed(&mut self, from: &Path, to: &Path) {
        self.compared.rename(from, to);
        if self.selected.as_deref() == Some(from) {
            self.selected = Some(to.to_owned());
        }
    }

    /// Removes selection and mark of a run that was deleted.
    pub fn deleted(&mut self, folder: &Path) {
        self.compared.remove(folder);
        self.selected.take_if(|selected| selected == folder);
    }
}

impl Run {
    /// Whether the user has given the run this tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.labels.tags.iter().any(|known| known == tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::labels::Labels;
    use neuropil_test_support::temp::TempFolder;

    #[test]
    fn a_tag_is_set_on_all_marked_runs_and_saved_in_the_order_of_edits() {
        let folder = TempFolder::new("tagged");
        let run = |name: &str| {
            let folder = folder.join(name);
            std::fs::create_dir(&folder).expect("a folder");
            Run { folder, ..Run::default() }
        };
        let mut library = Library { runs: vec![run("a"), run("b"), run("c")], ..Library::default() };
        let folders: Vec<PathBuf> = library.runs.iter().map(|run| run.folder.clone()).collect();
        library.select(&folders[0]);
        library.compared.add(&folders[2]);
        assert_eq!(library.marked_with(&folders[2]), [folders[0].clone(), folders[2].clone()]);
        assert_eq!(library.marked_with(&folders[1]), folders[1..2], "it is not marked");
        for i in 0..20 {
            library.set_tag(&library.marked_with(&folders[2]), "best", i % 2 == 0);
        }
        library.set_tag(&library.marked_with(&folders[2]), "best", true);
        library.set_note(1, "a note".into());
        library.writer.wait()();
        assert_eq!(Labels::read(&folders[1]).0.note, "a note", "it is saved now");
        // A list that was read before an edit does not undo it.
        let (read, version) = (library.runs.clone(), library.version);
        library.set_tag(&folders[1..2], "late", true);
        library.set_runs(read, version);
        assert!(library.runs[1].has_tag("late") && !library.runs[0].has_tag("late"));
        library.set_tag(&folders[1..2], "late", false);
        assert_eq!(library.tags().into_iter().collect::<Vec<_>>(), ["best"]);
        assert!(library.version > 20);
        drop(library);
        let saved = |i: usize| Labels::read(&folders[i]).0;
        assert_eq!(saved(1).note, "a note");
        assert_eq!((saved(0).tags, saved(1).tags, saved(2).tags), (vec!["best".into()], vec![], vec!["best".into()]));
    }
}
