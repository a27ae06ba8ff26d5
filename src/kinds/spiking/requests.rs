//! Requests about the network: connections of neurons, and paths between them.

use super::{
    general::{
        plasticity::present::SynapseState,
        present::{PresentConnections, PresentWeights},
    },
    params::Params,
    setup::Setup,
    weight_readings::learning_projections,
};
use crate::{
    params::Value,
    requests,
    sim::{Answer, Connection, ConnectionSource as _, PathQuery, PathStep, Progress, Request, SimError, request::Cell},
};
use std::sync::Arc;

const CONNECTIONS: &[&str] = &["presynaptic", "postsynaptic", "synapses"];
const SYNAPSE: &[&str] = &["projection", "weight", "presynaptic_trace", "postsynaptic_trace", "eligibility"];
const PATH: &[&str] = &["presynaptic", "postsynaptic", "synapses", "presynaptic_name", "postsynaptic_name"];

requests! {
    /// Requests to a network.
    pub const REQUESTS;

    /// Lists the strongest connections of the chosen neurons, with the present weights of plastic synapses.
    fn connections(over "neurons") -> Table(CONNECTIONS) => {
        /// Inputs of the neurons instead of outputs.
        #[param()] inputs: bool = false,
        /// Connections listed for each neuron, the strongest first.
        #[param(title = "Maximum per neuron", range = 1.0..=100.0, hard = 1.0..=1e6)] most: u32 = 20_u32,
    }

    /// Lists weight, traces and eligibility of the plastic synapses from one neuron to another.
    fn synapse(over "neurons") -> Table(SYNAPSE) => {
        /// Presynaptic neuron: name, id or index; empty: the first of the given neurons.
        #[param()] from: String = "",
        /// Postsynaptic neuron: name, id or index; empty: the last of the given neurons.
        #[param()] to: String = "",
    }

    /// Finds a shortest chain of connections from one neuron to another.
    fn path(over "neurons") -> Table(PATH) => {
        /// First neuron: name, id or index; empty: the first of the given neurons.
        #[param()] from: String = "",
        /// Last neuron: name, id or index; empty: the last of the given neurons.
        #[param()] to: String = "",
        /// Weakest connection that counts, synapses.
        #[param(title = "Minimum synapses", range = 1.0..=100.0, hard = 1.0..=1e6)] at_least: u32 = 5_u32,
        /// Longest chain.
        #[param(title = "Maximum length", range = 1.0..=20.0, hard = 1.0..=1000.0)] longest: u32 = 8_u32,
    }
}

/// Returns presynaptic and postsynaptic neuron of a request about a synapse; `None` for other requests. Fails if a neuron does not exist.
pub(super) fn synapse_ends(setup: &Setup, request: &Request) -> Result<Option<(u32, u32)>, SimError> {
    let ("synapse", [Value::Text(from), Value::Text(to)]) = (request.name.as_str(), &request.values[..]) else {
        return Ok(None);
    };
    let elements = &request.elements;
    let ends = [end(setup, "synapse", from, elements.first())?, end(setup, "synapse", to, elements.last())?];
    match ends.iter().find(|e| **e >= setup.n()) {
        Some(beyond) => Err(SimError::Input(format!("synapse: there is no neuron {beyond}"))),
        None => Ok(Some((ends[0], ends[1]))),
    }
}

/// Answers a request about a synapse with the states of the synapses between the two neurons.
pub(super) fn synapse_answer(params: &Params, states: &[SynapseState]) -> Answer {
    let names = learning_projections(params);
    let name = |i: usize| names.iter().find(|(of, _)| *of == i).map_or_else(String::new, |(_, name)| name.clone());
    let number = |value: f32| Cell::Number(f64::from(value) + 0.0);
    let row = |of: &SynapseState| {
        let values = [of.weight, of.presynaptic, of.postsynaptic, of.eligibility.unwrap_or(f32::NAN)];
        std::iter::once(Cell::Text(name(of.projection))).chain(values.map(number)).collect()
    };
    Answer::Table(SYNAPSE, states.iter().map(row).collect())
}

/// Whether an answer uses the weights of the outgoing connections of a neuron.
pub(super) fn uses_row(request: &Request, neuron: u32) -> bool {
    match (request.name.as_str(), &request.values[..]) {
        ("connections", [Value::Bool(false), ..]) => request.elements.contains(&neuron),
        ("connections" | "path", _) => true,
        _ => false,
    }
}

