//! Numbers for nuclei: places are used again, numbers are not.

use super::events::Events;
use crate::sim::Birth;

/// Who lives in each place by number, and births since they were last taken.
#[derive(Default)]
pub struct Lineage {
    next: u64,
    /// By place; of those who live.
    numbers: Vec<u64>,
    waiting: Vec<Birth>,
}

impl Lineage {
    /// Starts over with founders.
    pub fn begin(&mut self, step: u64, capacity: u32, living: &[u32]) {
        self.numbers.clear();
        self.numbers.resize(capacity as usize, 0);
        self.waiting.clear();
        living.iter().for_each(|slot| self.born(step, *slot, vec![]));
    }

    fn born(&mut self, step: u64, slot: u32, parents: Vec<u64>) {
        self.numbers[slot as usize] = self.next;
        self.waiting.push(Birth { step, child: self.next, parents });
        self.next += 1;
    }

    /// Births of generation `step`, which are there from the next one on.
    pub fn events(&mut self, step: u64, events: &Events) {
        if let Some(host) = events.fused.first() {
            let parents = events.fused.iter().map(|slot| self.numbers[*slot as usize]).collect();
            self.born(step + 1, *host, parents);
        }
        let mut decaying = (u32::MAX, 0);
        for (child, parent) in &events.born {
            if decaying.0 != *parent {
                decaying = (*parent, self.numbers[*parent as usize]); // before its place is renewed
            }
            self.born(step + 1, *child, vec![decaying.1]);
        }
    }

    /// The births since they were last taken.
    pub fn take(&mut self) -> Vec<Birth> {
        std::mem::take(&mut self.waiting)
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        (self.numbers.capacity() * 8 + self.waiting.capacity() * size_of::<Birth>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_numbers_are_not() {
        let mut lineage = Lineage::default();
        lineage.begin(0, 6, &[0, 1, 2, 3]);
        let events = Events { fused: vec![0, 2], decayed: vec![3], born: vec![(3, 3), (2, 3)], ..Events::default() };
        lineage.events(7, &events);
        let births = lineage.take();
        let told: Vec<(u64, u64, &[u64])> = births.iter().map(|b| (b.step, b.child, &b.parents[..])).collect();
        assert_eq!(told[3..], [(0, 3, &[][..]), (8, 4, &[0, 2]), (8, 5, &[3]), (8, 6, &[3])]);
        lineage.events(8, &Events { fused: vec![2, 3], ..Events::default() });
        assert_eq!(lineage.take(), [Birth { step: 9, child: 7, parents: vec![6, 5] }]);
    }
}
