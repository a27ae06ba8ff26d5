//! Checks edits and actions. All models and backends share this code.

use super::{
    general::{plasticity::shuffle::ShuffleDraws, without_input},
    params::{NeuronModel, Params, Source},
    pattern_stimulus::parameters,
    probes::ACTIONS,
    weight_readings::learning_projections,
};
use crate::{
    params::{ParamWarning, Value},
    sim::{Action, SimError},
};

impl Params {
    /// Whether the stimuli or silencing differ from those of `old`.
    pub fn stimuli_differ_from(&self, old: &Self) -> bool {
        let of = |params: &'_ Self| {
            (
                params.stimulus.clone(),
                params.selections.clone(),
                params.interventions.clone(),
                parameters(params).cloned(),
            )
        };
        of(self) != of(old)
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

/// Change of weights by an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WeightChange {
    /// Weights return to those at step 0.
    Reset,
    /// Weights are multiplied by a factor and bounded by the maximum weight.
    Scale(f32),
    /// The weights of each postsynaptic neuron are permuted.
    Shuffle(ShuffleDraws),
}

/// Action that changes the weights of projections.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightEdit {
    /// The change of each weight.
    pub change: WeightChange,
    /// Indices among all projections of the network.
    pub projections: Vec<usize>,
}

impl WeightEdit {
    /// Returns the change that an action makes, with `draws` for a permutation; `None` for other actions. Fails if a projection does
    /// not exist, or the factor is no finite number of at least 0.
    pub fn of(action: &Action, params: &Params, draws: ShuffleDraws) -> Result<Option<Self>, SimError> {
        let refuse = |why: &str| Err(SimError::Input(format!("{}: {why}", action.name)));
        let change = match (action.name.as_str(), &action.values[..]) {
            ("reset_weights", []) => WeightChange::Reset,
            ("shuffle_weights", []) => WeightChange::Shuffle(draws),
            ("reset_weights" | "shuffle_weights", _) => return refuse("it takes no values"),
            ("scale_weights", [Value::Real(factor)]) if factor.is_finite() && *factor >= 0.0 => {
                WeightChange::Scale(*factor as f32)
            }
            ("scale_weights", _) => return refuse("it takes one finite number, a factor of at least 0"),
            _ => return Ok(None),
        };
        let known = learning_projections(params);
        if known.is_empty() {
            return refuse("the network has no projection with changing weights");
        }
        if action.elements.is_empty() {
            return refuse("choose at least one projection");
        }
        if let Some(beyond) = action.elements.iter().find(|i| **i as usize >= known.len()) {
            return refuse(&format!("there is no projection {beyond}; the last one is {}", known.len() - 1));
        }
        let mut projections: Vec<usize> = action.elements.iter().map(|i| known[*i as usize].0).collect();
        projections.sort_unstable();
        projections.dedup();
        Ok(Some(Self { change, projections }))
    }
}

/// Returns the indices of projections with changing weights that a text lists by name or index; all of them for an empty text. Fails
/// if there is no such projection.
pub fn listed_projections(params: &Params, text: &str) -> Result<Vec<usize>, SimError> {
    let known = learning_projections(params);
    let find = |entry: &str| {
        let is_it = |(i, name): &&(usize, String)| name == entry || entry.parse() == Ok(*i);
        known.iter().find(is_it).map(|(i, _)| *i).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(_, name)| name.as_str()).collect();
            let names = if names.is_empty() { "the network has none".to_owned() } else { names.join(", ") };
            SimError::Input(format!(
                "projections: there is no projection `{entry}` with changing weights; there are: {names}"
            ))
        })
    };
    let mut listed = match text.trim() {
        "" if known.is_empty() => {
            return Err(SimError::Input("projections: the network has none with changing weights".to_owned()));
        }
        "" => known.iter().map(|(i, _)| *i).collect(),
        text => text.split(',').map(|entry| find(entry.trim())).collect::<Result<Vec<_>, _>>()?,
    };
    listed.sort_unstable();
    listed.dedup();
    Ok(listed)
}

/// Returns the weight of a manual kick, mV. Fails for another action, if a neuron does not exist, or if the weight is
/// not a finite number.
pub fn kick_weight(action: &Action, n: u32) -> Result<f64, SimError> {
    if action.name != ACTIONS[0].name {
        let known = ACTIONS.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ");
        return Err(SimError::Input(format!("there is no action `{}`; there are {known}", action.name)));
    }
    let [Value::Real(weight_mv)] = action.values[..] else {
        return Err(SimError::Input(format!("{} takes one number, the weight in mV", ACTIONS[0].name)));
    };
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
