//! Device buffers: the table of the population, and the workspace of a generation.

use super::{
    kernel_params::MAX_SELECTED,
    layout::{DeviceStats, EventDecision, EventLog, KernelParams, LogEntry, PopulationCounts, TopK},
};
use crate::{
    device_constants,
    gpu::{Buf, Cell, Gpu, GpuError, layout::Constant},
    kinds::nuclei::{ledger::Ledger, state::State},
};
use std::sync::Arc;

/// Number of float arrays of phase field 1 and all else; the phases of fields 2 to F follow.
pub const FIELDS: usize = 10;
/// Integer arrays over the slots: alive, frozen, birth, parent, mark.
const TAGS: usize = 5;

/// Float arrays over the slots: `fields + FIELD * n_slots + slot`.
pub mod column {
    /// Phase, field 1.
    pub const PHI: usize = 0;
    /// Amplitude.
    pub const AMP: usize = 1;
    /// Natural frequency.
    pub const OMEGA: usize = 2;
    /// Spikes of the maps.
    pub const SPIKE: usize = 3;
    /// Mean squared error.
    pub const F: usize = 4;
    /// Entropy.
    pub const H: usize = 5;
    /// Real part of the coupling sum.
    pub const S_RE: usize = 6;
    /// Imaginary part.
    pub const S_IM: usize = 7;
    /// Row sum of J.
    pub const D: usize = 8;
    /// Local order.
    pub const R_LOCAL: usize = 9;
}

/// Integer arrays over the slots: `tags + TAG * n_slots + slot`.
pub mod tag {
    /// 1: occupied.
    pub const ALIVE: usize = 0;
    /// 1: the phase is held.
    pub const FROZEN: usize = 1;
    /// Generation of birth.
    pub const BIRTH: usize = 2;
    /// Slot of the parent.
    pub const PARENT: usize = 3;
    /// 1: selected in this generation.
    pub const MARK: usize = 4;
}

/// Numbers that the kernels share with the host.
pub const TABLE: &[Constant] = device_constants![
    FIELDS,
    column::PHI,
    column::AMP,
    column::OMEGA,
    column::SPIKE,
    column::F,
    column::H,
    column::S_RE,
    column::S_IM,
    column::D,
    column::R_LOCAL,
    tag::ALIVE,
    tag::FROZEN,
    tag::BIRTH,
    tag::PARENT,
    tag::MARK,
    MAX_SELECTED
];

/// The population.
pub struct Table {
    /// [places × stride] weights.
    pub w: Buf<f32>,
    /// [`FIELDS` × places] phase, amplitude, frequency, spikes, f, H, Re S, Im S, d, R; then the phases of
    /// phase fields 2 to F.
    pub fields: Buf<f32>,
    /// [`TAGS` × places].
    pub tags: Buf<u32>,
    /// Occupied slots, ascending.
    pub idx: Buf<u32>,
    /// Free slots, ascending.
    pub free: Buf<u32>,
    /// Population size and totals.
    pub population: Buf<PopulationCounts>,
    /// Statistics of the population.
    pub stats: Buf<DeviceStats>,
    /// Parameters.
    pub kernel_params: Cell<KernelParams>,
}

/// Number of phase fields.
pub fn phase_fields_of(kernel_params: &KernelParams) -> usize {
    (kernel_params.phase_fields as usize).max(1)
}

/// The arrays of a state in the order of [`column`].
fn arrays(state: &mut State<f32>) -> [&mut Vec<f32>; FIELDS] {
    let State { phi, amp, omega, spike, f, h, s_re, s_im, d, r_local, .. } = state;
    [phi, amp, omega, spike, f, h, s_re, s_im, d, r_local]
}

impl Table {
    /// An empty table.
    pub fn new(gpu: &Arc<Gpu>, kernel_params: KernelParams) -> Result<Self, GpuError> {
        let n_slots = kernel_params.n_slots as usize;
        Ok(Self {
            w: Buf::zeros(gpu, "weights", n_slots * kernel_params.stride as usize)?,
            fields: Buf::zeros(gpu, "nuclei", (FIELDS + phase_fields_of(&kernel_params) - 1) * n_slots)?,
            tags: Buf::zeros(gpu, "tags", TAGS * n_slots)?,
            idx: Buf::zeros(gpu, "living slots", n_slots)?,
            free: Buf::zeros(gpu, "free slots", n_slots)?,
            population: Buf::zeros(gpu, "population counts", 1)?,
            stats: Buf::zeros(gpu, "statistics", 1)?,
            kernel_params: Cell::new(gpu, "parameters", kernel_params)?,
        })
    }

