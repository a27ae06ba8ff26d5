//! Device layers of blocks: attention, activation functions, dropout.

use super::{
    error::OpError,
    format::ModelFormat,
    kernels::{AppendCache, CacheSizes, StepKernels},
    layers::Layers,
};
use crate::{
    gpu::{BlockSize, Gpu, Grid, Slice},
    nn::{
        activation::cuda::CudaActivation,
        attention::{
            Attention, AttentionDropout, Gradients, Inputs,
            cuda::{CudaAttention, Variant},
        },
        dropout::{
            Dropout,
            cuda::{CudaDropout, DropoutStep},
        },
        gemm::Epilogue,
        layers::{
            Activated, Backward as _, BlockBackward, BlockForward, Forward as _, SelfAttention, Tensors as _, Weight,
        },
        rope::{
            Rope,
            cuda::{CudaRope, CudaRopeTable},
        },
    },
};
use std::sync::Arc;

/// Operations of blocks and their implementations. Modules are loaded at first use.
pub struct BlockOps {
    /// Element-wise operations that are fused with others.
    pub fused: Fused,
    /// Activation functions and their gradients.
    pub activation: CudaActivation,
    /// Dropout of activations.
    pub dropout: CudaDropout,
    /// Attention, forward and backward.
    pub attention: CudaAttention,
    /// Implementation of attention; `None` if it is chosen automatically.
    pub variant: Option<Variant>,
    /// Rotary position embedding.
    pub rope: CudaRope,
}

/// Element-wise operations that are fused with others to save passes over memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fused {
    /// Whether bias and activation are fused into the GEMM: `hidden = f(x Wᵀ + b)`.
    pub forward: bool,
    /// Whether the activation's derivative is fused into the GEMM: `dfc = (dy W) f′(fc)`.
    pub backward: bool,
    /// Whether dropout is fused with the residual addition: `y = residual + drop(x)`.
    pub dropout: bool,
}

impl BlockOps {
    /// Creates the operations without fusion.
    pub fn new(gpu: &Arc<Gpu>, block: BlockSize) -> Self {
        Self::with(gpu, block, Fused::default(), (None, false))
    }

    /// Creates the operations with an attention variant. `adds_queries` states whether gradients of queries are
    /// accumulated by atomics.
    pub fn with(
        gpu: &Arc<Gpu>,
        block: BlockSize,
        fused: Fused,
        (variant, adds_queries): (Option<Variant>, bool),
    ) -> Self {
        Self {
            fused,
            activation: CudaActivation::new(gpu).with_block(block),
            dropout: CudaDropout::new(gpu).with_block(block),
            attention: CudaAttention::new(gpu).with_fast_nondeterministic(adds_queries),
            variant,
            rope: CudaRope::new(gpu),
        }
    }

    /// Creates the same operations on the stream of another handle to the device.
    pub fn beside(&self, gpu: &Arc<Gpu>, block: BlockSize) -> Self {
        Self::with(gpu, block, self.fused, (self.variant, self.attention.is_fast_nondeterministic()))
    }
}

/// Tables of position encodings.
#[derive(Clone, Copy)]
pub struct Tables<'a, T: ModelFormat> {
    /// Angles of rotary positions; `None` for other positions.
    pub rope: Option<&'a CudaRopeTable>,
    /// Fixed (sinusoidal) position vectors, `[T, C]`; `None` for other positions.
    pub positions: Option<&'a Slice<T>>,
}

/// Dropout settings of a step in device memory; `None` for no dropout.
#[derive(Clone, Copy, Default)]
pub struct Noise<'a> {
    /// Dropout of activations.
    pub elements: Option<&'a Slice<DropoutStep>>,
    /// Dropout of attention probabilities.
    pub probabilities: Option<&'a Slice<DropoutStep>>,
}

