//! A simulation that returns to its owner when the engine that runs it ends, so that trials can share it.

use crate::{
    gpu::{KernelFacts, Pass},
    params::Change,
    sim::{
        Action, Clock, Connectivity, Digest, Effect, ElementSet, Frame, ProbeId, ProbeSpec, SimError, Simulation, Tap,
    },
};
use std::{
    mem::ManuallyDrop,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
};

/// Passes all calls on to the simulation, and sends it back when dropped.
pub(super) struct Lent {
    sim: ManuallyDrop<Box<dyn Simulation>>,
    home: Sender<Box<dyn Simulation>>,
}

impl Lent {
    /// The simulation for an engine, and where it comes back.
    pub fn new(sim: Box<dyn Simulation>) -> (Box<Self>, Receiver<Box<dyn Simulation>>) {
        let (home, returned) = channel();
        (Box::new(Self { sim: ManuallyDrop::new(sim), home }), returned)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // SAFETY: taken once, here; nothing can use it after the drop.
        let sim = unsafe { ManuallyDrop::take(&mut self.sim) };
        self.home.send(sim).ok();
    }
}

impl Simulation for Lent {
    fn probes(&self) -> &'static [ProbeSpec] {
        self.sim.probes()
    }
    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        self.sim.lanes(probe)
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        self.sim.sets()
    }
    fn clock(&self) -> Clock {
        self.sim.clock()
    }
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        self.sim.set(change)
    }
    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        self.sim.act(action)
    }
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.sim.tap(taps)
    }
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.sim.advance(steps, pass)
    }
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        self.sim.sample(frame)
    }
    fn save(&mut self) -> Result<Vec<u8>, SimError> {
        self.sim.save()
    }
    fn load(&mut self, state: &[u8]) -> Result<(), SimError> {
        self.sim.load(state)
    }
    fn rewind(&mut self) -> Result<(), SimError> {
        self.sim.rewind()
    }
    fn restart(&mut self, seed: u64) -> Result<bool, SimError> {
        self.sim.restart(seed)
    }
    fn digest(&self) -> Digest {
        self.sim.digest()
    }
    fn memory(&self) -> Vec<(&'static str, u64)> {
        self.sim.memory()
    }
    fn connectivity(&self) -> Option<Connectivity> {
        self.sim.connectivity()
    }
    fn kernels(&self) -> Vec<KernelFacts> {
        self.sim.kernels()
    }
}
