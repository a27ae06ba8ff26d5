//! Differences between the document and the simulation: sent to the engine, or waiting for a rebuild.

use super::Live;
use crate::{
    engine::Command,
    kinds::Model,
    params::{Change, ParamId, Params},
    project::{Project, RunPlan},
};

impl Live {
    /// Sends the changes since the last call to the engine; the last value per frame counts. Undo, redo and reloading a
    /// file reach the simulation the same way.
    pub fn reconcile(&mut self, model: &Model) {
        let Some(sent) = &self.sent else { return };
        if sent.model.name() != model.name() || self.loading.is_some() {
            return;
        }
        let live: Vec<Change> = self.changes(model).filter(|c| !self.needs_rebuild(model.params(), c.id)).collect();
        for change in live {
            if !self.send(Command::Set(change.clone())) {
                break; // the rest is sent with the next frame
            }
            self.latency.sent(change.id);
            self.acks.sent(change.id);
            if let Some(sent) = &mut self.sent {
                sent.model.params_mut().set(&change);
            }
        }
    }

    fn changes(&self, model: &Model) -> impl Iterator<Item = Change> + use<> {
        let sent = self.sent.as_ref().filter(|sent| sent.model.name() == model.name());
        let changes = sent.map(|sent| {
            let (new, old) = (model.params(), sent.model.params());
            let changes = new.changes_since(old);
            // A removed item may be referenced by a later list: that list is changed first.
            let shrinks = |c: &Change| c.id.field == ParamId::WHOLE && new.len(c.id.group) < old.len(c.id.group);
            let (removals, mut first): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(shrinks);
            first.extend(removals.into_iter().rev());
            first
        });
        changes.unwrap_or_default().into_iter()
    }

    /// Whether an edit of this parameter waits for a rebuild.
    pub fn needs_rebuild(&self, params: &dyn Params, id: ParamId) -> bool {
        use crate::params::Apply;
        self.rebuild_only.contains(&id) || params.spec(id).is_some_and(|spec| spec.apply == Apply::Rebuild)
    }

    /// The parameters whose edits wait for a rebuild.
    pub fn waiting_for_rebuild(&self, model: &Model) -> Vec<ParamId> {
        self.changes(model).map(|c| c.id).filter(|id| self.needs_rebuild(model.params(), *id)).collect()
    }

    /// Start parameters that have changed since step 0: they take effect at a rewind.
    pub fn waiting_for_rewind(&self, model: &Model) -> Vec<ParamId> {
        use crate::params::Apply;
        let began = self.run_log.as_ref().filter(|since| since.project.model.name() == model.name());
        let changes = began.map(|since| model.params().changes_since(since.project.model.params())).unwrap_or_default();
        let is_of_start = |id: &ParamId| model.params().spec(*id).is_some_and(|spec| spec.apply == Apply::Rewind);
        changes.into_iter().map(|c| c.id).filter(is_of_start).collect()
    }

    /// Other fields of the document that wait for a rebuild, by name.
    pub fn plan_waits(&self, project: &Project) -> Vec<&'static str> {
        let Some(sent) = &self.sent else { return vec![] };
        let differs = |is: fn(&RunPlan, &RunPlan) -> bool| is(&sent.run, &project.run);
        let all = [
            (sent.model.name() != project.model.name(), "model"),
            (sent.seed != project.seed, "seed"),
            (differs(|a, b| a.threads != b.threads), "run.threads"),
            (differs(|a, b| a.device != b.device), "run.device"),
        ];
        all.into_iter().filter_map(|(waits, name)| waits.then_some(name)).collect()
    }

    /// The simulation did not apply this edit: it keeps the value it was built with.
    pub(super) fn unsend(&mut self, id: ParamId) {
        if let (Some(sent), Some(built)) = (&mut self.sent, &self.built) {
            sent.model.params_mut().set(&Change { id, value: built.model.params().get(id) });
        }
    }
}
