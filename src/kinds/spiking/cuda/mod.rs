//! CUDA backend: the step of [`cpu`](super::cpu), bit for bit, without host synchronisation per step.
//!
//! # Two launches per window
//!
//! No event within one delay can influence another, so steps are taken in *windows* of at most one delay (and at most
//! 32 steps): `deliver_spikes` adds the spikes that arrive in the window to a table of integers, one row per step
//! (`deliver_spikes_driven`, with Poisson stimuli or changed weights, also draws the kicks at their Philox addresses
//! and applies the gains); `step_lif` takes each neuron through the whole window, from event to event, appends its
//! spikes, and counts synaptic events. Both read their arguments from a plan of windows; up to 64 windows are one
//! CUDA graph.
//!
//! Results equal those of the CPU because the closed form of the anchor is evaluated in the written order without fused
//! multiply-add from the same tables; arrivals are sums of integers; draws are addressed; spikes of a window are sorted by step
//! and neuron before they are read.
//!
//! # Persistent kernels
//!
//! If all neurons fit into the shared memory of the device (1,088 per SM) and the stimuli allow it (one kick source, unchanged
//! weights, at most 128 traced neurons), `step_lif_persistent` runs up to 64 windows per launch: neurons stay in shared memory,
//! and arrivals are summed there. Blocks exchange their spikes once per window, and read the connections to their own neurons
//! from a connectivity [partitioned by block](block_csr::BlockCsr). The kernel leaves the same contents in memory as the two
//! launches, so that each mode can continue from the other.
//!
//! # Reached neurons
//!
//! Simulations that share a device, the trials of an experiment, each take few blocks if few of their neurons are reached:
//! `step_lif_reached` lists the neurons with input in a window and those that may cross the threshold, and steps only these.
//! While a network is busy, and with listed kicks or traced neurons, it takes two launches per window.
//!
//! Noisy leaky units, whose windows are single steps, use `step_leaky` and `step_leaky_persistent`.
//!
//! # Inactive neurons
//!
//! A block owns 512 neurons. It returns at once if no spike reached them, no train drives them and the threshold
//! bound (as in the CPU's calendar) excludes a crossing in this window. In a window with few spikes `deliver_spikes`
//! marks the warps it reaches; in a dense one all warps are evaluated.
//!
//! # Non-finite states
//!
//! Non-finite states are reported as on the CPU: the kernel that steps the neuron records step and neuron in the counters of the
//! window, by an atomic maximum over keys. Inputs are usually [too small](stimuli::DeviceStimuli::may_overflow) to overflow, and
//! the fast paths check only at the end of a window, for states that were non-finite before. Otherwise the persistent kernels are
//! not used, and every neuron takes the general path, which checks in every step.
//!
//! # Host
//!
//! The host controls the clock, not the activity. It plans windows, launches graphs and, one graph later, reads the spikes from
//! page-locked memory that a second stream fills while the next graph runs. Ring buffers hold spikes; a window that might overflow a
//! ring is halted, as are the later ones, and the host enlarges the ring and plans again from there.
//!
//! | file | subject |
//! | --- | --- |
//! | [`kernels`] | declarations of kernels and device structs |
//! | `sizes` | buffer sizes, before allocation |
//! | `buffers` | device memory of a simulation |
//! | `network` | connections on a device, which the simulations of a setup share |
//! | `rings`, `ring_growth` | room in the rings of spikes and chunks, and longer rings |
//! | `launches` | kernel launches that all neuron models share |
//! | `block_csr` | connectivity partitioned by block, for persistent kernels |
//! | `stimuli` | active stimuli in the layout of the kernels |
//! | `launch_queue` | queue of planned and launched windows, and their readback |
//! | `state` | saved states |
//! | `neuron_model` | trait of a neuron model |
//! | `lif`, `leaky` | the two neuron models |
//! | `reached` | when and with how many blocks only reached neurons are stepped |
//! | `words` | state values as words of device memory |
//! | `variants` | other delivery methods, for the timings |

