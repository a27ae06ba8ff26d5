//! Constants of the presynaptic terminal, by subject. A quantity has no unit; a step is a token.
//!
//! Each constant is declared once, here. `p.NAME` is a parameter of the inspector, which declares its default; the other
//! constants are fixed.

use crate::kinds::synaptic::mechanisms::Presynaptic as Parameters;

/// Declares groups of constants, and how each constant follows from the parameters of release.
macro_rules! constants {
    ($p:ident: $(
        $(#[doc = $docs:literal])*
        pub struct $Group:ident { $( $(#[doc = $field_docs:literal])* $field:ident: $ty:ty = $value:expr, )* }
    )*) => { $(
        $(#[doc = $docs])*
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
        pub struct $Group { $( $(#[doc = $field_docs])* pub $field: $ty, )* }

        #[allow(unused_variables, reason = "some groups have no parameter")]
        impl From<&Parameters> for $Group {
            fn from($p: &Parameters) -> Self {
                Self { $( $field: $value, )* }
            }
        }
    )* };
}

constants! { p:
    /// Constants of release, for the formulas of a key.
    pub struct Constants {
        /// Retention and influx of calcium.
        calcium: CalciumConstants = p.into(),
        /// Fast sensor, synaptotagmin 1.
        syt1: SensorConstants = SensorConstants { k: p.syt1_slope, half: 0.55, weight: 0.8 },
        /// Slow sensor, synaptotagmin 7.
        syt7: SensorConstants = SensorConstants { k: p.syt7_slope, half: 0.25, weight: 0.2 },
        /// Sensor of spontaneous release, Doc2.
        doc2: SensorConstants = SensorConstants { k: 4.0, half: 0.12, weight: p.doc2_gain },
        /// Gate of complexin.
        complexin: ComplexinConstants = p.into(),
        /// Pools of vesicles and their flows.
        vesicles: VesicleConstants = p.into(),
        /// SNARE complexes and clamp.
        snare: SnareConstants = p.into(),
        /// Approach and loss of the quantal amplitude.
        amplitude: AmplitudeConstants = p.into(),
        /// Energy that limits priming.
        energy: EnergyConstants = p.into(),
        /// State of a key before its first query.
        first: InitialState = p.into(),
        /// Bias of an attention logit.
        bias: BiasConstants = p.into(),
        /// Short-term plasticity after Tsodyks and Markram.
        resources: ResourceConstants = p.into(),
    }

    /// Constants of the calcium of a key.
    pub struct CalciumConstants {
        /// Share κ_C of the calcium that remains after a step.
        kappa: f64 = p.ca_retain,
        /// Influx α_C of calcium per softplus of the drive.
        alpha: f64 = p.ca_gain,
    }

    /// Constants of the complexin gate.
    pub struct ComplexinConstants {
        /// Slope k in calcium.
        k: f64 = 8.0,
        /// Calcium at which the gate is half open, without clamp.
        half: f64 = p.complexin_threshold,
        /// Weight of the clamp.
        weight: f64 = 2.0,
        /// Constant added to the clamp.
        bias: f64 = p.complexin_bias,
    }

    /// Constants of the vesicle pools.
    pub struct VesicleConstants {
        /// Largest release probability.
        p_max: f64 = 0.999,
        /// Maximum number of vesicles primed per step.
        k_prime: f64 = p.prime_rate,
        /// Share of the released vesicles that endocytosis recovers.
        recycled: f64 = p.recycle,
        /// Number of steps from release to reserve; 0 recovers nothing.
        endo_delay: usize = p.endocytosis_delay as usize,
        /// Maximum size of the readily releasable pool.
        rrp_max: f64 = 30.0,
    }

    /// Constants of primed SNARE complexes and of the clamp of complexin.
    pub struct SnareConstants {
        /// Loss of primed SNAREs and of clamp per released vesicle.
        unprime: f64 = p.unprime,
        /// Share of the unprimed SNAREs that NSF primes per step.
        k_nsf: f64 = p.nsf_recover,
        /// Share of the clamp's distance from 1 that remains after a step.
        clamp_retain: f64 = 0.995,
    }

    /// Constants of the quantal amplitude.
    pub struct AmplitudeConstants {
        /// Share of the distance to the target that is approached per step.
        load: f64 = 0.02,
        /// Share of the amplitude that is lost per step.
        leak: f64 = 0.006,
        /// Amplitude that the quantal amplitude approaches.
        target: f64 = 1.2,
        /// Largest quantal amplitude.
        max: f64 = 2.0,
    }

    /// Constants of the energy of a terminal.
    pub struct EnergyConstants {
        /// Share of the missing energy that is recovered per step.
        fill: f64 = p.energy_fill,
        /// Energy used per released vesicle.
        per_vesicle: f64 = p.energy_use,
        /// Largest energy of a terminal.
        max: f64 = 1.0,
        /// Energy at which priming has half its rate; 0: energy has no effect.
        half: f64 = if p.energy_limits { 0.3 } else { 0.0 },
    }

    /// State of a key before its first query.
    pub struct InitialState {
        /// Readily releasable pool.
        rrp: f64 = 6.0,
        /// Reserve pool of vesicles.
        reserve: f64 = 18.0,
        /// Share of primed SNAREs.
        snare: f64 = 0.7,
        /// Clamp of complexin.
        clamp: f64 = 0.6,
        /// First quantal amplitude.
        amplitude: f64 = 1.0,
        /// Energy at rest.
        energy: f64 = 0.85,
    }

    /// Constants of the bias of an attention logit.
    pub struct BiasConstants {
        /// Weight λ of the logarithm of the effect.
        lambda: f64 = p.weight,
        /// Constant added to the effect before its logarithm: the smallest bias is `lambda·ln(floor)`.
        floor: f64 = p.floor,
        /// Penalty for a key `context` tokens before the query, subtracted from the logit: ALiBi (Press et al. 2022) with
        /// one slope for all heads.
        barrier: f64 = p.barrier,
    }

    /// Constants of the resources of Tsodyks and Markram.
    pub struct ResourceConstants {
        /// Use of resources at rest, U.
        u: f64 = p.utilisation,
        /// Recovery of resources, steps.
        tau_rec: f64 = p.tau_rec,
        /// Decay of facilitation, steps; 0: no facilitation.
        tau_facil: f64 = p.tau_facil,
        /// Effect when all resources are used at once.
        scale: f64 = 6.0,
    }
}

/// Calcium sensor, with activation `1 / (1 + e^(-k (C - half)))`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SensorConstants {
    /// Slope k in calcium.
    pub k: f64,
    /// Calcium at half activation.
    pub half: f64,
    /// Weight in the release probability.
    pub weight: f64,
}

impl SensorConstants {
    /// Computes the exponent `k (C - half)`.
    #[inline(always)]
    pub fn exponent(&self, calcium: f64) -> f64 {
        self.k * (calcium - self.half)
    }
}

impl Constants {
    /// Returns constants that `change` has modified.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Default for Constants {
    fn default() -> Self {
        Self::from(&Parameters::default())
    }
}
