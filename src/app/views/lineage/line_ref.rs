//! Reference to a line that stays valid when older lines are dropped.

use super::forest::Forest;

/// Id of an individual, and the last known index of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRef {
    pub id: u64,
    /// Last known index of the line.
    pub index: u32,
}

impl LineRef {
    /// Creates a reference to the line at an index.
    pub fn at(forest: &Forest, index: u32) -> Self {
        Self { id: forest.lines[index as usize].id, index }
    }

    /// Finds the line in another version of the forest; `None` if it was dropped there.
    pub fn follow(self, forest: &Forest) -> Option<Self> {
        let is_there = forest.lines.get(self.index as usize).is_some_and(|line| line.id == self.id);
        if is_there {
            return Some(self);
        }
        let index = forest.lines.iter().position(|line| line.id == self.id)?;
        Some(Self { index: index as u32, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::forest::tests::small, *};

    #[test]
    fn a_line_is_found_again_until_it_is_dropped() {
        let mut forest = small(); // lines 0, 1, 4, 2, 3; 4 is extinct
        let [extinct, living] = [2, 4].map(|index| LineRef::at(&forest, index));
        assert_eq!((living.id, living.follow(&forest)), (3, Some(living)));
        forest.drop_lines(100);
        assert_eq!(living.follow(&forest), Some(LineRef { id: 3, index: 3 }));
        assert_eq!(extinct.follow(&forest), None);
    }
}
