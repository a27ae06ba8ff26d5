//! A contiguous range of neurons, in whole blocks of populations, and the work of one thread on it.

use super::{
    deliver::{Arrivals, Destination, part_of},
    step::{self, ARRAYS, LEFT, Outcome, Part, Synapses, U},
};
use crate::{
    gpu::{Follow, Pass},
    kinds::spiking::{
        cpu::{
            kicks::KickGenerator,
            ring_buffer::{RingBuffer, Slot},
        },
        general::{
            PointNeuron, RefractoryInput,
            coefficients::{Coefficients, index::REST},
            connections::Connections,
            plan::{BLOCK, Drive, Plan},
            plasticity::{laws::Rule, part},
        },
        stimuli::ActiveStimuli,
    },
    num::{
        hash::StreamHash,
        poisson::counts_of_steps,
        prefetch,
        rng::{Draw, Purpose},
        trains::address,
    },
    sim::NonFinite,
};
use std::ops::Range;

/// Value of `last_spike` of neurons that never spiked.
pub const NEVER: u64 = u64::MAX;

/// Inputs that all partitions share during a run of steps.
pub struct Shared<'a> {
    /// Plan of the network; its inputs are those of the current parameters.
    pub plan: &'a Plan,
    /// Connections of the network.
    pub connections: &'a Connections,
    /// Coefficients under the active stimuli.
    pub coefficients: &'a Coefficients,
    /// Rules of the plastic projections, by projection.
    pub rules: &'a [Option<Rule>],
    /// Seed of the draws.
    pub seed: u64,
    /// Stimuli that are active in these steps.
    pub stimuli: &'a ActiveStimuli<f32>,
    /// Ring buffers of recent spikes, by partition.
    pub rings: &'a [RingBuffer],
    /// First step of the run, and the manual kicks, which act in that step.
    pub manual_kicks: (u64, &'a [(u32, f32)]),
    /// Number of steps between samples of traced neurons.
    pub trace_every: u64,
    /// Timing settings of the batch.
    pub measure: Follow,
}

/// Part of a population in a partition.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Index of the population.
    pub population: usize,
    /// Neurons, by index in the population.
    pub neurons: Range<u32>,
    /// Index of the first neuron of the population among all neurons.
    base: u32,
    /// Index of the first neuron of the segment in the arrays of the partition.
    pub at: usize,
    synapses: Synapses,
    drops: bool,
}

/// Returns the population that modulates the third factor of a projection.
fn part_modulator(plan: &Plan, projection: usize) -> Option<usize> {
    plan.projections[projection].plasticity.as_ref().and_then(|of| of.modulator).map(|(population, _)| population)
}

impl<'a> Shared<'a> {
    /// Returns the number of spikes of a population in a step that the rings hold; 0 for `None`.
    fn spikes_of(&self, population: Option<usize>, step: u64) -> u32 {
        let Some(population) = population.map(|i| &self.plan.populations[i]) else { return 0 };
        let own = population.first..population.first + population.n;
        let of_ring = |ring: &RingBuffer| ring.read(step).spikes.iter().filter(|i| own.contains(i)).count();
        self.rings.iter().map(of_ring).sum::<usize>() as u32
    }

    /// Returns the inputs of updates of a plastic projection; `None` if it is static.
    fn plastic(&self, index: usize) -> Option<part::Projection<'a>> {
        plastic(self.plan, self.connections, self.rules, index)
    }
}

/// Returns the inputs of updates of a plastic projection; `None` if it is static.
pub fn plastic<'a>(
    plan: &Plan,
    connections: &'a Connections,
    rules: &'a [Option<Rule>],
    index: usize,
) -> Option<part::Projection<'a>> {
    let (of, rule) = (&plan.projections[index], rules[index].as_ref()?);
    let exponent = plan.populations[of.to].exponents[of.receptor];
    Some(part::Projection { index, rows: &connections.rows[index], rule, exponent })
}

impl Segment {
    /// Returns the neurons by index among all neurons.
    pub const fn range(&self) -> Range<u32> {
        self.base + self.neurons.start..self.base + self.neurons.end
    }

    fn padded(&self) -> usize {
        self.neurons.len().next_multiple_of(BLOCK as usize)
    }
}

/// Counts of a Poisson input for four steps.
#[derive(Default)]
struct Counts {
    group: Option<u64>,
    of: [Vec<i32>; 4],
}

