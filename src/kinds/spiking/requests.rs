//! Requests about the network: connections of neurons, and paths between them.

use super::setup::Setup;
use crate::{
    params::Value,
    requests,
    sim::{Answer, Connection, Progress, Request, SimError, request::Cell},
};
use std::sync::Arc;

const CONNECTIONS: &[&str] = &["presynaptic", "postsynaptic", "synapses"];

requests! {
    /// Requests to a network.
    pub const REQUESTS;

    /// Lists the strongest connections of the chosen neurons.
    fn connections(over "neurons") -> Table(CONNECTIONS) => {
        /// Inputs of the neurons instead of outputs.
        #[param()] inputs: bool = false,
        /// Connections listed for each neuron, the strongest first.
        #[param(title = "Maximum per neuron", range = 1.0..=100.0, hard = 1.0..=1e6)] most: u32 = 20_u32,
    }

    /// Finds a shortest chain of connections from the first to the last chosen neuron.
    fn path(over "neurons") -> Table(CONNECTIONS) => {
        /// Weakest connection that counts, synapses.
        #[param(title = "Minimum synapses", range = 1.0..=100.0, hard = 1.0..=1e6)] at_least: u32 = 5_u32,
        /// Longest chain.
        #[param(title = "Maximum length", range = 1.0..=20.0, hard = 1.0..=1000.0)] longest: u32 = 8_u32,
    }
}

/// Answers a request.
pub(super) fn answer(setup: &Arc<Setup>, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
    let n = setup.n();
    if let Some(beyond) = request.elements.iter().find(|e| **e >= n) {
        return Err(SimError::Input(format!("there is no neuron {beyond}; the last one is {}", n.saturating_sub(1))));
    }
    let rows = match (request.name.as_str(), &request.values[..], &request.elements[..]) {
        ("connections", _, []) => Err(SimError::Input("connections: choose at least one neuron".to_owned())),
        ("connections", [Value::Bool(inputs), Value::Int(most)], neurons) => {
            connections(setup, neurons, *inputs, *most as usize, progress)
        }
        ("path", [Value::Int(at_least), Value::Int(longest)], [from, .., to]) => {
            path(setup, (*from, *to), *at_least as f32, *longest as usize, progress)
        }
        ("path", ..) => Err(SimError::Input("path: choose two neurons".to_owned())),
        _ => Err(SimError::Input(format!("there is no request `{}`; there are connections and path", request.name))),
    };
    let row = |(from, c): (u32, Connection)| {
        vec![Cell::Text(name(setup, from)), Cell::Text(name(setup, c.to)), Cell::Number(c.weight.into())]
    };
    Ok(Answer::Table(CONNECTIONS, rows?.into_iter().map(row).collect()))
}

/// The public id of a neuron, else its index.
fn name(setup: &Setup, neuron: u32) -> String {
    setup.neurons.ids.get(neuron as usize).map_or_else(|| neuron.to_string(), u64::to_string)
}

fn connections(
    setup: &Arc<Setup>,
    neurons: &[u32],
    inputs: bool,
    most: usize,
    progress: &Progress,
) -> Result<Vec<(u32, Connection)>, SimError> {
    let source = setup.connectivity(0.0).connections;
    let mut found: Vec<Vec<(u32, Connection)>> = vec![vec![]; neurons.len()];
    let mut out = vec![];
    for from in 0..setup.n() {
        let chosen = neurons.iter().position(|n| *n == from);
        if !inputs && chosen.is_none() {
            continue;
        }
        if from % 1024 == 0 {
            progress.report("connections", from as f32 / setup.n() as f32)?;
        }
        source.read(from, &mut out);
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

/// Breadth first.
fn path(
    setup: &Arc<Setup>,
    (from, to): (u32, u32),
    at_least: f32,
    longest: usize,
    progress: &Progress,
) -> Result<Vec<(u32, Connection)>, SimError> {
    let source = setup.connectivity(0.0).connections;
    let mut reached: Vec<Option<(u32, Connection)>> = vec![None; setup.n() as usize];
    let (mut front, mut out) = (vec![from], vec![]);
    for length in 0..longest {
        progress.report("path", length as f32 / longest as f32)?;
        let mut next = vec![];
        for neuron in front.drain(..) {
            source.read(neuron, &mut out);
            for c in out.iter().filter(|c| c.weight.abs() >= at_least && c.to != from) {
                let step = &mut reached[c.to as usize];
                if step.is_none() {
                    *step = Some((neuron, *c));
                    next.push(c.to);
                }
            }
        }
        if let Some(last) = reached[to as usize] {
            let mut chain = vec![last];
            while let Some(before) = chain.last().filter(|c| c.0 != from).and_then(|c| reached[c.0 as usize]) {
                chain.push(before);
            }
            chain.reverse();
            return Ok(chain);
        }
        front = next;
    }
    Err(SimError::Input(format!("there is no path of at most {longest} connections of at least {at_least} synapses")))
}
