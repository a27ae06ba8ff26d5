//! Ids of nuclei. Unlike slots, ids are not reused.

use super::events::Events;
use crate::sim::{AttributeSpec, AttributeValue, Birth, Death, EndCause, FREE_SLOT, Individuals, LifeEvent};
use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

/// Id of the nucleus in each slot, and births and deaths since the last reading. Ids are assigned from step 0 on in the order of
/// events, independently of taps.
#[derive(Default)]
pub struct Lineage {
    next: u64,
    slots: Vec<Occupant>,
    is_tapped: bool,
    pending: Vec<LifeEvent>,
    /// Whether untapped births wait for [`Lineage::catch_up`].
    is_deferred: bool,
    waiting: WaitingBirths,
    /// Shared copy of the ids, created on request; cleared by the next event.
    shared: OnceLock<Arc<Individuals>>,
}

/// Maximum number of events for which memory is reserved. The first batch of a tap has one event per living nucleus;
/// later batches have few.
const MAX_RESERVED: usize = 1 << 12;

/// Births without an assigned id. Assigning an id writes to a random slot, which is a cache miss in a large table, so ids are
/// assigned while the GPU computes.
#[derive(Default)]
struct WaitingBirths {
    /// Slots of the births, in order.
    slots: Vec<u32>,
    /// Steps of birth, each with the number of `slots` up to its last birth.
    steps: Vec<(u64, usize)>,
}

impl WaitingBirths {
    /// Assigns ids starting with `next`. Returns the next free id.
    fn assign(&self, to: &mut [Occupant], mut next: u64) -> u64 {
        let mut first = 0;
        for (born, end) in &self.steps {
            for slot in &self.slots[first..*end] {
                to[*slot as usize] = Occupant { id: next, born: *born };
                next += 1;
            }
            first = *end;
        }
        next
    }

    fn n_bytes(&self) -> u64 {
        (self.slots.capacity() * size_of::<u32>() + self.steps.capacity() * size_of::<(u64, usize)>()) as u64
    }
}

/// The nucleus in a slot, or the last one of a free slot, so that a death writes nothing. Id and birth are adjacent, because
/// events access slots in random order.
#[derive(Clone, Copy, Default)]
struct Occupant {
    id: u64,
    /// Step at which the nucleus was born.
    born: u64,
}

/// Attributes of births and deaths.
pub const ATTRIBUTES: &[AttributeSpec] = &[
    AttributeSpec { name: "origin", title: "", docs: "Origin of the nucleus: founder, fusion or decay.", unit: "" },
    AttributeSpec { name: "parent_error", title: "", docs: "Lowest error of the parents.", unit: "" },
    AttributeSpec { name: "error_at_end", title: "", docs: "Error of the nucleus in its last generation.", unit: "" },
    AttributeSpec {
        name: "age_at_end",
        title: "",
        docs: "Generations from birth to end, or from the first known generation if the birth is unknown.",
        unit: "generations",
    },
];

const fn text(known: &'static str) -> AttributeValue {
    AttributeValue::Text(Cow::Borrowed(known))
}

/// Ids in a saved state.
pub struct SavedIds {
    /// Next id to assign.
    pub next: u64,
    /// Ids of the living nuclei, by slot.
    pub ids: Vec<u64>,
    /// Steps of birth of the living nuclei, by slot.
    pub births: Vec<u64>,
}

impl Lineage {
    /// Restarts with the living nuclei. Without saved ids, they are numbered by slot, and their unknown births are at most
    /// `step`.
    pub fn begin(&mut self, step: u64, capacity: u32, living: &[u32], saved: Option<SavedIds>) {
        self.pending.clear();
        self.waiting = WaitingBirths::default();
        self.shared.take();
        self.slots.clear();
        self.slots.reserve_exact(capacity as usize);
        self.slots.resize(capacity as usize, Occupant::default());
        let n = living.len() as u64;
        let saved =
            saved.unwrap_or_else(|| SavedIds { next: n, ids: (0..n).collect(), births: vec![step; living.len()] });
        self.next = saved.next;
        for ((slot, id), born) in living.iter().zip(saved.ids).zip(saved.births) {
            self.slots[*slot as usize] = Occupant { id, born };
        }
        if self.is_tapped {
            self.announce(step, living);
        }
    }

    /// Returns the ids for a saved state.
    pub fn save(&self, living: &[u32]) -> SavedIds {
        let (slots, next) = self.now();
        let of = |value: fn(&Occupant) -> u64| living.iter().map(|slot| value(&slots[*slot as usize])).collect();
        SavedIds { next, ids: of(|o| o.id), births: of(|o| o.born) }
    }

    /// Defers untapped births to [`Lineage::catch_up`].
    pub fn defer(&mut self) {
        self.is_deferred = true;
    }

