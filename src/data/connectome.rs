//! Neurons and their connections.

use super::Csr;

/// Category of neurons (class, side, transmitter), with one text per neuron.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Category {
    /// Column name: `super_class`, `class`, `cell_type`, `side`, `nt`…
    pub name: String,
    /// One text per neuron; empty where unknown.
    pub texts: Vec<String>,
}

/// Properties of each neuron. Vectors are empty if the source has no such column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeuronTable {
    /// Number of neurons.
    pub len: u32,
    /// Root ids, exact, because they are never converted to floating point.
    pub ids: Vec<u64>,
    pub names: Vec<String>,
    /// Positions in micrometres.
    pub positions: Vec<[f32; 3]>,
    pub categories: Vec<Category>,
}

/// Network that was read or generated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connectome {
    pub neurons: NeuronTable,
    pub synapses: Csr,
    /// Sources, one line each: file, size, rows; or generator and seed.
    pub provenance: Vec<String>,
    /// Notices about the input, one sentence each: rows without a neuron, missing weights.
    pub notices: Vec<String>,
}
