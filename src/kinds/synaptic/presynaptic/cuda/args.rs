//! The kernels under `kernels/synaptic/scan.cu`, and what they share with the host.

use crate::{
    device_constants, device_struct,
    gpu::{
        BlockSize, GpuError, Grid,
        compile::Compile,
        kernel::{In, InAny, InOut, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    kinds::synaptic::presynaptic::{Presynaptic, release::MAX_TRIALS, state::Key, tsodyks_markram},
    num::rng::Purpose,
};

pub(super) const OFF: u32 = 0;
pub(super) const STATIC: u32 = 1;
pub(super) const SCAN: u32 = 2;
pub(super) const TSODYKS_MARKRAM: u32 = 3;
const RELEASE: u32 = Purpose::Release as u32;
/// Numbers of a key, without the queue.
pub(super) const QUANTITIES: u32 = 9;
const CONSTANTS: &[Constant] = device_constants![OFF, STATIC, SCAN, TSODYKS_MARKRAM, RELEASE, QUANTITIES, MAX_TRIALS];

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

impl ScanKernels {
    /// A grid of the backward pass for rows of that many packs of 16 bytes.
    pub(super) fn backward_grid(&self, rows: u64, packs: u64) -> Result<Grid, GpuError> {
        // Packs that a thread keeps in registers, as in kernels/nn/rows.cuh.
        self.release_backward.grid_of_rows(rows, packs, 2, BlockSize::Automatic)
    }
}

/// Constants as a launch takes them.
pub(super) fn constants(op: &Presynaptic) -> ScanConstants {
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