    /// Replaces the population, as that of generation `step`.
    pub fn upload(&mut self, state: &State<f32>, step: u64, ledger: &Ledger) -> Result<(), GpuError> {
        let mut state = state.clone();
        self.w.write_at(0, &state.w)?;
        let mut fields: Vec<f32> = arrays(&mut state).into_iter().flat_map(|array| array.iter().copied()).collect();
        fields.extend(&state.more);
        self.fields.write_at(0, &fields)?;
        let n_slots = state.capacity;
        let mut tags: Vec<u32> = state.alive.iter().chain(&state.frozen).map(|x| u32::from(*x)).collect();
        tags.extend(&state.birth);
        tags.extend(state.parent.iter().map(|p| p.cast_unsigned()));
        tags.resize(TAGS * n_slots, 0);
        self.tags.write(&tags)?;
        self.idx.write_at(0, &state.idx)?;
        self.free.write_at(0, &state.free)?;
        self.population.write(&[PopulationCounts {
            generation: step,
            fused: ledger.n_fused,
            absorbed: ledger.absorbed,
            decayed: ledger.n_decay,
            children: ledger.children,
            missing: ledger.overflow,
            died: ledger.n_died,
            n: state.idx.len() as u32,
            n_free: state.free.len() as u32,
        }])
    }

    /// Replaces the natural frequencies of all slots.
    pub fn set_frequencies(&mut self, omega: &[f32]) -> Result<(), GpuError> {
        self.fields.write_at(2 * omega.len(), omega) // after phases and amplitudes
    }

    /// Reads the population after the preceding kernels.
    pub fn download(&self, dim: usize) -> Result<State<f32>, GpuError> {
        let mut state = self.download_without_weights(dim)?;
        let w = self.w.read()?;
        let length = state.w.len();
        state.w.copy_from_slice(&w[..length]);
        Ok(state)
    }

    /// Reads the population without weights, which are 0.
    pub fn download_without_weights(&self, dim: usize) -> Result<State<f32>, GpuError> {
        let n_slots = self.kernel_params.value().n_slots as usize;
        let mut state = State::<f32>::with_fields(n_slots, dim, phase_fields_of(&self.kernel_params.value()));
        let fields = self.fields.read()?;
        for (array, from) in arrays(&mut state).into_iter().zip(fields.chunks_exact(n_slots)) {
            array.copy_from_slice(from);
        }
        state.more.copy_from_slice(&fields[FIELDS * n_slots..]);
        let tags = self.tags.read()?;
        let tag = |which: usize| &tags[which * n_slots..(which + 1) * n_slots];
        state.alive = tag(0).iter().map(|x| *x as u8).collect();
        state.frozen = tag(1).iter().map(|x| *x as u8).collect();
        state.birth.copy_from_slice(tag(2));
        state.parent = tag(3).iter().map(|x| x.cast_signed()).collect();
        state.compact();
        Ok(state)
    }

    /// Bytes of the weights and of all other arrays, for a table of this size.
    pub const fn bytes_of(n_slots: usize, dim: usize, phase_fields: usize) -> (u64, u64) {
        let words = FIELDS + phase_fields - 1 + TAGS + 2;
        let rest =
            4 * n_slots * words + size_of::<PopulationCounts>() + size_of::<DeviceStats>() + size_of::<KernelParams>();
        ((4 * n_slots * dim.next_multiple_of(4)) as u64, rest as u64)
    }

    /// Bytes of the weights and of all other arrays.
    pub fn n_bytes(&self) -> (u64, u64) {
        let rest = self.fields.bytes() + self.tags.bytes() + self.idx.bytes() + self.free.bytes();
        (self.w.bytes(), rest + self.population.bytes() + self.stats.bytes() + size_of::<KernelParams>() as u64)
    }
}

/// Maximum generations in the log.
const MAX_ENTRIES: usize = 64;
/// Approximate words of the log, unless one generation needs more.
const LOG_WORDS: usize = 8 << 20;

/// Workspace of a generation.
pub struct Scratch {
    /// Sums of blocks of 1024.
    pub parts: Buf<f64>,
    /// Norms of blocks of 1024.
    pub norms: Buf<f64>,
    /// The fittest of each block.
    pub least: Buf<u64>,
    /// Keys of a selection.
    pub keys: Buf<u32>,
    /// Counts of their digits; zero between launches.
    pub histogram: Buf<u32>,
    /// Selections: for fusion, for decay, and the median.
    pub top_k: Buf<TopK>,
    /// Keys and slots of the first two selections.
    pub chosen: Buf<u64>,
    /// Ties of each block.
    pub ties: Buf<u32>,
    /// Sorted slots: selected for fusion, selected for decay, decaying.
    pub order: Buf<u32>,
    /// Weights of the fusing nuclei in the mean.
    pub shares: Buf<f64>,
    /// Events drawn.
    pub decision: Buf<EventDecision>,
    /// Weights of the fusion product.
    pub fused: Buf<f32>,
    /// Its phases in phase fields 2 to F.
    pub fused_phases: Buf<f32>,
    /// Weights that offspring are mutated from.
    pub base: Buf<f32>,
    /// Occupied slots, or deaths, of each block.
    pub block_counts: Buf<u32>,
    /// Death flags, four per word.
    pub dying: Buf<u32>,
    /// Phases at the start of an integration step.
    pub starts: Buf<f32>,
    /// Weighted slopes of its stages.
    pub totals: Buf<f32>,
    /// Fill level of the following buffers.
    pub log: Cell<EventLog>,
    /// One entry per generation.
    pub entries: Buf<LogEntry>,
    /// Order parameters of phase fields 2 to F, per generation.
    pub orders: Buf<f64>,
    /// Slots of the logged events.
    pub words: Buf<u32>,
}

