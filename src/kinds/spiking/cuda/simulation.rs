//! Implements [`HostSim`] for this backend.

use super::{
    CudaSim, REACHED, WINDOWS,
    kernels::{LeakyKernels, VariantKernels},
    leaky, module, state,
};
use crate::{
    gpu::{KernelFacts, Pass},
    kinds::{
        shared::{
            field_readback::{Field, FieldReadback, ReadsFields},
            host_sim::HostSim,
        },
        spiking::{
            constants::Real,
            cpu::neuron::Neuron,
            general::present::PresentWeights,
            host_state::{Edit, HostState},
            probes, requests,
            saved_state::SavedNeuron,
        },
    },
    params::Change,
    sim::{
        Action, Answer, Buffers as _, Effect, Execution, MemoryReport, ProbeId, Progress, Reading, Request, SimError,
        Snapshot, Tap,
    },
};

impl<T: Real> HostSim for CudaSim<T> {
    type Host = HostState<T>;

    fn host(&self) -> &Self::Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Self::Host {
        &mut self.host
    }

    fn apply_change(&mut self, change: &Change) -> Result<Effect, SimError> {
        match self.host.edit(change)? {
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            edit => self.neurons.apply_edit(&mut self.memory, &self.kernels, &mut self.host, edit)?,
        }
        if self.memory.upload_decay(&self.host.measurements)? {
            self.clear_graphs();
        }
        Ok(Effect::Applied)
    }

    fn perform(&mut self, action: &Action) -> Result<(), SimError> {
        self.host.act(action).map(drop)
    }

    fn select_taps(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        let before = self.host.measurements.traced.clone();
        self.host.tap(taps)?;
        if self.host.measurements.traced != before {
            self.memory.set_traced(&self.host.measurements.traced)?;
            self.clear_graphs();
        }
        let mut model = self.memory.model.value();
        model.counts_active = u32::from(taps.iter().any(|t| t.probe == probes::ACTIVE));
        Ok(self.memory.model.set(model)?)
    }

    fn take_steps(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.run(steps, pass)
    }

    fn read_fields(&mut self, probes: &[ProbeId], may_lag: bool) -> Result<Vec<Reading>, SimError> {
        let fields = self.read_copied(probes.to_vec(), may_lag)?;
        Ok(fields.into_iter().map(|(_, field)| field).collect())
    }

    fn answer(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        requests::answer(&self.host.setup, &PresentWeights::default(), request, progress)
    }

    fn write_state(&mut self) -> Result<Snapshot, SimError> {
        self.download_rates()?;
        self.neurons.save(&self.host, &self.memory, &self.queue)
    }

    fn read_state(&mut self, from: &Snapshot) -> Result<(), SimError> {
        self.neurons.load(&mut self.host, &mut self.memory, &mut self.queue, from)?;
        self.manual.clear();
        Ok(self.memory.upload_rates(&self.host.measurements.running)?)
    }

    fn return_to_start(&mut self) -> Result<(), SimError> {
        self.host.rewind();
        self.queue.restart(None);
        self.manual.clear();
        self.memory.clear()?;
        Ok(self.write_start()?)
    }

    fn reseed(&mut self, seed: u64) -> Result<bool, SimError> {
        self.host.reseed(seed)?;
        let mut model = self.memory.model.value();
        model.seed = seed;
        self.memory.model.set(model)?;
        if self.neurons.spec().captures_seed {
            self.clear_graphs();
        }
        Ok(true)
    }

    fn kernel_facts(&self) -> Vec<KernelFacts> {
        let modules = [module::<T>(), LeakyKernels::SPEC, VariantKernels::SPEC].map(|module| module.id());
        let mine = |k: &KernelFacts| modules.contains(&k.module());
        self.gpu.kernel_facts().into_iter().filter(mine).collect()
    }

    fn executes_on(&self) -> Execution {
        let step = match self.persistent {
            _ if self.reached.is_some() => REACHED,
            Some(_) => "persistent",
            None => WINDOWS,
        };
        Execution::cuda(&self.gpu).with([("step", step)])
    }

    fn held_memory(&self) -> MemoryReport {
        let mut report = MemoryReport::default();
        self.memory.network.report(&mut report);
        self.memory.report(&mut report);
        self.neurons.report(&mut report);
        self.queue.report(&mut report);
        if let Some(Some(variants)) = &self.variants {
            variants.report(&mut report);
        }
        report.host("measurements", self.host.measurements.n_bytes());
        report.host("names and positions", self.host.setup.neurons.n_bytes());
        report
    }
}

impl<T: Real> ReadsFields for CudaSim<T> {
    fn readback(&mut self) -> &mut FieldReadback {
        &mut self.readback
    }

    fn completed(&self) -> u64 {
        self.host.step
    }

    fn start_fields(&mut self, probes: &[ProbeId]) -> Result<(), SimError> {
        if probes.iter().any(|p| matches!(*p, probes::LAST_SPIKE | probes::RATE_FIELD)) {
            self.memory.start_rates()?;
        }
        if probes.contains(&probes::V_FIELD) {
            self.neurons.start_potentials(&mut self.memory, &self.kernels, self.host.step as u32)?;
        }
        Ok(())
    }

    fn finish_fields(&mut self, probes: &[ProbeId], step: u64) -> Result<Vec<Field>, SimError> {
        if probes.iter().any(|p| matches!(*p, probes::LAST_SPIKE | probes::RATE_FIELD)) {
            self.memory.finish_rates(&mut self.host.measurements.running)?;
        }
        let values = |probe: &ProbeId| -> Result<Field, SimError> {
            let values = match *probe {
                probes::LAST_SPIKE => self.host.measurements.since_last_spikes(step),
                probes::RATE_FIELD => self.host.measurements.running_rates(step),
                _ => self.neurons.finish_potentials(&self.memory)?,
            };
            Ok((*probe, Reading::field(values)))
        };
        probes.iter().map(values).collect()
    }
}

impl<T: Real> CudaSim<T> {
    /// Returns the exact u and g of every LIF neuron, mV, for tests and comparisons of backends. Fails if the device
    /// fails.
    pub fn states(&mut self) -> Result<Vec<(f64, f64)>, SimError> {
        let saved = state::neurons(&self.host, &self.memory)?;
        let constants = &self.host.constants;
        let now = self.host.step as u32;
        let currents = state::currents(&self.memory)?;
        let of = |(neuron, current): (SavedNeuron<T>, T)| {
            let mut neuron =
                Neuron { u: neuron.u, g: neuron.g, anchor: neuron.anchor, flags: neuron.marks, ..Neuron::default() };
            let (u, g) = neuron.state_at(now, current, constants);
            (u.wide(), g.wide())
        };
        let none = vec![T::ZERO; saved.len()];
        let currents = if currents.is_empty() { none } else { currents };
        Ok(saved.into_iter().zip(currents).map(of).collect())
    }

    /// Returns the potential v of every noisy leaky unit. Fails if the device fails.
    pub fn leaky_potentials(&self) -> Result<Vec<f32>, SimError> {
        leaky::potentials(&self.memory)
    }

    /// Downloads the running rates from the device.
    fn download_rates(&mut self) -> Result<(), SimError> {
        self.memory.start_rates()?;
        Ok(self.memory.finish_rates(&mut self.host.measurements.running)?)
    }
}
