//! The CUDA backend: the generation of [`cpu`](super::cpu) in single precision, without the host in the loop.
//!
//! # One graph
//!
//! A generation is about fifty launches, captured once as a CUDA graph and replayed. How many live, who they are, and
//! what happened is known on the device only: every kernel is launched for the whole table and looks up how many there
//! are. Events are appended to a log, which the host reads after some generations and hands to the desk.
//!
//! # What agrees with the CPU
//!
//! Random numbers have the same addresses, keys are compared the same way, ties go to the lower slot, sums over the
//! population are made in double precision in an order that depends on the number of nuclei only. So decisions are the
//! same wherever single precision decides them, and a run gives the same bits every time, whatever the launches.
//!
//! # Coupling
//!
//! Pair by pair up to [`coupling::FAST_FROM`] places, in O(N log N) from there on; `kernels/nuclei/fast.cu` says how.
//!
//! | file | subject |
//! | --- | --- |
//! | [`layout`] | structs shared with the kernels |
//! | [`couple`], [`measure`], [`events`] | declarations of the kernels |
//! | [`coupling`] | sums over all pairs, on buffers of their own |
//! | [`mixer`] | the same of several fields of phases |
//! | [`variants`] | the same in all ways, for the timings |
//! | [`rules`], [`task`] | parameters and task, as the kernels read them |
//! | [`memory`] | what lies on the device |
//! | [`generation`] | the launches in their order |
//! | [`predict`] | how much memory it will hold |
//! | `simulation` | the promises of a simulation |

pub mod couple;
pub mod coupling;
pub mod events;
pub mod generation;
pub mod layout;
pub mod measure;
pub mod memory;
pub mod mixer;
pub mod predict;
pub mod rules;
mod simulation;
pub mod task;
pub mod variants;

use super::{
    Params,
    desk::{Desk, lost},
    events::Standing,
    ledger::Ledger,
    mixing, start,
    state::State,
    task::Setup,
};
use crate::{
    gpu::{Gpu, GpuError, Graph, ModuleSpec, Pass},
    sim::{BuildContext, SimError},
};
use coupling::{Coupling, Way};
use generation::{Kernels, Machine, Tile};
use layout::{Entry, Log};
use memory::{Scratch, Table};
use mixer::Mixer;
use std::sync::Arc;
use task::Task;

/// All modules of this backend.
pub const MODULES: &[ModuleSpec] = &[
    measure::Measure::SPEC,
    measure::Tensor::SPEC,
    couple::Couple::SPEC,
    couple::Fast::SPEC,
    events::Phases::SPEC,
    events::Select::SPEC,
    events::Turnover::SPEC,
];

/// Substeps in a captured generation; with more of them what a launch costs the host does not matter.
const MOST_SUBSTEPS: u32 = 128;

/// Launch shapes, which must not change a bit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tuning {
    /// Blocks that work on pairs at once; as many as there is work without.
    pub pair_blocks: Option<u32>,
    /// Nuclei per block of fitness; what fills a device without.
    pub tile: Option<Tile>,
    /// Generations between two readings of the log; as many as fit without.
    pub batch: Option<u32>,
    /// Fitness without tensor cores. This one does change the last bits.
    pub plain_fitness: bool,
}

/// A population on an NVIDIA GPU.
pub struct CudaSim {
    // Before what it points to, so that it is dropped first.
    graph: Option<Graph>,
    /// Whether the graph makes what costs something to know.
    is_wanted: bool,
    desk: Desk,
    gpu: Arc<Gpu>,
    machine: Machine,
    tuning: Tuning,
    /// Whether chosen nuclei are followed from generation to generation.
    follows: bool,
}

