//! Assignment of lines to lanes. Families are adjacent, and lanes are reused over time.

use super::forest::Forest;
use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, VecDeque},
};

/// Marks a line that has no lane and is not drawn.
pub const NO_LANE: u32 = u32::MAX;

/// Maximum number of lane comparisons for nested families.
const MAX_COMPARISONS: u64 = 20_000_000;

#[derive(Default)]
pub struct Lanes {
    /// Lane of each line, or [`NO_LANE`].
    pub of: Vec<u32>,
    /// Number of lanes.
    pub n: u32,
}

/// Space of a family: first and last step in each of its lanes.
type Block = VecDeque<(u64, u64)>;

impl Lanes {
    /// Returns the number of drawn lines.
    pub fn n_drawn(&self) -> usize {
        self.of.iter().filter(|lane| **lane != NO_LANE).count()
    }

    /// Assigns the kept lines to lanes: in nested families if this takes few comparisons, otherwise each near its first parent.
    pub fn of(forest: &Forest, keep: &[bool]) -> Self {
        Self::nested(forest, keep).unwrap_or_else(|| Self::nearest(forest, keep))
    }

    /// Assigns each line to the free lane nearest to that of its first parent, in O(n log n). There are as many lanes as lines
    /// that live simultaneously.
    fn nearest(forest: &Forest, keep: &[bool]) -> Self {
        let n = keep.len().min(forest.lines.len());
        let mut lanes = Self { of: vec![NO_LANE; n], n: 0 };
        let mut births: Vec<u32> = (0..n as u32).filter(|i| keep[*i as usize]).collect();
        births.sort_by_key(|i| forest.lines[*i as usize].born);
        let (mut free, mut taken) = (BTreeSet::new(), BinaryHeap::new());
        for i in births {
            let line = &forest.lines[i as usize];
            while let Some(Reverse((_, lane))) = taken.peek().copied().filter(|Reverse((died, _))| *died <= line.born) {
                taken.pop();
                free.insert(lane);
            }
            let of_parent = line.parents.iter().map(|p| lanes.of[*p as usize]).find(|lane| *lane != NO_LANE);
            let from = of_parent.unwrap_or(0);
            let (above, below) = (free.range(from..).next(), free.range(..from).next_back());
            let nearest = above.into_iter().chain(below).copied().min_by_key(|lane: &u32| lane.abs_diff(from));
            let lane = match nearest {
                Some(lane) => {
                    free.remove(&lane);
                    lane
                }
                None => {
                    lanes.n += 1;
                    lanes.n - 1
                }
            };
            lanes.of[i as usize] = lane;
            taken.push(Reverse((line.died, lane)));
        }
        lanes
    }

    /// Places each line next to its first parent. The youngest children are nearest, so that earlier families enclose later ones.
    /// `None` if it takes too many comparisons.
    fn nested(forest: &Forest, keep: &[bool]) -> Option<Self> {
        let mut left = MAX_COMPARISONS;
        let n = keep.len().min(forest.lines.len());
        let parent = |i: usize| forest.lines[i].parents.iter().copied().find(|p| keep[*p as usize]);
        let mut blocks: Vec<Block> = (0..n).map(|_| Block::new()).collect();
        let mut below = vec![0u32; n];
        let mut has_own = vec![false; n];
        for i in (0..n).rev().filter(|i| keep[*i]) {
            add_own(&mut blocks[i], &mut has_own[i], (forest.lines[i].born, forest.lines[i].died));
            let Some(parent) = parent(i).map(|p| p as usize) else { continue };
            let child = std::mem::take(&mut blocks[i]);
            let own = (forest.lines[parent].born, forest.lines[parent].died);
            if !has_own[parent] {
                let (block, offset) = first_child(child, own);
                (blocks[parent], below[i], has_own[parent]) = (block, offset, true);
            } else {
                below[i] = insert_block(&mut blocks[parent], &child, &mut left)?;
            }
        }
        let mut lanes = Self { of: vec![NO_LANE; n], n: 0 };
        let first = forest.lines.first().map_or(0, |l| l.born);
        let mut taken = Block::new();
        for i in (0..n).filter(|i| keep[*i]) {
            lanes.of[i] = match parent(i) {
                Some(parent) => lanes.of[parent as usize] + below[i],
                // Initial founders have their own lanes; later founders may share a lane with an extinct family.
                None if forest.lines[i].born == first => {
                    taken.extend(&blocks[i]);
                    (taken.len() - blocks[i].len()) as u32
                }
                None => insert_block(&mut taken, &blocks[i], &mut left)?,
            };
        }
        lanes.n = taken.len() as u32;
        Some(lanes)
    }
}

/// Adds the line's own lane after its children, unless it has one. A line without children is a block of one lane.
fn add_own(block: &mut Block, has_own: &mut bool, own: (u64, u64)) {
    if !std::mem::replace(has_own, true) {
        block.push_back(own);
    }
}

/// Places the parent in a lane above the block of its youngest child, or before it in the same lane. The block is moved instead
/// of copied, because a line with a thousand successors is a chain of blocks of equal size.
fn first_child(mut child: Block, own: (u64, u64)) -> (Block, u32) {
    match child.front_mut() {
        Some(front) if front.0 >= own.1 => {
            front.0 = own.0;
            (child, 0)
        }
        _ => {
            child.push_front(own);
            (child, 1)
        }
    }
}

