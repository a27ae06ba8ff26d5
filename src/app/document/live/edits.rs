//! Differences between the document and the simulation: edits that are sent to the engine, were rejected, or wait for a
//! rebuild.

use super::{Live, Rejection};
use crate::{
    app::document::interventions,
    engine::Command,
    kinds::Model,
    params::{Change, ParamId, Params, Role, Value, titles},
    project::{Project, RunPlan},
};
use std::path::Path;

impl Live {
    /// Sends the changes since the last call to the engine. If a parameter changed several times in a frame, only its last
    /// value is sent. Undo, redo and reloading of a file are sent in the same way. Rejected edits are not sent again until
    /// something else has changed. The file of a path is not read while the path is being typed.
    pub fn reconcile(&mut self, project: &Project, folder: &Path, is_typing: bool) {
        let model = &project.model;
        let is_lost = self.checkpoints.failure.as_ref().is_some_and(|failure| failure.stopped);
        let Some(sent) = self.versions.sent.as_ref().filter(|_| self.loading.is_none() && !is_lost) else { return };
        if sent.model.name() != model.name() {
            return;
        }
        let changes = self.changes(model);
        self.acks.keep_rejections(|group| changes.iter().any(|c| c.id.group == group));
        let live = changes.into_iter().filter(|c| !self.needs_rebuild(model.params(), c.id));
        // The items of a list that is being replaced wait for the answer.
        let waits = |c: &Change| self.acks.is_pending(ParamId::list(usize::from(c.id.group)));
        let live: Vec<Change> = live.filter(|c| !self.acks.is_rejected(c) && !waits(c)).collect();
        for change in live {
            if Self::is_data(model.params(), change.id) {
                if !is_typing {
                    self.load_data(project, folder, change);
                }
                continue;
            }
            if !self.send(Command::Set(change.clone())) {
                break; // The remaining changes are sent in the next frame.
            }
            self.latency.sent(change.id);
            if let Some(sent) = &mut self.versions.sent {
                sent.model.params_mut().set(&change);
            }
            self.acks.sent(change);
        }
    }

    fn changes(&self, model: &Model) -> Vec<Change> {
        let sent = self.versions.sent.as_ref().filter(|sent| sent.model.name() == model.name());
        sent.map(|sent| ordered_changes(model.params(), sent.model.params())).unwrap_or_default()
    }

    /// Updates the sent model after an answer of the engine: applies the applied edits, then the unanswered edits.
    pub(super) fn update_sent(&mut self) {
        if let (Some(sent), Some(accepted)) = (&mut self.versions.sent, &self.versions.accepted) {
            sent.model = accepted.model.clone();
            for change in self.acks.pending() {
                sent.model.params_mut().set(change);
            }
        }
    }

    /// Returns the model with the parameters that the engine has confirmed; `None` without a simulation. Drawn stimuli and
    /// recordings use it.
    pub fn accepted_model(&self) -> Option<&Model> {
        self.versions.accepted.as_ref().map(|project| &project.model)
    }

    /// Whether edits were sent that the engine has not answered yet.
    pub fn has_pending_edits(&self) -> bool {
        self.acks.pending().next().is_some()
    }

    /// Returns the rejection that explains why the document's value of a parameter differs from the engine's; `None` if
    /// there is no such rejection.
    pub fn rejection(&self, id: ParamId) -> Option<&Rejection> {
        let rejection = self.acks.rejection(id)?;
        // Unchanged items of a rejected list have the values of the engine, so they are not rejected.
        if let (Value::Rows(rows), true) = (&rejection.change.value, id.field != ParamId::WHOLE) {
            let value = rows.get(usize::from(id.item)).and_then(|row| row.get(usize::from(id.field)));
            let accepted = self.accepted_model().map(Model::params);
            let is_known = |params: &&dyn Params| usize::from(id.item) < params.len(id.group);
            if value.is_some() && accepted.filter(is_known).map(|params| params.get(id)).as_ref() == value {
                return None;
            }
        }
        Some(rejection)
    }