impl CudaSim {
    /// At step 0.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, gpu: &Arc<Gpu>) -> Result<Self, SimError> {
        Self::tuned(params, context, setup, gpu, Tuning::default())
    }

    /// The same with launches of another shape.
    pub fn tuned(
        params: &Params,
        context: &BuildContext,
        setup: Arc<Setup>,
        gpu: &Arc<Gpu>,
        tuning: Tuning,
    ) -> Result<Self, SimError> {
        rules::check(params, &setup)?;
        let (dim, capacity) = (setup.dim, params.population.capacity);
        let rules = rules::rules(params, context.seed, dim);
        let machine = Machine {
            kernels: Kernels::load(gpu)?,
            table: Table::new(gpu, rules)?,
            scratch: Scratch::new(gpu, &rules)?,
            coupling: coupling_of(gpu, params, &setup, &tuning)?,
            mixer: mixer_of(gpu, params, context.seed)?,
            task: Task::new(gpu, params, &setup, tuning.plain_fitness)?,
            tile: tuning.tile.unwrap_or(Tile::of(capacity)),
        };
        let state = start::state(params, context.seed, dim);
        let desk = Desk::new(params, context, setup, state.n() as u64);
        let mut sim = Self { graph: None, is_wanted: false, desk, gpu: gpu.clone(), machine, tuning, follows: false };
        sim.machine.table.upload(&state, 0, &sim.desk.ledger)?;
        Ok(sim)
    }

    /// From a population at hand, which then is that of step `generation`.
    pub fn put(&mut self, state: &State<f32>, generation: u64) -> Result<(), SimError> {
        self.desk.begin(generation, &state.idx);
        Ok(self.machine.table.upload(state, generation, &self.desk.ledger)?)
    }

    /// The population, read from the device.
    pub fn state(&self) -> Result<State<f32>, SimError> {
        Ok(self.machine.table.download(self.desk.setup.dim)?)
    }

    /// The slots of the living, as the device lists them.
    pub fn living(&self) -> Result<Vec<u32>, SimError> {
        Ok(self.machine.table.idx.read_range(0..self.desk.ledger.n() as usize)?)
    }

    /// Whether fitness is computed on tensor cores.
    pub fn on_tensor_cores(&self) -> bool {
        self.machine.task.as_ref().is_some_and(|task| task.split.is_some())
    }

    /// Step 1 of a generation: learning, fitness, entropy.
    pub fn measure(&mut self, pass: &mut Pass) -> Result<(), SimError> {
        Ok(self.machine.measure(self.desk.params.task.learning_rate > 0.0, pass)?)
    }

    /// The backend-neutral half.
    pub const fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Generations until the log is read again.
    fn batch(&self, left: u32) -> u32 {
        let fit = self.machine.scratch.entries.len() as u32;
        let most = if self.follows { 1 } else { self.tuning.batch.unwrap_or(fit).min(fit) };
        left.min(most).max(1)
    }

    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let (mut left, mut measured) = (steps, !pass.profiled);
        while left > 0 {
            let batch = self.batch(left);
            let wanted = (1..=u64::from(batch)).any(|i| self.desk.meter.wanted(self.desk.step + i));
            self.machine.scratch.log.set(Log::default())?;
            let mut replayed = batch;
            if !measured {
                self.generation_in_the_open(wanted, pass)?;
                (measured, replayed) = (true, batch - 1);
            }
            for _ in 0..replayed {
                if self.desk.params.phases.substeps <= MOST_SUBSTEPS {
                    self.graph(wanted)?.launch()?;
                } else {
                    self.machine.generation(&self.desk.params, wanted, &mut Pass::default())?;
                }
            }
            self.read_log(batch, wanted)?;
            left -= batch;
        }
        Ok(pass.collect()?)
    }

    /// One generation, kernel by kernel, with events between them.
    fn generation_in_the_open(&mut self, wanted: bool, pass: &mut Pass) -> Result<(), SimError> {
        let n = self.desk.ledger.n();
        let (places, levels) = (self.machine.table.rules.value().places, self.machine.coupling.levels());
        self.machine.couple_generation(&self.desk.params, pass)?;
        if self.desk.params.measure.variants {
            self.machine.time_variants(&self.gpu, n, pass)?;
        }
        self.machine.end_generation(&self.desk.params, wanted, pass)?;
        pass.items_of(|name| {
            let docs = MODULES.iter().flat_map(|m| m.kernels).find(|k| k.name == name).map_or("", |k| k.docs);
            let items = docs.split("Items: ").nth(1).unwrap_or("").trim();
            match items {
                "nuclei." => n,
                "pairs." if name == "near" => 256 * n,
                "pairs." => n * n,
                "places." => places.into(),
                "sites and levels." => n * u64::from(levels),
                _ => 0,
            }
        });
        Ok(())
    }

    fn graph(&mut self, wanted: bool) -> Result<&mut Graph, GpuError> {
        if self.is_wanted != wanted {
            (self.graph, self.is_wanted) = (None, wanted);
        }
        if self.graph.is_none() {
            let (machine, params) = (&mut self.machine, &self.desk.params);
            // SAFETY: buffers are only replaced together with the graph (`forget_graph`), which is dropped before them.
            self.graph = Some(unsafe { Graph::capture(&self.gpu, |pass| machine.generation(params, wanted, pass)) }?);
        }
        let lost =
            || GpuError::Driver { doing: "launching a generation".to_owned(), why: "it was not captured".to_owned() };
        self.graph.as_mut().ok_or_else(lost)
    }

    fn forget_graph(&mut self) {
        self.graph = None;
    }

    /// Reads what happened in the last generations, and tells the desk.
    fn read_log(&mut self, batch: u32, wanted: bool) -> Result<(), SimError> {
        let entries = self.machine.scratch.entries.read_range(0..batch as usize)?;
        let end = entries.last().map_or(0, |e| e.words + length(e));
        let words = self.machine.scratch.words.read_range(0..end as usize)?;
        let more = self.machine.mixer.as_ref().map_or(0, |mixer| mixer.fields() as usize - 1);
        let orders = self.machine.scratch.orders.read_range(0..batch as usize * more)?;
        for (at, entry) in entries.iter().enumerate() {
            let mut standing = standing(entry, wanted);
            standing.r_more[..more].copy_from_slice(&orders[at * more..][..more]);
            if self.machine.task.is_none() {
                standing.f_ensemble = f64::NAN; // nobody is asked anything
            }
            if !(standing.f_mean + standing.h_mean).is_finite() {
                return Err(lost("the weights of some nucleus", self.desk.step));
            }
            self.desk.events = happened(entry, &words[entry.words as usize..]);
            add(&mut self.desk.ledger, entry);
            let dim = self.desk.setup.dim;
            let followed = if self.follows { Some(self.machine.table.download_places(dim)?) } else { None };
            let step = self.desk.step + 1;
            self.desk.end_generation(standing, &|params, probe, slot| match &followed {
                Some(state) => super::fields::value(probe, slot, state, params, step),
                None => f32::NAN,
            });
        }
        Ok(())
    }
}

