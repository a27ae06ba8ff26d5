//! Parameters of the mechanisms: release, experts, life cycle, fast memory. All except number and width of experts act on a
//! running model.

use super::choices::{BalancingMethod, GateModel, PullMean, ReleaseMode, SplitRule, WriteRule};
use crate::params;

params! {
    /// Presynaptic release.
    pub struct Presynaptic {
        /// Model of the release of the values of a key, by which the history of a key changes its attention logits. A
        /// change to or from the control experiment rebuilds the simulation, because its factors are trained
        /// parameters.
        #[param(title = "Release")]
        mode: ReleaseMode = ReleaseMode::Scan,

        /// Keys of a token with the largest logits that release; 0: all keys.
        #[param(title = "Largest logits", range = 0.0..=512.0, hard = 0.0..=65_536.0, zero = "All")]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        top_keys: u32 = 0,

        /// Fraction of the tokens for which the number of released vesicles is drawn from a binomial distribution, in training.
        #[param(title = "Stochastic release", range = 0.0..=1.0)]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        stochastic: f64 = 0.0,

        /// Fraction of its calcium that a key keeps per token.
        #[param(title = "Calcium retention", range = 0.0..=0.99, hard = 0.0..=1.0, symbol = "κ_C", formula = "C ← κ_C C + α_C ln(1 + e^drive)")]
        #[show_if(|s| s.is_detailed())]
        ca_retain: f64 = 0.85,

        /// Calcium influx per unit of softplus of the attention logit.
        #[param(title = "Calcium influx", range = 0.0..=2.0, hard = 0.0..=100.0, symbol = "α_C")]
        #[show_if(|s| s.is_detailed())]
        ca_gain: f64 = 0.55,

        /// Slope of the fast calcium sensor.
        #[param(title = "Syt1 slope", range = 0.0..=20.0, hard = 0.0..=1000.0, source = "synchronous release, Südhof 2013")]
        #[show_if(|s| s.is_detailed())]
        syt1_slope: f64 = 8.0,

        /// Slope of the slow calcium sensor.
        #[param(title = "Syt7 slope", range = 0.0..=20.0, hard = 0.0..=1000.0, source = "asynchronous release, Südhof 2013")]
        #[show_if(|s| s.is_detailed())]
        syt7_slope: f64 = 3.0,

        /// Weight of the sensor of spontaneous release.
        #[param(title = "Doc2 gain", range = 0.0..=1.0, hard = 0.0..=10.0)]
        #[show_if(|s| s.is_detailed())]
        doc2_gain: f64 = 0.08,

        /// Calcium at which complexin lets release happen.
        #[param(title = "Complexin threshold", range = 0.0..=2.0, hard = -10.0..=10.0)]
        #[show_if(|s| s.is_detailed())]
        complexin_threshold: f64 = 0.55,

        /// Constant added to the clamp of complexin.
        #[param(title = "Complexin bias", range = -1.0..=1.0, hard = -10.0..=10.0)]
        #[show_if(|s| s.is_detailed())]
        complexin_bias: f64 = 0.0,

        /// Vesicles that move from the reserve to the release-ready pool per token.
        #[param(title = "Priming rate", range = 0.0..=1.0, hard = 0.0..=30.0)]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        prime_rate: f64 = 0.3,

        /// Fraction of the primed SNARE complexes that a released vesicle uses up.
        #[param(title = "Unpriming per vesicle", range = 0.0..=0.5, hard = 0.0..=1.0)]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        unprime: f64 = 0.05,

        /// Rate at which SNARE complexes are primed again.
        #[param(title = "NSF recovery", range = 0.0..=0.5, hard = 0.0..=1.0)]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        nsf_recover: f64 = 0.08,

        /// Fraction of the released vesicles that is taken up again. At 1 vesicles are conserved.
        #[param(title = "Recycled fraction", range = 0.0..=1.0)]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        recycle: f64 = 1.0,

        /// Tokens that a vesicle spends in endocytosis before it is in the reserve; 0: released vesicles are lost.
        #[param(title = "Endocytosis delay", range = 0.0..=16.0, hard = 0.0..=64.0)]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        endocytosis_delay: u32 = 3,

        /// Whether energy limits priming.
        #[param(title = "Energy limits priming")]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        energy_limits: bool = true,

        /// Fraction of the missing energy that is refilled per token.
        #[param(title = "Energy refill", range = 0.0..=0.2, hard = 0.0..=1.0)]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        energy_fill: f64 = 0.02,

        /// Energy per released vesicle.
        #[param(title = "Energy per vesicle", range = 0.0..=0.2, hard = 0.0..=1.0, source = "Attwell & Laughlin 2001")]
        #[show_if(|s| s.mode == ReleaseMode::Scan)]
        energy_use: f64 = 0.02,

        /// Tokens in which resources recover.
        #[param(title = "Recovery time constant", range = 0.1..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_rec", source = "Tsodyks & Markram 1997")]
        #[show_if(|s| s.mode == ReleaseMode::TsodyksMarkram)]
        tau_rec: f64 = 20.0,

        /// Tokens in which utilisation decays.
        #[param(title = "Facilitation time constant", range = 0.1..=200.0, hard = 0.01..=1e6, scale = Log, symbol = "τ_facil", source = "Markram et al. 1998")]
        #[show_if(|s| s.mode == ReleaseMode::TsodyksMarkram)]
        tau_facil: f64 = 5.0,

        /// Utilisation of a first spike.
        #[param(title = "Utilisation", range = 0.01..=1.0, symbol = "U", source = "Tsodyks & Markram 1997")]
        #[show_if(|s| s.mode == ReleaseMode::TsodyksMarkram)]
        utilisation: f64 = 0.5,

        /// Factor of the logarithm of release in the attention logits.
        #[param(title = "Release weight", range = 0.0..=2.0, hard = 0.0..=100.0, symbol = "λ")]
        #[show_if(|s| s.releases())]
        weight: f64 = 1.0,

        /// Constant added to release before its logarithm, which limits the bias from below.
        #[param(title = "Release floor", range = 1e-6..=0.1, hard = 1e-12..=1.0, scale = Log)]
        #[show_if(|s| s.releases())]
        floor: f64 = 1e-3,

        /// Penalty of the distance between two tokens, at the distance of a whole context.
        #[param(title = "Distance penalty", range = 0.0..=2.0, hard = 0.0..=1000.0, source = "ALiBi, Press et al. 2022")]
        barrier: f64 = 0.1,
    }
}

