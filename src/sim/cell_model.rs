//! Neuron models as files of networks name them.

use serde_json::{Map, Value};

/// Neuron model of a population with the values of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct CellModel {
    /// Name of the population; `None` for all elements.
    pub population: Option<String>,
    /// `nest:` and the name of NEST's model if equations, names and units are those of NEST; otherwise `neuropil:` and a name.
    pub template: String,
    /// Values by name: numbers and switches in the units of NEST (pF, ms, mV, pA), or texts with their units.
    pub values: Map<String, Value>,
    /// Distribution of the potentials at step 0, with units, where `values` cannot hold it.
    pub v_start: Option<String>,
}