/// Sums over all pairs as the parameters want them.
fn coupling_of(gpu: &Arc<Gpu>, params: &Params, setup: &Setup, tuning: &Tuning) -> Result<Coupling, GpuError> {
    let mut coupling = Coupling::new(gpu, params.population.capacity, rules::way(params), tuning.pair_blocks)?;
    if let (Way::Given, Some(matrix)) = (coupling.way, &setup.matrix) {
        coupling.give(matrix)?;
    }
    Ok(coupling)
}

/// What mixes several fields of phases.
fn mixer_of(gpu: &Arc<Gpu>, params: &Params, seed: u64) -> Result<Option<Mixer>, GpuError> {
    let fields = mixing::fields(params);
    let mut mixer = Mixer::new(gpu, fields, params.population.capacity)?;
    if let Some(mixer) = &mut mixer {
        mixer.take(&mixing::matrix(&params.coupling, fields, seed))?;
    }
    Ok(mixer)
}

/// Words of a generation in the log.
const fn length(e: &Entry) -> u32 {
    e.fused + e.decayed + 2 * e.born + e.died
}

fn happened(e: &Entry, words: &[u32]) -> super::events::Events {
    let (fused, rest) = words.split_at(e.fused as usize);
    let (decayed, rest) = rest.split_at(e.decayed as usize);
    let (born, rest) = rest.split_at(2 * e.born as usize);
    super::events::Events {
        fused: fused.to_vec(),
        decayed: decayed.to_vec(),
        born: born.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
        missing: e.missing,
        died: rest[..e.died as usize].to_vec(),
    }
}

fn add(ledger: &mut Ledger, e: &Entry) {
    ledger.n_fused += u64::from(e.fused > 0);
    ledger.absorbed += u64::from(e.fused.saturating_sub(1));
    ledger.n_decay += u64::from(e.decayed);
    ledger.children += u64::from(e.born - e.decayed);
    ledger.overflow += u64::from(e.missing);
    ledger.n_died += u64::from(e.died);
}

fn standing(e: &Entry, wanted: bool) -> Standing {
    let c = &e.climate;
    Standing {
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
        f_median: if wanted { c.median_f.into() } else { f64::NAN },
        f_ensemble: if wanted { c.together_f.into() } else { f64::NAN },
        h_mean: c.mean_h,
    }
}
