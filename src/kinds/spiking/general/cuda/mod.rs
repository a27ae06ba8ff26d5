//! Networks from rules on an NVIDIA GPU: the step of [`cpu`](super::cpu), bit for bit. The host does not wait for
//! single steps.
//!
//! A thread steps one neuron and then adds the rows of the spikes of its block to the sums of the next steps. If the
//! device holds all neurons at once, `step_rules_persistent` takes up to 256 steps per launch, with a grid barrier
//! between them; otherwise up to 64 launches of `step_rules` form a CUDA graph. `deliver_rules`, launched first,
//! delivers the spikes of the step before.
//!
//! The host controls the clock: it launches steps and, one launch later, reads and sorts their spikes while the next steps run.
//! Spikes are held in a ring that is large enough for the refractory periods of the neurons, so it cannot overflow.
//!
//! | file | subject |
//! | --- | --- |
//! | [`kernels`] | declarations of kernels |
//! | [`structs`] | device structs and constants |
//! | `connect` | connections, made on the device |
//! | `tables` | populations, projections and inputs in the layout of the kernels; sizes |
//! | `buffers` | device memory |
//! | `launches` | kernels of a launch |
//! | `queue` | launches and their readback |
//! | `plastic` | plastic synapses: start values, updates between launches |
//! | `homeostasis` | adaptive thresholds, scaling and permutation of weights |
//! | `modulator` | spikes of the population that modulates a third factor |
//! | `plastic_tables`, `plastic_state` | their rules in the layout of the kernels; their saved states |
//! | `state` | saved states |

mod buffers;
mod connect;
mod homeostasis;
pub mod kernels;
mod launches;
mod modulator;
mod plastic;
mod plastic_state;
mod plastic_tables;
mod queue;
mod simulation;
mod state;
pub mod structs;
mod tables;

use super::{
    coefficients::{
        Coefficients,
        index::{COUNT, REST},
    },
    homeostasis::state::{Thresholds, is_due, next_due},
    patterns::hold,
    plan::{self, Plan},
};
use crate::{
    gpu::{Gpu, GpuError, Graph, Grid, Pass},
    kinds::{
        shared::field_readback::{FieldReadback, ReadsFields as _},
        spiking::{
            actions::WeightEdit,
            cuda::stimuli::{DeviceStimuli, ManualKick},
            host_state::{HostState, check_finite},
            params::Params,
            setup::Setup,
            stimuli::StimulusPlan,
        },
    },
    num::{
        hash::StreamHash,
        rng::{Draw, Purpose},
    },
    sim::{Buffers as _, BuildContext, MemoryReport, NonFinite, Progress, SimError},
};
use buffers::{MAX_LAUNCH_STEPS, RulesBuffers};
use kernels::{RulesClock, RulesConnectKernels, RulesKernels, RulesTables};
use plastic::PlasticSynapses;
use queue::Queue;
use std::sync::Arc;
use tables::{Layout, Sizes};

/// Maximum number of steps per graph.
const MAX_GRAPH_STEPS: u64 = 64;
/// Number of lengths of a launch: 1, 2, 4, … steps.
const LENGTHS: usize = MAX_LAUNCH_STEPS.ilog2() as usize + 1;
/// Maximum number of threads of a block of the persistent kernel, so that no register is spilled.
const PERSISTENT_THREADS: u32 = 768;
/// Maximum number of threads of a block of the persistent kernel of plastic networks.
const PLASTIC_THREADS: u32 = 512;
/// Maximum size of the tables that the persistent kernel keeps in shared memory, bytes.
const MAX_TABLE_BYTES: u32 = 1 << 15;
/// Name in [`Execution`](crate::sim::Execution) for a launch per step in place of the persistent kernel.
const LAUNCHES: &str = "launches";

