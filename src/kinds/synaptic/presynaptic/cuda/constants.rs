//! Constants of release as the kernels read them. Each field is declared with its formula, which is computed in f64 and
//! rounded once.

use super::args::{FAST_DELAY, TABLE};
use crate::{
    device_struct,
    kinds::synaptic::presynaptic::{
        Constants, Edges, Mode, Presynaptic,
        constants::{CalciumConstants, ComplexinConstants, ResourceConstants, SensorConstants},
        state::Key,
        tsodyks_markram,
    },
};
use std::f64::consts::LN_2;

/// Declares a device struct of f32 and the function that computes it: each field is followed by its formula.
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
    pub struct Influx from (c: &CalciumConstants) {
        /// Share of the calcium that remains after a step
        ca_retain = c.kappa,
        /// Calcium influx per softplus of the drive, natural logarithm
        alpha_c = c.alpha,
        /// alpha_c ln 2: calcium influx per softplus of the drive, logarithm to base 2
        alpha_c_log2 = c.alpha * LN_2,
    }
}

derived_struct! {
    /// A calcium sensor with activation 1 / (1 + 2^(k_half - k_log2 C))
    pub struct Sensor from (c: &SensorConstants, bias_per_calcium: f64) {
        /// k / ln 2: exponent of 2 per calcium
        k_log2 = c.k / LN_2,
        /// k C_half / ln 2: exponent of 2 without calcium
        k_half = c.k * c.half / LN_2,
        /// 2^(k C_half / ln 2): the power of 2 without calcium
        half_factor = (c.k * c.half / LN_2).exp2(),
        /// Weight of the activation in the release probability
        weight = c.weight,
        /// weight k: derivative of the weighted activation a, per a (1 - a)
        weight_k = c.weight * c.k,
        /// lambda_loge alpha_c weight k: derivative of the bias with respect to the drive, per a (1 - a)
        bias_weight_k = bias_per_calcium * c.weight * c.k,
    }
}

derived_struct! {
    /// Complexin gate, 1 / (1 + 2^(k_half + clamp_log2 clamp - k_log2 C))
    pub struct ComplexinGate from (c: &ComplexinConstants, bias_per_calcium: f64) {
        /// k_cpx / ln 2: exponent of 2 per calcium
        k_log2 = c.k / LN_2,
        /// (k_cpx C_cpx + w_cpx complexin_bias) / ln 2: exponent of 2 without calcium and clamp
        k_half = (c.k * c.half + c.weight * c.bias) / LN_2,
        /// w_cpx / ln 2: exponent of 2 per clamp
        clamp_log2 = c.weight / LN_2,
        /// k_cpx: derivative of the opening o, per o (1 - o)
        k = c.k,
        /// lambda_loge alpha_c k_cpx: derivative of the bias with respect to the drive, per o (1 - o)
        bias_k = bias_per_calcium * c.k,
    }
}

