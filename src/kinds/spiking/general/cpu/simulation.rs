//! Implements [`HostSim`] for this backend.

use super::{
    GeneralSim,
    partition::{self, NEVER},
};
use crate::{
    gpu::Pass,
    kinds::{
        shared::host_sim::HostSim,
        spiking::{
            cpu::ring_buffer::RingBuffer,
            general::{
                edit,
                plasticity::{
                    laws::Rule,
                    present::{self as synapses, StoredSynapse, SynapsePlace},
                },
                present::PresentWeights,
                saved,
            },
            host_state::{Edit, HostState},
            probes, requests,
        },
    },
    params::Change,
    sim::{Action, Answer, Effect, MemoryReport, ProbeId, Progress, Reading, Request, SimError, Snapshot, Tap, TapKey},
};

impl HostSim for GeneralSim {
    type Host = HostState<f32>;

    fn host(&self) -> &Self::Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Self::Host {
        &mut self.host
    }

    fn apply_change(&mut self, change: &Change) -> Result<Effect, SimError> {
        let Some(plan) = edit::plan_after(&self.host.params, &self.plan, change)? else {
            return Ok(Effect::NeedsRebuild);
        };
        if matches!(self.host.edit(change)?, Edit::Rebuild) {
            return Ok(Effect::NeedsRebuild);
        }
        self.replace_plan(plan);
        self.host.stimuli_changed = true;
        Ok(Effect::Applied)
    }

    fn perform(&mut self, action: &Action) -> Result<(), SimError> {
        if let Some(edit) = self.host.act(action)? {
            self.change_weights(&edit);
        }
        Ok(())
    }

    fn select_taps(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.host.tap(taps)?;
        for partition in &mut self.partitions {
            let range = partition.range();
            let mine = self.host.measurements.traced.iter().filter(|i| range.contains(i));
            partition.traced = mine.copied().collect();
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

    fn read_state_of(&mut self, key: &TapKey, may_lag: bool) -> Result<Option<Reading>, SimError> {
        let step = self.host.step;
        if let Some(recent) = self.host.matrices.recent(key, step).filter(|_| may_lag) {
            return Ok(Some(recent));
        }
        self.bring_up_to_date();
        let (plan, partitions) = (&self.plan, &self.partitions);
        let plastic = |i: usize| partition::plastic(plan, &self.connections, &self.rules, i);
        self.host.matrices.read(key, step, plan, |sums| {
            for (i, part) in partitions.iter().flat_map(|p| p.plastic.iter().enumerate()) {
                let Some((part, of)) = part.as_ref().zip(plastic(i)).filter(|_| sums.includes(i)) else { continue };
                let [from, to] = [plan.projections[i].from, plan.projections[i].to].map(|p| plan.populations[p].first);
                part.each_weight(of, |source, target, weight| sums.add(from + source, to + target, weight));
            }
            Ok(())
        })
    }

    fn answer(&mut self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        self.bring_up_to_date();
        if let Some(ends) = requests::synapse_ends(&self.host.setup, request)? {
            let of = (self.host.setup.rules()?, &self.plan);
            let states = synapses::states(of, ends, self.host.step, |place| Ok(self.stored(place)))?;
            return Ok(requests::synapse_answer(&self.host.params, &states));
        }
        let is_wanted = |neuron| requests::uses_row(request, neuron);
        let row = |i: usize, source: u32| Ok(self.plastic_row(i, source as usize));
        let present = PresentWeights::read(&self.plan, is_wanted, progress, row)?;
        requests::answer(&self.host.setup, &present, request, progress)
    }

    fn write_state(&mut self) -> Result<Snapshot, SimError> {
        self.bring_up_to_date();
        Ok(saved::write(self))
    }

    fn read_state(&mut self, from: &Snapshot) -> Result<(), SimError> {
        saved::read(self, from)
    }

    fn return_to_start(&mut self) -> Result<(), SimError> {
        self.host.rewind();
        self.rings.iter_mut().for_each(RingBuffer::clear);
        self.start();
        Ok(())
    }

    fn reseed(&mut self, seed: u64) -> Result<bool, SimError> {
        self.host.reseed(seed)?;
        Ok(true)
    }

    fn held_memory(&self) -> MemoryReport {
        let parts = self.partitions.iter().map(super::partition::Partition::n_bytes);
        let (neurons, arrivals) = parts.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let plastic = self.partitions.iter().flat_map(|partition| partition.plastic.iter().flatten());
        let synapses: u64 = plastic.map(super::super::plasticity::part::Part::n_bytes).sum();
        let plasticity = synapses + self.rules.iter().flatten().map(Rule::n_bytes).sum::<u64>();
        let mut report: MemoryReport = [
            ("connectivity", self.connections.n_bytes()),
            ("neurons", neurons + 4 * self.coefficients.values.capacity() as u64),
            ("arrivals and input", arrivals),
            ("spikes in flight", self.rings.iter().map(RingBuffer::n_bytes).sum()),
            ("measurements", self.host.measurements.n_bytes()),
            ("names and positions", self.host.setup.neurons.n_bytes()),
        ]
        .into();
        if plasticity > 0 {
            report.host("plasticity", plasticity);
        }
        report
    }
}

impl GeneralSim {
    /// Returns the weights of a row of a plastic projection.
    fn plastic_row(&self, projection: usize, source: usize) -> Vec<f32> {
        let parts = self.partitions.iter().filter_map(|partition| partition.plastic[projection].as_ref());
        parts.flat_map(|part| &part.weights[part.own(source)]).copied().collect()
    }

    /// Returns the stored values of a plastic synapse.
    pub(super) fn stored(
        &self,
        SynapsePlace { projection, source, number, target, .. }: SynapsePlace,
    ) -> StoredSynapse {
        let parts = || self.partitions.iter().filter_map(|partition| partition.plastic[projection].as_ref());
        let source = source as usize;
        let eligibility = parts().filter(|part| !part.eligibility.is_empty());
        let mut eligibility = eligibility.flat_map(|part| &part.eligibility[part.own(source)]);
        let spikes = parts().find(|part| part.neurons().contains(&(target as usize)));
        StoredSynapse {
            weight: self.plastic_row(projection, source).get(number).copied().unwrap_or_default(),
            eligibility: eligibility.nth(number).copied().unwrap_or_default(),
            row: parts().next().map_or_else(Default::default, |part| part.rows[source]),
            spikes: spikes.map_or_else(Vec::new, |part| part.spikes_of(target)),
        }
    }

    /// Returns the time since each neuron's last spike, ms; -1 for never.
    fn last_spikes(&self) -> Vec<f32> {
        let (now, dt) = (self.host.step, self.plan.dt_ms);
        let age = |last: u64| if last == NEVER { -1.0 } else { ((now - 1 - last) as f64 * dt) as f32 };
        self.each_neuron(|partition, _, at| age(partition.last_spike[at]))
    }

    /// Returns the potential of every neuron, mV.
    pub fn potentials(&self) -> Vec<f32> {
        self.each_neuron(|partition, segment, at| partition.potential(segment, at, &self.coefficients))
    }

    /// Evaluates a function of partition, segment and index in the arrays for every neuron.
    pub(in crate::kinds::spiking::general) fn each_neuron<T>(
        &self,
        of: impl Fn(&super::partition::Partition, &super::partition::Segment, usize) -> T,
    ) -> Vec<T> {
        let mut all = Vec::with_capacity(self.plan.n as usize);
        for partition in &self.partitions {
            for segment in &partition.segments {
                all.extend((0..segment.neurons.len()).map(|i| of(partition, segment, segment.at + i)));
            }
        }
        all
    }
}
