//! Operations and tables of a model on a device, layers that all passes use, and the state of a pass.

use super::{
    backward::Sums,
    kernels::{HeadArgs, HeadKernels},
    plan::Plan,
};
use crate::{
    gpu::{Any, BlockSize, Buf, Frame, Gpu, GpuError, Grid, Pass, Place, Slice, View},
    kinds::{
        language::{
            cuda::{
                batch::DeviceBatch,
                error::OpError,
                format::ModelFormat,
                layers::{Layers, Loss, ModelOps},
            },
            plan::BatchShape,
        },
        synaptic::{
            backend::Dynamics,
            cpu::{
                network::{EPS, HEAD_EPS},
                plastic::Plastic,
            },
            experts::{
                FEATURES, Mixture,
                cuda::{CudaExperts, DeviceState, DeviceWeights},
            },
            life::cuda::CudaLife,
            model::{Config, Layout, Norm},
            presynaptic::cuda::{CudaPresynaptic, ReleaseStep},
        },
    },
    nn::{
        gemm::cuda::Options,
        layers::{Forward as _, HeadMatrix},
        norm::{self, NormKind},
        parameters::ViewId,
        rope::RopeTable,
        softmax::cuda::CudaSoftmax,
    },
    sim::MemoryReport,
};
use std::{marker::PhantomData, ops::Range, sync::Arc};

/// Operations on a device, and their implementations.
pub struct Ops {
    /// Operations that every language model uses.
    pub model: ModelOps,
    /// Softmax of attention logits.
    pub softmax: CudaSoftmax,
    /// Presynaptic release, as scan kernels.
    pub presynaptic: CudaPresynaptic,
    /// Mixture of experts with its router.
    pub experts: CudaExperts,
    /// Scores and edits of experts.
    pub life: CudaLife,
    /// Kernels that split, rotate and normalise heads.
    pub heads: HeadKernels,
}

impl Ops {
    /// Creates the operations, and loads the modules that are not loaded at first use. Fails if a module cannot be loaded.
    pub fn new(gpu: &Arc<Gpu>, options: Options) -> Result<Self, GpuError> {
        Self::with(gpu, ModelOps::new(gpu, options, BlockSize::Automatic)?)
    }

    /// Creates the same operations on the stream of another handle to the device. Fails if a module cannot be loaded.
    fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Self::with(gpu, self.model.beside(gpu)?)
    }

    fn with(gpu: &Arc<Gpu>, model: ModelOps) -> Result<Self, GpuError> {
        let options = model.options;
        Ok(Self {
            model,
            softmax: CudaSoftmax::new(gpu),
            presynaptic: CudaPresynaptic::load(gpu)?.packed(options.tf32),
            experts: CudaExperts::load(gpu)?,
            life: CudaLife::load(gpu)?,
            heads: HeadKernels::load(gpu)?,
        })
    }
}

/// Operations of a model, and tables computed from its sizes.
pub struct Network<T: ModelFormat> {
    /// Sizes and options of the model.
    pub config: Config,
    /// Parameter layout of the model.
    pub layout: Arc<Layout>,
    /// Mechanisms and their constants.
    pub dynamics: Dynamics,
    /// Operations and their implementations.
    pub ops: Ops,
    /// Device of the model.
    pub gpu: Arc<Gpu>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Cosines of rotary positions, `[T, D / 2]`.
    pub cosines: Buf<f32>,
    /// Sines of rotary positions, `[T, D / 2]`.
    pub sines: Buf<f32>,
    format: PhantomData<fn() -> T>,
}

/// GEMM whose outputs are a range of columns of the packed projections.
pub struct Projection {
    /// Range of the weights in the parameters.
    pub weights: Range<usize>,
    /// First column of the outputs.
    pub column: usize,
    /// Number of output columns.
    pub outputs: usize,
}

