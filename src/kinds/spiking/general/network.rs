//! A network from rules: its plan, and its connections once they are made.

use super::{
    ConnectionRule,
    connections::Connections,
    plan::{self, Plan},
    positions::positions,
    rows::{RowMaker, Synapse},
};
use crate::{
    data::{Csr, DataError, Tables},
    kinds::spiking::params::Params,
    sim::{BuildContext, Column, Connection, ElementSet, Progress, SimError},
};
use std::sync::{Arc, OnceLock};

/// Plan of a network, with the positions and edge lists from which its connections are made.
pub struct RuleNetwork {
    /// The checked plan.
    pub plan: Plan,
    /// Seed of the connections and positions.
    pub seed: u64,
    /// Positions of all neurons, µm; empty if no population has any.
    pub positions: Vec<[f32; 3]>,
    /// Edge lists of the projections from files.
    edges: Vec<Option<Csr>>,
    /// Connections, once they are made.
    made: OnceLock<Arc<Connections>>,
}

impl RuleNetwork {
    /// Checks the parameters, reads the edge lists and places the neurons. Fails if the network cannot be built, a file is
    /// invalid, or `progress` cancels.
    pub fn new(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Self, SimError> {
        let mut plan = plan::plan(params)?;
        progress.report("neurons", 0.0)?;
        let edges = (0..plan.projections.len())
            .map(|i| edge_list(&plan, i, context, progress))
            .collect::<Result<Vec<_>, _>>()?;
        for (projection, edges) in plan.projections.iter_mut().zip(&edges) {
            projection.synapses = edges.as_ref().map_or(projection.synapses, |edges| edges.len() as u64);
        }
        let mut places: Vec<[f32; 3]> = vec![];
        for population in &plan.populations {
            let own = positions(population, context.seed);
            if !own.is_empty() {
                places.resize(population.first as usize, [0.0; 3]);
                places.extend(own);
            }
        }
        if !places.is_empty() {
            places.resize(plan.n as usize, [0.0; 3]);
        }
        Ok(Self { plan, seed: context.seed, positions: places, edges, made: OnceLock::new() })
    }

    /// Returns the maker of the rows of a projection.
    pub fn maker(&self, projection: usize) -> RowMaker<'_> {
        RowMaker::new(&self.plan, self.seed, projection, &self.positions, self.edges[projection].as_ref())
    }

    /// Returns the connections, which the first call makes with `threads` threads. Fails if memory does not suffice or
    /// `progress` cancels.
    pub fn connections(&self, threads: usize, progress: &Progress) -> Result<Arc<Connections>, SimError> {
        if let Some(made) = self.made.get() {
            return Ok(made.clone());
        }
        let made = Arc::new(Connections::make(self, threads, progress)?);
        Ok(self.made.get_or_init(|| made).clone())
    }

    /// Returns the connections for views; `None` if they are not in memory and each row can be made alone. Makes all
    /// connections if the rows of a projection can only be made together.
    fn for_views(&self) -> Option<Arc<Connections>> {
        let is_whole = (0..self.plan.projections.len()).any(|i| self.maker(i).is_transposed());
        match self.made.get() {
            Some(made) => Some(made.clone()),
            None if is_whole => self.connections(1, &Progress::default()).ok(),
            None => None,
        }
    }

    /// Returns the number of connections: the expected one before they are made.
    pub fn n_connections(&self) -> u64 {
        self.made.get().map_or_else(|| self.plan.synapses(), |made| made.len())
    }