    /// Returns the document's parameters with the engine's values in place of rejected values, and the titles of the
    /// replaced parameters; `None` if no value was rejected. A rejected list is replaced as a whole.
    pub fn without_rejected(&self, model: &Model) -> Option<(Model, Vec<String>)> {
        let accepted = self.accepted_model().filter(|accepted| accepted.name() == model.name())?.params();
        let params = model.params();
        let has = |params: &dyn Params, id: ParamId| {
            id.field == ParamId::WHOLE || usize::from(id.item) < params.len(id.group)
        };
        let rejected = self.acks.rejections().iter().map(|rejection| &rejection.change);
        let is_known = |c: &&Change| has(accepted, c.id) && has(params, c.id);
        let is_present = |c: &&Change| params.get(c.id) == c.value && accepted.get(c.id) != c.value;
        let ids: Vec<ParamId> = rejected.filter(is_known).filter(is_present).map(|c| c.id).collect();
        if ids.is_empty() {
            return None;
        }
        let mut model = model.clone();
        for id in &ids {
            model.params_mut().set(&Change { id: *id, value: accepted.get(*id) });
        }
        Some((model, ids.iter().map(|id| titles::title(params, *id)).collect()))
    }

    /// Whether an edit of a parameter waits for a rebuild.
    pub fn needs_rebuild(&self, params: &dyn Params, id: ParamId) -> bool {
        use crate::params::Apply;
        self.versions.rebuild_only.contains(&id) || params.spec(id).is_some_and(|spec| spec.apply == Apply::Rebuild)
    }

    /// Returns the parameters whose edits wait for a rebuild.
    pub fn waiting_for_rebuild(&self, model: &Model) -> Vec<ParamId> {
        self.changes(model).into_iter().map(|c| c.id).filter(|id| self.needs_rebuild(model.params(), *id)).collect()
    }

    /// Returns the changed parameters that take effect at a rewind.
    pub fn waiting_for_rewind(&self, model: &Model) -> Vec<ParamId> {
        use crate::params::Apply;
        let began = self.versions.run_log.as_ref().filter(|since| since.project.model.name() == model.name());
        let changes = began.map(|since| model.params().changes_since(since.project.model.params())).unwrap_or_default();
        let is_of_start = |id: &ParamId| model.params().spec(*id).is_some_and(|spec| spec.apply == Apply::Rewind);
        changes.into_iter().map(|c| c.id).filter(is_of_start).collect()
    }

    /// Returns the titles of other fields of the document that wait for a rebuild.
    pub fn plan_waits(&self, project: &Project) -> Vec<String> {
        let Some(sent) = &self.versions.sent else { return vec![] };
        let differs = |is: fn(&RunPlan, &RunPlan) -> bool| is(&sent.run, &project.run);
        let all = [
            (sent.model.name() != project.model.name(), "Model"),
            (sent.seed != project.seed, "Seed"),
            (differs(|a, b| a.threads != b.threads), "run.threads"),
            (differs(|a, b| a.device != b.device), "run.device"),
            (differs(|a, b| a.gpu != b.gpu), "run.gpu"),
            (differs(|a, b| a.trials != b.trials), "run.trials"),
        ];
        all.into_iter().filter(|(waits, _)| *waits).map(|(_, name)| project.titled(name)).collect()
    }
}

/// Returns the changes from `old` to `new`. If the parameter that an item sets has changed, the whole list is one change,
/// because the value for one parameter does not fit the other.
fn whole_changes(new: &dyn Params, old: &dyn Params) -> Vec<Change> {
    let mut changes = new.changes_since(old);
    let is_parameter = |c: &Change| new.spec(c.id).is_some_and(|spec| spec.role == Role::Parameter);
    if let Some(group) = changes.iter().find(|c| is_parameter(c)).map(|c| c.id.group) {
        let id = ParamId::list(usize::from(group));
        changes.retain(|c| c.id.group != group);
        changes.push(Change { id, value: new.get(id) });
    }
    changes
}

/// Orders the changes from `old` to `new` so that every intermediate state is valid if both ends are. A list grows before
/// an item refers to it, and shrinks after. An item is enabled last and disabled first. If a selection is renamed together
/// with its references, the new name is added first and the old name is removed last.
fn ordered_changes(new: &dyn Params, old: &dyn Params) -> Vec<Change> {
    let changes = whole_changes(new, old);
    let renames = interventions::list(new, Role::Selections).and_then(|group| renames(&changes, new, old, group));
    let selections = renames.as_ref().map(|(_, last)| last.id.group);
    let shrinks = |c: &Change| c.id.field == ParamId::WHOLE && new.len(c.id.group) < old.len(c.id.group);
    let rest = changes.into_iter().filter(|c| Some(c.id.group) != selections);
    let (mut removals, mut others): (Vec<Change>, Vec<Change>) = rest.partition(shrinks);
    // An item is complete before it is enabled, because an enabled item without a target would be rejected.
    let is_switch = |c: &Change| new.spec(c.id).is_some_and(|spec| spec.role == Role::Enabled);
    others.sort_by_key(|c| match (is_switch(c), c.value == Value::Bool(true)) {
        (true, false) => 0,
        (false, _) => 1,
        (true, true) => 2,
    });
    let (first, last) = renames.map_or((None, None), |(first, last)| (first, Some(last)));
    removals.reverse();
    first.into_iter().chain(others).chain(removals).chain(last).collect()
}

