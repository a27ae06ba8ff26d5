//! Acknowledgements of edits sent to the engine: pending, applied at a step, or rejected with a reason.

use crate::params::{Change, ParamId, Value};
use std::collections::{HashMap, VecDeque};

/// Maximum number of rejections kept. Older rejections are dropped.
const MAX_REJECTIONS: usize = 64;

/// Edit that the engine rejected. The engine keeps its own value.
#[derive(Clone, Debug)]
pub struct Rejection {
    pub change: Change,
    /// Reason for the rejection, a sentence.
    pub why: String,
    /// Whether the edit may be sent again, because another edit was applied after the rejection.
    may_retry: bool,
}

/// Edits of one running simulation.
#[derive(Default)]
pub struct EditAcks {
    /// Unanswered edits in the order of sending, which is the order of the answers.
    pending: VecDeque<Change>,
    applied: HashMap<ParamId, u64>,
    rejections: Vec<Rejection>,
}

impl EditAcks {
    /// Creates acknowledgements of the changes of a recorded run, each given with the step before which it was applied.
    pub fn of_recorded<'a>(changes: impl Iterator<Item = (u64, &'a Change)>) -> Self {
        Self { applied: changes.map(|(step, change)| (change.id, step)).collect(), ..Self::default() }
    }

    /// Adds an edit that was sent to the engine.
    pub fn sent(&mut self, change: Change) {
        self.pending.push_back(change);
    }

    /// Records that the engine has applied an edit before step `step`. Edits of lists, texts and switches may make
    /// rejected edits valid.
    pub fn applied(&mut self, change: &Change, step: u64) {
        self.answered(change);
        self.applied.insert(change.id, step);
        self.rejections.retain(|r| r.change.id != change.id);
        if matches!(change.value, Value::Rows(_) | Value::Text(_) | Value::Bool(_)) {
            self.rejections.iter_mut().for_each(|r| r.may_retry = true);
        }
    }

    /// Records that the engine needs a rebuild to apply an edit.
    pub fn needs_rebuild(&mut self, change: &Change) {
        self.answered(change);
    }

    /// Adds a rejection by the engine. Returns `false` if the last rejection of the parameter has the same reason.
    pub fn rejected(&mut self, change: Change, why: String) -> bool {
        self.answered(&change);
        let is_known = self.rejections.iter().any(|r| r.change.id == change.id && r.why == why);
        self.rejections.retain(|r| r.change.id != change.id);
        self.rejections.push(Rejection { change, why, may_retry: false });
        let excess = self.rejections.len().saturating_sub(MAX_REJECTIONS);
        self.rejections.drain(..excess);
        !is_known
    }

    fn answered(&mut self, change: &Change) {
        if let Some(at) = self.pending.iter().position(|sent| sent == change) {
            self.pending.remove(at);
        }
    }

    /// Drops the unanswered edits, because the simulation failed and will not answer them.
    pub fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// Keeps only the rejections of groups that differ between document and engine. In other groups, the edit was undone or
    /// applied.
    pub fn keep_rejections(&mut self, is_different: impl Fn(u8) -> bool) {
        self.rejections.retain(|r| is_different(r.change.id.group));
    }

    /// Whether the engine would reject an edit again.
    pub fn is_rejected(&self, change: &Change) -> bool {
        self.rejections.iter().any(|r| !r.may_retry && r.change == *change)
    }

    /// Returns the rejection of a parameter, of its list, or for a list of one of its items; `None` if there is no such
    /// rejection.
    pub fn rejection(&self, id: ParamId) -> Option<&Rejection> {
        let same = |r: &&Rejection| r.change.id == id;
        let of_list = |r: &&Rejection| r.change.id.group == id.group && r.change.id.field == ParamId::WHOLE;
        let of_item = |r: &&Rejection| id.field == ParamId::WHOLE && r.change.id.group == id.group;
        let all = || self.rejections.iter().rev();
        all().find(same).or_else(|| all().find(of_list)).or_else(|| all().find(of_item))
    }

    pub fn rejections(&self) -> &[Rejection] {
        &self.rejections
    }

    /// Iterates over the unanswered edits in order.
    pub fn pending(&self) -> impl Iterator<Item = &Change> {
        self.pending.iter()
    }

    /// Whether an edit of the parameter is not answered yet.
    pub fn is_pending(&self, id: ParamId) -> bool {
        self.pending.iter().any(|change| change.id == id)
    }

    /// Returns the step before which the last edit of the parameter was applied; `None` if no edit was applied.
    pub fn applied_at(&self, id: ParamId) -> Option<u64> {
        self.applied.get(&id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(item: u16, text: &str) -> Change {
        Change { id: ParamId { item, ..ParamId::of(4, 1) }, value: Value::Text(text.into()) }
    }

    #[test]
    fn a_rejected_edit_is_sent_again_only_after_another_was_applied() {
        let mut acks = EditAcks::default();
        let (target, selection) = (change(0, "sugar"), change(1, "x"));
        acks.sent(target.clone());
        assert!(acks.is_pending(target.id) && !acks.is_rejected(&target));
        assert!(acks.rejected(target.clone(), "unknown".into()));
        assert!(acks.is_rejected(&target) && !acks.is_pending(target.id));
        assert!(!acks.rejected(target.clone(), "unknown".into()), "the same message once");
        let other = change(0, "salt");
        assert!(acks.rejected(other.clone(), "unknown, too".into()));
        assert_eq!(acks.rejections().len(), 1, "only the last value of a parameter is a problem");
        assert!(acks.rejected(target.clone(), "unknown".into()));
        acks.applied(&selection, 7);
        assert!(!acks.is_rejected(&target) && acks.rejection(target.id).is_some());
        acks.applied(&target, 8);
        assert!(acks.rejection(target.id).is_none() && acks.applied_at(target.id) == Some(8));
    }
}
