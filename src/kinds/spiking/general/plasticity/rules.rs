//! Plasticity rules of a projection and their parameters. Weights below are absolute values, |w|; the sign of a synapse does not
//! change.

use crate::{choices, one_of, params, params::one_of::NoParameters};

choices! {
    /// Pairs of spikes that change a weight.
    pub enum Pairing {
        /// Every presynaptic spike pairs with every postsynaptic spike: traces are increased by 1.
        #[title("All to all")]
        AllToAll,
        /// Each spike pairs with the nearest preceding spike of the other side: traces are set to 1.
        #[title("Nearest spike")]
        Nearest,
    }
}

params! {
    /// Pair-based STDP with weight dependence (Gütig et al. 2003; NEST: stdp_synapse). Exponents 0 are the additive rule of Song,
    /// Miller & Abbott 2000, exponents 1 the multiplicative rule of Rubin, Lee & Sompolinsky 2001.
    pub struct PairStdp {
        /// Decay time constant of the presynaptic trace.
        #[param(title = "Presynaptic time constant", unit = Ms, range = 1.0..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_+", formula = "dK_+/dt = -K_+ / τ_+", source = "Song et al. 2000")]
        tau_plus: f64 = 20.0,

        /// Decay time constant of the postsynaptic trace.
        #[param(title = "Postsynaptic time constant", unit = Ms, range = 1.0..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_-", formula = "dK_-/dt = -K_- / τ_-", source = "Song et al. 2000")]
        tau_minus: f64 = 20.0,

        /// Potentiation per pair at small weights, as a fraction of the maximum weight.
        #[param(title = "Potentiation", range = 0.0..=0.1, hard = -1.0..=1.0, symbol = "A_+", formula = "post: w ← w + A_+ w_max (1 - w / w_max)^μ_+ K_+", source = "Song et al. 2000")]
        a_plus: f64 = 0.005,

        /// Depression per pair at large weights, as a fraction of the maximum weight.
        #[param(title = "Depression", range = 0.0..=0.1, hard = -1.0..=1.0, symbol = "A_-", formula = "pre: w ← w - A_- w_max (w / w_max)^μ_- K_-", source = "Song et al. 2000")]
        a_minus: f64 = 0.00525,

        /// Exponent of the weight dependence of potentiation: 0 additive, 1 multiplicative.
        #[param(title = "Exponent of potentiation", range = 0.0..=1.0, hard = 0.0..=10.0, symbol = "μ_+", source = "Gütig et al. 2003")]
        mu_plus: f64 = 0.0,

        /// Exponent of the weight dependence of depression: 0 additive, 1 multiplicative.
        #[param(title = "Exponent of depression", range = 0.0..=1.0, hard = 0.0..=10.0, symbol = "μ_-", source = "Gütig et al. 2003")]
        mu_minus: f64 = 0.0,

        /// Maximum weight, in the unit of the postsynaptic model.
        #[param(title = "Maximum weight", range = 0.001..=1000.0, hard = 1e-9..=1e9, scale = Log, symbol = "w_max")]
        w_max: f64 = 200.0,

        /// Pairs of spikes that change the weight.
        #[param(title = "Pairing")]
        pairing: Pairing = Pairing::AllToAll,
    }
}

