//! CUDA backend: the generation of [`cpu`](super::cpu) in single precision, without host synchronisation per step.
//!
//! # CUDA graph
//!
//! A generation is about fifty launches, captured once as a CUDA graph and replayed. Population size, slot lists and events stay
//! on the device: every kernel is launched for the whole table and reads the population size from memory. Events are appended to
//! a log of two halves: the host processes the events of one half while generations fill the other.
//!
//! # Agreement with the CPU
//!
//! Random numbers have the same addresses, keys compare the same way, ties go to the lower slot, and sums over the population are
//! in double precision in an order that depends only on the population size. Events are therefore the same unless rounding
//! changes a decision, and a run gives the same bits for any launch configuration.
//!
//! # Coupling
//!
//! Sums run over all pairs below [`coupling::FAST_FROM`] slots; larger tables use the O(N log N) algorithm of
//! `kernels/nuclei/fast.cu`.
//!
//! | file | subject |
//! | --- | --- |
//! | [`layout`] | structs shared with the kernels |
//! | [`couple_kernels`], [`fitness_kernels`], [`turnover_kernels`] | declarations of the kernels |
//! | [`coupling`] | coupling sums and their buffers |
//! | [`mixer`] | coupling sums of several phase fields |
//! | [`readings`] | fields and samples for views and recordings |
//! | [`variants`] | timing of all coupling algorithms |
//! | [`kernel_params`], [`task`] | parameters and task as read by the kernels |
//! | [`memory`] | device buffers |
//! | [`log`] | parts of the log, read while the next one runs |
//! | [`generation`] | launches in order |
//! | [`predict`] | predicted memory |
//! | `simulation` | implementation of `Simulation` |

pub mod couple_kernels;
pub mod coupling;
pub mod fitness_kernels;
pub mod generation;
pub mod kernel_params;
pub mod layout;
pub mod log;
pub mod memory;
pub mod mixer;
pub mod predict;
pub mod readings;
mod simulation;
pub mod task;
mod turnover;
pub mod turnover_kernels;
pub mod variants;

use super::{
    events::PopulationStats,
    host_state::{HostState, non_finite},
    initial,
    ledger::Ledger,
    mixing,
    params::Params,
    state::State,
    task::Setup,
};
use crate::{
    gpu::{Gpu, GpuError, Graph, Mark, ModuleSpec, Pass},
    kinds::shared::field_readback::{FieldReadback, ReadsFields as _},
    sim::{Buffers as _, BuildContext, SimError},
};
use coupling::{Algorithm, CouplingSizes};
use generation::{Pipeline, PipelineSizes, Tile};
use layout::{KernelParams, LogEntry};
use log::{LogPart, PartInProgress};
use memory::TableSizes;
use readings::FieldCopies;
use std::{ops::Range, sync::Arc};
use task::TaskSizes;
use variants::Variants;

/// All kernel modules of this backend.
pub const MODULES: &[ModuleSpec] = &[
    fitness_kernels::FitnessKernels::SPEC,
    fitness_kernels::FitnessMmaKernels::SPEC,
    couple_kernels::CoupleKernels::SPEC,
    couple_kernels::FastKernels::SPEC,
    turnover_kernels::PhaseKernels::SPEC,
    turnover_kernels::SelectKernels::SPEC,
    turnover_kernels::TurnoverKernels::SPEC,
    readings::ReadingKernels::SPEC,
];

/// Maximum substeps in a captured graph; with more, launch overhead is negligible.
const MAX_GRAPH_SUBSTEPS: u32 = 128;

/// Name of the fitness without tensor cores in [`Execution`](crate::sim::Execution).
const SINGLE: &str = "single_precision";

/// Launch configuration. Results depend only on the options that state it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tuning {
    /// Number of blocks of `couple_tiled`; `None`: one per work item.
    pub pair_blocks: Option<u32>,
    /// Number of nuclei per block of the fitness kernels; `None`: chosen by capacity.
    pub tile: Option<Tile>,
    /// Maximum number of generations between two readings of the log; `None`: as many as half of the log holds.
    pub batch: Option<u32>,
    /// Disables tensor cores for the fitness. This option changes the last bits.
    pub without_tensor_cores: bool,
    /// Coupling algorithm if the parameters do not select one; `None`: the fastest. This option changes the last bits.
    pub coupling: Option<Algorithm>,
}