/// A network from rules on an NVIDIA GPU.
pub struct RulesSim {
    host: HostState<f32>,
    /// Plan of the current parameters.
    plan: Plan,
    /// Hash of all connections.
    connections: StreamHash,
    layout: Layout,
    gpu: Arc<Gpu>,
    kernels: RulesKernels,
    memory: RulesBuffers,
    /// Plastic projections; `None` for a static network.
    plastic: Option<PlasticSynapses>,
    /// Captured graphs of 1, 2, 4, … steps.
    graphs: [Option<Graph>; LENGTHS],
    queue: Queue,
    /// Grid of `step_rules`.
    grid: Grid,
    /// Grid of `step_rules_persistent`, if the device holds all neurons.
    persistent: Option<Grid>,
    /// Number of neurons of a block of that grid.
    span: u32,
    /// Sizes of the tables that the persistent kernel keeps in shared memory.
    table_sizes: RulesTables,
    /// Maximum number of steps per launch, so that the ring of spikes suffices.
    longest: u64,
    /// Manual kicks with their steps.
    manual: Vec<ManualKick>,
    /// Steps of the listed kicks, ascending, in the order of the kicks on the device.
    listed: Vec<u64>,
    /// First step with different stimuli.
    until: u64,
    /// First neuron with a non-finite potential, until it is reported.
    non_finite: Option<NonFinite>,
    readback: FieldReadback,
}

impl RulesSim {
    /// Makes the connections and creates the network at step 0. Fails if the network cannot be built, a stimulus is
    /// invalid, memory is exhausted, the device fails, or `progress` cancels.
    pub fn new(
        params: &Params,
        context: &BuildContext,
        setup: Arc<Setup>,
        gpu: &Arc<Gpu>,
        progress: &Progress,
    ) -> Result<Self, SimError> {
        let plan = plan::with_files_of(params, &setup.rules()?.plan)?;
        let host = HostState::new(params, context, setup.clone())?;
        let network = setup.rules()?;
        let connecting = RulesConnectKernels::load(gpu)?;
        let drafts = connect::drafts(gpu, &connecting, network, progress)?;
        let synapses: Vec<u64> = drafts.iter().map(connect::Draft::synapses).collect();
        let stimuli = host.plan.at(0, plan.n);
        let coefficients = Coefficients::derive(params, &plan, context.seed, &stimuli, &host.thresholds);
        let sizes = Sizes::new(&plan, &synapses, &coefficients);
        let layout = Layout::new(&plan, &synapses, &sizes);
        let mut memory = RulesBuffers::new(gpu, &sizes, &layout, context.seed)?;
        let connections = connect::fill(&mut memory, &connecting, network, &drafts, &layout.projections, progress)?;
        let kernels = RulesKernels::load(gpu)?;
        let plastic = PlasticSynapses::new(gpu, &plan, &synapses)?;
        let is_wanted = context.kernels.get("step") != Some(LAUNCHES);
        let decays = plastic.as_ref().map_or(0, |plastic| plastic.n_decays);
        let table_sizes = RulesTables { decays, ..tables::table_sizes(&plan, &tables::inputs(&plan)) };
        let shared = tables::shared_bytes(&plan, &table_sizes).next_multiple_of(1 << 12).min(MAX_TABLE_BYTES);
        let persistent = persistent_grid(plan.stride, gpu.multiprocessors, shared, plastic.is_some());
        let fits = |grid: Grid| match &plastic {
            Some(plastic) => plastic.kernels.fits_persistent(grid),
            None => kernels.fits_persistent(grid),
        };
        let (persistent, span) = match persistent.filter(|_| is_wanted) {
            Some((grid, span)) if fits(grid)? => (Some(grid), span),
            _ => (None, 0),
        };
        let mut sim = Self {
            grid: grid(plan.stride, threads_per_block(plan.stride, gpu.multiprocessors)),
            persistent,
            span,
            table_sizes: RulesTables::default(),
            kernels,
            memory,
            plastic,
            graphs: [const { None }; LENGTHS],
            queue: Queue::new(gpu)?,
            longest: MAX_LAUNCH_STEPS,
            manual: vec![],
            listed: vec![],
            until: 0,
            non_finite: None,
            readback: FieldReadback::default(),
            gpu: gpu.clone(),
            host,
            plan,
            connections,
            layout,
        };
        sim.write_start()?;
        gpu.synchronize()?;
        Ok(sim)
    }

