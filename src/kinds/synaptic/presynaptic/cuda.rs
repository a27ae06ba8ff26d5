//! Release on a GPU: the recurrence of [`cpu`](super::cpu) in f32, a thread per key. Results agree with the CPU within 1e-4;
//! vesicles are conserved to the last bit here too. Random draws have the addresses of the CPU; as a probability differs in its last
//! bits, so does one trial in some ten million.

use super::{Edges, Mode, Presynaptic, Release, release::MAX_TRIALS, state::Key, tsodyks_markram};
use crate::{
    device_constants, device_struct,
    gpu::{
        Any, AnyMut, BlockSize, Frame, Gpu, GpuError, Grid, ModuleSpec, Pass, Slice,
        compile::Compile,
        kernel::{In, InAny, InOut, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    nn::lengths::{self, LengthError},
    num::rng::Purpose,
};
use std::sync::Arc;

const OFF: u32 = 0;
const STATIC: u32 = 1;
const SCAN: u32 = 2;
const TSODYKS_MARKRAM: u32 = 3;
const RELEASE: u32 = Purpose::Release as u32;
/// Numbers of a key, without the queue.
const QUANTITIES: u32 = 9;
const CONSTANTS: &[Constant] = device_constants![OFF, STATIC, SCAN, TSODYKS_MARKRAM, RELEASE, QUANTITIES, MAX_TRIALS];

/// Threads of a block.
const BLOCK: u32 = 128;
/// Longest queue, in steps: what the shared memory of a block has room for.
pub const MAX_DELAY: usize = 96;
/// Most positions of a sequence, as random draws address them.
const MAX_POSITIONS: usize = 1 << 16;

device_struct! {
    /// Sizes of a pass.
    pub struct ScanArgs {
        /// Queries that draw counts: those whose random word is less; 0: none
        drawn_below: u64,
        /// Position of the first query
        first_query: u32,
        /// Queries
        n_queries: u32,
        /// Keys
        n_keys: u32,
        /// Heads of all sequences
        n_heads: u32,
        /// Heads of a sequence
        heads_of_sequence: u32,
        /// Number of the block of the model
        layer: u32,
        /// Keys from a head to the next in the state
        capacity: u32,
        /// Source of the bias
        mode: u32,
        /// Steps of the queue
        delay: u32,
        /// Keys whose state is in memory
        known: u32,
    }
}

device_struct! {
    /// Constants of release; see `Constants`.
    pub struct ScanConstants {
        /// Share of the calcium that remains after a step
        ca_retain: f32,
        /// Calcium influx per softplus of the drive
        alpha_c: f32,
        /// Slope of synaptotagmin 1
        syt1_slope: f32,
        /// Its calcium at half activation
        syt1_thresh: f32,
        /// Its weight
        syt1_weight: f32,
        /// Slope of synaptotagmin 7
        syt7_slope: f32,
        /// Its calcium at half activation
        syt7_thresh: f32,
        /// Its weight
        syt7_weight: f32,
        /// Weight of Doc2
        doc2_gain: f32,
        /// Its slope
        doc2_slope: f32,
        /// Its calcium at half activation
        doc2_thresh: f32,
        /// Slope of the complexin gate
        cpx_slope: f32,
        /// Its calcium at half opening
        cpx_thresh: f32,
        /// Weight of the clamp in it
        cpx_weight: f32,
        /// Added to the clamp
        complexin_bias: f32,
        /// Largest release probability
        p_max: f32,
        /// Vesicles primed per step, at most
        prime_rate: f32,
        /// Loss of primed SNAREs and of clamp per released vesicle
        unprime_per_release: f32,
        /// Recovery of primed SNAREs
        nsf_recover: f32,
        /// Share of the released vesicles that is recovered
        rec_rate: f32,
        /// Approach of the quantal amplitude to its target
        amp_load: f32,
        /// Loss of quantal amplitude
        amp_leak: f32,
        /// Target of the quantal amplitude
        amp_target: f32,
        /// Largest quantal amplitude
        amp_max: f32,
        /// Recovery of energy
        energy_fill: f32,
        /// Energy per released vesicle
        energy_use: f32,
        /// Largest energy
        energy_max: f32,
        /// Energy at which priming has half its rate
        energy_half: f32,
        /// Share of the clamp that remains after a step
        clamp_retain: f32,
        /// The rest
        clamp_rise: f32,
        /// Largest readily releasable pool
        rrp_max: f32,
        /// First readily releasable pool
        init_rrp: f32,
        /// First reserve pool
        init_reserve: f32,
        /// First share of primed SNAREs
        init_snare: f32,
        /// First clamp
        init_clamp: f32,
        /// First quantal amplitude
        init_amp: f32,
        /// First energy
        init_energy: f32,
        /// Weight of the bias
        lambda_loge: f32,
        /// Added to the effect before its logarithm
        log_floor: f32,
        /// Barrier per position
        barrier: f32,
        /// Tsodyks-Markram: use of resources at rest
        tm_use: f32,
        /// What remains of the missing resources after a step
        tm_recovery: f32,
        /// What remains of facilitation after a step
        tm_facilitation: f32,
        /// Effect when all resources are used at once
        tm_scale: f32,
    }
}

device_struct! {
    /// Where the random draws of a batch are: see `Draws`.
    pub struct ReleaseStep {
        /// Seed of the model
        seed: u64,
        /// Number of the step
        step: u64,
        /// Sequences of the step before these
        first: u32,
        /// Sequences of the step
        sequences: u32,
    }
}

kernels! {
    /// Release of vesicles as a bias of attention logits.
    pub struct ScanKernels in "synaptic/scan.cu"
        compiled (Compile::FUSED) using [ScanArgs, ScanConstants, ReleaseStep] with [CONSTANTS]
    {
        /// One thread per key: walks the queries, in place of each logit that with its bias. Items: edges.
        #[block(128, 4)]
        fn scan_release as ScanRelease(
            a: Size<ScanArgs>, c: Size<ScanConstants>, step: InAny, selected: InAny, last: InAny, edges: InOut<f32>,
            factor: InOutAny, row_bias: InOutAny, state: InOutAny
        );

        /// One block per query: the edges with the largest logits. Items: rows.
        #[block(256)]
        fn select_edges as SelectEdges(
            a: Size<ScanArgs>, k: Size<u32>, edges: In<f32>, selected: InOut<u32>, last: InOut<u32>
        );

        /// One block per query: the bias of the edges that are not selected. Items: rows.
        #[block(256)]
        fn fill_unselected as FillUnselected(
            a: Size<ScanArgs>, selected: In<u32>, last: In<u32>, row_bias: In<f32>, edges: InOut<f32>
        );

        /// A warp or a block per query: backward pass of softmax and release. Items: rows.
        #[block(512)]
        fn release_backward as ReleaseBackward(
            a: Size<ScanArgs>, is_aligned: Size<u32>, p: In<f32>, factor: InAny, d: InOut<f32>
        );
    }
}

/// Every module of release.
pub const MODULES: &[ModuleSpec] = &[ScanKernels::SPEC];

/// Heads and positions of a pass. Edges are `[heads, n_queries, first_query + n_queries]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanExtent {
    /// Heads of all sequences.
    pub heads: usize,
    /// Heads of a sequence.
    pub heads_of_sequence: usize,
    /// Number of the block of the model: part of the addresses of draws.
    pub layer: usize,
    /// Position of the first query.
    pub first_query: usize,
    /// Queries.
    pub n_queries: usize,
}

impl ScanExtent {
    /// Whole sequences.
    pub const fn sequences(sequences: usize, heads: usize, seq_len: usize, layer: usize) -> Self {
        Self { heads: sequences * heads, heads_of_sequence: heads, layer, first_query: 0, n_queries: seq_len }
    }

    /// Keys, as many as columns of a row.
    pub const fn n_keys(&self) -> usize {
        self.first_query + self.n_queries
    }

    /// Rows of all heads.
    pub const fn rows(&self) -> usize {
        self.heads * self.n_queries
    }

    /// Edges, visible or not.
    pub const fn edges(&self) -> usize {
        self.rows() * self.n_keys()
    }

    /// Visible edges.
    const fn visible(&self) -> u64 {
        let n = self.n_queries as u64;
        self.heads as u64 * (n * self.first_query as u64 + n * (n + 1) / 2)
    }
}

/// States of the keys of all heads, `[9 + delay, heads, capacity]`; contents of keys that are not yet there do not matter.
pub struct KeyMemory<'a> {
    /// The numbers.
    pub state: &'a mut Slice<f32>,
    /// Keys of a head that there is room for.
    pub capacity: usize,
    /// Keys of a head that have a state; the others begin at their own query.
    pub known: usize,
}

