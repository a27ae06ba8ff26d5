//! Constants of the presynaptic terminal.

/// Constants by their names in the reference, except `ca_retain`, which it calls `tau_c` although it is a factor.
/// Quantities have no units; a step is a token.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Constants {
    /// Share of the calcium that remains after a step.
    pub ca_retain: f64,
    /// Calcium influx per softplus of the drive.
    pub alpha_c: f64,
    /// Slope of the fast sensor, synaptotagmin 1.
    pub syt1_slope: f64,
    /// Calcium at half activation of synaptotagmin 1.
    pub syt1_thresh: f64,
    /// Weight of synaptotagmin 1.
    pub syt1_weight: f64,
    /// Slope of the slow sensor, synaptotagmin 7.
    pub syt7_slope: f64,
    /// Calcium at half activation of synaptotagmin 7.
    pub syt7_thresh: f64,
    /// Weight of synaptotagmin 7.
    pub syt7_weight: f64,
    /// Weight of Doc2.
    pub doc2_gain: f64,
    /// Slope of Doc2.
    pub doc2_slope: f64,
    /// Calcium at half activation of Doc2.
    pub doc2_thresh: f64,
    /// Slope of the complexin gate.
    pub cpx_slope: f64,
    /// Calcium at which the complexin gate is half open, without clamp.
    pub cpx_thresh: f64,
    /// Weight of the clamp in the complexin gate.
    pub cpx_weight: f64,
    /// Added to the clamp.
    pub complexin_bias: f64,
    /// Largest release probability.
    pub p_max: f64,
    /// Vesicles primed per step, at most.
    pub prime_rate: f64,
    /// Loss of primed SNAREs and of clamp per released vesicle.
    pub unprime_per_release: f64,
    /// Recovery of primed SNAREs per step, as a share of those that are missing.
    pub nsf_recover: f64,
    /// Share of the released vesicles that endocytosis recovers.
    pub rec_rate: f64,
    /// Steps from release to reserve; 0 recovers nothing.
    pub endo_delay: usize,
    /// Approach of the quantal amplitude to its target per step.
    pub amp_load: f64,
    /// Loss of quantal amplitude per step.
    pub amp_leak: f64,
    /// Target of the quantal amplitude.
    pub amp_target: f64,
    /// Largest quantal amplitude.
    pub amp_max: f64,
    /// Recovery of energy per step, as a share of what is missing.
    pub energy_fill: f64,
    /// Energy per released vesicle.
    pub energy_use: f64,
    /// Largest energy.
    pub energy_max: f64,
    /// Energy at which priming has half its rate; 0: energy has no effect.
    pub energy_half: f64,
    /// Share of the clamp's distance from 1 that remains after a step.
    pub clamp_retain: f64,
    /// Largest readily releasable pool.
    pub rrp_max: f64,
    /// First readily releasable pool.
    pub init_rrp: f64,
    /// First reserve pool.
    pub init_reserve: f64,
    /// First share of primed SNAREs.
    pub init_snare: f64,
    /// First clamp.
    pub init_clamp: f64,
    /// First quantal amplitude.
    pub init_amp: f64,
    /// First energy.
    pub init_energy: f64,
    /// Weight of the bias.
    pub lambda_loge: f64,
    /// Added to the effect before its logarithm: the smallest bias is `lambda_loge·ln(log_floor)`.
    pub log_floor: f64,
    /// Bias of a key `context` tokens back is minus this: ALiBi (Press et al. 2022) with one slope for all heads.
    pub barrier_strength: f64,
    /// Tsodyks-Markram: use of resources at rest, `U`.
    pub tm_use: f64,
    /// Tsodyks-Markram: recovery of resources, steps.
    pub tm_tau_rec: f64,
    /// Tsodyks-Markram: decay of facilitation, steps; 0: no facilitation.
    pub tm_tau_facil: f64,
    /// Tsodyks-Markram: effect when all resources are used at once.
    pub tm_scale: f64,
}

impl Constants {
    /// The defaults: vesicles are conserved, energy has an effect, and the bias is not below -7.
    pub const RECOMMENDED: Self = Self {
        ca_retain: 0.85,
        alpha_c: 0.55,
        syt1_slope: 8.0,
        syt1_thresh: 0.55,
        syt1_weight: 0.8,
        syt7_slope: 3.0,
        syt7_thresh: 0.25,
        syt7_weight: 0.2,
        doc2_gain: 0.08,
        doc2_slope: 4.0,
        doc2_thresh: 0.12,
        cpx_slope: 8.0,
        cpx_thresh: 0.55,
        cpx_weight: 2.0,
        complexin_bias: 0.0,
        p_max: 0.999,
        prime_rate: 0.3,
        unprime_per_release: 0.05,
        nsf_recover: 0.08,
        rec_rate: 1.0,
        endo_delay: 3,
        amp_load: 0.02,
        amp_leak: 0.006,
        amp_target: 1.2,
        amp_max: 2.0,
        energy_fill: 0.02,
        energy_use: 0.02,
        energy_max: 1.0,
        energy_half: 0.3,
        clamp_retain: 0.995,
        rrp_max: 30.0,
        init_rrp: 6.0,
        init_reserve: 18.0,
        init_snare: 0.7,
        init_clamp: 0.6,
        init_amp: 1.0,
        init_energy: 0.85,
        lambda_loge: 1.0,
        log_floor: 1e-3,
        barrier_strength: 0.1,
        tm_use: 0.5,
        tm_tau_rec: 20.0,
        tm_tau_facil: 0.0,
        tm_scale: 6.0,
    };
}

impl Default for Constants {
    fn default() -> Self {
        Self::RECOMMENDED
    }
}
