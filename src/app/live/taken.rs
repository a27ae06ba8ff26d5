//! What has become of edits that were sent to the engine: on their way, or taken up at a step.

use crate::params::ParamId;
use std::collections::{HashMap, HashSet};

/// The edits of one running simulation.
#[derive(Default)]
pub struct Taken {
    on_the_way: HashSet<ParamId>,
    since: HashMap<ParamId, u64>,
}

impl Taken {
    /// An edit left for the engine.
    pub fn sent(&mut self, id: ParamId) {
        self.on_the_way.insert(id);
    }

    /// The engine took it up before this step.
    pub fn applied(&mut self, id: ParamId, step: u64) {
        self.on_the_way.remove(&id);
        self.since.insert(id, step);
    }

    /// The engine will not take it up.
    pub fn refused(&mut self, id: ParamId) {
        self.on_the_way.remove(&id);
    }

    /// Some edit was refused, and which one is not known: none is waited for any longer.
    pub fn refused_some(&mut self) {
        self.on_the_way.clear();
    }

    /// Whether an edit of it has not been taken up yet.
    pub fn waits(&self, id: ParamId) -> bool {
        self.on_the_way.contains(&id)
    }

    /// The step before which its last edit was taken up.
    pub fn since(&self, id: ParamId) -> Option<u64> {
        self.since.get(&id).copied()
    }
}