/// A population on an NVIDIA GPU.
pub struct CudaSim {
    /// Graphs of a generation without and with the median and ensemble errors. Declared before the buffers that the graphs point
    /// to, so that they are dropped first.
    graphs: [Option<Graph>; 2],
    host: HostState,
    gpu: Arc<Gpu>,
    pipeline: Pipeline,
    tuning: Tuning,
    /// Comparison of coupling algorithms; `None` without `measure.variants`.
    variants: Option<Variants>,
    fields: FieldCopies,
    readback: FieldReadback,
}

impl CudaSim {
    /// Creates a simulation at step 0, with the implementations selected in `context.kernels`. Fails as
    /// [`CudaSim::tuned`] does.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, gpu: &Arc<Gpu>) -> Result<Self, SimError> {
        let tuning = Tuning {
            coupling: context.kernels.get("coupling").and_then(Algorithm::exact),
            without_tensor_cores: context.kernels.get("fitness") == Some(SINGLE),
            ..Tuning::default()
        };
        Self::tuned(params, context, setup, gpu, tuning)
    }

    /// Creates a simulation at step 0 with a launch configuration. Fails if the parameters are not supported or memory is full.
    pub fn tuned(
        params: &Params,
        context: &BuildContext,
        setup: Arc<Setup>,
        gpu: &Arc<Gpu>,
        tuning: Tuning,
    ) -> Result<Self, SimError> {
        kernel_params::check(params, &setup)?;
        let dim = setup.dim;
        let kernel_params = kernel_params::kernel_params(params, context.seed, dim);
        let mut pipeline = Pipeline::allocate(
            gpu,
            &PipelineSizes {
                table: TableSizes::of(&kernel_params),
                coupling: coupling_sizes(params, &tuning),
                task: TaskSizes::on(gpu, params, &setup, tuning.without_tensor_cores),
                tile: tuning.tile,
            },
        )?;
        pipeline.fill(params, &setup, kernel_params)?;
        let state = initial::state(params, context.seed, dim)?;
        let mut host = HostState::new(params, context, setup, state.n() as u64);
        host.sampler.lineage.defer();
        let mut sim = Self {
            graphs: [None, None],
            host,
            gpu: gpu.clone(),
            pipeline,
            tuning,
            variants: Variants::new(gpu, params)?,
            fields: FieldCopies::default(),
            readback: FieldReadback::default(),
        };
        sim.pipeline.table.upload(&state, 0, &sim.host.ledger)?;
        Ok(sim)
    }

    /// Replaces the population and sets the step to `generation`. Fails if the device fails.
    pub fn put(&mut self, state: &State<f32>, generation: u64) -> Result<(), SimError> {
        self.host.begin(generation, &state.idx);
        Ok(self.pipeline.table.upload(state, generation, &self.host.ledger)?)
    }

    /// Reads the population from the device. Fails if the device fails.
    pub fn state(&self) -> Result<State<f32>, SimError> {
        self.pipeline.table.download(self.host.setup.dim)
    }

    /// Reads the occupied slots from the device. Fails if the device fails.
    pub fn living(&self) -> Result<Vec<u32>, SimError> {
        Ok(self.pipeline.table.idx.read_range(0..self.host.ledger.n() as usize)?)
    }

    /// Whether fitness is computed on tensor cores.
    pub fn on_tensor_cores(&self) -> bool {
        self.pipeline.task.as_ref().is_some_and(|task| task.split.is_some())
    }

    /// Runs steps 0 and 1 of a generation: gradient step, fitness and entropy. Fails if the device fails.
    pub fn measure(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        Ok(self.pipeline.measure(self.host.params.task.learning_rate > 0.0, pass)?)
    }

    /// Returns the backend-independent state.
    pub const fn host(&self) -> &HostState {
        &self.host
    }

    /// Launches generations in parts, and processes each part while the next one is computed. Returns after all parts are
    /// processed. Fails if the weights of a nucleus become non-finite.
    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let (mut left, mut in_progress) = (steps, None::<PartInProgress>);
        while left > 0 || in_progress.is_some() {
            let before = in_progress.take();
            let entries = self.pipeline.scratch.next_part(left, before.as_ref(), self.tuning.batch);
            if let Some(entries) = entries {
                let first_step = before.as_ref().map_or(self.host.step, |before| before.end_step(self.host.step));
                let measured = Some(&mut *pass).filter(|pass| pass.profiled && left == steps);
                left -= entries.len() as u32;
                in_progress = Some(self.launch_part(entries, first_step, measured)?);
            }
            if before.is_some() || left == 0 {
                self.convert_fields()?; // The device has two parts to compute during the conversion, unless there is only one.
            }
            self.host.sampler.lineage.catch_up();
            if let Some(before) = before {
                self.take_in(&before)?;
            }
        }
        Ok(pass.collect()?)
    }

    /// Launches the generations of a part that starts at `first_step`; with `measured`, the first generation is profiled.
    fn launch_part(
        &mut self,
        entries: Range<usize>,
        first_step: u64,
        measured: Option<&mut Pass>,
    ) -> Result<PartInProgress, SimError> {
        let mut steps = (1..=entries.len() as u64).map(|i| first_step + i);
        let with_details = self.pipeline.task.is_some() && steps.any(|step| self.host.sampler.needs_errors(step));
        self.pipeline.scratch.begin_part(entries.start)?;
        let n_measured = usize::from(measured.is_some());
        if let Some(pass) = measured {
            self.profiled_generation(with_details, pass)?;
        }
        for _ in n_measured..entries.len() {
            if self.host.params.phases.substeps <= MAX_GRAPH_SUBSTEPS {
                self.graph(with_details)?.launch()?;
            } else {
                self.pipeline.generation(&self.host.params, with_details, &mut Pass::default())?;
            }
        }
        Ok(PartInProgress { entries, with_details, mark: Mark::now(&self.gpu)? })
    }

    /// Launches one generation without a graph, with a timing event after every kernel.
    fn profiled_generation(&mut self, with_details: bool, pass: &mut Pass) -> Result<(), SimError> {
        pass.measures_steps(1);
        let n = self.host.ledger.n();
        let (n_slots, levels) = (self.pipeline.table.kernel_params.value().n_slots, self.pipeline.coupling.levels());
        self.pipeline.couple_generation(&self.host.params, pass)?;
        if let Some(variants) = &mut self.variants {
            variants.time(&self.gpu, &self.pipeline.table, n, pass)?;
        }
        self.pipeline.end_generation(&self.host.params, with_details, pass)?;
        pass.items_of(|name| {
            let docs = MODULES.iter().flat_map(|m| m.kernels).find(|k| k.name == name).map_or("", |k| k.docs);
            let items = docs.split("Items: ").nth(1).unwrap_or("").trim();
            match items {
                "nuclei." => n,
                "pairs." if name == "sum_near" => 256 * n,
                "pairs." => n * n,
                "slots." => n_slots.into(),
                "sites and levels." => n * u64::from(levels),
                _ => 0,
            }
        });
        Ok(())
    }

    fn graph(&mut self, with_details: bool) -> Result<&mut Graph, GpuError> {
        let (pipeline, params) = (&mut self.pipeline, &self.host.params);
        let graph = &mut self.graphs[usize::from(with_details)];
        if graph.is_none() {
            // SAFETY: buffers are only replaced together with the graphs (`drop_graphs`), which are dropped before them.
            *graph =
                Some(unsafe { Graph::capture(&self.gpu, |pass| pipeline.generation(params, with_details, pass)) }?);
        }
        let not_captured =
            || GpuError::Driver { doing: "launching a generation".to_owned(), why: "it was not captured".to_owned() };
        graph.as_mut().ok_or_else(not_captured)
    }

    fn drop_graphs(&mut self) {
        self.graphs = [None, None];
    }

    /// Reads the events and statistics of a part into the host state. Later generations run concurrently. Fails if the weights
    /// of a nucleus became non-finite.
    fn take_in(&mut self, part: &PartInProgress) -> Result<(), SimError> {
        let Self { pipeline: Pipeline { scratch, chosen, task, .. }, host, .. } = self;
        if let Some(chosen) = chosen {
            chosen.start_reading(&part.entries, &part.mark)?;
        }
        let LogPart { entries, first_word, words, errors, orders } =
            scratch.read_part(part, host.sampler.lineage.is_tapped())?;
        let samples = chosen.as_ref().map_or(Ok(&[][..]), |chosen| chosen.finish_reading(entries.len()))?;
        let (n_orders, n_samples) = (orders.len() / entries.len(), samples.len() / entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let mut stats = host_stats(entry, part.with_details);
            stats.r_more[..n_orders].copy_from_slice(&orders[at * n_orders..][..n_orders]);
            if task.is_none() && host.sampler.needs_errors(host.step + 1) {
                stats.f_median = 0.0; // there is no task: all errors are 0
            }
            if !(stats.f_mean + stats.h_mean).is_finite() {
                return Err(non_finite("the weights of a nucleus", host.step));
            }
            let first = (entry.words - first_word) as usize;
            host.events = events_of(entry, &words[first..], errors.get(first..).unwrap_or_default());
            add(&mut host.ledger, entry);
            let samples = &samples[at * n_samples..][..n_samples];
            let value = |probe, slot| chosen.as_ref().map_or(f32::NAN, |chosen| chosen.value(samples, probe, slot));
            host.end_generation(stats, &|_, probe, slot| value(probe, slot));
        }
        Ok(())
    }
}

