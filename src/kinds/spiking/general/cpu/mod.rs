//! Networks from rules on the CPU: the definition of the step ([`step`]), applied to arrays of neurons.
//!
//! Each thread owns whole blocks of neurons ([`partition`]). Of the row of every spike, it adds the part whose targets
//! it owns ([`deliver`]). No spike acts before the smallest delay, so threads run that number of steps, at most 64,
//! between two barriers. Sums are integers, and every neuron is computed by itself, so threads change no bit.

pub mod deliver;
pub mod partition;
pub mod pieces;
mod simulation;
pub mod step;

use super::{
    coefficients::Coefficients,
    connections::Connections,
    homeostasis::state as homeostasis,
    patterns::hold,
    plan::{self, Plan},
    plasticity::{
        laws::Rule,
        part::{Part, Projection},
        present,
    },
};
use crate::{
    gpu::Pass,
    kinds::spiking::{
        actions::WeightEdit,
        cpu::{ring_buffer::RingBuffer, threads},
        host_state::{HostState, check_finite},
        params::Params,
        setup::Setup,
        stimuli::ActiveStimuli,
        weight_readings::WeightSums,
    },
    num::rng::Draw,
    sim::{BuildContext, Progress, SimError},
};
use partition::{Partition, Shared, divide};
use std::sync::Arc;

/// Maximum number of steps between two barriers.
const WINDOW: u64 = 64;
/// Number of windows between two decisions about parallel execution.
const STRETCH: u64 = 64;
/// Minimum work per window, in nanoseconds, for parallel execution.
const PARALLEL_THRESHOLD_NS: u64 = 30_000;

/// Returns the rules of the plastic projections, by projection.
fn rules(plan: &Plan) -> Vec<Option<Rule>> {
    plan.projections.iter().map(|p| p.plasticity.as_ref().map(|of| Rule::new(of, plan.dt_ms))).collect()
}

/// A network from rules on the CPU.
pub struct GeneralSim {
    pub(super) host: HostState<f32>,
    /// Plan of the current parameters.
    pub(super) plan: Plan,
    pub(super) connections: Arc<Connections>,
    coefficients: Coefficients,
    /// Rules of the plastic projections, by projection.
    rules: Vec<Option<Rule>>,
    stimuli: ActiveStimuli<f32>,
    pub(super) partitions: Vec<Partition>,
    pub(super) rings: Vec<RingBuffer>,
    window: u64,
    /// Estimated nanoseconds per step, from the previous windows.
    work_per_step: u64,
}

impl GeneralSim {
    /// Makes the connections, unless they exist, and creates the network at step 0. Fails if the network cannot be
    /// built, a stimulus is invalid, memory is exhausted, or `progress` cancels.
    pub fn new(
        params: &Params,
        context: &BuildContext,
        setup: Arc<Setup>,
        workers: usize,
        progress: &Progress,
    ) -> Result<Self, SimError> {
        let network = setup.rules()?;
        let plan = plan::with_files_of(params, &network.plan)?;
        let connections = network.connections(workers, progress)?;
        let host = HostState::new(params, context, setup)?;
        let delays = plan.projections.iter().map(|p| u64::from(p.delay_min));
        let window = delays.clone().min().unwrap_or(WINDOW).min(WINDOW);
        let kept = delays.max().unwrap_or(0) + 2 * window;
        let parts = divide(&plan, workers);
        let mut sim = Self {
            stimuli: host.plan.at(0, plan.n),
            coefficients: Coefficients::default(),
            rules: rules(&plan),
            rings: parts.iter().map(|_| RingBuffer::new(kept as usize)).collect(),
            partitions: parts.into_iter().enumerate().map(|(i, part)| Partition::new(i, part, &plan)).collect(),
            window,
            work_per_step: 0,
            host,
            plan,
            connections,
        };
        for partition in &mut sim.partitions {
            partition.connect(&sim.plan, &sim.connections, &sim.rules);
        }
        sim.start();
        Ok(sim)
    }

