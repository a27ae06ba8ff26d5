//! Parameters of a demo project.

use super::{cpu::TABLE, source::N_SYMBOLS};
use crate::{param_tree, params};

params! {
    /// Experts and their weights.
    pub struct Experts {
        /// Size of the weights, in bfloat16. Tables of experts that do not exist yet are zero.
        #[param(title = "Weights", range = 1.0..=1024.0, hard = 1.0..=65_536.0, scale = Log, apply = Rebuild)]
        weights_mib: u32 = 16,

        /// Experts at step 0.
        #[param(title = "Initial experts", range = 1.0..=27.0, hard = 1.0..=27.0, apply = Rewind)]
        n_start: u32 = 2,

        /// Step size of the gradient step after every token.
        #[param(title = "Learning rate", range = 0.0..=1.0, hard = 0.0..=100.0, symbol = "η")]
        learning_rate: f64 = 0.1,
    }
}

params! {
    /// Growth of the set of experts.
    pub struct Growth {
        /// Tokens between two splits; 0: never. The expert with the highest load splits, if it owns two symbols at least.
        #[param(title = "Split interval", range = 0.0..=100_000.0, hard = 0.0..=1e9)]
        split_every: u32 = 4000,

        /// The number of experts does not exceed this.
        #[param(title = "Maximum experts", range = 1.0..=27.0, hard = 1.0..=27.0)]
        most: u32 = 16,
    }
}

params! {
    /// Sampling of curves and texts.
    pub struct Measure {
        /// Tokens between two samples of curves.
        #[param(title = "Sample interval", range = 1.0..=10_000.0, hard = 1.0..=1e9, scale = Log)]
        every: u32 = 100,

        /// Tokens between two generated texts; 0: never.
        #[param(title = "Text interval", range = 0.0..=100_000.0, hard = 0.0..=1e9)]
        text_every: u32 = 2000,

        /// Symbols of a generated text.
        #[param(title = "Text length", range = 8.0..=512.0, hard = 1.0..=65_536.0)]
        text_length: u32 = 120,
    }
}

param_tree! {
    /// Parameters of a demo project.
    pub struct Params {
        /// Experts and their weights.
        #[title("Experts")]
        experts: Experts,
        /// Growth of the set of experts.
        #[title("Growth")]
        growth: Growth,
        /// Sampling of curves and texts.
        #[title("Recording")]
        measure: Measure,
    }
}

impl Params {
    /// Number of bfloat16 weights: at least a table for every symbol.
    pub fn n_weights(&self) -> usize {
        (self.experts.weights_mib as usize) << 19
    }
}

// The smallest state holds a table for each symbol.
const _: () = assert!(N_SYMBOLS * TABLE <= 1 << 19);
