//! A simulation whose data are made up: for tests, and for the benchmark of the window. Clock, taps, faults and the form of
//! a saved state are the same for all; a [`Script`] says what happens in a step and what is read.

use super::{
    Action, Clock, Connectivity, Digest, Effect, ElementSet, Frame, MemoryReport, ProbeId, ProbeSpec, SimError,
    Simulation, Snapshot, Tap, TimeBase,
};
use crate::{gpu::Pass, params::Change};
use std::{sync::Arc, time::Duration};

/// What a [`Scripted`] simulation does and shows. What is not needed has a default.
pub trait Script: Send {
    /// Its probes.
    fn probes(&self) -> &'static [ProbeSpec];
    /// Its sets.
    fn sets(&self) -> &[Arc<ElementSet>];
    /// Its time base.
    fn base(&self) -> TimeBase;
    /// As [`Simulation::lanes`].
    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        let _ = probe;
        vec![]
    }
    /// One step.
    fn step(&mut self, step: u64, taps: &[Tap]) {
        let _ = (step, taps);
    }
    /// After the steps of a batch, up to this one.
    fn end_batch(&mut self, step: u64) {
        let _ = step;
    }
    /// The timing row of a batch, if it has one.
    fn span(&self) -> Option<&'static str> {
        None
    }
    /// Adds the readings of the taps.
    fn sample(&mut self, step: u64, taps: &[Tap], frame: &mut Frame);
    /// As [`Simulation::set`].
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        let _ = change;
        Ok(Effect::Applied)
    }
    /// Any action.
    fn act(&mut self) {}
    /// Adds what a saved state holds beside the step.
    fn save(&self, state: &mut Snapshot) {
        let _ = state;
    }
    /// The reverse, to this step.
    fn load(&mut self, step: u64, state: &Snapshot) -> Result<(), SimError> {
        let _ = (step, state);
        Ok(())
    }
    /// Back to step 0.
    fn rewind(&mut self) {}
    /// Hash and totals.
    fn digest(&self, step: u64) -> Digest {
        Digest { hash: format!("{step:016x}"), totals: vec![] }
    }
    /// As [`Simulation::connectivity`].
    fn connectivity(&self) -> Option<Connectivity> {
        None
    }
    /// As [`Simulation::memory`].
    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }
    /// The message when its numbers become NaN.
    fn diverged(&self, step: u64) -> String {
        format!("v of neuron 17 is not a number at step {step}")
    }
}

/// A simulation that follows a script, and fails where it is told to.
pub struct Scripted<S> {
    /// What it does.
    pub script: S,
    step: u64,
    taps: Vec<Tap>,
    is_lost: bool,
    /// Time a step takes.
    pub slow: Duration,
    /// Whether a step never ends, unless it is asked to stop: it is then undone.
    pub is_endless: bool,
    /// Step at which its device fails, for good.
    pub loses_device_at: u64,
    /// Step at which its numbers become NaN.
    pub diverges_at: u64,
    /// Step at which it panics.
    pub panics_at: u64,
    /// Whether it takes no saved state.
    pub refuses_states: bool,
    /// Predicted size of a snapshot.
    pub snapshot_bytes: u64,
    /// What it does otherwise than asked.
    pub notices: Vec<String>,
}

impl<S: Script> Scripted<S> {
    /// At step 0, without faults.
    pub fn new(script: S) -> Self {
        Self {
            script,
            step: 0,
            taps: vec![],
            is_lost: false,
            slow: Duration::ZERO,
            is_endless: false,
            loses_device_at: u64::MAX,
            diverges_at: u64::MAX,
            panics_at: u64::MAX,
            refuses_states: false,
            snapshot_bytes: 0,
            notices: vec![],
        }
    }

    fn check_device(&self) -> Result<(), SimError> {
        let lost = || SimError::Device("kernel deliver: the GPU is lost to this program".into());
        if self.is_lost { Err(lost()) } else { Ok(()) }
    }

    fn one_step(&mut self) -> Result<(), SimError> {
        assert!(self.step < self.panics_at, "a fault was asked for");
        self.is_lost |= self.step >= self.loses_device_at;
        self.check_device()?;
        if self.step >= self.diverges_at {
            return Err(SimError::Diverged(self.script.diverged(self.step)));
        }
        self.script.step(self.step, &self.taps);
        self.step += 1;
        if !self.slow.is_zero() {
            std::thread::sleep(self.slow);
        }
        Ok(())
    }
}

impl<S: Script> Simulation for Scripted<S> {
    fn probes(&self) -> &'static [ProbeSpec] {
        self.script.probes()
    }
    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        self.script.lanes(probe)
    }
    fn sets(&self) -> &[Arc<ElementSet>] {
        self.script.sets()
    }
    fn clock(&self) -> Clock {
        Clock { step: self.step, base: self.script.base() }
    }
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        self.script.set(change)
    }
    fn act(&mut self, _: &Action) -> Result<(), SimError> {
        self.script.act();
        Ok(())
    }
    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.check_device()?;
        self.taps = taps.to_vec();
        Ok(())
    }
    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        assert!(steps > 0, "no batch is empty");
        if self.is_endless {
            while !pass.is_stopping() {
                std::thread::sleep(Duration::from_millis(1));
            }
            return Ok(());
        }
        for _ in 0..steps {
            self.one_step()?;
        }
        self.script.end_batch(self.step);
        if let Some(span) = self.script.span() {
            pass.span(span, u64::from(steps), || ());
        }
        Ok(())
    }
    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        self.script.sample(self.step, &self.taps, frame);
        Ok(())
    }
    fn save(&mut self) -> Result<Snapshot, SimError> {
        let mut state = Snapshot::new("scripted");
        state.number("step", self.step);
        self.script.save(&mut state);
        Ok(state)
    }
    fn load(&mut self, state: &Snapshot) -> Result<(), SimError> {
        if self.refuses_states {
            return Err(SimError::Input("the saved state does not fit".into()));
        }
        let step = state.read_number("step")?;
        self.script.load(step, state)?;
        self.step = step;
        Ok(())
    }
    fn notices(&self) -> Vec<String> {
        self.notices.clone()
    }

    fn snapshot_bytes(&self) -> u64 {
        self.snapshot_bytes
    }
    fn rewind(&mut self) -> Result<(), SimError> {
        self.step = 0;
        self.script.rewind();
        Ok(())
    }
    fn digest(&self) -> Digest {
        self.script.digest(self.step)
    }
    fn connectivity(&self) -> Option<Connectivity> {
        self.script.connectivity()
    }
    fn memory(&self) -> MemoryReport {
        self.script.memory()
    }
}
