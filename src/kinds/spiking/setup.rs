//! Reads or generates the neurons and their connectivity.

use super::{
    general::network::RuleNetwork,
    params::{Network, Params, Source},
    rewiring,
};
use crate::{
    data::{
        Connectome, Csr, DataError, NeuronTable, Tables,
        generate::{RandomConnection, balanced_with},
    },
    kinds::shared::device_cache::DeviceCache,
    params::ParamGroup as _,
    sim::{BuildContext, Column, Connection, ConnectionSource, Connectivity, ElementSet, Progress, SYNAPSES, SimError},
};
use std::{path::PathBuf, sync::Arc};

/// Neurons and connectivity: immutable and shared by all simulations of a project.
pub struct Setup {
    /// The neurons: ids, names, positions, categories, and the column `ei`.
    pub neurons: Arc<ElementSet>,
    /// Connections by presynaptic neuron, sorted by target.
    pub connectivity: Csr,
    /// Sources of the data, one line each.
    pub provenance: Vec<String>,
    /// Notices about the input, one sentence each.
    pub notices: Vec<String>,
    /// Connections on devices.
    pub(super) on_device: DeviceCache,
    /// Network from rules, in place of [`Setup::connectivity`], which is then empty.
    rules: Option<RuleNetwork>,
}

/// Reads or generates the network of the parameters. Fails if files are invalid or `progress` cancels.
pub fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
    let watch = |stage: &str, fraction: f32| progress.report(stage, fraction).is_ok();
    let network = &params.network;
    if let Some(why) = rewiring::refusal(network) {
        return Err(SimError::Input(why));
    }
    let file = |typed: &str| Some(typed.trim()).filter(|t| !t.is_empty()).map(|t| context.resolve(t));
    let connectome = match network.source {
        Source::Files => {
            let path = file(&network.path.0)
                .ok_or_else(|| SimError::Input("network.path is empty: name a folder or an edge file".to_owned()))?;
            let (neurons, annotations): (Option<PathBuf>, Option<PathBuf>) =
                (file(&network.neurons.0), file(&network.annotations.0));
            let key = Some(network.neuron_key.trim()).filter(|key| !key.is_empty());
            let tables = Tables { neurons: neurons.as_deref(), key, annotations: annotations.as_deref() };
            crate::data::read(&path, tables, &watch)
        }
        Source::Rules => return RuleNetwork::new(params, context, progress).map(Setup::of_rules),
        Source::FlyStandIn => crate::data::generate::fly_stand_in(context.seed, &watch),
        Source::Balanced => {
            let [excitatory, inhibitory] = [
                network.excitatory_count.within(Network::accepted("excitatory_count")),
                network.inhibitory_count.within(Network::accepted("inhibitory_count")),
            ];
            let count = |connection: RandomConnection| {
                let law = if connection.is_excitatory { excitatory } else { inhibitory };
                law.draw(connection.draw(context.seed)).round() as u32
            };
            let (n, fraction) = (network.n_neurons, network.excitatory_fraction);
            balanced_with(n, network.in_degree, fraction, count, context.seed, &watch)
        }
    };
    let rewired = connectome.and_then(|connectome| rewiring::apply(network, connectome, &watch));
    Setup::new(rewired.map_err(|error| match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(other.to_string()),
    })?)
}

impl Setup {
    /// Creates a setup from a network in memory. Fails if the network has no neurons, or another number of neurons than rows.
    pub fn new(connectome: Connectome) -> Result<Self, SimError> {
        let Connectome { neurons, synapses, provenance, notices } = connectome;
        if neurons.len == 0 || neurons.len != synapses.n() {
            let (a, b) = (neurons.len, synapses.n());
            return Err(SimError::Input(format!(
                "the neuron table has {a} rows, the connectivity {b}; both need the same, not 0"
            )));
        }
        let ei = signs(&synapses);
        Ok(Self {
            neurons: Arc::new(elements(neurons, ei)),
            connectivity: synapses,
            provenance,
            notices,
            on_device: DeviceCache::default(),
            rules: None,
        })
    }

    /// Creates a setup of a network from rules; its connections are made when a simulation starts.
    fn of_rules(network: RuleNetwork) -> Self {
        let provenance = vec![format!(
            "rules: {} populations, {} projections",
            network.plan.populations.len(),
            network.plan.projections.len()
        )];
        let (neurons, notices) = (Arc::new(network.elements()), network.notices.clone());
        Self {
            neurons,
            connectivity: Csr::default(),
            provenance,
            notices,
            on_device: DeviceCache::default(),
            rules: Some(network),
        }
    }

