//! Comparison of a device with the reference.

use crate::{engine::parity::Parity, sim::Progress};
use std::sync::Arc;

/// Comparison, finished or in progress.
#[derive(Clone, Default)]
pub struct Comparison {
    pub progress: Option<Arc<Progress>>,
    /// Result of the last comparison; `None` before the first comparison.
    pub done: Option<Result<Parity, String>>,
}