    /// Applies the stimuli and parameters of step 0, and writes the potentials before it, drawn at the addresses of the
    /// CPU. The rest of the state must be cleared.
    fn write_start(&mut self) -> Result<(), SimError> {
        let coefficients = self.apply_stimuli(0)?;
        let (params, seed) = (&self.host.params, self.host.context.seed);
        let mut potentials = vec![0.0; self.plan.stride as usize];
        for (i, population) in self.plan.populations.iter().enumerate() {
            for of in 0..population.n {
                let at = Draw { seed, purpose: Purpose::Start, step: 0, lane: population.first + of };
                let rest = f64::from(coefficients.value(i, REST, of));
                let start = params.populations[i].v_start.draw(at) - rest;
                potentials[(population.state + of) as usize] = start as f32;
            }
        }
        self.memory.state.write_at(0, &potentials)?;
        if let Some(plastic) = &mut self.plastic {
            plastic.start(&self.memory)?;
        }
        Ok(())
    }

    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let end = self.host.step + u64::from(steps);
        let step = self.host.step;
        self.non_finite = None;
        if !self.host.manual_kicks.is_empty() {
            let given = self.host.manual_kicks.drain(..);
            self.manual.extend(given.map(|(lane, weight)| ManualKick { step, lane, weight: weight.into() }));
            self.host.stimuli_changed = true;
        }
        while self.host.step < end && self.non_finite.is_none() {
            let next = self.queue.next_step(self.host.step);
            if next < end && self.queue.has_room() {
                self.launch(next, end, pass)?;
                self.convert_fields()?;
            } else {
                self.collect(pass)?;
            }
        }
        // Launches remain only after a non-finite potential. They are read, so that the clock matches the state of the
        // neurons.
        while self.queue.has_launches() {
            self.collect(pass)?;
        }
        self.manual.retain(|kick| kick.step >= self.host.step);
        if let Some(plastic) = &mut self.plastic {
            self.host.measurements.hash.push_sum(plastic.take_hash()?);
        }
        pass.collect()?;
        check_finite(self.non_finite.take().into_iter(), &self.host.setup.neurons)
    }

    /// Launches steps from `step` on, at most to `end`.
    fn launch(&mut self, step: u64, end: u64, pass: &mut Pass) -> Result<(), SimError> {
        let shuffle = self.host.plan.shuffle_before(step, self.host.context.seed);
        if is_due(&self.plan, step) || hold::changes(&self.plan, step) || shuffle.is_some() {
            while self.queue.has_launches() {
                self.collect(pass)?;
            }
            self.hold_or_learn(step)?;
            self.apply_homeostasis(step)?;
            shuffle.map_or(Ok(()), |edit| self.change_weights(&edit))?;
        }
        if self.host.stimuli_changed || step >= self.until {
            self.apply_stimuli(step)?;
        }
        if self.plastic.as_ref().is_some_and(|plastic| plastic.needs_spikes(step)) {
            while self.queue.has_launches() {
                self.collect(pass)?;
            }
        }
        let end = match &mut self.plastic {
            Some(plastic) => end.min(step.saturating_add(plastic.before_launch(&self.memory, step, self.host.step)?)),
            None => end,
        };
        let due = self.host.measurements.weights.next_due(step);
        let end = end.min(due).min(next_due(&self.plan, step));
        // Launches become shorter towards the end, so that little is left to read after the last one.
        let left = end.min(self.until) - step;
        let most = if self.persistent.is_some() { MAX_LAUNCH_STEPS } else { MAX_GRAPH_STEPS };
        let room = left.min(left.div_ceil(2).max(16)).min(self.longest).min(most);
        let n = if self.persistent.is_some() { room } else { 1 << room.ilog2() };
        let place = |step: u64| self.listed.partition_point(|kick| *kick < step) as u32;
        let (kick_from, kick_to) = (place(step), place(step + n));
        self.memory.clock.set(RulesClock { step, kick_from, kick_to, slot: self.queue.slot(), pad: 0 })?;
        // In a profiled batch, one launch is measured; a graph is launched kernel by kernel, with events between the kernels.
        let is_measured = pass.profiled && !self.queue.is_measured();
        if is_measured {
            pass.measures_steps(n as u32);
        }
        let mut unmeasured = Pass::default();
        match self.persistent {
            Some(_) => self.record(n, if is_measured { pass } else { &mut unmeasured })?,
            None if is_measured => self.record(n, pass)?,
            None => self.graph(n)?.launch()?,
        }
        let n_traced = self.memory.model.value().n_traced as usize;
        self.queue.sent(step..step + n, n_traced, is_measured)?;
        if let Some(plastic) = self.plastic.as_mut().filter(|_| step + n == due) {
            plastic.bring_up_to_date(&self.memory, due)?;
            let readings = &mut self.host.measurements.weights;
            plastic.read(&self.memory, &self.layout.projections, &self.plan, due, readings)?;
        }
        Ok(())
    }

    fn graph(&mut self, n: u64) -> Result<&mut Graph, GpuError> {
        let at = n.ilog2() as usize;
        if self.graphs[at].is_none() {
            let gpu = self.gpu.clone();
            // SAFETY: buffers are only replaced together with the graphs (`clear_graphs`).
            self.graphs[at] = Some(unsafe { Graph::capture(&gpu, |pass| self.record(n, pass)) }?);
        }
        self.graphs[at].as_mut().ok_or_else(|| GpuError::Driver {
            doing: "launching a captured step".to_owned(),
            why: "it was not captured".to_owned(),
        })
    }

    /// Removes the captured graphs, because a buffer was replaced.
    fn clear_graphs(&mut self) {
        self.graphs = [const { None }; LENGTHS];
    }

    /// Applies the stimuli that are active from `step` on, and the current parameters; all steps before it must be launched.
    /// Returns the coefficients.
    fn apply_stimuli(&mut self, step: u64) -> Result<Coefficients, SimError> {
        let stimuli = self.host.plan.at::<f32>(step, self.plan.n);
        let image = DeviceStimuli::new(&stimuli, &self.manual, self.plan.n);
        let (seed, thresholds) = (self.host.context.seed, &self.host.thresholds);
        let coefficients = Coefficients::derive(&self.host.params, &self.plan, seed, &stimuli, thresholds);
        let is_replaced = match &mut self.plastic {
            Some(plastic) => plastic.upload(&self.plan, &coefficients)?,
            None => false,
        };
        let inputs = tables::inputs(&self.plan);
        let populations = tables::populations(&self.plan, &coefficients, &inputs.ranges, &self.layout.ranges);
        let decays = self.plastic.as_ref().map_or(0, |plastic| plastic.n_decays);
        self.table_sizes = RulesTables { span: self.span, decays, ..tables::table_sizes(&self.plan, &inputs) };
        if let Some(Grid::Cooperative { block, shared_bytes, .. }) = self.persistent {
            let fits = coefficient_bytes(block) + tables::shared_bytes(&self.plan, &self.table_sizes) <= shared_bytes;
            self.table_sizes.cached = fits.into();
        }
        self.fit_ring(&coefficients, step)?;
        let replaced = self.memory.upload_stimuli(&image)? || is_replaced;
        if self.memory.upload_parameters(&populations, &coefficients.values, &inputs)? || replaced {
            self.clear_graphs();
        }
        self.listed = image.kick_steps();
        self.until = stimuli.until;
        self.host.stimuli_changed = false;
        Ok(coefficients)
    }

    /// Sets the length of launches so that the ring of spikes suffices; replaces the ring if not even one step fits, after reading
    /// all launches.
    fn fit_ring(&mut self, coefficients: &Coefficients, step: u64) -> Result<(), SimError> {
        let most = |plan: &Plan, steps| tables::most_spikes(plan, coefficients, tables::window(plan, steps));
        let ring = self.memory.spikes.len() as u64;
        let longest = (0..LENGTHS).rev().map(|i| 1_u64 << i).find(|steps| most(&self.plan, *steps) <= ring);
        if longest.is_none() {
            while self.queue.has_launches() {
                self.collect(&mut Pass::default())?;
            }
            let spikes = state::in_transit(&self.memory, &self.plan, step)?;
            self.memory.replace_spikes(most(&self.plan, 1))?;
            state::write_in_transit(&mut self.memory, &spikes)?;
            self.clear_graphs();
        }
        self.longest = longest.unwrap_or(1);
        Ok(())
    }

    /// Changes the weights of plastic projections between two runs.
    fn change_weights(&mut self, edit: &WeightEdit) -> Result<(), SimError> {
        let step = self.host.step;
        if let Some(plastic) = &mut self.plastic {
            plastic.bring_up_to_date(&self.memory, step)?;
        }
        if self.host.stimuli_changed {
            self.apply_stimuli(step)?; // so that the device has the current maximum weights
        }
        if let Some(plastic) = &mut self.plastic {
            plastic.change_weights(&self.memory, &self.layout.projections, edit)?;
        }
        Ok(())
    }

    /// Waits for the oldest launch and reads its results.
    fn collect(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        let kernel = match (self.persistent.is_some(), self.plastic.is_some()) {
            (true, false) => "step_rules_persistent",
            (false, false) => "step_rules",
            (true, true) => "step_rules_plastic_persistent",
            (false, true) => "step_rules_plastic",
        };
        let mut count = |step: u64, spikes: &[u32]| {
            if let Some(plastic) = &mut self.plastic {
                plastic.count(step, spikes);
            }
        };
        let reading = self.queue.collect(&self.memory, &mut self.host.measurements, &mut count, kernel, pass)?;
        let Some((step, non_finite)) = reading else { return Ok(()) };
        self.host.step = step;
        if non_finite.is_some() {
            self.memory.non_finite.write(&[u64::MAX])?;
        }
        self.non_finite = self.non_finite.or(non_finite);
        Ok(())
    }
}

