//! Acknowledgements of edits sent to the engine: pending, or applied at a step.

use crate::params::ParamId;
use std::collections::{HashMap, HashSet};

/// Edits of one running simulation.
#[derive(Default)]
pub struct EditAcks {
    pending: HashSet<ParamId>,
    applied: HashMap<ParamId, u64>,
}

impl EditAcks {
    /// An edit was sent to the engine.
    pub fn sent(&mut self, id: ParamId) {
        self.pending.insert(id);
    }

    /// The engine applied it before this step.
    pub fn applied(&mut self, id: ParamId, step: u64) {
        self.pending.remove(&id);
        self.applied.insert(id, step);
    }

    /// The engine rejected it.
    pub fn rejected(&mut self, id: ParamId) {
        self.pending.remove(&id);
    }

    /// An unknown edit was rejected: all pending edits are dropped.
    pub fn rejected_any(&mut self) {
        self.pending.clear();
    }

    /// Whether an edit of it is not applied yet.
    pub fn is_pending(&self, id: ParamId) -> bool {
        self.pending.contains(&id)
    }

    /// The step before which its last edit was applied.
    pub fn applied_at(&self, id: ParamId) -> Option<u64> {
        self.applied.get(&id).copied()
    }
}
