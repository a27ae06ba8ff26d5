//! Several trials of any kind as one simulation, each a simulation of its own that shares the setup with the others.

use super::threads::Threads;
use crate::{
    gpu::{KernelFacts, Pass},
    params::{Change, Params},
    sim::{
        Action, ActionSpec, Answer, Clock, Connectivity, Digest, Effect, ElementSet, Execution, Frame, Individuals,
        InputData, Level, MemoryReport, ProbeId, ProbeSpec, Progress, Reading, Request, SimError, Simulation, Snapshot,
        StepCount, Tap, TapKey, TrialChoice, snapshot::misfit, trial::check_trials,
    },
};
use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _};
use std::sync::Arc;

/// Model of the saved states of several trials.
const MODEL: &str = "trials";

/// Trials that are stepped together. They have one clock. Sets, lanes, connections and answers are those of the shown trial.
pub struct TrialSet {
    trials: Vec<Box<dyn Simulation>>,
    /// Index of the shown trial.
    shown: usize,
    /// Owners in memory reports whose host memory the trials share.
    shared_memory: &'static [&'static str],
    taps: Vec<Tap>,
    threads: Threads,
}

impl TrialSet {
    /// Combines simulations of one model at one step. `threads` of them are stepped at a time.
    ///
    /// # Panics
    /// Panics if there are no simulations.
    pub fn new(trials: Vec<Box<dyn Simulation>>, shared_memory: &'static [&'static str], threads: usize) -> Self {
        assert!(!trials.is_empty(), "a simulation has at least one trial");
        let threads = Threads::new(threads.min(trials.len()));
        Self { trials, shown: 0, shared_memory, taps: vec![], threads }
    }

    fn shown(&self) -> &dyn Simulation {
        &*self.trials[self.shown]
    }

    /// Saves all trials and applies a function to each. After a failure, all return to the saved state.
    fn all_or_none(&mut self, of: impl Fn(usize, &mut dyn Simulation) -> Result<(), SimError>) -> Result<(), SimError> {
        let before = self.trials.iter_mut().map(|trial| trial.save()).collect::<Result<Vec<_>, _>>()?;
        for i in 0..self.trials.len() {
            if let Err(error) = of(i, &mut *self.trials[i]) {
                self.trials[..i].iter_mut().zip(&before).try_for_each(|(trial, state)| trial.load(state))?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns the taps of one trial, as taps of a simulation with one trial.
    fn taps_of(&self, trial: u32) -> Vec<Tap> {
        taps_of(&self.taps, trial, |_| true)
    }
}

/// Returns the matching taps of one trial, merged, as taps of a simulation with one trial.
fn taps_of(taps: &[Tap], trial: u32, matches: impl Fn(TrialChoice) -> bool) -> Vec<Tap> {
    let mut own = vec![];
    let chosen = taps.iter().filter(|tap| tap.trial.includes(trial) && matches(tap.trial));
    Tap::merge(&mut own, chosen.map(|tap| Tap { trial: TrialChoice::default(), ..tap.clone() }));
    own
}

/// Returns the readings of the taps from those of each trial: one of every tapped trial, with the elements of all its taps, and the
/// statistics.
fn combine(taps: &[Tap], frames: &[Frame]) -> Vec<(TapKey, Reading)> {
    let mut readings: Vec<(TapKey, Reading)> = vec![];
    for (trial, frame) in (0..).zip(frames) {
        for tap in taps_of(taps, trial, |choice| !matches!(choice, TrialChoice::Statistic(_))) {
            let reading = frame.reading(tap.key()).map(|reading| reading.of_elements(&tap.elements));
            readings.extend(reading.map(|reading| (TapKey { trial: TrialChoice::One(trial), ..tap.key() }, reading)));
        }
    }
    for tap in taps {
        let TrialChoice::Statistic(statistic) = tap.trial else { continue };
        let key = TapKey { trial: TrialChoice::default(), ..tap.key() };
        let of_trial = |frame: &Frame| Some(frame.reading(&key)?.of_elements(&tap.elements));
        let all: Vec<Reading> = frames.iter().map_while(of_trial).collect();
        let all = Some(all.iter().collect::<Vec<_>>()).filter(|all| all.len() == frames.len());
        readings.extend(all.and_then(|all| statistic.of_readings(&all)).map(|reading| (tap.key(), reading)));
    }
    readings
}

impl Simulation for TrialSet {
    fn trials(&self) -> u32 {
        self.trials.len() as u32
    }

    fn show_trial(&mut self, trial: u32) {
        if (trial as usize) < self.trials.len() {
            self.shown = trial as usize;
        }
    }

    fn trials_differ(&self) -> bool {
        let shown = self.shown();
        let has_same_sets = |trial: &dyn Simulation| {
            let mut pairs = trial.sets().iter().zip(shown.sets());
            pairs.all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
        };
        // Sets that have not changed since the start are those of the setup, which the trials share.
        let differs = |trial: &dyn Simulation| {
            trial.generation() != shown.generation() || trial.generation() > 0 && !has_same_sets(trial)
        };
        self.trials.iter().any(|trial| differs(&**trial))
    }

    fn digest(&self, trial: u32) -> Digest {
        self.trials.get(trial as usize).map(|sim| sim.digest(0)).unwrap_or_default()
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        check_trials(taps, self.shown().probes(), self.trials())?;
        // Taps of one key read the elements of all of them.
        let mut merged = vec![];
        Tap::merge(&mut merged, taps.iter().cloned());
        let before = std::mem::replace(&mut self.taps, merged);
        for i in 0..self.trials() {
            let own = self.taps_of(i);
            if let Err(error) = self.trials[i as usize].tap(&own) {
                self.taps = before;
                for j in 0..i {
                    let own = self.taps_of(j);
                    self.trials[j as usize].tap(&own)?;
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// A stop takes effect before the first step only, except for a single trial: trials that stopped in different steps would have
    /// no common clock.
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        if pass.is_stopping() {
            return Ok(());
        }
        if let [only] = &mut self.trials[..] {
            return only.advance(steps, pass);
        }
        let mut steps = steps;
        let mut first = None;
        // Only the shown trial may return early, because its schema is shown.
        if pass.ends_at_changes && self.shown().returns_early() {
            let shown = &mut self.trials[self.shown];
            let start = shown.clock().step;
            shown.advance(steps, pass)?;
            steps = (shown.clock().step - start) as u32;
            first = Some(self.shown);
        }
        if steps == 0 {
            return Ok(());
        }
        let indexed = self.trials.iter_mut().enumerate();
        let mut rest: Vec<_> = indexed.filter(|(i, _)| Some(*i) != first).map(|(_, trial)| trial).collect();
        let (follow, is_for_screen) = (pass.follow(), pass.is_for_screen);
        let run = |(thread, trial): (usize, &mut &mut Box<dyn Simulation>)| {
            let mut own = Pass::default();
            own.is_for_screen = is_for_screen;
            own.measure_as(follow, thread);
            trial.advance(steps, &mut own).map(|()| own)
        };
        let done: Vec<Pass> = match self.threads.number() {
            1 => rest.iter_mut().enumerate().map(run).collect::<Result<_, _>>()?,
            _ => self.threads.run(|| rest.par_iter_mut().enumerate().map(run).collect::<Result<_, _>>())?,
        };
        done.into_iter().for_each(|mut own| pass.join(&mut own));
        Ok(())
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        let mut frames = vec![];
        for trial in &mut self.trials {
            let mut own = frame.only(&[]);
            own.timings.clear();
            trial.sample(&mut own)?;
            frames.push(own);
        }
        frame.readings.extend(combine(&self.taps, &frames));
        Ok(())
    }

    /// After a failure, the trials that were changed get the values back that they had; these may differ between trials.
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        let mut back: Vec<Option<Change>> = vec![];
        for i in 0..self.trials.len() {
            let before = self.trials[i].params().map(|params| Change { id: change.id, value: params.get(change.id) });
            let effect = self.trials[i].set(change);
            if !matches!(effect, Ok(Effect::Applied)) {
                let changed = self.trials.iter_mut().zip(&back);
                let mut changed = changed.filter_map(|(trial, before)| Some((trial, before.as_ref()?)));
                changed.try_for_each(|(trial, before)| trial.set(before).map(drop))?;
                return effect;
            }
            back.push(before);
        }
        Ok(Effect::Applied)
    }

    /// The trials have equal setups and parameters, so that all accept the data or the first refuses them.
    fn replace(&mut self, data: &InputData) -> Result<Effect, SimError> {
        for trial in &mut self.trials {
            let effect = trial.replace(data)?;
            if effect != Effect::Applied {
                return Ok(effect);
            }
        }
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        self.all_or_none(|_, trial| trial.act(action))
    }

    fn finish_measuring(&mut self, waits: bool) -> Result<bool, SimError> {
        let mut any = false;
        for trial in &mut self.trials {
            any |= trial.finish_measuring(waits)?;
        }
        Ok(any)
    }

    fn is_measuring(&self) -> bool {
        self.trials.iter().any(|trial| trial.is_measuring())
    }

    fn save(&mut self) -> Result<Snapshot, SimError> {
        let mut all = Snapshot::new(MODEL);
        all.number("step", self.clock().step);
        all.number("trials", self.trials.len() as u64);
        for (i, trial) in self.trials.iter_mut().enumerate() {
            let state = trial.save()?;
            if i == 0 {
                all.list("model", state.model.into_bytes());
            }
            all.sections.extend(state.sections.iter().map(|section| section.named(format!("{i}.{}", section.name))));
        }
        Ok(all)
    }

    fn load(&mut self, state: &Snapshot) -> Result<(), SimError> {
        state.expect_model(MODEL)?;
        let n = state.read_number::<u64>("trials")?;
        if n != self.trials.len() as u64 {
            return Err(misfit(&format!("it has {n} trials, expected {}", self.trials.len())));
        }
        let model = String::from_utf8_lossy(&state.read_list::<u8>("model")?).into_owned();
        let of_trial = |i: usize| {
            let prefix = format!("{i}.");
            let own = state.sections.iter().filter_map(|section| {
                let name = section.name.strip_prefix(&prefix)?;
                Some(section.named(name.to_owned()))
            });
            Snapshot { model: model.clone(), sections: own.collect() }
        };
        self.all_or_none(|i, trial| trial.load(&of_trial(i)))
    }

    fn snapshot_bytes(&self) -> u64 {
        self.trials.iter().map(|trial| trial.snapshot_bytes()).sum()
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.trials.iter_mut().try_for_each(|trial| trial.rewind())
    }

    /// Trial k gets the seed `seed + k`, as in a series of trials.
    fn restart(&mut self, seed: u64) -> Result<bool, SimError> {
        for (trial, k) in self.trials.iter_mut().zip(0..) {
            if !trial.restart(seed.wrapping_add(k))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn counts(&self) -> Vec<StepCount> {
        let mut sums: Vec<StepCount> = vec![];
        for trial in &self.trials {
            for count in trial.counts() {
                let known = sums.iter_mut().find(|sum| (sum.name, sum.counted) == (count.name, count.counted));
                match known {
                    Some(sum) => sum.per_step += count.per_step,
                    None => sums.push(count),
                }
            }
        }
        sums
    }

    fn memory(&self) -> MemoryReport {
        let mut all = self.trials[0].memory();
        for trial in &self.trials[1..] {
            all += trial.memory().of_another_trial(self.shared_memory);
        }
        all
    }

    fn probes(&self) -> &'static [ProbeSpec] {
        self.shown().probes()
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        self.shown().lanes(probe)
    }

    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        self.shown().choices(probe)
    }

    fn levels(&self, probe: ProbeId) -> Vec<Level> {
        self.shown().levels(probe)
    }

    fn generation(&self) -> u64 {
        self.shown().generation()
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        self.shown().sets()
    }

    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        self.shown().individuals(set)
    }

    fn actions(&self) -> &'static [ActionSpec] {
        self.shown().actions()
    }

    fn elements_in_state(&self, action: &str) -> Vec<u32> {
        self.shown().elements_in_state(action)
    }

    fn clock(&self) -> Clock {
        self.shown().clock()
    }

    fn ask(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        self.trials[self.shown].ask(request, progress)
    }

    fn params(&self) -> Option<&dyn Params> {
        self.shown().params()
    }

    fn n_parameters(&self) -> u64 {
        self.shown().n_parameters()
    }

    fn execution(&self) -> Execution {
        self.shown().execution()
    }

    fn notices(&self) -> Vec<String> {
        self.shown().notices()
    }

    fn connectivity(&self) -> Option<Connectivity> {
        self.shown().connectivity()
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        self.shown().kernels()
    }
}
