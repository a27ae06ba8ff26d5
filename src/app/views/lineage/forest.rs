//! Who came out of whom: one line per individual, in the order of their births.

use crate::sim::{EndCause, LifeEvent};
use std::collections::HashMap;

/// More lines than this, and those that left nobody behind are forgotten.
const MOST: usize = 400_000;
/// The step of a death that has not come.
pub const ALIVE: u64 = u64::MAX;

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Number given by the simulation.
    pub id: u64,
    /// Step of birth.
    pub born: u64,
    /// Step of death; [`ALIVE`].
    pub gone: u64,
    /// What became of it; of the living, nothing yet.
    pub end: Option<EndCause>,
    /// Those it came out of, by line.
    pub parents: Box<[u32]>,
    /// Where it lives or lived.
    pub place: Option<u32>,
    /// What it is called, when it has a name.
    pub name: Box<str>,
    /// How well it did at the end, when that was told.
    pub health: Option<f32>,
}

impl Line {
    /// How it is called.
    pub fn label(&self) -> String {
        if self.name.is_empty() { format!("#{}", self.id) } else { self.name.to_string() }
    }
}

/// Totals since the view began, also of what was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Lines ever.
    pub lines: u64,
    /// Births with one parent.
    pub splits: u64,
    /// Births with several.
    pub merges: u64,
    /// Deaths without heirs.
    pub deaths: u64,
    /// Lines no longer held.
    pub forgotten: u64,
}

/// All lines. A parent always stands before its children.
#[derive(Clone, Default)]
pub struct Forest {
    /// In the order of birth.
    pub lines: Vec<Line>,
    /// Totals.
    pub totals: Totals,
    /// How many live.
    pub n_alive: usize,
    by_id: HashMap<u64, u32>,
    by_place: HashMap<u32, u32>,
}

impl Forest {
    /// By line: who lives at a place that is shown, and all they came out of.
    pub fn shown(&self, mask: &[bool]) -> Vec<bool> {
        let is_shown = |place: u32| mask.get(place as usize).copied().unwrap_or(true);
        let living = self.lines.iter().map(|l| l.gone == ALIVE && l.place.is_none_or(is_shown));
        let mut shown: Vec<bool> = living.collect();
        self.add_ancestors(&mut shown);
        shown
    }

    /// Takes what happened. What contradicts itself (an unknown parent, a second birth or death) is left out. Lines may get
    /// other indices when some are forgotten, which [`Totals::forgotten`] tells.
    pub fn absorb(&mut self, events: &[LifeEvent]) {
        for event in events {
            match event {
                LifeEvent::Birth(birth) => {
                    let parents: Box<[u32]> =
                        birth.parents.iter().filter_map(|id| self.by_id.get(id).copied()).collect();
                    if self.by_id.contains_key(&birth.child) {
                        continue;
                    }
                    match birth.parents.len() {
                        0 => {}
                        1 => self.totals.splits += 1,
                        _ => self.totals.merges += 1,
                    }
                    self.totals.lines += 1;
                    self.n_alive += 1;
                    let index = self.lines.len() as u32;
                    self.by_id.insert(birth.child, index);
                    if let Some(place) = birth.slot {
                        self.by_place.insert(place, index);
                    }
                    let (id, born, name) = (birth.child, birth.step, birth.name.as_str().into());
                    let place = birth.slot;
                    self.lines.push(Line { id, born, gone: ALIVE, end: None, parents, place, name, health: None });
                }
                LifeEvent::Death(death) => {
                    let Some(index) = self.by_id.get(&death.gone).copied() else { continue };
                    let line = &mut self.lines[index as usize];
                    if line.gone != ALIVE {
                        continue;
                    }
                    self.n_alive -= 1;
                    (line.gone, line.end, line.health) = (death.step, Some(death.end), death.health);
                    self.totals.deaths += u64::from(death.end == EndCause::Died);
                    if let Some(place) = line.place.filter(|p| self.by_place.get(p) == Some(&index)) {
                        self.by_place.remove(&place);
                    }
                }
            }
        }
        if self.lines.len() > MOST {
            self.forget_extinct();
        }
    }

    /// The line that lives at a place now.
    pub fn at_place(&self, place: u32) -> Option<u32> {
        self.by_place.get(&place).copied()
    }

    /// Those who live, and all they came out of.
    pub fn survivors(&self) -> Vec<bool> {
        let mut keep: Vec<bool> = self.lines.iter().map(|l| l.gone == ALIVE).collect();
        self.add_ancestors(&mut keep);
        keep
    }