/// Returns the number of threads of a block, so that small networks occupy all multiprocessors.
fn threads_per_block(stride: u32, multiprocessors: u32) -> u32 {
    (stride / multiprocessors.max(1)).next_power_of_two().clamp(32, 256)
}

/// Returns the grid of a kernel with a thread per neuron.
fn grid(stride: u32, threads: u32) -> Grid {
    Grid::Blocks { blocks: [stride.div_ceil(threads), 1, 1], threads: [threads, 1, 1], shared_bytes: 0 }
}

/// Returns the shared memory for the coefficients of the neurons of a block, bytes.
const fn coefficient_bytes(threads: u32) -> u32 {
    4 * COUNT as u32 * threads
}

/// Returns the grid with at most one block per multiprocessor, and shared memory for coefficients and `table_bytes`, and the number
/// of neurons of a block; `None` if the device does not hold all neurons. Blocks of a plastic network have more threads than
/// neurons, which update synapses.
fn persistent_grid(stride: u32, multiprocessors: u32, table_bytes: u32, is_plastic: bool) -> Option<(Grid, u32)> {
    let share = stride.div_ceil(multiprocessors.max(1)).next_multiple_of(32);
    let (span, block, most) = match is_plastic {
        true => (share, PLASTIC_THREADS, PLASTIC_THREADS),
        false => (share.max(128), share.max(128), PERSISTENT_THREADS),
    };
    let shared_bytes = coefficient_bytes(block) + table_bytes;
    (span <= most).then_some((Grid::Cooperative { blocks: stride.div_ceil(span), block, shared_bytes }, span))
}

/// Returns the memory of a new simulation, with the coefficients of constant parameters.
pub fn predict(params: &Params, plan: &Plan) -> MemoryReport {
    let synapses: Vec<u64> = plan.projections.iter().map(|p| p.synapses).collect();
    let stimuli = StimulusPlan::default().at(0, plan.n);
    let coefficients = Coefficients::derive(params, plan, 0, &stimuli, &Thresholds::new(plan));
    let mut report = RulesBuffers::predict(&Sizes::new(plan, &synapses, &coefficients));
    report += Queue::predict();
    let plastic = plastic_tables::PlasticSizes::new(plan, &synapses);
    if plastic.projections > 0 {
        report += plastic::PlasticBuffers::predict(&plastic);
    }
    report
}