impl Scratch {
    /// For tables of this size.
    pub fn new(gpu: &Arc<Gpu>, kernel_params: &KernelParams) -> Result<Self, GpuError> {
        let (n_slots, most, dim) = (kernel_params.n_slots as usize, MAX_SELECTED as usize, kernel_params.dim as usize);
        let blocks = n_slots.div_ceil(1024);
        let (entries, more) = (Self::entries(n_slots), phase_fields_of(kernel_params) - 1);
        Ok(Self {
            parts: Buf::zeros(gpu, "sums of blocks", 3 * blocks)?,
            norms: Buf::zeros(gpu, "norms of blocks", blocks)?,
            least: Buf::zeros(gpu, "fittest of blocks", blocks)?,
            keys: Buf::zeros(gpu, "selection keys", n_slots)?,
            histogram: Buf::zeros(gpu, "digits of keys", 2048)?,
            top_k: Buf::zeros(gpu, "selections", 3)?,
            chosen: Buf::zeros(gpu, "selected", 2 * most)?,
            ties: Buf::zeros(gpu, "ties of blocks", n_slots.div_ceil(2048))?,
            order: Buf::zeros(gpu, "selected in order", 3 * most)?,
            shares: Buf::zeros(gpu, "fusion weights", most)?,
            decision: Buf::zeros(gpu, "events", 1)?,
            fused: Buf::zeros(gpu, "fused weights", dim)?,
            fused_phases: Buf::zeros(gpu, "fused phases", more)?,
            base: Buf::zeros(gpu, "weights of children", dim)?,
            block_counts: Buf::zeros(gpu, "counts of blocks", blocks)?,
            dying: Buf::zeros(gpu, "death flags", 256 * blocks)?,
            starts: Buf::zeros(gpu, "phases before", (more + 1) * n_slots)?,
            totals: Buf::zeros(gpu, "slopes", (more + 1) * n_slots)?,
            log: Cell::new(gpu, "log", EventLog::default())?,
            entries: Buf::zeros(gpu, "log entries", entries)?,
            orders: Buf::zeros(gpu, "orders of fields", entries * more)?,
            words: Buf::zeros(gpu, "log words", entries * Self::words_per_generation(n_slots))?,
        })
    }

    /// Maximum words of one generation: selected nuclei, births as pairs, deaths.
    const fn words_per_generation(n_slots: usize) -> usize {
        4 * MAX_SELECTED as usize + 3 * n_slots
    }

    /// Generations that fit into the log.
    const fn entries(n_slots: usize) -> usize {
        let fit = LOG_WORDS / Self::words_per_generation(n_slots);
        if fit == 0 {
            1
        } else if fit < MAX_ENTRIES {
            fit
        } else {
            MAX_ENTRIES
        }
    }

    /// Bytes for tables of this size.
    pub const fn bytes_of(n_slots: usize, dim: usize, phase_fields: usize) -> u64 {
        let (blocks, most, entries) = (n_slots.div_ceil(1024), MAX_SELECTED as usize, Self::entries(n_slots));
        let arrays = (4 + 8 * phase_fields) * n_slots
            + 12 * (phase_fields - 1)
            + 1068 * blocks
            + 4 * n_slots.div_ceil(2048)
            + 8 * dim
            + 36 * most
            + 8192;
        let log = entries * (size_of::<LogEntry>() + 4 * Self::words_per_generation(n_slots)) + size_of::<EventLog>();
        let log = log + 8 * entries * (phase_fields - 1);
        (arrays + log + 3 * size_of::<TopK>() + size_of::<EventDecision>()) as u64
    }

    /// Bytes on the device.
    pub fn n_bytes(&self) -> u64 {
        let numbers = self.parts.bytes() + self.norms.bytes() + self.shares.bytes() + self.fused.bytes();
        let phases = self.base.bytes() + self.starts.bytes() + self.totals.bytes();
        let selection = self.least.bytes() + self.keys.bytes() + self.histogram.bytes() + self.top_k.bytes();
        let chosen = self.chosen.bytes() + self.ties.bytes() + self.order.bytes() + self.decision.bytes();
        let events = self.block_counts.bytes() + self.dying.bytes() + self.entries.bytes() + self.words.bytes();
        numbers
            + phases
            + selection
            + chosen
            + events
            + self.fused_phases.bytes()
            + self.orders.bytes()
            + size_of::<EventLog>() as u64
    }
}
