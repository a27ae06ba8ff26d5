//! Ids of experts. Slots are reused, and ids are not.
//!
//! A merge ends both experts, and a new expert begins in the slot of the winner. At a split, the parent continues.

use super::{LifeError, Move, Removal};
use crate::{
    kinds::synaptic::sets::slot_name,
    sim::{AttributeSpec, AttributeValue, Attributes, Birth, Death, EndCause, FREE_SLOT, Individuals, LifeEvent},
};
use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

/// Declared attributes of births and deaths.
pub const ATTRIBUTES: &[AttributeSpec] = &[
    attribute("layer", "Layer of the expert, from 0.", ""),
    attribute("origin", "Origin of the expert: founder, split or merge.", ""),
    attribute("fatigue_gene", "Gene of the fatigue rate at birth.", ""),
    attribute("energy_gene", "Gene of the energy rate at birth.", ""),
    AttributeSpec { title: "CaMKII gene", ..attribute("camkii_gene", "Gene of the CaMKII gain at birth.", "") },
    AttributeSpec { title: "PP1 gene", ..attribute("pp1_gene", "Gene of the PP1 gain at birth.", "") },
    attribute("cause", "Cause of the end: merged, dead, weakest or killed.", ""),
    attribute("age_at_end", "Steps from birth to end.", "steps"),
    attribute(
        "contribution_at_end",
        "Average contribution at the end: to first order, the rise of the loss if the expert is removed.",
        "nats",
    ),
];

const GENES: [&str; 4] = ["fatigue_gene", "energy_gene", "camkii_gene", "pp1_gene"];

const fn attribute(name: &'static str, docs: &'static str, unit: &'static str) -> AttributeSpec {
    AttributeSpec { name, title: "", docs, unit }
}

const fn text(known: &'static str) -> AttributeValue {
    AttributeValue::Text(Cow::Borrowed(known))
}

/// Expert in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupant {
    /// Id of the expert, never reused.
    pub id: u64,
    /// Step of the expert's birth.
    pub born: u64,
    /// Number of earlier experts in the slot.
    pub generation: u32,
    /// Whether the expert keeps its weights and is exempt from the life cycle.
    pub is_frozen: bool,
}

/// Values of a layer that events report, one entry per slot.
#[derive(Clone, Copy, Debug)]
pub struct LayerReadings<'a> {
    /// Health before the moves, `[E]`.
    pub health: &'a [f64],
    /// Average contribution before the moves, `[E]`; empty if unknown.
    pub contribution: &'a [f64],
    /// Genomes after the moves, `[E, 4]`.
    pub genome: &'a [f32],
}

/// Ids of the experts of all layers, and their births and deaths since the last reading. Ids are assigned in the order of
/// moves, independent of taps. Slots are numbered over all layers: `layer · E + slot`.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    experts: usize,
    next: u64,
    slots: Vec<Option<Occupant>>,
    /// Number of experts that each slot has had.
    generations: Vec<u32>,
    is_tapped: bool,
    pending: Vec<LifeEvent>,
    /// Shared copy of the ids, created on request and dropped at the next event.
    shared: OnceLock<Arc<Individuals>>,
}

/// Saved ids, one entry per slot of all layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedIdentities {
    /// Id that the next new expert receives.
    pub next: u64,
    /// Id of the expert in each slot, `[L E]`; [`FREE_SLOT`] for empty slots.
    pub ids: Vec<u64>,
    /// Step of birth, `[L E]`; 0 for empty slots.
    pub born: Vec<u64>,
    /// Number of experts that each slot has had, `[L E]`.
    pub generations: Vec<u32>,
    /// Nonzero for frozen experts, `[L E]`.
    pub frozen: Vec<u8>,
}

impl Identities {
    /// Creates founders in every slot, born at step 0.
    pub fn new(layers: usize, experts: usize) -> Self {
        let n = layers * experts;
        let founder = |id| Some(Occupant { id, born: 0, generation: 0, is_frozen: false });
        let slots = (0..n as u64).map(founder).collect();
        Self { experts, next: n as u64, slots, generations: vec![1; n], ..Self::default() }
    }

