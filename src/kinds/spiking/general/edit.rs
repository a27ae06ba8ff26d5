//! Edits of a running network from rules.

use super::plan::{self, Plan};
use crate::{
    kinds::spiking::params::Params,
    params::{Change, Params as _},
    sim::SimError,
};

/// Returns the plan after a change; `None` if the change needs new connections, because the units of the weights
/// differ. The result is the current plan for changes that need a rebuild in any case. Fails if no network can be built
/// after the change.
pub fn plan_after(params: &Params, now: &Plan, change: &Change) -> Result<Option<Plan>, SimError> {
    let mut new = params.clone();
    if !new.set(change) || new == *params {
        return Ok(Some(now.clone())); // reported by the check of the change
    }
    let same_network = (&new.populations.len(), &new.projections, new.rules.dt)
        == (&params.populations.len(), &params.projections, params.rules.dt);
    if !same_network {
        return Ok(Some(now.clone()));
    }
    let mut next = plan::with_files_of(&new, now)?;
    let units = |plan: &Plan| plan.populations.iter().map(|p| p.exponents).collect::<Vec<_>>();
    if units(&next) != units(now) {
        return Ok(None);
    }
    next.projections.clone_from(&now.projections);
    Ok(Some(next))
}
