//! Several trials of any kind as one simulation, each a simulation of its own that shares the setup with the others.

use super::threads::Threads;
use crate::{
    gpu::{KernelFacts, Pass},
    params::{Change, Params},
    sim::{
        Action, ActionSpec, Answer, Clock, Connectivity, Digest, Effect, ElementSet, Execution, Frame, Individuals,
        Level, MemoryReport, ProbeId, ProbeSpec, Progress, Reading, Request, SimError, Simulation, Snapshot, StepCount,
        Tap, TapKey, TrialChoice, snapshot::misfit, trial::check_trials,
    },
};
use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _};
use std::sync::Arc;

/// Model of the saved states of several trials.
const MODEL: &str = "trials";

/// Trials that are stepped together. They have one clock. Sets, lanes, connections and answers are those of the first trial.
pub struct TrialSet {
    trials: Vec<Box<dyn Simulation>>,
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
        Self { trials, shared_memory, taps: vec![], threads }
    }

    fn first(&self) -> &dyn Simulation {
        &*self.trials[0]
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
        let mut own = vec![];
        let chosen = self.taps.iter().filter(|tap| tap.trial.includes(trial));
        Tap::merge(&mut own, chosen.map(|tap| Tap { trial: TrialChoice::default(), ..tap.clone() }));
        own
    }
}

/// Returns the readings of the taps from those of each trial: for each tap one reading, or one of every trial.
fn combine(taps: &[Tap], frames: &[Frame]) -> Vec<(TapKey, Reading)> {
    let mut readings: Vec<(TapKey, Reading)> = vec![];
    for tap in taps {
        let of_trial = |trial: usize| {
            let key = TapKey { trial: TrialChoice::default(), ..tap.key() };
            frames[trial].reading(key).map(|reading| reading.of_elements(&tap.elements))
        };
        let mut push = |trial: TrialChoice, reading: Option<Reading>| {
            let key = TapKey { trial, ..tap.key() };
            if !readings.iter().any(|(known, _)| *known == key) {
                readings.extend(reading.map(|reading| (key, reading)));
            }
        };
        match tap.trial {
            TrialChoice::One(trial) => push(tap.trial, of_trial(trial as usize)),
            TrialChoice::All => {
                (0..frames.len()).for_each(|i| push(TrialChoice::One(i as u32), of_trial(i)));
            }
            TrialChoice::Statistic(statistic) => {
                let all: Vec<Reading> = (0..frames.len()).filter_map(of_trial).collect();
                let is_whole = all.len() == frames.len();
                let all: Vec<&Reading> = all.iter().collect();
                push(tap.trial, is_whole.then(|| statistic.of_readings(&all)).flatten());
            }
        }
    }
    readings
}

impl Simulation for TrialSet {
    fn trials(&self) -> u32 {
        self.trials.len() as u32
    }

    fn digest(&self, trial: u32) -> Digest {
        self.trials.get(trial as usize).map(|sim| sim.digest(0)).unwrap_or_default()
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        check_trials(taps, self.first().probes(), self.trials())?;
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

    /// A stop takes effect before the first step only: trials that stopped in different steps would have no common clock.
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        if pass.is_stopping() {
            return Ok(());
        }
        let mut steps = steps;
        let mut rest = &mut self.trials[..];
        // Only the first trial may return early, because its schema is shown.
        if pass.ends_at_changes {
            let (first, others) = rest.split_first_mut().expect("a simulation has at least one trial");
            let start = first.clock().step;
            first.advance(steps, pass)?;
            steps = (first.clock().step - start) as u32;
            rest = others;
        }
        if steps == 0 {
            return Ok(());
        }
        let (follow, is_for_screen) = (pass.follow(), pass.is_for_screen);
        let run = |(thread, trial): (usize, &mut Box<dyn Simulation>)| {
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
        let mut sums = self.first().counts();
        for trial in &self.trials[1..] {
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
        let mut all = self.first().memory();
        for trial in &self.trials[1..] {
            all += trial.memory().of_another_trial(self.shared_memory);
        }
        all
    }

    fn probes(&self) -> &'static [ProbeSpec] {
        self.first().probes()
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        self.first().lanes(probe)
    }

    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        self.first().choices(probe)
    }

    fn levels(&self, probe: ProbeId) -> Vec<Level> {
        self.first().levels(probe)
    }

    fn generation(&self) -> u64 {
        self.first().generation()
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        self.first().sets()
    }

    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        self.first().individuals(set)
    }

    fn actions(&self) -> &'static [ActionSpec] {
        self.first().actions()
    }

    fn elements_in_state(&self, action: &str) -> Vec<u32> {
        self.first().elements_in_state(action)
    }

    fn clock(&self) -> Clock {
        self.first().clock()
    }

    fn ask(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        self.trials[0].ask(request, progress)
    }

    fn params(&self) -> Option<&dyn Params> {
        self.first().params()
    }

    fn n_parameters(&self) -> u64 {
        self.first().n_parameters()
    }

    fn execution(&self) -> Execution {
        self.first().execution()
    }

    fn notices(&self) -> Vec<String> {
        self.first().notices()
    }

    fn connectivity(&self) -> Option<Connectivity> {
        self.first().connectivity()
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        self.first().kernels()
    }
}