    /// Sets the state before step 0.
    fn start(&mut self) {
        self.apply_stimuli();
        let seed = self.host.context.seed;
        let (params, coefficients, plan) = (&self.host.params, &self.coefficients, &self.plan);
        for partition in &mut self.partitions {
            let potential = |population: usize, at: Draw| {
                let neuron = at.lane - plan.populations[population].first;
                let rest = coefficients.value(population, super::coefficients::index::REST, neuron);
                (params.populations[population].v_start.draw(at) - f64::from(rest)) as f32
            };
            partition.start(potential, seed);
        }
        self.each_plastic(|plan, part, of| part.start(of, plan.projections[of.index].receptor == 1));
    }

    /// Calls `change` for the plastic synapses of each projection in each partition.
    fn each_plastic(&mut self, mut change: impl FnMut(&Plan, &mut Part, Projection<'_>)) {
        for (index, part) in self.partitions.iter_mut().flat_map(|p| p.plastic.iter_mut().enumerate()) {
            let of = partition::plastic(&self.plan, &self.connections, &self.rules, index);
            if let Some((part, of)) = part.as_mut().zip(of) {
                change(&self.plan, part, of);
            }
        }
    }

    /// Brings all plastic synapses up to date, which changes no later result.
    pub(super) fn bring_up_to_date(&mut self) {
        let step = self.host.step;
        self.each_plastic(|_, part, of| part.bring_up_to_date(step, of));
    }

    /// Changes the weights of plastic projections.
    fn change_weights(&mut self, edit: &WeightEdit) {
        self.bring_up_to_date();
        self.each_plastic(|plan, part, of| {
            if edit.projections.contains(&of.index) {
                part.change_weights(edit.change, of, plan.projections[of.index].receptor == 1);
            }
        });
    }

    /// Uses another plan with the same connections.
    fn replace_plan(&mut self, plan: Plan) {
        let rules = rules(&plan);
        if rules != self.rules {
            self.bring_up_to_date();
            self.rules = rules;
        }
        self.plan = plan;
    }

    /// Applies the stimuli that are active from this step on, and the current parameters.
    fn apply_stimuli(&mut self) {
        let host = &mut self.host;
        self.stimuli = host.plan.at(host.step, self.plan.n);
        let (seed, thresholds) = (host.context.seed, &host.thresholds);
        self.coefficients = Coefficients::derive(&host.params, &self.plan, seed, &self.stimuli, thresholds);
        self.partitions.iter_mut().for_each(|partition| partition.apply(&self.stimuli));
        host.stimuli_changed = false;
    }

    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let end = self.host.step + u64::from(steps);
        while self.host.step < end && !pass.is_stopping() {
            if hold::changes(&self.plan, self.host.step) {
                let mut plan = self.plan.clone();
                hold::apply(&mut plan, &self.host.params, self.host.step);
                self.replace_plan(plan);
            }
            if homeostasis::is_due(&self.plan, self.host.step) {
                self.apply_homeostasis();
            }
            if let Some(edit) = self.host.plan.shuffle_before(self.host.step, self.host.context.seed) {
                self.change_weights(&edit);
            }
            if self.host.stimuli_changed || self.host.step >= self.stimuli.until {
                self.apply_stimuli();
            }
            let due = self.host.measurements.weights.next_due(self.host.step);
            let changes = self.stimuli.until.min(homeostasis::next_due(&self.plan, self.host.step));
            self.stretch(end.min(self.host.step + STRETCH * self.window).min(changes).min(due), pass)?;
            check_finite(
                self.partitions.iter_mut().filter_map(|partition| partition.non_finite.take()),
                &self.host.setup.neurons,
            )?;
            if self.host.step == due {
                self.read_weights(pass);
            }
        }
        Ok(())
    }

