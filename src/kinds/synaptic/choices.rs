//! Choices among the parameters.

use crate::choices;

choices! {
    /// Model of the release of the values of a key, by which the history of a key changes its attention logits.
    pub enum ReleaseMode {
        /// Plain attention.
        Off,
        /// Every token sees fresh synapses: a fixed function of the attention logit.
        #[title("Static (fresh synapses)")]
        Static,
        /// Calcium, vesicle pools and energy of every key evolve along the sequence.
        #[title("Scan (calcium and vesicles)")]
        Scan,
        /// Resource and utilisation of every key (Tsodyks & Markram 1997): two variables.
        #[title("Tsodyks-Markram")]
        TsodyksMarkram,
        /// Plain attention with a trained factor per head: the control experiment of sharper attention.
        #[title("Temperature per head (control)")]
        Temperature,
    }
}

choices! {
    /// Number format of the operands of matrix multiplications on a GPU. Everything else, and the router, is f32. The CPU
    /// computes in f32.
    pub enum Precision {
        /// IEEE single precision.
        #[title("fp32")]
        F32,
        /// Single precision in memory, operands of multiplications rounded to 10 bits of mantissa.
        #[title("tf32")]
        Tf32,
        /// Operands of projections, experts and logits in bfloat16, those of attention rounded as in tf32; master weights and
        /// sums are single precision.
        #[title("bf16")]
        Bf16,
    }
}

choices! {
    /// Source of the first values of hidden matrices.
    pub enum FirstValues {
        /// A normal or uniform distribution of a standard deviation that fits the sizes.
        Random,
        /// The history of an elementary cellular automaton with a random first row (Wolfram 1983).
        #[title("Cellular automaton")]
        CellularAutomaton,
    }
}

choices! {
    /// Method of balancing the load of experts, in addition to metabolism.
    pub enum BalancingMethod {
        /// A loss that is smallest at equal load (Fedus et al. 2022).
        #[title("Auxiliary loss")]
        AuxLoss,
        /// A bias per expert that only the selection sees (Wang et al. 2024).
        #[title("Selection bias")]
        Bias,
    }
}

choices! {
    /// Tokens whose mean gate scales the pull of the embedding of an expert.
    pub enum PullMean {
        /// All tokens: embeddings of idle experts hardly move.
        #[title("All tokens")]
        AllTokens,
        /// The tokens that the expert serves: those of idle experts move as fast, so that similar ones serve similar tokens.
        #[title("Tokens of the expert")]
        OwnTokens,
    }
}

choices! {
    /// Choice of the healthy expert that splits when a slot is free.
    pub enum SplitRule {
        /// The healthiest.
        Healthiest,
        /// The expert with the largest mean square gradient, which training changes most (expert upcycling, arXiv
        /// 2604.19835).
        #[title("Gradient utility")]
        GradientUtility,
    }
}

choices! {
    /// Rule by which each token of a text writes.
    pub enum WriteRule {
        /// Delta rule on a matrix per layer (Schlag et al. 2021). The read vector stays bounded for all written
        /// vectors.
        #[title("Delta rule")]
        #[replaces("Hebbian", "the Hebbian rule feeds back on its own outputs, so that the loss of a text rises and then becomes NaN")]
        Delta,
    }
}

choices! {
    /// Model of the gate of writing fast memory.
    pub enum GateModel {
        /// The gate is always open.
        #[title("Always open")]
        Open,
        /// Calcium-dependent kinase against phosphatase.
        #[title("CaMKII and PP1")]
        Kinase,
        /// A bistable synaptic efficacy (Graupner & Brunel 2012).
        #[title("Bistable (Graupner-Brunel)")]
        Bistable,
    }
}
