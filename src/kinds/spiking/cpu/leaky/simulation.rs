//! Implements [`Simulation`].

use super::{
    LeakySim,
    partition::{NEVER, Partition},
    state,
};
use crate::{
    gpu::Pass,
    kinds::{
        shared::edit::{Edit, check_change},
        spiking::{
            actions::kick_weight,
            cpu::ring_buffer::RingBuffer,
            probes::{self, LEAKY_PROBES},
            requests,
            stimuli::StimulusPlan,
        },
    },
    params::{Change, Params},
    sim::{
        Action, Answer, BuildContext, Clock, Connectivity, Digest, Effect, ElementSet, Frame, MemoryReport, ProbeId,
        ProbeSpec, Progress, Reading, Request, SimError, Simulation, Snapshot, Tap,
    },
};
use std::sync::Arc;

impl Simulation for LeakySim {
    fn probes(&self) -> &'static [ProbeSpec] {
        LEAKY_PROBES
    }

    fn lanes(&self, probe: ProbeId) -> Vec<String> {
        if probe == probes::CLASS_RATES { self.measurements.class_names() } else { vec![] }
    }

    fn sets(&self) -> &[Arc<ElementSet>] {
        &self.sets
    }

    fn connectivity(&self) -> Option<Connectivity> {
        Some(self.setup.connectivity(self.params.dt_ms() * 1e-3))
    }

    fn clock(&self) -> Clock {
        Clock::seconds(self.step, self.params.dt_ms() * 1e-3)
    }

    fn params(&self) -> Option<&dyn Params> {
        Some(&self.params)
    }

    fn set(&mut self, change: &Change) -> Result<Effect, SimError> {
        let new = match check_change(&self.params, change)? {
            Edit::Same => return Ok(Effect::Applied),
            Edit::Rebuild => return Ok(Effect::NeedsRebuild),
            Edit::Live(new) => new,
        };
        if new.measure != self.params.measure {
            if new.measure.group_by != self.params.measure.group_by {
                self.measurements.check_column(&new.measure.group_by)?;
            }
            self.measurements.configure(&new.measure, self.step);
        }
        if new.stimuli_differ_from(&self.params) {
            self.plan = StimulusPlan::new(&new, &self.setup, &self.context)?;
            self.stimuli_changed = true;
        }
        self.constants = new.leaky.derive(self.mean_count);
        self.params = *new;
        Ok(Effect::Applied)
    }

    fn act(&mut self, action: &Action) -> Result<(), SimError> {
        let weight = kick_weight(action, self.setup.n())? as f32;
        self.manual_kicks.extend(action.elements.iter().map(|i| (*i, weight)));
        Ok(())
    }

    fn tap(&mut self, taps: &[Tap]) -> Result<(), SimError> {
        self.measurements.tap(taps, self.step)?;
        for partition in &mut self.partitions {
            let range = partition.range();
            let mine = self.measurements.traced.iter().filter(|i| range.contains(i));
            partition.traced = mine.map(|i| i - range.start).collect();
        }
        Ok(())
    }

    fn advance(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        self.run(steps, pass)
    }

    fn sample(&mut self, frame: &mut Frame) -> Result<(), SimError> {
        for probe in self.measurements.taps() {
            if !frame.wants(LEAKY_PROBES[usize::from(probe)].shape) {
                continue;
            }
            let reading = match probe {
                probes::SPIKES => Reading::Spikes(self.measurements.take_spikes(std::mem::take(&mut frame.spare))),
                probes::LAST_SPIKE => Reading::field(self.last_spikes()),
                probes::RATE_FIELD => Reading::field(self.measurements.running_rates(self.step)),
                probes::V_FIELD => Reading::field(self.states()),
                _ => match self.measurements.take_series(probe) {
                    Some(series) => Reading::Series(series),
                    None => continue,
                },
            };
            frame.push(probe, reading);
        }
        Ok(())
    }

    fn ask(&self, request: &Request, progress: &Progress) -> Result<Answer, SimError> {
        requests::answer(&self.setup, request, progress)
    }

    fn save(&mut self) -> Result<Snapshot, SimError> {
        Ok(state::write(self))
    }

    fn load(&mut self, from: &Snapshot) -> Result<(), SimError> {
        state::read(self, from)
    }

    fn rewind(&mut self) -> Result<(), SimError> {
        self.step = 0;
        self.manual_kicks.clear();
        self.partitions.iter_mut().for_each(|partition| partition.rewind(self.context.seed));
        self.rings.iter_mut().for_each(RingBuffer::clear);
        self.measurements.rewind();
        self.stimuli_changed = true;
        Ok(())
    }

    fn restart(&mut self, seed: u64) -> Result<bool, SimError> {
        let context = BuildContext { seed, ..self.context.clone() };
        self.plan = StimulusPlan::new(&self.params, &self.setup, &context)?;
        self.context = context;
        self.rewind()?;
        Ok(true)
    }

    fn digest(&self) -> Digest {
        self.measurements.digest()
    }

    fn memory(&self) -> MemoryReport {
        let (units, rest) = self.partitions.iter().map(Partition::n_bytes).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        [
            ("connectivity", self.setup.connectivity.n_bytes() + self.partitioning.n_bytes()),
            ("neurons", units),
            ("arrivals and noise", rest),
            ("spikes in flight", self.rings.iter().map(RingBuffer::n_bytes).sum()),
            ("measurements", self.measurements.n_bytes()),
            ("names and positions", self.setup.neurons.n_bytes()),
        ]
        .into()
    }
}

impl LeakySim {
    /// Milliseconds since each unit's last spike, -1 for never.
    fn last_spikes(&self) -> Vec<f32> {
        let dt = self.params.dt_ms();
        let age = |last: &u64| match *last {
            NEVER => -1.0,
            last => ((self.step - 1 - last) as f64 * dt) as f32,
        };
        self.partitions.iter().flat_map(|p| p.last_spike.iter().map(age)).collect()
    }

    /// v of every unit, in units of the threshold.
    pub fn states(&self) -> Vec<f32> {
        self.partitions.iter().flat_map(|p| p.potentials().iter().copied()).collect()
    }
}
