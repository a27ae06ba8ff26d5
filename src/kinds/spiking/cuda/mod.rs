//! The CUDA backend: the step of [`cpu`](super::cpu), to the bit, without the host in the loop.
//!
//! # A window, two launches
//!
//! Nothing that happens within one delay can influence the rest of it. So steps are taken in *windows* of at most one
//! delay (and at most 32 steps): `deliver` adds the spikes that arrive in the window to a table of integers, one row
//! per step (`deliver_driven`, where somebody is driven or rewired, also draws the kicks at their Philox addresses and
//! obeys changed weights); `advance` takes each neuron through the whole window, from one thing that happens to the next,
//! appends who fired, and counts synaptic events. Both read what to do from a plan of windows; up to 64 windows are one
//! CUDA graph.
//!
//! What makes the outcome equal to the CPU's: the closed form of the anchor is evaluated in the written order without
//! fused multiply-add from the same tables; arrivals are sums of integers; draws are addressed; spikes of a window are
//! sorted by step and neuron before anyone sees them.
//!
//! # Many windows, one launch
//!
//! Where all neurons find room in the shared memory of the device (1,088 per multiprocessor) and the situation is plain
//! (one source of kicks, weights as they are, nobody traced), `reside` takes up to 64 windows in one launch: neurons
//! stay where they are, and what arrives at them is added up there. Blocks meet once per window, read who fired, and look
//! up in a wiring that is [dealt](dealt::Dealt) to them what concerns their own neurons. It leaves memory as the two
//! launches do, so either can go on from where the other ended.
//!
//! Noisy leaky units, whose windows are single steps, have `leak` and `board` for `advance` and `reside`.
//!
//! # What costs nothing
//!
//! A block takes care of 512 neurons. It leaves at once when no spike reached them, no train kicks them and the bound
//! that the CPU keeps a calendar by says that none can cross in this window. In a window with few spikes `deliver` marks
//! whom it reaches, 32 neurons at a time; in one with many, everybody looks.
//!
//! # Numbers that are none
//!
//! A state that is no number is told as by the CPU: the kernel that steps the neuron notes the step and who it was beside
//! the counters of the window, by one maximum over keys. As a rule inputs are [too small](drive::Image::is_wild) to lead
//! there, and the quick paths only look at the end of a window whether somebody was lost before. Where they are not, nobody
//! resides, and every neuron goes the long way, which looks in every step.
//!
//! # The host
//!
//! knows the clock, not the activity. It plans windows, launches graphs and, one graph behind, reads the spikes from
//! page-locked memory that a second stream fills while the next graph runs. Rings of fixed size hold spikes; a window
//! that might overflow one is not run, nor those after it, and the host plans anew from there.
//!
//! | file | subject |
//! | --- | --- |
//! | [`kernels`] | the declarations shared with CUDA |
//! | `sizes` | how much of everything, before anything is allocated |
//! | `memory` | what lies on the device |
//! | `launches` | the launches of a window, and of many at once |
//! | `dealt` | the wiring as resident blocks read it |
//! | `drive` | drives and lesions, as the kernels read them |
//! | `queue` | windows planned, in flight, read back |
//! | `state` | saved states |
//! | `units` | what differs for noisy leaky units |
//! | `ways` | the last delivery once more in other ways, for the timings |

mod dealt;
mod drive;
pub mod kernels;
mod launches;
mod memory;
mod queue;
mod simulation;
mod sizes;
mod state;
mod units;
mod ways;

use super::{
    NeuronModel, Params,
    cpu::SETTLE_EVERY,
    desk::{Desk, guard},
    layout::{Propagator, Real},
    setup::Setup,
};
use crate::{
    data::Csr,
    gpu::{Gpu, GpuError, Graph, ModuleSpec, Pass, kernel::Grid},
    sim::{BuildContext, NonFinite, SimError},
};
use dealt::Dealt;
use drive::Hand;
use kernels::{Kernels, Window};
use memory::Memory;
use queue::{Deliverer, Queue, Reading};
use sizes::GRAPH;
pub use sizes::{Residence, Sizes, Tuning};
use std::sync::Arc;
use units::UnitStep;
use ways::Ways;

/// A spiking network on an NVIDIA GPU.
pub struct CudaSim<T> {
    desk: Desk<T>,
    gpu: Arc<Gpu>,
    kernels: Kernels,
    sizes: Sizes,
    tuning: Tuning,
    memory: Memory,
    graphs: Graphs,
    queue: Queue,
    /// Kicks by hand, with their step.
    hand: Vec<Hand>,
    /// Steps of the listed kicks, ascending, in the order in which the kicks lie on the device.
    listed: Vec<u64>,
    /// The situation holds below this step.
    until: u64,
    /// The first neuron whose state was no number, until it is told.
    lost: Option<NonFinite>,
    /// Steps per window; fewer for a while after the rings were full.
    window: u32,
    /// How `reside` is launched, where neurons find room.
    residence: Option<Grid>,
    /// Other ways to deliver, where they are to be compared and find room.
    ways: Option<Option<Ways>>,
}