mod block_csr;
pub(super) mod buffers;
pub mod kernels;
mod launch_queue;
mod launches;
mod leaky;
mod lif;
mod network;
mod neuron_model;
mod predict;
mod reached;
mod ring_growth;
mod rings;
mod simulation;
mod sizes;
mod state;
pub(super) mod stimuli;
mod variants;
mod words;

use super::{
    constants::{Propagator, Real},
    cpu::SETTLE_EVERY,
    host_state::{HostState, check_finite},
    params::{NeuronModel, Params},
    setup::Setup,
};
use crate::{
    gpu::{Buf, Gpu, GpuError, Graph, Grid, ModuleSpec, Pass},
    kinds::shared::field_readback::{FieldReadback, ReadsFields as _},
    sim::{BuildContext, NonFinite, SimError},
};
use buffers::DeviceBuffers;
use kernels::{Kernels, Window};
use launch_queue::{LaunchQueue, Reading, StepMode};
use launches::GraphVariant;
use leaky::LeakyUnits;
use lif::LifNeurons;
use network::SharedNetwork;
use neuron_model::DeviceNeurons;
pub use predict::predict;
use reached::{MAX_EVENTS_REACHED, blocks_for, reached_blocks};
use rings::SpikeBounds;
pub use sizes::{BufferSizes, PersistentMode, SHARED_WINDOW, SpikeTiming, Tuning};
use sizes::{MAX_GRAPH_WINDOWS, MAX_REACHED_BLOCKS};
use std::sync::Arc;
use stimuli::ManualKick;
use variants::DeliveryVariants;

/// Name in [`Execution`](crate::sim::Execution) for launches per window instead of persistent kernels.
const WINDOWS: &str = "windows";
/// Name in [`Execution`](crate::sim::Execution) for few blocks that step only reached neurons.
const REACHED: &str = "reached";

/// A spiking network on an NVIDIA GPU.
pub struct CudaSim<T: Real> {
    host: HostState<T>,
    neurons: Box<dyn DeviceNeurons<T>>,
    gpu: Arc<Gpu>,
    kernels: Kernels,
    sizes: BufferSizes,
    tuning: Tuning,
    memory: DeviceBuffers,
    graphs: GraphCache,
    queue: LaunchQueue,
    /// Manual kicks with their steps.
    manual: Vec<ManualKick>,
    /// Steps of the listed kicks, ascending, in the order of the kicks on the device.
    listed: Vec<u64>,
    /// First step with different stimuli.
    until: u64,
    /// First neuron with a non-finite state, until it is reported.
    non_finite: Option<NonFinite>,
    /// Number of steps per window; temporarily smaller after full rings had no room.
    window: u32,
    /// Bound on the spikes of the windows that are planned.
    bounds: SpikeBounds,
    /// Grid of the persistent kernel, if the neurons fit.
    persistent: Option<Grid>,
    /// Number of blocks that step the network while few neurons are reached; `None` if this mode is not used.
    reached: Option<u32>,
    /// Mean number of synaptic events per window in the last launch that was read.
    events_per_window: u64,
    /// Other delivery methods, if they are compared and fit into memory; the outer `None`: not allocated yet.
    variants: Option<Option<DeliveryVariants>>,
    readback: FieldReadback,
}

/// Captured graphs of 1, 2, 4 … windows, for one variant at a time.
#[derive(Default)]
struct GraphCache {
    variant: GraphVariant,
    graphs: [Option<Graph>; MAX_GRAPH_WINDOWS.ilog2() as usize + 1],
}

