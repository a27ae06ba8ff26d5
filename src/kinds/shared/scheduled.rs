//! Interventions that set a parameter, for every kind: a simulation whose parameters change at the first step of an intervention
//! and change back after its last.
//!
//! The values set in a step depend only on the edited parameters and the step. They are therefore the same in a replay, after a
//! rewind, in a continued checkpoint, in every trial and for any batch length, and no file stores them.

use super::edit::{Edit, check_change};
use crate::{
    gpu::{KernelFacts, Pass},
    params::{Change, ParamId, Params, Role, Schedule, interventions::Intervention},
    sim::{
        Action, ActionSpec, Answer, Clock, Connectivity, Digest, Effect, ElementSet, Execution, Frame, Individuals,
        InputData, Level, MemoryReport, ProbeId, ProbeSpec, Progress, Request, SimError, Simulation, Snapshot,
        StepCount, Tap, TimeBase,
    },
};
use std::sync::Arc;

/// An enabled intervention that sets a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    /// Name for error messages, such as `intervention 2 (weak coupling)`.
    name: String,
    when: Schedule,
    change: Change,
}

/// Returns the enabled interventions that set a parameter, in the order of the list. Fails if a schedule or a value is invalid.
pub(super) fn settings(params: &dyn Params, base: TimeBase) -> Result<Vec<Setting>, SimError> {
    let sets = |v: &Intervention<'_>| v.is_enabled() && v.role() == Role::SetsParameter;
    let setting = |v: Intervention<'_>| {
        let name = format!("intervention {} ({})", v.item + 1, v.label());
        let when = v.schedule(base.per_step());
        match when.and_then(|when| Ok((when, v.setting()?))) {
            Ok((when, change)) => Ok(Setting { name, when, change }),
            Err(why) => Err(SimError::Input(format!("{name}: {why}"))),
        }
    };
    Intervention::all(params).filter(sets).map(setting).collect()
}

/// Checks that the kind accepts each setting. Fails with the name of the first setting that is not accepted.
pub(super) fn check<P: Params + Clone>(
    params: &P,
    settings: &[Setting],
    accepts: impl Fn(&P) -> Result<(), SimError>,
) -> Result<(), SimError> {
    settings.iter().try_for_each(|setting| {
        let mut with = params.clone();
        with.set(&setting.change);
        accepts(&with).map_err(|error| named(&setting.name, error))
    })
}

fn named(name: &str, error: SimError) -> SimError {
    match error {
        SimError::Input(why) => SimError::Input(format!("{name}: {why}")),
        other => other,
    }
}

/// Function that checks whether a kind accepts parameters.
type Accepts<P> = Box<dyn Fn(&P) -> Result<(), SimError> + Send>;

/// A simulation with interventions that set parameters. At every step the inner simulation has the parameters of that step: a
/// parameter may change the state, so parameters are changed before a state is saved or loaded, not at the next step.
pub(super) struct ScheduledSim<P> {
    sim: Box<dyn Simulation>,
    /// Edited parameters, without the values set by interventions.
    params: P,
    settings: Vec<Setting>,
    /// Values that are set currently, each parameter once.
    active: Vec<Change>,
    /// Next step at which `active` may change; `u64::MAX` if it never changes.
    until: u64,
    /// Number of schema changes caused by interventions.
    n_changes: u64,
    accepts: Accepts<P>,
    /// Notices about the setup.
    notices: Vec<String>,
}

impl<P: Params + Clone + PartialEq> ScheduledSim<P> {
    /// Wraps a simulation at step 0 with these parameters. Fails if a value of step 0 cannot be set.
    pub fn new(
        sim: Box<dyn Simulation>,
        params: P,
        settings: Vec<Setting>,
        accepts: Accepts<P>,
        notices: Vec<String>,
    ) -> Result<Self, SimError> {
        let mut new = Self { sim, params, settings, active: vec![], until: 0, n_changes: 0, accepts, notices };
        new.update(0)?;
        Ok(new)
    }

