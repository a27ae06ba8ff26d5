//! Comparison of a device with the reference.

use crate::{engine::parity::Parity, sim::Progress};
use std::sync::Arc;

/// A comparison, finished or in progress.
#[derive(Clone, Default)]
pub struct Comparison {
    pub progress: Option<Arc<Progress>>,
    /// The last result.
    pub done: Option<Result<Parity, String>>,
}
