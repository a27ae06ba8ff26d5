//! Implements [`HostSim`] for this backend.

use super::{
    LeakySim,
    partition::{NEVER, Partition},
    state,
};
use crate::{
    gpu::Pass,
    kinds::{
        shared::host_sim::HostSim,
        spiking::{
            cpu::ring_buffer::RingBuffer,
            general::present::PresentWeights,
            host_state::{Edit, HostState},
            probes, requests,
        },
    },
    params::Change,
    sim::{Action, Answer, Effect, MemoryReport, ProbeId, Progress, Reading, Request, SimError, Snapshot, Tap},
};

impl HostSim for LeakySim {
    type Host = HostState<f32>;

    fn host(&self) -> &Self::Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Self::Host {
        &mut self.host
    }

    fn apply_change(&mut self, change: &Change) -> Result<Effect, SimError> {
        if matches!(self.host.edit(change)?, Edit::Rebuild) {
            return Ok(Effect::NeedsRebuild);
        }
        self.constants = self.host.params.leaky.derive(self.mean_count);
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
            _ => self.states(),
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
        let seed = self.host.context.seed;
        self.partitions.iter_mut().for_each(|partition| partition.rewind(seed));
        self.rings.iter_mut().for_each(RingBuffer::clear);
        Ok(())
    }

    fn reseed(&mut self, seed: u64) -> Result<bool, SimError> {
        self.host.reseed(seed)?;
        Ok(true)
    }

    fn held_memory(&self) -> MemoryReport {
        let (units, rest) = self.partitions.iter().map(Partition::n_bytes).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        [
            ("connectivity", self.host.setup.connectivity.n_bytes() + self.partitioning.n_bytes()),
            ("neurons", units),
            ("arrivals and noise", rest),
            ("spikes in flight", self.rings.iter().map(RingBuffer::n_bytes).sum()),
            ("measurements", self.host.measurements.n_bytes()),
            ("names and positions", self.host.setup.neurons.n_bytes()),
        ]
        .into()
    }
}

impl LeakySim {
    /// Returns the time since each unit's last spike, ms; -1 for never.
    fn last_spikes(&self) -> Vec<f32> {
        let dt = self.host.params.dt_ms();
        let age = |last: &u64| match *last {
            NEVER => -1.0,
            last => ((self.host.step - 1 - last) as f64 * dt) as f32,
        };
        self.partitions.iter().flat_map(|p| p.last_spike.iter().map(age)).collect()
    }

    /// Returns the potential v of every unit, in units of the threshold.
    pub fn states(&self) -> Vec<f32> {
        self.partitions.iter().flat_map(|p| p.potentials().iter().copied()).collect()
    }
}
