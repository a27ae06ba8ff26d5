//! Interface between the simulation and its backends. The CPU backend is the reference for the CUDA backend.

use crate::{
    gpu::Pass,
    kinds::language::backend as language,
    sim::{Progress, SimError},
};

pub use crate::kinds::language::backend::*;

/// Input of a training step.
#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a> {
    /// Step index from 0, which is part of the addresses of dropout's random numbers.
    pub step: u64,
    /// Micro-batches in order. The gradient is the gradient of the mean loss over all their targets. The slices are valid
    /// only during the call.
    pub batches: &'a [Batch<'a>],
    /// Optimiser and dropout settings.
    pub hyper: &'a Hyper,
    /// Whether each layer ([`Layout::layer_names`](super::model::Layout::layer_names)) keeps its parameters and optimiser
    /// state.
    pub frozen: &'a [bool],
    /// Whether [`norms`](language::GradientBackend::norms) is read after this step.
    pub measures: bool,
}

/// Activations that can be inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Attention probabilities of a head, `[tokens, tokens]`: rows attend to columns.
    Attention {
        /// Index of the block.
        layer: usize,
        /// Index of the head.
        head: usize,
    },
    /// Residual stream before block i, `[tokens, C]`: 0 is the output of the embedding, `layers` the output of the last
    /// block.
    Residual(usize),
    /// Output of attention of a block before its projection, `[tokens, C]`.
    AttentionOutput(usize),
    /// Output of the activation function of a block, `[tokens, F]`.
    Hidden(usize),
}

/// Transformer that is trained and inspected on one device.
pub trait Backend: language::GradientBackend {
    /// Runs a training step: gradients of all micro-batches, clipping, optimiser. The call may return before the device has
    /// finished. Checks [`Pass::is_stopping`] at least every 100 ms. Fails if an input is invalid or the device fails.
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Returns the activations of one sequence, in f32. Fails if the sequence does not fit the model or the site does not
    /// exist.
    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError>;
}
