//! What was read of trees, as a lineage, and its counts.

use crate::sim::LifeEvent;

/// What a file of trees says of a lineage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trees {
    /// Births and deaths in order of their steps; individuals have their number in that order as id.
    pub events: Vec<LifeEvent>,
    /// The last step.
    pub last: u64,
    /// Steps per unit of length: 1, or 1000 where lengths are not whole.
    pub scale: f64,
}

/// What is in [`Trees`], counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Individuals.
    pub individuals: u64,
    /// Of these without a parent.
    pub founders: u64,
    /// Births of one parent.
    pub splits: u64,
    /// Births of several parents.
    pub merges: u64,
    /// Individuals that live at the last step.
    pub alive: u64,
    /// Step of the first birth.
    pub first: u64,
    /// The last step.
    pub last: u64,
}

impl Trees {
    /// Counts.
    pub fn summary(&self) -> Summary {
        let mut all =
            Summary { first: self.events.first().map_or(0, LifeEvent::step), last: self.last, ..Summary::default() };
        for event in &self.events {
            match event {
                LifeEvent::Birth(birth) => {
                    all.individuals += 1;
                    all.alive += 1;
                    *[&mut all.founders, &mut all.splits, &mut all.merges][birth.parents.len().min(2)] += 1;
                }
                LifeEvent::Death(_) => all.alive -= 1,
            }
        }
        all
    }
}
