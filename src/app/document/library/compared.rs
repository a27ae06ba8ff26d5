//! Runs that are compared. The runs are marked in the table of runs, and each has its own colour while it is marked.

use std::path::{Path, PathBuf};

/// Maximum number of compared runs.
pub const MAX_COMPARED: usize = 8;

/// The marked runs in the order of marking, with the numbers of their categorical colours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared(Vec<(PathBuf, usize)>);

impl Compared {
    /// Iterates over folders and numbers of colours.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, usize)> {
        self.0.iter().map(|(folder, color)| (folder.as_path(), *color))
    }

    /// Returns the number of a run's colour; `None` if the run is not marked.
    pub fn color(&self, folder: &Path) -> Option<usize> {
        self.iter().find(|(marked, _)| *marked == folder).map(|(_, color)| color)
    }

    /// Marks only this run.
    pub fn only(&mut self, folder: &Path) {
        self.0.clear();
        self.add(folder);
    }

    /// Marks a run, with the first colour that no marked run has. Returns `false` if too many runs are marked.
    pub fn add(&mut self, folder: &Path) -> bool {
        if self.color(folder).is_some() {
            return true;
        }
        let free = (0..MAX_COMPARED).find(|color| self.0.iter().all(|(_, taken)| taken != color));
        self.0.extend(free.map(|color| (folder.to_owned(), color)));
        free.is_some()
    }

    /// Keeps the mark of a run whose folder was renamed.
    pub fn rename(&mut self, from: &Path, to: &Path) {
        self.0.iter_mut().filter(|(marked, _)| marked == from).for_each(|(marked, _)| to.clone_into(marked));
    }

    /// Removes the mark of a run.
    pub fn remove(&mut self, folder: &Path) {
        self.0.retain(|(marked, _)| marked != folder);
    }

    /// Toggles the mark of a run. Returns `false` if too many runs are marked.
    pub fn toggle(&mut self, folder: &Path) -> bool {
        if self.color(folder).is_none() {
            return self.add(folder);
        }
        self.remove(folder);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_keeps_its_colour_while_others_come_and_go() {
        let mut compared = Compared::default();
        let folder = |i: usize| PathBuf::from(format!("runs/{i}"));
        for i in 0..MAX_COMPARED {
            assert!(compared.toggle(&folder(i)));
        }
        assert!(!compared.add(&folder(99)) && compared.color(&folder(99)).is_none(), "no colour is left");
        assert!(compared.toggle(&folder(2)) && compared.add(&folder(99)));
        assert_eq!([1, 99, 3].map(|i| compared.color(&folder(i))), [Some(1), Some(2), Some(3)]);
        compared.only(&folder(5));
        assert_eq!(compared.iter().collect::<Vec<_>>(), [(folder(5).as_path(), 0)]);
    }
}