    /// Restores saved ids. An active tap restarts with the living experts.
    ///
    /// Returns `false` and changes nothing if the ids are inconsistent or the number of slots differs.
    pub fn restore(&mut self, step: u64, saved: &SavedIdentities, genome: impl Fn(usize) -> Option<[f32; 4]>) -> bool {
        let n = self.slots.len();
        let mut living: Vec<u64> = saved.ids.iter().copied().filter(|id| *id != FREE_SLOT).collect();
        living.sort_unstable();
        let fits = [saved.ids.len(), saved.born.len(), saved.generations.len(), saved.frozen.len()] == [n; 4]
            && living.iter().all(|id| *id < saved.next)
            && living.windows(2).all(|pair| pair[0] != pair[1])
            && saved.born.iter().all(|born| *born <= step);
        if !fits {
            return false;
        }
        let occupant = |slot: usize| {
            let generation = saved.generations[slot].saturating_sub(1);
            let is_frozen = saved.frozen[slot] != 0;
            let occupant = Occupant { id: saved.ids[slot], born: saved.born[slot], generation, is_frozen };
            (occupant.id != FREE_SLOT).then_some(occupant)
        };
        (self.next, self.slots) = (saved.next, (0..n).map(occupant).collect());
        self.generations.clone_from(&saved.generations);
        self.pending.clear();
        self.shared.take();
        if self.is_tapped {
            self.announce(step, genome);
        }
        true
    }

    /// Returns the ids for a saved state.
    pub fn save(&self) -> SavedIdentities {
        let Individuals { ids, born } = self.now();
        let frozen = self.slots.iter().map(|o| u8::from(o.is_some_and(|o| o.is_frozen))).collect();
        SavedIdentities { next: self.next, ids, born, generations: self.generations.clone(), frozen }
    }

    /// Returns the expert in a slot of a layer; `None` if the slot is empty.
    pub fn occupant(&self, layer: usize, slot: usize) -> Option<Occupant> {
        *self.slots.get(layer * self.experts + slot)?
    }

    /// Freezes or unfreezes an expert. Fails if the slot is empty.
    pub fn freeze(&mut self, layer: usize, slot: usize, is_frozen: bool) -> Result<(), LifeError> {
        let occupant = self.slots.get_mut(layer * self.experts + slot).and_then(Option::as_mut);
        occupant.ok_or(LifeError::Empty(slot as u32))?.is_frozen = is_frozen;
        Ok(())
    }

    /// Whether each expert of all layers is frozen, `[L, E]`.
    pub fn frozen(&self) -> Vec<bool> {
        self.slots.iter().map(|occupant| occupant.is_some_and(|o| o.is_frozen)).collect()
    }

    /// Returns the steps since birth of the experts of a layer, `[E]`; 0 for empty slots.
    pub fn ages(&self, layer: usize, step: u64) -> Vec<u64> {
        let slots = &self.slots[layer * self.experts..][..self.experts];
        slots.iter().map(|occupant| occupant.map_or(0, |o| step.saturating_sub(o.born))).collect()
    }

    /// Returns the name of an expert, made of layer, slot and generation. For an empty slot, returns the slot name with
    /// `(empty)`.
    pub fn name(&self, layer: usize, slot: usize) -> String {
        let slot_name = slot_name(layer, slot);
        match self.occupant(layer, slot) {
            Some(occupant) => format!("{slot_name}.{}", occupant.generation),
            None => format!("{slot_name} (empty)"),
        }
    }

    fn now(&self) -> Individuals {
        Individuals {
            ids: self.slots.iter().map(|o| o.map_or(FREE_SLOT, |o| o.id)).collect(),
            born: self.slots.iter().map(|o| o.map_or(0, |o| o.born)).collect(),
        }
    }

    /// Returns the current experts by slot.
    pub fn individuals(&self) -> Arc<Individuals> {
        self.shared.get_or_init(|| Arc::new(self.now())).clone()
    }

    /// Enables or disables the tap. A new tap starts with the living experts: with founders at step 0, with a snapshot later.
    pub fn tap(&mut self, is_tapped: bool, step: u64, genome: impl Fn(usize) -> Option<[f32; 4]>) {
        let begins = is_tapped && !self.is_tapped;
        self.is_tapped = is_tapped;
        if begins || !is_tapped {
            self.pending = vec![];
        }
        if begins {
            self.announce(step, genome);
        }
    }

    /// Whether births and deaths are recorded for a reading.
    pub const fn is_tapped(&self) -> bool {
        self.is_tapped
    }

    fn announce(&mut self, step: u64, genome: impl Fn(usize) -> Option<[f32; 4]>) {
        let mut living: Vec<(usize, Occupant)> =
            self.slots.iter().enumerate().filter_map(|(slot, o)| Some((slot, (*o)?))).collect();
        living.sort_unstable_by_key(|(_, occupant)| occupant.id);
        for (slot, occupant) in living {
            let origin = (step == 0).then_some("founder");
            let mut birth = self.birth(step, slot, occupant, vec![], origin, genome(slot).as_ref().map(|g| &g[..]));
            birth.born = (step > 0).then_some(occupant.born);
            self.pending.push(LifeEvent::Birth(birth));
        }
    }

