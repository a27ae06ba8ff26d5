//! Replacement of input data in a running simulation.

use super::SimError;
use crate::params::Change;
use std::{any::Any, fmt, sync::Arc};

/// File that a loader has read during the run, for a parameter declared with
/// [`Apply::Data`](crate::params::Apply::Data).
#[derive(Clone)]
pub struct InputData {
    /// Parameter and path of the file.
    pub change: Change,
    /// XXH64 of the file's content; empty without a file.
    pub hash: String,
    /// Setup that the kind prepared from the changed parameters, see [`Kind::Setup`](super::Kind::Setup).
    pub setup: Arc<dyn Any + Send + Sync>,
}

impl InputData {
    /// Returns the setup as the type of its kind. Fails if the setup was prepared for another kind.
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