/// Merges a child's block into the block of its parent at the first offset without overlap, and returns the offset. `left` counts
/// down the comparisons; `None` if none are left.
fn insert_block(block: &mut Block, child: &Block, left: &mut u64) -> Option<u32> {
    let mut offset = 0;
    while offset < block.len() {
        let mut pairs = child.iter().zip(block.range(offset..));
        let n_free = pairs.by_ref().take_while(|(c, b)| c.1 <= b.0 || c.0 >= b.1).count();
        *left = left.checked_sub(n_free as u64 + 1)?;
        if n_free == child.len().min(block.len() - offset) {
            break;
        }
        offset += 1;
    }
    *left = left.checked_sub(child.len() as u64)?;
    for (l, (start, end)) in child.iter().enumerate() {
        match block.get_mut(offset + l) {
            Some(lane) => *lane = (lane.0.min(*start), lane.1.max(*end)),
            None => block.push_back((*start, *end)),
        }
    }
    Some(offset as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::lineage::forest::tests::{birth, death, small};
    use crate::sim::{EndCause, LifeEvent};

    fn overlaps(forest: &Forest, lanes: &Lanes) -> usize {
        let mut drawn: Vec<(u32, u64, u64)> =
            forest.lines.iter().zip(&lanes.of).map(|(l, lane)| (*lane, l.born, l.died)).collect();
        drawn.sort_unstable();
        drawn.windows(2).filter(|w| w[0].0 == w[1].0 && w[0].2 > w[1].1).count()
    }

    #[test]
    fn lines_do_not_overlap() {
        let forest = small();
        let lanes = Lanes::of(&forest, &[true; 5]);
        assert_eq!(overlaps(&forest, &lanes), 0);
        assert_eq!(lanes.n, 4, "{:?}: a merger continues in the lane of its first parent", lanes.of);
        let keep = forest.survivors();
        let fewer = Lanes::of(&forest, &keep);
        assert_eq!((fewer.n, fewer.of[2]), (3, NO_LANE));
    }

    /// Creates a population with three decays into four and one fusion of four per generation, so that nearly every line is an
    /// ancestor of a living one.
    fn birth_and_death(n_steps: u64) -> Forest {
        let mut forest = Forest::default();
        forest.absorb(&(0..130).map(|i| birth(0, i, &[], i as u32)).collect::<Vec<_>>());
        let (mut living, mut next): (VecDeque<u64>, u64) = ((0..130).collect(), 130);
        for step in 1..=n_steps {
            for _ in 0..3 {
                let parent = living.pop_front().expect("alive");
                let children: Vec<LifeEvent> =
                    (next..next + 4).map(|id| birth(step, id, &[parent], id as u32)).collect();
                forest.absorb(&[death(step, parent, EndCause::Split)]);
                forest.absorb(&children);
                living.extend(next..next + 4);
                next += 4;
            }
            let merged: Vec<u64> = (0..10).map(|k| living.remove((k * 11) % living.len()).expect("alive")).collect();
            forest.absorb(&merged.iter().map(|id| death(step, *id, EndCause::Merged)).collect::<Vec<_>>());
            forest.absorb(&[birth(step, next, &merged, next as u32)]);
            living.push_back(next);
            next += 1;
        }
        forest
    }

    /// If nested families would take too long, lines get lanes near their parents.
    #[test]
    fn lines_near_their_parents_take_few_lanes() {
        let forest = birth_and_death(1_000);
        let keep = forest.survivors();
        assert!(keep.iter().filter(|k| **k).count() > 10_000, "most are ancestors of the living");
        let lanes = Lanes::nearest(&forest, &keep);
        assert_eq!(overlaps(&forest, &lanes), 0);
        let most = 130 + 3 * 3 + 1;
        assert!(lanes.n <= most, "{} lanes, at most {most} live at once", lanes.n);
        let mut left = 1_000;
        assert!(Lanes::nested(&small(), &[true; 5]).is_some(), "few lines are nested");
        let wide: Block = (0..100).map(|i| (i, 1_000)).collect();
        assert_eq!(insert_block(&mut wide.clone(), &wide, &mut left), Some(100));
        assert_eq!(insert_block(&mut wide.clone(), &wide, &mut 50), None, "too many comparisons");
    }

    /// A population of a thousand generations is laid out quickly, without overlaps, in few lanes.
    #[test]
    fn a_long_run_is_laid_out_quickly() {
        let mut forest = Forest::default();
        forest.absorb(&(0..100).map(|i| birth(0, i, &[], i as u32)).collect::<Vec<_>>());
        let (mut living, mut next): (Vec<u64>, u64) = ((0..100).collect(), 100);
        for step in 1..=1000u64 {
            let (dies, splits) = ((step * 7919 % 100) as usize, (step * 104_729 % 99) as usize);
            let splits = if splits >= dies { splits + 1 } else { splits };
            let parent = living[splits];
            forest.absorb(&[death(step, living[dies], EndCause::Died), death(step, parent, EndCause::Split)]);
            forest
                .absorb(&[birth(step, next, &[parent], splits as u32), birth(step, next + 1, &[parent], dies as u32)]);
            (living[splits], living[dies]) = (next, next + 1);
            next += 2;
        }
        let started = std::time::Instant::now();
        let lanes = Lanes::of(&forest, &vec![true; forest.lines.len()]);
        assert_eq!(overlaps(&forest, &lanes), 0);
        assert!(lanes.n < 600, "{} lanes for a hundred families", lanes.n);
        assert!(started.elapsed().as_millis() < 2000);
    }
}
