//! Weights on the device, and the layers that all passes use.

use super::{buffers::BackwardPass, plan::Plan};
use crate::{
    gpu::{BlockSize, Buf, Frame, Gpu, GpuError, Pass, Place, Slice},
    kinds::{
        language::cuda::{
            batch::DeviceBatch,
            error::OpError,
            format::ModelFormat,
            kernels::StepKernels,
            layers::{HeadMatrix, Layers, ModelOps},
            plan::{BatchShape, Division},
        },
        transformer::{
            backend::Hyper,
            choices::{ActivationFunction, AttentionMethod, Checkpointing, NormFunction, PairLayout},
            cpu::forward::DropSite,
            model::{Config, Layout, Linear, Norm, Position},
        },
    },
    nn::{
        activation::{Activation, cuda::CudaActivation},
        attention::{
            Attention, AttentionDropout, Lengths,
            cuda::{CudaAttention, Variant},
        },
        dropout::{
            Dropout,
            cuda::{CudaDropout, DropoutStep},
        },
        embedding::sinusoid,
        gemm::{Epilogue, cuda::Options},
        norm::{self, NormKind},
        parameters::ViewId,
        rope::{
            Rope, RopeLayout, RopeTable,
            cuda::{CudaRope, CudaRopeTable},
        },
    },
    sim::MemoryReport,
};
use std::{ops::Range, sync::Arc};

/// The operations of a device, and how they are computed.
pub struct Ops {
    /// Those of every model.
    pub model: ModelOps,
    /// Which passes over memory are merged.
    pub fused: Fused,
    /// Activation functions.
    pub activation: CudaActivation,
    /// Dropout.
    pub dropout: CudaDropout,
    /// Attention.
    pub attention: CudaAttention,
    /// Its implementation.
    pub variant: Option<Variant>,
    /// Rotary positions.
    pub rope: CudaRope,
}

/// Which passes over memory are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fused {
    /// `hidden = f(x Wᵀ + b)`.
    pub forward: bool,
    /// `dfc = (dy W) f′(fc)`.
    pub backward: bool,
    /// `y = residual + drop(x)`.
    pub dropout: bool,
}

impl Fused {
    /// Of a model. The library knows GELU only; own kernels would lose more by multiplying than a pass over memory costs.
    pub fn new(is_wanted: bool, f: ActivationFunction, mode: Checkpointing) -> Self {
        let backward = is_wanted && f == ActivationFunction::GeluTanh;
        let forward = backward && matches!(mode, Checkpointing::Nothing | Checkpointing::Blocks);
        Self { forward, backward, dropout: is_wanted }
    }
}

impl Ops {
    /// Loads what is loaded ahead. Attention by this method, and whether it adds gradients of queries by atomics.
    pub fn new(
        gpu: &Arc<Gpu>,
        options: Options,
        fused: Fused,
        (attention, adds_queries): (AttentionMethod, bool),
        block: BlockSize,
    ) -> Result<Self, GpuError> {
        let variant = match attention {
            AttentionMethod::Flash => None,
            AttentionMethod::Naive => Some(Variant::Naive),
        };
        Ok(Self::with(gpu, ModelOps::new(gpu, options, block)?, fused, (variant, adds_queries)))
    }

    /// The same on another stream of the device.
    fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        let attention = (self.variant, self.attention.is_fast_nondeterministic());
        Ok(Self::with(gpu, self.model.beside(gpu)?, self.fused, attention))
    }

    fn with(gpu: &Arc<Gpu>, model: ModelOps, fused: Fused, attention: (Option<Variant>, bool)) -> Self {
        let (block, (variant, adds_queries)) = (model.block, attention);
        Self {
            model,
            fused,
            activation: CudaActivation::new(gpu).with_block(block),
            dropout: CudaDropout::new(gpu).with_block(block),
            attention: CudaAttention::new(gpu).with_fast_nondeterministic(adds_queries),
            variant,
            rope: CudaRope::new(gpu),
        }
    }
}

/// What follows from the sizes of a model, and the operations.
pub struct Network<T: ModelFormat> {
    /// The device.
    pub gpu: Arc<Gpu>,
    /// Sizes.
    pub config: Config,
    /// Ranges of the weights.
    pub layout: Arc<Layout>,
    /// Operations.
    pub ops: Ops,
    /// Angles of rotary positions.
    pub rope: Option<CudaRopeTable>,
    /// Vectors of sinusoidal positions, `[T, C]`.
    pub sinusoid: Option<Buf<T>>,
    /// What is computed again in the backward pass.
    pub mode: Checkpointing,
    /// Seed of dropout.
    pub seed: u64,
    /// Whether weights in bf16 are rounded stochastically after an update.
    pub is_stochastic: bool,
}

impl<T: ModelFormat> Network<T> {
    /// What the memory of a backward pass follows from.
    pub fn backward_pass(&self) -> BackwardPass {
        BackwardPass { mode: self.mode, has_sums: self.ops.attention.is_fast_nondeterministic() }
    }