    /// Returns the unit of the weights; empty if projections have different units.
    pub fn weight_unit(&self) -> &'static str {
        let mut units = self.plan.projections.iter().map(|p| self.plan.populations[p.to].model.weight_unit());
        let first = units.next().unwrap_or("");
        if units.all(|unit| unit == first) { first } else { "" }
    }

    /// Returns the number of outgoing connections of a neuron.
    pub fn degree(&self, from: u32) -> u32 {
        let mut n = 0;
        self.each(from, |_, _, _| n += 1);
        n
    }

    /// Replaces `out` by the connections of a neuron, sorted by target; weights have the unit of the postsynaptic model.
    pub fn read(&self, from: u32, out: &mut Vec<Connection>) {
        out.clear();
        let secs = |steps: u32| f64::from(steps) * self.plan.dt_ms * 1e-3;
        self.each(from, |to, weight, delay| out.push(Connection { to, weight, delay_secs: Some(secs(delay)) }));
        out.sort_by_key(|c| c.to);
    }

    /// Calls `found` with target, weight and delay in steps of each connection of a neuron, by projection.
    pub fn each(&self, from: u32, mut found: impl FnMut(u32, f64, u32)) {
        let made = self.for_views();
        let population = self.plan.population_of(from);
        let source = from - self.plan.populations[population].first;
        let mut row: Vec<Synapse> = vec![];
        for (i, projection) in self.plan.projections.iter().enumerate().filter(|(_, p)| p.from == population) {
            let target = &self.plan.populations[projection.to];
            let unit = 2_f64.powi(target.exponents[projection.receptor]);
            let mut add = |to: u32, delay: u32, units: f64| {
                found(target.first + to, units * unit, projection.delay_min + delay);
            };
            match &made {
                Some(made) => {
                    let rows = &made.rows[i];
                    for at in rows.range(source) {
                        let word = rows.words[at];
                        add(word & super::connections::TARGET, word >> plan::TARGET_BITS, rows.units(at).into());
                    }
                }
                None => {
                    self.maker(i).row(source, None, &mut row);
                    let shift = if let plan::WeightFormat::Narrow(shift) = projection.format { shift } else { 0 };
                    row.iter().for_each(|s| add(s.target, s.delay, f64::from(s.weight) * f64::from(1_u32 << shift)));
                }
            }
        }
    }

    /// Creates the element set of the neurons, with the columns `population` and `ei`.
    pub fn elements(&self) -> ElementSet {
        let plan = &self.plan;
        let codes = |of: &dyn Fn(usize) -> u16| {
            let one = |(i, p): (usize, &plan::PopulationPlan)| std::iter::repeat_n(of(i), p.n as usize);
            plan.populations.iter().enumerate().flat_map(one).collect::<Vec<u16>>()
        };
        let labels = plan.populations.iter().map(|p| p.name.clone()).collect();
        let sign = |population: usize| {
            let own = plan.projections.iter().filter(|p| p.from == population);
            let weights: f64 = own.map(|p| p.weight.quantile(0.5) * p.synapses as f64).sum();
            if weights > 0.0 { 1 } else { u16::from(weights < 0.0) * 2 }
        };
        let signs = ["", "excitatory", "inhibitory"].map(str::to_owned).to_vec();
        ElementSet {
            name: "neurons",
            len: plan.n,
            positions: self.positions.clone(),
            columns: vec![
                Column { name: "population".to_owned(), labels, codes: codes(&|i| i as u16) },
                Column { name: "ei".to_owned(), labels: signs, codes: codes(&sign) },
            ],
            ..ElementSet::default()
        }
    }
}

/// Reads the edge list of a projection from a file; `None` for other rules. Fails if the file is invalid, or names neurons that
/// the populations do not have.
fn edge_list(plan: &Plan, i: usize, context: &BuildContext, progress: &Progress) -> Result<Option<Csr>, SimError> {
    let projection = &plan.projections[i];
    let ConnectionRule::FromFile(rule) = &projection.rule else { return Ok(None) };
    let watch = |stage: &str, fraction: f32| progress.report(stage, fraction).is_ok();
    let read = crate::data::read(&context.resolve(rule.path.0.trim()), Tables::default(), &watch);
    let edges = read.map_err(|error| match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(format!("projections.{i}: rule.path: {other}")),
    })?;
    let edges = edges.synapses;
    let (from, to) = (&plan.populations[projection.from], &plan.populations[projection.to]);
    for pre in 0..edges.n() {
        for word in edges.row(pre) {
            let beyond = [(pre, from), (edges.target(*word), to)].into_iter().find(|(neuron, p)| *neuron >= p.n);
            if let Some((neuron, population)) = beyond {
                return Err(SimError::Input(format!(
                    "projections.{i}: the edge file names neuron {neuron}, but `{}` has {} neurons",
                    population.name, population.n
                )));
            }
        }
    }
    Ok(Some(edges))
}
