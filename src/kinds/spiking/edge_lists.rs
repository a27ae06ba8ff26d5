//! Connections as edge lists, made from a setup without a simulation.

use super::{
    general::{
        connections::{Rows, made_on_host},
        network::RuleNetwork,
    },
    host_state::delay_secs,
    params::{Params, Source},
    setup::Setup,
};
use crate::sim::{Connection, ConnectionSource, Connectivity, EdgeList, ElementGroup, Progress, SimError, Snapshot};
use std::sync::Arc;

/// Returns the names of the edge lists: `E-I` per projection of a network from rules, otherwise one empty name.
pub fn names(params: &Params) -> Vec<String> {
    match params.network.source {
        Source::Rules => params.projections.iter().map(|p| format!("{}-{}", p.from.trim(), p.to.trim())).collect(),
        Source::Files | Source::FlyStandIn | Source::Balanced => vec![String::new()],
    }
}

/// Makes edge list `i`, with the weights of plastic synapses in `state`, or those at step 0. Fails if there is no such list, memory does
/// not suffice, the state has other synapses, or `progress` cancels.
pub fn make(
    params: &Params,
    setup: &Arc<Setup>,
    i: usize,
    state: Option<&Snapshot>,
    progress: &Progress,
) -> Result<EdgeList, SimError> {
    if params.network.source != Source::Rules {
        let all = ElementGroup { first: 0, len: setup.n(), name: setup.neurons.name.to_owned() };
        let connectivity = setup.connectivity(delay_secs(params));
        return Ok(EdgeList { connectivity, ends: [all.clone(), all], weight_exponent: None });
    }
    let network = setup.rules()?;
    let Some(projection) = network.plan.projections.get(i) else {
        return Err(SimError::Input(format!("projections: there is no projection {i}")));
    };
    let maker = network.maker(i);
    let expected = projection.synapses.max(1) as f32;
    let report = |made: u64| progress.report("connections", (made as f32 / expected).min(1.0));
    report(0)?;
    let is_learned = projection.plasticity.as_ref().is_some_and(|of| of.rule.w_max().is_some());
    let learned = state.filter(|_| is_learned).map(|state| state.read_list::<f32>(&format!("plasticity.{i}.weights")));
    let learned = learned.transpose()?;
    // The rule draws the presynaptic neurons of each postsynaptic one, so no row can be made alone; learned weights need the place of
    // each row.
    let threads = rayon::current_num_threads();
    let is_whole = maker.is_transposed() || learned.is_some();
    let made = is_whole.then(|| made_on_host(&maker, threads, &report)).transpose()?;
    if let Some((rows, weights)) = made.as_ref().zip(learned.as_ref()).filter(|(rows, of)| rows.words.len() != of.len())
    {
        let (n, saved) = (rows.words.len(), weights.len());
        return Err(SimError::Input(format!(
            "projections.{i}: the checkpoint has {saved} weights, the projection {n} synapses"
        )));
    }
    let weight_exponent = learned.is_none().then(|| network.weight_exponent(i));
    let rows = ProjectionRows { degrees: maker.degrees(), n: maker.sizes[0], made, learned, setup: setup.clone(), i };
    let ends = [projection.from, projection.to].map(|p| {
        let population = &network.plan.populations[p];
        ElementGroup { first: population.first, len: population.n, name: population.name.clone() }
    });
    Ok(EdgeList {
        ends,
        connectivity: Connectivity {
            over: setup.neurons.name,
            unit: network.plan.populations[projection.to].model.weight_unit(),
            delay_secs: None,
            connections: Arc::new(rows),
        },
        weight_exponent,
    })
}

/// Rows of a projection, made when they are read unless the rule makes all rows together.
struct ProjectionRows {
    setup: Arc<Setup>,
    /// Index of the projection.
    i: usize,
    /// Number of presynaptic neurons.
    n: u32,
    /// Number of connections of each presynaptic neuron, where the rule draws these numbers together.
    degrees: Option<Vec<u32>>,
    made: Option<Rows>,
    /// Weights of plastic synapses in the order of [`ProjectionRows::made`]; `None` for those at step 0.
    learned: Option<Vec<f32>>,
}

impl ProjectionRows {
    /// Calls `found` with target, weight and delay in steps of each connection of a presynaptic neuron.
    fn each(&self, network: &RuleNetwork, from: u32, found: impl FnMut(u32, f64, u32)) {
        if let Some(rows) = &self.made {
            return network.each_of_rows(self.i, rows, from, found);
        }
        let mut row = vec![];
        network.maker(self.i).row(from, self.degrees.as_ref().map(|degrees| degrees[from as usize]), &mut row);
        network.each_of_row(self.i, &row, found);
    }
}

impl ConnectionSource for ProjectionRows {
    fn n(&self) -> u32 {
        self.n
    }

    fn n_connections(&self) -> u64 {
        let expected = || self.setup.rules().map_or(0, |network| network.plan.projections[self.i].synapses);
        self.made.as_ref().map_or_else(expected, |rows| rows.words.len() as u64)
    }

    fn degree(&self, from: u32) -> u32 {
        let mut n = 0;
        if let Ok(network) = self.setup.rules() {
            self.each(network, from, |_, _, _| n += 1);
        }
        n
    }

    fn read(&self, from: u32, out: &mut Vec<Connection>) {
        out.clear();
        let Ok(network) = self.setup.rules() else { return };
        let secs = |steps: u32| f64::from(steps) * network.plan.dt_ms * 1e-3;
        let add = |to, weight, delay| out.push(Connection { to, weight, delay_secs: Some(secs(delay)) });
        self.each(network, from, add);
        if let Some((rows, learned)) = self.made.as_ref().zip(self.learned.as_ref()) {
            // A weight of -0 is shown as 0.
            let weights = &learned[rows.range(from)];
            out.iter_mut().zip(weights).for_each(|(connection, w)| connection.weight = f64::from(*w) + 0.0);
        }
    }
}
