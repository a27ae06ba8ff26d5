//! The promises of [`Simulation`].

use super::{
    CudaSim,
    kernels::{UnitKernels, WayKernels},
    module, state, units,
};
use crate::{
    gpu::{KernelFacts, Pass},
    kinds::spiking::{
        desk::Edit,
        layout::Real,
        probes::{self, LEAKY_PROBES, PROBES},
    },
    params::Change,
    sim::{
        Action, Clock, Connectivity, Digest, Effect, ElementSet, Frame, ProbeId, ProbeSpec, Reading, SimError,
        Simulation, Tap,
    },
};
use std::sync::Arc;

impl<T: Real> Simulation for CudaSim<T> {
    fn probes(&self) -> &'static [ProbeSpec] {
        if self.memory.units.is_some() { LEAKY_PROBES } else { PROBES }
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
            Edit::Neurons { .. } if self.memory.units.is_some() => {} // of the other model
            Edit::Neurons { shift, .. } => {
                // The old constants are still on the device.
                self.memory.rebase(&self.kernels, self.desk.step as u32, shift.wide())?;
                self.upload_constants()?;
                self.desk.stale = true; // the bounds on crossings are made anew
            }
        }
        if let Some(units) = &mut self.memory.units {
            units.derive(&self.desk.params)?;
        }
        if self.memory.fade(&self.desk.meter)? {
            self.forget_graphs();
        }
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        self.desk.act(action)
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        let before = self.desk.meter.traced.clone();
        self.desk.meter.tap(taps, self.desk.step)?;
        if self.desk.meter.traced != before {
            self.memory.follow(&self.desk.meter.traced)?;
            self.forget_graphs();
        }
        let mut model = self.memory.model.value();
        model.counts_active = u32::from(taps.iter().any(|t| t.probe == probes::ACTIVE));
        Ok(self.memory.model.set(model)?)
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.run(steps, pass)
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        let wanted = |probe: &ProbeId| frame.wants(PROBES[usize::from(*probe)].shape);
        let wanted: Vec<ProbeId> = self.desk.meter.taps().filter(wanted).collect();
        if wanted.iter().any(|p| matches!(*p, probes::LAST_SPIKE | probes::RATE_FIELD)) {
            self.fetch_averages()?;
        }
        for probe in wanted {
            let reading = match probe {
                probes::SPIKES => Reading::Spikes(self.desk.meter.take_spikes(std::mem::take(&mut frame.spare))),
                probes::LAST_SPIKE => Reading::Field(self.last_spikes()),
                probes::RATE_FIELD => Reading::Field(self.desk.meter.running_rates(self.desk.step)),
                probes::V_FIELD if self.memory.units.is_some() => Reading::Field(self.unit_potentials()?),
                probes::V_FIELD => {
                    let now = self.desk.step as u32;
                    Reading::Field(self.memory.potentials(&self.kernels, now, &mut Pass::default())?)
                }
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
        self.fetch_averages()?;
        if self.memory.units.is_some() { self.save_units() } else { state::write(self) }
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        if self.memory.units.is_some() {
            self.load_units(bytes)?
        } else {
            state::read(self, bytes)?
        }
        Ok(self.memory.set_running(&self.desk.meter.running)?)
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.desk.rewind();
        self.queue.restart(None);
        self.hand.clear();
        self.memory.clear()?;
        if self.memory.units.is_some() {
            self.memory.states.write_at(0, &units::start(self.desk.context.seed, self.desk.setup.n()))?;
        }
        Ok(())
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        let files = [module::<T>(), UnitKernels::SPEC, WayKernels::SPEC].map(|module| module.file);
        let mine = |k: &KernelFacts| files.contains(&k.file);
        self.gpu.kernel_facts().into_iter().filter(mine).collect()
    }

    fn digest(&self) -> Digest {
        self.desk.meter.digest()
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        let mut owners = self.memory.bytes();
        if let Some(Some(ways)) = &self.ways {
            owners.push(("ways to deliver", ways.n_bytes()));
        }
        owners.push(("measurements", self.desk.meter.n_bytes()));
        owners.push(("names and places", self.desk.setup.neurons.n_bytes()));
        owners
    }
}

impl<T: Real> CudaSim<T> {
    /// Running rates as the device has them, for whoever looks at those of the meter.
    fn fetch_averages(&mut self) -> Result<(), SimError> {
        Ok(self.memory.running(&mut self.desk.meter.running)?)
    }

    /// Milliseconds since each neuron's last spike, -1 for never.
    fn last_spikes(&self) -> Vec<f32> {
        let now = (self.desk.step as u32).wrapping_sub(1);
        let dt = self.desk.params.dt_ms();
        let running = self.desk.meter.running.iter();
        running.map(|r| if r.hz > 0.0 { (f64::from(now.wrapping_sub(r.step)) * dt) as f32 } else { -1.0 }).collect()
    }
}
