//! Detection of NaN and infinite values in the state.

use super::SimError;

/// First NaN or infinite value of a simulation's state. Values are ordered by step, then by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NonFinite {
    /// Step at which the value appeared.
    pub step: u64,
    /// Element with the value.
    pub element: u32,
}

impl NonFinite {
    /// Stores the earlier of `first` and `found` in `first`.
    pub fn note(first: &mut Option<Self>, found: Self) {
        *first = Some(first.map_or(found, |known| known.min(found)));
    }
}

impl SimError {
    /// Creates the error for a value that became NaN or infinite. `what` names the value, and `remedy` states what to
    /// change.
    pub fn non_finite(what: &str, step: u64, remedy: &str) -> Self {
        Self::Diverged(format!("{what} became NaN or infinite at step {step}; {remedy}"))
    }
}