derived_struct! {
    /// Vesicle cycle: pools, SNARE complexes, amplitude, energy and clamp
    pub struct Cycle from (c: &Constants, fuel: Fuel) {
        /// Largest release probability
        p_max = c.vesicles.p_max,
        /// Vesicles primed per step, at most
        prime_rate = c.vesicles.k_prime,
        /// Loss of primed SNAREs and of clamp per released vesicle
        unprime_per_release = c.snare.unprime,
        /// Share of the unprimed SNAREs that NSF primes per step
        nsf_recover = c.snare.k_nsf,
        /// 1 - nsf_recover: share of the unprimed SNAREs that stays unprimed
        snare_retain = 1.0 - c.snare.k_nsf,
        /// Share of the released vesicles that is recovered, at most 1
        rec_rate = c.vesicles.recycled.min(1.0),
        /// 1 - amp_load - amp_leak: share of the quantal amplitude that remains after a step
        amp_retain = 1.0 - c.amplitude.load - c.amplitude.leak,
        /// amp_load amp_target: added to the quantal amplitude per step
        amp_rise = c.amplitude.load * c.amplitude.target,
        /// Largest quantal amplitude
        amp_max = c.amplitude.max,
        /// 1 - energy_fill: share of the energy that remains after a step
        energy_retain = 1.0 - c.energy.fill,
        /// energy_fill energy_max: added to the energy per step
        energy_rise = c.energy.fill * c.energy.max,
        /// Energy per released vesicle
        energy_use = c.energy.per_vesicle,
        /// Upper bound of the energy
        energy_max = c.energy.max,
        /// s of the fuel of priming, (s E + b) / (s E + o)
        fuel_slope = fuel.slope,
        /// b of the fuel of priming, (s E + b) / (s E + o)
        fuel_base = fuel.base,
        /// o of the fuel of priming, (s E + b) / (s E + o)
        fuel_offset = fuel.offset,
        /// prime_rate (b - o): vesicles primed per step are prime_rate + prime_gain / (s E + o)
        prime_gain = f64::from(c.vesicles.k_prime as f32 * (fuel.base as f32 - fuel.offset as f32)),
        /// Share of the clamp's distance from 1 that remains after a step
        clamp_retain = c.snare.clamp_retain,
        /// 1 - clamp_retain: added to the clamp per step
        clamp_rise = 1.0 - c.snare.clamp_retain,
        /// Largest readily releasable pool
        rrp_max = c.vesicles.rrp_max,
    }
}

derived_struct! {
    /// State of a key before its first query
    pub struct FirstState from (key: &Key) {
        /// Readily releasable pool
        rrp = key.rrp,
        /// Vesicles in the reserve pool
        reserve = key.reserve,
        /// Share of primed SNAREs
        snare = key.primed,
        /// Complexin clamp, 0 to 1
        clamp = key.clamp,
        /// Effect per released vesicle
        amplitude = key.amplitude,
        /// Energy, at most energy_max
        energy = key.energy,
    }
}

derived_struct! {
    /// Bias of an attention logit
    pub struct Bias from (op: &Presynaptic) {
        /// Weight of the natural logarithm of the effect
        lambda_loge = op.constants.bias.lambda,
        /// lambda_loge ln 2: weight of the logarithm to base 2
        lambda_log2 = op.constants.bias.lambda * LN_2,
        /// lambda_loge alpha_c: derivative of the bias per calcium influx
        lambda_alpha = op.constants.bias.lambda * op.constants.calcium.alpha,
        /// Constant added to the effect before its logarithm
        log_floor = op.constants.bias.floor,
        /// Penalty per position between query and key
        barrier = op.constants.bias.barrier / op.context.max(1) as f64,
    }
}

derived_struct! {
    /// Short-term plasticity after Tsodyks and Markram
    pub struct TsodyksMarkram from (c: &ResourceConstants, decay: [f64; 2]) {
        /// U: share of the resources that a spike uses at rest
        u_rest = c.u,
        /// e^(-1 / tau_rec): share of the missing resources that is still missing after a step
        rec_factor = decay[0],
        /// e^(-1 / tau_facil): share of the facilitation that remains after a step
        facil_factor = decay[1],
        /// Effect when all resources are used at once
        scale = c.scale,
    }
}

device_struct! {
    /// Constants of release
    pub struct ScanConstants {
        /// Constants of the calcium influx
        influx: Influx,
        /// Fast calcium sensor, synaptotagmin 1
        syt1: Sensor,
        /// Slow calcium sensor, synaptotagmin 7
        syt7: Sensor,
        /// Sensor of spontaneous release, Doc2
        doc2: Sensor,
        /// Constants of the complexin gate
        cpx: ComplexinGate,
        /// Constants of the vesicle cycle
        cycle: Cycle,
        /// State of a key before its first query
        first: FirstState,
        /// Bias of an attention logit
        bias: Bias,
        /// Short-term plasticity after Tsodyks and Markram
        tm: TsodyksMarkram,
        /// Calcium from an entry of the table of the sensors to the next
        table_step: f32,
        /// Whether the slopes of syt1, syt7, Doc2 and the gate are 8, 3, 4 and 8: 1, else 0
        has_default_slopes: u32,
    }
}

