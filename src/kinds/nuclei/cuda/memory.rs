//! Device buffers: the table of the population, and the workspace of a generation.

use super::{
    kernel_params::MAX_SELECTED,
    layout::{DeviceStats, EventDecision, EventLog, KernelParams, LogEntry, PopulationCounts, TopK},
};
use crate::{
    buffers, device_constants,
    gpu::{Buf, Cell, Gpu, GpuError, Pinned, layout::Constant},
    kinds::nuclei::{ledger::Ledger, state::State},
    sim::{Buffers as _, SimError},
};
use std::sync::Arc;

/// Number of float arrays per slot, with phase field 1; the phases of fields 2 to F follow.
pub const FIELDS: usize = 10;
/// Number of integer arrays over the slots: alive, frozen, birth, parent, mark.
const TAGS: usize = 5;

/// Indices of float arrays over the slots: `fields + FIELD * n_slots + slot`.
pub mod column {
    /// Phase in field 1.
    pub const PHI: usize = 0;
    /// Amplitude |ψ| of the oscillator.
    pub const AMP: usize = 1;
    /// Natural frequency of the slot.
    pub const OMEGA: usize = 2;
    /// Spike counts of the quantum-Kuramoto maps.
    pub const SPIKE: usize = 3;
    /// Mean squared error.
    pub const F: usize = 4;
    /// Entropy of softmax(w).
    pub const H: usize = 5;
    /// Real part of the coupling sum.
    pub const S_RE: usize = 6;
    /// Imaginary part of the coupling sum.
    pub const S_IM: usize = 7;
    /// Row sum of J.
    pub const D: usize = 8;
    /// Local order |S| / d.
    pub const R_LOCAL: usize = 9;
}

/// Indices of integer arrays over the slots: `tags + TAG * n_slots + slot`.
pub mod tag {
    /// 1 if the slot is occupied.
    pub const ALIVE: usize = 0;
    /// 1 if the phase is held constant.
    pub const FROZEN: usize = 1;
    /// Generation of birth.
    pub const BIRTH: usize = 2;
    /// Slot of the parent.
    pub const PARENT: usize = 3;
    /// 1 if selected in this generation.
    pub const MARK: usize = 4;
}

/// Constants that the kernels share with the host.
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

/// Sizes of a population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSizes {
    /// Number of slots.
    pub n_slots: usize,
    /// Number of weights per nucleus.
    pub dim: usize,
    /// Number of phase fields, F.
    pub phase_fields: usize,
}

impl TableSizes {
    /// Returns the sizes of the population of these parameters.
    pub fn of(kernel_params: &KernelParams) -> Self {
        let (n_slots, dim) = (kernel_params.n_slots as usize, kernel_params.dim as usize);
        Self { n_slots, dim, phase_fields: phase_fields_of(kernel_params) }
    }

    /// Returns the number of blocks of 1024 slots.
    const fn blocks(&self) -> usize {
        self.n_slots.div_ceil(1024)
    }

    /// Returns the maximum number of words in the log of one generation: selected nuclei, births as pairs, deaths.
    const fn words_per_generation(&self) -> usize {
        4 * MAX_SELECTED as usize + 3 * self.n_slots
    }

    /// Returns the maximum number of words in a part that is read while the next one is computed.
    fn copied_words(&self) -> usize {
        (self.entries() * self.words_per_generation()).min(COPIED_WORDS)
    }

    /// Returns the number of generations that fit into the log.
    fn entries(&self) -> usize {
        (LOG_WORDS / self.words_per_generation()).clamp(1, MAX_ENTRIES)
    }
}

buffers! {
    /// Device buffers of the population.
    pub struct Table(gpu: Arc<Gpu>, s: TableSizes) {
        "weights" {
            /// `[slots × stride]` weights.
            pub w: Buf<f32> = Saved "weights" [s.n_slots, s.dim.next_multiple_of(4)];
        }
        "population" {
            /// `[FIELDS × slots]` phase, amplitude, frequency, spikes, f, H, Re S, Im S, d, R; then the phases of phase fields 2
            /// to F.
            pub fields: Buf<f32> = Saved "nuclei" [FIELDS + s.phase_fields - 1, s.n_slots];
            /// `[TAGS × slots]` integer arrays.
            pub tags: Buf<u32> = Saved "tags" [TAGS, s.n_slots];
            /// Occupied slots, ascending.
            pub idx: Buf<u32> = Derived "living slots" s.n_slots;
            /// Free slots, ascending.
            pub free: Buf<u32> = Derived "free slots" s.n_slots;
            /// Population size and totals.
            pub population: Buf<PopulationCounts> = Saved "population counts" 1;
            /// Statistics of the population.
            pub stats: Buf<DeviceStats> = Derived "statistics" 1;
            /// Parameters as read by the kernels.
            pub kernel_params: Cell<KernelParams> = Derived "parameters" 1;
        }
    }
}

/// Returns the number of phase fields.
pub fn phase_fields_of(kernel_params: &KernelParams) -> usize {
    (kernel_params.phase_fields as usize).max(1)
}

/// Returns the arrays of a state in the order of [`column`].
fn arrays(state: &mut State<f32>) -> [&mut Vec<f32>; FIELDS] {
    let State { phi, amp, omega, spike, f, h, s_re, s_im, d, r_local, .. } = state;
    [phi, amp, omega, spike, f, h, s_re, s_im, d, r_local]
}

