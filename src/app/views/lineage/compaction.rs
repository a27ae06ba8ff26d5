//! Drops lines of a forest that takes too much memory: computed on the pool from a copy, while the forest grows.

use super::{
    forest::{ALIVE, DROPPED, Forest, HashIds, Line},
    lines::Lines,
};
use crate::app::views::pool;
use std::collections::HashMap;

/// Lines that are taken over in a frame at most: 2 ms.
pub const PER_FRAME: usize = 4096;
/// Room in the index by id, in parts of the lines that stay: it is not rehashed before lines are dropped again.
const ROOM: usize = 3;

/// The lines that stay of a copy of a forest.
pub struct Compaction {
    /// Its lines, with their new parents.
    lines: Lines,
    by_id: HashMap<u64, u32, HashIds>,
    n_bytes: usize,
    /// Step of the first event that is still known.
    since: Option<u64>,
    /// The new index of each line of the copy, and of the later ones that were taken over, or [`DROPPED`].
    new_index: Vec<u32>,
    n_dropped: usize,
}

impl Compaction {
    /// Drops the extinct, then the oldest ended lines above `most`.
    pub fn of(forest: &Forest, most: usize) -> Self {
        let (mut keep, mut since) = (forest.survivors(), forest.since);
        let mut excess = keep.iter().filter(|k| **k).count().saturating_sub(most);
        for (keep, line) in keep.iter_mut().zip(forest.lines.iter()) {
            if excess == 0 {
                break;
            }
            if *keep && line.died != ALIVE {
                (*keep, since) = (false, Some(line.born));
                excess -= 1;
            }
        }
        let mut new_index = vec![DROPPED; keep.len()];
        let n = keep.iter().filter(|k| **k).count();
        let (mut lines, mut by_id) =
            (Lines::default(), HashMap::with_capacity_and_hasher(ROOM * n, HashIds::default()));
        let mut n_bytes = 0;
        for (i, line) in forest.lines.iter().enumerate().filter(|(i, _)| keep[*i]) {
            new_index[i] = lines.len() as u32;
            let line = moved(line, |parent| new_index[parent]);
            by_id.insert(line.id, new_index[i]);
            n_bytes += line.n_bytes();
            lines.push(line);
        }
        Self { lines, by_id, n_bytes, since, n_dropped: keep.len() - n, new_index }
    }

    /// Adds the next line of the forest.
    fn push(&mut self, line: &Line) {
        let line = moved(line, |parent| self.new_index[parent]);
        self.new_index.push(self.lines.len() as u32);
        self.by_id.insert(line.id, self.lines.len() as u32);
        self.n_bytes += line.n_bytes();
        self.lines.push(line);
    }

    /// Takes the end of a line over.
    fn end(&mut self, line: usize, now: &Line) {
        let Some(new) = self.new_index.get(line).filter(|new| **new != DROPPED) else { return };
        let stays = &mut self.lines[*new as usize];
        self.n_bytes = self.n_bytes + now.attributes.n_bytes() - stays.attributes.n_bytes();
        *stays = Line { parents: stays.parents.clone(), ..now.clone() };
    }
}

/// The line with the new indices of its parents.
fn moved(line: &Line, new_index: impl Fn(usize) -> u32) -> Line {
    let parents = line.parents.iter().map(|parent| new_index(*parent as usize));
    Line { parents: parents.filter(|parent| *parent != DROPPED).collect(), ..line.clone() }
}

impl Forest {
    /// A copy for [`Compaction::of`] on the pool. Until [`Forest::adopt`], lines that end are noted.
    pub fn begin_compaction(&mut self) -> Self {
        self.ended_since = Some(vec![]);
        self.snapshot()
    }

    /// Applies at most `most` of the births and ends since the copy was made. Returns whether none are left.
    pub fn catch_up(&mut self, compaction: &mut Compaction, most: usize) -> bool {
        let first = compaction.new_index.len();
        self.lines.iter_from(first).take(most).for_each(|line| compaction.push(line));
        let Some(ended) = &mut self.ended_since else { return true };
        // One that is not taken over yet comes with its end.
        for line in ended.split_off(ended.len().saturating_sub(most)) {
            compaction.end(line as usize, &self.lines[line as usize]);
        }
        ended.is_empty() && compaction.new_index.len() == self.lines.len()
    }

    /// Keeps only the lines that stay, after [`Forest::catch_up`]. Returns the new index of each line, or [`DROPPED`].
    pub fn adopt(&mut self, compaction: Compaction) -> Vec<u32> {
        let Compaction { lines, by_id, n_bytes, since, new_index, n_dropped } = compaction;
        self.totals.dropped += n_dropped as u64;
        self.ended_since = None;
        self.by_slot.values_mut().for_each(|line| *line = new_index[*line as usize]);
        (self.since, self.n_bytes) = (since, n_bytes);
        pool::discard((std::mem::replace(&mut self.lines, lines), std::mem::replace(&mut self.by_id, by_id)));
        new_index
    }

    /// Drops the extinct, then the oldest ended lines above `most`, at once. Returns the new index of each line, or
    /// [`DROPPED`].
    pub fn drop_lines(&mut self, most: usize) -> Vec<u32> {
        self.adopt(Compaction::of(self, most))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::forest::tests::*, *};
    use crate::sim::EndCause;

    /// A birth from the newest individual per step, and a death without offspring every second step.
    fn events(forest: &mut Forest, steps: std::ops::Range<u64>) {
        for step in steps {
            forest.absorb(&[birth(step, 2 * step, &[2 * step - 2], (step % 50) as u32)]);
            forest.absorb(&[birth(step, 2 * step + 1, &[2 * step - 2], 50 + (step % 50) as u32)]);
            if step % 2 == 0 {
                forest.absorb(&[death(step, 2 * step - 1, EndCause::Died)]);
            }
        }
    }

    /// What happens while lines are dropped on the pool is the same as if it happened afterwards.
    #[test]
    fn a_forest_that_grows_while_lines_are_dropped_loses_nothing() {
        let mut at_once = Forest::default();
        at_once.absorb(&[birth(0, 0, &[], 0), birth(0, 1, &[], 1)]);
        events(&mut at_once, 1..400);
        let mut meanwhile = at_once.clone();
        at_once.drop_lines(120);
        events(&mut at_once, 400..500);

        let copy = meanwhile.begin_compaction();
        events(&mut meanwhile, 400..450);
        let mut compaction = Compaction::of(&copy, 120);
        // Ends and births come in faster than a few are taken over, then slower.
        for step in 450..470 {
            assert!(!meanwhile.catch_up(&mut compaction, 1));
            events(&mut meanwhile, step..step + 1);
        }
        while !meanwhile.catch_up(&mut compaction, 20) {}
        let n_before = meanwhile.lines.len();
        let new_index = meanwhile.adopt(compaction);
        events(&mut meanwhile, 470..500);

        assert!(at_once.totals.dropped > 500 && new_index.len() == n_before);
        assert!(meanwhile.lines.iter().eq(at_once.lines.iter()));
        assert_eq!((meanwhile.totals, meanwhile.since), (at_once.totals, at_once.since));
        assert_eq!((meanwhile.n_alive, meanwhile.n_bytes), (at_once.n_alive, at_once.n_bytes));
        assert_eq!((&meanwhile.by_id, &meanwhile.by_slot), (&at_once.by_id, &at_once.by_slot));
    }
}
