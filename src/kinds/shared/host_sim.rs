//! Simulates kinds whose backends share the state on the host: parameters, measurements and the clock. A backend implements
//! [`HostSim`], from which this file derives a [`Simulation`].

use crate::{
    gpu::{KernelFacts, Pass},
    params::{Change, Params},
    sim::{
        Action, ActionSpec, Answer, Clock, Connectivity, Digest, Effect, ElementSet, Execution, Frame, Individuals,
        InputData, MemoryReport, ProbeId, ProbeSpec, Progress, Reading, Request, Shape, SimError, Simulation, Snapshot,
        StepCount, Tap, TapKey,
    },
};
use std::sync::Arc;

/// Backend-independent state of a simulation.
pub trait Host {
    /// Actions declared by the kind.
    const ACTIONS: &'static [ActionSpec];
    /// Returns the probes declared by the kind.
    fn probes(&self) -> &'static [ProbeSpec];
    /// Returns the names of the lanes of a series.
    fn lanes(&self, probe: ProbeId) -> Vec<String>;
    /// Returns the values of each argument of a probe.
    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        let _ = probe;
        vec![]
    }
    /// Returns the element sets of the simulation.
    fn sets(&self) -> &[Arc<ElementSet>];
    /// Returns the connections among the elements; `None` if there are none.
    fn connectivity(&self) -> Option<Connectivity> {
        None
    }
    fn clock(&self) -> Clock;
    fn params(&self) -> &dyn Params;
    /// Returns the tapped probes without arguments, in the order of their declaration.
    fn taps(&self) -> Vec<ProbeId>;
    /// Returns the keys of the taps of probes with arguments, all of them states, which [`HostSim::read_state_of`] reads.
    fn taps_with_arguments(&self) -> Vec<TapKey> {
        vec![]
    }
    /// Takes the samples of a tapped probe, other than a field, since the last call; `None` if the probe has no samples.
    fn take(&mut self, probe: ProbeId, frame: &mut Frame) -> Option<Reading>;
    /// Returns the hash and totals since the start.
    fn digest(&self) -> Digest;
}

/// A backend of a simulation whose host state is a [`Host`]. Every method has the contract of the method of [`Simulation`] that
/// calls it.
pub trait HostSim: Send {
    /// Type of the state that the backends share.
    type Host: Host;
    /// Returns the state that the backends share.
    fn host(&self) -> &Self::Host;
    /// Returns the state that the backends share, mutable.
    fn host_mut(&mut self) -> &mut Self::Host;
    /// Applies a parameter change.
    fn apply_change(&mut self, change: &Change) -> Result<Effect, SimError>;
    /// Replaces input files.
    fn replace_data(&mut self, data: &InputData) -> Result<Effect, SimError> {
        let _ = data;
        Ok(Effect::NeedsRebuild)
    }
    /// Performs an action.
    fn perform(&mut self, action: &Action) -> Result<(), SimError>;
    /// Selects the tapped probes.
    fn select_taps(&mut self, taps: &[Tap]) -> Result<(), SimError>;
    fn take_steps(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError>;
    /// Reads these fields; with `may_lag`, may return the fields of the previous call. Every reading calls this function, even
    /// without fields.
    fn read_fields(&mut self, probes: &[ProbeId], may_lag: bool) -> Result<Vec<Reading>, SimError>;
    /// Reads one of [`Host::taps_with_arguments`]; with `may_lag`, may return an earlier reading. Returns `None` if there is nothing
    /// to read.
    fn read_state_of(&mut self, key: &TapKey, may_lag: bool) -> Result<Option<Reading>, SimError> {
        let _ = (key, may_lag);
        Ok(None)
    }
    /// Returns the individuals in the slots of a set; `None` if the elements are not individuals.
    fn individuals_of(&self, set: &str) -> Option<Arc<Individuals>> {
        let _ = set;
        None
    }
    /// Answers a request.
    fn answer(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError>;
    /// Saves the state.
    fn write_state(&mut self) -> Result<Snapshot, SimError>;
    /// Loads a state.
    fn read_state(&mut self, from: &Snapshot) -> Result<(), SimError>;
    /// Returns the predicted bytes of a saved state; 0 if it is small.
    fn state_bytes(&self) -> u64 {
        0
    }
    /// Returns to step 0.
    fn return_to_start(&mut self) -> Result<(), SimError>;
    /// Sets the seed of all random draws, before a return to step 0. Returns false if this is not possible.
    fn reseed(&mut self, seed: u64) -> Result<bool, SimError> {
        let _ = seed;
        Ok(false)
    }
    /// Returns the counts of the work in the last step.
    fn step_counts(&self) -> Vec<StepCount> {
        vec![]
    }
    /// Returns the device, and the implementations chosen on it.
    fn executes_on(&self) -> Execution {
        Execution::cpu()
    }
    /// Returns the allocated memory, by buffer.
    fn held_memory(&self) -> MemoryReport;
    /// Returns the resources of the kernels.
    fn kernel_facts(&self) -> Vec<KernelFacts> {
        vec![]
    }
}

impl<S: HostSim> Simulation for S {
    fn probes(&self) -> &'static [ProbeSpec] {
        self.host().probes()
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        self.host().lanes(probe)
    }

    fn choices(&self, probe: ProbeId) -> Vec<Vec<String>> {
        self.host().choices(probe)
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        self.host().sets()
    }

    fn individuals(&self, set: &str) -> Option<Arc<Individuals>> {
        self.individuals_of(set)
    }

    fn actions(&self) -> &'static [ActionSpec] {
        S::Host::ACTIONS
    }

