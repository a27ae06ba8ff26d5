//! Undo history: a labelled list of documents. A project is small, so each step is a clone.

use super::items::item_name;
use crate::{
    app::kit::text,
    params::{ParamId, Params, Value, titles},
    project::{Difference, Project, titled_diff},
    sim::Action,
};
use std::sync::Arc;

/// Default number of undo steps. Older steps are dropped.
const MAX_STEPS: usize = 200;
/// Memory limit of all steps, bytes. Steps can be large, because a query can list many elements.
const MAX_BYTES: usize = 64 << 20;
/// Pause in typing after which a step is committed, seconds.
const TYPING_PAUSE_SECS: f64 = 0.8;

struct Step {
    /// Label of the edit, as in the menu: "Undo set lif.tau_m to 15 ms".
    label: String,
    /// Document before the edit (past), or after it (future).
    project: Arc<Project>,
    /// Action on the running simulation; `None` for an edit of the document.
    action: Option<UndoableAction>,
}

/// Action on the running simulation and the action that undoes it.
#[derive(Clone, Debug)]
pub struct UndoableAction {
    pub done: Action,
    pub inverse: Action,
}

/// Step that was undone or redone.
#[derive(Debug, PartialEq)]
pub struct Travelled {
    /// Label of the step.
    pub label: String,
    /// Action to perform in the running simulation; `None` for an edit of the document.
    pub action: Option<Action>,
}

/// The undo history of one document.
pub struct History {
    past: Vec<Step>,
    future: Vec<Step>,
    committed: Arc<Project>,
    seen: Arc<Project>,
    seen_at: f64,
    most: usize,
}

impl History {
    /// Creates an empty history of a document.
    pub fn new(project: &Project) -> Self {
        let committed = Arc::new(project.clone());
        Self { past: vec![], future: vec![], seen: committed.clone(), committed, seen_at: 0.0, most: MAX_STEPS }
    }

    /// Commits a step if an interaction has ended: no pointer button is down and typing has paused. Called once per frame.
    /// Returns `true` while an edit is uncommitted.
    pub fn feed(&mut self, project: &Project, pointer_down: bool, typing: bool, now_secs: f64) -> bool {
        if *project != *self.seen {
            self.seen = Arc::new(project.clone());
            self.seen_at = now_secs;
        }
        if *self.seen == *self.committed {
            return false;
        }
        if pointer_down || (typing && now_secs - self.seen_at < TYPING_PAUSE_SECS) {
            return true;
        }
        self.commit();
        false
    }

    fn commit(&mut self) {
        if *self.seen == *self.committed {
            return;
        }
        let label = describe(&self.committed, &self.seen);
        let before = std::mem::replace(&mut self.committed, self.seen.clone());
        self.past.push(Step { label, project: before, action: None });
        self.drop_oldest();
        self.future.clear();
    }

    /// Adds an action on the running simulation as a step.
    pub fn add_action(&mut self, label: String, action: UndoableAction) {
        self.past.push(Step { label, project: self.committed.clone(), action: Some(action) });
        self.drop_oldest();
        self.future.clear();
    }

    /// Removes the steps of actions, because the simulation returned to step 0 or was replaced.
    pub fn forget_actions(&mut self) {
        self.past.retain(|step| step.action.is_none());
        self.future.retain(|step| step.action.is_none());
    }

