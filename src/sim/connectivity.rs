//! Connections among elements, as a simulation publishes them. Nothing is copied: the data are the simulation's own.

use std::sync::Arc;

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// Index of the target (postsynaptic) element.
    pub to: u32,
    /// Weight; negative is inhibitory.
    pub weight: f32,
}

/// Read access to connections by source element.
pub trait ConnectionSource: Send + Sync {
    /// Number of elements, with or without connections.
    fn n(&self) -> u32;
    /// Number of connections.
    fn n_connections(&self) -> u64;
    /// Number of outgoing connections of an element.
    fn degree(&self, from: u32) -> u32;
    /// Replaces `out` by the outgoing connections of an element, in order of ascending target.
    fn read(&self, from: u32, out: &mut Vec<Connection>);
}

/// The connections among the elements of a set.
#[derive(Clone)]
pub struct Connectivity {
    /// Name of the element set.
    pub over: &'static str,
    /// Unit of weights: `synapses`.
    pub unit: &'static str,
    /// Delay from an event to its effect, seconds; the same for all connections.
    pub delay_secs: f64,
    /// The connections.
    pub connections: Arc<dyn ConnectionSource>,
}