/// Neurons of one thread, with its buffers.
pub struct Partition {
    index: usize,
    /// Parts of populations, in order.
    pub segments: Vec<Segment>,
    /// State arrays, padded to whole blocks.
    pub state: [Vec<f32>; ARRAYS],
    /// Sums of arrivals.
    pub arrivals: Arrivals,
    /// Step of each neuron's last spike, or [`NEVER`].
    pub last_spike: Vec<u64>,
    /// Plastic synapses onto the neurons, by projection; `None` for static projections and those to other partitions.
    pub plastic: Vec<Option<part::Part>>,
    /// Sum of the hashes of delivered plastic weights since it was last collected.
    pub delivered: StreamHash,
    /// Traced neurons, ascending, by index among all neurons.
    pub traced: Vec<u32>,
    /// Array indices of the neurons that receive no input.
    closed: Vec<usize>,
    counts: Vec<Counts>,
    kick_generator: KickGenerator,
    kicks: Vec<(u32, f32)>,
    /// Kicks by neuron; empty until there are any, and 0 between steps.
    kick_lanes: Vec<f32>,
    outcome: Outcome,
    /// First neuron with a non-finite potential; `None` if all are finite.
    pub non_finite: Option<NonFinite>,
    /// Timings of this thread since they were last collected.
    pub pass: Pass,
}

/// Divides the neurons of a plan into segments for at most `threads` partitions of about equal size.
pub fn divide(plan: &Plan, threads: usize) -> Vec<Vec<Segment>> {
    let blocks = plan.stride / BLOCK;
    let n = (threads as u32).clamp(1, blocks);
    let ends = (0..n).map(|i| {
        let edge = |i: u32| (u64::from(blocks) * u64::from(i) / u64::from(n)) as u32 * BLOCK;
        edge(i)..edge(i + 1)
    });
    ends.map(|range| segments(plan, &range)).collect()
}

/// Returns the segments of a range of state indices.
fn segments(plan: &Plan, range: &Range<u32>) -> Vec<Segment> {
    let mut at = 0;
    let mut segments = vec![];
    for (i, population) in plan.populations.iter().enumerate() {
        let own = population.state..population.state + population.n;
        let (from, to) = (own.start.max(range.start), own.end.min(range.end));
        if from >= to {
            continue;
        }
        let synapses = match population.model {
            PointNeuron::IafPscExp(_) | PointNeuron::Cuba(_) => Synapses::Exponential,
            PointNeuron::IafPscAlpha(_) => Synapses::Alpha,
            PointNeuron::IafPscDelta(_) => Synapses::Delta,
        };
        let drops = population.model.refractory_input() == RefractoryInput::Drop;
        let neurons = from - own.start..to - own.start;
        segments.push(Segment { population: i, neurons, base: population.first, at, synapses, drops });
        at += ((to - from) as usize).next_multiple_of(BLOCK as usize);
    }
    segments
}

impl Partition {
    /// Creates a partition with a state of 0.
    pub fn new(index: usize, segments: Vec<Segment>, plan: &Plan) -> Self {
        let len = segments.last().map_or(0, |s| s.at + s.padded());
        Self {
            index,
            state: std::array::from_fn(|_| vec![0.0; len]),
            arrivals: Arrivals::new(len, plan.slots),
            last_spike: vec![NEVER; len],
            plastic: vec![],
            delivered: StreamHash(0),
            traced: vec![],
            closed: vec![],
            counts: vec![],
            kick_generator: KickGenerator::default(),
            kicks: vec![],
            kick_lanes: vec![],
            outcome: Outcome::default(),
            non_finite: None,
            pass: Pass::default(),
            segments,
        }
    }

    /// Returns the neurons of the partition.
    pub fn range(&self) -> Range<u32> {
        let first = self.segments.first().map_or(0, |s| s.range().start);
        first..self.segments.last().map_or(first, |s| s.range().end)
    }

    /// Returns the segment of a neuron, and the index of the neuron in the arrays.
    pub fn place(&self, neuron: u32) -> (&Segment, usize) {
        let i = self.segments.partition_point(|s| s.range().end <= neuron).min(self.segments.len() - 1);
        let segment = &self.segments[i];
        (segment, segment.at + (neuron - segment.range().start) as usize)
    }

    /// Sets the state before step 0: potentials from their distribution, no spikes, all else 0.
    pub fn start(&mut self, start: impl Fn(usize, Draw) -> f32, seed: u64) {
        self.state.iter_mut().for_each(|array| array.fill(0.0));
        self.arrivals.sums.fill(0);
        self.last_spike.fill(NEVER);
        self.non_finite = None;
        for segment in &self.segments {
            for (i, lane) in segment.range().enumerate() {
                let at = Draw { seed, purpose: Purpose::Start, step: 0, lane };
                self.state[U][segment.at + i] = start(segment.population, at);
            }
        }
    }

    /// Creates the plastic synapses onto the neurons, without their start values.
    pub fn connect(&mut self, plan: &Plan, connections: &Connections, rules: &[Option<Rule>]) {
        let part = |i: usize| {
            let segment = self.segments.iter().find(|s| s.population == plan.projections[i].to)?;
            part::Part::new(plan, i, &connections.rows[i], rules[i].as_ref(), &segment.neurons)
        };
        self.plastic = (0..plan.projections.len()).map(part).collect();
    }

