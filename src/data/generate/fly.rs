//! placeholder
use crate::data::{Connectome, DataError, Watcher};

/// Fly stand-in.
pub fn fly_stand_in(seed: u64, watch: &Watcher) -> Result<Connectome, DataError> {
    super::balanced(138_639, 109, 0.67, 4, 4, seed, watch)
}
