//! The lineage read from trees, with its counts.

use crate::sim::LifeEvent;

/// Lineage read from a tree file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trees {
    /// Births and deaths by step. An individual's id is the position of its birth among the births.
    pub events: Vec<LifeEvent>,
    /// Last step of the lineage.
    pub last: u64,
    /// Number of steps per unit of length: 1, or 1000 if lengths are not whole.
    pub scale: f64,
}

/// Numbers of individuals and births in [`Trees`], with the first and last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Number of individuals.
    pub individuals: u64,
    /// Number of individuals without a parent.
    pub founders: u64,
    /// Number of births with one parent.
    pub splits: u64,
    /// Number of births with several parents.
    pub merges: u64,
    /// Number of individuals alive at the last step.
    pub alive: u64,
    /// Step of the first birth.
    pub first: u64,
    /// Last step of the lineage.
    pub last: u64,
}

impl Trees {
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
