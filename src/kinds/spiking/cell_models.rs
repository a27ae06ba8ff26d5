//! Parameters of neuron models in SONATA circuits: written for exports, read from the files that `dynamics_params` names.
//!
//! Models with the equations of NEST have NEST's names and units. Distributions, adaptation and other models have the names of the
//! project with values as texts.

use super::{
    general::{Adaptation, PointNeuron, Population, PscAlpha, PscExp, RefractoryInput},
    params::{NeuronModel, Params, Source},
};
use crate::{
    data::{circuit::NodePopulation, truncated_to},
    params::{
        Params as _, Value,
        path::{self, PathError},
    },
    sim::{CellModel, SimError},
};
use serde_json::{Map, Number, Value as Json};
use std::path::Path;

/// Parameters of NEST's models, and those of a population. A circuit without the last three has the values of new populations.
const NEST: [(&str, &str); 11] = [
    ("C_m", "model.c_m"),
    ("tau_m", "model.tau_m"),
    ("E_L", "model.e_l"),
    ("V_th", "model.v_th"),
    ("V_reset", "model.v_reset"),
    ("t_ref", "model.t_ref"),
    ("tau_syn_ex", "model.tau_syn_ex"),
    ("tau_syn_in", "model.tau_syn_in"),
    ("I_e", "model.i_e"),
    ("V_m", V_START),
    (REFRACTORY_INPUT, "model.refractory_input"),
];
/// Number of entries of [`NEST`] that files must have.
const N_REQUIRED: usize = 8;
/// Maximum number of names in a sentence, and of characters of a name and of a reason.
const MAX_NAMES: usize = 24;
const MAX_NAME: usize = 40;
const MAX_REASON: usize = 300;
/// Parameter of a population for the potentials at step 0.
const V_START: &str = "v_start";
/// Switch of NEST's model with delta synapses: input to refractory neurons is kept.
const REFRACTORY_INPUT: &str = "refractory_input";

/// Returns the neuron models of a network: one per population of a network from rules, otherwise one for all neurons.
pub fn of(params: &Params) -> Vec<CellModel> {
    if params.network.source == Source::Rules {
        return (0..params.populations.len()).map(|i| of_population(params, i)).collect();
    }
    let group = group_of(params.network.model);
    let values = texts(params, &format!("{group}."), |_| true);
    vec![CellModel { population: None, template: format!("neuropil:{group}"), values, v_start: None }]
}

/// Returns the group of parameters of a neuron model of networks without rules.
const fn group_of(model: NeuronModel) -> &'static str {
    match model {
        NeuronModel::ExponentialLif => "lif",
        NeuronModel::NoisyLeaky => "leaky",
    }
}

fn of_population(params: &Params, i: usize) -> CellModel {
    let (of, prefix) = (&params.populations[i], prefix(i));
    let (population, title) = (Some(of.name.trim().to_owned()), super::circuit::title_of(&of.model));
    if let Some(values) = of_nest(params, i) {
        let v_start =
            (of.v_start.as_constant().is_none()).then(|| text(params, &format!("{prefix}{V_START}"))).flatten();
        return CellModel { population, template: format!("nest:{title}"), values, v_start };
    }
    let values = texts(params, &prefix, is_dynamics);
    CellModel { population, template: format!("neuropil:{title}"), values, v_start: None }
}

/// Whether a parameter of a population is one of its neurons.
fn is_dynamics(name: &str) -> bool {
    ["model.", "adaptation", V_START].iter().any(|part| name.starts_with(part))
}

fn prefix(population: usize) -> String {
    format!("populations.{population}.")
}

/// Returns the values of a population by the names of NEST; `None` if NEST has no model with its equations, or values have distributions.
fn of_nest(params: &Params, i: usize) -> Option<Map<String, Json>> {
    let Population { model, adaptation, .. } = &params.populations[i];
    let is_of_nest = match model {
        PointNeuron::IafPscExp(PscExp { refractory_input, .. })
        | PointNeuron::IafPscAlpha(PscAlpha { refractory_input, .. }) => {
            *refractory_input == RefractoryInput::Accumulate
        }
        PointNeuron::IafPscDelta(_) => true,
        PointNeuron::Cuba(_) => false,
    };
    if !is_of_nest || !matches!(adaptation, Adaptation::Constant(_)) {
        return None;
    }
    let mut values = Map::new();
    for (name, own) in NEST {
        let Ok((id, _)) = path::find(params, &format!("{}{own}", prefix(i))) else { continue };
        match params.get(id) {
            Value::Distribution(of) => match of.as_constant() {
                Some(value) => drop(values.insert(name.to_owned(), Json::Number(Number::from_f64(value)?))),
                None if own == V_START => {}
                None => return None,
            },
            // The other models of NEST have no such switch.
            _ => {
                if let PointNeuron::IafPscDelta(of) = model {
                    let is_kept = of.refractory_input == RefractoryInput::Accumulate;
                    values.insert(name.to_owned(), Json::Bool(is_kept));
                }
            }
        }
    }
    Some(values)
}