/// What a captured graph does beside the two launches per window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shape {
    driven: bool,
    exactly: bool,
    kicks: bool,
    traced: bool,
}

/// Captured graphs of 1, 2, 4 … windows, for one shape at a time.
#[derive(Default)]
struct Graphs {
    shape: Shape,
    graphs: [Option<Graph>; GRAPH.ilog2() as usize + 1],
}

impl<T: Real> CudaSim<T> {
    /// At rest, step 0.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, gpu: &Arc<Gpu>) -> Result<Self, SimError> {
        Self::tuned(params, context, setup, gpu, Tuning::default())
    }

    /// The same with launches of another shape, which must not change a bit.
    pub fn tuned(
        params: &Params,
        context: &BuildContext,
        setup: Arc<Setup>,
        gpu: &Arc<Gpu>,
        tuning: Tuning,
    ) -> Result<Self, SimError> {
        let desk = Desk::new(params, context, setup)?;
        let is_leaky = params.network.model == NeuronModel::NoisyLeaky;
        // Every unit is looked at in every step: there is no account to keep of who was reached. Its windows are single
        // steps, so more of them make a graph.
        let graph = if is_leaky { 4 * tuning.graph } else { tuning.graph };
        let dense_chunks = if is_leaky { 0 } else { tuning.dense_chunks };
        let tuning = Tuning { graph: graph.clamp(1, GRAPH), dense_chunks, ..tuning };
        let sizes = Sizes::new(&desk.setup.wiring, desk.constants.delay, T::BYTES as u64, &tuning)?;
        sizes.check(&gpu.memory()?)?;
        let kernels = Kernels::load_as(gpu, &module::<T>())?;
        let mut memory = Memory::new(gpu, &sizes, &tuning, &desk.setup.wiring, context.seed)?;
        if is_leaky {
            memory.units = Some(UnitStep::new(gpu, params, &desk.setup)?);
            memory.states.write_at(0, &units::start(context.seed, desk.setup.n()))?;
        }
        let can_reside =
            |grid| memory.units.as_ref().map_or_else(|| kernels.can_reside(grid), |u| u.kernels.can_board(grid));
        let residence = match sizes.residence(tuning.residence, gpu.multiprocessors, is_leaky) {
            Some(grid) if can_reside(grid)? && move_in(gpu, &mut memory, &sizes, grid, &desk.setup.wiring)? => {
                Some(grid)
            }
            _ => None,
        };
        let mut sim = Self {
            queue: Queue::new(gpu, &sizes, desk.constants.delay)?,
            graphs: Graphs::default(),
            hand: vec![],
            listed: vec![],
            until: 0,
            lost: None,
            window: sizes.window,
            residence,
            ways: None,
            gpu: gpu.clone(),
            desk,
            kernels,
            sizes,
            tuning,
            memory,
        };
        sim.upload_constants()?;
        (sim.desk.meter.averages_elsewhere, sim.desk.meter.hashes_elsewhere) = (true, true);
        sim.memory.fade(&sim.desk.meter)?;
        gpu.synchronize()?;
        Ok(sim)
    }

    /// Writes what was derived from the parameters.
    fn upload_constants(&mut self) -> Result<(), GpuError> {
        let c = &self.desk.constants;
        let table: Vec<u32> = c.propagators.iter().flat_map(|p| words([p.a, p.b, p.d, p.c])).collect();
        self.memory.propagators.write(&table)?;
        let mut model = self.memory.model.value();
        model.theta = c.theta.wide();
        model.theta_f = c.theta.wide() as f32;
        model.u_reset = c.u_reset.wide();
        model.w_syn = c.w_syn.wide();
        model.dt_per_tau_m = c.dt_per_tau_m.wide();
        model.b_peak = c.b_peak.wide();
        model.slack = c.slack.wide();
        model.v_rest = c.v_rest;
        model.refractory = c.refractory;
        self.memory.model.set(model)
    }

    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let end = self.desk.step + u64::from(steps);
        let step = self.desk.step;
        self.lost = None;
        if !self.desk.by_hand.is_empty() {
            let given = self.desk.by_hand.drain(..);
            self.hand.extend(given.map(|(lane, weight)| Hand { step, lane, weight: weight.wide() }));
            self.desk.stale = true;
        }
        while self.desk.step < end && self.lost.is_none() {
            let next = self.queue.next_step(self.desk.step);
            if next < end && self.queue.has_room() {
                self.launch(next, end, pass)?;
            } else {
                self.collect(pass)?;
            }
        }
        // Only when somebody was lost; whoever goes on from here finds the clock where the neurons are.
        while self.queue.is_flying() {
            self.collect(pass)?;
        }
        self.hand.retain(|h| h.step >= self.desk.step);
        self.time_ways(pass)?;
        pass.collect()?;
        guard(self.lost.take().into_iter(), &self.desk.setup.neurons)
    }

    /// Plans and launches one graph of windows from `step` on, no further than `end`.
    fn launch(&mut self, step: u64, end: u64, pass: &mut Pass) -> Result<(), SimError> {
        if self.desk.stale || step >= self.until {
            self.enter_situation(step)?;
        }
        if step > 0 && step.is_multiple_of(SETTLE_EVERY) && self.memory.units.is_none() {
            self.settle(step, pass)?;
        }
        let settle = (step / SETTLE_EVERY + 1) * SETTLE_EVERY;
        let end = end.min(self.until).min(settle);
        let next_listed = self.listed.partition_point(|k| *k < step);
        let is_listed = self.listed.get(next_listed).is_some_and(|k| *k < end);
        let is_plain = self.window == self.sizes.window && !is_listed && self.memory.is_plain();
        let residence = self.residence.filter(|_| is_plain);
        let most = if residence.is_some() { (4 * self.tuning.graph).min(GRAPH) } else { self.tuning.graph };
        // Launches become shorter towards the end, so that little is left to be read when nothing runs any more.
        let left = end.saturating_sub(step).div_ceil(u64::from(self.window)).max(1);
        let room = left.min(u64::from(most)).min(left.div_ceil(2).max(16)) as u32;
        let n = if residence.is_some() { room } else { 1 << room.ilog2() };
        let plan = self.queue.plan(step, end, n, self.window, &self.listed);
        let shape = Shape {
            driven: self.memory.is_driven(),
            exactly: self.memory.is_exact(),
            kicks: plan.iter().any(|w| w.kick_from < w.kick_to),
            traced: !self.desk.meter.traced.is_empty(),
        };
        self.memory.windows.write_at(0, &plan)?;
        self.memory.counters.clear_range(self.queue.counters())?;
        // One graph of a measured batch is launched kernel by kernel, with events between them.
        let measured = pass.profiled && !self.queue.is_measured();
        if measured {
            self.queue.measure();
        }
        if let Some(grid) = residence {
            let pass = if measured { pass } else { &mut Pass::default() };
            self.memory.reside(&self.kernels, grid, n, pass)?;
            self.memory.order(&self.kernels, n, false, pass)?;
        } else if measured {
            for index in 0..n {
                self.memory.launch(&self.kernels, index, shape, pass)?;
            }
            self.memory.order(&self.kernels, n, true, pass)?;
        } else {
            self.graph(n, shape)?.launch()?;
        }
        let by = match residence {
            Some(_) => Deliverer::Resident,
            None if shape.driven => Deliverer::Driven,
            None => Deliverer::Plain,
        };
        Ok(self.queue.sent(plan, self.desk.meter.traced.len(), by)?)
    }

    fn graph(&mut self, n: u32, shape: Shape) -> Result<&mut Graph, GpuError> {
        if self.graphs.shape != shape {
            self.graphs = Graphs { shape, ..Graphs::default() };
        }
        let Self { graphs, memory, kernels, gpu, .. } = self;
        let place = &mut graphs.graphs[n.ilog2() as usize];
        if place.is_none() {
            let record = |pass: &mut Pass| {
                (0..n).try_for_each(|index| memory.launch(kernels, index, shape, pass))?;
                memory.order(kernels, n, true, pass)
            };
            // SAFETY: buffers are only replaced together with the graphs (`forget_graphs`).
            *place = Some(unsafe { Graph::capture(gpu, record) }?);
        }
        place.as_mut().ok_or_else(unreachable_graph)
    }

    fn forget_graphs(&mut self) {
        self.graphs = Graphs::default();
    }

    /// Takes up what is in force from `step` on; all windows before it are launched.
    fn enter_situation(&mut self, step: u64) -> Result<(), SimError> {
        let situation = self.desk.plan.at::<T>(step, self.desk.setup.n());
        let image = drive::Image::new(&situation, &self.hand, self.desk.setup.n());
        self.listed = image.kick_steps();
        self.until = situation.until;
        self.desk.stale = false;
        if self.memory.take_up(&image)? {
            self.forget_graphs();
        }
        let mut model = self.memory.model.value();
        // Sources that never give anything are none.
        let gives = image.masks.iter().any(|m| *m != 0) || !image.kicks.is_empty();
        model.n_sources = if gives { image.sources.len() as u32 } else { 0 };
        model.has_gains = u32::from(!image.gains.is_empty());
        // Units are looked at in every step.
        let is_wild = self.memory.units.is_none() && image.is_wild(&situation, &self.desk.constants);
        model.is_wild = is_wild.into();
        self.memory.model.set(model)?;
        self.memory.enter(&self.kernels, step as u32)?;
        Ok(())
    }

    fn settle(&mut self, step: u64, pass: &mut Pass) -> Result<(), GpuError> {
        self.memory.settle(&self.kernels, step as u32, pass)
    }

    /// Waits for the oldest graph, and reads what it did.
    fn collect(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        let Some(reading) = self.queue.collect(&self.memory, &mut self.desk.meter, pass)? else { return Ok(()) };
        let Reading { step, whole, lost } = reading;
        self.lost = self.lost.or(lost);
        let stuck = step == self.desk.step;
        self.desk.step = step;
        if whole {
            self.window = self.sizes.window;
            return Ok(());
        }
        // The rings were full: what was launched behind did nothing. Go on from here, in shorter windows if need be.
        self.queue.abandon(step)?;
        self.memory.forget_kicks()?;
        self.desk.stale = true;
        if stuck && self.window == 1 {
            return Err(SimError::Device(format!(
                "more spikes are on their way than fit into {}: lower the activity or the delay, or run on the CPU",
                sizes::bytes(self.sizes.ring_bytes())
            )));
        }
        if stuck {
            self.window = (self.window / 2).max(1);
        }
        Ok(())
    }

    /// u and g of every neuron, mV, exactly: for tests and comparisons of backends.
    pub fn states(&mut self) -> Result<Vec<(f64, f64)>, SimError> {
        let saved = state::neurons::<T>(self)?;
        let constants = &self.desk.constants;
        let now = self.desk.step as u32;
        let currents = state::currents::<T>(self)?;
        let of = |(neuron, current): (super::saved::SavedNeuron<T>, T)| {
            let mut neuron = super::cpu::neuron::Neuron {
                u: neuron.u,
                g: neuron.g,
                anchor: neuron.anchor,
                flags: neuron.marks,
                ..super::cpu::neuron::Neuron::default()
            };
            let (u, g) = neuron.state_at(now, current, constants);
            (u.wide(), g.wide())
        };
        let none = vec![T::ZERO; saved.len()];
        let currents = if currents.is_empty() { none } else { currents };
        Ok(saved.into_iter().zip(currents).map(of).collect())
    }
}