    fn clock(&self) -> Clock {
        self.host().clock()
    }

    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        self.apply_change(change)
    }

    fn replace(&mut self, data: &InputData) -> Result<Effect, SimError> {
        self.replace_data(data)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        self.perform(action)
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.select_taps(taps)
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.take_steps(steps, pass)
    }

    fn returns_early(&self) -> bool {
        false
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        let probes = self.host().probes();
        let mut wanted = self.host().taps();
        wanted.retain(|probe| frame.wants(probes[usize::from(*probe)].shape));
        let is_field = |probe: &ProbeId| matches!(probes[usize::from(*probe)].shape, Shape::Field { .. });
        let mut fields = vec![];
        if !frame.histories_only {
            let tapped: Vec<ProbeId> = wanted.iter().copied().filter(is_field).collect();
            fields = self.read_fields(&tapped, frame.may_lag)?;
        }
        let mut fields = fields.into_iter();
        for probe in wanted {
            let reading = if is_field(&probe) { fields.next() } else { self.host_mut().take(probe, frame) };
            frame.readings.extend(reading.map(|reading| (probe.into(), reading)));
        }
        if !frame.histories_only {
            for key in self.host().taps_with_arguments() {
                let reading = self.read_state_of(&key, frame.may_lag)?;
                frame.readings.extend(reading.map(|reading| (key, reading)));
            }
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Snapshot, SimError> {
        self.write_state()
    }

    fn load(&mut self, from: &Snapshot) -> Result<(), SimError> {
        self.read_state(from)
    }

    fn snapshot_bytes(&self) -> u64 {
        self.state_bytes()
    }

    fn ask(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        self.answer(request, progress)
    }

    fn params(&self) -> Option<&dyn Params> {
        Some(self.host().params())
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.return_to_start()
    }

    fn restart(&mut self, seed: u64) -> Result<bool, SimError> {
        if !self.reseed(seed)? {
            return Ok(false);
        }
        self.return_to_start()?;
        Ok(true)
    }

    fn counts(&self) -> Vec<StepCount> {
        self.step_counts()
    }

    fn digest(&self, _: u32) -> Digest {
        self.host().digest()
    }

    fn execution(&self) -> Execution {
        self.executes_on()
    }

    fn memory(&self) -> MemoryReport {
        self.held_memory()
    }

    fn connectivity(&self) -> Option<Connectivity> {
        self.host().connectivity()
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        self.kernel_facts()
    }
}
