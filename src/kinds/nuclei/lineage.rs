//! Ids of nuclei: slots are reused, ids are not.

use super::events::Events;
use crate::sim::{Birth, Death, EndCause, LifeEvent};

/// Id of the nucleus in each slot, and births and deaths since the last reading.
#[derive(Default)]
pub struct Lineage {
    next: u64,
    /// By slot; valid for occupied slots.
    ids: Vec<u64>,
    pending: Vec<LifeEvent>,
}

impl Lineage {
    /// Restarts with the present nuclei as founders.
    pub fn begin(&mut self, step: u64, capacity: u32, living: &[u32]) {
        self.ids.clear();
        self.ids.resize(capacity as usize, 0);
        self.pending.clear();
        living.iter().for_each(|slot| self.record_birth(step, *slot, vec![]));
    }

    fn record_birth(&mut self, step: u64, slot: u32, parents: Vec<u64>) {
        self.ids[slot as usize] = self.next;
        let birth = Birth { step, child: self.next, parents, slot: Some(slot), ..Birth::default() };
        self.pending.push(LifeEvent::Birth(birth));
        self.next += 1;
    }

    fn record_deaths(&mut self, step: u64, slots: &[u32], end: EndCause) {
        let death = |slot: &u32| Death { step, gone: self.ids[*slot as usize], end, health: None };
        self.pending.extend(slots.iter().map(death).map(LifeEvent::Death));
    }

    /// Deaths and births of generation `step`; they take effect at `step` + 1.
    pub fn events(&mut self, step: u64, events: &Events) {
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
        (self.ids.capacity() * 8 + self.pending.capacity() * size_of::<LifeEvent>()) as u64
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
        lineage.begin(0, 6, &[0, 1, 2, 3]);
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
}
