//! Simulation with scripted data, for tests and the benchmark of the window. All scripted simulations have clock, taps,
//! faults and the form of a saved state in common; a [`Script`] defines steps and readings.

use super::{
    Action, Clock, Connectivity, Digest, Effect, ElementSet, Frame, MemoryReport, ProbeId, ProbeSpec, SimError,
    Simulation, Snapshot, Tap, TimeBase,
};
use crate::{gpu::Pass, params::Change};
use std::{sync::Arc, time::Duration};

/// Behaviour of a [`Scripted`] simulation. The optional methods have defaults.
pub trait Script: Send {
    /// Returns the probes of the simulation.
    fn probes(&self) -> &'static [ProbeSpec];
    /// Returns the element sets of the simulation.
    fn sets(&self) -> &[Arc<ElementSet>];
    /// Returns the time base of a step.
    fn base(&self) -> TimeBase;
    /// Returns lane names, as [`Simulation::lanes`] does.
    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        let _ = probe;
        vec![]
    }
    /// Takes a step. `step` is the number of steps taken before.
    fn step(&mut self, step: u64, taps: &[Tap]) {
        let _ = (step, taps);
    }
    /// Ends a batch, after its last step `step`.
    fn end_batch(&mut self, step: u64) {
        let _ = step;
    }
    /// Returns the name of the timing row of a batch; `None` if batches have no row.
    fn span(&self) -> Option<&'static str> {
        None
    }
    /// Adds the readings of the taps.
    fn sample(&mut self, step: u64, taps: &[Tap], frame: &mut Frame);
    /// Applies a parameter change as [`Simulation::set`] does.
    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        let _ = change;
        Ok(Effect::Applied)
    }
    /// Performs any action.
    fn act(&mut self) {}
    /// Adds the state other than the step.
    fn save(&self, state: &mut Snapshot) {
        let _ = state;
    }
    /// Restores the state at step `step`. Fails if the state does not fit.
    fn load(&mut self, step: u64, state: &Snapshot) -> Result<(), SimError> {
        let _ = (step, state);
        Ok(())
    }
    /// Resets to step 0.
    fn rewind(&mut self) {}
    /// Returns the hash and totals up to the step.
    fn digest(&self, step: u64) -> Digest {
        Digest::new(format!("{step:016x}"), vec![])
    }
    /// Returns the connections among the elements, as [`Simulation::connectivity`] does.
    fn connectivity(&self) -> Option<Connectivity> {
        None
    }
    /// Returns the memory in use, as [`Simulation::memory`] does.
    fn memory(&self) -> MemoryReport {
        MemoryReport::default()
    }
    /// Returns the message for a value that became NaN.
    fn diverged(&self, step: u64) -> String {
        format!("v of neuron 17 is not a number at step {step}")
    }
}

/// Simulation that follows a script and injects faults.
pub struct Scripted<S> {
    /// Behaviour of the simulation.
    pub script: S,
    step: u64,
    taps: Vec<Tap>,
    is_lost: bool,
    /// Additional duration of each step.
    pub slow: Duration,
    /// Whether a step lasts until a stop is requested. The stop undoes the step.
    pub is_endless: bool,
    /// Step at which the device fails permanently.
    pub loses_device_at: u64,
    /// Step at which a value becomes NaN.
    pub diverges_at: u64,
    /// Step at which the simulation panics.
    pub panics_at: u64,
    /// Whether saved states are rejected.
    pub refuses_states: bool,
    /// Predicted size of a snapshot, bytes.
    pub snapshot_bytes: u64,
    /// Notices of the simulation.
    pub notices: Vec<String>,
}

impl<S: Script> Scripted<S> {
    /// Creates a simulation at step 0 without faults.
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
    fn digest(&self, _: u32) -> Digest {
        self.script.digest(self.step)
    }
    fn connectivity(&self) -> Option<Connectivity> {
        self.script.connectivity()
    }
    fn memory(&self) -> MemoryReport {
        self.script.memory()
    }
}