impl Presynaptic {
    /// Whether the mode has release.
    pub const fn releases(&self) -> bool {
        !matches!(self.mode, ReleaseMode::Off | ReleaseMode::Temperature)
    }

    /// Whether the mode models calcium sensors and vesicles.
    pub const fn is_detailed(&self) -> bool {
        matches!(self.mode, ReleaseMode::Static | ReleaseMode::Scan)
    }
}

params! {
    /// Router and experts.
    pub struct Experts {
        /// Experts of a layer. Their number is fixed: a split takes the slot of an expert that merged or died.
        #[param(title = "Experts", range = 2.0..=64.0, hard = 1.0..=4096.0, apply = Rebuild, symbol = "E")]
        count: u32 = 8,

        /// Experts per token.
        #[param(title = "Experts per token", range = 1.0..=8.0, hard = 1.0..=64.0, apply = Rebuild, symbol = "k")]
        top_k: u32 = 2,

        /// Hidden features of an expert.
        #[param(title = "Hidden features", range = 32.0..=4096.0, hard = 1.0..=65_536.0, scale = Log, apply = Rebuild)]
        hidden: u32 = 128,

        /// Whether energy and fatigue of an expert change the choices of the router.
        #[param(title = "Metabolism")]
        metabolism: bool = true,

        /// Factor of energy and of fatigue in the logits of the router. Small values let loads drift apart.
        #[param(title = "Metabolic bias", range = 0.0..=0.5, hard = 0.0..=100.0)]
        #[show_if(|s| s.metabolism)]
        metabolic_bias: f64 = 0.1,

        /// Energy that an expert spends per step at the fair load, of a budget of 1: its energy settles at 1 minus
        /// cost times load. With 0.1, an expert at 5.5 times the fair load or more has a health below 0.45 and never splits.
        #[param(title = "Energy cost", range = 0.0..=0.5, hard = 0.0..=1.0, symbol = "κ")]
        energy_cost: f64 = 0.1,

        /// Method of balancing the load of experts, in addition to metabolism.
        #[param(title = "Balancing")]
        balancing: BalancingMethod = BalancingMethod::AuxLoss,

        /// Weight of the loss that is smallest at equal load; 0: no balancing.
        #[param(title = "Auxiliary weight", range = 0.0..=0.1, hard = 0.0..=100.0)]
        #[show_if(|s| s.balancing == BalancingMethod::AuxLoss)]
        aux_weight: f64 = 0.01,

        /// Change of the bias of an expert per step.
        #[param(title = "Bias rate", range = 0.0..=0.01, hard = 0.0..=1.0)]
        #[show_if(|s| s.balancing == BalancingMethod::Bias)]
        bias_rate: f64 = 1e-3,

        /// Factor of the alignment of a token with the embedding of an expert.
        #[param(title = "Alignment", range = 0.0..=0.2, hard = 0.0..=100.0)]
        align: f64 = 0.02,

        /// Rate at which the embedding of an expert moves to the tokens that it serves.
        #[param(title = "Embedding pull", range = 0.0..=0.5, hard = 0.0..=1.0)]
        pull: f64 = 0.05,

        /// Tokens whose mean gate scales the pull.
        #[param(title = "Tokens over which the mean gate is taken")]
        pull_over: PullMean = PullMean::AllTokens,

        /// Rate at which similar embeddings repel each other.
        #[param(title = "Embedding push", range = 0.0..=0.1, hard = 0.0..=1.0)]
        push: f64 = 0.005,
    }
}

