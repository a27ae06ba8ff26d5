//! Lines in shared blocks. A copy of the list copies one reference per block, and a change copies at most one block.

use super::forest::Line;
use std::{
    ops::{Index, IndexMut},
    sync::Arc,
};

/// Number of lines per block.
const BLOCK: usize = 256;

/// List of lines that is cheap to copy. Jobs on the pool read a copy while the original grows.
#[derive(Clone, Default)]
pub struct Lines {
    /// Blocks of [`BLOCK`] lines; the last one may have fewer.
    blocks: Vec<Arc<Vec<Line>>>,
    len: usize,
}

impl Lines {
    /// Number of lines.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the list has no lines.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the oldest line; `None` without lines.
    pub fn first(&self) -> Option<&Line> {
        self.blocks.first()?.first()
    }

    /// Returns the line at an index; `None` if there is none.
    pub fn get(&self, line: usize) -> Option<&Line> {
        self.blocks.get(line / BLOCK)?.get(line % BLOCK)
    }

    /// Iterates over all lines, in order of birth.
    pub fn iter(&self) -> impl Iterator<Item = &Line> {
        self.blocks.iter().flat_map(|block| block.iter())
    }

    /// Appends a line.
    pub fn push(&mut self, line: Line) {
        if self.len.is_multiple_of(BLOCK) {
            self.blocks.push(Arc::new(Vec::with_capacity(BLOCK)));
        }
        if let Some(last) = self.blocks.last_mut() {
            own(last).push(line);
            self.len += 1;
        }
    }
}

/// Returns a block for a change. If another list shares the block, copies it first, with capacity for a full block.
fn own(block: &mut Arc<Vec<Line>>) -> &mut Vec<Line> {
    if Arc::get_mut(block).is_none() {
        let mut copy = Vec::with_capacity(BLOCK);
        copy.extend(block.iter().cloned());
        *block = Arc::new(copy);
    }
    Arc::make_mut(block)
}

impl Index<usize> for Lines {
    type Output = Line;

    fn index(&self, line: usize) -> &Line {
        &self.blocks[line / BLOCK][line % BLOCK]
    }
}

impl IndexMut<usize> for Lines {
    fn index_mut(&mut self, line: usize) -> &mut Line {
        &mut own(&mut self.blocks[line / BLOCK])[line % BLOCK]
    }
}

impl FromIterator<Line> for Lines {
    fn from_iter<I: IntoIterator<Item = Line>>(lines: I) -> Self {
        let mut all = Self::default();
        lines.into_iter().for_each(|line| all.push(line));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::views::lineage::forest::ALIVE, sim::Attributes};

    fn line(id: u64) -> Line {
        let (parents, name, attributes) = (Arc::default(), Box::default(), Attributes::default());
        Line { id, born: 0, died: ALIVE, end: None, parents, slot: None, name, health: None, attributes }
    }

    #[test]
    fn a_copy_keeps_its_lines_and_shares_the_blocks_that_did_not_change() {
        let n = 3 * BLOCK + 7;
        let mut lines: Lines = (0..n as u64).map(line).collect();
        let copy = lines.clone();
        lines[BLOCK + 1].died = 5;
        (0..BLOCK as u64).for_each(|i| lines.push(line(n as u64 + i)));
        assert_eq!((copy.len(), lines.len()), (n, n + BLOCK));
        assert!(copy.iter().map(|l| l.id).eq(0..n as u64) && lines.iter().map(|l| l.id).eq(0..(n + BLOCK) as u64));
        assert_eq!((copy[BLOCK + 1].died, lines[BLOCK + 1].died), (ALIVE, 5));
        let shared = copy.blocks.iter().zip(&lines.blocks).map(|(a, b)| Arc::ptr_eq(a, b));
        assert_eq!(shared.collect::<Vec<_>>(), [true, false, true, false], "only changed blocks are copied");
        let id = |line: usize| lines.get(line).map(|l| l.id as usize);
        assert_eq!([0, BLOCK, n].map(id), [Some(0), Some(BLOCK), Some(n)]);
        assert_eq!(id(n + BLOCK), None);
    }
}
