//! Release on a GPU: the recurrence of [`cpu`](super::cpu) in f32, with a thread per key. Results agree with the CPU within
//! 1e-4; vesicles are conserved exactly. Random draws have the addresses of the CPU; a trial can differ because its
//! probability differs in the last bits.

mod args;
mod constants;
mod sequence;

pub use args::{ReleaseStep, ScanKernels};

use super::{Mode, Presynaptic, Release};
use crate::{
    gpu::{Any, AnyMut, Frame, Gpu, GpuError, Grid, ModuleSpec, Pass, Slice},
    nn::lengths::{self, LengthError},
};
use args::{
    FillUnselected, OFF, QUANTITIES, ReleaseBackward, SCAN, STATIC, ScanAllEdges, ScanArgs, ScanRelease, SelectEdges,
    TSODYKS_MARKRAM,
};
use constants::{ScanConstants, has_short_form};
use sequence::is_sequence;
use std::sync::Arc;

/// Number of threads of a block: one warp, because walks of neighbouring warps have different lengths.
const BLOCK: u32 = 32;
/// Maximum delay of endocytosis, in steps.
pub const MAX_DELAY: usize = 96;
/// Maximum number of positions of a sequence that random draws can address.
const MAX_POSITIONS: usize = 1 << 16;

/// All CUDA modules of release.
pub const MODULES: &[ModuleSpec] = &[ScanKernels::SPEC];

/// Heads and positions of a pass. Edges are `[heads, n_queries, first_query + n_queries]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanExtent {
    /// Number of heads of all sequences.
    pub heads: usize,
    /// Number of heads of a sequence.
    pub heads_of_sequence: usize,
    /// Number of the model's block, which is part of the addresses of draws.
    pub layer: usize,
    /// Position of the first query.
    pub first_query: usize,
    /// Number of queries of a head.
    pub n_queries: usize,
}

impl ScanExtent {
    /// Creates the extent of whole sequences, from position 0 on.
    pub const fn sequences(sequences: usize, heads: usize, seq_len: usize, layer: usize) -> Self {
        Self { heads: sequences * heads, heads_of_sequence: heads, layer, first_query: 0, n_queries: seq_len }
    }

    /// Returns the number of keys, which equals the number of columns of a row.
    pub const fn n_keys(&self) -> usize {
        self.first_query + self.n_queries
    }

    /// Returns the number of rows of all heads.
    pub const fn rows(&self) -> usize {
        self.heads * self.n_queries
    }

    /// Returns the number of edges, visible or not.
    pub const fn edges(&self) -> usize {
        self.rows() * self.n_keys()
    }

    /// Returns the number of visible edges: from a query to a key at or before its position.
    const fn visible(&self) -> u64 {
        let n = self.n_queries as u64;
        self.heads as u64 * (n * self.first_query as u64 + n * (n + 1) / 2)
    }
}

/// States of the keys of all heads. Values of keys without a state are not read.
pub struct KeyMemory<'a> {
    /// Values of the state, `[9 + delay, heads, capacity]`.
    pub state: &'a mut Slice<f32>,
    /// Number of keys of a head for which memory is allocated.
    pub capacity: usize,
    /// Number of keys of a head that have a state. The other keys begin at their own query.
    pub known: usize,
    /// Position of the first query and number of keys that have a state, in device memory, instead of `first_query` and
    /// `known`. The extent then ends at the last possible position.
    pub place: Option<&'a Slice<i32>>,
}

impl KeyMemory<'_> {
    /// Returns the number of values of the state of `heads` heads with `capacity` keys each.
    pub const fn len(op: &Presynaptic, heads: usize, capacity: usize) -> usize {
        (QUANTITIES as usize + op.constants.vesicles.endo_delay) * heads * capacity
    }
}

/// Kernels of release on one device.
pub struct CudaPresynaptic {
    kernels: ScanKernels,
    /// Maximum shared memory of a block, bytes.
    shared_per_block: u32,
    /// Whether derivatives are stored in f16 in passes that support it.
    packs: bool,
    /// Whether the device copies to shared memory asynchronously.
    copies: bool,
}

impl CudaPresynaptic {
    /// Loads the kernels. Fails if they cannot be compiled or loaded.
    pub fn load(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        let (shared_per_block, copies) = (gpu.shared_per_block, gpu.capability >= 80);
        Ok(Self { kernels: ScanKernels::load(gpu)?, shared_per_block, packs: false, copies })
    }

