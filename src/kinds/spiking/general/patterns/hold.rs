//! End of training: plastic weights and adaptive thresholds keep their values from then on.

use crate::kinds::spiking::{general::plan::Plan, params::Params};

/// Returns the step from which on weights and thresholds are held; `u64::MAX` if they never are.
pub fn end_of_training(plan: &Plan) -> u64 {
    let holds = plan.patterns.as_ref().filter(|of| of.holds);
    holds.map_or(u64::MAX, |of| of.numbers[0].saturating_mul(of.each))
}

/// Whether a plan must change before a step, because training begins or ends.
pub fn changes(plan: &Plan, step: u64) -> bool {
    plan.is_held != (step >= end_of_training(plan))
}

/// Changes a plan for a step: whether projections learn, and whether thresholds adapt. `params` are those of the plan.
pub fn apply(plan: &mut Plan, params: &Params, step: u64) {
    plan.is_held = step >= end_of_training(plan);
    for (of, projection) in plan.projections.iter_mut().zip(&params.projections) {
        if let Some(plasticity) = &mut of.plasticity {
            plasticity.is_learning = projection.learning && !plan.is_held;
        }
    }
}