impl Table {
    /// Allocates an empty table. Fails if device memory is full or the device fails.
    pub fn new(gpu: &Arc<Gpu>, kernel_params: KernelParams) -> Result<Self, GpuError> {
        let mut table = Self::allocate(gpu, &TableSizes::of(&kernel_params))?;
        table.kernel_params.set(kernel_params)?;
        Ok(table)
    }

    /// Replaces the population by that of generation `step`. Fails if the device fails.
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

    /// Replaces the natural frequencies of all slots. Fails if the device fails.
    pub fn set_frequencies(&mut self, omega: &[f32]) -> Result<(), GpuError> {
        self.fields.write_at(2 * omega.len(), omega) // after phases and amplitudes
    }

    /// Reads the population after the preceding kernels. Also fails if host memory is exhausted.
    pub fn download(&self, dim: usize) -> Result<State<f32>, SimError> {
        let mut state = self.download_without_weights(dim)?;
        let w = self.w.read()?;
        let length = state.w.len();
        state.w.copy_from_slice(&w[..length]);
        Ok(state)
    }

    /// Reads the population without weights, which are set to 0. Also fails if host memory is exhausted.
    pub fn download_without_weights(&self, dim: usize) -> Result<State<f32>, SimError> {
        let n_slots = self.kernel_params.value().n_slots as usize;
        let mut state = State::<f32>::with_fields(n_slots, dim, phase_fields_of(&self.kernel_params.value()))?;
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
}

/// Maximum number of generations in the log.
const MAX_ENTRIES: usize = 64;
/// Maximum number of words in a part that is read while the next one is computed.
const COPIED_WORDS: usize = 1 << 18;
/// Approximate number of words in the log, unless one generation needs more.
const LOG_WORDS: usize = 8 << 20;

buffers! {
    /// Workspace of a generation.
    pub struct Scratch(gpu: Arc<Gpu>, s: TableSizes) {
        "workspace" {
            /// Sums over blocks of 1024 slots.
            pub parts: Buf<f64> = Workspace "sums of blocks" 3 * s.blocks();
            /// Norms over blocks of 1024 slots.
            pub norms: Buf<f64> = Workspace "norms of blocks" s.blocks();
            /// Fittest nucleus of each block.
            pub least: Buf<u64> = Workspace "fittest of blocks" s.blocks();
            /// Keys of a selection.
            pub keys: Buf<u32> = Workspace "selection keys" s.n_slots;
            /// Counts of the digits of `keys`; zero between launches.
            pub histogram: Buf<u32> = Workspace "digits of keys" 2048;
            /// Selections: for fusion, for decay, and the median.
            pub top_k: Buf<TopK> = Workspace "selections" 3;
            /// Keys and slots of the first two selections.
            pub chosen: Buf<u64> = Workspace "selected" [2, MAX_SELECTED as usize];
            /// Number of ties per block.
            pub ties: Buf<u32> = Workspace "ties of blocks" s.n_slots.div_ceil(2048);
            /// Sorted slots: selected for fusion, selected for decay, decaying.
            pub order: Buf<u32> = Workspace "selected in order" [3, MAX_SELECTED as usize];
            /// Weights of the fusing nuclei in the mean.
            pub shares: Buf<f64> = Workspace "fusion weights" MAX_SELECTED as usize;
            /// Drawn events of the generation.
            pub decision: Buf<EventDecision> = Workspace "events" 1;
            /// Weights of the fusion product.
            pub fused: Buf<f32> = Workspace "fused weights" s.dim;
            /// Phases of the fusion product in phase fields 2 to F.
            pub fused_phases: Buf<f32> = Workspace "fused phases" s.phase_fields - 1;
            /// Weights that offspring are mutated from.
            pub base: Buf<f32> = Workspace "weights of children" s.dim;
            /// Number of occupied slots, or of deaths, per block.
            pub block_counts: Buf<u32> = Workspace "counts of blocks" s.blocks();
            /// Death flags, four per word.
            pub dying: Buf<u32> = Workspace "death flags" 256 * s.blocks();
            /// Phases at the start of an integration step.
            pub starts: Buf<f32> = Workspace "phases before" [s.phase_fields, s.n_slots];
            /// Weighted sums of the slopes of the stages.
            pub totals: Buf<f32> = Workspace "slopes" [s.phase_fields, s.n_slots];
            /// Fill level of the following buffers.
            pub log: Cell<EventLog> = Readback "log" 1;
            /// One entry per generation.
            pub entries: Buf<LogEntry> = Readback "log entries" s.entries();
            /// Order parameters of phase fields 2 to F, per generation.
            pub orders: Buf<f64> = Readback "orders of fields" [s.entries(), s.phase_fields - 1];
            /// Slots of the logged events.
            pub words: Buf<u32> = Readback "log words" [s.entries(), s.words_per_generation()];
            /// Errors of the nuclei that ended, at the positions of their slots in `words`.
            pub errors: Buf<f32> = Readback "log errors" [s.entries(), s.words_per_generation()];
            /// Copies of a part of the log, which is read while the next part is computed.
            pub(super) copied_entries: Pinned<LogEntry> = Readback "copy of log entries" s.entries();
            pub(super) copied_words: Pinned<u32> = Readback "copy of log words" s.copied_words();
            pub(super) copied_errors: Pinned<f32> = Readback "copy of log errors" s.copied_words();
            /// `None` with one phase field, because page-locked memory would have an undeclared element.
            pub(super) copied_orders: Option<Pinned<f64>> = Readback "copy of orders of fields" [s.entries(), s.phase_fields - 1];
        }
    }
}
