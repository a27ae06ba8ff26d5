//! Trait of a kind's model on a device: its layers, and the buffers that only they use.

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

/// Layers of a kind's model on a device. [`CudaBackend`](super::CudaBackend) implements the parts that all models share.
pub trait DeviceModel: Send + Sized + 'static {
    /// Number format of the weights that layers multiply.
    type Format: ModelFormat;
    /// Buffers that only this kind has.
    type Buffers: Buffers<Memory = Arc<Gpu>, Sizes: Send> + Send;
    /// Key of a pass that can be captured. The launches of a pass must depend only on the key and on device memory;
    /// otherwise its capture is dropped by [`CudaBackend::forget`](super::CudaBackend::forget).
    type Captured: Copy + Debug + Eq + Hash + Send;
    /// Per-step state of the kind on the host.
    type HostState: Default + Send;
    /// Modules of the kind's own kernels.
    const MODULES: &'static [ModuleSpec];

    /// Returns the context, vocabulary, parameters and operations.
    fn parts(&self) -> ModelParts<'_>;
    /// Returns the ascending ranges of the gradient that the first micro-batch of a step overwrites; all other gradients
    /// are accumulated.
    fn first_written(&self) -> Vec<Range<usize>> {
        vec![]
    }
    /// Returns the buffer sizes for batches of up to `sequences` sequences of the context length.
    fn sizes(&self, sequences: usize) -> SizesOf<Self>;
    /// Returns the size of the arena for a pass over a batch, bytes.
    fn arena_bytes(&self, shape: &BatchShape) -> usize;
    /// Returns the size of the arena for decoding a text, bytes.
    fn text_arena_bytes(&self) -> usize;
    /// Adds the memory of tables and operations to the report.
    fn report(&self, to: &mut MemoryReport);
    /// Creates the same model on the stream of another handle to its device. Fails if a module cannot be loaded.
    fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError>;
    /// Copies the state other than weights that decoders read. Fails if the device fails.
    fn copy_state(from: &Self::Buffers, to: &mut Self::Buffers) -> Result<(), GpuError> {
        let _ = (from, to);
        Ok(())
    }

    /// Launches the kernels of a pass. Fails if a launch fails.
    fn launch(
        &self,
        kernels: &StepKernels,
        b: &mut ModelBuffers<Self>,
        what: Self::Captured,
        pass: &mut Pass,
    ) -> Result<(), OpError>;
    /// Returns the key of the optimiser update that measures norms of parameters, or of the one that does not.
    fn update(measures: bool) -> Self::Captured;
    /// Returns the key of the pass that writes the [losses](BatchBuffers::losses) of the uploaded batch, without gradients
    /// and dropout.
    fn losses(shape: BatchShape) -> Self::Captured;
    /// Creates a decoder with an empty cache. Fails if the device fails.
    fn decoder<'a>(
        &'a self,
        kernels: &'a StepKernels,
        captures: &'a RefCell<Captures<Self::Captured>>,
        buffers: RefMut<'a, ModelBuffers<Self>>,
    ) -> Box<dyn Decoder + 'a>;
}

/// Context, vocabulary, parameters and operations of a model.
#[derive(Clone, Copy)]
pub struct ModelParts<'a> {
    /// Maximum number of tokens per sequence.
    pub context: usize,
    /// Vocabulary size in tokens.
    pub vocab: usize,
    /// Names and ranges of the parameters.
    pub map: &'a ParameterMap,
    /// Operations and their implementations.
    pub ops: &'a ModelOps,
    /// Seed of all random draws.
    pub seed: u64,
    /// Whether an update rounds bf16 weights stochastically.
    pub is_stochastic: bool,
}

buffers! {
    /// All device buffers of a model.
    pub struct ModelBuffers<M: DeviceModel, struct: DeviceModel>(gpu: Arc<Gpu>, s: SizesOf<M>) {
        groups {
            /// Buffers that only this kind has.
            pub kind: M::Buffers = s.kind;
            /// Weights, optimiser state and step records.
            pub trained: Trained<M::Format> = s.trained;
            /// Batch with its activations.
            pub batch: BatchBuffers = s.batch;
        }
    }
}

/// Sizes that determine [`ModelBuffers`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelSizes<S> {
    /// Sizes of the kind's own buffers.
    pub kind: S,
    /// Sizes of weights and optimiser state.
    pub trained: TrainedSizes,
    /// Sizes of the batch buffers.
    pub batch: BatchSizes,
}

/// Buffer sizes of model `M`.
pub type SizesOf<M> = ModelSizes<<<M as DeviceModel>::Buffers as Buffers>::Sizes>;

impl<S> ModelSizes<S> {
    /// Returns the sizes for batches of `shape` whose passes need `arena` bytes. `is_divided` states whether batches
    /// may be padded or packed. The arena also fits an update in which Muon updates any of `matrices`.
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

/// Uploaded micro-batch of a step.
#[derive(Clone, Copy, Debug)]
pub struct MicroBatch<'a> {
    /// Batch in host memory.
    pub batch: &'a Batch<'a>,
    /// Shape of the uploaded batch.
    pub shape: BatchShape,
    /// Number of tokens of the step in earlier micro-batches.
    pub first_token: usize,
    /// Number of sequences of the step in earlier micro-batches.
    pub first_sequence: usize,
}