/// KV cache of all blocks.
pub struct Cache<'a, T: ModelFormat> {
    /// Kernels that append to the cache.
    pub kernels: &'a StepKernels,
    /// Keys, `[blocks, context, n_kv d]`.
    pub keys: &'a mut Slice<T>,
    /// Values, `[blocks, context, n_kv d]`.
    pub values: &'a mut Slice<T>,
    /// Number of cached tokens, including the new ones; one element.
    pub lengths: &'a Slice<i32>,
}

impl<T: ModelFormat> Layers<'_, T> {
    /// Returns the attention operation. If the step uses dropout of attention probabilities, the operation includes it.
    fn dropping(&self, of: &SelfAttention) -> Attention {
        // Probability, seed and counters are read from device memory.
        let drop = Dropout { p: 0.0, seed: 0, layer_site: of.site, offset: 0 };
        let dropout = AttentionDropout { drop, step: 0, first_token: 0, keys: of.context };
        Attention { dropout: self.noise.probabilities.map(|_| dropout), ..of.op }
    }

    /// Appends the keys and values of new tokens to the cache, and attends from the new tokens to all cached tokens. Fails
    /// if the sizes do not match or a launch fails.
    fn attend_to_cache(
        &mut self,
        of: &SelfAttention,
        qkv: &Slice<T>,
        y: &mut Slice<T>,
        lse: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let Some(cache) = &mut self.cache else { return Ok(()) };
        let (n, units, op) = (self.batch.shape.n_tokens(), size_of::<T>() / 2, &of.op);
        let (width, kv) = (op.heads * op.head_dim, op.kv_heads * op.head_dim);
        let sizes = CacheSizes {
            tokens: n as u32,
            kv: (kv * units) as u32,
            queries: (width * units) as u32,
            row: ((width + 2 * kv) * units) as u32,
        };
        let range = of.block * of.context * kv..(of.block + 1) * of.context * kv;
        let (mut keys, mut values) = (cache.keys.part_mut(range.clone())?, cache.values.part_mut(range)?);
        let blocks = (2 * n * kv * units).div_ceil(256).clamp(1, 1 << 14) as u32;
        let grid = Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let (keys_out, values_out) = ((&mut *keys).into(), (&mut *values).into());
        AppendCache { s: sizes, lengths: cache.lengths, qkv: qkv.into(), keys: keys_out, values: values_out }.launch(
            cache.kernels,
            self.pass,
            grid,
        )?;
        let cached = Attention::cached(1, n, of.context, op.heads, op.kv_heads, op.head_dim);
        let cached = Attention { scale: op.scale, window: op.window, ..cached };
        let inputs = Inputs::new(qkv, &*keys, &*values).lengths(None, Some(cache.lengths));
        let frame = self.frame.frame();
        self.ops.blocks.attention.forward(self.pass, &cached, &inputs, y, lse, None, &frame)?;
        Ok(())
    }
}