impl Pipeline {
    /// Writes all buffers that depend on the parameters.
    fn fill(&mut self, params: &Params, setup: &Setup, kernel_params: KernelParams) -> Result<(), GpuError> {
        self.table.kernel_params.set(kernel_params)?;
        self.coupling.fill(setup)?;
        if let Some(mixer) = &mut self.mixer {
            mixer.set(&mixing::matrix(&params.coupling, mixer.fields() as usize, kernel_params.seed))?;
        }
        self.task.iter_mut().try_for_each(|task| task.fill(params, setup))
    }
}

/// Returns the modules that a simulation loads; [`FastKernels`](couple_kernels::FastKernels) only if they are used.
pub fn loaded_modules(params: &Params) -> Vec<ModuleSpec> {
    let is_fast = kernel_params::algorithm(params, None) == Algorithm::Fast || params.measure.variants;
    let is_loaded = |module: &&ModuleSpec| is_fast || module.id() != couple_kernels::FastKernels::SPEC.id();
    MODULES.iter().filter(is_loaded).copied().collect()
}

fn coupling_sizes(params: &Params, tuning: &Tuning) -> CouplingSizes {
    let n_slots = params.population.capacity as usize;
    CouplingSizes { n_slots, algorithm: kernel_params::algorithm(params, tuning.coupling), blocks: tuning.pair_blocks }
}