/// Splits the change of a list of selections that lose names while other lists change too. Returns the list with both the
/// new and the lost selections (`None` if this equals the old list), and the new list; `None` if no split is needed.
fn renames(changes: &[Change], new: &dyn Params, old: &dyn Params, group: usize) -> Option<(Option<Change>, Change)> {
    let is_own = |c: &&Change| usize::from(c.id.group) == group;
    let is_other_list = |c: &Change| usize::from(c.id.group) != group && new.groups()[usize::from(c.id.group)].list;
    if !changes.iter().any(|c| is_own(&c)) || !changes.iter().any(is_other_list) {
        return None;
    }
    let (name, id) = (interventions::field(new, group, Role::Name)?, ParamId::list(group));
    let (Value::Rows(now), Value::Rows(before)) = (new.get(id), old.get(id)) else { return None };
    let is_lost = |row: &&Vec<Value>| now.iter().all(|r| r.get(name) != row.get(name));
    let lost: Vec<Vec<Value>> = before.iter().filter(is_lost).cloned().collect();
    if lost.is_empty() {
        return None;
    }
    let both: Vec<Vec<Value>> = now.iter().cloned().chain(lost).collect();
    let only_removed = now.iter().all(|row| before.contains(row));
    let first = (!only_removed).then_some(Change { id, value: Value::Rows(both) });
    Some((first, Change { id, value: Value::Rows(now) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::path;

    fn set(model: &mut Model, texts: &[&str]) {
        for text in texts {
            let change = path::parse(model.params(), text).unwrap();
            assert!(model.params_mut().set(&change));
        }
    }

    #[test]
    fn an_item_is_enabled_after_its_target_is_set_and_disabled_before_it_is_emptied() {
        let mut old = Model::default();
        let interventions = interventions::list(old.params(), Role::Interventions).unwrap();
        old.params_mut().push(interventions as u8);
        set(&mut old, &["interventions.0.enabled=false"]);
        let mut new = old.clone();
        set(&mut new, &["interventions.0.target=all", "interventions.0.enabled=true"]);
        let paths = |new: &Model, old: &Model| -> Vec<String> {
            let changes = ordered_changes(new.params(), old.params());
            changes.iter().map(|c| new.params().path(c.id)).collect()
        };
        assert_eq!(paths(&new, &old), ["interventions.0.target", "interventions.0.enabled"]);
        assert_eq!(paths(&old, &new), ["interventions.0.enabled", "interventions.0.target"]);
    }

    #[test]
    fn renaming_a_selection_with_its_references_keeps_every_intermediate_state_valid() {
        let mut old = Model::default();
        let [selections, interventions] =
            [Role::Selections, Role::Interventions].map(|role| interventions::list(old.params(), role).unwrap() as u8);
        old.params_mut().push(selections);
        old.params_mut().push(interventions);
        set(&mut old, &["selections.0.name=a", "selections.0.query=index < 5", "interventions.0.target=a"]);
        let mut new = old.clone();
        set(&mut new, &["selections.0.name=b", "interventions.0.target=b"]);
        let names = |model: &Model| -> Vec<String> {
            interventions::named(model.params()).into_iter().map(|named| named.name).collect()
        };
        let target = |model: &Model| {
            let field = interventions::field(model.params(), usize::from(interventions), Role::Target).unwrap();
            model.params().get(ParamId::of(usize::from(interventions), field))
        };
        let mut now = old.clone();
        for change in ordered_changes(new.params(), old.params()) {
            assert!(now.params_mut().set(&change));
            assert!(names(&now).iter().any(|name| target(&now) == Value::Text(name.clone())), "{change:?}");
        }
        assert_eq!(now, new);
        let alone = {
            let mut m = old.clone();
            set(&mut m, &["selections.0.name=b"]);
            m
        };
        assert_eq!(ordered_changes(alone.params(), old.params()).len(), 1, "a name alone is one change");
    }
}
