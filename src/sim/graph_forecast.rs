//! Prediction of what a build makes of a graph of nodes and edges.

/// Prediction of a network that the parameters describe as nodes and edges (lists with the roles
/// [`Nodes`](crate::params::Role::Nodes) and [`Edges`](crate::params::Role::Edges)), made without allocating it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphForecast {
    /// Expected number of connections of each edge, in the order of the list; `None` for an edge that cannot be made.
    pub connections: Vec<Option<u64>>,
    /// Expected memory of all connections, bytes; 0 if the network cannot be built.
    pub bytes: u64,
    /// Expected duration of a build on one core of a CPU, seconds; 0 if the network cannot be built.
    pub seconds: f64,
    /// Reasons why the network cannot be built.
    pub problems: Vec<GraphProblem>,
}

/// Reason why a graph cannot be built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphProblem {
    /// Path of the item of a list (`projections.1`) or of the parameter that is the cause; empty if it is unknown.
    pub path: String,
    /// The reason, as a clause.
    pub why: String,
}

impl GraphForecast {
    /// Returns the expected number of all connections.
    pub fn total(&self) -> u64 {
        self.connections.iter().flatten().fold(0, |sum, n| sum.saturating_add(*n))
    }
}
