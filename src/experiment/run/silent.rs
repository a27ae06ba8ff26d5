//! Elements without events in the control: to silence such an element changes nothing.
//!
//! Silencing suppresses the output of an element, and an element without events has none. A trial that silences such an element
//! therefore has the draws, the events and the readings of the control with the same seed.

use super::trial::ActiveElements;
use crate::{
    experiment::{Plan, changes},
    num::rng::{Draw, Purpose},
    project::{Project, experiment::ConditionChange},
};
use std::collections::HashMap;

/// Elements with events in the control, by seed.
pub(super) type ActiveBySeed = HashMap<u64, ActiveElements>;

/// Whether the rule holds for the conditions of an experiment: the control is the unchanged project, and the kind can suppress
/// the output of an element alone.
pub(super) fn applies(project: &Project, plan: &Plan) -> bool {
    let is_on = project.experiment.as_ref().is_some_and(|experiment| experiment.infer_silent);
    let control = plan.conditions.get(plan.control);
    is_on && control.is_some_and(|control| control.changes.is_empty()) && changes::silences_output_alone(project)
}

/// Returns the element of a condition that silences one element and changes nothing else; `None` for other conditions.
pub(super) fn silenced_element(plan: &Plan, condition: usize, set: &str) -> Option<u32> {
    let condition = &plan.conditions[condition];
    let (over, element) = condition.element.as_ref()?;
    let is_alone = matches!(&condition.changes[..], [ConditionChange::Silence(_)]);
    (is_alone && over == set).then_some(*element)
}

/// Chooses `k` of the trials at random, with addressed draws.
pub(super) fn choose(trials: &[(usize, u64)], k: u32, seed: u64) -> Vec<(usize, u64)> {
    let word = |i: usize| Draw { seed, purpose: Purpose::Choice, step: i as u64 >> 32, lane: i as u32 }.words()[0];
    let mut order: Vec<(u32, usize)> = (0..trials.len()).map(|i| (word(i), i)).collect();
    order.sort_unstable();
    order.into_iter().take(k as usize).map(|(_, i)| trials[i]).collect()
}