    /// Applies stimuli or parameters between two steps.
    pub fn apply(&mut self, stimuli: &ActiveStimuli<f32>) {
        self.kick_generator.forget();
        self.counts.clear();
        let is_closed = |i: &u32| stimuli.closed.get(*i as usize).copied().unwrap_or(false);
        self.closed = self.range().filter(is_closed).map(|i| self.place(i).1).collect();
    }

    /// Runs one step.
    pub fn run(&mut self, step: u64, shared: &Shared<'_>) {
        let mut pass = std::mem::take(&mut self.pass);
        pass.measure_as(shared.measure, self.index);
        let mut slot = shared.rings[self.index].write(step);
        let events = pass.span("deliver", 0, || self.deliver(step, shared));
        pass.span("drive", 0, || self.drive(step, shared));
        pass.span("integrate", 0, || self.integrate(step, shared, &mut slot.spikes));
        let neurons = self.range().len() as u32;
        if pass.profiled {
            for (name, items) in [("deliver", events), ("drive", self.kicks.len() as u32), ("integrate", neurons)] {
                pass.work(name, items.into(), 0);
            }
        }
        (slot.events, slot.active) = (events, neurons);
        pass.span("trace", self.traced.len() as u64, || self.trace(step + 1, shared, &mut slot));
        self.pass = pass;
    }

    /// Adds the spikes that arrive from this step on. Returns the number of synaptic events.
    fn deliver(&mut self, step: u64, shared: &Shared<'_>) -> u32 {
        let is_whole = shared.rings.len() == 1;
        let mut events = 0;
        for (index, (projection, rows)) in shared.plan.projections.iter().zip(&shared.connections.rows).enumerate() {
            let mut plastic = self.plastic[index].as_mut().zip(shared.plastic(index));
            if let Some((part, of)) = &mut plastic {
                let modulating = |sent: u64| shared.spikes_of(part_modulator(shared.plan, index), sent);
                part.before_step(step, *of, modulating);
            }
            let sent = step.checked_sub(projection.delay_min.into());
            let segment = self.segments.iter().find(|s| s.population == projection.to);
            let (Some(sent), Some(segment)) = (sent, segment) else { continue };
            let from = &shared.plan.populations[projection.from];
            let to = Destination {
                at: segment.at,
                first: segment.neurons.start,
                receptor: projection.receptor,
                has_delays: projection.delays > 1,
            };
            for ring in shared.rings {
                let slot = ring.read(sent);
                let first = slot.spikes.partition_point(|i| *i < from.first);
                let spikes = &slot.spikes[first..];
                let spikes = &spikes[..spikes.partition_point(|i| *i < from.first + from.n)];
                for (i, pre) in spikes.iter().enumerate() {
                    if let Some(later) = spikes.get(i + 2) {
                        let row = rows.range(later - from.first);
                        row.take(384).step_by(16).for_each(|word| prefetch::read(&rows.words, word));
                    }
                    let gain = shared.stimuli.gain(*pre);
                    if gain.silent {
                        continue;
                    }
                    let source = pre - from.first;
                    if let Some((part, of)) = &mut plastic {
                        let row = (step, source);
                        events += part.deliver(row, *of, (to, gain), &mut self.arrivals, &mut self.delivered);
                        continue;
                    }
                    let part = if is_whole { rows.range(source) } else { part_of(rows, source, &segment.neurons) };
                    events += part.len() as u32;
                    self.arrivals.deliver(step, rows, part, to, gain);
                }
            }
        }
        events
    }

    /// Adds the Poisson counts of the step, removes the input of closed neurons, and collects the kicks.
    fn drive(&mut self, step: u64, shared: &Shared<'_>) {
        self.counts.resize_with(shared.plan.inputs.len(), Default::default);
        for (i, input) in shared.plan.inputs.iter().enumerate() {
            let Drive::Poisson { table, weight, receptor, since } = &input.drive else { continue };
            let Some(segment) = self.segments.iter().find(|s| s.population == input.population) else { continue };
            if step < *since || table.is_never() {
                continue;
            }
            let counts = &mut self.counts[i];
            if counts.group != Some(step >> 2) {
                counts.group = Some(step >> 2);
                counts.of.iter_mut().for_each(|of| of.resize(segment.neurons.len(), 0));
                let at = (shared.seed, address(Purpose::Poisson, i as u32));
                counts_of_steps(table, at, step >> 2, segment.range().start, &mut counts.of);
            }
            let first = self.arrivals.index(step, *receptor) + segment.at;
            let sums = &mut self.arrivals.sums[first..];
            for (sum, count) in sums.iter_mut().zip(&counts.of[(step & 3) as usize]) {
                *sum = sum.wrapping_add(count.wrapping_mul(*weight));
            }
        }
        let firsts = [self.arrivals.index(step, 0), self.arrivals.index(step, 1)];
        for i in &self.closed {
            firsts.iter().for_each(|first| self.arrivals.sums[first + i] = 0);
        }
        let manual_kicks = if shared.manual_kicks.0 == step { shared.manual_kicks.1 } else { &[] };
        let range = self.range();
        self.kick_generator.kicks(step, shared.stimuli, range.clone(), manual_kicks, &mut self.kicks);
        for i in 0..self.kicks.len() {
            self.kicks[i].0 = self.place(range.start + self.kicks[i].0).1 as u32;
        }
        let closed = &self.closed;
        self.kicks.retain(|(i, _)| closed.binary_search(&(*i as usize)).is_err());
    }

