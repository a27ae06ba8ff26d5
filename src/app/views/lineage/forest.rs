//! Ancestry of a population: one line per individual, in order of birth.

use super::lines::Lines;
use crate::{
    app::document::time::lineage_memory,
    sim::{Attributes, Birth, Death, EndCause, LifeEvent},
};
use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

/// Maximum number of lines. Above it, extinct lines without living descendants are dropped, and then the oldest ended lines until
/// half of the maximum is left. If most births have several parents, nearly every line is an ancestor of a living one.
pub const MAX_LINES: usize = 200_000;
/// Bytes of a line in addition to its own size and its texts: its entry in the index by id, and room for growth.
const LINE_OVERHEAD: usize = 96;
/// Marks a dropped line in a list of new indices.
pub const DROPPED: u32 = u32::MAX;
/// Step of death of a living individual.
pub const ALIVE: u64 = u64::MAX;

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Id of the individual in the simulation.
    pub id: u64,
    /// Step of birth.
    pub born: u64,
    /// Step of death, or [`ALIVE`].
    pub died: u64,
    /// Cause of death; `None` for living individuals and unseen ends.
    pub end: Option<EndCause>,
    /// Indices of the parents' lines.
    pub parents: Arc<[u32]>,
    /// Slot in the population.
    pub slot: Option<u32>,
    /// Name of the individual, if it has one.
    pub name: Box<str>,
    /// Fitness at death; `None` if it was not reported.
    pub health: Option<f32>,
    /// Attributes of the birth and of the death.
    pub attributes: Attributes,
}

impl Line {
    /// Memory of the line, bytes.
    pub fn n_bytes(&self) -> usize {
        let texts = self.name.len() + self.attributes.n_bytes();
        size_of::<Self>() + LINE_OVERHEAD + size_of_val(&*self.parents) + texts
    }

    /// Returns the name of the individual, or its id.
    pub fn label(&self) -> String {
        if self.name.is_empty() { format!("#{}", self.id) } else { self.name.to_string() }
    }
}

/// Totals since the view began to record, including dropped lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Number of lines.
    pub lines: u64,
    /// Number of births with one parent.
    pub splits: u64,
    /// Number of births with several parents.
    pub merges: u64,
    /// Number of deaths without offspring.
    pub deaths: u64,
    pub dropped: u64,
    /// Number of parents that were never announced, as in a recording without a snapshot.
    pub unknown_parents: u64,
}

/// Hashes ids and slots. A fast hash suffices, because they are consecutive; a frame looks up a thousand births.
pub type HashIds = BuildHasherDefault<IdHasher>;

