//! Parameters in effect at a step of a recorded run: the parameters at step 0 with the logged changes up to the step.

use crate::{engine::LoggedCommand, kinds::Model, params::Change};

/// Parameters in effect at a step of a run that can be moved.
pub struct InForce {
    began: Model,
    log: Vec<(u64, LoggedCommand)>,
    /// Number of commands applied at the current step.
    n_done: usize,
    now: Model,
}

impl InForce {
    /// Creates the parameters at step 0 of a run from its model at step 0 and its command log.
    pub fn new(began: Model, log: Vec<(u64, LoggedCommand)>) -> Self {
        Self { now: began.clone(), began, log, n_done: 0 }
    }

    /// Moves to a step. Returns the model at the step; `None` if the same changes are in effect as before.
    pub fn move_to(&mut self, step: u64) -> Option<&Model> {
        // Commands up to a rewind have steps of an earlier run, so their changes are in effect from step 0.
        let rewound = self.log.iter().rposition(|(_, what)| matches!(what, LoggedCommand::Rewind)).map_or(0, |i| i + 1);
        let n_done = rewound + self.log[rewound..].partition_point(|(at, _)| *at <= step);
        if n_done == self.n_done {
            return None;
        }
        if n_done < self.n_done {
            (self.now, self.n_done) = (self.began.clone(), 0);
        }
        for (_, what) in &self.log[self.n_done..n_done] {
            if let Some(change) = what.change() {
                self.now.params_mut().set(change);
            }
        }
        self.n_done = n_done;
        Some(&self.now)
    }

    /// Iterates over the changes in effect, with the steps before which they were applied.
    pub fn changes(&self) -> impl Iterator<Item = (u64, &Change)> {
        self.log[..self.n_done].iter().filter_map(|(step, what)| Some((*step, what.change()?)))
    }

    /// Returns the number of edits and actions applied so far, and the number in the whole run.
    pub fn counts(&self) -> (usize, usize) {
        let count = |log: &[(u64, LoggedCommand)]| {
            let has_effect = |what: &LoggedCommand| what.change().is_some() || matches!(what, LoggedCommand::Act(_));
            log.iter().filter(|(_, what)| has_effect(what)).count()
        };
        (count(&self.log[..self.n_done]), count(&self.log))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{params::path, project::Project};

    fn value(model: &Model) -> String {
        let (id, spec) = path::find(model.params(), "lif.v_reset").expect("a parameter");
        path::show(spec, &model.params().get(id))
    }

    #[test]
    fn parameters_are_those_of_the_step_in_both_directions() {
        let began = Project::default().model;
        let set = |text: &str| LoggedCommand::Set(path::parse(began.params(), text).expect("a change"));
        let first = value(&began);
        let log = vec![(500, set("lif.v_reset=0.5 mV")), (500, set("lif.tau_m=15 ms")), (900, set("lif.v_reset=1 mV"))];
        let mut along = InForce::new(began.clone(), log);
        assert!(along.move_to(0).is_none() && along.move_to(499).is_none(), "nothing has changed");
        let values = [500, 899, 900, 499].map(|step| along.move_to(step).map(value));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(values, [some("0.5 mV"), None, some("1 mV"), Some(first)]);
        along.move_to(600);
        assert_eq!(along.counts(), (2, 3));
        assert!(along.changes().all(|(step, _)| step == 500));
    }
}