    /// Assigns the ids of deferred births. A backend calls this function while the device computes.
    pub fn catch_up(&mut self) {
        self.next = self.waiting.assign(&mut self.slots, self.next);
        self.waiting.slots.clear();
        self.waiting.steps.clear();
    }

    /// Returns the occupants of all slots, and the next id.
    fn now(&self) -> (Cow<'_, [Occupant]>, u64) {
        if self.waiting.slots.is_empty() {
            return (Cow::Borrowed(&self.slots), self.next);
        }
        let mut slots = self.slots.clone();
        let next = self.waiting.assign(&mut slots, self.next);
        (Cow::Owned(slots), next)
    }

    /// Returns the current nuclei, by slot; `None` if `living` returns `None`. `living` lists the occupied slots and is called
    /// only if a new copy is made.
    pub fn individuals(&self, living: impl FnOnce() -> Option<Vec<u32>>) -> Option<Arc<Individuals>> {
        if let Some(shared) = self.shared.get() {
            return Some(shared.clone());
        }
        let (slots, n) = (self.now().0, self.slots.len());
        let mut now = Individuals { ids: vec![FREE_SLOT; n], born: vec![0; n] };
        for slot in living()? {
            let Occupant { id, born } = slots[slot as usize];
            (now.ids[slot as usize], now.born[slot as usize]) = (id, born);
        }
        Some(self.shared.get_or_init(|| Arc::new(now)).clone())
    }

    /// Starts or stops the tap. A tap starts with the living nuclei: founders at step 0, a snapshot later.
    pub fn tap(&mut self, is_tapped: bool, step: u64, living: &[u32]) {
        let begins = is_tapped && !self.is_tapped;
        self.catch_up();
        self.is_tapped = is_tapped;
        if begins || !is_tapped {
            self.pending = vec![];
        }
        if begins {
            self.announce(step, living);
        }
    }

    /// Whether births and deaths are recorded for a reading.
    pub const fn is_tapped(&self) -> bool {
        self.is_tapped
    }

    fn announce(&mut self, step: u64, living: &[u32]) {
        let mut slots = living.to_vec();
        slots.sort_unstable_by_key(|slot| self.slots[*slot as usize].id);
        let birth = |slot: u32| {
            let Occupant { id: child, born } = self.slots[slot as usize];
            let attributes = (step == 0).then(|| ("origin".into(), text("founder"))).into_iter().collect();
            Birth { step, born: (step > 0).then_some(born), child, slot: Some(slot), attributes, ..Birth::default() }
        };
        self.pending.extend(slots.into_iter().map(birth).map(LifeEvent::Birth));
    }

