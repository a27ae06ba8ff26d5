//! Prediction of the next token with a cache of keys and values.

use super::{
    backend::Captured,
    buffers::{DeviceBuffers, TransformerBuffers},
    network::{Cache, Network, Noise, Run},
    plan::{Block, BlockTensors, Plan},
};
use crate::{
    gpu::{Grid, Pass},
    kinds::{
        language::cuda::{
            batch::{BatchBuffers, BatchParts, DeviceBatch},
            buffers::Trained,
            captures::Captures,
            decode::PieceReader,
            error::OpError,
            format::ModelFormat,
            kernels::{AppendCache, CacheSizes, StepKernels},
            layers::widened,
            plan::{BatchShape, HeadTensors},
        },
        transformer::choices::Checkpointing,
    },
    nn::attention::{Attention, Inputs},
};
use std::cell::{RefCell, RefMut};

/// Reads tokens one after the other, or some at a time; the results are the same.
pub struct PieceOfText<'a, T: ModelFormat> {
    /// The model.
    pub network: &'a Network<T>,
    /// What appends to the cache.
    pub kernels: &'a StepKernels,
    /// Captured passes: a token at a time is one of them, as launching its kernels takes longer than computing them.
    pub captures: &'a RefCell<Captures<Captured>>,
    /// Weights and cache.
    pub buffers: RefMut<'a, DeviceBuffers<T>>,
}

impl<T: ModelFormat> PieceReader for PieceOfText<'_, T> {
    fn limits(&self) -> [usize; 2] {
        [self.network.config.context, self.network.config.vocab]
    }

    /// Their activations and logits fit the buffers.
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

/// The pass of one token, whose position is in memory.
pub fn token<T: ModelFormat>(
    network: &Network<T>,
    kernels: &StepKernels,
    b: &mut DeviceBuffers<T>,
    pass: &mut Pass,
) -> Result<(), OpError> {
    Piece { n: 1, first: None }.launch(network, kernels, b, pass)
}

/// Tokens in memory that follow those in the cache.
struct Piece {
    /// Number of tokens.
    n: usize,
    /// Position of the first one; `None`: positions are in memory.
    first: Option<usize>,
}

impl Piece {
    /// Appends them to the cache, and writes their logits.
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
        let plan = Plan::new(&network.config, &shape, Checkpointing::Nothing, false);
        let parts = BatchParts::new(shape, (ids, targets), (lengths, positions))?;
        let (in_memory, lengths) = (positions.part(0..self.n)?, lengths.part(0..1)?);
        let batch =
            DeviceBatch { positions: self.first.is_none().then_some(&*in_memory), ..parts.at(self.first.unwrap_or(0)) };
        let frame = arena.frame();
        let mut x = frame.take::<T>("residual stream", plan.stream)?;
        let mut next = frame.take::<T>("next residual stream", plan.stream)?;
        let mut block = BlockTensors::<T>::take(&frame, &plan.block)?;
        let mut branch = frame.take::<T>("output before dropout", 0)?;
        let mut head = HeadTensors::<T>::take(&frame, &plan.head)?;
        let inner = frame.frame();
        let cache = Some(Cache { kernels, keys, values, lengths: &lengths });
        let weights = T::weights(weights, copy);
        let mut run = Run { network, weights, batch, noise: Noise::default(), cache, flag, frame: &inner, pass };
        run.embed(&mut x)?;
        for b in 0..network.config.layers {
            run.block(b, &x, &mut block.refs(), Some(&mut *next), &mut branch)?;
            std::mem::swap(&mut x, &mut next);
        }
        let mut head = head.refs();
        run.last_norm(&x, &mut head)?;
        run.logits(head.norm_f, &mut *logits.part_mut(0..self.n * plan.vocab)?)
    }
}

impl<T: ModelFormat> Run<'_, T> {
    /// Attention of new tokens to those in the cache, to which their keys and values are appended.
    pub fn attend_to_cache(&mut self, b: usize, a: &mut Block<'_, T>) -> Result<(), OpError> {
        let network = self.network;
        let c = &network.config;
        let Some(cache) = &mut self.cache else { return Ok(()) };
        let n = self.batch.shape.n_tokens();
        let units = size_of::<T>() / 2;
        let kv = c.kv_heads * c.head_dim();
        let sizes = CacheSizes {
            tokens: n as u32,
            kv: (kv * units) as u32,
            queries: (c.width * units) as u32,
            row: (c.qkv_width() * units) as u32,
        };
        let range = b * c.context * kv..(b + 1) * c.context * kv;
        let (mut keys, mut values) = (cache.keys.part_mut(range.clone())?, cache.values.part_mut(range)?);
        let blocks = (2 * n * kv * units).div_ceil(256).clamp(1, 1 << 14) as u32;
        let grid = Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let qkv = (&*a.qkv).into();
        let (keys_out, values_out) = ((&mut *keys).into(), (&mut *values).into());
        AppendCache { s: sizes, lengths: cache.lengths, qkv, keys: keys_out, values: values_out }.launch(
            cache.kernels,
            self.pass,
            grid,
        )?;
        let op = Attention::cached(1, n, c.context, c.heads, c.kv_heads, c.head_dim());
        let op = Attention { scale: c.scale, window: c.window, ..op };
        let inputs = Inputs::new(&*a.qkv, &*keys, &*values).lengths(None, Some(cache.lengths));
        let frame = self.frame.frame();
        network.ops.attention.forward(self.pass, &op, &inputs, a.attention, a.lse, None, &frame)?;
        Ok(())
    }
}
