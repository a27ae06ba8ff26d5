//! The kernels under `kernels/synaptic/scan.cu`, and what they share with the host.

use crate::{
    device_constants, device_struct,
    gpu::{
        BlockSize, GpuError, Grid, Target,
        compile::Compile,
        kernel::{In, InAny, InOut, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    kinds::synaptic::presynaptic::{
        Constants, Edges, Mode, Presynaptic, release::MAX_TRIALS, state::Key, tsodyks_markram,
    },
    num::rng::Purpose,
};
use std::f64::consts::LN_2;

pub(super) const OFF: u32 = 0;
pub(super) const STATIC: u32 = 1;
pub(super) const SCAN: u32 = 2;
pub(super) const TSODYKS_MARKRAM: u32 = 3;
const RELEASE: u32 = Purpose::Release as u32;
/// Numbers of a key, without the queue.
pub(super) const QUANTITIES: u32 = 9;
/// Steps of the queue that is in registers.
const FAST_DELAY: u32 = 3;
/// Groups of four rows of a warp that are in shared memory.
pub(super) const RING: u32 = 6;
/// Entries of the table of the sensors.
pub(super) const TABLE: u32 = 512;
const CONSTANTS: &[Constant] =
    device_constants![OFF, STATIC, SCAN, TSODYKS_MARKRAM, RELEASE, QUANTITIES, MAX_TRIALS, FAST_DELAY, RING, TABLE];
/// Copies beside other work from 8.0 on.
const TARGETS: &[Target] = &[Target::portable(75), Target::portable(80)];

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
    /// Constants of release; see `Constants`. Exponents are of 2.
    pub struct ScanConstants {
        /// Share of the calcium that remains after a step
        ca_retain: f32,
        /// Calcium influx per softplus of the drive
        alpha_c: f32,
        /// The same of a logarithm to base 2
        influx_gain: f32,
        /// Exponent of synaptotagmin 1 per calcium
        syt1_slope: f32,
        /// Its exponent without calcium
        syt1_thresh: f32,
        /// 2 to that
        syt1_factor: f32,
        /// Its weight
        syt1_weight: f32,
        /// Weight of the derivative of its activation
        syt1_gain: f32,
        /// The same in the derivative of the bias
        syt1_bias_gain: f32,
        /// Exponent of synaptotagmin 7 per calcium
        syt7_slope: f32,
        /// Its exponent without calcium
        syt7_thresh: f32,
        /// 2 to that
        syt7_factor: f32,
        /// Its weight
        syt7_weight: f32,
        /// Weight of the derivative of its activation
        syt7_gain: f32,
        /// The same in the derivative of the bias
        syt7_bias_gain: f32,
        /// Exponent of Doc2 per calcium
        doc2_slope: f32,
        /// Its exponent without calcium
        doc2_thresh: f32,
        /// 2 to that
        doc2_factor: f32,
        /// Its weight
        doc2_gain: f32,
        /// Weight of the derivative of its activation
        doc2_slope_gain: f32,
        /// The same in the derivative of the bias
        doc2_bias_gain: f32,
        /// Exponent of the complexin gate per calcium
        cpx_slope: f32,
        /// Its exponent without calcium and clamp
        cpx_thresh: f32,
        /// Its exponent per clamp
        cpx_weight: f32,
        /// Weight of the derivative of its opening
        cpx_gain: f32,
        /// The same in the derivative of the bias
        cpx_bias_gain: f32,
        /// Largest release probability
        p_max: f32,
        /// Vesicles primed per step, at most
        prime_rate: f32,
        /// Loss of primed SNAREs and of clamp per released vesicle
        unprime_per_release: f32,
        /// Recovery of primed SNAREs
        nsf_recover: f32,
        /// The rest
        snare_retain: f32,
        /// Share of the released vesicles that is recovered, at most 1
        rec_rate: f32,
        /// Share of the quantal amplitude that remains after a step
        amp_retain: f32,
        /// Added to it
        amp_rise: f32,
        /// Largest quantal amplitude
        amp_max: f32,
        /// Share of the energy that remains after a step
        energy_retain: f32,
        /// Added to it
        energy_rise: f32,
        /// Energy per released vesicle
        energy_use: f32,
        /// Largest energy
        energy_max: f32,
        /// Fuel of priming is (slope E + base) / (slope E + offset): the slope
        fuel_slope: f32,
        /// Its base
        fuel_base: f32,
        /// Its offset
        fuel_offset: f32,
        /// Fuel is 1 + (base - offset) / (slope E + offset): what is divided times the primed vesicles
        prime_gain: f32,
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
        /// The same of a logarithm to base 2
        log_gain: f32,
        /// Weight of the derivative of the bias
        slope_gain: f32,
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
        /// Calcium from an entry of the table of the sensors to the next
        table_step: f32,
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
        compiled (Compile::FUSED.on(TARGETS)) using [ScanArgs, ScanConstants, ReleaseStep]
        with [CONSTANTS]
    {
        /// One thread per key: walks the queries, in place of each logit that with its bias. Items: edges.
        #[block(128, 3)]
        fn scan_release as ScanRelease(
            a: Size<ScanArgs>, c: Size<ScanConstants>, first: InAny, step: InAny, selected: InAny, last: InAny,
            edges: InOut<f32>, factor: InOutAny, row_bias: InOutAny, state: InOutAny
        );

        /// The same of all edges with the slopes and the delay of the defaults. Items: edges.
        #[block(128, 6)]
        fn scan_all_edges as ScanAllEdges(
            a: Size<ScanArgs>, c: Size<ScanConstants>, first: InAny, edges: InOut<f32>, factor: InOutAny,
            state: InOutAny
        );

        /// The same of whole sequences, a warp per 32 keys. Items: edges.
        #[block(128, 6)]
        fn scan_sequences as ScanSequences(
            a: Size<ScanArgs>, c: Size<ScanConstants>, is_packed: Size<u32>, edges: InOut<f32>, factor: InOutAny
        );

        /// One block per query: the edges with the largest logits. Items: rows.
        #[block(256)]
        fn select_edges as SelectEdges(
            a: Size<ScanArgs>, first: InAny, k: Size<u32>, edges: In<f32>, selected: InOut<u32>, last: InOut<u32>
        );

        /// One block per query: the bias of the edges that are not selected. Items: rows.
        #[block(256)]
        fn fill_unselected as FillUnselected(
            a: Size<ScanArgs>, first: InAny, selected: In<u32>, last: In<u32>, row_bias: In<f32>, edges: InOut<f32>
        );

        /// A warp or a block per query: backward pass of softmax and release. Items: rows.
        #[block(512)]
        fn release_backward as ReleaseBackward(
            a: Size<ScanArgs>, is_aligned: Size<u32>, is_packed: Size<u32>, p: In<f32>, factor: InAny, d: InOut<f32>
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

/// Whether `scan_all_edges` computes this: slopes 8, 3, 4, 8 and the default delay, no vesicle lost, exponentials that are finite,
/// and states that stay within their bounds by themselves.
pub(super) fn has_short_form(op: &Presynaptic) -> bool {
    let c = &op.constants;
    let [syt1, syt7, doc2, cpx] = exponents(c);
    let amplitude = c.amp_load * c.amp_target / (c.amp_load + c.amp_leak).max(f64::MIN_POSITIVE);
    op.mode == Mode::Scan
        && op.edges == Edges::All
        && [c.syt1_slope, c.syt7_slope, c.doc2_slope, c.cpx_slope] == [8.0, 3.0, 4.0, 8.0]
        && (c.endo_delay == FAST_DELAY as usize && c.rec_rate >= 1.0)
        && syt1.max(0.0) + cpx.max(0.0) + c.cpx_weight.max(0.0) / LN_2 <= 100.0
        && (syt7.max(0.0) + doc2.max(0.0) <= 100.0 && (c.energy_half <= 0.0 || (1e-3..=8.0).contains(&c.energy_half)))
        && (c.amp_load + c.amp_leak <= 1.0 && c.init_amp.max(amplitude) <= c.amp_max)
        && (c.energy_max == 1.0 && c.init_rrp + c.init_reserve <= c.rrp_max && (0.0..=1.0).contains(&c.prime_rate))
}

/// Calcium up to which the table of the sensors goes: behind it their sum is within 3e-7 of its limit.
fn table_range(c: &Constants) -> f64 {
    let sensors = [(c.syt1_thresh, c.syt1_slope), (c.syt7_thresh, c.syt7_slope), (c.doc2_thresh, c.doc2_slope)];
    sensors.into_iter().map(|(threshold, slope)| threshold + 15.0 / slope).fold(1.0, f64::max)
}

/// Whether the sum of the sensors is within 3e-6 of what the table gives: (slope step / 2)³ / 48 for each.
pub(super) fn has_table(op: &Presynaptic) -> bool {
    let c = &op.constants;
    let steepest = c.syt1_slope.max(c.syt7_slope).max(c.doc2_slope);
    has_short_form(op) && table_range(c) * steepest <= 0.1 * f64::from(TABLE)
}

/// Exponents of 2 of sensors and gate without calcium and clamp.
fn exponents(c: &Constants) -> [f64; 4] {
    [
        c.syt1_slope * c.syt1_thresh / LN_2,
        c.syt7_slope * c.syt7_thresh / LN_2,
        c.doc2_slope * c.doc2_thresh / LN_2,
        (c.cpx_slope * c.cpx_thresh + c.cpx_weight * c.complexin_bias) / LN_2,
    ]
}

/// Constants as a launch takes them.
pub(super) fn constants(op: &Presynaptic) -> ScanConstants {
    let c = &op.constants;
    let first = Key::fresh::<f32>(c);
    let [tm_recovery, tm_facilitation] = tsodyks_markram::decay(c).map(|x| x as f32);
    let [syt1, syt7, doc2, cpx] = exponents(c);
    let of_bias = c.lambda_loge * c.alpha_c;
    // Without an effect of energy the fuel is 1 / 1.
    let [fuel_slope, fuel_base, fuel_offset] =
        if c.energy_half > 0.0 { [1.0, 0.0, c.energy_half as f32] } else { [0.0, 1.0, 1.0] };
    ScanConstants {
        ca_retain: c.ca_retain as f32,
        alpha_c: c.alpha_c as f32,
        influx_gain: (c.alpha_c * LN_2) as f32,
        syt1_slope: (c.syt1_slope / LN_2) as f32,
        syt1_thresh: syt1 as f32,
        syt1_factor: syt1.exp2() as f32,
        syt1_weight: c.syt1_weight as f32,
        syt1_gain: (c.syt1_weight * c.syt1_slope) as f32,
        syt1_bias_gain: (of_bias * c.syt1_weight * c.syt1_slope) as f32,
        syt7_slope: (c.syt7_slope / LN_2) as f32,
        syt7_thresh: syt7 as f32,
        syt7_factor: syt7.exp2() as f32,
        syt7_weight: c.syt7_weight as f32,
        syt7_gain: (c.syt7_weight * c.syt7_slope) as f32,
        syt7_bias_gain: (of_bias * c.syt7_weight * c.syt7_slope) as f32,
        doc2_slope: (c.doc2_slope / LN_2) as f32,
        doc2_thresh: doc2 as f32,
        doc2_factor: doc2.exp2() as f32,
        doc2_gain: c.doc2_gain as f32,
        doc2_slope_gain: (c.doc2_gain * c.doc2_slope) as f32,
        doc2_bias_gain: (of_bias * c.doc2_gain * c.doc2_slope) as f32,
        cpx_slope: (c.cpx_slope / LN_2) as f32,
        cpx_thresh: cpx as f32,
        cpx_weight: (c.cpx_weight / LN_2) as f32,
        cpx_gain: c.cpx_slope as f32,
        cpx_bias_gain: (of_bias * c.cpx_slope) as f32,
        p_max: c.p_max as f32,
        prime_rate: c.prime_rate as f32,
        unprime_per_release: c.unprime_per_release as f32,
        nsf_recover: c.nsf_recover as f32,
        snare_retain: (1.0 - c.nsf_recover) as f32,
        rec_rate: c.rec_rate.min(1.0) as f32,
        amp_retain: (1.0 - c.amp_load - c.amp_leak) as f32,
        amp_rise: (c.amp_load * c.amp_target) as f32,
        amp_max: c.amp_max as f32,
        energy_retain: (1.0 - c.energy_fill) as f32,
        energy_rise: (c.energy_fill * c.energy_max) as f32,
        energy_use: c.energy_use as f32,
        energy_max: c.energy_max as f32,
        fuel_slope,
        fuel_base,
        fuel_offset,
        prime_gain: c.prime_rate as f32 * (fuel_base - fuel_offset),
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
        log_gain: (c.lambda_loge * LN_2) as f32,
        slope_gain: of_bias as f32,
        log_floor: c.log_floor as f32,
        barrier: (c.barrier_strength / op.context.max(1) as f64) as f32,
        tm_use: c.tm_use as f32,
        tm_recovery,
        tm_facilitation,
        tm_scale: c.tm_scale as f32,
        table_step: (table_range(c) / f64::from(TABLE)) as f32,
    }
}
