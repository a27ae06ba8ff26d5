//! Individuals: the occupants of reusable slots.

/// Id in a slot that has no individual.
pub const FREE_SLOT: u64 = u64::MAX;

/// Individuals of a set at one step, by slot. Ids are never reused, and depend on the simulation since step 0 and not on
/// taps, so that a replay assigns equal ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Individuals {
    /// Id of the individual in each slot; [`FREE_SLOT`] in free slots.
    pub ids: Vec<u64>,
    /// Step of birth per slot; 0 in free slots.
    pub born: Vec<u64>,
}

impl Individuals {
    /// Returns the id of the individual in a slot; `None` if the slot is free or does not exist, or the individual
    /// was born after the step `seen`.
    pub fn seen_at(&self, slot: u32, seen: u64) -> Option<u64> {
        let (id, born) = (*self.ids.get(slot as usize)?, *self.born.get(slot as usize)?);
        (id != FREE_SLOT && born <= seen).then_some(id)
    }

    /// Returns the slots of the individuals among `wanted` that are alive, with their ids, ascending by slot.
    pub fn slots_of(&self, wanted: &[u64]) -> Vec<(u32, u64)> {
        let mut wanted = wanted.to_vec();
        wanted.sort_unstable();
        let slots = self.ids.iter().enumerate().filter(|(_, id)| **id != FREE_SLOT);
        slots.filter(|(_, id)| wanted.binary_search(id).is_ok()).map(|(slot, id)| (slot as u32, *id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_occupant_is_another_individual() {
        let now = Individuals { ids: vec![7, FREE_SLOT, 3], born: vec![20, 0, 5] };
        assert_eq!([now.seen_at(0, 19), now.seen_at(0, 20)], [None, Some(7)]);
        assert_eq!([now.seen_at(1, 99), now.seen_at(2, 99), now.seen_at(3, 99)], [None, Some(3), None]);
        assert_eq!(now.slots_of(&[3, 7, 4, FREE_SLOT]), [(0, 7), (2, 3)]);
    }
}
