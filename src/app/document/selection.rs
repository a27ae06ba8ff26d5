//! The selection, shared by all views.

use super::paths::ElementPath;
use crate::{engine::SetChange, sim::Individuals};
use std::sync::Arc;

/// The selected elements.
#[derive(Clone, Default, PartialEq)]
pub struct Selection {
    /// Name of the set of the elements; empty if nothing was selected yet or the selection was cleared.
    pub set: &'static str,
    /// Indices of the selected elements, sorted, without duplicates.
    pub elements: Arc<Vec<u32>>,
    /// Element under the pointer in some view; `None` if there is no such element.
    pub hovered: Option<u32>,
    /// Counter that increases with every change of `set` or `elements`, not of `hovered`.
    pub generation: u64,
    /// Ids of the individuals in the selected slots, in the order of `elements`; empty until they are known, and if the
    /// elements are not slots.
    pub individuals: Arc<Vec<u64>>,
    /// Number of individuals that have ended since they were selected.
    pub n_ended: usize,
    /// The step that the views show.
    pub now: u64,
    /// The step that the views showed when the elements were selected.
    pub seen: u64,
    /// Path between two elements that is shown; `None` if no path is shown.
    pub path: Option<Arc<ElementPath>>,
    /// Named group whose elements were selected by its name; `None` after any other selection.
    pub group: Option<String>,
}

impl Selection {
    /// Replaces the selection by elements, which are sorted and made unique.
    pub fn replace(&mut self, set: &'static str, mut elements: Vec<u32>) {
        elements.sort_unstable();
        elements.dedup();
        self.group = None;
        if self.set != set || *self.elements != elements {
            self.put(set, Arc::new(elements));
        }
    }

    fn put(&mut self, set: &'static str, elements: Arc<Vec<u32>>) {
        (self.set, self.elements, self.seen, self.n_ended) = (set, elements, self.now, 0);
        self.individuals = Arc::default();
        self.generation += 1;
    }

    /// Deselects slots whose individual has ended. The first call after a selection also finds the ids of the individuals that
    /// have been in the slots since they were selected.
    pub fn identify(&mut self, set: &str, now: &Individuals) {
        if self.set != set || self.elements.is_empty() {
            return;
        }
        let before = self.elements.len();
        let found: Vec<(u32, u64)> = if self.individuals.is_empty() {
            self.elements.iter().filter_map(|slot| Some((*slot, now.seen_at(*slot, self.seen)?))).collect()
        } else {
            let pairs = self.elements.iter().copied().zip(self.individuals.iter().copied());
            pairs.filter(|(slot, id)| now.ids.get(*slot as usize) == Some(id)).collect()
        };
        if found.len() < before {
            self.elements = Arc::new(found.iter().map(|(slot, _)| *slot).collect());
            self.n_ended += before - found.len();
            self.generation += 1;
        }
        if found.len() < before || self.individuals.is_empty() {
            self.individuals = Arc::new(found.iter().map(|(_, id)| *id).collect());
        }
    }

    /// Forgets the individuals of the selected slots, because the slots have others after a restart or a jump of the run.
    pub fn forget_individuals(&mut self) {
        (self.individuals, self.seen) = (Arc::default(), self.now);
    }

    /// Removes all elements and the set from the selection.
    pub fn clear(&mut self) {
        (self.hovered, self.group) = (None, None);
        self.put("", Arc::default());
    }

    /// Replaces the selection by the result of a job that started at the [`Selection::generation`] `started_at`. Has no effect
    /// if the selection has changed since.
    pub fn replace_late(&mut self, set: &'static str, elements: Vec<u32>, started_at: u64) {
        if self.generation == started_at {
            self.replace(set, elements);
        }
    }

    /// Replaces the selection by the elements of a named group, found by a job as in [`Selection::replace_late`]. Interventions
    /// and recordings of the selection then name the group instead of its present elements.
    pub fn select_group(&mut self, name: String, set: &'static str, elements: Vec<u32>, started_at: u64) {
        if self.generation == started_at {
            self.replace(set, elements);
            self.group = Some(name);
        }
    }

    /// Replaces the selection by shared elements, which are copied only if they are not sorted and unique.
    pub fn replace_shared(&mut self, set: &'static str, elements: Arc<Vec<u32>>) {
        if elements.is_sorted_by(|a, b| a < b) {
            self.group = None;
            if self.set != set || self.elements != elements {
                self.put(set, elements);
            }
        } else {
            self.replace(set, elements.to_vec());
        }
    }

