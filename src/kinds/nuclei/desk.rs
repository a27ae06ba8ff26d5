//! What both backends hold of a project beside the population: parameters, totals, measurements; how edits are taken up.

use super::{
    Params,
    events::{Events, Standing},
    layout,
    ledger::Ledger,
    measure::Meter,
    mixing,
    task::Setup,
};
use crate::{
    kinds::edit::{self, Edit},
    num::hash::StreamHash,
    params::Change,
    sim::{Action, BuildContext, Clock, Digest, ElementSet, ProbeId, SimError},
};
use std::sync::Arc;

/// The backend-neutral half of a simulation.
pub struct Desk {
    /// As they are now.
    pub params: Params,
    /// Seed and folder.
    pub context: BuildContext,
    /// The task.
    pub setup: Arc<Setup>,
    /// The one set there is: the places of the table.
    pub sets: Vec<Arc<ElementSet>>,
    /// Generations taken.
    pub step: u64,
    /// Totals.
    pub ledger: Ledger,
    /// What happened in the last generation.
    pub events: Events,
    /// How the population stood in the last generation.
    pub standing: Standing,
    /// What is measured.
    pub meter: Meter,
}

impl Desk {
    /// At step 0, with so many founders.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, founders: u64) -> Self {
        let capacity = params.population.capacity;
        let ledger = Ledger { founders, ..Ledger::default() };
        Self {
            params: params.clone(),
            context: context.clone(),
            setup,
            sets: vec![Arc::new(layout::places(capacity))],
            step: 0,
            ledger,
            events: Events::with_capacity(capacity as usize),
            standing: Standing::default(),
            meter: Meter::new(&params.measure, capacity, mixing::fields(params), ledger),
        }
    }

    /// Where it is.
    pub const fn clock(&self) -> Clock {
        Clock { step: self.step, secs_per_step: 1.0 }
    }

    /// Checks a change of a parameter; what is live holds from now on. `None`: nothing changed, or it did by itself.
    pub fn edit(&mut self, change: &Change) -> Result<Edit<Params>, SimError> {
        let edit = edit::check_change(&self.params, change)?;
        if let Edit::Live(new) = &edit {
            self.meter.configure(&new.measure);
        }
        Ok(edit)
    }

    /// Back to step 0 or to another state, with these alive; taps stay.
    pub fn begin(&mut self, step: u64, living: &[u32]) {
        self.step = step;
        self.ledger = Ledger { founders: living.len() as u64, ..Ledger::default() };
        self.events.clear();
        self.standing = Standing::default();
        self.meter.resume(StreamHash::default(), self.ledger, step, living);
    }

    /// Ends a generation that stood like that, and whose events are `self.events`.
    pub fn end_generation(&mut self, standing: Standing, value: &dyn Fn(&Params, ProbeId, u32) -> f32) {
        self.meter.events(self.step, &self.events);
        self.standing = standing;
        self.step += 1;
        let params = &self.params;
        self.meter.end(self.step, &self.standing, &self.ledger, &|probe, slot| value(params, probe, slot));
    }

    /// What it has done so far.
    pub fn digest(&self) -> Digest {
        let alive = [("alive", self.ledger.n())];
        let totals = alive.into_iter().chain(self.ledger.entries());
        Digest { hash: self.meter.hash.hex(), totals: totals.map(|(n, v)| (n.to_owned(), v)).collect() }
    }
}

/// What is to be done to a selection, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hand {
    /// Turn phases.
    Kick(f64),
    /// Let phases stand still, or move.
    Freeze(bool),
    /// Fuse.
    Fuse,
    /// Decay.
    Decay,
}

impl Hand {
    /// Reads an action; its elements are places of a table of that size.
    pub fn of(action: &Action, capacity: u32) -> Result<Self, SimError> {
        use crate::params::Value;
        let wrong = |what: String| Err(SimError::Input(format!("{}: {what}", action.name)));
        if let Some(beyond) = action.elements.iter().find(|slot| **slot >= capacity) {
            return wrong(format!("there is no place {beyond}; the last one is {}", capacity - 1));
        }
        match (action.name.as_str(), &action.values[..]) {
            ("kick", [Value::Real(angle)]) if angle.is_finite() => Ok(Self::Kick(*angle)),
            ("kick", _) => wrong("takes one number, the angle in radians".to_owned()),
            ("freeze", [Value::Bool(still)]) => Ok(Self::Freeze(*still)),
            ("freeze", _) => wrong("takes true or false".to_owned()),
            ("fuse", []) => Ok(Self::Fuse),
            ("decay", []) => Ok(Self::Decay),
            ("fuse" | "decay", _) => wrong("takes no arguments".to_owned()),
            _ => wrong("there is no such action; there are kick, freeze, fuse and decay".to_owned()),
        }
    }
}

/// Somebody's numbers have left all bounds.
pub fn lost(whose: &str, step: u64) -> SimError {
    SimError::non_finite(whose, step, "lower task.learning_rate or population.sigma")
}
