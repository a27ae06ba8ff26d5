//! Acknowledgements of edits sent to the engine: pending, applied at a step, or rejected with a reason.

use crate::params::{Change, ParamId, Value};
use std::collections::{HashMap, VecDeque};

/// Rejections kept; older ones are dropped.
const MAX_REJECTIONS: usize = 64;

/// An edit the engine rejected. The engine's value stays the one that counts.
#[derive(Clone, Debug)]
pub struct Rejection {
    pub change: Change,
    /// The reason, a sentence.
    pub why: String,
    /// Whether it may be sent again, because another edit was applied since.
    may_retry: bool,
}

/// Edits of one running simulation.
#[derive(Default)]
pub struct EditAcks {
    /// In the order of sending, which is the order of the answers.
    pending: VecDeque<Change>,
    applied: HashMap<ParamId, u64>,
    rejections: Vec<Rejection>,
}

impl EditAcks {
    /// Acknowledges the changes of a recorded run, each with the step before which it was applied.
    pub fn of_recorded<'a>(changes: impl Iterator<Item = (u64, &'a Change)>) -> Self {
        Self { applied: changes.map(|(step, change)| (change.id, step)).collect(), ..Self::default() }
    }

    /// An edit was sent to the engine.
    pub fn sent(&mut self, change: Change) {
        self.pending.push_back(change);
    }

    /// The engine applied it before this step. Edits of lists and texts may make rejected ones valid.
    pub fn applied(&mut self, change: &Change, step: u64) {
        self.answered(change);
        self.applied.insert(change.id, step);
        self.rejections.retain(|r| r.change.id != change.id);
        if matches!(change.value, Value::Rows(_) | Value::Text(_) | Value::Bool(_)) {
            self.rejections.iter_mut().for_each(|r| r.may_retry = true);
        }
    }

    /// The engine needs a rebuild to apply it.
    pub fn needs_rebuild(&mut self, change: &Change) {
        self.answered(change);
    }

    /// The engine rejected it. Returns `false` when this rejection is known.
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

    /// Nothing is answered any more: the simulation failed.
    pub fn forget_pending(&mut self) {
        self.pending.clear();
    }

    /// Drops the rejections of groups that are as the document has them: the edit was taken back or is applied.
    pub fn keep_rejections(&mut self, is_different: impl Fn(u8) -> bool) {
        self.rejections.retain(|r| is_different(r.change.id.group));
    }

    /// Whether the engine would reject this edit again.
    pub fn is_rejected(&self, change: &Change) -> bool {
        self.rejections.iter().any(|r| !r.may_retry && r.change == *change)
    }

    /// Why the value of a parameter is not applied, if it is not: its own rejection or that of its list.
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

    /// The unanswered edits, in order.
    pub fn pending(&self) -> impl Iterator<Item = &Change> {
        self.pending.iter()
    }

    /// Whether an edit of it is not applied yet.
    pub fn is_pending(&self, id: ParamId) -> bool {
        self.pending.iter().any(|change| change.id == id)
    }

    /// The step before which its last edit was applied.
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
