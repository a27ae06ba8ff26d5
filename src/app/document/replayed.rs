//! Parameters that the engine ran with, from the project at step 0 and the log of the run. With these parameters the
//! timeline shows the interventions that acted, even if the project has changed since.

use crate::{
    app::document::{
        interventions,
        time::{Acted, Edit},
    },
    engine::LoggedCommand,
    kinds::Model,
    params::{Change, Params, Role, titles},
};

/// Parameters and interventions after some commands of the log.
pub struct Replayed {
    /// Model at step 0.
    pub began: Model,
    /// Duration of a step in seconds; 1 for counted steps.
    pub secs: f64,
    /// Number of commands replayed.
    pub n_done: usize,
    /// The interventions that acted.
    pub acted: Acted,
    model: Model,
}

impl Replayed {
    /// Creates the state before any command.
    pub fn new(began: Model, secs: f64) -> Self {
        let mut acted = Acted::default();
        acted.declare(0, interventions::spans(began.params(), secs));
        Self { model: began.clone(), began, secs, n_done: 0, acted }
    }

    /// Replays new commands. Returns an edit per command.
    pub fn catch_up(&mut self, log: &[(u64, LoggedCommand)]) -> Vec<Edit> {
        let new = log.get(self.n_done..).unwrap_or_default();
        self.n_done = log.len();
        new.iter().map(|(step, what)| Edit { step: *step, label: self.apply(*step, what) }).collect()
    }

    /// Applies a command. Returns the label of the edit.
    fn apply(&mut self, step: u64, what: &LoggedCommand) -> String {
        match what {
            LoggedCommand::Set(change) | LoggedCommand::Data(change, _) => {
                self.model.params_mut().set(change);
                let group = usize::from(change.id.group);
                if self.model.params().groups().get(group).is_some_and(|g| g.role == Role::Interventions) {
                    self.acted.declare(step, interventions::spans(self.model.params(), self.secs));
                }
                label(self.model.params(), change)
            }
            LoggedCommand::Act(action) => {
                let spec = self.model.actions().iter().find(|spec| spec.name == action.name);
                spec.map_or_else(|| action.name.clone(), |spec| spec.label().into_owned())
            }
            LoggedCommand::Rewind => "Rewind".to_owned(),
            LoggedCommand::Former(path, _) => {
                titles::of_path(self.model.params(), path).unwrap_or_else(|| path.clone())
            }
        }
    }
}

fn label(params: &dyn Params, change: &Change) -> String {
    match params.spec(change.id) {
        Some(spec) => format!("{} = {}", titles::title(params, change.id), titles::shown(spec, &change.value)),
        None => titles::title(params, change.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;

    #[test]
    fn undoing_a_stimulus_leaves_its_band_where_it_acted() {
        let project = crate::project::Project::default();
        let mut replayed = Replayed::new(project.model.clone(), 1e-4);
        let before = replayed.acted.spans().len();
        let mut with = project.model.clone();
        let group =
            interventions::list(with.params(), Role::Interventions).expect("the default kind has interventions");
        with.params_mut().push(group as u8);
        let name = interventions::field(with.params(), group, Role::Name).expect("a name");
        let at = crate::params::ParamId {
            group: group as u8,
            item: with.params().len(group as u8) as u16 - 1,
            field: name as u8,
        };
        with.params_mut().set(&Change { id: at, value: Value::Text("touch".into()) });
        let changes = with.params().changes_since(project.model.params());
        let mut log: Vec<_> = changes.into_iter().map(|c| (500, LoggedCommand::Set(c))).collect();
        let undo = project.model.params().changes_since(with.params());
        log.extend(undo.into_iter().map(|c| (900, LoggedCommand::Set(c))));
        assert_eq!(replayed.catch_up(&log).len(), log.len());
        let spans = replayed.acted.spans();
        let touch = spans.iter().find(|s| s.label == "touch");
        let acted: Vec<_> = touch.map(|s| s.parts(0.0, 1e9).collect()).unwrap_or_default();
        assert_eq!((spans.len(), acted), (before + 1, vec![(500.0, 900.0)]));
    }
}
