//! Implements [`HostSim`] for this backend.

use super::{CpuSim, state};
use crate::{
    gpu::Pass,
    kinds::{
        shared::host_sim::HostSim,
        spiking::{
            constants::Real,
            general::present::PresentWeights,
            host_state::{Edit, HostState},
            probes, requests,
            saved_state::mark::FIRED,
        },
    },
    params::Change,
    sim::{Action, Answer, Effect, MemoryReport, ProbeId, Progress, Reading, Request, SimError, Snapshot, Tap},
};

impl<T: Real> HostSim for CpuSim<T> {
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
            Edit::Applied => {}
            Edit::Neurons { were, shift } => {
                for partition in &mut self.partitions {
                    partition.store.reanchor(self.host.step as u32, shift, &were);
                }
                self.reschedule_all();
            }
        }
        Ok(Effect::Applied)
    }

    fn perform(&mut self, action: &Action) -> Result<(), SimError> {
        self.host.act(action).map(drop)
    }

    fn select_taps(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.host.tap(taps)?;
        for partition in &mut self.partitions {
            let range = partition.range();
            let mine = self.host.measurements.traced.iter().filter(|i| range.contains(i));
            partition.traced = mine.map(|i| i - range.start).collect();
        }
        Ok(())
    }

    fn take_steps(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.run(steps, pass)
    }

    fn read_fields(&mut self, probes: &[ProbeId], _: bool) -> Result<Vec<Reading>, SimError> {
        let field = |probe: &ProbeId| match *probe {
            probes::LAST_SPIKE => self.last_spikes(),
            probes::RATE_FIELD => self.host.measurements.running_rates(self.host.step),
            _ => self.potentials(),
        };
        Ok(probes.iter().map(field).map(Reading::field).collect())
    }

    fn answer(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        requests::answer(&self.host.setup, &PresentWeights::default(), request, progress)
    }

    fn write_state(&mut self) -> Result<Snapshot, SimError> {
        Ok(state::write(self))
    }

    fn read_state(&mut self, from: &Snapshot) -> Result<(), SimError> {
        state::read(self, from)
    }

    fn return_to_start(&mut self) -> Result<(), SimError> {
        self.host.rewind();
        self.partitions.iter_mut().for_each(super::partition::Partition::rewind);
        self.rings.iter_mut().for_each(super::ring_buffer::RingBuffer::clear);
        self.start();
        Ok(())
    }

    fn reseed(&mut self, seed: u64) -> Result<bool, SimError> {
        self.host.reseed(seed)?;
        Ok(true)
    }

    fn held_memory(&self) -> MemoryReport {
        let connectivity = self.host.setup.connectivity.n_bytes() + self.partitioning.n_bytes();
        let mut report = MemoryReport::from([("connectivity", connectivity)]);
        self.partitions.iter().for_each(|partition| partition.report(&mut report));
        report += MemoryReport::from([
            ("spikes in flight", self.rings.iter().map(super::ring_buffer::RingBuffer::n_bytes).sum()),
            ("measurements", self.host.measurements.n_bytes()),
            ("names and positions", self.host.setup.neurons.n_bytes()),
        ]);
        report
    }
}

impl<T: Real> CpuSim<T> {
    /// Returns the time since each neuron's last spike, ms; -1 for never.
    fn last_spikes(&self) -> Vec<f32> {
        let now = (self.host.step as u32).wrapping_sub(1);
        let dt = self.host.params.lif.dt;
        let age = |n: &super::neuron::Neuron<T>| {
            if n.is(FIRED) { (f64::from(now.wrapping_sub(n.last_spike)) * dt) as f32 } else { -1.0 }
        };
        self.partitions.iter().flat_map(|p| p.store.neurons.iter().map(age)).collect()
    }

    /// Returns the potential v of every neuron, mV.
    fn potentials(&self) -> Vec<f32> {
        let v = |u: T| (self.host.constants.v_rest + u.wide()) as f32;
        let of = |p: &super::partition::Partition<T>, i| {
            v(p.store.state_of(i, self.host.step as u32, &self.host.constants).0)
        };
        self.partitions.iter().flat_map(|p| (0..p.store.neurons.len()).map(move |i| of(p, i))).collect()
    }

    /// Returns the exact u and g of every neuron, mV, for tests and comparisons of backends.
    pub fn states(&self) -> Vec<(f64, f64)> {
        let of = |p: &super::partition::Partition<T>, i| {
            let (u, g) = p.store.state_of(i, self.host.step as u32, &self.host.constants);
            (u.wide(), g.wide())
        };
        self.partitions.iter().flat_map(|p| (0..p.store.neurons.len()).map(move |i| of(p, i))).collect()
    }
}
