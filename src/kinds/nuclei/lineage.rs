//! Ids of nuclei: slots are reused, ids are not.

use super::events::Events;
use crate::sim::{Birth, Death, EndCause, LifeEvent};

/// Id of the nucleus in each slot, and births and deaths since the last reading. Ids are assigned from the first tap on:
/// a run without one pays nothing.
#[derive(Default)]
pub struct Lineage {
    next: u64,
    /// By slot; valid for occupied slots.
    ids: Vec<u64>,
    /// Step of birth by slot; valid for occupied slots.
    births: Vec<u64>,
    capacity: usize,
    is_tapped: bool,
    /// Whether ids are assigned: since the first tap.
    is_tracking: bool,
    pending: Vec<LifeEvent>,
}

/// The ids of a saved state.
pub struct SavedIds {
    /// The next id.
    pub next: u64,
    /// Ids of the living, by slot.
    pub ids: Vec<u64>,
    /// Their steps of birth.
    pub births: Vec<u64>,
}

impl Lineage {
    /// Restarts with the present nuclei; without saved ids they are assigned anew.
    pub fn begin(&mut self, step: u64, capacity: u32, living: &[u32], saved: Option<SavedIds>) {
        self.next = 0;
        self.capacity = capacity as usize;
        self.is_tracking = false;
        self.pending.clear();
        if self.is_tapped || saved.is_some() {
            self.track(step, living);
        }
        if let Some(saved) = saved {
            self.next = saved.next;
            for ((slot, id), birth) in living.iter().zip(saved.ids).zip(saved.births) {
                (self.ids[*slot as usize], self.births[*slot as usize]) = (id, birth);
            }
        }
        if self.is_tapped {
            self.announce(step, living);
        }
    }

    /// The ids for a saved state; none when none are assigned.
    pub fn save(&self, living: &[u32]) -> Option<SavedIds> {
        let of = |values: &[u64]| living.iter().map(|slot| values[*slot as usize]).collect();
        self.is_tracking.then(|| SavedIds { next: self.next, ids: of(&self.ids), births: of(&self.births) })
    }

    /// Assigns ids to the living. When they were born is unknown: not after `step`.
    fn track(&mut self, step: u64, living: &[u32]) {
        self.is_tracking = true;
        for by_slot in [&mut self.ids, &mut self.births] {
            by_slot.clear();
            by_slot.resize(self.capacity, 0);
        }
        for slot in living {
            (self.ids[*slot as usize], self.births[*slot as usize]) = (self.next, step);
            self.next += 1;
        }
    }

    /// Begins or ends the tap. A tap that begins starts with the living: founders at step 0, a snapshot later.
    pub fn tap(&mut self, is_tapped: bool, step: u64, living: &[u32]) {
        let begins = is_tapped && !self.is_tapped;
        self.is_tapped = is_tapped;
        if begins || !is_tapped {
            self.pending = vec![];
        }
        if begins && !self.is_tracking {
            self.track(step, living);
        }
        if begins {
            self.announce(step, living);
        }
    }

    fn announce(&mut self, step: u64, living: &[u32]) {
        let mut slots = living.to_vec();
        slots.sort_unstable_by_key(|slot| self.ids[*slot as usize]);
        let birth = |slot: u32| {
            let (child, born) = (self.ids[slot as usize], self.births[slot as usize]);
            Birth { step, born: (step > 0).then_some(born), child, slot: Some(slot), ..Birth::default() }
        };
        self.pending.extend(slots.into_iter().map(birth).map(LifeEvent::Birth));
    }

    fn push(&mut self, event: LifeEvent) {
        if self.is_tapped {
            self.pending.push(event);
        }
    }

    fn record_birth(&mut self, step: u64, slot: u32, parents: Vec<u64>) {
        (self.ids[slot as usize], self.births[slot as usize]) = (self.next, step);
        let birth = Birth { step, child: self.next, parents, slot: Some(slot), ..Birth::default() };
        self.push(LifeEvent::Birth(birth));
        self.next += 1;
    }

    fn record_deaths(&mut self, step: u64, slots: &[u32], end: EndCause) {
        for slot in slots {
            self.push(LifeEvent::Death(Death {
                step,
                gone: self.ids[*slot as usize],
                end,
                health: None,
                attributes: Default::default(),
            }));
        }
    }