params! {
    /// Life cycle of experts. health = min(1, load / 2) · energy, with load 1 the fair share of a layer's tokens.
    pub struct Life {
        /// Whether experts split, merge and are replaced.
        #[param(title = "Life cycle")]
        enabled: bool = true,

        /// Steps before the first event.
        #[param(title = "Warm-up", unit = Steps, range = 0.0..=5000.0, hard = 0.0..=4e9)]
        #[show_if(|s| s.enabled)]
        warm_up: u32 = 200,

        /// Steps between two looks at the health of experts. An expert that changed is left alone for one interval.
        #[param(title = "Interval", unit = Steps, range = 10.0..=5000.0, hard = 1.0..=4e9, scale = Log)]
        #[show_if(|s| s.enabled)]
        interval: u32 = 100,

        /// An expert with at most this health is dead: its slot is used again.
        #[param(title = "Dead below", range = 0.0..=0.5, hard = 0.0..=1.0)]
        #[show_if(|s| s.enabled)]
        reset_health: f64 = 0.02,

        /// Two experts whose embeddings have at least this cosine can merge.
        #[param(title = "Merge similarity", range = 0.0..=1.0, hard = -1.0..=1.0)]
        #[show_if(|s| s.enabled)]
        merge_cosine: f64 = 0.85,

        /// Two experts merge if both have at most this health.
        #[param(title = "Merge below", range = 0.0..=1.0)]
        #[show_if(|s| s.enabled)]
        merge_health: f64 = 0.35,

        /// Without a dead or merged expert, the weakest gives up its slot at this health.
        #[param(title = "Replaced below", range = 0.0..=0.5, hard = 0.0..=1.0)]
        #[show_if(|s| s.enabled)]
        weak_health: f64 = 0.12,

        /// An expert ends or merges only if the loss without it rises by at most this number of nats per token. The
        /// rise is measured on the batch of the last step with the expert switched off. 0: any rise; nothing is
        /// measured.
        #[param(title = "Largest loss of an end", range = 0.0..=0.1, hard = 0.0..=100.0)]
        #[show_if(|s| s.enabled)]
        loss_limit: f64 = 0.0,

        /// An expert with at least this health splits when a slot is free. An expert that serves many times the fair
        /// load has little energy and a lower health: see the energy cost.
        #[param(title = "Split above", range = 0.0..=1.0)]
        #[show_if(|s| s.enabled)]
        split_health: f64 = 0.45,

        /// Choice of the expert that splits when a slot is free.
        #[param(title = "Split rule")]
        #[show_if(|s| s.enabled)]
        split_rule: SplitRule = SplitRule::Healthiest,

        /// Standard deviation of the noise of the weights of a child, relative to that of the weights.
        #[param(title = "Weight noise", range = 0.0..=0.2, hard = 0.0..=10.0)]
        clone_noise: f64 = 0.02,

        /// Standard deviation of the mutation of each gene at a split.
        #[param(title = "Mutation", range = 0.0..=1.0, hard = 0.0..=10.0)]
        mutation: f64 = 0.1,

        /// Length of the random vector by which the rows of the router of parent and child are tilted apart.
        #[param(title = "Router tilt", range = 0.0..=1.0, hard = 0.0..=100.0)]
        tilt: f64 = 0.15,

        /// Length of the tangent noise of the embedding of a child.
        #[param(title = "Embedding noise", range = 0.0..=1.0, hard = 0.0..=10.0)]
        embedding_noise: f64 = 0.05,
    }
}