/// Answers a request about a network; `present` has the rows for which [`uses_row`] is true. Fails if the request, a neuron or a path
/// does not exist.
pub(super) fn answer(
    setup: &Arc<Setup>,
    present: &PresentWeights,
    request: &Request,
    progress: &Progress,
) -> Result<Answer, SimError> {
    let links = PresentConnections { setup, weights: present };
    let n = setup.n();
    if let Some(beyond) = request.elements.iter().find(|e| **e >= n) {
        return Err(SimError::Input(format!("there is no neuron {beyond}; the last one is {}", n.saturating_sub(1))));
    }
    let rows = match (request.name.as_str(), &request.values[..], &request.elements[..]) {
        ("connections", _, []) => Err(SimError::Input("connections: choose at least one neuron".to_owned())),
        ("connections", [Value::Bool(inputs), Value::Int(most)], neurons) => {
            connections(&links, neurons, *inputs, *most as usize, progress)
        }
        ("path", [Value::Text(from), Value::Text(to), Value::Int(at_least), Value::Int(longest)], elements) => {
            let [from, to] = [end(setup, "path", from, elements.first())?, end(setup, "path", to, elements.last())?];
            if from == to {
                return Err(SimError::Input("path: choose two neurons, --from and --to".to_owned()));
            }
            let query = PathQuery { from, to, at_least: *at_least as f64, longest: *longest as usize };
            return path(&links, &query, progress);
        }
        ("synapse", ..) => Err(SimError::Input("synapse: the network has no plastic synapses".to_owned())),
        _ => Err(SimError::Input(format!(
            "there is no request `{}`; there are connections, synapse and path",
            request.name
        ))),
    };
    let row = |(from, c): (u32, Connection)| {
        vec![Cell::Text(name(setup, from)), Cell::Text(name(setup, c.to)), Cell::Number(c.weight)]
    };
    Ok(Answer::Table(CONNECTIONS, rows?.into_iter().map(row).collect()))
}

/// Returns the public id of a neuron, or else its index.
fn name(setup: &Setup, neuron: u32) -> String {
    setup.neurons.ids.get(neuron as usize).map_or_else(|| neuron.to_string(), u64::to_string)
}

fn connections(
    links: &PresentConnections<'_>,
    neurons: &[u32],
    inputs: bool,
    most: usize,
    progress: &Progress,
) -> Result<Vec<(u32, Connection)>, SimError> {
    let mut found: Vec<Vec<(u32, Connection)>> = vec![vec![]; neurons.len()];
    let mut out = vec![];
    let n = links.setup.n();
    for from in 0..n {
        let chosen = neurons.iter().position(|n| *n == from);
        if !inputs && chosen.is_none() {
            continue;
        }
        if from % 1024 == 0 {
            progress.report("connections", from as f32 / n as f32)?;
        }
        links.read(from, &mut out);
        for c in &out {
            let of = if inputs { neurons.iter().position(|n| *n == c.to) } else { chosen };
            if let Some(of) = of {
                found[of].push((from, *c));
            }
        }
    }
    for list in &mut found {
        list.sort_by(|a, b| b.1.weight.abs().total_cmp(&a.1.weight.abs()));
        list.truncate(most);
    }
    Ok(found.into_iter().flatten().collect())
}

/// Resolves an end of a path or synapse: by name, id or index, or else by element. Fails if no neuron is found.
fn end(setup: &Setup, of: &str, text: &str, element: Option<&u32>) -> Result<u32, SimError> {
    match (text.trim(), element) {
        ("", Some(element)) => Ok(*element),
        ("", None) => Err(SimError::Input(format!("{of}: choose two neurons, --from and --to"))),
        (text, _) => setup.neurons.find(text).map_err(|why| SimError::Input(format!("{of}: {why}"))),
    }
}

fn path(links: &PresentConnections<'_>, query: &PathQuery, progress: &Progress) -> Result<Answer, SimError> {
    let setup = links.setup;
    let steps = query.answer(links, progress)?;
    if steps.is_empty() {
        let (PathQuery { at_least, longest, .. }, names) =
            (*query, [query.from, query.to].map(|e| setup.neurons.label(e)));
        return Err(SimError::Input(format!(
            "there is no path from {} to {} of at most {longest} connections of at least {at_least} synapses",
            names[0], names[1]
        )));
    }
    let called = |neuron: u32| setup.neurons.names.get(neuron as usize).cloned().unwrap_or_default();
    let row = |step: &PathStep| {
        let ids = [step.from, step.to].map(|neuron| Cell::Text(name(setup, neuron)));
        let names = [step.from, step.to].map(|neuron| Cell::Text(called(neuron)));
        ids.into_iter().chain([Cell::Number(step.weight)]).chain(names).collect()
    };
    Ok(Answer::Table(PATH, steps.iter().map(row).collect()))
}
