//! Decoder with a KV cache on a device.

use super::{
    backend::Captured,
    buffers::{DeviceBuffers, TransformerBuffers, plan},
    network::Network,
    pass::{BlockInArena, HeadInArena},
};
use crate::{
    gpu::Pass,
    kinds::{
        language::{
            cuda::{
                batch::{BatchBuffers, BatchParts, DeviceBatch},
                blocks::Cache,
                buffers::Trained,
                captures::Captures,
                decode::PieceReader,
                error::OpError,
                format::ModelFormat,
                kernels::StepKernels,
                layers::widened,
            },
            plan::BatchShape,
        },
        transformer::choices::Checkpointing,
    },
};
use std::cell::{RefCell, RefMut};

/// Decoder of single tokens or chunks. Both give equal results.
pub struct PieceOfText<'a, T: ModelFormat> {
    /// Network that decodes.
    pub network: &'a Network<T>,
    /// Kernels that append to the cache.
    pub kernels: &'a StepKernels,
    /// Captured passes. The pass of one token is captured, because launching its kernels takes longer than executing them.
    pub captures: &'a RefCell<Captures<Captured>>,
    /// Weights, KV cache and workspace.
    pub buffers: RefMut<'a, DeviceBuffers<T>>,
}

impl<T: ModelFormat> PieceReader for PieceOfText<'_, T> {
    fn limits(&self) -> [usize; 2] {
        [self.network.config.context, self.network.config.vocab]
    }

    /// Returns the largest number of tokens whose activations and logits fit the buffers.
    fn piece(&self) -> usize {
        let DeviceBuffers { kind, batch, .. } = &*self.buffers;
        (kind.logits.len() / self.network.config.padded_vocab()).min(batch.tokens.len())
    }

    fn read(&mut self, first: usize, tokens: &[u32], to: &mut Vec<f32>) -> Result<(), OpError> {
        let (network, kernels, n) = (self.network, self.kernels, tokens.len());
        let b = &mut *self.buffers;
        b.batch.tokens.write_at(0, tokens)?;
        b.batch.lengths.write_at(0, &[(first + n) as i32])?;
        if n == 1 {
            b.batch.positions.write_at(0, &[first as u32])?;
            let launch = |pass: &mut Pass| token(network, kernels, b, pass);
            self.captures.borrow_mut().run(&network.gpu, Captured::Token, &mut Pass::default(), launch)?;
        } else {
            Piece { n, first: Some(first) }.launch(network, kernels, b, &mut Pass::default())?;
        }
        to.extend(widened(&b.kind.logits.read_range(0..n * network.config.padded_vocab())?));
        Ok(())
    }
}

/// Launches the pass of one token, whose position is in device memory. Fails if the sizes do not match or a launch fails.
pub fn token<T: ModelFormat>(
    network: &Network<T>,
    kernels: &StepKernels,
    b: &mut DeviceBuffers<T>,
    pass: &mut Pass,
) -> Result<(), OpError> {
    Piece { n: 1, first: None }.launch(network, kernels, b, pass)
}

/// Chunk of tokens in device memory that follows the cached tokens.
struct Piece {
    /// Number of tokens in the chunk.
    n: usize,
    /// Position of the first token; `None` if positions are in device memory.
    first: Option<usize>,
}

impl Piece {
    /// Appends the chunk to the cache, and writes its logits. Fails if the sizes do not match or a launch fails.
    fn launch<T: ModelFormat>(
        &self,
        network: &Network<T>,
        kernels: &StepKernels,
        b: &mut DeviceBuffers<T>,
        pass: &mut Pass,
    ) -> Result<(), OpError> {
        let DeviceBuffers { trained, batch, kind } = b;
        let TransformerBuffers { keys, values, logits, .. } = kind;
        let Trained { weights, copy, .. } = trained;
        let BatchBuffers { tokens: ids, targets, lengths, positions, flag, arena, .. } = batch;
        let shape = BatchShape::full(1, self.n);
        let plan = plan(&network.config, &shape, Checkpointing::Nothing, false);
        let parts = BatchParts::new(shape, (ids, targets), (lengths, positions))?;
        let (in_memory, lengths) = (positions.part(0..self.n)?, lengths.part(0..1)?);
        let batch =
            DeviceBatch { positions: self.first.is_none().then_some(&*in_memory), ..parts.at(self.first.unwrap_or(0)) };
        let frame = arena.frame();
        let mut x = frame.take::<T>("residual stream", plan.stream)?;
        let mut next = frame.take::<T>("next residual stream", plan.stream)?;
        let mut block = BlockInArena::<T>::take(&mut &frame, &plan.block)?;
        let mut branch = frame.take::<T>("output before dropout", 0)?;
        let mut head = HeadInArena::<T>::take(&mut &frame, &plan.head)?;
        let inner = frame.frame();
        let mut run = network.run(T::weights(weights, copy), batch, flag, &inner, pass);
        run.ops.cache = Some(Cache { kernels, keys, values, lengths: &lengths });
        let (streams, mut logits) = ((&mut *x, &mut *next), logits.part_mut(0..self.n * plan.vocab)?);
        run.predict(streams, &mut block.refs(), &mut branch, &mut head.refs(), &mut logits)
    }
}