impl<T: ModelFormat> Network<T> {
    /// Creates the tables of a model. Fails if memory is exhausted.
    pub fn new(
        gpu: &Arc<Gpu>,
        config: &Config,
        layout: &Arc<Layout>,
        dynamics: &Dynamics,
        ops: Ops,
        seed: u64,
    ) -> Result<Self, GpuError> {
        let table = RopeTable::<f32>::new(config.context, config.head_dim(), config.rope_base);
        Ok(Self {
            config: config.clone(),
            layout: layout.clone(),
            dynamics: dynamics.clone(),
            ops,
            gpu: gpu.clone(),
            seed,
            cosines: Buf::from_slice(gpu, "cosines of rotary positions", &table.cos)?,
            sines: Buf::from_slice(gpu, "sines of rotary positions", &table.sin)?,
            format: PhantomData,
        })
    }

    /// Creates the same network on the stream of another handle to the device. Fails if a module cannot be loaded.
    pub fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Self::new(gpu, &self.config, &self.layout, &self.dynamics, self.ops.beside(gpu)?, self.seed)
    }

    /// Returns the range of a parameter in the parameter map.
    pub fn range(&self, id: ViewId) -> Range<usize> {
        self.layout.map.view(id).range()
    }

    /// Returns the LayerNorm operation for `rows` tokens.
    pub const fn norm_op(&self, rows: usize) -> norm::Norm {
        norm::Norm { rows, columns: self.config.width, eps: EPS, kind: NormKind::Layer }
    }

    /// Returns the sizes of the mixture of experts.
    pub const fn mixture(&self) -> Mixture {
        let Config { experts, top_k, width, hidden, .. } = self.config;
        Mixture { experts, top_k, width, hidden }
    }

    /// Returns the number of columns of the packed queries, keys and values of a token.
    pub const fn packed_width(&self) -> usize {
        self.config.width + 2 * self.config.kv_width()
    }

    /// Returns the projections to queries, keys and values of a block: one GEMM if their weights are contiguous, else
    /// three.
    pub fn projections(&self, block: usize) -> Vec<Projection> {
        let block = self.layout.blocks[block];
        let [q, k, v] = [block.q, block.k, block.v].map(|id| self.range(id));
        let (width, kv) = (self.config.width, self.config.kv_width());
        if q.end == k.start && k.end == v.start {
            return vec![Projection { weights: q.start..v.end, column: 0, outputs: width + 2 * kv }];
        }
        vec![
            Projection { weights: q, column: 0, outputs: width },
            Projection { weights: k, column: width, outputs: kv },
            Projection { weights: v, column: width + kv, outputs: kv },
        ]
    }

    /// Returns the scale of the attention logits without temperature.
    pub fn scale(&self) -> f32 {
        (1.0 / (self.config.head_dim() as f64).sqrt()) as f32
    }

    /// Returns the sizes of heads for the kernels. Each head has `key_rows` rows of keys, which begin at row `first`.
    pub const fn head_args(&self, shape: &BatchShape, (first, key_rows): (usize, usize)) -> HeadArgs {
        let c = &self.config;
        HeadArgs {
            tokens: shape.n_tokens() as u32,
            seq_len: shape.seq_len as u32,
            heads: c.heads as u32,
            kv_heads: c.kv_heads as u32,
            head_dim: c.head_dim() as u32,
            key_rows: key_rows as u32,
            key_offset: first as u32,
            eps: HEAD_EPS as f32,
        }
    }
}

/// Adds the memory of tables and operations to the report.
pub fn report_tables(config: &Config, of_gemm: u64, to: &mut MemoryReport) {
    let rope = 2 * config.context * (config.head_dim() / 2) * 4;
    to.add("tables", "rotary positions", Place::Device, rope as u64);
    to.add("matrix multiplication", "cuBLASLt workspace", Place::Device, of_gemm);
}

/// Returns a grid with a warp per item. Above 2^16 items, each warp loops over several.
pub fn warps(n: usize) -> Grid {
    let blocks = n.div_ceil(8).clamp(1, 1 << 13) as u32;
    Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 }
}

/// Returns a grid with a thread per item. Above 2^21 items, each thread loops over several.
pub fn threads(n: usize) -> Grid {
    let blocks = n.div_ceil(256).clamp(1, 1 << 13) as u32;
    Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 }
}

/// Router states of all blocks, concatenated.
#[derive(Clone, Copy)]
pub struct Routers<'a> {
    /// Router embeddings, `[L, E, 24]`.
    pub embeddings: &'a Slice<f32>,
    /// Average load, `[L, E]`.
    pub fatigue: &'a Slice<f32>,
    /// Energy, `[L, E]`.
    pub energy: &'a Slice<f32>,
    /// Selection bias, `[L, E]`.
    pub balance: &'a Slice<f32>,
    /// Value per expert, `[L, E]`; nonzero if the expert is alive.
    pub alive: &'a Slice<u32>,
}