/// Returns the text of a parameter with its unit; for a sum type, the name of the chosen group.
fn text(params: &Params, path: &str) -> Option<String> {
    let (id, spec) = path::find(params, path).ok()?;
    Some(match params.get(id) {
        Value::Variant(at, _) => spec.kind.variants().get(usize::from(at))?.choice.name.to_owned(),
        value => path::show(spec, &value),
    })
}

/// Returns the texts of the parameters with paths that begin with `prefix` and continue with a chosen name, by this name.
fn texts(params: &Params, prefix: &str, is_chosen: impl Fn(&str) -> bool) -> Map<String, Json> {
    let paths = params.ids().into_iter().map(|id| params.path(id));
    let named = paths.filter_map(|path| {
        let name = path.strip_prefix(prefix).filter(|name| is_chosen(name))?;
        Some((name.to_owned(), Json::String(text(params, &path)?)))
    });
    named.collect()
}

/// Sets the parameters of population `i` of a network from rules to those of a circuit. Adds sentences about values that are missing or
/// not read. Fails with the file and the name of the value if a parameter does not accept it.
pub fn read_population(
    params: &mut Params,
    i: usize,
    node: &NodePopulation,
    notes: &mut Vec<String>,
) -> Result<(), SimError> {
    let is_nest = !node.templates.iter().all(|template| template.starts_with("neuropil:"));
    if let Some(file) = &node.model_file {
        let own = |name: &str| NEST.iter().find(|(nest, _)| *nest == name).map(|(_, own)| prefix(i) + own);
        let path = |name: &str| if is_nest { own(name) } else { is_dynamics(name).then(|| prefix(i) + name) };
        read(params, (&file.path, &file.values), path, notes)?;
        let is_missing = |(nest, own): &&(&str, &str)| {
            file.values.iter().all(|(name, _)| name != nest) && path::find(params, &(prefix(i) + own)).is_ok()
        };
        let missing: Vec<&str> = NEST[..N_REQUIRED].iter().filter(is_missing).map(|(nest, _)| *nest).collect();
        if is_nest && !missing.is_empty() {
            let (file, missing) = (file.path.display(), missing.join(", "));
            notes.push(format!("Population `{}`: {file} has no {missing}: default values", node.name));
        }
    }
    if let Some((table, v_start)) = &node.v_start {
        let values = [(V_START.to_owned(), v_start.clone())];
        read(params, (table, &values), |name| Some(prefix(i) + name), notes)?;
    }
    Ok(())
}

/// Sets model and parameters of a network of synapse counts to those of a circuit. Fails as [`read_population`] does.
pub fn read_counts(params: &mut Params, node: &NodePopulation, notes: &mut Vec<String>) -> Result<(), SimError> {
    let models = [NeuronModel::ExponentialLif, NeuronModel::NoisyLeaky];
    let is_named = |model: &NeuronModel| node.templates.iter().eq([&format!("neuropil:{}", group_of(*model))]);
    let (Some(model), Some(file)) = (models.into_iter().find(is_named), &node.model_file) else { return Ok(()) };
    params.network.model = model;
    read(params, (&file.path, &file.values), |name| Some(format!("{}.{name}", group_of(model))), notes)
}

/// Sets the parameters that values in a file name; `path` returns the path of a name. Names without a parameter are noted.
fn read(
    params: &mut Params,
    (file, values): (&Path, &[(String, String)]),
    path: impl Fn(&str) -> Option<String>,
    notes: &mut Vec<String>,
) -> Result<(), SimError> {
    let mut unknown = vec![];
    for (name, value) in values {
        let value = match value.as_str() {
            "true" if name == REFRACTORY_INPUT => "Accumulate",
            "false" if name == REFRACTORY_INPUT => "Drop",
            other => other,
        };
        let Some(path) = path(name) else {
            unknown.push(truncated_to(name, MAX_NAME));
            continue;
        };
        match path::parse(params, &format!("{path}={value}")) {
            Ok(change) => drop(params.set(&change)),
            Err(PathError::Unknown { .. } | PathError::NotChosen { .. }) => unknown.push(truncated_to(name, MAX_NAME)),
            Err(why) => {
                let (name, why) = (truncated_to(name, MAX_NAME), truncated_to(&why.to_string(), MAX_REASON));
                return Err(SimError::Input(format!("{}: {name}: {why}", file.display())));
            }
        }
    }
    if !unknown.is_empty() {
        unknown.truncate(MAX_NAMES);
        notes.push(format!(
            "{}: values that the model does not have are left out: {}",
            file.display(),
            unknown.join(", ")
        ));
    }
    Ok(())
}