params! {
    /// Power-law STDP (Morrison, Aertsen & Diesmann 2007; NEST: stdp_pl_synapse_hom); all-to-all pairing.
    pub struct PowerLaw {
        /// Decay time constant of the presynaptic trace.
        #[param(title = "Presynaptic time constant", unit = Ms, range = 1.0..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_+", formula = "dK_+/dt = -K_+ / τ_+", source = "NEST, hpc_benchmark")]
        tau_plus: f64 = 15.0,

        /// Decay time constant of the postsynaptic trace.
        #[param(title = "Postsynaptic time constant", unit = Ms, range = 1.0..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_-", formula = "dK_-/dt = -K_- / τ_-", source = "NEST, hpc_benchmark")]
        tau_minus: f64 = 30.0,

        /// Learning rate, in the unit of the weight to the power of 1 - μ.
        #[param(title = "Learning rate", range = 0.0..=1.0, hard = 0.0..=1e6, symbol = "λ", formula = "post: w ← w + λ w^μ K_+", source = "NEST, hpc_benchmark")]
        lambda: f64 = 0.1,

        /// Depression relative to the learning rate.
        #[param(title = "Asymmetry", range = 0.0..=1.0, hard = 0.0..=1e6, symbol = "α", formula = "pre: w ← w - λ α w K_-", source = "NEST, hpc_benchmark")]
        alpha: f64 = 0.0513,

        /// Exponent of the weight dependence of potentiation.
        #[param(title = "Exponent of potentiation", range = 0.0..=1.0, hard = 0.0..=10.0, symbol = "μ", source = "NEST, hpc_benchmark")]
        mu: f64 = 0.4,

        /// Maximum weight, in the unit of the postsynaptic model; NEST has none.
        #[param(title = "Maximum weight", range = 0.001..=1000.0, hard = 1e-9..=1e9, scale = Log, symbol = "w_max")]
        w_max: f64 = 500.0,
    }
}

params! {
    /// Triplet STDP (Pfister & Gerstner 2006, equations 3 and 4; NEST: stdp_triplet_synapse). Amplitudes are fractions of the maximum
    /// weight. The defaults fit the visual cortex with all-to-all pairing (their table 4, full model).
    pub struct Triplet {
        /// Decay time constant of the fast presynaptic trace.
        #[param(title = "Presynaptic time constant", unit = Ms, range = 1.0..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_+", formula = "dr_1/dt = -r_1 / τ_+", source = "Pfister & Gerstner 2006")]
        tau_plus: f64 = 16.8,

        /// Decay time constant of the fast postsynaptic trace.
        #[param(title = "Postsynaptic time constant", unit = Ms, range = 1.0..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_-", formula = "do_1/dt = -o_1 / τ_-", source = "Pfister & Gerstner 2006")]
        tau_minus: f64 = 33.7,

        /// Decay time constant of the slow presynaptic trace.
        #[param(title = "Slow presynaptic time constant", unit = Ms, range = 1.0..=1000.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_x", formula = "dr_2/dt = -r_2 / τ_x", source = "Pfister & Gerstner 2006")]
        tau_x: f64 = 101.0,

        /// Decay time constant of the slow postsynaptic trace.
        #[param(title = "Slow postsynaptic time constant", unit = Ms, range = 1.0..=1000.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_y", formula = "do_2/dt = -o_2 / τ_y", source = "Pfister & Gerstner 2006")]
        tau_y: f64 = 125.0,

        /// Potentiation per pair.
        #[param(title = "Pair potentiation", range = 0.0..=0.1, hard = -1.0..=1.0, symbol = "A_2^+", formula = "post: w ← w + w_max r_1 (A_2^+ + A_3^+ o_2)", source = "Pfister & Gerstner 2006")]
        a2_plus: f64 = 5e-10,

        /// Depression per pair.
        #[param(title = "Pair depression", range = 0.0..=0.1, hard = -1.0..=1.0, symbol = "A_2^-", formula = "pre: w ← w - w_max o_1 (A_2^- + A_3^- r_2)", source = "Pfister & Gerstner 2006")]
        a2_minus: f64 = 7e-3,

        /// Potentiation per triplet of one presynaptic and two postsynaptic spikes.
        #[param(title = "Triplet potentiation", range = 0.0..=0.1, hard = -1.0..=1.0, symbol = "A_3^+", formula = "post: w ← w + w_max r_1 (A_2^+ + A_3^+ o_2)", source = "Pfister & Gerstner 2006")]
        a3_plus: f64 = 6.2e-3,

        /// Depression per triplet of two presynaptic spikes and one postsynaptic spike.
        #[param(title = "Triplet depression", range = 0.0..=0.1, hard = -1.0..=1.0, symbol = "A_3^-", formula = "pre: w ← w - w_max o_1 (A_2^- + A_3^- r_2)", source = "Pfister & Gerstner 2006")]
        a3_minus: f64 = 2.3e-4,

        /// Maximum weight, in the unit of the postsynaptic model.
        #[param(title = "Maximum weight", range = 0.001..=1000.0, hard = 1e-9..=1e9, scale = Log, symbol = "w_max")]
        w_max: f64 = 200.0,

        /// Pairs and triplets of spikes that change the weight.
        #[param(title = "Pairing")]
        pairing: Pairing = Pairing::AllToAll,
    }
}

