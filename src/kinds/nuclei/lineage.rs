//! Numbers for nuclei: places are used again, numbers are not.

use super::events::Events;
use crate::sim::{Birth, Death, EndCause, LifeEvent};

/// Who lives in each place by number, and births and deaths since they were last taken.
#[derive(Default)]
pub struct Lineage {
    next: u64,
    /// By place; of those who live.
    numbers: Vec<u64>,
    waiting: Vec<LifeEvent>,
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
        let birth = Birth { step, child: self.next, parents, slot: Some(slot), ..Birth::default() };
        self.waiting.push(LifeEvent::Birth(birth));
        self.next += 1;
    }

    fn gone(&mut self, step: u64, slots: &[u32], end: EndCause) {
        let death = |slot: &u32| Death { step, gone: self.numbers[*slot as usize], end, health: None };
        self.waiting.extend(slots.iter().map(death).map(LifeEvent::Death));
    }

    /// Deaths and births of generation `step`, which hold from the next one on.
    pub fn events(&mut self, step: u64, events: &Events) {
        for (slots, end) in
            [(&events.fused, EndCause::Merged), (&events.decayed, EndCause::Split), (&events.died, EndCause::Died)]
        {
            self.gone(step + 1, slots, end);
        }
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

    /// What happened since it was last taken.
    pub fn take(&mut self) -> Vec<LifeEvent> {
        std::mem::take(&mut self.waiting)
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        (self.numbers.capacity() * 8 + self.waiting.capacity() * size_of::<LifeEvent>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn births(events: &[LifeEvent]) -> Vec<(u64, u64, Option<u32>, Vec<u64>)> {
        let told = |e: &LifeEvent| match e {
            LifeEvent::Birth(b) => Some((b.step, b.child, b.slot, b.parents.clone())),
            LifeEvent::Death(_) => None,
        };
        events.iter().filter_map(told).collect()
    }

    fn deaths(events: &[LifeEvent]) -> Vec<(u64, u64, EndCause)> {
        let told = |e: &LifeEvent| if let LifeEvent::Death(d) = e { Some((d.step, d.gone, d.end)) } else { None };
        events.iter().filter_map(told).collect()
    }

    #[test]
    fn places_are_used_again_and_numbers_are_not() {
        let mut lineage = Lineage::default();
        lineage.begin(0, 6, &[0, 1, 2, 3]);
        let born = vec![(3, 3), (2, 3)];
        let events = Events { fused: vec![0, 2], decayed: vec![3], born, died: vec![1], ..Events::default() };
        lineage.events(7, &events);
        let told = lineage.take();
        let (split, merged) = (vec![3], vec![0, 2]);
        let want =
            [(0, 3, Some(3), vec![]), (8, 4, Some(0), merged), (8, 5, Some(3), split.clone()), (8, 6, Some(2), split)];
        assert_eq!(births(&told)[3..], want);
        assert_eq!(
            deaths(&told),
            [(8, 0, EndCause::Merged), (8, 2, EndCause::Merged), (8, 3, EndCause::Split), (8, 1, EndCause::Died)]
        );
        lineage.events(8, &Events { fused: vec![2, 3], ..Events::default() });
        let told = lineage.take();
        assert_eq!(births(&told), [(9, 7, Some(2), vec![6, 5])]);
        assert_eq!(deaths(&told), [(9, 6, EndCause::Merged), (9, 5, EndCause::Merged)]);
    }
}
