//! Removal of lines from a forest that has too many lines or takes too much memory.

use super::{
    forest::{ALIVE, DROPPED, Forest, HashIds, Line},
    lines::Lines,
};
use std::collections::HashMap;

/// Capacity of the index by id, as a multiple of the number of kept lines, so that it is not rehashed before the next compaction.
const ROOM: usize = 3;

/// The lines of a forest that are kept, and their indices.
struct Compaction {
    /// The kept lines, with the new indices of their parents.
    lines: Lines,
    by_id: HashMap<u64, u32, HashIds>,
    n_bytes: usize,
    /// Step of the first known event; after a removal of ancestors, the birth step of the newest of them.
    since: Option<u64>,
    /// New index of each line, or [`DROPPED`].
    new_index: Vec<u32>,
    n_dropped: usize,
}

impl Compaction {
    /// Selects lines: drops extinct lines without living descendants, then the oldest ended ones until at most `most` are left.
    fn of(forest: &Forest, most: usize) -> Self {
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
}

/// Copies a line with new indices of its parents. Dropped parents are removed.
fn moved(line: &Line, new_index: impl Fn(usize) -> u32) -> Line {
    let parents = line.parents.iter().map(|parent| new_index(*parent as usize));
    Line { parents: parents.filter(|parent| *parent != DROPPED).collect(), ..line.clone() }
}

impl Forest {
    /// Drops extinct lines without living descendants, then the oldest ended ones until at most `most` are left. Returns the new
    /// index of each line, or [`DROPPED`].
    pub fn drop_lines(&mut self, most: usize) -> Vec<u32> {
        let Compaction { lines, by_id, n_bytes, since, new_index, n_dropped } = Compaction::of(self, most);
        self.totals.dropped += n_dropped as u64;
        self.by_slot.values_mut().for_each(|line| *line = new_index[*line as usize]);
        (self.lines, self.by_id, self.n_bytes, self.since) = (lines, by_id, n_bytes, since);
        new_index
    }
}