impl ScanConstants {
    /// Derives the constants of an operation.
    pub(super) fn derive(op: &Presynaptic) -> Self {
        let c = &op.constants;
        let bias_per_calcium = c.bias.lambda * c.calcium.alpha;
        let sensor = |of| Sensor::derive(of, bias_per_calcium);
        Self {
            influx: Influx::derive(&c.calcium),
            syt1: sensor(&c.syt1),
            syt7: sensor(&c.syt7),
            doc2: sensor(&c.doc2),
            cpx: ComplexinGate::derive(&c.complexin, bias_per_calcium),
            cycle: Cycle::derive(c, Fuel::new(c)),
            first: FirstState::derive(&Key::fresh::<f32>(c)),
            bias: Bias::derive(op),
            tm: TsodyksMarkram::derive(&c.resources, tsodyks_markram::decay(&c.resources)),
            table_step: (table_range(c) / f64::from(TABLE)) as f32,
            has_default_slopes: u32::from([c.syt1.k, c.syt7.k, c.doc2.k, c.complexin.k] == DEFAULT_SLOPES),
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
    /// Returns the fuel `E / (E + energy_half)`, or 1 if energy has no effect.
    fn new(c: &Constants) -> Self {
        if c.energy.half > 0.0 {
            Self { slope: 1.0, base: 0.0, offset: c.energy.half }
        } else {
            Self { slope: 0.0, base: 1.0, offset: 1.0 }
        }
    }
}

/// Slopes of syt1, syt7, Doc2 and the complexin gate for which `scan_all_edges` computes the exponentials as powers of a
/// single exponential: 8 special functions per edge in place of 10 with other slopes.
const DEFAULT_SLOPES: [f64; 4] = [8.0, 3.0, 4.0, 8.0];

/// Whether `scan_all_edges` supports this operation: the default delay, full recovery of vesicles, finite exponentials, and
/// states that stay within their bounds without clamping.
pub(super) fn has_short_form(op: &Presynaptic) -> bool {
    let c = &op.constants;
    let exponent = |of: &SensorConstants| (of.k * of.half / LN_2).max(0.0);
    let cpx = (c.complexin.k * c.complexin.half + c.complexin.weight * c.complexin.bias) / LN_2;
    let amplitude =
        c.amplitude.load * c.amplitude.target / (c.amplitude.load + c.amplitude.leak).max(f64::MIN_POSITIVE);
    op.mode == Mode::Scan
        && op.edges == Edges::All
        && (c.vesicles.endo_delay == FAST_DELAY as usize && c.vesicles.recycled >= 1.0)
        && exponent(&c.syt1) + cpx.max(0.0) + c.complexin.weight.max(0.0) / LN_2 <= 100.0
        && exponent(&c.syt7) + exponent(&c.doc2) <= 100.0
        && (c.energy.half <= 0.0 || (1e-3..=8.0).contains(&c.energy.half))
        && (c.amplitude.load + c.amplitude.leak <= 1.0 && c.first.amplitude.max(amplitude) <= c.amplitude.max)
        && (c.energy.max == 1.0
            && c.first.rrp + c.first.reserve <= c.vesicles.rrp_max
            && (0.0..=1.0).contains(&c.vesicles.k_prime))
}

/// Returns the upper end of the table of the sensors, in calcium; above it, the sum of the sensors is within 3e-7 of its
/// limit.
fn table_range(c: &Constants) -> f64 {
    [c.syt1, c.syt7, c.doc2].into_iter().map(|sensor| sensor.half + 15.0 / sensor.k).fold(1.0, f64::max)
}

/// Whether interpolation in the table gives the sum of the sensors within 3e-6: the error of each sensor is (slope step /
/// 2)³ / 48.
pub(super) fn has_table(op: &Presynaptic) -> bool {
    let c = &op.constants;
    let steepest = c.syt1.k.max(c.syt7.k).max(c.doc2.k);
    has_short_form(op) && table_range(c) * steepest <= 0.1 * f64::from(TABLE)
}
