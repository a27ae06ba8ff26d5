//! Who is connected to whom, as a simulation publishes it. Nothing is copied: the links are the simulation's own.

use std::sync::Arc;

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Where it leads.
    pub to: u32,
    /// How strong it is; negative inhibits.
    pub weight: f32,
}

/// Connections, row by the element they come from.
pub trait Links: Send + Sync {
    /// Elements, with or without connections.
    fn n(&self) -> u32;
    /// Connections.
    fn n_links(&self) -> u64;
    /// Connections of an element.
    fn degree(&self, from: u32) -> u32;
    /// Replaces `out` by the connections of an element, by ascending target.
    fn read(&self, from: u32, out: &mut Vec<Link>);
}

/// The connections among the elements of a set.
#[derive(Clone)]
pub struct Wiring {
    /// The set.
    pub over: &'static str,
    /// What a weight counts: `synapses`.
    pub unit: &'static str,
    /// From an event to its effect, seconds; the same for all.
    pub delay_secs: f64,
    /// The connections.
    pub links: Arc<dyn Links>,
}
