//! Input data that replace those of a running simulation.

use super::SimError;
use crate::params::Change;
use std::{any::Any, fmt, sync::Arc};

/// A file that a loader has read while the simulation ran, for a parameter that is declared with
/// [`Apply::Data`](crate::params::Apply::Data).
#[derive(Clone)]
pub struct InputData {
    /// The parameter, with the path of the file.
    pub change: Change,
    /// XXH64 of the file's content; of no file, empty.
    pub hash: String,
    /// What the kind prepared from the parameters with this change: its [`Kind::Setup`](super::Kind::Setup).
    pub setup: Arc<dyn Any + Send + Sync>,
}

impl InputData {
    /// The prepared setup of a kind.
    pub fn setup<T: Send + Sync + 'static>(&self) -> Result<Arc<T>, SimError> {
        let other = |_| SimError::Input("the data were prepared for another kind".to_owned());
        self.setup.clone().downcast().map_err(other)
    }
}

impl fmt::Debug for InputData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.change, self.hash)
    }
}
