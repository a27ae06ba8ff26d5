//! Copy of a model that samples a text on its own stream, concurrently with training steps.
//!
//! The copy contains the state that a decoder reads: weights, state that the kind adds, a batch of one sequence and KV
//! caches. It launches the same kernels as the model's own decoder, so that texts are bit-identical. The copy is allocated
//! when the first text is due, if its memory is at most half of the free memory; otherwise texts are sampled between steps.

use super::{
    buffers::TrainedSizes,
    captures::Captures,
    kernels::StepKernels,
    model::{DeviceModel, ModelBuffers, SizesOf},
};
use crate::{
    gpu::{Gpu, GpuError, Mark, Place},
    kinds::language::backend::{Decoder, TextModel},
    sim::{Buffers as _, MemoryReport, SimError},
};
use std::{cell::RefCell, sync::Arc};

/// Model and its buffers for sampling.
pub struct TextCopy<M: DeviceModel> {
    /// Captured passes; declared first, so that they are dropped before the buffers that they reference.
    captures: RefCell<Captures<M::Captured>>,
    network: M,
    kernels: StepKernels,
    buffers: RefCell<ModelBuffers<M>>,
    gpu: Arc<Gpu>,
}

impl<M: DeviceModel> TextCopy<M> {
    /// Allocates a copy with zero weights; `None` if it would need more than half of the free memory. Fails if memory is
    /// exhausted.
    pub fn new(of: &M, gpu: &Gpu) -> Result<Option<Self>, GpuError> {
        let sizes = sizes(of);
        let needed = ModelBuffers::<M>::predict(&sizes).on(Place::Device);
        if needed > gpu.memory()?.free / 2 {
            return Ok(None);
        }
        let gpu = gpu.with_new_streams(1)?;
        let network = of.beside(&gpu)?;
        let buffers = RefCell::new(ModelBuffers::<M>::allocate(&gpu, &sizes)?);
        Ok(Some(Self { captures: RefCell::default(), kernels: StepKernels::load(&gpu)?, network, buffers, gpu }))
    }

    /// Copies the state that decoders read, after all earlier launches on `gpu` and before later ones. Neither the host nor
    /// other launches wait for the sampling of texts. Fails if the device fails.
    pub fn copy(&mut self, from: &ModelBuffers<M>, gpu: &Gpu) -> Result<(), GpuError> {
        let to = self.buffers.get_mut();
        self.gpu.wait(&Mark::now(gpu)?)?;
        to.trained.weights.copy_from(&from.trained.weights)?;
        to.trained.copy.copy_from(&from.trained.copy)?;
        M::copy_state(&from.kind, &mut to.kind)?;
        gpu.wait(&Mark::now(&self.gpu)?)
    }

    /// Returns the device memory in use, bytes. While a decoder uses the buffers, they are not included.
    pub fn bytes(&self) -> u64 {
        let mut report = self.buffers.try_borrow().map_or_else(|_| MemoryReport::default(), |b| b.held());
        self.network.report(&mut report);
        report.on(Place::Device)
    }
}

/// Returns the buffer sizes of a decoder, which has no gradient and moments and reads one sequence.
fn sizes<M: DeviceModel>(of: &M) -> SizesOf<M> {
    let mut sizes = of.sizes(1);
    sizes.trained = TrainedSizes { n_trained: 0, ..sizes.trained };
    sizes.batch.arena = of.text_arena_bytes();
    sizes
}

impl<M: DeviceModel> TextModel for TextCopy<M> {
    fn decoder(&mut self) -> Result<Box<dyn Decoder + '_>, SimError> {
        let Self { captures, network, kernels, buffers, .. } = self;
        Ok(network.decoder(kernels, captures, buffers.borrow_mut()))
    }
}