    /// Sets the values that are active in a step, and restores those that are no longer active. Fails if a value cannot be set
    /// while the simulation runs.
    fn update(&mut self, step: u64) -> Result<(), SimError> {
        let (wanted, until) = wanted(&self.settings, step);
        let is_over = |change: &&Change| wanted.iter().all(|(w, _)| w.id != change.id);
        let over: Vec<ParamId> = self.active.iter().filter(is_over).map(|c| c.id).collect();
        for id in over {
            self.give(&Change { id, value: self.params.get(id) })?;
            self.active.retain(|c| c.id != id);
        }
        for (change, i) in wanted {
            let given = self.give(&change);
            given.map_err(|error| named(&format!("{} at step {step}", self.settings[i].name), error))?;
            self.active.retain(|c| c.id != change.id);
            self.active.push(change);
        }
        self.until = until;
        Ok(())
    }

    /// Sets a value in the inner simulation unless the simulation has this value. Fails if the simulation rejects the value or
    /// the change needs a rebuild.
    fn give(&mut self, change: &Change) -> Result<(), SimError> {
        let now = self.active.iter().find(|c| c.id == change.id);
        if now.map_or_else(|| self.params.get(change.id), |now| now.value.clone()) == change.value {
            return Ok(());
        }
        let before = schema(&*self.sim);
        match self.sim.set(change)? {
            Effect::Applied => {
                self.n_changes += u64::from(schema(&*self.sim) != before);
                Ok(())
            }
            Effect::NeedsRebuild => {
                let path = self.params.path(change.id);
                Err(SimError::Input(format!("`{path}` cannot change while the simulation runs")))
            }
        }
    }

    /// Calls `act` with all parameters at their edited values, because a state at step 0 must not depend on values that were
    /// set before. Fails if `act` fails or a value cannot be set.
    fn at_start<T>(&mut self, act: impl FnOnce(&mut dyn Simulation) -> Result<T, SimError>) -> Result<T, SimError> {
        let settings = std::mem::take(&mut self.settings);
        let done = self.update(0).and_then(|()| act(&mut *self.sim));
        self.settings = settings;
        self.update(self.sim.clock().step)?;
        done
    }

    /// Edits a parameter that an intervention has set; the edit takes effect after the intervention. Fails if the kind does not
    /// accept the new value.
    fn set_afterwards(&mut self, change: &Change) -> Result<Effect, SimError> {
        let Edit::Live(new) = check_change(&self.params, change)? else { return Ok(Effect::Applied) };
        (self.accepts)(&new)?;
        self.params = *new;
        Ok(Effect::Applied)
    }
}

/// Lanes, choices and levels of a probe: the parts of the schema that depend on parameters.
type ProbeSchema = (Vec<String>, Vec<Vec<String>>, Vec<Level>);

/// Returns the parts of the schema that depend on parameters, for each probe.
fn schema(sim: &dyn Simulation) -> Vec<ProbeSchema> {
    (0..sim.probes().len() as ProbeId).map(|id| (sim.lanes(id), sim.choices(id), sim.levels(id))).collect()
}

/// Returns the values that are active in a step, each parameter once with the index of its setting, and the next step at which
/// the values may change; `u64::MAX` if they never change.
fn wanted(settings: &[Setting], step: u64) -> (Vec<(Change, usize)>, u64) {
    let (mut wanted, mut until) = (Vec::<(Change, usize)>::new(), u64::MAX);
    for (i, setting) in settings.iter().enumerate() {
        let (is_active, changes) = setting.when.at(step);
        until = until.min(changes);
        if is_active {
            // The later setting in the list has precedence.
            wanted.retain(|(change, _)| change.id != setting.change.id);
            wanted.push((setting.change.clone(), i));
        }
    }
    (wanted, until)
}

