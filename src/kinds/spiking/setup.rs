//! From files or a generator to the neurons and their wiring.

use super::{Params, Source};
use crate::{
    data::{Connectome, Csr, DataError, NeuronTable},
    sim::{BuildContext, Column, Connection, ConnectionSource, Connectivity, ElementSet, Progress, SimError},
};
use std::{path::PathBuf, sync::Arc};

/// Neurons and wiring: immutable, shared by all simulations of the project.
pub struct Setup {
    /// The neurons: ids, names, positions, categories, and the column `ei`.
    pub neurons: Arc<ElementSet>,
    /// The wiring, rows sorted by target.
    pub wiring: Csr,
    /// Where it came from, one line each.
    pub provenance: Vec<String>,
}

/// Reads or generates what the parameters name.
pub fn prepare(params: &Params, context: &BuildContext, progress: &Progress) -> Result<Setup, SimError> {
    let watch = |stage: &str, fraction: f32| progress.report(stage, fraction).is_ok();
    let network = &params.network;
    let file = |typed: &str| Some(typed.trim()).filter(|t| !t.is_empty()).map(|t| context.resolve(t));
    let connectome = match network.source {
        Source::Files => {
            let path = file(&network.path.0)
                .ok_or_else(|| SimError::Input("network.path is empty: name a folder or an edge file".to_owned()))?;
            let (neurons, annotations): (Option<PathBuf>, Option<PathBuf>) =
                (file(&network.neurons.0), file(&network.annotations.0));
            crate::data::read(&path, neurons.as_deref(), annotations.as_deref(), &watch)
        }
        Source::FlyStandIn => crate::data::generate::fly_stand_in(context.seed, &watch),
        Source::Balanced => crate::data::generate::balanced(
            network.n_neurons,
            network.in_degree,
            network.excitatory_fraction,
            network.excitatory_count,
            network.inhibitory_count,
            context.seed,
            &watch,
        ),
    };
    Setup::new(connectome.map_err(|error| match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(other.to_string()),
    })?)
}

impl Setup {
    /// From a network at hand.
    pub fn new(connectome: Connectome) -> Result<Self, SimError> {
        let Connectome { neurons, synapses, provenance } = connectome;
        if neurons.len == 0 || neurons.len != synapses.n() {
            let (a, b) = (neurons.len, synapses.n());
            return Err(SimError::Input(format!(
                "the neuron table has {a} rows, the wiring {b}; both need the same, not 0"
            )));
        }
        let ei = signs(&synapses);
        Ok(Self { neurons: Arc::new(elements(neurons, ei)), wiring: synapses, provenance })
    }

    /// The connections as everyone may see them; shared, not copied.
    pub fn published(self: &Arc<Self>, delay_secs: f64) -> Connectivity {
        Connectivity { over: self.neurons.name, unit: "synapses", delay_secs, connections: self.clone() }
    }

    /// Number of neurons.
    pub fn n(&self) -> u32 {
        self.neurons.len
    }
}

impl ConnectionSource for Setup {
    fn n(&self) -> u32 {
        self.wiring.n()
    }

    fn n_connections(&self) -> u64 {
        self.wiring.len() as u64
    }

    fn degree(&self, from: u32) -> u32 {
        self.wiring.row(from).len() as u32
    }

    fn read(&self, from: u32, out: &mut Vec<Connection>) {
        out.clear();
        out.extend(self.wiring.connections(from).map(|(to, count)| Connection { to, weight: count as f32 }));
    }
}

/// Texts become codes here, and are dropped.
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

/// Excitatory or inhibitory by the sign of all outgoing synapses together.
fn signs(wiring: &Csr) -> Column {
    let codes = (0..wiring.n()).map(|pre| {
        let total: i64 = wiring.row(pre).iter().map(|w| i64::from(wiring.count(*w))).sum();
        match total.signum() {
            1 => 1,
            -1 => 2,
            _ => 0,
        }
    });
    let labels = ["", "excitatory", "inhibitory"].map(str::to_owned).to_vec();
    Column { name: "ei".to_owned(), labels, codes: codes.collect() }
}