params! {
    /// Symmetric plasticity of inhibitory synapses (Vogels et al. 2011; NEST: vogels_sprekeler_synapse), which holds the rate of the
    /// postsynaptic neurons near a target.
    pub struct InhibitoryStdp {
        /// Decay time constant of both traces.
        #[param(title = "Time constant", unit = Ms, range = 1.0..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_STDP", formula = "dx/dt = -x / τ_STDP", source = "Vogels et al. 2011")]
        tau: f64 = 20.0,

        /// Learning rate, as a fraction of the maximum weight.
        #[param(title = "Learning rate", range = 1e-5..=0.1, hard = 0.0..=1.0, scale = Log, symbol = "η", formula = "pre: w ← w + η w_max (x_post - 2 ρ_0 τ_STDP); post: w ← w + η w_max x_pre")]
        eta: f64 = 1e-3,

        /// Target rate of the postsynaptic neurons.
        #[param(title = "Target rate", unit = Hz, range = 0.0..=50.0, hard = 0.0..=1000.0, symbol = "ρ_0", formula = "α = 2 ρ_0 τ_STDP", source = "Vogels et al. 2011")]
        rate: f64 = 5.0,

        /// Maximum absolute weight, in the unit of the postsynaptic model.
        #[param(title = "Maximum weight", range = 0.001..=1000.0, hard = 1e-9..=1e9, scale = Log, symbol = "w_max")]
        w_max: f64 = 200.0,
    }
}

params! {
    /// Short-term plasticity (Tsodyks, Pawelzik & Markram 1998; NEST: tsodyks2_synapse), exact between spikes. The weight does not
    /// change; a spike delivers w u x.
    pub struct TsodyksMarkram {
        /// Utilisation of a spike after a long pause.
        #[param(title = "Utilisation", range = 0.0..=1.0, symbol = "U", formula = "u ← U + u (1 - U) exp(-Δt / τ_fac)", source = "Tsodyks et al. 1998")]
        u: f64 = 0.5,

        /// Time constant of the recovery of resources.
        #[param(title = "Recovery time constant", unit = Ms, range = 1.0..=2000.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_rec", formula = "x ← 1 + (x - x u - 1) exp(-Δt / τ_rec)", source = "Tsodyks et al. 1998")]
        tau_rec: f64 = 800.0,

        /// Time constant of facilitation; 0: u is constant.
        #[param(title = "Facilitation time constant", unit = Ms, range = 0.0..=2000.0, hard = 0.0..=1e6, symbol = "τ_fac", formula = "u ← U + u (1 - U) exp(-Δt / τ_fac)", source = "Tsodyks et al. 1998")]
        tau_fac: f64 = 0.0,
    }
}

