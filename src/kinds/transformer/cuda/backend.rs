//! CUDA backend of the transformer.

use super::{
    buffers::{DeviceBuffers, TransformerBuffers, arena_bytes, sizes, text_arena_bytes},
    decode::{self, PieceOfText},
    network::{Drops, Network},
    pass,
};
use crate::{
    gpu::{Gpu, GpuError, ModuleSpec, Pass},
    kinds::{
        language::{
            cuda::{
                CudaBackend, DeviceModel,
                buffers::UpdatePlan,
                captures::Captures,
                decode::PieceDecoder,
                error::OpError,
                format::ModelFormat,
                kernels::StepKernels,
                model::{ModelParts, SizesOf},
            },
            plan::BatchShape,
        },
        transformer::{
            backend::{Backend, Decoder, Outcome, Site, StepInput},
            cpu::trainer::optimizer,
        },
    },
    nn::dropout::{Dropout, cuda::DropoutStep},
    sim::{MemoryReport, Progress, SimError},
};
use std::{
    cell::{RefCell, RefMut},
    sync::Arc,
};

/// Keys of passes that are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Captured {
    /// Gradients of a batch.
    Gradients {
        /// Shape of the batch.
        shape: BatchShape,
        /// Dropout in use.
        drops: Drops,
    },
    /// Losses of a batch, without gradients.
    Losses(BatchShape),
    /// Logits of one token that follows those in the cache.
    Token,
    /// Update of the parameters.
    Update {
        /// Whether the update measures norms of parameters.
        measures: bool,
    },
}

impl<T: ModelFormat> DeviceModel for Network<T> {
    type Format = T;
    type Buffers = TransformerBuffers<T>;
    type Captured = Captured;
    type HostState = ();
    const MODULES: &'static [ModuleSpec] = super::MODULES;

    fn parts(&self) -> ModelParts<'_> {
        let (c, map) = (&self.config, &*self.layout.map);
        let (context, vocab, ops, seed) = (c.context, c.vocab, &self.ops, self.seed);
        ModelParts { context, vocab, map, ops, seed, is_stochastic: self.is_stochastic }
    }

    fn sizes(&self, sequences: usize) -> SizesOf<Self> {
        sizes::<T>(&self.config, &self.layout, sequences, self.backward_pass())
    }

    fn arena_bytes(&self, shape: &BatchShape) -> usize {
        arena_bytes::<T>(&self.config, shape, self.backward_pass())
    }

    fn text_arena_bytes(&self) -> usize {
        text_arena_bytes::<T>(&self.config)
    }

    fn report(&self, to: &mut MemoryReport) {
        self.report(to);
    }

    fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Network::beside(self, gpu)
    }

    fn launch(
        &self,
        kernels: &StepKernels,
        b: &mut DeviceBuffers<T>,
        what: Captured,
        pass: &mut Pass,
    ) -> Result<(), OpError> {
        match what {
            Captured::Gradients { shape, drops } => pass::accumulate(self, b, shape, drops, pass),
            Captured::Losses(shape) => pass::losses(self, b, shape, pass),
            Captured::Token => decode::token(self, kernels, b, pass),
            Captured::Update { .. } => pass::update(self, kernels, b, pass),
        }
    }

    fn update(measures: bool) -> Captured {
        Captured::Update { measures }
    }

    fn losses(shape: BatchShape) -> Captured {
        Captured::Losses(shape)
    }

    fn decoder<'a>(
        &'a self,
        kernels: &'a StepKernels,
        captures: &'a RefCell<Captures<Captured>>,
        buffers: RefMut<'a, DeviceBuffers<T>>,
    ) -> Box<dyn Decoder + 'a> {
        Box::new(PieceDecoder::new(PieceOfText { network: self, kernels, captures, buffers }))
    }
}

impl<T: ModelFormat> Backend for CudaBackend<Network<T>> {
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        self.reserve_all(input.batches)?;
        let network = &self.network;
        let op = optimizer(&network.config, &network.layout, input.hyper, input.frozen)?;
        let matrices = op.matrices.iter().map(|(matrix, _)| (*matrix).into()).collect();
        let update = UpdatePlan { matrices, iterations: op.muon.iterations };
        self.set_optimizer(input.hyper, op.groups, update, input.measures)?;
        let drops = Drops::of(input.hyper);
        self.train(input.batches, pass, |network, b, of| {
            let noise = |p: f32, offset: usize| {
                let drop = Dropout { p: p.into(), seed: network.seed, layer_site: 0, offset: offset as u64 };
                DropoutStep::new(&drop, input.step)
            };
            if drops.elements {
                b.kind.noise.set(noise(input.hyper.dropout, of.first_token * network.config.width))?;
            }
            if drops.probabilities {
                b.kind.attention_noise.set(noise(input.hyper.attention_dropout, of.first_token))?;
            }
            Ok(Captured::Gradients { shape: of.shape, drops })
        })
    }

    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError> {
        progress.report("activations", 0.0)?;
        self.read_activations(tokens, site)
    }
}