impl KeyMemory<'_> {
    /// Numbers of that many heads.
    pub const fn len(op: &Presynaptic, heads: usize, capacity: usize) -> usize {
        (QUANTITIES as usize + op.constants.endo_delay) * heads * capacity
    }
}

/// Release on one device.
pub struct CudaPresynaptic {
    kernels: ScanKernels,
}

impl CudaPresynaptic {
    /// Loads the kernels.
    pub fn load(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self { kernels: ScanKernels::load(gpu)? })
    }

    /// Temporaries of [`CudaPresynaptic::forward`], as counts and sizes of elements.
    pub fn temporaries(op: &Presynaptic, extent: &ScanExtent) -> [(usize, usize); 3] {
        let rows = if selects(op).is_some() { extent.rows() } else { 0 };
        [(rows * extent.n_keys().div_ceil(32), 4), (rows, 4), (rows, 4)]
    }

    /// In place of each visible logit that with its bias and barrier; `factor` becomes the derivatives of the bias by the logit.
    /// Invisible edges are neither read nor written. Without `memory` all keys begin at their own query, and their states are
    /// lost. With `draws` numbers of vesicles are random as [`Presynaptic::release`] says.
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
        let inner = frame.frame();
        let [(words, _), (rows, _), _] = Self::temporaries(op, extent);
        let mut selected = inner.take::<u32>("selected edges", words)?;
        let mut last = inner.take::<u32>("last selected edges", rows)?;
        let mut row_bias = inner.take::<f32>("bias of last selected edges", rows)?;
        let of_rows = Grid::Blocks { blocks: [extent.rows() as u32, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let k = selects(op);
        if let Some(k) = k {
            let k = k.max(1) as u32;
            SelectEdges { a, k, edges, selected: &mut selected, last: &mut last }.launch(
                &self.kernels,
                pass,
                of_rows,
            )?;
            pass.last_work(extent.rows() as u64, edges.bytes(), 0);
        }
        let n_bytes = extent.visible() * if factor.is_some() { 12 } else { 8 };
        let launch = ScanRelease {
            a,
            c: constants(op),
            step: Any::or_none(draws),
            selected: Any::or_none(k.map(|_| &*selected)),
            last: Any::or_none(k.map(|_| &*last)),
            edges,
            factor: factor.map_or(AnyMut::none(), AnyMut::from),
            row_bias: if k.is_some() { AnyMut::from(&mut *row_bias) } else { AnyMut::none() },
            state: memory.map_or(AnyMut::none(), |memory| AnyMut::from(memory.state)),
        };
        let blocks = (extent.heads * extent.n_keys().div_ceil(BLOCK as usize)) as u32;
        let shared_bytes = 4 * BLOCK * a.delay;
        launch.launch(
            &self.kernels,
            pass,
            Grid::Blocks { blocks: [blocks, 1, 1], threads: [BLOCK, 1, 1], shared_bytes },
        )?;
        pass.last_work(extent.visible(), n_bytes, 60 * extent.visible());
        if k.is_some() {
            FillUnselected { a, selected: &selected, last: &last, row_bias: &row_bias, edges }.launch(
                &self.kernels,
                pass,
                of_rows,
            )?;
            pass.last_work(extent.rows() as u64, n_bytes, 0);
        }
        Ok(())
    }

    /// Backward pass of softmax and release: in place of the gradients `d` of probabilities `p` those of the logits before
    /// release, `p (d - Σ p d) (1 + factor)`; 0 where invisible.
    pub fn backward(
        &self,
        pass: &mut Pass,
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
        let factor = Any::or_none(factor);
        let is_aligned = extent.n_keys().is_multiple_of(4)
            && [Any::from(p), Any::from(&*d), factor].iter().all(|x| x.is_aligned_to(16));
        let packs = extent.n_keys().div_ceil(4) as u64;
        let grid = self.kernels.release_backward.grid_of_rows(extent.rows() as u64, packs, 2, BlockSize::Automatic)?;
        let a = sizes(extent);
        ReleaseBackward { a, is_aligned: is_aligned.into(), p, factor, d }.launch(&self.kernels, pass, grid)?;
        pass.last_work(extent.rows() as u64, 16 * extent.visible(), 0);
        Ok(())
    }
}