params! {
    /// Reward-modulated STDP (Izhikevich 2007): pairs of spikes change the eligibility c of a synapse, and a third factor turns it
    /// into a change of the weight; all-to-all pairing.
    pub struct RewardStdp {
        /// Decay time constant of the presynaptic trace.
        #[param(title = "Presynaptic time constant", unit = Ms, range = 1.0..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_+", formula = "dK_+/dt = -K_+ / τ_+", source = "Izhikevich 2007")]
        tau_plus: f64 = 20.0,

        /// Decay time constant of the postsynaptic trace.
        #[param(title = "Postsynaptic time constant", unit = Ms, range = 1.0..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_-", formula = "dK_-/dt = -K_- / τ_-", source = "Izhikevich 2007")]
        tau_minus: f64 = 20.0,

        /// Increase of the eligibility per pair in which the presynaptic spike is first.
        #[param(title = "Potentiation", range = 0.0..=1.0, hard = -100.0..=100.0, symbol = "A_+", formula = "post: c ← c + A_+ K_+")]
        a_plus: f64 = 0.1,

        /// Decrease of the eligibility per pair in which the postsynaptic spike is first.
        #[param(title = "Depression", range = 0.0..=1.0, hard = -100.0..=100.0, symbol = "A_-", formula = "pre: c ← c - A_- K_-")]
        a_minus: f64 = 0.15,

        /// Decay time constant of the eligibility.
        #[param(title = "Eligibility time constant", unit = Ms, range = 10.0..=5000.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_c", formula = "dc/dt = -c / τ_c", source = "Izhikevich 2007")]
        tau_c: f64 = 1000.0,

        /// Constant part of the third factor, the rate at which eligibility changes the weight, in multiples of the maximum weight.
        #[param(title = "Third factor", unit = Hz, range = -1.0..=1.0, hard = -1e6..=1e6, symbol = "d_0", formula = "dw/dt = w_max c d, d = d_0 + k (r - r_0)")]
        third_factor: f64 = 0.0,

        /// Population that modulates the third factor by its mean rate r in the last update interval; empty for none.
        #[param(title = "Modulating population", role = Role::OtherNode, apply = Rebuild)]
        modulator: String = String::new(),

        /// Change of the third factor with the rate of the modulating population.
        #[param(title = "Third factor per rate", range = -1.0..=1.0, hard = -1e6..=1e6, symbol = "k")]
        #[show_if(|s| !s.modulator.trim().is_empty())]
        per_rate: f64 = 0.01,

        /// Rate of the modulating population at which the third factor is its constant part.
        #[param(title = "Baseline rate", unit = Hz, range = 0.0..=100.0, hard = 0.0..=1e6, symbol = "r_0")]
        #[show_if(|s| !s.modulator.trim().is_empty())]
        baseline: f64 = 5.0,

        /// Interval between changes of the weights, rounded to time steps.
        #[param(title = "Update interval", unit = Ms, range = 1.0..=100.0, hard = 0.001..=400.0, scale = Log, apply = Rebuild)]
        interval: f64 = 10.0,

        /// Maximum weight, in the unit of the postsynaptic model.
        #[param(title = "Maximum weight", range = 0.001..=1000.0, hard = 1e-9..=1e9, scale = Log, symbol = "w_max")]
        w_max: f64 = 200.0,
    }
}

one_of! {
    /// Plasticity of the synapses of a projection.
    pub enum Plasticity {
        /// Weights are constant.
        Static(NoParameters),
        /// Spike-timing-dependent plasticity of pairs, additive to multiplicative.
        #[title("Pair STDP")]
        PairStdp(PairStdp),
        /// Spike-timing-dependent plasticity with power-law potentiation.
        #[title("Power-law STDP")]
        PowerLaw(PowerLaw),
        /// Spike-timing-dependent plasticity of triplets.
        #[title("Triplet STDP")]
        Triplet(Triplet),
        /// Symmetric plasticity with a target rate, for inhibitory synapses.
        #[title("Inhibitory STDP")]
        InhibitoryStdp(InhibitoryStdp),
        /// Short-term depression and facilitation.
        #[title("Short-term (Tsodyks-Markram)")]
        TsodyksMarkram(TsodyksMarkram),
        /// Spike-timing-dependent plasticity, gated by a third factor.
        #[title("Reward-modulated STDP")]
        RewardStdp(RewardStdp),
    }
}