/// Deals the wiring to resident blocks, where that is possible and leaves enough memory to others.
fn move_in(gpu: &Gpu, memory: &mut Memory, sizes: &Sizes, grid: Grid, wiring: &Csr) -> Result<bool, GpuError> {
    let Grid::Meeting { blocks, .. } = grid else { return Ok(false) };
    let posts = sizes.post_words(blocks);
    let bytes = Dealt::most_bytes(sizes.n.into(), sizes.connections, blocks.into()) + 8 * posts as u64;
    if bytes > gpu.memory()?.free / 2 {
        return Ok(false);
    }
    match Dealt::new(wiring, blocks) {
        Some(dealt) => memory.move_in(&dealt, posts).map(|()| true),
        None => Ok(false),
    }
}

/// The kernels of an arithmetic.
fn module<T: Real>() -> ModuleSpec {
    if T::BYTES == 8 { Kernels::SPEC } else { Kernels::SINGLE }
}

fn unreachable_graph() -> GpuError {
    GpuError::Driver { doing: "launching a captured step".to_owned(), why: "it was not captured".to_owned() }
}

/// Numbers of the state as the words the kernels read.
fn words<T: Real>(numbers: impl IntoIterator<Item = T>) -> impl Iterator<Item = u32> {
    numbers.into_iter().flat_map(|x| {
        let bits = x.to_bits();
        [bits as u32, (bits >> 32) as u32].into_iter().take(T::BYTES / 4)
    })
}

/// The reverse.
fn numbers<T: Real>(words: &[u32]) -> impl Iterator<Item = T> + '_ {
    words.chunks_exact(T::BYTES / 4).map(|w| {
        let high = w.get(1).copied().unwrap_or(0);
        T::from_bits(u64::from(w[0]) | u64::from(high) << 32)
    })
}

const _: () = assert!(size_of::<Propagator<f64>>() == 32 && size_of::<Window>() == 56);
