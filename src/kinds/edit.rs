//! Checks a parameter change against its declaration: the same for every kind.

use crate::{
    params::{Apply, Change, Params},
    sim::SimError,
};

/// What a parameter change requires of a running simulation.
pub enum Edit<P> {
    /// Nothing: the value is unchanged, and could not be changed while the simulation runs.
    Same,
    /// The simulation has to be rebuilt.
    Rebuild,
    /// The new parameters, in force from the next step on.
    Live(Box<P>),
}

/// Checks a change against its declaration.
pub fn check_change<P: Params + Clone + PartialEq>(params: &P, change: &Change) -> Result<Edit<P>, SimError> {
    let mut new = Box::new(params.clone());
    if !new.set(change) {
        return Err(SimError::Input("the model has no such parameter, or the value has another type".to_owned()));
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
