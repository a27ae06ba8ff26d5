//! What the simulation asks of a backend. The CPU is the definition; CUDA is the same made fast.

use crate::{
    gpu::Pass,
    kinds::language::backend as language,
    sim::{Progress, SimError},
};

pub use crate::kinds::language::backend::*;

/// A training step.
#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a> {
    /// Its number from 0: part of the addresses of dropout.
    pub step: u64,
    /// Micro-batches, in order. The gradient is that of the mean loss over all their targets. The slices are valid during
    /// the call only.
    pub batches: &'a [Batch<'a>],
    /// Learning rate and others.
    pub hyper: &'a Hyper,
    /// For each layer ([`Layout::layer_names`](super::model::Layout::layer_names)) whether it keeps its parameters and
    /// optimiser states.
    pub frozen: &'a [bool],
    /// Whether [`norms`](language::Backend::norms) is read after this step.
    pub measures: bool,
}

/// Activations that can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Probabilities `[tokens, tokens]` of a head: rows attend to columns.
    Attention {
        /// Block.
        layer: usize,
        /// Head.
        head: usize,
    },
    /// The residual stream behind a block, `[tokens, C]`; of `layers` blocks, number 0 is the embedding.
    Residual(usize),
    /// The output of attention of a block before its projection, `[tokens, C]`.
    AttentionOutput(usize),
    /// Outputs of the activation function of a block, `[tokens, F]`.
    Hidden(usize),
}

/// A model that is trained and asked on one device.
pub trait Backend: language::Backend {
    /// Takes a training step: gradients of all micro-batches, clipping, optimiser. It may return before the device has
    /// finished. Looks at [`Pass::is_stopping`] within every 100 ms.
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Activations of one sequence, in f32.
    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError>;
}