params! {
    /// Fast memory, which tokens write while a text is continued or scored with plasticity, never while the model
    /// trains or is validated. The memory is cleared after the text.
    pub struct Plasticity {
        /// Whether sampled texts are written with plasticity.
        #[param(title = "Write while sampling")]
        sampling: bool = false,

        /// Rule by which a token writes. There is one rule; the inspector does not show it.
        #[param(title = "Write rule")]
        #[show_if(|_| false)]
        rule: WriteRule = WriteRule::Delta,

        /// Fraction of the memory that stays per token.
        #[param(title = "Retention", range = 0.5..=1.0, hard = 0.0..=1.0, symbol = "λ")]
        retain: f64 = 0.95,

        /// Step of the delta rule towards the target.
        #[param(title = "Write rate", range = 0.0..=0.5, symbol = "η", source = "delta rule, Schlag et al. 2021")]
        rate: f64 = 0.5,

        /// Largest length of the written vector.
        #[param(title = "Target length", range = 0.0..=10.0, hard = 0.0..=1e6)]
        target_norm: f64 = 1.0,

        /// Factor of the vector that a token reads.
        #[param(title = "Read-out", range = 0.0..=2.0, hard = 0.0..=100.0)]
        strength: f64 = 1.0,

        /// Model of the gate of writing.
        #[param(title = "Gate")]
        gate: GateModel = GateModel::Kinase,

        /// Rate of the rise of CaMKII at high calcium.
        #[param(title = "CaMKII rise", range = 0.0..=0.5, hard = 0.0..=1.0)]
        #[show_if(|s| s.gate == GateModel::Kinase)]
        camkii_up: f64 = 0.05,

        /// Rate of the decay of CaMKII at low calcium.
        #[param(title = "CaMKII decay", range = 0.0..=0.5, hard = 0.0..=1.0)]
        #[show_if(|s| s.gate == GateModel::Kinase)]
        camkii_down: f64 = 0.02,

        /// Slope of the gate in CaMKII minus PP1, or in the efficacy.
        #[param(title = "Gate slope", range = 0.0..=20.0, hard = 0.0..=1000.0, symbol = "b")]
        #[show_if(|s| s.gate != GateModel::Open)]
        gate_slope: f64 = 8.0,
    }
}