/// Whether queries drive some of their keys only, and how many.
fn selects(op: &Presynaptic) -> Option<usize> {
    match op.edges {
        Edges::TopK(k) if op.mode != Mode::Off => Some(k),
        Edges::TopK(_) | Edges::All => None,
    }
}

fn check(op: &Presynaptic, extent: &ScanExtent, edges: usize, factor: Option<usize>) -> Result<(), LengthError> {
    let at_most = |what, most: usize, given: usize| {
        if given <= most { Ok(()) } else { Err(LengthError { what, needed: most, given }) }
    };
    at_most("the queue of a synapse", MAX_DELAY, op.constants.endo_delay)?;
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
        // A word is less than this number if and only if it is less than the next integer.
        Release::Binomial { fraction } if is_random => (fraction * 4_294_967_296.0).ceil() as u64,
        _ => 0,
    };
    let (mode, delay) = match op.mode {
        Mode::Off => (OFF, 0),
        Mode::Static => (STATIC, 0),
        Mode::Scan => (SCAN, op.constants.endo_delay),
        Mode::TsodyksMarkram => (TSODYKS_MARKRAM, 0),
    };
    ScanArgs { drawn_below, mode, delay: delay as u32, ..sizes(extent) }
}

fn constants(op: &Presynaptic) -> ScanConstants {
    let c = &op.constants;
    let first = Key::fresh::<f32>(c);
    let [tm_recovery, tm_facilitation] = tsodyks_markram::decay(c).map(|x| x as f32);
    ScanConstants {
        ca_retain: c.ca_retain as f32,
        alpha_c: c.alpha_c as f32,
        syt1_slope: c.syt1_slope as f32,
        syt1_thresh: c.syt1_thresh as f32,
        syt1_weight: c.syt1_weight as f32,
        syt7_slope: c.syt7_slope as f32,
        syt7_thresh: c.syt7_thresh as f32,
        syt7_weight: c.syt7_weight as f32,
        doc2_gain: c.doc2_gain as f32,
        doc2_slope: c.doc2_slope as f32,
        doc2_thresh: c.doc2_thresh as f32,
        cpx_slope: c.cpx_slope as f32,
        cpx_thresh: c.cpx_thresh as f32,
        cpx_weight: c.cpx_weight as f32,
        complexin_bias: c.complexin_bias as f32,
        p_max: c.p_max as f32,
        prime_rate: c.prime_rate as f32,
        unprime_per_release: c.unprime_per_release as f32,
        nsf_recover: c.nsf_recover as f32,
        rec_rate: c.rec_rate as f32,
        amp_load: c.amp_load as f32,
        amp_leak: c.amp_leak as f32,
        amp_target: c.amp_target as f32,
        amp_max: c.amp_max as f32,
        energy_fill: c.energy_fill as f32,
        energy_use: c.energy_use as f32,
        energy_max: c.energy_max as f32,
        energy_half: c.energy_half as f32,
        clamp_retain: c.clamp_retain as f32,
        clamp_rise: (1.0 - c.clamp_retain) as f32,
        rrp_max: c.rrp_max as f32,
        init_rrp: first.rrp as f32,
        init_reserve: first.reserve as f32,
        init_snare: first.primed as f32,
        init_clamp: first.clamp as f32,
        init_amp: first.amplitude as f32,
        init_energy: first.energy as f32,
        lambda_loge: c.lambda_loge as f32,
        log_floor: c.log_floor as f32,
        barrier: (c.barrier_strength / op.context.max(1) as f64) as f32,
        tm_use: c.tm_use as f32,
        tm_recovery,
        tm_facilitation,
        tm_scale: c.tm_scale as f32,
    }
}
