//! Detection of NaN and infinite state: the first step and element.

use super::SimError;

/// The first NaN or infinite value of a simulation's state. Ordered by step, then by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NonFinite {
    /// The step.
    pub step: u64,
    /// The element.
    pub element: u32,
}

impl NonFinite {
    /// Keeps the earlier of the one known so far and this one.
    pub fn note(first: &mut Option<Self>, found: Self) {
        *first = Some(first.map_or(found, |known| known.min(found)));
    }
}

impl SimError {
    /// A value became NaN or infinite. `what` names it, `remedy` says what to change.
    pub fn non_finite(what: &str, step: u64, remedy: &str) -> Self {
        Self::Diverged(format!("{what} became NaN or infinite at step {step}; {remedy}"))
    }
}