/// Converts a log entry to events. `errors` are at the positions of the slots in `words`, or empty.
fn events_of(e: &LogEntry, words: &[u32], errors: &[f32]) -> super::events::Events {
    let (ended, deaths) = ((e.fused + e.decayed) as usize, (e.fused + e.decayed + 2 * e.born) as usize);
    let parts = [errors.get(..ended), errors.get(deaths..deaths + e.died as usize)];
    let (fused, rest) = words.split_at(e.fused as usize);
    let (decayed, rest) = rest.split_at(e.decayed as usize);
    let (born, rest) = rest.split_at(2 * e.born as usize);
    super::events::Events {
        fused: fused.to_vec(),
        decayed: decayed.to_vec(),
        born: born.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
        missing: e.missing,
        died: rest[..e.died as usize].to_vec(),
        errors: parts.map(Option::unwrap_or_default).concat(),
    }
}

fn add(ledger: &mut Ledger, e: &LogEntry) {
    ledger.n_fused += u64::from(e.fused > 0);
    ledger.absorbed += u64::from(e.fused.saturating_sub(1));
    ledger.n_decay += u64::from(e.decayed);
    ledger.children += u64::from(e.born - e.decayed);
    ledger.overflow += u64::from(e.missing);
    ledger.n_died += u64::from(e.died);
}

fn host_stats(e: &LogEntry, with_details: bool) -> PopulationStats {
    let c = &e.stats;
    PopulationStats {
        n: e.n.into(),
        r: c.r,
        r_more: Default::default(),
        r_j: c.r_weighted,
        mean_phase: c.mean_sin.atan2(c.mean_cos),
        p_dec: c.p,
        p_mean: c.p_mean,
        temperature: c.t,
        f_best: c.min_f.into(),
        f_mean: c.mean_f,
        f_median: if with_details { c.median_f.into() } else { f64::NAN },
        f_ensemble: if with_details { c.ensemble_f.into() } else { f64::NAN },
        h_mean: c.mean_h,
    }
}