impl<T: ModelFormat> BlockForward for Layers<'_, T> {
    fn activate(&mut self, by: Activated, x: &Slice<T>, y: &mut Slice<T>) -> Result<(), OpError> {
        let rows = y.len() / by.columns;
        Ok(self.ops.blocks.activation.forward(self.pass, by.f, rows, by.columns, x, y)?)
    }

    fn linear_activated(
        &mut self,
        of: Weight,
        by: Activated,
        x: &Slice<T>,
        fc: &mut Slice<T>,
        hidden: &mut Slice<T>,
    ) -> Result<(), OpError> {
        if !self.ops.blocks.fused.forward {
            self.linear(of, x, fc, None)?;
            return self.activate(by, fc, hidden);
        }
        let bias = of.1.map(|bias| self.weight(bias)).transpose()?;
        let epilogue = Epilogue::Activation { f: by.f, bias: bias.as_deref(), aux: Some(fc) };
        self.linear_with(of.0, x, hidden, epilogue)
    }

    fn rotate(&mut self, op: &Rope, x: &mut Slice<T>, is_inverse: bool) -> Result<(), OpError> {
        let Some(table) = self.tables.rope else { return Ok(()) };
        self.ops.blocks.rope.apply(self.pass, op, table, self.batch.positions, x, is_inverse, self.flag)?;
        Ok(())
    }

    fn attend(
        &mut self,
        of: &SelfAttention,
        qkv: &Slice<T>,
        y: &mut Slice<T>,
        lse: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        if self.cache.is_some() {
            return self.attend_to_cache(of, qkv, y, lse);
        }
        let (op, lengths, blocks) = (self.dropping(of), self.batch.lengths, &self.ops.blocks);
        let inputs = Inputs::packed(qkv).lengths(lengths, lengths).dropout(self.noise.probabilities);
        let frame = self.frame.frame();
        blocks.attention.forward(self.pass, &op, &inputs, y, lse, blocks.variant, &frame)?;
        Ok(())
    }

    fn has_dropout(&self) -> bool {
        self.noise.elements.is_some()
    }

    fn drop_in_place(&mut self, site: u32, x: &mut Slice<T>) -> Result<(), OpError> {
        let Some(noise) = self.noise.elements else { return Ok(()) };
        Ok(self.ops.blocks.dropout.forward(self.pass, site, noise, x)?)
    }

    fn drop_and_add(
        &mut self,
        site: u32,
        x: &mut Slice<T>,
        residual: &Slice<T>,
        y: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let blocks = &self.ops.blocks;
        match self.noise.elements {
            Some(noise) if blocks.fused.dropout => {
                Ok(blocks.dropout.add(self.pass, site, noise, (x, Some(residual)), y)?)
            }
            _ => {
                self.drop_in_place(site, x)?;
                self.copy(residual, y)?;
                self.add(y, x)
            }
        }
    }
}

impl<T: ModelFormat> BlockBackward for Layers<'_, T> {
    fn activation_backward(
        &mut self,
        by: Activated,
        x: &Slice<T>,
        dy: &Slice<T>,
        dx: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let rows = dy.len() / by.columns;
        Ok(self.ops.blocks.activation.backward(self.pass, by.f, rows, by.columns, x, dy, dx)?)
    }

    fn linear_activated_backward(
        &mut self,
        of: Weight,
        by: Activated,
        (dy, x, fc): (&Slice<T>, &Slice<T>, &Slice<T>),
        dx: &mut Slice<T>,
        dfc: &mut Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        if self.ops.blocks.fused.backward {
            let epilogue = Epilogue::Gradient { f: by.f, aux: fc };
            return self.linear_backward_with(of, (dy, x), epilogue, dfc, gradient);
        }
        self.linear_backward(of, (dy, x), dx, gradient)?;
        self.activation_backward(by, fc, dx, dfc)
    }

    fn attention_backward(
        &mut self,
        of: &SelfAttention,
        (qkv, y, lse): (&Slice<T>, &Slice<T>, &Slice<f32>),
        dy: &Slice<T>,
        dqkv: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let (op, lengths, blocks) = (self.dropping(of), self.batch.lengths, &self.ops.blocks);
        let inputs = Inputs::packed(qkv).lengths(lengths, lengths).dropout(self.noise.probabilities);
        let (to, frame) = (Gradients::Packed(dqkv), self.frame.frame());
        blocks.attention.backward(self.pass, &op, &inputs, (y, lse), dy, to, None, blocks.variant, &frame)?;
        Ok(())
    }

    fn dropped<'d>(&mut self, site: u32, d: &'d Slice<T>, room: &'d mut Slice<T>) -> Result<&'d Slice<T>, OpError> {
        let Some(noise) = self.noise.elements else { return Ok(d) };
        let blocks = &self.ops.blocks;
        if blocks.fused.dropout {
            blocks.dropout.add(self.pass, site, noise, (d, None), room)?;
        } else {
            self.copy(d, room)?;
            self.drop_in_place(site, room)?;
        }
        Ok(room)
    }
}