    fn birth(
        &self,
        step: u64,
        at: usize,
        occupant: Occupant,
        parents: Vec<u64>,
        origin: Option<&'static str>,
        genome: Option<&[f32]>,
    ) -> Birth {
        let (layer, slot) = (at / self.experts, at % self.experts);
        let mut attributes: Attributes = [("layer".into(), AttributeValue::Number(layer as f32))].into_iter().collect();
        attributes.extend(origin.map(|origin| ("origin".into(), text(origin))));
        let genes = GENES.iter().zip(genome.unwrap_or_default());
        attributes.extend(genes.map(|(name, gene)| ((*name).into(), AttributeValue::Number(*gene))));
        let name = self.name(layer, slot);
        Birth { step, child: occupant.id, parents, slot: Some(at as u32), name, attributes, ..Birth::default() }
    }

    fn begin(&mut self, step: u64, at: usize, parents: Vec<u64>, origin: &'static str, genome: &[f32]) {
        let occupant = Occupant { id: self.next, born: step, generation: self.generations[at], is_frozen: false };
        self.next += 1;
        self.generations[at] += 1;
        self.slots[at] = Some(occupant);
        if self.is_tapped {
            let slot = at % self.experts;
            let birth = self.birth(step, at, occupant, parents, Some(origin), genome.get(slot * 4..(slot + 1) * 4));
            self.pending.push(LifeEvent::Birth(birth));
        }
    }

    /// Ends the expert in a slot, and returns the expert's id; `None` if the slot is empty.
    fn end(&mut self, step: u64, at: usize, cause: (EndCause, &'static str), of: &LayerReadings<'_>) -> Option<u64> {
        let occupant = self.slots[at].take()?;
        if self.is_tapped {
            let (layer, slot) = (at / self.experts, at % self.experts);
            let number = |x: f64| AttributeValue::Number(x as f32);
            let contribution = of.contribution.get(slot).map(|c| ("contribution_at_end".into(), number(*c)));
            let attributes = [
                ("layer".into(), number(layer as f64)),
                ("cause".into(), text(cause.1)),
                ("age_at_end".into(), number(step.saturating_sub(occupant.born) as f64)),
            ];
            let attributes = attributes.into_iter().chain(contribution).collect();
            let health = of.health.get(slot).map(|health| *health as f32);
            self.pending.push(LifeEvent::Death(Death { step, gone: occupant.id, end: cause.0, health, attributes }));
        }
        Some(occupant.id)
    }

    /// Records the deaths and births of moves that were applied to a layer after `step` steps.
    pub fn record(&mut self, step: u64, layer: usize, moves: &[Move], readings: &LayerReadings<'_>) {
        let first_slot = layer * self.experts;
        for one in moves {
            self.shared.take();
            let at = |slot: u32| first_slot + slot as usize;
            match *one {
                Move::Remove { slot, cause } => {
                    let cause = match cause {
                        Removal::Dead => "dead",
                        Removal::Weakest => "weakest",
                        Removal::Killed => "killed",
                    };
                    self.end(step, at(slot), (EndCause::Died, cause), readings);
                }
                Move::Merge { winner, loser, .. } => {
                    let cause = (EndCause::Merged, "merged");
                    let ends = [at(winner), at(loser)].map(|at| self.end(step, at, cause, readings));
                    let parents = ends.into_iter().flatten().collect();
                    self.begin(step, at(winner), parents, "merge", readings.genome);
                }
                Move::Split { parent, child } => {
                    let parents = self.slots[at(parent)].map(|parent| parent.id).into_iter().collect();
                    self.begin(step, at(child), parents, "split", readings.genome);
                }
            }
        }
    }

    /// Takes the events since the last reading.
    pub fn take(&mut self) -> Vec<LifeEvent> {
        std::mem::take(&mut self.pending)
    }

    /// Returns the memory held in bytes.
    pub fn n_bytes(&self) -> u64 {
        let slots = self.slots.len() * (size_of::<Option<Occupant>>() + size_of::<u32>());
        let shared = if self.shared.get().is_some() { self.slots.len() * 16 } else { 0 };
        (slots + shared + self.pending.capacity() * size_of::<LifeEvent>()) as u64
    }
}

#[cfg(test)]
mod tests;