impl<T: Real> CudaSim<T> {
    /// Creates a simulation at step 0, with the implementation selected in `context.kernels`. Fails as
    /// [`CudaSim::tuned`] does.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, gpu: &Arc<Gpu>) -> Result<Self, SimError> {
        let host = HostState::new(params, context, setup)?;
        let (is_shared, alone) = (gpu.sharing > 1, Tuning::default());
        let tuning = match context.kernels.get("step") {
            Some(WINDOWS) => Tuning { persistent: PersistentMode::Off, ..alone },
            Some(REACHED) if !is_shared => Tuning::reached(reached_blocks(gpu), alone.window),
            Some(REACHED) => Tuning::reached(reached_blocks(gpu), SHARED_WINDOW),
            _ if is_shared && host.plan.drives_few(host.setup.n()) => {
                Tuning::reached(reached_blocks(gpu), SHARED_WINDOW)
            }
            _ => alone,
        };
        Self::of(host, gpu, tuning)
    }

    /// Creates a simulation at step 0 with other launch parameters, which must not change a bit. Fails if a stimulus is
    /// invalid, the network exceeds a limit of the backend, or device memory is full.
    pub fn tuned(
        params: &Params,
        context: &BuildContext,
        setup: Arc<Setup>,
        gpu: &Arc<Gpu>,
        tuning: Tuning,
    ) -> Result<Self, SimError> {
        Self::of(HostState::new(params, context, setup)?, gpu, tuning)
    }

    fn of(host: HostState<T>, gpu: &Arc<Gpu>, tuning: Tuning) -> Result<Self, SimError> {
        match host.params.network.model {
            NeuronModel::ExponentialLif => Self::with_neurons::<LifNeurons>(host, gpu, tuning),
            NeuronModel::NoisyLeaky => Self::with_neurons::<LeakyUnits>(host, gpu, tuning),
        }
    }

    fn with_neurons<N: DeviceNeurons<T> + 'static>(
        host: HostState<T>,
        gpu: &Arc<Gpu>,
        tuning: Tuning,
    ) -> Result<Self, SimError> {
        let tuning = N::tune(tuning);
        let tuning = Tuning { graph: tuning.graph.clamp(1, MAX_GRAPH_WINDOWS), ..tuning };
        let timing = SpikeTiming::of(&host.constants);
        let connectivity = &host.setup.connectivity;
        let sizes = BufferSizes::new(connectivity, timing, T::BYTES as u64, &tuning)?;
        let kernels = Kernels::load_as(gpu, &module::<T>())?;
        let network = SharedNetwork::of(&host.setup.on_device, gpu, &sizes, connectivity)?;
        let mut memory =
            DeviceBuffers::new(gpu, &sizes, &tuning, network, connectivity.target_bits, host.context.seed)?;
        let neurons = N::new(gpu, &host, &mut memory)?;
        let reached = match tuning.persistent {
            PersistentMode::Reached(blocks) if neurons.spec().rows.reached.is_some() => {
                Some(blocks.clamp(1, MAX_REACHED_BLOCKS))
            }
            _ => None,
        };
        let persistent = match sizes.persistent(tuning.persistent, gpu.multiprocessors, N::shared_bytes) {
            Some(grid @ Grid::Cooperative { blocks, .. }) if neurons.fits_persistent(&kernels, grid)? => {
                let words = sizes.mailbox_words(blocks);
                let fits = memory.network.share_blocks(&sizes, connectivity, blocks, 8 * words as u64)?;
                if fits {
                    memory.mailboxes = Buf::zeros(gpu, memory.mailboxes.what, words)?;
                }
                fits.then_some(grid)
            }
            _ => None,
        };
        let mut sim = Self {
            queue: LaunchQueue::new(gpu, &sizes, host.constants.delay)?,
            graphs: GraphCache::default(),
            manual: vec![],
            listed: vec![],
            until: 0,
            non_finite: None,
            window: sizes.window,
            bounds: SpikeBounds::new(timing.refractory),
            persistent,
            reached,
            events_per_window: 0,
            variants: None,
            readback: FieldReadback::default(),
            gpu: gpu.clone(),
            host,
            neurons: Box::new(neurons),
            kernels,
            sizes,
            tuning,
            memory,
        };
        sim.memory.upload_constants(&sim.host.constants)?;
        sim.write_start()?;
        (sim.host.measurements.rates_on_device, sim.host.measurements.hash_on_device) = (true, true);
        sim.memory.upload_decay(&sim.host.measurements)?;
        gpu.synchronize()?;
        Ok(sim)
    }

    /// Writes the membrane potentials of step 0, drawn at the addresses of the CPU; all other states must be cleared.
    fn write_start(&mut self) -> Result<(), GpuError> {
        let Some(states) = self.neurons.initial_states(&self.host) else { return Ok(()) };
        self.memory.states.write_at(0, &states)
    }

    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let end = self.host.step + u64::from(steps);
        let step = self.host.step;
        self.non_finite = None;
        if !self.host.manual_kicks.is_empty() {
            let given = self.host.manual_kicks.drain(..);
            self.manual.extend(given.map(|(lane, weight)| ManualKick { step, lane, weight: weight.wide() }));
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
        // This loop runs only after a non-finite state, because the clock must match the state of the neurons.
        while self.queue.has_launches() {
            self.collect(pass)?;
        }
        self.manual.retain(|h| h.step >= self.host.step);
        self.time_variants(pass)?;
        pass.collect()?;
        check_finite(self.non_finite.take().into_iter(), &self.host.setup.neurons)
    }

    /// Plans and launches one graph of windows from `step` on, at most to `end`.
    fn launch(&mut self, step: u64, end: u64, pass: &mut Pass) -> Result<(), SimError> {
        if self.host.stimuli_changed || step >= self.until {
            self.apply_stimuli(step)?;
        }
        self.refresh_graphs();
        let rings = self.rings();
        if step > 0 && step.is_multiple_of(SETTLE_EVERY) {
            self.neurons.advance_anchors(&mut self.memory, &self.kernels, step as u32, pass)?;
        }
        let settle = (step / SETTLE_EVERY + 1) * SETTLE_EVERY;
        let end = end.min(self.until).min(settle);
        let next_listed = self.listed.partition_point(|k| *k < step);
        let is_listed = self.listed.get(next_listed).is_some_and(|k| *k < end);
        let supports_persistent = self.memory.supports_persistent(self.neurons.spec().persistent_sources);
        let can_persist = self.window == self.sizes.window && !is_listed && supports_persistent;
        let persistent = self.persistent.filter(|_| can_persist && rings.can_persist(self.sizes.window));
        let can_reach = !is_listed && self.memory.n_traced == 0 && self.events_per_window <= MAX_EVENTS_REACHED;
        let reached = self.reached.filter(|_| can_reach).map(|blocks| blocks_for(blocks, self.events_per_window));
        let is_one_launch = reached.is_some() || persistent.is_some();
        let most = match self.tuning.graph {
            _ if reached.is_some() => MAX_GRAPH_WINDOWS,
            graph if persistent.is_some() => (4 * graph).min(MAX_GRAPH_WINDOWS),
            graph => graph,
        };
        // Launches become shorter towards the end, so that little is left to read after the last one.
        let left = end.saturating_sub(step).div_ceil(u64::from(self.window)).max(1);
        let room = left.min(u64::from(most)).min(left.div_ceil(2).max(16)) as u32;
        let n = if is_one_launch { room } else { 1 << room.ilog2() };
        let plan = self.queue.plan(step, end, n, self.window, &self.listed, &rings);
        let variant = GraphVariant {
            driven: self.memory.is_driven(),
            is_exact: self.memory.is_exact(),
            kicks: plan.iter().any(|w| w.kick_from < w.kick_to),
            traced: !self.host.measurements.traced.is_empty(),
        };
        self.memory.windows.write_at(0, &plan)?;
        self.memory.counters.clear_range(self.queue.counters(n))?;
        // In a profiled batch, one graph is launched kernel by kernel, with events between the kernels.
        let measured = pass.profiled && !self.queue.is_measured();
        if measured {
            self.queue.measure();
            pass.measures_steps((end - step).min(u64::from(n * self.window)) as u32);
        }
        if let Some(blocks) = reached {
            let pass = if measured { pass } else { &mut Pass::default() };
            self.neurons.step_reached(&mut self.memory, &self.kernels, blocks, n, pass)?;
            self.memory.sort_spikes(&self.kernels, n, false, pass)?;
        } else if let Some(grid) = persistent {
            let pass = if measured { pass } else { &mut Pass::default() };
            self.neurons.launch_windows(&mut self.memory, &self.kernels, grid, n, pass)?;
            self.memory.sort_spikes(&self.kernels, n, false, pass)?;
        } else if measured {
            for index in 0..n {
                self.neurons.launch_window(&mut self.memory, &self.kernels, index, variant, pass)?;
            }
            self.memory.sort_spikes(&self.kernels, n, true, pass)?;
        } else {
            self.graph(n, variant)?.launch()?;
        }
        let by = match persistent {
            _ if reached.is_some() => StepMode::Reached,
            Some(_) => StepMode::Persistent,
            None if variant.driven => StepMode::Driven,
            None => StepMode::Plain,
        };
        Ok(self.queue.sent(plan, self.host.measurements.traced.len(), by)?)
    }

    fn graph(&mut self, n: u32, variant: GraphVariant) -> Result<&mut Graph, GpuError> {
        if self.graphs.variant != variant {
            self.graphs = GraphCache { variant, ..GraphCache::default() };
        }
        let Self { graphs, neurons, memory, kernels, gpu, .. } = self;
        let place = &mut graphs.graphs[n.ilog2() as usize];
        if place.is_none() {
            let record = |pass: &mut Pass| {
                (0..n).try_for_each(|index| neurons.launch_window(memory, kernels, index, variant, pass))?;
                memory.sort_spikes(kernels, n, true, pass)
            };
            // SAFETY: buffers are only replaced together with the graphs (`clear_graphs`).
            *place = Some(unsafe { Graph::capture(gpu, record) }?);
        }
        place.as_mut().ok_or_else(unreachable_graph)
    }

    fn clear_graphs(&mut self) {
        self.graphs = GraphCache::default();
    }

    /// Applies the stimuli that are active from `step` on; all windows before it must be launched.
    fn apply_stimuli(&mut self, step: u64) -> Result<(), SimError> {
        let stimuli = self.host.plan.at::<T>(step, self.host.setup.n());
        let image = stimuli::DeviceStimuli::new(&stimuli, &self.manual, self.host.setup.n());
        self.listed = image.kick_steps();
        self.until = stimuli.until;
        self.host.stimuli_changed = false;
        if self.memory.upload_stimuli(&image)? {
            self.clear_graphs();
        }
        self.fit_rings(&image.marks)?;
        let mut model = self.memory.model.value();
        // Sources that never draw are not counted.
        let gives = image.masks.iter().any(|m| *m != 0) || !image.kicks.is_empty();
        model.n_sources = if gives { image.sources.len() as u32 } else { 0 };
        model.has_gains = u32::from(!image.gains.is_empty());
        model.may_overflow = self.neurons.may_overflow(&image, &stimuli, &self.host.constants).into();
        self.memory.model.set(model)?;
        Ok(self.neurons.apply_stimuli(&mut self.memory, &self.kernels, step as u32)?)
    }

    /// Waits for the oldest graph and reads its results. Fails if the spikes in transit do not fit into full rings even with windows
    /// of one step.
    fn collect(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        let rows = self.neurons.spec().rows;
        let reading = self.queue.collect(&self.memory, rows, &mut self.host.measurements, pass)?;
        let Some(Reading { step, full, non_finite, events_per_window }) = reading else { return Ok(()) };
        self.events_per_window = events_per_window;
        self.non_finite = self.non_finite.or(non_finite);
        let stuck = step == self.host.step;
        self.host.step = step;
        let Some(full) = full else {
            self.window = self.sizes.window;
            return Ok(());
        };
        // A ring was full, so later windows did nothing. Continues from here, with a longer ring or shorter windows if necessary.
        self.queue.discard_from(step)?;
        self.memory.clear_kicks()?;
        self.host.stimuli_changed = true;
        if self.double_ring(full)? || !stuck {
            return Ok(());
        }
        if self.window == 1 {
            return Err(SimError::Device(format!(
                "the spikes in transit do not fit into {}: lower the activity or the delay, or run on the CPU",
                sizes::bytes(self.sizes.full_ring_bytes())
            )));
        }
        self.window = (self.window / 2).max(1);
        Ok(())
    }
}

/// Returns the kernel module of a precision.
fn module<T: Real>() -> ModuleSpec {
    if T::BYTES == 8 { Kernels::SPEC } else { Kernels::SINGLE }
}

fn unreachable_graph() -> GpuError {
    GpuError::Driver { doing: "launching a captured step".to_owned(), why: "it was not captured".to_owned() }
}

const _: () = assert!(size_of::<Propagator<f64>>() == 32 && size_of::<Window>() == 56);
