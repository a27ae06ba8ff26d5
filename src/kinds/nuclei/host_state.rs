//! State shared by both backends: parameters, totals, samples, and the checks of parameter changes and actions.

use super::{
    events::{Events, PopulationStats},
    layout,
    ledger::Ledger,
    mixing,
    params::Params,
    probes,
    sampler::{self, ProbeSampler},
    task::Setup,
};
use crate::{
    kinds::shared::{
        edit::{self, Edit},
        host_sim::Host,
    },
    num::hash::StreamHash,
    params::{Change, Params as AnyParams},
    sim::{
        Action, ActionSpec, BuildContext, Clock, Digest, ElementSet, Frame, InputData, ProbeId, ProbeSpec, Reading,
        SimError, TimeBase,
    },
};
use std::sync::Arc;

/// Time base: a step is one generation.
pub const GENERATIONS: TimeBase = TimeBase::count("generation", "generations");

/// Backend-independent part of a simulation.
pub struct HostState {
    pub params: Params,
    /// Seed of the project and folder of its files.
    pub context: BuildContext,
    /// Prepared task and coupling matrix.
    pub setup: Arc<Setup>,
    /// The only element set: the slots of the table.
    pub sets: Vec<Arc<ElementSet>>,
    /// Number of generations simulated.
    pub step: u64,
    /// Event totals since the start.
    pub ledger: Ledger,
    /// Events of the last generation.
    pub events: Events,
    /// Statistics of the last generation.
    pub stats: PopulationStats,
    /// Sampler of probes.
    pub sampler: ProbeSampler,
}

impl HostState {
    /// Creates the host state at step 0 with `founders` nuclei.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, founders: u64) -> Self {
        let capacity = params.population.capacity;
        let ledger = Ledger { founders, ..Ledger::default() };
        Self {
            params: params.clone(),
            context: context.clone(),
            setup,
            sets: vec![Arc::new(layout::slots(capacity))],
            step: 0,
            ledger,
            events: Events::with_capacity(capacity as usize),
            stats: PopulationStats::default(),
            sampler: ProbeSampler::new(&params.measure, capacity, mixing::fields(params), ledger),
        }
    }

    /// Checks a parameter change and classifies it. Fails if the parameter does not exist or the value is invalid.
    pub fn edit(&mut self, change: &Change) -> Result<Edit<Params>, SimError> {
        let edit = edit::check_change(&self.params, change)?;
        if let Edit::Live(new) = &edit {
            self.sampler.configure(&new.measure);
        }
        Ok(edit)
    }

    /// Returns the parameters and setup after input files were replaced; `None` if a rebuild is needed because inputs or
    /// coupling matrix differ. Fails if there is no such input file.
    pub fn replaced(&self, data: &InputData) -> Result<Option<(Params, Arc<Setup>)>, SimError> {
        let (setup, mut params) = (data.setup::<Setup>()?, self.params.clone());
        if !params.set(&data.change) {
            return Err(SimError::Input("there is no such input file".to_owned()));
        }
        let now = &self.setup;
        let fits = setup.dim == now.dim && setup.problem.is_some() == now.problem.is_some();
        Ok((fits && setup.matrix == now.matrix).then_some((params, setup)))
    }

    /// Restarts at `step` with the nuclei in the slots `living`; taps are kept.
    pub fn begin(&mut self, step: u64, living: &[u32]) {
        self.step = step;
        self.ledger = Ledger { founders: living.len() as u64, ..Ledger::default() };
        self.events.clear();
        self.stats = PopulationStats::default();
        self.sampler.resume(StreamHash::default(), self.ledger, step, living, None);
    }

    /// Ends a generation with these statistics and the events in `self.events`; `value` returns the value of a probe in a slot.
    pub fn end_generation(&mut self, stats: PopulationStats, value: &dyn Fn(&Params, ProbeId, u32) -> f32) {
        self.sampler.events(self.step, &self.events);
        self.stats = stats;
        self.step += 1;
        let params = &self.params;
        self.sampler.end(self.step, &self.stats, &self.ledger, &|probe, slot| value(params, probe, slot));
    }
}

impl Host for HostState {
    const ACTIONS: &'static [ActionSpec] = probes::ACTIONS;

    fn probes(&self) -> &'static [ProbeSpec] {
        probes::PROBES
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        sampler::lanes(probe, mixing::fields(&self.params))
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }

    fn clock(&self) -> Clock {
        Clock { step: self.step, base: GENERATIONS }
    }

    fn params(&self) -> &dyn AnyParams {
        &self.params
    }

    fn taps(&self) -> Vec<ProbeId> {
        self.sampler.taps().collect()
    }

    fn take(&mut self, probe: ProbeId, frame: &mut Frame) -> Option<Reading> {
        self.sampler.take(probe, frame.text_limit)
    }

    fn digest(&self) -> Digest {
        let alive = [("alive", self.ledger.n())];
        let totals = alive.into_iter().chain(self.ledger.entries());
        Digest::new(self.sampler.hash.hex(), totals.map(|(n, v)| (n.to_owned(), v)).collect())
    }
}

/// An action whose arguments were checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CheckedAction {
    /// Adds an angle to the phases.
    Kick(f64),
    /// Holds phases constant, or releases them.
    Freeze(bool),
    /// Fuses the selected nuclei.
    Fuse,
    /// Makes the selected nuclei decay.
    Decay,
}

impl CheckedAction {
    /// Checks an action on a table of `capacity` slots. Fails if the action or a slot does not exist, or the arguments are
    /// invalid.
    pub fn parse(action: &Action, capacity: u32) -> Result<Self, SimError> {
        use crate::params::Value;
        let wrong = |what: String| Err(SimError::Input(format!("{}: {what}", action.name)));
        if let Some(beyond) = action.elements.iter().find(|slot| **slot >= capacity) {
            return wrong(format!("there is no slot {beyond}; the last slot is {}", capacity - 1));
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

/// Returns the error for `values` that became NaN or infinite.
pub fn non_finite(values: &str, step: u64) -> SimError {
    SimError::non_finite(values, step, "lower task.learning_rate or population.sigma")
}
