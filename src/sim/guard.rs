//! The guard against numbers that are none: who was the first to leave all bounds, and when.

use super::SimError;

/// The first step in which some state was not a finite number, and whose. The order is that of time, then of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// The step.
    pub step: u64,
    /// The element.
    pub element: u32,
}

impl Lost {
    /// Keeps the first of all that are found.
    pub fn note(first: &mut Option<Self>, found: Self) {
        *first = Some(first.map_or(found, |known| known.min(found)));
    }
}

impl SimError {
    /// Numbers have left all bounds: whose, in which step, and what helps.
    pub fn lost(whose: &str, step: u64, way_out: &str) -> Self {
        Self::Diverged(format!("{whose} left all bounds in step {step}: there is no number for it any more; {way_out}"))
    }
}
