//! What a kind declares of its model on a device: its layers, and the buffers that they use beside those of every model.

use super::{
    batch::{BatchBuffers, BatchSizes},
    buffers::{Trained, TrainedSizes},
    captures::Captures,
    error::OpError,
    format::ModelFormat,
    kernels::StepKernels,
    layers::ModelOps,
};
use crate::{
    buffers,
    gpu::{Gpu, GpuError, ModuleSpec, Pass},
    kinds::language::{
        backend::{Batch, Decoder},
        plan::BatchShape,
    },
    nn::{optimizer::MatrixRun, parameters::ParameterMap},
    sim::{Buffers, MemoryReport},
};
use std::{
    cell::{RefCell, RefMut},
    fmt::Debug,
    hash::Hash,
    ops::Range,
    sync::Arc,
};

/// A model of a kind on a device: its layers. [`CudaBackend`](super::CudaBackend) does what all models have in common.
pub trait DeviceModel: Send + Sized + 'static {
    /// Format of the weights that layers multiply.
    type Format: ModelFormat;
    /// Buffers beside those of every model.
    type Buffers: Buffers<Memory = Arc<Gpu>, Sizes: Send> + Send;
    /// Passes that can be captured. What one launches follows from this value and from what is in memory, else the captured
    /// passes are dropped by [`CudaBackend::forget`](super::CudaBackend::forget).
    type Captured: Copy + Debug + Eq + Hash + Send;
    /// What the host keeps of the steps.
    type HostState: Default + Send;
    /// Kernels of the kind.
    const MODULES: &'static [ModuleSpec];

    /// What every model has.
    fn parts(&self) -> ModelParts<'_>;
    /// Ranges of the gradient, in order, that the first micro-batch of a step writes; to the others all of them add.
    fn first_written(&self) -> Vec<Range<usize>> {
        vec![]
    }
    /// Sizes for batches of up to that many sequences of the context.
    fn sizes(&self, sequences: usize) -> SizesOf<Self>;
    /// Bytes of an arena for a batch.
    fn arena_bytes(&self, shape: &BatchShape) -> usize;
    /// Bytes of an arena for a text that is continued.
    fn text_arena_bytes(&self) -> usize;
    /// Adds the memory of its tables and operations.
    fn report(&self, to: &mut MemoryReport);
    /// The same model on another stream of its device.
    fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError>;
    /// Copies what decoders read beside weights.
    fn copy_state(from: &Self::Buffers, to: &mut Self::Buffers) -> Result<(), GpuError> {
        let _ = (from, to);
        Ok(())
    }

    /// Launches a pass.
    fn launch(
        &self,
        kernels: &StepKernels,
        b: &mut ModelBuffers<Self>,
        what: Self::Captured,
        pass: &mut Pass,
    ) -> Result<(), OpError>;
    /// The update, which measures norms of parameters or does not.
    fn update(measures: bool) -> Self::Captured;
    /// The pass that writes the [losses](BatchBuffers::losses) of a batch in memory, without gradients and random draws.
    fn losses(shape: BatchShape) -> Self::Captured;
    /// A decoder with an empty cache.
    fn decoder<'a>(
        &'a self,
        kernels: &'a StepKernels,
        captures: &'a RefCell<Captures<Self::Captured>>,
        buffers: RefMut<'a, ModelBuffers<Self>>,
    ) -> Box<dyn Decoder + 'a>;
}

/// What every model has.
#[derive(Clone, Copy)]
pub struct ModelParts<'a> {
    /// Tokens of a sequence at most.
    pub context: usize,
    /// Tokens of the vocabulary.
    pub vocab: usize,
    /// Names and ranges of the parameters.
    pub map: &'a ParameterMap,
    /// Operations.
    pub ops: &'a ModelOps,
    /// Seed of the model.
    pub seed: u64,
    /// Whether weights in bf16 are rounded stochastically after an update.
    pub is_stochastic: bool,
}

buffers! {
    /// What a model holds on a device.
    pub struct ModelBuffers<M: DeviceModel, struct: DeviceModel>(gpu: Arc<Gpu>, s: SizesOf<M>) {
        groups {
            /// What its layers use.
            pub kind: M::Buffers = s.kind;
            /// Weights and the state of their optimiser.
            pub trained: Trained<M::Format> = s.trained;
            /// A batch and its activations.
            pub batch: BatchBuffers = s.batch;
        }
    }
}

/// What the sizes of [`ModelBuffers`] follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelSizes<S> {
    /// Of the buffers of its kind.
    pub kind: S,
    /// Of weights and their optimiser.
    pub trained: TrainedSizes,
    /// Of batches.
    pub batch: BatchSizes,
}

/// Those of a model.
pub type SizesOf<M> = ModelSizes<<<M as DeviceModel>::Buffers as Buffers>::Sizes>;

impl<S> ModelSizes<S> {
    /// For batches of a shape, which may have lengths or not, whose passes need an arena of so many bytes. Any of the matrices may
    /// become one of Muon.
    pub fn new(
        kind: S,
        map: &ParameterMap,
        matrices: &[MatrixRun],
        shape: &BatchShape,
        (arena, is_divided): (usize, bool),
    ) -> Self {
        let arena = arena.max(TrainedSizes::temporaries(map, matrices));
        let batch = BatchSizes { tokens: shape.n_tokens(), arena, is_divided };
        Self { kind, trained: TrainedSizes::new(map), batch }
    }
}

/// A micro-batch of a step, in memory.
#[derive(Clone, Copy, Debug)]
pub struct MicroBatch<'a> {
    /// On the host.
    pub batch: &'a Batch<'a>,
    /// Its sizes.
    pub shape: BatchShape,
    /// Tokens of the step before it.
    pub first_token: usize,
    /// Sequences of the step before it.
    pub first_sequence: usize,
}