/// Router state of one block.
pub struct RouterViews<'a>([View<'a, f32>; 5], View<'a, u32>);

impl RouterViews<'_> {
    /// Borrows the state for the operations of experts.
    pub fn refs(&self) -> DeviceState<'_> {
        let [genome, embeddings, fatigue, energy, balance] = &self.0;
        DeviceState { genome, embeddings, fatigue, energy, balance, alive: &self.1 }
    }
}

/// Router and expert weights of a block: three in f32, and three in the format of the model.
pub struct WeightViews<'a, T: ModelFormat>([View<'a, f32>; 3], [View<'a, T>; 3]);

impl<T: ModelFormat> WeightViews<'_, T> {
    /// Borrows the weights for the operations of experts.
    pub fn refs(&self) -> DeviceWeights<'_, T> {
        let Self([router, probe, fc2_bias], [fc1, fc1_bias, fc2]) = self;
        DeviceWeights { router, probe, fc1, fc1_bias, fc2, fc2_bias }
    }
}

/// Keys, values and synaptic states of the tokens so far, all blocks.
pub struct Cache<'a> {
    /// Keys, `[L, Hkv, T, D]`.
    pub keys: &'a mut Slice<f32>,
    /// Values, `[L, Hkv, T, D]`.
    pub values: &'a mut Slice<f32>,
    /// Synaptic states, `[L, 9 + delay, H, T]`.
    pub synapses: &'a mut Slice<f32>,
    /// Position of the token and number of tokens including it, if they are in device memory; the offset of the batch is
    /// then the last position of the context.
    pub place: Option<&'a Slice<i32>>,
}

/// State of a pass over a batch: inputs of the layers, workspace, and the pass that collects launches.
pub struct Run<'a, T: ModelFormat> {
    /// Operations, tables and sizes of the model.
    pub network: &'a Network<T>,
    /// All weights in f32, in the layout of the parameter map.
    pub weights: &'a Slice<f32>,
    /// All weights in the format of the model, as GEMM operands.
    pub matrices: &'a Slice<T>,
    /// Router states of all blocks.
    pub routers: Routers<'a>,
    /// Batch that the pass reads.
    pub batch: DeviceBatch<'a>,
    /// Addresses of random draws in training; `None` for a pass without draws.
    pub draws: Option<&'a Slice<ReleaseStep>>,
    /// Cache of earlier tokens; `None` for a pass without cache.
    pub cache: Option<Cache<'a>>,
    /// Fast memory on the host; `None` without plasticity.
    pub plastic: Option<&'a mut Plastic<f32>>,
    /// Scale and total of the loss; `None` for a pass without gradients.
    pub loss: Option<Loss<'a>>,
    /// Sums to which the backward pass adds statistics of experts.
    pub sums: Option<Sums<'a>>,
    /// Number of tokens whose logits are in memory at a time.
    pub logit_rows: usize,
    /// Flag on the device; nonzero if a token is out of range.
    pub flag: &'a mut Slice<u32>,
    /// Arena frame for temporaries.
    pub frame: &'a Frame<'a>,
    /// Pass that collects the launches.
    pub pass: &'a mut Pass,
}

