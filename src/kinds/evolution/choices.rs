//! Choices in the parameters of an evolution project.

use crate::{choices, nn::delta_rule::cpu::StateFormat};

choices! {
    /// Method of computing linear attention along a sequence.
    pub enum AttentionForm {
        /// Computes all steps of a sequence together, without a state matrix.
        #[title("Chunk")]
        Chunk,
        /// Computes step by step with a state matrix in 32 bits.
        #[title("State, 32 bits")]
        State32,
        /// Computes step by step with a state matrix in 16 bits, as in the published program.
        #[title("State, 16 bits")]
        State16,
    }
}

impl AttentionForm {
    /// Returns the format of the state; `None` without a state.
    pub const fn state(self) -> Option<StateFormat> {
        match self {
            Self::Chunk => None,
            Self::State32 => Some(StateFormat::Full),
            Self::State16 => Some(StateFormat::F16),
        }
    }
}

choices! {
    /// Generator of full-rank perturbations.
    pub enum Generator {
        /// Sum of four ternary numbers, -4 to 4, standard deviation 1.635, with the bits of the published program.
        SumOfFour,
        /// One ternary number, standard deviation 0.817.
        Ternary,
        /// Number of set bits of a byte less 4, -4 to 4, standard deviation 1.414. It is the fastest generator.
        #[title("Bit count")]
        Popcount,
    }
}

choices! {
    /// Weight of a pair of members in the update, from the difference of their losses.
    pub enum Shaping {
        /// Rank among all pairs, centred and divided by its standard deviation.
        CentredRank,
        /// Deviation from the mean in standard deviations.
        #[title("Z-score")]
        ZScore,
        /// Sign of the difference.
        Sign,
    }
}

choices! {
    /// Texts that the members of a generation read.
    pub enum TextChoice {
        /// Each pair reads its own sequences.
        PerPair,
        /// All pairs read the same sequences.
        Shared,
    }
}

choices! {
    /// Form of a setting's course over the generations.
    pub enum Form {
        /// The setting keeps its first value.
        Constant,
        /// The setting follows a straight line from its first to its last value.
        Linear,
        /// The setting follows half a period of a cosine.
        Cosine,
        /// The setting changes by the same factor in each generation; it is constant if either value is 0.
        Exponential,
    }
}
