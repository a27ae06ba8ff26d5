//! Edits of a running network from rules.

use super::{
    Projection,
    plan::{self, Plan},
};
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
    let same_network =
        (new.populations.len(), new.rules.dt) == (params.populations.len(), params.rules.dt) && same_rows(&new, params);
    if !same_network {
        return Ok(Some(now.clone()));
    }
    let mut next = plan::with_files_of(&new, now)?;
    let units = |plan: &Plan| plan.populations.iter().map(|p| p.exponents).collect::<Vec<_>>();
    if units(&next) != units(now) {
        return Ok(None);
    }
    let rules: Vec<_> = next.projections.iter().map(|p| p.plasticity.clone()).collect();
    next.projections.clone_from(&now.projections);
    next.projections.iter_mut().zip(rules).for_each(|(p, rule)| p.plasticity = rule);
    Ok(Some(next))
}

/// Whether projections differ at most in parameters of their plasticity and scaling, and in learning.
fn same_rows(a: &Params, b: &Params) -> bool {
    let is_same = |(a, b): (&Projection, &Projection)| {
        let (plasticity, learning, scaling) = (b.plasticity.clone(), b.learning, b.scaling.clone());
        a.plasticity.is_same_type(&b.plasticity) && Projection { plasticity, learning, scaling, ..a.clone() } == *b
    };
    a.projections.len() == b.projections.len() && a.projections.iter().zip(&b.projections).all(is_same)
}