impl<T: ModelFormat> Run<'_, T> {
    /// Returns the layers that use the weights in the format of the model.
    pub fn rounded(&mut self) -> Layers<'_, T> {
        let Network { ops, layout, .. } = self.network;
        Layers::new((&ops.model, &layout.map), self.matrices, self.batch, self.flag, self.frame, self.pass)
    }

    /// Rounds a result in `room` to its tensor; no operation for f32. Fails if a launch fails.
    pub fn keep(&mut self, own: &mut Slice<T>, room: &Slice<f32>) -> Result<(), OpError> {
        let (network, pass) = (self.network, &mut *self.pass);
        Ok(T::keep(own, room, |x, to| network.ops.model.optimizer.round(pass, x, to))?)
    }

    /// Converts an f32 tensor to a GEMM operand in the format of the model. Fails if a launch fails.
    pub fn operand<'x>(&mut self, x: &'x Slice<f32>, room: &'x mut Slice<T>) -> Result<View<'x, T>, OpError> {
        let (network, pass) = (self.network, &mut *self.pass);
        Ok(T::rounded(x, room, |x, to| network.ops.model.optimizer.round(pass, x, to))?)
    }

    /// Returns the layers that use the f32 weights.
    pub fn layers(&mut self) -> Layers<'_, f32> {
        let Network { ops, layout, .. } = self.network;
        Layers::new((&ops.model, &layout.map), self.weights, self.batch, self.flag, self.frame, self.pass)
    }

    /// Computes `y = norm(x)` and its statistics. Fails if a launch fails.
    pub fn norm(
        &mut self,
        of: Norm,
        x: &Slice<f32>,
        y: &mut Slice<f32>,
        stats: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let op = self.network.norm_op(x.len() / self.network.config.width);
        self.layers().norm(&op, (of.weight, Some(of.bias)), x, y, stats)
    }

    /// Returns the matrix of logits, with the number of rows per chunk.
    pub fn head(&self) -> HeadMatrix {
        let network = self.network;
        HeadMatrix { weight: network.layout.lm_head, vocab: network.config.vocab, rows: self.logit_rows }
    }
}

impl<'a, T: ModelFormat> Run<'a, T> {
    /// Creates a pass without random draws, cache and loss. Takes the weights in f32 and in the format of the model.
    pub fn new(
        (network, plan): (&'a Network<T>, &Plan),
        (weights, matrices, routers): (&'a Slice<f32>, &'a Slice<T>, Routers<'a>),
        batch: DeviceBatch<'a>,
        flag: &'a mut Slice<u32>,
        frame: &'a Frame<'a>,
        pass: &'a mut Pass,
    ) -> Self {
        let (draws, cache, plastic, loss, sums, logit_rows) = (None, None, None, None, None, plan.logit_rows);
        Self {
            network,
            weights,
            matrices,
            routers,
            batch,
            draws,
            cache,
            plastic,
            loss,
            sums,
            logit_rows,
            flag,
            frame,
            pass,
        }
    }

    /// Returns the values of a parameter in f32. Fails if the view exceeds the buffer.
    pub fn weight(&self, id: ViewId) -> Result<View<'a, f32>, OpError> {
        Ok(self.weights.part(self.network.range(id))?)
    }

    /// Returns the router state of block `b`. Fails if the view exceeds the buffer.
    pub fn router(&self, b: usize) -> Result<RouterViews<'a>, OpError> {
        let e = self.network.config.experts;
        let (of_experts, of_features) = (b * e..(b + 1) * e, b * e * FEATURES..(b + 1) * e * FEATURES);
        let r = &self.routers;
        let values = [
            self.weight(self.network.layout.blocks[b].genome)?,
            r.embeddings.part(of_features)?,
            r.fatigue.part(of_experts.clone())?,
            r.energy.part(of_experts.clone())?,
            r.balance.part(of_experts.clone())?,
        ];
        Ok(RouterViews(values, r.alive.part(of_experts)?))
    }

    /// Returns the router and expert weights of block `b`. Fails if the view exceeds the buffer.
    pub fn experts(&self, b: usize) -> Result<WeightViews<'a, T>, OpError> {
        let block = self.network.layout.blocks[b];
        let rounded = |id| self.matrices.part(self.network.range(id));
        Ok(WeightViews(
            [self.weight(block.router)?, self.weight(block.probe)?, self.weight(block.fc2_bias)?],
            [rounded(block.fc1)?, rounded(block.fc1_bias)?, rounded(block.fc2)?],
        ))
    }

    /// Returns the temperatures of the heads of block `b`; `None` if the model has no temperatures. Fails if the view
    /// exceeds the buffer.
    pub fn temperature(&self, b: usize) -> Result<Option<View<'a, f32>>, OpError> {
        self.network.layout.blocks[b].temperature.map(|id| self.weight(id)).transpose()
    }
}

/// Converts to a kernel argument that may be null.
pub fn optional<'v>(view: &'v Option<View<'_, f32>>) -> Any<'v> {
    Any::or_none(view.as_deref())
}