    /// Moves the selection to the present indices of its elements after a change of their set, and deselects removed
    /// elements.
    pub fn follow(&mut self, change: &SetChange) {
        self.path = self.path.take().filter(|path| path.set != change.name);
        if self.set == change.name {
            self.hovered = None;
            let group = self.group.take();
            self.replace(change.name, change.follow(&self.elements));
            self.group = group;
        }
    }

    pub fn remove(&mut self, set: &'static str, less: &[u32]) {
        let less: std::collections::HashSet<&u32> = less.iter().collect();
        let kept = self.of(set).iter().filter(|e| !less.contains(e)).copied().collect();
        self.replace(set, kept);
    }

    /// Applies an area selection. The area replaces the selection; with Ctrl the area is added, with Ctrl and Alt removed.
    pub fn apply_area(&mut self, set: &'static str, inside: Vec<u32>, modifiers: egui::Modifiers) {
        match (modifiers.command, modifiers.alt) {
            (true, true) => self.remove(set, &inside),
            (true, false) => self.extend(set, &inside),
            _ => self.replace(set, inside),
        }
    }

    /// Adds or removes one element.
    pub fn toggle(&mut self, set: &'static str, element: u32) {
        let mut elements = if self.set == set { self.elements.to_vec() } else { vec![] };
        match elements.binary_search(&element) {
            Ok(at) => drop(elements.remove(at)),
            Err(at) => elements.insert(at, element),
        }
        self.replace(set, elements);
    }

    pub fn extend(&mut self, set: &'static str, more: &[u32]) {
        let mut elements = if self.set == set { self.elements.to_vec() } else { vec![] };
        elements.extend(more);
        self.replace(set, elements);
    }

    /// Returns the selected elements of a set; empty if the selection is of another set.
    pub fn of(&self, set: &str) -> &[u32] {
        if self.set == set { &self.elements } else { &[] }
    }

    /// Returns the `n` selected elements of a set with the highest spike counts, sorted by index.
    pub fn most_active(&self, set: &str, counts: &[u32], n: usize) -> Vec<u32> {
        let mut elements = self.of(set).to_vec();
        if elements.len() > n {
            let count = |e: &u32| counts.get(*e as usize).copied().unwrap_or(0);
            elements.select_nth_unstable_by_key(n, |e| (std::cmp::Reverse(count(e)), *e));
            elements.truncate(n);
            elements.sort_unstable();
        }
        elements
    }

    /// Whether an element of a set is selected.
    pub fn contains(&self, set: &str, element: u32) -> bool {
        self.of(set).binary_search(&element).is_ok()
    }

    /// Returns the hovered element; `None` if no element is hovered or the selection is of another set.
    pub fn hovered_in(&self, set: &str) -> Option<u32> {
        self.hovered.filter(|_| self.set == set || self.set.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::FREE_SLOT;

    #[test]
    fn individuals_are_followed_and_not_their_slots() {
        let mut selection = Selection { now: 10, ..Selection::default() };
        selection.replace("nuclei", vec![0, 1, 2, 3]);
        // Slot 1 became free before the ids arrived, and slot 3 has another individual since step 11.
        let mut now = Individuals { ids: vec![4, FREE_SLOT, 6, 9], born: vec![0, 0, 10, 11] };
        selection.identify("nuclei", &now);
        assert_eq!((selection.of("nuclei"), &selection.individuals[..]), (&[0, 2][..], &[4, 6][..]));
        let generation = selection.generation;
        selection.identify("nuclei", &now);
        assert_eq!((selection.generation, selection.n_ended), (generation, 2));
        (now.ids[0], now.born[0]) = (12, 20);
        selection.identify("nuclei", &now);
        assert_eq!((selection.of("nuclei"), &selection.individuals[..], selection.n_ended), (&[2][..], &[6][..], 3));
        selection.forget_individuals();
        selection.identify("nuclei", &now);
        assert_eq!(&selection.individuals[..], &[6]);
        selection.identify("neurons", &Individuals::default());
        assert_eq!(selection.of("nuclei"), [2], "of another set");
    }

    #[test]
    fn the_most_active_elements_are_taken_from_a_large_selection() {
        let selection = Selection { set: "cells", elements: Arc::new((0..100).collect()), ..Selection::default() };
        let mut counts = vec![0; 100];
        (counts[99], counts[70], counts[3]) = (5, 9, 1);
        assert_eq!(selection.most_active("cells", &counts, 4), [0, 3, 70, 99]);
        assert_eq!(selection.most_active("cells", &[], 2), [0, 1]);
        assert_eq!(selection.most_active("cells", &counts, 200).len(), 100);
    }
}
