//! Checks of edits and actions, shared by all models and backends.

use super::{Params, probes::ACTIONS};
use crate::{
    params::Value,
    sim::{Action, SimError},
};

impl Params {
    /// Whether stimuli or silencing differ.
    pub fn stimuli_differ_from(&self, old: &Self) -> bool {
        (&self.stimulus, &self.selections, &self.interventions) != (&old.stimulus, &old.selections, &old.interventions)
    }
}

/// The weight of a manual kick, mV, after checking that all its neurons exist.
pub fn kick_weight(action: &Action, n: u32) -> Result<f64, SimError> {
    let [Value::Real(weight_mv)] = action.values[..] else {
        return Err(SimError::Input(format!("{} takes one number, the weight in mV", ACTIONS[0].name)));
    };
    if action.name != ACTIONS[0].name {
        return Err(SimError::Input(format!("there is no action `{}`; there is {}", action.name, ACTIONS[0].name)));
    }
    if !weight_mv.is_finite() {
        return Err(SimError::Input("kick: weight_mv must be a finite number".to_owned()));
    }
    if let Some(beyond) = action.elements.iter().find(|i| **i >= n) {
        return Err(SimError::Input(format!("kick: there is no neuron {beyond}")));
    }
    Ok(weight_mv)
}
