//! What a change of a parameter asks of a running simulation: the same for every kind.

use crate::{
    params::{Apply, Change, Params},
    sim::SimError,
};

/// What has to be done about a change.
pub enum Edit<P> {
    /// Nothing: it is so already, and could not be changed live.
    Same,
    /// The simulation has to be rebuilt.
    Rebuild,
    /// These parameters hold from now on.
    Live(Box<P>),
}

/// Checks a change against its declaration.
pub fn edit<P: Params + Clone + PartialEq>(params: &P, change: &Change) -> Result<Edit<P>, SimError> {
    let mut new = Box::new(params.clone());
    if !new.set(change) {
        return Err(SimError::Input(format!("no such parameter, or not its kind of value: {change:?}")));
    }
    if let Some(spec) = new.spec(change.id) {
        if !spec.admits(&change.value) {
            let path = new.path(change.id);
            return Err(SimError::Input(format!("{path} takes {} to {}", spec.hard.0, spec.hard.1)));
        }
        if spec.apply == Apply::Rebuild {
            return Ok(if *new == *params { Edit::Same } else { Edit::Rebuild });
        }
    }
    Ok(Edit::Live(new))
}