    fn record_birth(&mut self, step: u64, slot: u32, parents: &[u64], (origin, error): (&'static str, f32)) {
        self.slots[slot as usize] = Occupant { id: self.next, born: step };
        if self.is_tapped {
            let error =
                Some(error).filter(|e| e.is_finite()).map(|e| ("parent_error".into(), AttributeValue::Number(e)));
            let attributes = [("origin".into(), text(origin))].into_iter().chain(error).collect();
            let (child, parents) = (self.next, parents.to_vec());
            let birth = Birth { step, child, parents, slot: Some(slot), attributes, ..Birth::default() };
            self.pending.push(LifeEvent::Birth(birth));
        }
        self.next += 1;
    }

    /// Records deaths in these slots, with their errors if known.
    fn record_deaths(&mut self, step: u64, slots: &[u32], end: EndCause, errors: &[f32]) {
        let death = |(i, slot): (usize, &u32)| {
            let Occupant { id: gone, born } = self.slots[*slot as usize];
            let age = AttributeValue::Number(step.saturating_sub(born) as f32);
            let error = errors.get(i).map(|e| ("error_at_end".into(), AttributeValue::Number(*e)));
            let attributes = [("age_at_end".into(), age)].into_iter().chain(error).collect();
            LifeEvent::Death(Death { step, gone, end, health: None, attributes })
        };
        self.pending.extend(slots.iter().enumerate().map(death));
    }

    /// Records deaths and births of generation `step`; they take effect at `step` + 1.
    pub fn events(&mut self, step: u64, events: &Events) {
        if events.is_empty() {
            return;
        }
        self.shared.take();
        if self.is_deferred && !self.is_tapped {
            let WaitingBirths { slots, steps } = &mut self.waiting;
            slots.extend(events.fused.first().into_iter().chain(events.born.iter().map(|(child, _)| child)));
            return steps.push((step + 1, slots.len()));
        }
        let (of_fused, rest) = events.errors.split_at(events.fused.len().min(events.errors.len()));
        let (of_decayed, of_died) = rest.split_at(events.decayed.len().min(rest.len()));
        if self.is_tapped {
            for (slots, end, errors) in [
                (&events.fused, EndCause::Merged, of_fused),
                (&events.decayed, EndCause::Split, of_decayed),
                (&events.died, EndCause::Died, of_died),
            ] {
                self.record_deaths(step + 1, slots, end, errors);
            }
        }
        if let Some(host) = events.fused.first() {
            let parents = events.fused.iter().filter(|_| self.is_tapped).map(|slot| self.slots[*slot as usize].id);
            let parents: Vec<u64> = parents.collect();
            self.record_birth(step + 1, *host, &parents, ("fusion", of_fused.iter().copied().fold(f32::NAN, f32::min)));
        }
        let mut errors = of_decayed.iter();
        let mut decaying = (u32::MAX, 0, f32::NAN);
        for (child, parent) in &events.born {
            if decaying.0 != *parent {
                // Reads the id before the slot is reused.
                decaying = (*parent, self.slots[*parent as usize].id, errors.next().copied().unwrap_or(f32::NAN));
            }
            self.record_birth(step + 1, *child, &[decaying.1], ("decay", decaying.2));
        }
    }

    /// Takes the events since the last reading.
    pub fn take(&mut self) -> Vec<LifeEvent> {
        let next = Vec::with_capacity(self.pending.len().min(MAX_RESERVED)); // estimate for the next batch
        std::mem::replace(&mut self.pending, next)
    }

    /// Returns the memory of the ids of a table of `capacity` slots, bytes.
    pub const fn bytes_of(capacity: usize) -> u64 {
        capacity as u64 * 16
    }

    pub fn n_bytes(&self) -> u64 {
        let shared = if self.shared.get().is_some() { self.slots.len() } else { 0 };
        let pending = self.pending.capacity() * size_of::<LifeEvent>();
        Self::bytes_of(self.slots.len() + shared) + self.waiting.n_bytes() + pending as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the event attributes in the format of the files.
    fn attributes(events: &[LifeEvent]) -> Vec<String> {
        events.iter().map(|event| serde_json::to_string(event.attributes()).unwrap()).collect()
    }

    #[test]
    fn births_and_deaths_have_attributes() {
        let mut lineage = Lineage::default();
        lineage.tap(true, 0, &[]);
        lineage.begin(0, 6, &[0, 1, 2, 3], None);
        let errors = vec![0.5, 0.25, 2.0, 4.0];
        let born = vec![(3, 3), (2, 3)];
        let events = Events { fused: vec![0, 2], decayed: vec![3], born, died: vec![1], errors, ..Events::default() };
        lineage.events(7, &events);
        let wanted = [
            r#"{"origin":"founder"}"#,
            r#"{"origin":"founder"}"#,
            r#"{"origin":"founder"}"#,
            r#"{"origin":"founder"}"#,
            r#"{"age_at_end":8.0,"error_at_end":0.5}"#,
            r#"{"age_at_end":8.0,"error_at_end":0.25}"#,
            r#"{"age_at_end":8.0,"error_at_end":2.0}"#,
            r#"{"age_at_end":8.0,"error_at_end":4.0}"#,
            r#"{"origin":"fusion","parent_error":0.25}"#,
            r#"{"origin":"decay","parent_error":2.0}"#,
            r#"{"origin":"decay","parent_error":2.0}"#,
        ];
        assert_eq!(attributes(&lineage.take()), wanted);
        let undeclared = |name: &str| ATTRIBUTES.iter().all(|spec| spec.name != name);
        assert!(!["origin", "parent_error", "error_at_end", "age_at_end"].into_iter().any(undeclared));
    }

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
    fn ids_that_wait_are_those_assigned_at_once() {
        let living = [0, 1, 2, 3];
        let run = |defers: bool, catches_up: bool| {
            let mut lineage = Lineage::default();
            lineage.begin(0, 6, &living, None);
            if defers {
                lineage.defer();
            }
            for step in 0..5 {
                let born = vec![(3, 3), (2, 3), (0, 1)];
                let fused = if step % 2 == 0 { vec![1, 2] } else { vec![] };
                lineage.events(step, &Events { fused, decayed: vec![3, 1], born, ..Events::default() });
                if catches_up {
                    lineage.catch_up();
                }
            }
            let saved = lineage.save(&living);
            let individuals = lineage.individuals(|| Some(living.to_vec())).expect("the living");
            lineage.tap(true, 5, &living);
            let announced = births(&lineage.take());
            lineage.events(5, &Events { decayed: vec![0], born: vec![(0, 0)], ..Events::default() });
            (saved.next, saved.ids, saved.births, individuals.ids.clone(), announced, births(&lineage.take()))
        };
        let want = run(false, false);
        assert_eq!(want.0, 22, "18 births after 4 founders");
        assert_eq!(run(true, false), want);
        assert_eq!(run(true, true), want);
    }

    #[test]
    fn a_tap_begins_with_the_living_and_keeps_their_ids() {
        let mut lineage = Lineage::default();
        lineage.begin(0, 4, &[0, 1, 2], None);
        lineage.events(4, &Events { died: vec![1], ..Events::default() });
        assert!(lineage.take().is_empty() && lineage.n_bytes() == 64, "no event is kept before the first tap");
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
