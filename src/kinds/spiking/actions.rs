//! Checks edits and actions. All models and backends share this code.

use super::{
    general::without_input,
    params::{NeuronModel, Params, Source},
    probes::ACTIONS,
};
use crate::{
    params::{ParamWarning, Value},
    sim::{Action, SimError},
};

impl Params {
    /// Whether the stimuli or silencing differ from those of `old`.
    pub fn stimuli_differ_from(&self, old: &Self) -> bool {
        (&self.stimulus, &self.selections, &self.interventions) != (&old.stimulus, &old.selections, &old.interventions)
    }
}

impl Params {
    /// Returns warnings about values that are valid but unusual.
    pub fn warnings(&self) -> Vec<ParamWarning> {
        let lif = &self.lif;
        if self.network.source == Source::Rules {
            return without_input::warnings(self);
        }
        if self.network.model != NeuronModel::ExponentialLif {
            return vec![];
        }
        let warning = |text| ParamWarning { path: "lif.v_threshold".into(), text };
        let mut warnings = vec![];
        if lif.v_threshold <= lif.v_reset {
            warnings.push(warning(format!(
                "lif.v_threshold ({} mV) is not above lif.v_reset ({} mV): after its first spike a neuron fires \
                 whenever it is not refractory. Raise the spike threshold or lower the reset potential",
                lif.v_threshold, lif.v_reset
            )));
        }
        if lif.v_threshold < lif.v_rest {
            warnings.push(warning(format!(
                "lif.v_threshold ({} mV) is below lif.v_rest ({} mV): neurons fire without input. Raise the spike \
                 threshold or lower the resting potential",
                lif.v_threshold, lif.v_rest
            )));
        }
        warnings
    }
}

/// Returns the weight of a manual kick, mV. Fails for another action, if a neuron does not exist, or if the weight is
/// not a finite number.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params as _, path};

    #[test]
    fn a_threshold_below_reset_or_rest_is_a_warning() {
        let mut params = Params::default();
        assert_eq!(params.warnings(), []);
        params.lif.v_threshold = -52.0;
        assert!(params.warnings().iter().any(|w| w.text.contains("not above lif.v_reset")), "{:?}", params.warnings());
        params.lif.v_threshold = -53.0;
        assert_eq!(params.warnings().len(), 2);
        for warning in params.warnings() {
            assert!(path::find(&params, &warning.path).is_ok(), "{} is a parameter", warning.path);
        }
        params.network.model = NeuronModel::NoisyLeaky;
        assert_eq!(params.warnings(), [], "of the other model");
    }

    #[test]
    fn parameters_that_do_nothing_are_hidden() {
        let mut params = Params::default();
        let shown = |params: &Params, path: &str| {
            params.ids().into_iter().any(|id| params.path(id) == path && params.is_shown(id))
        };
        assert!(!shown(&params, "stimulus.rate_hz") && !shown(&params, "stimulus.weight_mv"));
        params.stimulus.kicks = "kicks.csv".into();
        assert!(!shown(&params, "stimulus.rate_hz") && shown(&params, "stimulus.weight_mv"));
        params.stimulus.poisson = "poisson.csv".into();
        assert!(shown(&params, "stimulus.rate_hz"));
        assert!(shown(&params, "lif.tau_m") && !shown(&params, "leaky.decay"));
        params.network.model = NeuronModel::NoisyLeaky;
        assert!(!shown(&params, "lif.tau_m") && shown(&params, "leaky.decay"));
    }
}