    /// Returns the network from rules. Fails if the network has another source.
    pub fn rules(&self) -> Result<&RuleNetwork, SimError> {
        self.rules.as_ref().ok_or_else(|| SimError::Input("network.source: it is no network from rules".to_owned()))
    }

    /// Returns the connectivity for views, with the weights at step 0; shared, not copied. `delay_secs` is the delay of a network with one.
    pub fn connectivity(self: &Arc<Self>, delay_secs: f64) -> Connectivity {
        let delay_secs = self.rules.is_none().then_some(delay_secs);
        let unit = self.rules.as_ref().map_or(SYNAPSES, RuleNetwork::weight_unit);
        Connectivity { over: self.neurons.name, unit, delay_secs, connections: self.clone() }
    }

    /// Returns the number of neurons.
    pub fn n(&self) -> u32 {
        self.neurons.len
    }
}

impl ConnectionSource for Setup {
    fn n(&self) -> u32 {
        self.neurons.len
    }

    fn n_connections(&self) -> u64 {
        self.rules.as_ref().map_or(self.connectivity.len() as u64, RuleNetwork::n_connections)
    }

    fn degree(&self, from: u32) -> u32 {
        match &self.rules {
            Some(rules) => rules.degree(from),
            None => self.connectivity.row(from).len() as u32,
        }
    }

    fn read(&self, from: u32, out: &mut Vec<Connection>) {
        out.clear();
        if let Some(rules) = &self.rules {
            return rules.read(from, |_, _, _| None, out);
        }
        out.extend(self.connectivity.connections(from).map(|(to, count)| Connection::new(to, count)));
    }
}

/// Creates the element set of the neurons: converts category texts to codes, and adds the column `ei`.
fn elements(table: NeuronTable, ei: Column) -> ElementSet {
    let mut columns: Vec<Column> = table.categories.iter().map(|c| Column::from_texts(&c.name, &c.texts)).collect();
    columns.push(ei);
    ElementSet {
        name: "neurons",
        len: table.len,
        ids: table.ids,
        names: table.names,
        positions: table.positions,
        columns,
        ..ElementSet::default()
    }
}

/// Returns a column with the sign of the sum of all outgoing synapses of each neuron: excitatory or inhibitory.
fn signs(connectivity: &Csr) -> Column {
    let codes = (0..connectivity.n()).map(|pre| {
        let total: i64 = connectivity.row(pre).iter().map(|w| i64::from(connectivity.count(*w))).sum();
        match total.signum() {
            1 => 1,
            -1 => 2,
            _ => 0,
        }
    });
    let labels = ["", "excitatory", "inhibitory"].map(str::to_owned).to_vec();
    Column { name: "ei".to_owned(), labels, codes: codes.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Distribution;

    fn network(excitatory: Distribution) -> Csr {
        let mut params = Params::default();
        params.network.source = Source::Balanced;
        (params.network.n_neurons, params.network.in_degree) = (1000, 40);
        params.network.excitatory_count = excitatory;
        prepare(&params, &BuildContext::default(), &Progress::default()).expect("a network").connectivity
    }

    /// Returns the synapse counts of the excitatory connections.
    fn counts(csr: &Csr) -> Vec<f64> {
        (0..800).flat_map(|pre| csr.connections(pre)).map(|(_, count)| f64::from(count)).collect()
    }

    #[test]
    fn synapses_per_connection_are_drawn_for_each() {
        let constant = network(Distribution::constant(6.0));
        let seed = BuildContext::default().seed;
        let plain = crate::data::generate::balanced(1000, 40, 0.8, 6, 33, seed, &|_, _| true).expect("a network");
        assert_eq!((&constant.rows, &constant.words), (&plain.synapses.rows, &plain.synapses.words));

        let drawn = counts(&network(Distribution::uniform(2.0, 10.0)));
        assert_eq!(drawn.len(), counts(&constant).len(), "the same connections");
        let n = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / n;
        // Integers from 2 to 10, the ends half as frequent: mean 6, variance 5.5.
        assert!((mean - 6.0).abs() < 5.0 * (5.5 / n).sqrt(), "{mean}");
        assert!(drawn.iter().all(|c| (2.0..=10.0).contains(c)) && drawn.contains(&2.0) && drawn.contains(&10.0));
    }

    #[test]
    fn large_numbers_of_synapses_are_kept_beside_the_packed_ones() {
        let csr = network(Distribution::uniform(1000.0, 2000.0));
        assert!(counts(&csr).iter().all(|c| (1000.0..=2000.0).contains(c)));
    }
}
