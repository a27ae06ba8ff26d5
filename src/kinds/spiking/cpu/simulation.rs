//! The promises of [`Simulation`].

use super::{CpuSim, neuron::FIRED, state};
use crate::{
    gpu::Pass,
    kinds::spiking::{
        desk::Edit,
        layout::Real,
        probes::{self, PROBES},
    },
    params::Change,
    sim::{
        Action, Clock, Connectivity, Digest, Effect, ElementSet, Frame, ProbeId, ProbeSpec, Reading, SimError,
        Simulation, Tap,
    },
};
use std::sync::Arc;

impl<T: Real> Simulation for CpuSim<T> {
    fn probes(&self) -> &'static [ProbeSpec] {
        PROBES
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        self.desk.lanes(probe)
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.desk.sets
    }

    fn connectivity(&self) -> Option<Connectivity> {
        Some(self.desk.connectivity())
    }

    fn clock(&self) -> Clock {
        self.desk.clock()
    }

    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        match self.desk.edit(change)? {
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            Edit::Applied => {}
            Edit::Neurons { were, shift } => {
                for part in &mut self.parts {
                    part.cells.rebase(self.desk.step as u32, shift, &were);
                }
                self.refile();
            }
        }
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        self.desk.act(action)
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.desk.meter.tap(taps, self.desk.step)?;
        for part in &mut self.parts {
            let range = part.range();
            let mine = self.desk.meter.traced.iter().filter(|i| range.contains(i));
            part.traced = mine.map(|i| i - range.start).collect();
        }
        Ok(())
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.run(steps, pass)
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for probe in self.desk.meter.taps() {
            if !frame.wants(PROBES[usize::from(probe)].shape) {
                continue;
            }
            let reading = match probe {
                probes::SPIKES => Reading::Spikes(self.desk.meter.take_spikes(std::mem::take(&mut frame.spare))),
                probes::LAST_SPIKE => Reading::Field(self.last_spikes()),
                probes::RATE_FIELD => Reading::Field(self.desk.meter.running_rates(self.desk.step)),
                probes::V_FIELD => Reading::Field(self.potentials()),
                _ => match self.desk.meter.take_series(probe) {
                    Some(series) => Reading::Series(series),
                    None => continue,
                },
            };
            frame.readings.push((probe, reading));
        }
        Ok(())
    }

    fn save(&mut self) -> Result<Vec<u8>, SimError> {
        Ok(state::write(self))
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        state::read(self, bytes)
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.desk.rewind();
        self.parts.iter_mut().for_each(super::part::Part::rewind);
        self.rings.iter_mut().for_each(super::ring::Ring::clear);
        self.refile();
        Ok(())
    }

    fn digest(&self) -> Digest {
        self.desk.meter.digest()
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        let (neurons, lists) =
            self.parts.iter().map(super::part::Part::n_bytes).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        vec![
            ("wiring", self.desk.setup.wiring.n_bytes() + self.split.n_bytes()),
            ("neurons", neurons),
            ("arrivals and calendar", lists),
            ("spikes in flight", self.rings.iter().map(super::ring::Ring::n_bytes).sum()),
            ("measurements", self.desk.meter.n_bytes()),
            ("names and places", self.desk.setup.neurons.n_bytes()),
        ]
    }
}

impl<T: Real> CpuSim<T> {
    /// Milliseconds since each neuron's last spike, -1 for never.
    fn last_spikes(&self) -> Vec<f32> {
        let now = (self.desk.step as u32).wrapping_sub(1);
        let dt = self.desk.params.lif.dt;
        let age = |n: &super::neuron::Neuron<T>| {
            if n.is(FIRED) { (f64::from(now.wrapping_sub(n.last_spike)) * dt) as f32 } else { -1.0 }
        };
        self.parts.iter().flat_map(|p| p.cells.neurons.iter().map(age)).collect()
    }

    /// v of every neuron, mV.
    fn potentials(&self) -> Vec<f32> {
        let v = |u: T| (self.desk.constants.v_rest + u.wide()) as f32;
        let of = |p: &super::part::Part<T>, i| v(p.cells.state_of(i, self.desk.step as u32, &self.desk.constants).0);
        self.parts.iter().flat_map(|p| (0..p.cells.neurons.len()).map(move |i| of(p, i))).collect()
    }

    /// u and g of every neuron, mV, exactly: for tests and comparisons of backends.
    pub fn states(&self) -> Vec<(f64, f64)> {
        let of = |p: &super::part::Part<T>, i| {
            let (u, g) = p.cells.state_of(i, self.desk.step as u32, &self.desk.constants);
            (u.wide(), g.wide())
        };
        self.parts.iter().flat_map(|p| (0..p.cells.neurons.len()).map(move |i| of(p, i))).collect()
    }
}
