//! Present weights of plastic synapses, for answers to requests. Edge lists made from a setup have the weights at step 0.

use super::plan::Plan;
use crate::{
    kinds::spiking::setup::Setup,
    sim::{Connection, ConnectionSource, Progress, SimError},
};
use std::collections::BTreeMap;

/// Present weights of rows of plastic projections.
#[derive(Default)]
pub struct PresentWeights {
    /// Weights by projection and presynaptic neuron in its population, in the order of [`Rows`](super::connections::Rows).
    rows: BTreeMap<(usize, u32), Vec<f32>>,
}

impl PresentWeights {
    /// Reads the rows of the presynaptic neurons for which `is_wanted` is true; `row` returns the weights of a row of a plastic
    /// projection. Fails as `row` does, or if `progress` cancels.
    pub fn read(
        plan: &Plan,
        is_wanted: impl Fn(u32) -> bool,
        progress: &Progress,
        mut row: impl FnMut(usize, u32) -> Result<Vec<f32>, SimError>,
    ) -> Result<Self, SimError> {
        let mut rows = BTreeMap::new();
        for (i, projection) in plan.projections.iter().enumerate() {
            if projection.plasticity.as_ref().is_none_or(|of| of.rule.w_max().is_none()) {
                continue;
            }
            let from = &plan.populations[projection.from];
            for source in (0..from.n).filter(|source| is_wanted(from.first + source)) {
                if source % 256 == 0 {
                    progress.report("weights", source as f32 / from.n as f32)?;
                }
                rows.insert((i, source), row(i, source)?);
            }
        }
        Ok(Self { rows })
    }

    /// Returns the present weight of the synapse `number` of a row; `None` if it is constant, or the row was not read.
    pub fn of(&self, projection: usize, source: u32, number: usize) -> Option<f64> {
        // A weight of -0 is shown as 0.
        self.rows.get(&(projection, source))?.get(number).map(|w| f64::from(*w) + 0.0)
    }
}

/// Connections of a network with the present weights of plastic synapses.
pub struct PresentConnections<'a> {
    /// Setup of the network.
    pub setup: &'a Setup,
    /// Weights of the rows that were read.
    pub weights: &'a PresentWeights,
}

impl ConnectionSource for PresentConnections<'_> {
    fn n(&self) -> u32 {
        ConnectionSource::n(self.setup)
    }

    fn n_connections(&self) -> u64 {
        self.setup.n_connections()
    }

    fn degree(&self, from: u32) -> u32 {
        self.setup.degree(from)
    }

    fn read(&self, from: u32, out: &mut Vec<Connection>) {
        match self.setup.rules() {
            Ok(network) => network.read(from, |i, source, number| self.weights.of(i, source, number), out),
            Err(_) => self.setup.read(from, out),
        }
    }
}
