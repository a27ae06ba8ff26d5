//! Paths of connections between two elements.

use crate::sim::{PathStep, Progress};
use std::sync::Arc;

/// Initial limits of a search: minimum number of synapses of a connection, and maximum number of connections of a path.
const DEFAULTS: (u32, u32) = (5, 8);

/// Result of a search for a path.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementPath {
    /// Name of the set of the path's elements.
    pub set: &'static str,
    /// First and last element.
    pub ends: (u32, u32),
    /// Connections of the path in order; empty if there is no path.
    pub steps: Vec<PathStep>,
}

impl ElementPath {
    /// Returns the elements of the path in order; empty if there is no path.
    pub fn elements(&self) -> impl Iterator<Item = u32> + '_ {
        self.steps.first().map(|step| step.from).into_iter().chain(self.steps.iter().map(|step| step.to))
    }
}

/// The ends chosen in the context menu, and the limits of the search.
pub struct PathSearch {
    pub(crate) from: Option<u32>,
    pub(crate) to: Option<u32>,
    pub(crate) set: &'static str,
    pub(crate) at_least: u32,
    pub(crate) longest: u32,
    pub(crate) progress: Option<Arc<Progress>>,
}

impl Default for PathSearch {
    fn default() -> Self {
        let (at_least, longest) = DEFAULTS;
        Self { from: None, to: None, set: "", at_least, longest, progress: None }
    }
}