    /// Sets the number of steps kept.
    pub fn keep(&mut self, most: usize) {
        if self.most != most.max(1) {
            self.most = most.max(1);
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let mut bytes = 0;
        let kept = self.past.iter().rev().take(self.most).take_while(|step| {
            bytes += step_bytes(&step.project);
            bytes <= MAX_BYTES
        });
        let excess = self.past.len().saturating_sub(kept.count().max(1));
        self.past.drain(..excess);
    }

    /// Commits with a given label. Used for changes that are not user edits.
    pub fn commit_as(&mut self, project: &Project, label: &str) {
        self.seen = Arc::new(project.clone());
        self.commit();
        if let Some(step) = self.past.last_mut() {
            label.clone_into(&mut step.label);
        }
    }

    /// Undoes one step and returns it; `None` if there is no step to undo.
    pub fn undo(&mut self, project: &mut Project) -> Option<Travelled> {
        self.seen = Arc::new(project.clone());
        self.commit();
        let Step { label, project: before, action } = self.past.pop()?;
        let inverse = action.as_ref().map(|action| action.inverse.clone());
        self.future.push(Step { label: label.clone(), project: self.committed.clone(), action });
        self.jump(project, before);
        Some(Travelled { label, action: inverse })
    }

    /// Redoes one step and returns it; `None` if there is no step to redo.
    pub fn redo(&mut self, project: &mut Project) -> Option<Travelled> {
        let Step { label, project: after, action } = self.future.pop()?;
        let done = action.as_ref().map(|action| action.done.clone());
        self.past.push(Step { label: label.clone(), project: self.committed.clone(), action });
        self.jump(project, after);
        Some(Travelled { label, action: done })
    }

    fn jump(&mut self, project: &mut Project, to: Arc<Project>) {
        project.clone_from(&to);
        self.seen = to.clone();
        self.committed = to;
    }

    /// Returns the document after the last step.
    pub fn committed(&self) -> &Arc<Project> {
        &self.committed
    }

    /// Returns the numbers of steps that can be undone and redone.
    pub fn counts(&self) -> (usize, usize) {
        (self.past.len(), self.future.len())
    }

    /// Returns the labels of the steps that can be undone, newest first, and of the steps that can be redone, next first.
    pub fn steps(&self) -> (Vec<&str>, Vec<&str>) {
        (labels(&self.past), labels(&self.future))
    }

    /// Returns the labels of the next undo and the next redo; `None` if there is no such step.
    pub fn labels(&self) -> (Option<&str>, Option<&str>) {
        (self.past.last().map(|s| s.label.as_str()), self.future.last().map(|s| s.label.as_str()))
    }
}

fn labels(steps: &[Step]) -> Vec<&str> {
    steps.iter().rev().map(|s| s.label.as_str()).collect()
}

/// Returns the approximate memory of a step in bytes: the texts of the project and a fixed part.
fn step_bytes(project: &Project) -> usize {
    let params = project.model.params();
    let texts = params.ids().into_iter().map(|id| match params.get(id) {
        Value::Text(text) => text.len(),
        _ => 16,
    });
    texts.sum::<usize>() + project.notes.len() + project.record.iter().map(String::len).sum::<usize>() + 1024
}

/// Describes the change from one document to another in a short label.
pub fn describe(old: &Project, new: &Project) -> String {
    if old.model.name() != new.model.name() {
        return format!("change the model to {}", new.model.title());
    }
    if old.links != new.links {
        return describe_links(old, new);
    }
    let params = new.model.params();
    let changes = params.changes_since(old.model.params());
    match changes.as_slice() {
        [] => describe_rest(old, new),
        [one] => match params.spec(one.id) {
            Some(spec) => {
                format!("set {} to {}", titles::title(params, one.id), short(&titles::shown(spec, &one.value)))
            }
            None => describe_list(old, new, one.id),
        },
        // Adding a stimulus may also add its target set; a preset sets many parameters.
        many => match many.iter().rfind(|c| c.id.field == ParamId::WHOLE) {
            Some(list) => describe_list(old, new, list.id),
            None => format!("change {}", text::plural(many.len(), "parameter", "parameters")),
        },
    }
}

fn describe_links(old: &Project, new: &Project) -> String {
    match titled_diff(old, new).into_iter().find(|d| d.what.starts_with("link ")) {
        Some(Difference { what, new: Some(formula), .. }) => format!("{what} to {}", short(&formula)),
        Some(Difference { what, .. }) => format!("remove the {what}"),
        None => "change a link".into(),
    }
}

fn describe_rest(old: &Project, new: &Project) -> String {
    match titled_diff(old, new).as_slice() {
        _ if old.name != new.name => "rename the project".into(),
        _ if old.notes != new.notes => "edit the notes".into(),
        _ if old.experiment != new.experiment => describe_experiment(old, new),
        _ if old.record != new.record => "change what is recorded".into(),
        _ if old.view != new.view => "colour a selection".into(),
        [one] => format!("set {} to {}", one.what, one.new.as_deref().unwrap_or_default()),
        _ => "edit the project".into(),
    }
}

/// Describes a change of the experiment: `add conditions`, `edit the experiment`.
fn describe_experiment(old: &Project, new: &Project) -> String {
    let n = |project: &Project| project.experiment.as_ref().map_or(0, |experiment| experiment.conditions.len());
    match n(new).cmp(&n(old)) {
        std::cmp::Ordering::Greater => "add conditions to the experiment".into(),
        std::cmp::Ordering::Less => "remove conditions from the experiment".into(),
        std::cmp::Ordering::Equal => "edit the experiment".into(),
    }
}

/// Describes a list change: `add “Stimulate MN9” to Stimuli & silencing`.
fn describe_list(old: &Project, new: &Project, id: ParamId) -> String {
    let (was, is) = (old.model.params(), new.model.params());
    let group = usize::from(id.group);
    let names = |p: &dyn Params| (0..p.len(id.group)).map(|i| item_name(p, group, i)).collect::<Vec<_>>();
    let (before, after) = (names(was), names(is));
    let list = is.groups()[group].label();
    let added: Vec<&String> = after.iter().filter(|n| !before.contains(n)).collect();
    let removed: Vec<&String> = before.iter().filter(|n| !after.contains(n)).collect();
    match (added.as_slice(), removed.as_slice()) {
        ([one], []) => format!("add “{}” to {list}", short(one)),
        ([], [one]) => format!("remove “{}” from {list}", short(one)),
        _ => format!("edit {list}"),
    }
}

/// Shortens a label to one menu line.
fn short(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= 48 { flat } else { flat.chars().take(47).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Change, path};

    fn set(project: &mut Project, text: &str) {
        let change = path::parse(project.model.params(), text).unwrap();
        assert!(project.model.params_mut().set(&change));
    }

    #[test]
    fn one_step_per_drag() {
        let mut p = Project::default();
        let start = p.clone();
        let mut h = History::new(&p);
        for v in ["lif.tau_m=11", "lif.tau_m=12", "lif.tau_m=13"] {
            set(&mut p, v);
            assert!(h.feed(&p, true, false, 0.0));
        }
        assert!(!h.feed(&p, false, false, 0.1));
        assert_eq!(h.counts(), (1, 0));
        let label = h.undo(&mut p).map(|step| step.label);
        assert_eq!(label.as_deref(), Some("set LIF neuron › Membrane time constant to 13 ms"));
        assert_eq!(p, start);
        assert!(h.redo(&mut p).is_some());
        assert_eq!(h.counts(), (1, 0));
    }

    #[test]
    fn typing_waits_for_a_pause_and_undo_does_not() {
        let mut p = Project::default();
        let mut h = History::new(&p);
        p.name = "a".into();
        assert!(h.feed(&p, false, true, 1.0));
        p.name = "ab".into();
        assert!(h.feed(&p, false, true, 1.5));
        assert!(!h.feed(&p, false, true, 2.4));
        p.name = "abc".into();
        assert_eq!(h.undo(&mut p).map(|step| step.label).as_deref(), Some("rename the project"));
        assert_eq!(p.name, "ab");
    }

    #[test]
    fn an_action_is_undone_by_its_inverse_until_the_simulation_is_replaced() {
        let mut p = Project::default();
        let mut h = History::new(&p);
        let [freeze, thaw] = ["freeze", "unfreeze"].map(|name| Action::on(name, vec![3], vec![]));
        p.notes = "a".into();
        h.feed(&p, false, false, 0.0);
        h.add_action("freeze experts".into(), UndoableAction { done: freeze.clone(), inverse: thaw.clone() });
        p.notes = "b".into();
        h.feed(&p, false, false, 1.0);
        assert_eq!(h.undo(&mut p).map(|step| step.action), Some(None));
        let undone = h.undo(&mut p);
        assert_eq!(undone, Some(Travelled { label: "freeze experts".into(), action: Some(thaw) }));
        assert_eq!(p.notes, "a", "the document stays");
        assert_eq!(h.redo(&mut p).and_then(|step| step.action), Some(freeze));
        assert_eq!(h.counts(), (2, 1));
        h.forget_actions();
        assert_eq!(h.counts(), (1, 1));
    }

    #[test]
    fn labels_name_the_edit() {
        let old = Project::default();
        let group = old.model.params().groups().iter().position(|g| g.name == "interventions").unwrap() as u8;
        let mut new = old.clone();
        new.model.params_mut().push(group);
        set(&mut new, "interventions.0.name=Sugar");
        assert_eq!(describe(&old, &new), "add “Sugar” to Stimuli & silencing");
        assert_eq!(describe(&new, &old), "remove “Sugar” from Stimuli & silencing");
        let run = Project { run: crate::project::RunPlan { speed: 2.0, ..old.run.clone() }, ..old.clone() };
        assert_eq!(describe(&old, &run), "set Run settings › Speed limit to 2");
        assert_eq!(describe(&old, &Project { notes: "x".into(), ..old.clone() }), "edit the notes");
    }

    #[test]
    fn memory_is_bounded() {
        let mut p = Project::default();
        let mut h = History::new(&p);
        for i in 0..40 {
            p.notes = format!("{i}").repeat(2 << 20);
            h.feed(&p, false, false, f64::from(i));
        }
        let bytes: usize = h.past.iter().map(|s| step_bytes(&s.project)).sum();
        assert!(bytes <= MAX_BYTES && h.counts().0 >= 14, "{} steps, {bytes} bytes", h.counts().0);
    }

    #[test]
    fn any_sequence_can_be_undone_and_redone() {
        let mut p = Project::default();
        let mut h = History::new(&p);
        let start = p.clone();
        for i in 0..300_u32 {
            let ids = p.model.params().ids();
            let id = ids[(i as usize * 7) % ids.len()];
            let value = match p.model.params().get(id) {
                Value::Real(x) => Value::Real(x + 1.0),
                Value::Int(x) => Value::Int(x + 1),
                Value::Bool(b) => Value::Bool(!b),
                other => other,
            };
            p.model.params_mut().set(&Change { id, value });
            h.feed(&p, false, false, f64::from(i));
        }
        let end = p.clone();
        assert!(h.counts().0 <= MAX_STEPS);
        while h.undo(&mut p).is_some() {}
        assert!(h.counts().1 == MAX_STEPS || p == start);
        while h.redo(&mut p).is_some() {}
        assert_eq!(p, end);
    }
}