    /// Deaths and births of generation `step`; they take effect at `step` + 1.
    pub fn events(&mut self, step: u64, events: &Events) {
        if !self.is_tracking {
            return;
        }
        for (slots, end) in
            [(&events.fused, EndCause::Merged), (&events.decayed, EndCause::Split), (&events.died, EndCause::Died)]
        {
            self.record_deaths(step + 1, slots, end);
        }
        if let Some(host) = events.fused.first() {
            let parents = events.fused.iter().map(|slot| self.ids[*slot as usize]).collect();
            self.record_birth(step + 1, *host, parents);
        }
        let mut decaying = (u32::MAX, 0);
        for (child, parent) in &events.born {
            if decaying.0 != *parent {
                decaying = (*parent, self.ids[*parent as usize]); // before its slot is renewed
            }
            self.record_birth(step + 1, *child, vec![decaying.1]);
        }
    }

    /// Events since the last reading.
    pub fn take(&mut self) -> Vec<LifeEvent> {
        std::mem::take(&mut self.pending)
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        ((self.ids.capacity() + self.births.capacity()) * 8 + self.pending.capacity() * size_of::<LifeEvent>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn births(events: &[LifeEvent]) -> Vec<(u64, u64, Option<u32>, Vec<u64>)> {
        let select = |e: &LifeEvent| match e {
            LifeEvent::Birth(b) => Some((b.step, b.child, b.slot, b.parents.clone())),
            LifeEvent::Death(_) => None,
        };
        events.iter().filter_map(select).collect()
    }

    fn deaths(events: &[LifeEvent]) -> Vec<(u64, u64, EndCause)> {
        let select = |e: &LifeEvent| if let LifeEvent::Death(d) = e { Some((d.step, d.gone, d.end)) } else { None };
        events.iter().filter_map(select).collect()
    }

    #[test]
    fn slots_are_reused_and_ids_are_not() {
        let mut lineage = Lineage::default();
        lineage.tap(true, 0, &[]);
        lineage.begin(0, 6, &[0, 1, 2, 3], None);
        let born = vec![(3, 3), (2, 3)];
        let events = Events { fused: vec![0, 2], decayed: vec![3], born, died: vec![1], ..Events::default() };
        lineage.events(7, &events);
        let taken = lineage.take();
        let (split, merged) = (vec![3], vec![0, 2]);
        let want =
            [(0, 3, Some(3), vec![]), (8, 4, Some(0), merged), (8, 5, Some(3), split.clone()), (8, 6, Some(2), split)];
        assert_eq!(births(&taken)[3..], want);
        assert_eq!(
            deaths(&taken),
            [(8, 0, EndCause::Merged), (8, 2, EndCause::Merged), (8, 3, EndCause::Split), (8, 1, EndCause::Died)]
        );
        lineage.events(8, &Events { fused: vec![2, 3], ..Events::default() });
        let taken = lineage.take();
        assert_eq!(births(&taken), [(9, 7, Some(2), vec![6, 5])]);
        assert_eq!(deaths(&taken), [(9, 6, EndCause::Merged), (9, 5, EndCause::Merged)]);
    }

    #[test]
    fn a_tap_begins_with_the_living_and_keeps_their_ids() {
        let mut lineage = Lineage::default();
        lineage.begin(0, 4, &[0, 1, 2], None);
        lineage.events(4, &Events { died: vec![1], ..Events::default() });
        assert!(lineage.take().is_empty() && lineage.n_bytes() == 0, "nothing is kept before the first tap");
        lineage.begin(0, 4, &[0, 1, 2], None);
        lineage.tap(true, 0, &[0, 1, 2]);
        assert_eq!(lineage.take().len(), 3, "the founders");
        lineage.tap(false, 5, &[]);
        lineage.events(6, &Events { died: vec![1], ..Events::default() });
        lineage.events(8, &Events { decayed: vec![2], born: vec![(2, 2), (1, 2)], ..Events::default() });
        assert_eq!(lineage.take(), [], "nothing is sampled without a tap");
        let snapshot = |lineage: &mut Lineage| {
            let row = |e: LifeEvent| match e {
                LifeEvent::Birth(b) => (b.step, b.born, b.child, b.slot),
                LifeEvent::Death(_) => panic!("a death"),
            };
            lineage.take().into_iter().map(row).collect::<Vec<_>>()
        };
        lineage.tap(true, 12, &[0, 1, 2]);
        let living = [(12, Some(0), 0, Some(0)), (12, Some(9), 3, Some(2)), (12, Some(9), 4, Some(1))];
        assert_eq!(snapshot(&mut lineage), living);
        lineage.tap(true, 13, &[0, 1, 2]);
        assert_eq!(lineage.take(), [], "a tap that continues is not announced again");
        lineage.tap(false, 14, &[]);
        lineage.tap(true, 20, &[0, 1, 2]);
        assert_eq!(snapshot(&mut lineage).len(), 3);
    }
}
