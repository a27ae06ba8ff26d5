//! What the simulation asks of a backend. The CPU is the definition; CUDA is the same made fast.
//!
//! A backend holds parameters, optimiser states and workspace. Everything else belongs to the simulation: which tokens are
//! trained on, the learning rate of a step, what is frozen, curves and texts. Values are exchanged in f32, whatever
//! the backend stores.

use crate::{
    gpu::{KernelFacts, Pass},
    sim::{Execution, MemoryReport, Progress, SimError},
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
    /// Whether [`Backend::norms`] is read after this step.
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
pub trait Backend: Send {
    /// Takes a training step: gradients of all micro-batches, clipping, optimiser. It may return before the device has
    /// finished. Looks at [`Pass::is_stopping`] within every 100 ms.
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Moves what the steps since the last call were to the end of `out`, oldest first. Waits for the device. At most
    /// [`MAX_WAITING_STEPS`] may wait.
    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError>;
    /// Norms of each parameter in the last step, which had `measures`.
    fn norms(&mut self) -> Result<Vec<ViewNorms>, SimError>;
    /// Losses of a batch without dropout, per token in nats; 0 where the target is [`IGNORED`]. Looks at
    /// [`Pass::is_stopping`] as a step does; then the losses are incomplete.
    fn evaluate(&mut self, batch: &Batch<'_>, losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError>;
    /// A decoder with an empty cache.
    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError>;
    /// Activations of one sequence, in f32.
    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError>;
    /// Copies a buffer to the host: the elements of the map from `start` on.
    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError>;
    /// Copies a whole buffer from the host.
    fn write(&mut self, buffer: StateBuffer, from: &[f32]) -> Result<(), SimError>;
    /// State of the optimiser beside its moments.
    fn counters(&self) -> Result<Counters, SimError>;
    /// Sets it.
    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError>;
    /// Device and implementations.
    fn execution(&self) -> Execution;
    /// What it does otherwise than asked.
    fn notices(&self) -> Vec<String> {
        vec![]
    }
    /// Memory held.
    fn memory(&self) -> MemoryReport;
    /// Registers, shared memory and occupancy of its kernels.
    fn kernels(&self) -> Vec<KernelFacts> {
        vec![]
    }
}