    /// With its tables.
    pub fn new(
        gpu: &Arc<Gpu>,
        (config, layout): (&Config, &Arc<Layout>),
        ops: Ops,
        mode: Checkpointing,
        seed: u64,
    ) -> Result<Self, GpuError> {
        let rope = match config.positions {
            Position::Rope { base, .. } => {
                let table = RopeTable::new(config.context, config.head_dim(), base);
                Some(CudaRopeTable::new(gpu, &table)?)
            }
            _ => None,
        };
        let sinusoid = match config.positions {
            Position::Sinusoidal => {
                let table = sinusoid::table(config.context, config.width, sinusoid::BASE);
                let table: Vec<T> = table.into_iter().map(|x| T::round(x as f32)).collect();
                Some(Buf::from_slice(gpu, "sinusoidal positions", &table)?)
            }
            _ => None,
        };
        let (config, layout, is_stochastic) = (config.clone(), layout.clone(), false);
        Ok(Self { gpu: gpu.clone(), config, layout, ops, rope, sinusoid, mode, seed, is_stochastic })
    }

    /// The same on another stream of the device.
    pub fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        let parts = (&self.config, &self.layout);
        let new = Self::new(gpu, parts, self.ops.beside(gpu)?, self.mode, self.seed)?;
        Ok(Self { is_stochastic: self.is_stochastic, ..new })
    }

    /// Adds the memory of its tables and operations.
    pub fn report(&self, to: &mut MemoryReport) {
        report_tables::<T>(&self.config, to);
        report_operations(self.ops.model.gemm.bytes(), to);
    }

    /// Elements of a parameter.
    pub fn range(&self, id: ViewId) -> Range<usize> {
        self.layout.map.view(id).range()
    }

    /// The declaration of a norm of that many tokens.
    pub fn norm_op(&self, rows: usize) -> norm::Norm {
        let kind = match self.config.norm {
            NormFunction::Layer => NormKind::Layer,
            NormFunction::Rms => NormKind::Rms,
        };
        norm::Norm { rows, columns: self.config.width, eps: self.config.eps, kind }
    }

    /// The activation function.
    pub const fn activation(&self) -> Activation {
        match self.config.activation {
            ActivationFunction::GeluTanh => Activation::GeluTanh,
            ActivationFunction::GeluErf => Activation::GeluErf,
            ActivationFunction::Relu => Activation::Relu,
            ActivationFunction::ReluSquared => Activation::ReluSquared,
            ActivationFunction::SwiGlu => Activation::SwiGlu,
        }
    }

    /// Attention within the sequences of a batch, on packed queries, keys and values.
    pub fn attention(&self, shape: &BatchShape) -> Attention {
        let c = &self.config;
        let (batch, len) = shape.attended();
        let lengths = match shape.division {
            Division::Full => Lengths::Full,
            Division::Padded => Lengths::Padded,
            Division::Packed { .. } => Lengths::Packed,
        };
        let op = Attention::packed_qkv(batch, len, c.heads, c.kv_heads, c.head_dim());
        Attention { scale: c.scale, causal: c.causal, window: c.window, lengths, ..op }
    }

    /// The rotation of queries and keys.
    pub fn rope_op(&self, tokens: usize, seq_len: usize, offset: usize) -> Option<(Rope, &CudaRopeTable)> {
        let c = &self.config;
        let (Some(table), Position::Rope { layout, .. }) = (&self.rope, c.positions) else { return None };
        let layout = match layout {
            PairLayout::Half => RopeLayout::Half,
            PairLayout::Interleaved => RopeLayout::Interleaved,
        };
        let op = Rope::new(tokens, c.heads + c.kv_heads, c.head_dim(), seq_len.max(1), layout);
        Some((op.stride(c.qkv_width()).offset(offset), table))
    }
}

/// Adds the memory of the tables of a model.
pub fn report_tables<T: ModelFormat>(config: &Config, to: &mut MemoryReport) {
    let mut add = |name, elements: usize, size: usize| to.add("tables", name, Place::Device, (elements * size) as u64);
    match config.positions {
        Position::Rope { .. } => add("rotary positions", 2 * config.context * (config.head_dim() / 2), 4),
        Position::Sinusoidal => add("sinusoidal positions", config.context * config.width, size_of::<T>()),
        Position::Learned => {}
    }
}

/// Adds the memory of the operations.
pub fn report_operations(of_gemm: u64, to: &mut MemoryReport) {
    to.add("matrix multiplication", "cuBLASLt workspace", Place::Device, of_gemm);
}

/// Keys and values of the tokens so far, of all blocks.
pub struct Cache<'a, T: ModelFormat> {
    /// What appends to it.
    pub kernels: &'a StepKernels,
    /// `[blocks, context, n_kv d]`
    pub keys: &'a mut Slice<T>,
    /// `[blocks, context, n_kv d]`
    pub values: &'a mut Slice<T>,
    /// Number of tokens in it, the new ones included.
    pub lengths: &'a Slice<i32>,
}