impl<P: Params + Clone + PartialEq + Send> Simulation for ScheduledSim<P> {
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        if self.active.iter().any(|active| active.id == change.id) {
            return self.set_afterwards(change);
        }
        let mut new = self.params.clone();
        if !new.set(change) {
            return self.sim.set(change); // returns an error that says what does not fit
        }
        let Clock { step, base } = self.sim.clock();
        let settings = settings(&new, base)?;
        if settings != self.settings {
            check(&new, &settings, &self.accepts)?;
        }
        if self.sim.set(change)? == Effect::NeedsRebuild {
            return Ok(Effect::NeedsRebuild);
        }
        let old = (std::mem::replace(&mut self.params, new), std::mem::replace(&mut self.settings, settings));
        if let Err(error) = self.update(step) {
            let back = Change { id: change.id, value: old.0.get(change.id) };
            (self.params, self.settings) = old;
            self.sim.set(&back)?;
            self.update(step)?;
            return Err(error);
        }
        Ok(Effect::Applied)
    }

    fn replace(&mut self, data: &InputData) -> Result<Effect, SimError> {
        let effect = self.sim.replace(data)?;
        if effect == Effect::Applied {
            self.params.set(&data.change);
        }
        Ok(effect)
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let (end, generation) = (self.sim.clock().step + u64::from(steps), self.generation());
        loop {
            let now = self.sim.clock().step;
            let until = self.until.min(end);
            if now >= until {
                return Ok(());
            }
            self.sim.advance((until - now) as u32, pass)?;
            let now = self.sim.clock().step;
            if now == self.until {
                self.update(now)?;
            }
            // The simulation was asked to stop, or to return when the schema changes or after a result, which may be at this step.
            let has_changed = pass.ends_at_changes && self.generation() != generation;
            if now < until || has_changed || pass.ends_at_results {
                return Ok(());
            }
        }
    }

    fn load(&mut self, state: &Snapshot) -> Result<(), SimError> {
        let (now, then) = (self.sim.clock().step, state.read_number("step")?);
        let ids = |step| wanted(&self.settings, step).0.into_iter().map(|(change, _)| change).collect::<Vec<_>>();
        if ids(now) == ids(then) {
            self.sim.load(state)?;
            return self.update(then);
        }
        // A parameter may change the state, so the state is loaded last.
        let before = self.sim.save()?;
        let loaded = self.update(then).and_then(|()| self.sim.load(state));
        if loaded.is_err() {
            self.update(now)?;
            self.sim.load(&before)?;
        }
        loaded
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.at_start(|sim| sim.rewind())
    }

    fn restart(&mut self, seed: u64) -> Result<bool, SimError> {
        self.at_start(|sim| sim.restart(seed))
    }

    fn params(&self) -> Option<&dyn Params> {
        Some(&self.params)
    }

    fn returns_early(&self) -> bool {
        self.sim.returns_early() || self.until < u64::MAX
    }

    fn generation(&self) -> u64 {
        self.sim.generation() + self.n_changes
    }

    fn probes(&self) -> &'static [ProbeSpec] {
        self.sim.probes()
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        self.sim.lanes(probe)
    }

    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        self.sim.choices(probe)
    }

    fn levels(&self, probe: ProbeId) -> Vec<Level> {
        self.sim.levels(probe)
    }

    fn n_parameters(&self) -> u64 {
        self.sim.n_parameters()
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        self.sim.sets()
    }

    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        self.sim.individuals(set)
    }

    fn actions(&self) -> &'static [ActionSpec] {
        self.sim.actions()
    }

    fn elements_in_state(&self, action: &str) -> Vec<u32> {
        self.sim.elements_in_state(action)
    }

    fn clock(&self) -> Clock {
        self.sim.clock()
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        self.sim.act(action)
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.sim.tap(taps)
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        self.sim.sample(frame)
    }

    fn save(&mut self) -> Result<Snapshot, SimError> {
        self.sim.save()
    }

    fn is_measuring(&self) -> bool {
        self.sim.is_measuring()
    }

    fn finish_measuring(&mut self, waits: bool) -> Result<bool, SimError> {
        self.sim.finish_measuring(waits)
    }

    fn snapshot_bytes(&self) -> u64 {
        self.sim.snapshot_bytes()
    }

    fn ask(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        self.sim.ask(request, progress)
    }

    fn digest(&self, trial: u32) -> Digest {
        self.sim.digest(trial)
    }

    fn trials(&self) -> u32 {
        self.sim.trials()
    }

    fn show_trial(&mut self, trial: u32) {
        self.sim.show_trial(trial);
    }

    fn trials_differ(&self) -> bool {
        self.sim.trials_differ()
    }

    fn counts(&self) -> Vec<StepCount> {
        self.sim.counts()
    }

    fn execution(&self) -> Execution {
        self.sim.execution()
    }

    fn notices(&self) -> Vec<String> {
        let mut all = self.notices.clone();
        all.extend(self.sim.notices());
        all
    }

    fn memory(&self) -> MemoryReport {
        self.sim.memory()
    }

    fn connectivity(&self) -> Option<Connectivity> {
        self.sim.connectivity()
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        self.sim.kernels()
    }
}