    /// Sets whether passes over whole sequences store derivatives of the bias in f16 (11 significant bits), if the
    /// device copies to shared memory asynchronously. The format is intended for models whose multiplications round
    /// operands to 11 bits or fewer. Such passes use half of the buffer.
    #[must_use]
    pub fn packed(self, packs: bool) -> Self {
        Self { packs, ..self }
    }

    /// Whether this pass stores derivatives in f16.
    fn is_packed(&self, op: &Presynaptic, extent: &ScanExtent) -> bool {
        self.packs && self.copies && is_sequence(op, extent)
    }

    /// Returns the temporaries of [`CudaPresynaptic::forward`] as (element count, element size).
    pub fn temporaries(op: &Presynaptic, extent: &ScanExtent) -> [(usize, usize); 3] {
        let rows = if selects(op).is_some() { extent.rows() } else { 0 };
        [(rows * extent.n_keys().div_ceil(32), 4), (rows, 4), (rows, 4)]
    }

    /// Replaces each visible logit by its sum with bias and barrier, and writes the derivatives of the bias with respect to
    /// the logit to `factor`. Invisible edges are neither read nor written. Without `memory`, all keys begin at their own
    /// query, and their states are not kept. With `draws`, numbers of vesicles are random if [`Presynaptic::release`] is
    /// binomial. Fails if a length does not match the extent, a delay or sequence is too long, or the device fails.
    pub fn forward(
        &self,
        pass: &mut Pass,
        op: &Presynaptic,
        extent: &ScanExtent,
        edges: &mut Slice<f32>,
        factor: Option<&mut Slice<f32>>,
        memory: Option<KeyMemory<'_>>,
        draws: Option<&Slice<ReleaseStep>>,
        frame: &Frame<'_>,
    ) -> Result<(), GpuError> {
        check(op, extent, edges.len(), factor.as_deref().map(|factor| factor.len()))?;
        if extent.edges() == 0 {
            return Ok(());
        }
        let mut a = args(op, extent, draws.is_some());
        if let Some(memory) = &memory {
            (a.capacity, a.known) = (memory.capacity as u32, memory.known as u32);
            lengths::check([(
                "the state of synapses",
                &[KeyMemory::len(op, extent.heads, memory.capacity)],
                memory.state.len(),
            )])?;
            lengths::check([("the keys of a head", &[extent.n_keys()], memory.capacity.min(extent.n_keys()))])?;
        }
        let first = Any::or_none(memory.as_ref().and_then(|memory| memory.place));
        let inner = frame.frame();
        let [(words, _), (rows, _), _] = Self::temporaries(op, extent);
        let mut selected = inner.take::<u32>("selected edges", words)?;
        let mut last = inner.take::<u32>("last selected edges", rows)?;
        let mut row_bias = inner.take::<f32>("bias of last selected edges", rows)?;
        let of_rows = Grid::Blocks { blocks: [extent.rows() as u32, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let k = selects(op);
        if let Some(k) = k {
            let k = k.max(1) as u32;
            let kernel = SelectEdges { a, first, k, edges, selected: &mut selected, last: &mut last };
            kernel.launch(&self.kernels, pass, of_rows)?;
            pass.last_work(extent.rows() as u64, edges.bytes(), 0);
        }
        let is_packed = self.is_packed(op, extent) && memory.is_none();
        let is_aligned = Any::from(&*edges).is_aligned_to(16);
        if is_packed && !is_aligned {
            return Err(unaligned());
        }
        let n_bytes = extent.visible() * if factor.is_some() { 12 } else { 8 };
        let c = ScanConstants::derive(op);
        if self.copies && memory.is_none() && is_sequence(op, extent) && is_aligned {
            return self.walk_sequences(pass, op, extent, (edges, factor), is_packed);
        }
        let factor = factor.map_or(AnyMut::none(), AnyMut::from);
        let state = memory.map_or(AnyMut::none(), |memory| AnyMut::from(memory.state));
        let blocks = (extent.heads * extent.n_keys().div_ceil(BLOCK as usize)) as u32;
        let grid = Grid::Blocks { blocks: [blocks, 1, 1], threads: [BLOCK, 1, 1], shared_bytes: 0 };
        if a.drawn_below == 0 && has_short_form(op) {
            ScanAllEdges { a, c, first, edges, factor, state }.launch(&self.kernels, pass, grid)?;
        } else {
            let selected = Any::or_none(k.map(|_| &*selected));
            let last = Any::or_none(k.map(|_| &*last));
            let row_bias = if k.is_some() { AnyMut::from(&mut *row_bias) } else { AnyMut::none() };
            ScanRelease { a, c, first, step: Any::or_none(draws), selected, last, edges, factor, row_bias, state }
                .launch(&self.kernels, pass, grid.with_shared(4 * BLOCK * a.delay))?;
        }
        pass.last_work(extent.visible(), n_bytes, 60 * extent.visible());
        if k.is_some() {
            let kernel = FillUnselected { a, first, selected: &selected, last: &last, row_bias: &row_bias, edges };
            kernel.launch(&self.kernels, pass, of_rows)?;
            pass.last_work(extent.rows() as u64, n_bytes, 0);
        }
        Ok(())
    }

    /// Backpropagates through softmax and release: replaces the gradients `d` of the probabilities `p` by the gradients of the
    /// logits before release, `p (d - Σ p d) (1 + factor)`; 0 where invisible. Operation and extent are those of the
    /// forward pass. Fails if a length does not match the extent or the device fails.
    pub fn backward(
        &self,
        pass: &mut Pass,
        op: &Presynaptic,
        extent: &ScanExtent,
        p: &Slice<f32>,
        factor: Option<&Slice<f32>>,
        d: &mut Slice<f32>,
    ) -> Result<(), GpuError> {
        let all = [extent.edges()];
        lengths::check([
            ("the probabilities of attention", &all, p.len()),
            ("the gradients of probabilities", &all, d.len()),
            ("the derivatives of bias", &all, factor.map_or(extent.edges(), |factor| factor.len())),
        ])?;
        if extent.edges() == 0 {
            return Ok(());
        }
        let is_packed = factor.is_some() && self.is_packed(op, extent);
        let factor = Any::or_none(factor);
        let is_aligned = extent.n_keys().is_multiple_of(4)
            && [Any::from(p), Any::from(&*d), factor].iter().all(|x| x.is_aligned_to(16));
        if is_packed && !is_aligned {
            return Err(unaligned());
        }
        let packs = extent.n_keys().div_ceil(4) as u64;
        let grid = self.kernels.backward_grid(extent.rows() as u64, packs)?;
        let a = sizes(extent);
        let (is_aligned, is_packed) = (is_aligned.into(), is_packed.into());
        ReleaseBackward { a, is_aligned, is_packed, p, factor, d }.launch(&self.kernels, pass, grid)?;
        pass.last_work(extent.rows() as u64, 16 * extent.visible(), 0);
        Ok(())
    }
}

fn unaligned() -> GpuError {
    GpuError::Driver { doing: "releasing vesicles".to_owned(), why: "a tensor is not aligned to 16 bytes".to_owned() }
}

/// Returns the number of keys that a query drives; `None` if a query drives all keys or the model has no bias.
fn selects(op: &Presynaptic) -> Option<usize> {
    op.edges.most().filter(|_| op.mode != Mode::Off)
}

fn check(op: &Presynaptic, extent: &ScanExtent, edges: usize, factor: Option<usize>) -> Result<(), LengthError> {
    let at_most = |what, most: usize, given: usize| {
        if given <= most { Ok(()) } else { Err(LengthError { what, needed: most, given }) }
    };
    at_most("the queue of a synapse", MAX_DELAY, op.constants.vesicles.endo_delay)?;
    at_most("a sequence", MAX_POSITIONS, extent.n_keys())?;
    lengths::check([
        ("the logits of attention", &[extent.edges()], edges),
        ("the derivatives of bias", &[extent.edges()], factor.unwrap_or(extent.edges())),
    ])
}

fn sizes(extent: &ScanExtent) -> ScanArgs {
    ScanArgs {
        first_query: extent.first_query as u32,
        n_queries: extent.n_queries as u32,
        n_keys: extent.n_keys() as u32,
        n_heads: extent.heads as u32,
        heads_of_sequence: extent.heads_of_sequence as u32,
        layer: extent.layer as u32,
        ..ScanArgs::default()
    }
}

fn args(op: &Presynaptic, extent: &ScanExtent, is_random: bool) -> ScanArgs {
    let drawn_below = match op.release {
        // A word is less than a number if and only if it is less than the next larger integer.
        Release::Binomial { fraction } if is_random => (fraction * 4_294_967_296.0).ceil() as u64,
        _ => 0,
    };
    let (mode, delay) = match op.mode {
        Mode::Off => (OFF, 0),
        Mode::Static => (STATIC, 0),
        Mode::Scan => (SCAN, op.constants.vesicles.endo_delay),
        Mode::TsodyksMarkram => (TSODYKS_MARKRAM, 0),
    };
    ScanArgs { drawn_below, mode, delay: delay as u32, ..sizes(extent) }
}
