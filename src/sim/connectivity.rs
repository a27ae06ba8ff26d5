//! Read access to the connections of a simulation without copying them.

use std::sync::Arc;

/// Outgoing connection of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// Index of the target (postsynaptic) element.
    pub to: u32,
    /// Weight, exact; negative for an inhibitory connection.
    pub weight: f64,
    /// Delay from an event to its effect, seconds; `None` for the common one, [`Connectivity::delay_secs`].
    pub delay_secs: Option<f64>,
}

impl Connection {
    /// Creates a connection with the common delay.
    pub fn new(to: u32, weight: impl Into<f64>) -> Self {
        Self { to, weight: weight.into(), delay_secs: None }
    }
}

/// Read access to connections by source element.
pub trait ConnectionSource: Send + Sync {
    /// Returns the number of elements with and without connections.
    fn n(&self) -> u32;
    /// Returns the number of connections.
    fn n_connections(&self) -> u64;
    /// Returns the number of outgoing connections of an element.
    fn degree(&self, from: u32) -> u32;
    /// Replaces `out` by the outgoing connections of an element, sorted by target.
    fn read(&self, from: u32, out: &mut Vec<Connection>);
}

/// Unit of weights that are whole numbers of synapses.
pub const SYNAPSES: &str = "synapses";

/// Connections among the elements of a set.
#[derive(Clone)]
pub struct Connectivity {
    /// Name of the element set.
    pub over: &'static str,
    /// Unit of weights: [`SYNAPSES`], `pA`; empty if connections have different ones.
    pub unit: &'static str,
    /// Delay from an event to its effect, seconds; `None` if connections have different ones.
    pub delay_secs: Option<f64>,
    /// Access to the connections.
    pub connections: Arc<dyn ConnectionSource>,
}

/// Elements with successive indices, such as a population of a network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ElementGroup {
    /// Index of the first element in its set.
    pub first: u32,
    /// Number of elements.
    pub len: u32,
    /// Name of the group; that of the set for a group of all elements.
    pub name: String,
}

/// Connections from one group of elements to another, or within one, as a file of edges holds them. Both ends are indices within
/// their groups; [`ConnectionSource::n`] is the number of elements of the first.
pub struct EdgeList {
    /// The connections.
    pub connectivity: Connectivity,
    /// Groups of the presynaptic and of the postsynaptic elements.
    pub ends: [ElementGroup; 2],
    /// Exponent of the power of two of which all weights are multiples; `None` for whole numbers of synapses, and for learned weights.
    pub weight_exponent: Option<i32>,
}
