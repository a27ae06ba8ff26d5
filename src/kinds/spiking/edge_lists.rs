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
use crate::sim::{Connection, ConnectionSource, Connectivity, EdgeList, Progress, SimError};
use std::sync::Arc;

/// Returns the names of the edge lists: `E-I` per projection of a network from rules, otherwise one empty name.
pub fn names(params: &Params) -> Vec<String> {
    match params.network.source {
        Source::Rules => params.projections.iter().map(|p| format!("{}-{}", p.from.trim(), p.to.trim())).collect(),
        Source::Files | Source::FlyStandIn | Source::Balanced => vec![String::new()],
    }
}

/// Makes edge list `i`. Fails if there is none, memory does not suffice, or `progress` cancels.
pub fn make(params: &Params, setup: &Arc<Setup>, i: usize, progress: &Progress) -> Result<EdgeList, SimError> {
    if params.network.source != Source::Rules {
        return Ok(EdgeList { connectivity: setup.connectivity(delay_secs(params)), weight_exponent: None });
    }
    let network = setup.rules()?;
    let Some(projection) = network.plan.projections.get(i) else {
        return Err(SimError::Input(format!("projections: there is no projection {i}")));
    };
    let maker = network.maker(i);
    let expected = projection.synapses.max(1) as f32;
    let report = |made: u64| progress.report("connections", (made as f32 / expected).min(1.0));
    report(0)?;
    // The rule draws the presynaptic neurons of each postsynaptic one, so no row can be made alone.
    let threads = rayon::current_num_threads();
    let made = maker.is_transposed().then(|| made_on_host(&maker, threads, &report)).transpose()?;
    let rows = ProjectionRows { degrees: maker.degrees(), n: maker.sizes[0], made, setup: setup.clone(), i };
    Ok(EdgeList {
        connectivity: Connectivity {
            over: setup.neurons.name,
            unit: network.plan.populations[projection.to].model.weight_unit(),
            delay_secs: None,
            connections: Arc::new(rows),
        },
        weight_exponent: Some(network.weight_exponent(i)),
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
    }
}
