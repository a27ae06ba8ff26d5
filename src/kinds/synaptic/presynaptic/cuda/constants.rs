//! Constants of release as the kernels read them: each field stands with the formula that computes it, in f64, rounded once.

use super::args::{FAST_DELAY, TABLE};
use crate::{
    device_struct,
    kinds::synaptic::presynaptic::{Constants, Edges, Mode, Presynaptic, state::Key, tsodyks_markram},
};
use std::f64::consts::LN_2;

/// Declares a device struct of f32 and the function that computes it: the formula of a field stands behind its name.
macro_rules! derived_struct {
    (
        $(#[doc = $docs:literal])*
        pub struct $Name:ident from ($($arg:ident: $Arg:ty),*) {
            $( $(#[doc = $field_docs:literal])* $field:ident = $formula:expr, )*
        }
    ) => {
        device_struct! {
            $(#[doc = $docs])*
            pub struct $Name { $( $(#[doc = $field_docs])* $field: f32, )* }
        }

        impl $Name {
            fn derive($($arg: $Arg),*) -> Self {
                Self { $( $field: ($formula) as f32, )* }
            }
        }
    };
}

derived_struct! {
    /// Calcium influx of a key
    pub struct Influx from (c: &Constants) {
        /// Share of the calcium that remains after a step
        ca_retain = c.ca_retain,
        /// Calcium influx per softplus of the drive, natural logarithm
        alpha_c = c.alpha_c,
        /// alpha_c ln 2: calcium influx per softplus of the drive, logarithm to base 2
        alpha_c_log2 = c.alpha_c * LN_2,
    }
}

derived_struct! {
    /// A calcium sensor with activation 1 / (1 + 2^(k_half - k_log2 C))
    pub struct Sensor from (k: f64, half: f64, weight: f64, bias_per_calcium: f64) {
        /// k / ln 2: exponent of 2 per calcium
        k_log2 = k / LN_2,
        /// k C_half / ln 2: exponent of 2 without calcium
        k_half = k * half / LN_2,
        /// 2^(k C_half / ln 2): the power of 2 without calcium
        half_factor = (k * half / LN_2).exp2(),
        /// Weight of the activation in the release probability
        weight = weight,
        /// weight k: derivative of the weighted activation a, per a (1 - a)
        weight_k = weight * k,
        /// lambda_loge alpha_c weight k: derivative of the bias with respect to the drive, per a (1 - a)
        bias_weight_k = bias_per_calcium * weight * k,
    }
}

derived_struct! {
    /// Complexin gate, 1 / (1 + 2^(k_half + clamp_log2 clamp - k_log2 C))
    pub struct ComplexinGate from (c: &Constants, bias_per_calcium: f64) {
        /// k_cpx / ln 2: exponent of 2 per calcium
        k_log2 = c.cpx_slope / LN_2,
        /// (k_cpx C_cpx + w_cpx complexin_bias) / ln 2: exponent of 2 without calcium and clamp
        k_half = (c.cpx_slope * c.cpx_thresh + c.cpx_weight * c.complexin_bias) / LN_2,
        /// w_cpx / ln 2: exponent of 2 per clamp
        clamp_log2 = c.cpx_weight / LN_2,
        /// k_cpx: derivative of the opening o, per o (1 - o)
        k = c.cpx_slope,
        /// lambda_loge alpha_c k_cpx: derivative of the bias with respect to the drive, per o (1 - o)
        bias_k = bias_per_calcium * c.cpx_slope,
    }
}

derived_struct! {
    /// Vesicle cycle: pools, SNARE complexes, amplitude, energy and clamp
    pub struct Cycle from (c: &Constants, fuel: Fuel) {
        /// Largest release probability
        p_max = c.p_max,
        /// Vesicles primed per step, at most
        prime_rate = c.prime_rate,
        /// Loss of primed SNAREs and of clamp per released vesicle
        unprime_per_release = c.unprime_per_release,
        /// Share of the unprimed SNAREs that NSF primes per step
        nsf_recover = c.nsf_recover,
        /// 1 - nsf_recover: share of the unprimed SNAREs that stays unprimed
        snare_retain = 1.0 - c.nsf_recover,
        /// Share of the released vesicles that is recovered, at most 1
        rec_rate = c.rec_rate.min(1.0),
        /// 1 - amp_load - amp_leak: share of the quantal amplitude that remains after a step
        amp_retain = 1.0 - c.amp_load - c.amp_leak,
        /// amp_load amp_target: added to the quantal amplitude per step
        amp_rise = c.amp_load * c.amp_target,
        /// Largest quantal amplitude
        amp_max = c.amp_max,
        /// 1 - energy_fill: share of the energy that remains after a step
        energy_retain = 1.0 - c.energy_fill,
        /// energy_fill energy_max: added to the energy per step
        energy_rise = c.energy_fill * c.energy_max,
        /// Energy per released vesicle
        energy_use = c.energy_use,
        /// Largest energy
        energy_max = c.energy_max,
        /// s of the fuel of priming, (s E + b) / (s E + o)
        fuel_slope = fuel.slope,
        /// b of the fuel of priming, (s E + b) / (s E + o)
        fuel_base = fuel.base,
        /// o of the fuel of priming, (s E + b) / (s E + o)
        fuel_offset = fuel.offset,
        /// prime_rate (b - o): vesicles primed per step are prime_rate + prime_gain / (s E + o)
        prime_gain = f64::from(c.prime_rate as f32 * (fuel.base as f32 - fuel.offset as f32)),
        /// Share of the clamp's distance from 1 that remains after a step
        clamp_retain = c.clamp_retain,
        /// 1 - clamp_retain: added to the clamp per step
        clamp_rise = 1.0 - c.clamp_retain,
        /// Largest readily releasable pool
        rrp_max = c.rrp_max,
    }
}

derived_struct! {
    /// State of a key before its first query
    pub struct FirstState from (key: &Key) {
        /// Readily releasable pool
        rrp = key.rrp,
        /// Reserve pool
        reserve = key.reserve,
        /// Share of primed SNAREs
        snare = key.primed,
        /// Clamp
        clamp = key.clamp,
        /// Quantal amplitude
        amplitude = key.amplitude,
        /// Energy
        energy = key.energy,
    }
}

derived_struct! {
    /// Bias of an attention logit
    pub struct Bias from (op: &Presynaptic) {
        /// Weight of the natural logarithm of the effect
        lambda_loge = op.constants.lambda_loge,
        /// lambda_loge ln 2: weight of the logarithm to base 2
        lambda_log2 = op.constants.lambda_loge * LN_2,
        /// lambda_loge alpha_c: derivative of the bias per calcium influx
        lambda_alpha = op.constants.lambda_loge * op.constants.alpha_c,
        /// Added to the effect before its logarithm
        log_floor = op.constants.log_floor,
        /// Penalty per position between query and key
        barrier = op.constants.barrier_strength / op.context.max(1) as f64,
    }
}

derived_struct! {
    /// Short-term plasticity after Tsodyks and Markram
    pub struct TsodyksMarkram from (c: &Constants, decay: [f64; 2]) {
        /// U: share of the resources that a spike uses at rest
        u_rest = c.tm_use,
        /// e^(-1 / tau_rec): share of the missing resources that is still missing after a step
        rec_factor = decay[0],
        /// e^(-1 / tau_facil): share of the facilitation that remains after a step
        facil_factor = decay[1],
        /// Effect when all resources are used at once
        scale = c.tm_scale,
    }
}

device_struct! {
    /// Constants of release
    pub struct ScanConstants {
        /// Calcium influx
        influx: Influx,
        /// Fast calcium sensor, synaptotagmin 1
        syt1: Sensor,
        /// Slow calcium sensor, synaptotagmin 7
        syt7: Sensor,
        /// Sensor of spontaneous release, Doc2
        doc2: Sensor,
        /// Complexin gate
        cpx: ComplexinGate,
        /// Vesicle cycle
        cycle: Cycle,
        /// State of a key before its first query
        first: FirstState,
        /// Bias of an attention logit
        bias: Bias,
        /// Short-term plasticity after Tsodyks and Markram
        tm: TsodyksMarkram,
        /// Calcium from an entry of the table of the sensors to the next
        table_step: f32,
    }
}

impl ScanConstants {
    /// Constants of an operation.
    pub(super) fn derive(op: &Presynaptic) -> Self {
        let c = &op.constants;
        let bias_per_calcium = c.lambda_loge * c.alpha_c;
        let sensor = |k, half, weight| Sensor::derive(k, half, weight, bias_per_calcium);
        Self {
            influx: Influx::derive(c),
            syt1: sensor(c.syt1_slope, c.syt1_thresh, c.syt1_weight),
            syt7: sensor(c.syt7_slope, c.syt7_thresh, c.syt7_weight),
            doc2: sensor(c.doc2_slope, c.doc2_thresh, c.doc2_gain),
            cpx: ComplexinGate::derive(c, bias_per_calcium),
            cycle: Cycle::derive(c, Fuel::new(c)),
            first: FirstState::derive(&Key::fresh::<f32>(c)),
            bias: Bias::derive(op),
            tm: TsodyksMarkram::derive(c, tsodyks_markram::decay(c)),
            table_step: (table_range(c) / f64::from(TABLE)) as f32,
        }
    }
}

/// Fuel of priming as a function of the energy E: `(slope E + base) / (slope E + offset)`.
#[derive(Clone, Copy)]
struct Fuel {
    slope: f64,
    base: f64,
    offset: f64,
}

impl Fuel {
    /// `E / (E + energy_half)`, or 1 where energy has no effect.
    fn new(c: &Constants) -> Self {
        if c.energy_half > 0.0 {
            Self { slope: 1.0, base: 0.0, offset: c.energy_half }
        } else {
            Self { slope: 0.0, base: 1.0, offset: 1.0 }
        }
    }
}

/// Slopes of syt1, syt7, Doc2 and the complexin gate for which `scan_all_edges` computes the exponentials as powers of one. It
/// stays beside the general kernel because its results differ in their last bits.
const SHORT_SLOPES: [f64; 4] = [8.0, 3.0, 4.0, 8.0];

/// Whether `scan_all_edges` computes this operation: [`SHORT_SLOPES`], the default delay, no vesicle lost, exponentials that are
/// finite, and states that stay within their bounds by themselves.
pub(super) fn has_short_form(op: &Presynaptic) -> bool {
    let c = &op.constants;
    let exponent = |k: f64, half: f64| (k * half / LN_2).max(0.0);
    let cpx = (c.cpx_slope * c.cpx_thresh + c.cpx_weight * c.complexin_bias) / LN_2;
    let amplitude = c.amp_load * c.amp_target / (c.amp_load + c.amp_leak).max(f64::MIN_POSITIVE);
    op.mode == Mode::Scan
        && op.edges == Edges::All
        && [c.syt1_slope, c.syt7_slope, c.doc2_slope, c.cpx_slope] == SHORT_SLOPES
        && (c.endo_delay == FAST_DELAY as usize && c.rec_rate >= 1.0)
        && exponent(c.syt1_slope, c.syt1_thresh) + cpx.max(0.0) + c.cpx_weight.max(0.0) / LN_2 <= 100.0
        && exponent(c.syt7_slope, c.syt7_thresh) + exponent(c.doc2_slope, c.doc2_thresh) <= 100.0
        && (c.energy_half <= 0.0 || (1e-3..=8.0).contains(&c.energy_half))
        && (c.amp_load + c.amp_leak <= 1.0 && c.init_amp.max(amplitude) <= c.amp_max)
        && (c.energy_max == 1.0 && c.init_rrp + c.init_reserve <= c.rrp_max && (0.0..=1.0).contains(&c.prime_rate))
}

/// Calcium up to which the table of the sensors goes: the sum of the sensors is within 3e-7 of its limit above it.
fn table_range(c: &Constants) -> f64 {
    let sensors = [(c.syt1_thresh, c.syt1_slope), (c.syt7_thresh, c.syt7_slope), (c.doc2_thresh, c.doc2_slope)];
    sensors.into_iter().map(|(threshold, slope)| threshold + 15.0 / slope).fold(1.0, f64::max)
}

/// Whether the table gives the sum of the sensors within 3e-6: (slope step / 2)³ / 48 for each.
pub(super) fn has_table(op: &Presynaptic) -> bool {
    let c = &op.constants;
    let steepest = c.syt1_slope.max(c.syt7_slope).max(c.doc2_slope);
    has_short_form(op) && table_range(c) * steepest <= 0.1 * f64::from(TABLE)
}