    /// Steps all segments and collects their spikes.
    fn integrate(&mut self, step: u64, shared: &Shared<'_>, spikes: &mut Vec<u32>) {
        spikes.clear();
        if !self.kicks.is_empty() {
            self.kick_lanes.resize(self.state[U].len(), 0.0);
        }
        self.kicks.iter().for_each(|(i, kick)| self.kick_lanes[*i as usize] = *kick);
        let [excitatory, inhibitory] = [self.arrivals.index(step, 0), self.arrivals.index(step, 1)];
        let len = self.arrivals.len;
        for segment in &self.segments {
            let own = segment.at..segment.at + segment.padded();
            let (lower, upper) =
                self.arrivals.sums[excitatory..excitatory + 2 * len].split_at_mut(inhibitory - excitatory);
            let mut part = Part {
                state: self.state.each_mut().map(|array| &mut array[own.clone()]),
                sums: [&mut lower[own.clone()], &mut upper[own.clone()]],
                kicks: if self.kicks.is_empty() { &[] } else { &self.kick_lanes[own.clone()] },
                coefficients: shared.coefficients,
                population: segment.population,
                first: segment.neurons.start,
                synapses: segment.synapses,
                drops: segment.drops,
            };
            step::step(&mut part, &mut self.outcome);
            let n = segment.neurons.len() as u32;
            for i in self.outcome.spikes.iter().filter(|i| **i < n) {
                spikes.push(segment.range().start + i);
                self.last_spike[segment.at + *i as usize] = step;
            }
            for (part, rule) in
                self.plastic.iter_mut().zip(shared.rules).filter_map(|(p, r)| p.as_mut().zip(r.as_ref()))
            {
                let own = self.outcome.spikes.iter().filter(|i| part.population == segment.population && **i < n);
                own.for_each(|i| part.history.record(*i as usize, step as u32, rule));
            }
            if self.outcome.is_lost {
                let potentials = &self.state[U][segment.at..segment.at + n as usize];
                if let Some(i) = potentials.iter().position(|u| !u.is_finite()) {
                    let element = segment.range().start + i as u32;
                    NonFinite::note(&mut self.non_finite, NonFinite { step, element });
                }
            }
        }
        self.kicks.iter().for_each(|(i, _)| self.kick_lanes[*i as usize] = 0.0);
    }

    fn trace(&self, completed: u64, shared: &Shared<'_>, slot: &mut Slot) {
        slot.trace.clear();
        if completed.is_multiple_of(shared.trace_every) {
            let values = |neuron: &u32| {
                let (segment, at) = self.place(*neuron);
                [self.potential(segment, at, shared.coefficients), self.state[1][at] + self.state[2][at]]
            };
            slot.trace.extend(self.traced.iter().map(values));
        }
    }

    /// Returns the potential of a neuron, given by its segment and index in the arrays, mV.
    pub fn potential(&self, segment: &Segment, at: usize, coefficients: &Coefficients) -> f32 {
        let neuron = segment.neurons.start + (at - segment.at) as u32;
        coefficients.value(segment.population, REST, neuron) + self.state[U][at]
    }

    /// Returns the memory of the neurons, and of arrivals and input, bytes.
    pub fn n_bytes(&self) -> (u64, u64) {
        let neurons = self.state.iter().map(|a| a.capacity() * 4).sum::<usize>() + self.last_spike.capacity() * 8;
        let counts: usize = self.counts.iter().flat_map(|c| &c.of).map(|of| of.capacity() * 4).sum();
        (neurons as u64, (self.arrivals.sums.capacity() * 4 + counts + self.kick_lanes.capacity() * 4) as u64)
    }
}

/// Index of the array of remaining refractory steps, for saved states.
pub const REFRACTORY_STEPS: usize = LEFT;
