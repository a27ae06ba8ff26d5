//! Returns a simulation when its engine ends, so that the next trial reuses the simulation.

use crate::{
    gpu::{KernelFacts, Pass},
    params::{Change, Params},
    sim::{
        Action, ActionSpec, Answer, Clock, Connectivity, Digest, Effect, ElementSet, Execution, Frame, Individuals,
        InputData, Level, MemoryReport, ProbeId, ProbeSpec, Progress, Request, SimError, Simulation, Snapshot,
        StepCount, Tap,
    },
};
use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
};

/// Wrapper that forwards all calls to a simulation, and sends the simulation back when dropped.
pub struct ReusedSimulation {
    /// The wrapped simulation; `None` only during the drop.
    sim: Option<Box<dyn Simulation>>,
    finished: Sender<Box<dyn Simulation>>,
}

impl ReusedSimulation {
    /// Wraps a simulation for an engine, and creates the channel that returns the simulation.
    pub fn new(sim: Box<dyn Simulation>) -> (Box<Self>, Receiver<Box<dyn Simulation>>) {
        let (finished, returned) = channel();
        (Box::new(Self { sim: Some(sim), finished }), returned)
    }
}

impl Drop for ReusedSimulation {
    fn drop(&mut self) {
        if let Some(sim) = self.sim.take() {
            self.finished.send(sim).ok();
        }
    }
}

impl Deref for ReusedSimulation {
    type Target = dyn Simulation;
    fn deref(&self) -> &Self::Target {
        self.sim.as_deref().expect("present until the drop")
    }
}

impl DerefMut for ReusedSimulation {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.sim.as_deref_mut().expect("present until the drop")
    }
}

impl Simulation for ReusedSimulation {
    fn probes(&self) -> &'static [ProbeSpec] {
        self.deref().probes()
    }
    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        self.deref().lanes(probe)
    }
    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        self.deref().choices(probe)
    }
    fn levels(&self, probe: ProbeId) -> Vec<Level> {
        self.deref().levels(probe)
    }
    fn n_parameters(&self) -> u64 {
        self.deref().n_parameters()
    }
    fn generation(&self) -> u64 {
        self.deref().generation()
    }
    fn returns_early(&self) -> bool {
        self.deref().returns_early()
    }
    fn trials_differ(&self) -> bool {
        self.deref().trials_differ()
    }
    fn params(&self) -> Option<&dyn Params> {
        self.deref().params()
    }
    fn counts(&self) -> Vec<StepCount> {
        self.deref().counts()
    }
    fn execution(&self) -> Execution {
        self.deref().execution()
    }
    fn notices(&self) -> Vec<String> {
        self.deref().notices()
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        self.deref().sets()
    }
    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        self.deref().individuals(set)
    }
    fn actions(&self) -> &'static [ActionSpec] {
        self.deref().actions()
    }
    fn elements_in_state(&self, action: &str) -> Vec<u32> {
        self.deref().elements_in_state(action)
    }
    fn clock(&self) -> Clock {
        self.deref().clock()
    }
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        self.deref_mut().set(change)
    }
    fn replace(&mut self, data: &InputData) -> Result<Effect, SimError> {
        self.deref_mut().replace(data)
    }
    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        self.deref_mut().act(action)
    }
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.deref_mut().tap(taps)
    }
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.deref_mut().advance(steps, pass)
    }
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        self.deref_mut().sample(frame)
    }
    fn save(&mut self) -> Result<Snapshot, SimError> {
        self.deref_mut().save()
    }
    fn load(&mut self, state: &Snapshot) -> Result<(), SimError> {
        self.deref_mut().load(state)
    }
    fn ask(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        self.deref_mut().ask(request, progress)
    }
    fn is_measuring(&self) -> bool {
        self.deref().is_measuring()
    }

    fn finish_measuring(&mut self, waits: bool) -> Result<bool, SimError> {
        self.deref_mut().finish_measuring(waits)
    }

    fn snapshot_bytes(&self) -> u64 {
        self.deref().snapshot_bytes()
    }
    fn rewind(&mut self) -> Result<(), SimError> {
        self.deref_mut().rewind()
    }
    fn show_trial(&mut self, trial: u32) {
        self.deref_mut().show_trial(trial);
    }
    fn restart(&mut self, seed: u64) -> Result<bool, SimError> {
        self.deref_mut().restart(seed)
    }
    fn digest(&self, trial: u32) -> Digest {
        self.deref().digest(trial)
    }

    fn trials(&self) -> u32 {
        self.deref().trials()
    }
    fn memory(&self) -> MemoryReport {
        self.deref().memory()
    }
    fn connectivity(&self) -> Option<Connectivity> {
        self.deref().connectivity()
    }
    fn kernels(&self) -> Vec<KernelFacts> {
        self.deref().kernels()
    }
}