    /// Raises thresholds and scales weights before a step in which an interval ends.
    fn apply_homeostasis(&mut self) {
        let (step, host) = (self.host.step, &mut self.host);
        let counts = &mut host.measurements.counts;
        host.stimuli_changed |= host.thresholds.adapt(&self.plan, step, counts);
        let due = homeostasis::due_scalings(&self.plan, step, counts);
        if due.is_empty() {
            return;
        }
        self.bring_up_to_date();
        self.each_plastic(|_, part, of| {
            if let Some((_, scaling, counted)) = due.iter().find(|(i, ..)| *i == of.index) {
                let own = part.neurons();
                let values = if scaling.needs_sums() { part.input_sums(of) } else { counted[own].to_vec() };
                part.scale_inputs(&scaling.factors(&values, of.rule.w_max), of);
            }
        });
    }

    /// Adds a sample of the weights to the measurements.
    fn read_weights(&mut self, pass: &mut Pass) {
        let parts = self.partitions.iter().flat_map(|partition| partition.plastic.iter().flatten());
        let synapses: usize = parts.map(|part| part.weights.len()).sum();
        pass.span("weights", synapses as u64, || {
            self.bring_up_to_date();
            self.read_synapses();
            if !self.host.measurements.weights.needs_sums() {
                return;
            }
            let mut all = vec![];
            for (index, projection) in self.plan.projections.iter().enumerate() {
                let Some(w_max) = projection.plasticity.as_ref().and_then(|of| of.rule.w_max()) else { continue };
                let mut sums = WeightSums::new(w_max as f32);
                for part in self.partitions.iter().filter_map(|p| p.plastic[index].as_ref()) {
                    sums.add(&part.weights);
                    let rule = self.rules[index].as_ref();
                    sums.third_factor = rule.and_then(|rule| rule.third_factor(part.modulated));
                }
                all.push(sums);
            }
            self.host.measurements.weights.push(self.host.step, &all);
        });
    }

    /// Adds a sample of the recorded synapses, which are up to date, to the measurements.
    fn read_synapses(&mut self) {
        let step = self.host.step;
        let state = |place: &present::SynapsePlace| {
            let of =
                self.rules[place.projection].as_ref().zip(self.plan.projections[place.projection].plasticity.as_ref());
            Some(present::state(*place, &self.stored(*place), of?, step))
        };
        let states: Vec<_> = self.host.measurements.weights.synapses.places().iter().filter_map(state).collect();
        self.host.measurements.weights.synapses.push(step, &states);
    }

    /// Runs steps without changes of parameters or stimuli. Fails if a thread cannot be started.
    fn stretch(&mut self, end: u64, pass: &mut Pass) -> Result<(), SimError> {
        let (start, events) = (self.host.step, self.host.measurements.events);
        let steps = end - start;
        let parallel = self.work_per_step * self.window.min(steps) > PARALLEL_THRESHOLD_NS
            && steps * self.work_per_step > 10 * PARALLEL_THRESHOLD_NS;
        let shared = Shared {
            plan: &self.plan,
            connections: &self.connections,
            coefficients: &self.coefficients,
            rules: &self.rules,
            seed: self.host.context.seed,
            stimuli: &self.stimuli,
            rings: &self.rings,
            manual_kicks: (start, &self.host.manual_kicks),
            trace_every: self.host.measurements.trace_every,
            measure: pass.follow(),
        };
        let (partitions, measurements) = (&mut self.partitions[..], &mut self.host.measurements);
        let run = |partition: &mut Partition, steps: std::ops::Range<u64>| {
            steps.for_each(|step| partition.run(step, &shared));
        };
        let collect = |steps| crate::kinds::spiking::cpu::collect(&self.rings, steps, measurements, pass);
        if parallel {
            threads::run_parallel(partitions, start..end, self.window, run, collect)?;
        } else {
            threads::run_serial(partitions, start..end, self.window, run, collect);
        }
        self.host.step = end;
        self.host.manual_kicks.clear();
        for partition in &mut self.partitions {
            pass.join(&mut partition.pass);
            self.host.measurements.hash.push_sum(std::mem::take(&mut partition.delivered.0));
        }
        let delivered = (self.host.measurements.events - events) / steps.max(1);
        self.work_per_step = 2 * delivered + u64::from(self.plan.n) * (1 + 4 * u64::from(!self.plan.inputs.is_empty()));
        Ok(())
    }
}