/// Hash by one multiplication.
#[derive(Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, slot: u32) {
        self.write_u64(u64::from(slot));
    }

    fn write_u64(&mut self, id: u64) {
        self.0 = (self.0 ^ id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// All lines of a population. Parents are before their children.
#[derive(Clone, Default)]
pub struct Forest {
    /// Lines in order of birth.
    pub lines: Lines,
    pub totals: Totals,
    /// Number of living individuals.
    pub n_alive: usize,
    /// Step of the first known event.
    pub since: Option<u64>,
    /// Memory of all lines, bytes.
    pub(super) n_bytes: usize,
    pub(super) by_id: HashMap<u64, u32, HashIds>,
    pub(super) by_slot: HashMap<u32, u32, HashIds>,
}

impl Forest {
    /// Returns, for each line, whether its individual is alive in a slot that the mask includes, or the line is an
    /// ancestor of such a line.
    pub fn shown(&self, mask: &[bool]) -> Vec<bool> {
        let is_shown = |slot: u32| mask.get(slot as usize).copied().unwrap_or(true);
        let living = self.lines.iter().map(|l| l.died == ALIVE && l.slot.is_none_or(is_shown));
        let mut shown: Vec<bool> = living.collect();
        self.add_ancestors(&mut shown);
        shown
    }

    /// Copies lines and totals without the indices by id and slot, which is cheap.
    pub fn snapshot(&self) -> Self {
        let Self { totals, n_alive, since, .. } = *self;
        Self { lines: self.lines.clone(), totals, n_alive, since, ..Self::default() }
    }

    /// Returns the number of lines to keep if there are too many or they take too much memory. `None` if there are not, or if
    /// less than a quarter has ended.
    pub fn excess(&self) -> Option<usize> {
        let (most, limit) = (MAX_LINES, lineage_memory::get());
        let n = self.lines.len();
        // Living individuals are kept, and dropping only a few ended lines at every sample would take too long.
        let has_ended = n - self.n_alive >= n / 4;
        if (n <= most && self.n_bytes <= limit) || !has_ended {
            return None;
        }
        let within = n as f64 * limit as f64 / self.n_bytes.max(1) as f64;
        Some((within as usize).min(most).max(self.n_alive) / 2)
    }

    /// Applies events. Contradictory ones (unknown id, second birth or death) are ignored.
    pub fn absorb(&mut self, mut events: &[LifeEvent]) {
        while let Some(first) = events.first() {
            let of_snapshot = |e: &LifeEvent| match e {
                LifeEvent::Birth(b) => b.born.is_some() && b.step == first.step(),
                LifeEvent::Death(_) => false,
            };
            let n = events.iter().position(|e| !of_snapshot(e)).unwrap_or(events.len());
            let (now, rest) = events.split_at(n.max(1));
            if n > 0 {
                self.end_missing(first.step(), now);
            }
            for event in now {
                match event {
                    LifeEvent::Birth(birth) => self.add(birth),
                    LifeEvent::Death(death) => self.end(death),
                }
            }
            events = rest;
        }
    }

    fn add(&mut self, birth: &Birth) {
        if self.by_id.contains_key(&birth.child) {
            return;
        }
        let parents: Arc<[u32]> = birth.parents.iter().filter_map(|id| self.by_id.get(id).copied()).collect();
        self.totals.unknown_parents += (birth.parents.len() - parents.len()) as u64;
        match birth.parents.len() {
            0 => {}
            1 => self.totals.splits += 1,
            _ => self.totals.merges += 1,
        }
        self.totals.lines += 1;
        self.n_alive += 1;
        let index = self.lines.len() as u32;
        self.by_id.insert(birth.child, index);
        if let Some(previous) = birth.slot.and_then(|slot| self.by_slot.insert(slot, index)) {
            self.end_unseen(previous, birth.step);
        }
        self.since = self.since.or(Some(birth.step));
        let (id, born, name) = (birth.child, birth.born.unwrap_or(birth.step), birth.name.as_str().into());
        let (slot, attributes) = (birth.slot, birth.attributes.clone());
        let line = Line { id, born, died: ALIVE, end: None, parents, slot, name, health: None, attributes };
        self.n_bytes += line.n_bytes();
        self.lines.push(line);
    }

    fn end(&mut self, death: &Death) {
        let Some(index) = self.by_id.get(&death.gone).copied() else { return };
        if self.lines[index as usize].died != ALIVE {
            return;
        }
        self.n_alive -= 1;
        let line = &mut self.lines[index as usize];
        (line.died, line.end, line.health) = (death.step, Some(death.end), death.health);
        if !death.attributes.is_empty() {
            let before = line.attributes.n_bytes();
            line.attributes.extend(death.attributes.clone());
            self.n_bytes += line.attributes.n_bytes() - before;
        }
        self.totals.deaths += u64::from(death.end == EndCause::Died);
        if let Some(slot) = line.slot.filter(|p| self.by_slot.get(p) == Some(&index)) {
            self.by_slot.remove(&slot);
        }
    }

    /// Ends living lines that are not in a snapshot.
    fn end_missing(&mut self, step: u64, snapshot: &[LifeEvent]) {
        let id = |e: &LifeEvent| if let LifeEvent::Birth(b) = e { Some(b.child) } else { None };
        let known: HashSet<u64, HashIds> = snapshot.iter().filter_map(id).collect();
        for i in 0..self.lines.len() {
            if self.lines[i].died == ALIVE && !known.contains(&self.lines[i].id) {
                self.end_unseen(i as u32, step);
            }
        }
    }

    /// Ends a living line whose end was not recorded. Its cause is unknown and its step approximate.
    fn end_unseen(&mut self, index: u32, step: u64) {
        if self.lines[index as usize].died != ALIVE {
            return;
        }
        self.n_alive -= 1;
        let line = &mut self.lines[index as usize];
        line.died = step.max(line.born);
        if let Some(slot) = line.slot.filter(|slot| self.by_slot.get(slot) == Some(&index)) {
            self.by_slot.remove(&slot);
        }
    }

    /// Returns the slot of a line; `None` if the line has ended or has no slot.
    pub fn living_slot(&self, line: u32) -> Option<u32> {
        let line = &self.lines[line as usize];
        line.slot.filter(|_| line.died == ALIVE)
    }

    /// Iterates over slots and lines of the living individuals in slots.
    pub fn living(&self) -> impl Iterator<Item = (u32, u32)> {
        self.by_slot.iter().map(|(slot, line)| (*slot, *line))
    }

    /// Returns, for each line, whether it is alive or an ancestor of a living one.
    pub fn survivors(&self) -> Vec<bool> {
        let mut keep: Vec<bool> = self.lines.iter().map(|l| l.died == ALIVE).collect();
        self.add_ancestors(&mut keep);
        keep
    }

    /// Marks all ancestors of the marked lines.
    pub fn add_ancestors(&self, marked: &mut [bool]) {
        for i in (0..self.lines.len().min(marked.len())).rev() {
            if marked[i] {
                self.lines[i].parents.iter().for_each(|p| marked[*p as usize] = true);
            }
        }
    }

    /// Marks all descendants of the marked lines.
    pub fn add_descendants(&self, marked: &mut [bool]) {
        for i in 0..self.lines.len().min(marked.len()) {
            marked[i] = marked[i] || self.lines[i].parents.iter().any(|p| marked[*p as usize]);
        }
    }

    /// Returns the founder of each line, following first parents.
    pub fn founders(&self) -> Vec<u32> {
        let mut of: Vec<u32> = Vec::with_capacity(self.lines.len());
        for (i, line) in self.lines.iter().enumerate() {
            of.push(line.parents.first().map_or(i as u32, |p| of[*p as usize]));
        }
        of
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::sim::{Attributes, Birth, Death};

    impl Forest {
        /// Returns the line whose individual occupies a slot now; `None` for a free slot.
        pub fn at_slot(&self, slot: u32) -> Option<u32> {
            self.by_slot.get(&slot).copied()
        }
    }

    pub fn birth(step: u64, child: u64, parents: &[u64], slot: u32) -> LifeEvent {
        let parents = parents.to_vec();
        LifeEvent::Birth(Birth { step, born: None, child, parents, slot: Some(slot), ..Birth::default() })
    }

    pub fn death(step: u64, id: u64, end: EndCause) -> LifeEvent {
        LifeEvent::Death(Death { step, gone: id, end, health: None, attributes: Attributes::default() })
    }

    /// Creates a forest: 0 splits into 2 and survives; 1 and 2 merge into 3; 4 dies without offspring.
    pub fn small() -> Forest {
        let mut forest = Forest::default();
        forest.absorb(&[birth(0, 0, &[], 0), birth(0, 1, &[], 1), birth(0, 4, &[], 4), birth(10, 2, &[0], 2)]);
        forest.absorb(&[death(20, 1, EndCause::Merged), death(20, 2, EndCause::Merged), birth(20, 3, &[1, 2], 1)]);
        forest.absorb(&[death(30, 4, EndCause::Died)]);
        forest
    }

    #[test]
    fn slots_follow_the_living_and_relatives_are_found() {
        let forest = small();
        let id = |slot| forest.at_slot(slot).map(|i| forest.lines[i as usize].id);
        assert_eq!([id(0), id(1), id(2), id(4)], [Some(0), Some(3), None, None]);
        assert_eq!(forest.n_alive, 2);
        assert_eq!(forest.totals, Totals { lines: 5, splits: 1, merges: 1, deaths: 1, dropped: 0, unknown_parents: 0 });
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
    fn extinct_lines_are_dropped_and_the_rest_stays_consistent() {
        let mut forest = small();
        forest.drop_lines(100);
        assert_eq!(forest.lines.iter().map(|l| l.id).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((forest.totals.dropped, &*forest.lines[3].parents), (1, &[1, 2][..]));
        forest.absorb(&[death(40, 3, EndCause::Split), birth(40, 9, &[3], 1)]);
        assert_eq!(forest.at_slot(1), Some(4));
        forest.absorb(&[birth(50, 9, &[], 7), death(50, 77, EndCause::Died)]);
        assert_eq!(forest.lines.len(), 5, "a second birth and the death of an unknown id are ignored");
    }

    /// Every birth has two parents, so that all lines are ancestors of living ones.
    #[test]
    fn the_oldest_ancestors_are_dropped_where_all_are_ancestors() {
        let mut forest = Forest::default();
        forest.absorb(&[birth(0, 0, &[], 0), birth(0, 1, &[], 1)]);
        for step in 1..100 {
            let (a, b) = (2 * step - 2, 2 * step - 1);
            let ends = [a, b].map(|id| death(step, id, EndCause::Merged));
            forest.absorb(&ends);
            forest.absorb(&[birth(step, a + 2, &[a, b], 0), birth(step, b + 2, &[a, b], 1)]);
        }
        assert!(forest.survivors().iter().all(|survives| *survives));
        forest.drop_lines(40);
        assert_eq!((forest.lines.len(), forest.n_alive, forest.totals.dropped), (40, 2, 160));
        assert_eq!(forest.since, Some(79), "the step of the newest line that was dropped");
        assert!(forest.lines.iter().take(2).all(|line| line.parents.is_empty()));
        assert!(forest.lines.iter().enumerate().all(|(i, line)| line.parents.iter().all(|p| (*p as usize) < i)));
        assert_eq!(forest.at_slot(1).map(|i| forest.lines[i as usize].id), Some(199));
    }

    #[test]
    fn lines_stay_within_their_memory() {
        let (mut forest, name, limit) = (Forest::default(), "n".repeat(1_000), lineage_memory::get());
        for step in 0..60_u64 {
            let born = (step * 1000..(step + 1) * 1000).map(|child| {
                let slot = Some((child % 1000) as u32);
                LifeEvent::Birth(Birth { step, child, slot, name: name.clone(), ..Birth::default() })
            });
            forest.absorb(&born.collect::<Vec<_>>());
            if let Some(most) = forest.excess() {
                forest.drop_lines(most);
            }
            assert!(forest.n_bytes <= limit, "step {step}: {} bytes of {limit}", forest.n_bytes);
            assert_eq!(forest.n_bytes, forest.lines.iter().map(Line::n_bytes).sum::<usize>(), "step {step}");
        }
        assert!(forest.totals.dropped > 0 && forest.n_alive == 1000);
    }

    /// Creates the event of an individual in a snapshot at `step`.
    fn living(step: u64, id: u64, born: u64, slot: u32) -> LifeEvent {
        LifeEvent::Birth(Birth { step, born: Some(born), child: id, slot: Some(slot), ..Birth::default() })
    }

    #[test]
    fn a_snapshot_ends_the_lines_that_are_not_in_it() {
        let mut forest = small(); // 0 and 3 live, in slots 0 and 1
        let snapshot = [living(60, 0, 0, 0), living(60, 7, 45, 1), living(60, 9, 52, 3)];
        forest.absorb(&snapshot);
        assert_eq!(forest.n_alive, 3, "the population of the snapshot");
        let living =
            |forest: &Forest| forest.lines.iter().filter(|l| l.died == ALIVE).map(|l| l.id).collect::<Vec<_>>();
        assert_eq!(living(&forest), [0, 7, 9]);
        let line = |id: u64| forest.lines.iter().find(|l| l.id == id).cloned().expect("a line");
        assert_eq!((line(3).died, line(3).end, line(7).born), (60, None, 45));
        assert_eq!((forest.at_slot(1), forest.totals.deaths), (Some(5), 1), "an unseen end is not a counted death");
        forest.absorb(&snapshot);
        assert_eq!((forest.n_alive, forest.lines.len()), (3, 7), "the same snapshot changes nothing");
        forest.absorb(&[death(70, 7, EndCause::Died), birth(71, 10, &[9], 1)]);
        assert_eq!(forest.n_alive, 3);
    }

    #[test]
    fn a_birth_in_an_occupied_slot_ends_its_occupant() {
        let mut forest = Forest::default();
        forest.absorb(&[birth(5, 0, &[], 2), birth(5, 1, &[], 3)]);
        forest.absorb(&[birth(9, 8, &[6], 2)]);
        assert_eq!((forest.n_alive, forest.lines[0].died, forest.since), (2, 9, Some(5)));
        assert_eq!(forest.totals.unknown_parents, 1);
    }
}
