//! A copy of a model that writes a text on a stream of its own, while the model takes further steps.
//!
//! The copy holds what a decoder reads: weights and what the kind adds, a batch of one sequence, caches. Its launches are those of
//! the model's own decoder, so that the texts have the same bits. It is made when the first text is due, where that leaves most of
//! the free memory free; else texts are written between two steps.

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

/// A model with its buffers, for texts.
pub struct TextCopy<M: DeviceModel> {
    /// Captured passes, dropped before the buffers that they name.
    captures: RefCell<Captures<M::Captured>>,
    network: M,
    kernels: StepKernels,
    buffers: RefCell<ModelBuffers<M>>,
    gpu: Arc<Gpu>,
}

impl<M: DeviceModel> TextCopy<M> {
    /// With weights that are 0; `None` if it would take more than half of the free memory.
    pub fn new(of: &M, gpu: &Gpu) -> Result<Option<Self>, GpuError> {
        let sizes = sizes(of);
        let needed = ModelBuffers::<M>::predict(&sizes).on(Place::Device);
        if needed > gpu.memory()?.free / 2 {
            return Ok(None);
        }
        let gpu = gpu.with_new_streams()?;
        let network = of.beside(&gpu)?;
        let buffers = RefCell::new(ModelBuffers::<M>::allocate(&gpu, &sizes)?);
        Ok(Some(Self { captures: RefCell::default(), kernels: StepKernels::load(&gpu)?, network, buffers, gpu }))
    }

    /// Copies what decoders read, as it is behind the launches of `gpu` so far and before those to come. Neither the host nor other
    /// launches wait for the texts.
    pub fn copy(&mut self, from: &ModelBuffers<M>, gpu: &Gpu) -> Result<(), GpuError> {
        let to = self.buffers.get_mut();
        self.gpu.wait(&Mark::now(gpu)?)?;
        to.trained.weights.copy_from(&from.trained.weights)?;
        to.trained.copy.copy_from(&from.trained.copy)?;
        M::copy_state(&from.kind, &mut to.kind)?;
        gpu.wait(&Mark::now(&self.gpu)?)
    }

    /// Device memory held, bytes.
    pub fn bytes(&self) -> u64 {
        let mut report = self.buffers.try_borrow().map_or_else(|_| MemoryReport::default(), |b| b.held());
        self.network.report(&mut report);
        report.on(Place::Device)
    }
}

/// What a decoder uses: no gradient, no moments, one sequence.
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