    /// Marks everyone the marked came out of.
    pub fn add_ancestors(&self, marked: &mut [bool]) {
        for i in (0..self.lines.len().min(marked.len())).rev() {
            if marked[i] {
                self.lines[i].parents.iter().for_each(|p| marked[*p as usize] = true);
            }
        }
    }

    /// Marks everyone who came out of the marked.
    pub fn add_descendants(&self, marked: &mut [bool]) {
        for i in 0..self.lines.len().min(marked.len()) {
            marked[i] = marked[i] || self.lines[i].parents.iter().any(|p| marked[*p as usize]);
        }
    }

    /// The founder a line came from, by its first parents.
    pub fn founders(&self) -> Vec<u32> {
        let mut of: Vec<u32> = Vec::with_capacity(self.lines.len());
        for (i, line) in self.lines.iter().enumerate() {
            of.push(line.parents.first().map_or(i as u32, |p| of[*p as usize]));
        }
        of
    }

    fn forget_extinct(&mut self) {
        let keep = self.survivors();
        let mut new_index = vec![u32::MAX; self.lines.len()];
        let mut lines = Vec::with_capacity(MOST);
        for (i, mut line) in std::mem::take(&mut self.lines).into_iter().enumerate() {
            if keep[i] {
                new_index[i] = lines.len() as u32;
                line.parents.iter_mut().for_each(|p| *p = new_index[*p as usize]);
                lines.push(line);
            }
        }
        self.totals.forgotten += (keep.len() - lines.len()) as u64;
        self.by_id = lines.iter().enumerate().map(|(i, l)| (l.id, i as u32)).collect();
        self.by_place.values_mut().for_each(|i| *i = new_index[*i as usize]);
        self.lines = lines;
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::sim::{Birth, Death};

    pub fn birth(step: u64, child: u64, parents: &[u64], place: u32) -> LifeEvent {
        let parents = parents.to_vec();
        LifeEvent::Birth(Birth { step, child, parents, slot: Some(place), name: String::new() })
    }

    pub fn death(step: u64, gone: u64, end: EndCause) -> LifeEvent {
        LifeEvent::Death(Death { step, gone, end, health: None })
    }

    /// 0 splits into 2 and goes on; 1 and 2 merge into 3; 4 dies childless.
    pub fn small() -> Forest {
        let mut forest = Forest::default();
        forest.absorb(&[birth(0, 0, &[], 0), birth(0, 1, &[], 1), birth(0, 4, &[], 4), birth(10, 2, &[0], 2)]);
        forest.absorb(&[death(20, 1, EndCause::Merged), death(20, 2, EndCause::Merged), birth(20, 3, &[1, 2], 1)]);
        forest.absorb(&[death(30, 4, EndCause::Died)]);
        forest
    }

    #[test]
    fn places_follow_the_living_and_relatives_are_found() {
        let forest = small();
        let id = |place| forest.at_place(place).map(|i| forest.lines[i as usize].id);
        assert_eq!([id(0), id(1), id(2), id(4)], [Some(0), Some(3), None, None]);
        assert_eq!(forest.n_alive, 2);
        assert_eq!(forest.totals, Totals { lines: 5, splits: 1, merges: 1, deaths: 1, forgotten: 0 });
        let ids = |marked: Vec<bool>| -> Vec<u64> {
            forest.lines.iter().zip(marked).filter(|(_, m)| *m).map(|(l, _)| l.id).collect()
        };
        assert_eq!(ids(forest.survivors()), [0, 1, 2, 3]);
        let only = |id: u64| forest.lines.iter().map(|l| l.id == id).collect::<Vec<bool>>();
        let (mut up, mut down) = (only(3), only(0));
        forest.add_ancestors(&mut up);
        forest.add_descendants(&mut down);
        assert_eq!((ids(up), ids(down)), (vec![0, 1, 2, 3], vec![0, 2, 3]));
    }

    #[test]
    fn what_left_nobody_behind_is_forgotten_and_the_rest_stays_whole() {
        let mut forest = small();
        forest.forget_extinct();
        assert_eq!(forest.lines.iter().map(|l| l.id).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((forest.totals.forgotten, &*forest.lines[3].parents), (1, &[1, 2][..]));
        forest.absorb(&[death(40, 3, EndCause::Split), birth(40, 9, &[3], 1)]);
        assert_eq!(forest.at_place(1), Some(4));
        forest.absorb(&[birth(50, 9, &[], 7), death(50, 77, EndCause::Died)]);
        assert_eq!(forest.lines.len(), 5, "a second birth and the death of a stranger are left out");
    }
}