/// One pass over a batch: what its layers read, and where launches and temporaries go.
pub struct Run<'a, T: ModelFormat> {
    /// The model.
    pub network: &'a Network<T>,
    /// Its weights.
    pub weights: &'a Slice<T>,
    /// The batch.
    pub batch: DeviceBatch<'a>,
    /// Dropout.
    pub noise: Noise<'a>,
    /// Keys and values of earlier tokens, that new tokens attend to.
    pub cache: Option<Cache<'a, T>>,
    /// Raised where a token is out of range.
    pub flag: &'a mut Slice<u32>,
    /// Temporaries.
    pub frame: &'a Frame<'a>,
    /// Launches.
    pub pass: &'a mut Pass,
}

impl<T: ModelFormat> Run<'_, T> {
    /// Layers of every model.
    pub fn layers(&mut self) -> Layers<'_, T> {
        let (network, weights, batch, frame) = (self.network, self.weights, self.batch, self.frame);
        let (flag, pass) = (&mut *self.flag, &mut *self.pass);
        Layers { ops: &network.ops.model, map: &network.layout.map, weights, batch, flag, frame, pass }
    }

    /// `y = norm(x)`.
    pub fn norm(&mut self, of: Norm, x: &Slice<T>, y: &mut Slice<T>, stats: &mut Slice<f32>) -> Result<(), OpError> {
        let op = self.network.norm_op(x.len() / self.network.config.width);
        self.layers().norm(&op, (of.weight, of.bias), x, y, stats)
    }

    /// `y = x Wᵀ + b`, or with `residual` that added.
    pub fn linear(
        &mut self,
        of: Linear,
        x: &Slice<T>,
        y: &mut Slice<T>,
        residual: Option<&Slice<T>>,
    ) -> Result<(), OpError> {
        self.layers().linear((of.weight, of.bias), x, y, residual)
    }

    /// The matrix of logits.
    pub fn head(&self, plan: &Plan) -> HeadMatrix {
        let network = self.network;
        HeadMatrix { weight: network.layout.head(), vocab: network.config.vocab, rows: plan.logit_rows }
    }

    /// `hidden = f(fc)`, `fc = x Wᵀ + b`.
    pub fn linear_activated(
        &mut self,
        of: Linear,
        x: &Slice<T>,
        fc: &mut Slice<T>,
        hidden: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let network = self.network;
        if !network.ops.fused.forward {
            self.linear(of, x, fc, None)?;
            return self.activate(fc, hidden);
        }
        let mut layers = self.layers();
        let bias = of.bias.map(|bias| layers.weight(bias)).transpose()?;
        let epilogue = Epilogue::Activation { f: network.activation(), bias: bias.as_deref(), aux: Some(fc) };
        layers.linear_with(of.weight, x, hidden, epilogue)
    }

    /// Rotates queries and keys by their positions, or by the opposite angles.
    pub fn rotate(&mut self, qkv: &mut Slice<T>, is_inverse: bool) -> Result<(), OpError> {
        let network = self.network;
        let tokens = qkv.len() / network.config.qkv_width();
        let Some((op, table)) = network.rope_op(tokens, self.batch.shape.seq_len, self.batch.offset) else {
            return Ok(());
        };
        network.ops.rope.apply(self.pass, &op, table, self.batch.positions, qkv, is_inverse, self.flag)?;
        Ok(())
    }

    /// Attention of a block, whose probabilities are dropped where the step does that.
    pub fn attention(&self, block: usize) -> Attention {
        let op = self.network.attention(&self.batch.shape);
        // All else is in device memory.
        let drop = Dropout { p: 0.0, seed: 0, layer_site: DropSite::Probabilities(block).number(), offset: 0 };
        let dropout = AttentionDropout { drop, step: 0, first_token: 0, keys: self.network.config.context };
        Attention { dropout: self.noise.probabilities.map(|_| dropout), ..op }
    }

    /// Drops elements of a place, in place; the same on a gradient is the backward pass.
    pub fn drop(&mut self, site: DropSite, x: &mut Slice<T>) -> Result<(), OpError> {
        let Some(noise) = self.noise.elements else { return Ok(()) };
        self.network.ops.dropout.forward(self.pass, site.number(), noise, x)?;
        Ok(())
    }
}

/// What is dropped in a step; a captured step is valid for one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Drops {
    /// Elements, at the places of a network.
    pub elements: bool,
    /// Attention probabilities.
    pub probabilities: bool,
}

impl Drops {
    /// Of a step.
    pub fn of(hyper: &Hyper) -> Self {
        Self { elements: hyper.dropout > 0.0, probabilities: hyper.attention_dropout > 0.0 }
    }
}

/// Dropout of a step in device memory, of what is dropped.
#[derive(Clone, Copy, Default)]
pub struct Noise<'a> {
    /// Of elements.
    pub elements: Option<&'a Slice<DropoutStep>>,
    /// Of attention probabilities.
    pub probabilities: Option<&'a Slice<DropoutStep>>,
}
