//! The model on a device: operations, layers that all passes use, and what a pass reads.

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

/// The operations of a device, and how multiplications are computed.
pub struct Ops {
    /// Those of every model.
    pub model: ModelOps,
    /// Softmax.
    pub softmax: CudaSoftmax,
    /// Release.
    pub presynaptic: CudaPresynaptic,
    /// Mixture of experts.
    pub experts: CudaExperts,
    /// Scores and edits of experts.
    pub life: CudaLife,
    /// Heads of attention.
    pub heads: HeadKernels,
}

impl Ops {
    /// Loads what is loaded ahead.
    pub fn new(gpu: &Arc<Gpu>, options: Options) -> Result<Self, GpuError> {
        Self::with(gpu, ModelOps::new(gpu, options, BlockSize::Automatic)?)
    }

    /// The same on another stream of the device.
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

/// What follows from the sizes of a model, and the operations.
pub struct Network<T: ModelFormat> {
    /// Sizes.
    pub config: Config,
    /// Ranges of the weights.
    pub layout: Arc<Layout>,
    /// Mechanisms and their constants.
    pub dynamics: Dynamics,
    /// Operations.
    pub ops: Ops,
    /// The device.
    pub gpu: Arc<Gpu>,
    /// Seed of the model.
    pub seed: u64,
    /// Cosines of rotary positions, `[T, D / 2]`.
    pub cosines: Buf<f32>,
    /// Sines.
    pub sines: Buf<f32>,
    format: PhantomData<fn() -> T>,
}

/// Matrices that multiply the same input and whose outputs are side by side.
pub struct Projection {
    /// Elements of the weights.
    pub weights: Range<usize>,
    /// First column of the outputs.
    pub column: usize,
    /// Columns.
    pub outputs: usize,
}

impl<T: ModelFormat> Network<T> {
    /// With its tables.
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

    /// The same on another stream of the device.
    pub fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Self::new(gpu, &self.config, &self.layout, &self.dynamics, self.ops.beside(gpu)?, self.seed)
    }

    /// Elements of a parameter.
    pub fn range(&self, id: ViewId) -> Range<usize> {
        self.layout.map.view(id).range()
    }

    /// The declaration of a LayerNorm of that many tokens.
    pub const fn norm_op(&self, rows: usize) -> norm::Norm {
        norm::Norm { rows, columns: self.config.width, eps: EPS, kind: NormKind::Layer }
    }

    /// The experts of a block.
    pub const fn mixture(&self) -> Mixture {
        let Config { experts, top_k, width, hidden, .. } = self.config;
        Mixture { experts, top_k, width, hidden }
    }

    /// Columns of queries, keys and values of a token.
    pub const fn packed_width(&self) -> usize {
        self.config.width + 2 * self.config.kv_width()
    }

    /// Queries, keys and values of a block: one multiplication where their weights follow each other without a gap.
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

    /// Factor of the logits of attention, without a temperature.
    pub fn scale(&self) -> f32 {
        (1.0 / (self.config.head_dim() as f64).sqrt()) as f32
    }

    /// Sizes of heads; keys are in rows `first..` of `key_rows` of each head.
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

/// Adds the memory of the tables of a model and of its operations.
pub fn report_tables(config: &Config, of_gemm: u64, to: &mut MemoryReport) {
    let rope = 2 * config.context * (config.head_dim() / 2) * 4;
    to.add("tables", "rotary positions", Place::Device, rope as u64);
    to.add("matrix multiplication", "cuBLASLt workspace", Place::Device, of_gemm);
}

/// A warp per item, taken in turns.
pub fn warps(n: usize) -> Grid {
    let blocks = n.div_ceil(8).clamp(1, 1 << 13) as u32;
    Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 }
}

/// A thread per item, taken in turns.
pub fn threads(n: usize) -> Grid {
    let blocks = n.div_ceil(256).clamp(1, 1 << 13) as u32;
    Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 }
}

/// States of the routers of all blocks, one behind the other.
#[derive(Clone, Copy)]
pub struct Routers<'a> {
    /// `[L, E, 24]`
    pub embeddings: &'a Slice<f32>,
    /// `[L, E]`
    pub fatigue: &'a Slice<f32>,
    /// `[L, E]`
    pub energy: &'a Slice<f32>,
    /// `[L, E]`
    pub balance: &'a Slice<f32>,
    /// `[L, E]`
    pub alive: &'a Slice<u32>,
}

/// The state of one router.
pub struct RouterViews<'a>([View<'a, f32>; 5], View<'a, u32>);

impl RouterViews<'_> {
    /// As the experts read it.
    pub fn refs(&self) -> DeviceState<'_> {
        let [genome, embeddings, fatigue, energy, balance] = &self.0;
        DeviceState { genome, embeddings, fatigue, energy, balance, alive: &self.1 }
    }
}

/// Weights of router and experts of a block: what is read as f32, and what is multiplied.
pub struct WeightViews<'a, T: ModelFormat>([View<'a, f32>; 3], [View<'a, T>; 3]);

impl<T: ModelFormat> WeightViews<'_, T> {
    /// As the experts read them.
    pub fn refs(&self) -> DeviceWeights<'_, T> {
        let Self([router, probe, fc2_bias], [fc1, fc1_bias, fc2]) = self;
        DeviceWeights { router, probe, fc1, fc1_bias, fc2, fc2_bias }
    }
}

/// Keys, values and synapses of the tokens so far, of all blocks.
pub struct Cache<'a> {
    /// `[L, Hkv, T, D]`
    pub keys: &'a mut Slice<f32>,
    /// `[L, Hkv, T, D]`
    pub values: &'a mut Slice<f32>,
    /// `[L, 9 + delay, H, T]`
    pub synapses: &'a mut Slice<f32>,
    /// Position of the token and the number of tokens with it, where they are in memory: the offset of the batch is then the last
    /// position there is.
    pub place: Option<&'a Slice<i32>>,
}

/// One pass over a batch: what its layers read, and where launches and temporaries go.
pub struct Run<'a, T: ModelFormat> {
    /// The model.
    pub network: &'a Network<T>,
    /// Its weights.
    pub weights: &'a Slice<f32>,
    /// The same as operands of multiplications.
    pub matrices: &'a Slice<T>,
    /// States of the routers.
    pub routers: Routers<'a>,
    /// The batch.
    pub batch: DeviceBatch<'a>,
    /// Addresses of random draws, in training.
    pub draws: Option<&'a Slice<ReleaseStep>>,
    /// Earlier tokens, that new tokens attend to.
    pub cache: Option<Cache<'a>>,
    /// What tokens of a text write, which is on the host.
    pub plastic: Option<&'a mut Plastic<f32>>,
    /// What gradients of a loss need.
    pub loss: Option<Loss<'a>>,
    /// What gradients of experts add to.
    pub sums: Option<Sums<'a>>,
    /// Tokens whose logits are in memory at a time.
    pub logit_rows: usize,
    /// Raised where a token is out of range.
    pub flag: &'a mut Slice<u32>,
    /// Temporaries.
    pub frame: &'a Frame<'a>,
    /// Launches.
    pub pass: &'a mut Pass,
}

impl<T: ModelFormat> Run<'_, T> {
    /// Layers that multiply by weights in the format of the model.
    pub fn rounded(&mut self) -> Layers<'_, T> {
        let Network { ops, layout, .. } = self.network;
        Layers::new((&ops.model, &layout.map), self.matrices, self.batch, self.flag, self.frame, self.pass)
    }

    /// Rounds what was computed in `room` to its place, where the format is not f32.
    pub fn keep(&mut self, own: &mut Slice<T>, room: &Slice<f32>) -> Result<(), OpError> {
        let (network, pass) = (self.network, &mut *self.pass);
        Ok(T::keep(own, room, |x, to| network.ops.model.optimizer.round(pass, x, to))?)
    }

    /// f32 as an operand of a multiplication.
    pub fn operand<'x>(&mut self, x: &'x Slice<f32>, room: &'x mut Slice<T>) -> Result<View<'x, T>, OpError> {
        let (network, pass) = (self.network, &mut *self.pass);
        Ok(T::rounded(x, room, |x, to| network.ops.model.optimizer.round(pass, x, to))?)
    }

    /// Layers of f32.
    pub fn layers(&mut self) -> Layers<'_, f32> {
        let Network { ops, layout, .. } = self.network;
        Layers::new((&ops.model, &layout.map), self.weights, self.batch, self.flag, self.frame, self.pass)
    }

    /// `y = norm(x)`.
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

    /// The matrix of logits.
    pub fn head(&self) -> HeadMatrix {
        let network = self.network;
        HeadMatrix { weight: network.layout.lm_head, vocab: network.config.vocab, rows: self.logit_rows }
    }
}

impl<'a, T: ModelFormat> Run<'a, T> {
    /// A pass without random draws, cache and loss. Weights are those of f32, and as operands of multiplications.
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

    /// A parameter.
    pub fn weight(&self, id: ViewId) -> Result<View<'a, f32>, OpError> {
        Ok(self.weights.part(self.network.range(id))?)
    }

    /// The state of the router of a block.
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

    /// Weights of router and experts of a block.
    pub fn experts(&self, b: usize) -> Result<WeightViews<'a, T>, OpError> {
        let block = self.network.layout.blocks[b];
        let rounded = |id| self.matrices.part(self.network.range(id));
        Ok(WeightViews(
            [self.weight(block.router)?, self.weight(block.probe)?, self.weight(block.fc2_bias)?],
            [rounded(block.fc1)?, rounded(block.fc1_bias)?, rounded(block.fc2)?],
        ))
    }

    /// The factors of the logits of a block, where there are some.
    pub fn temperature(&self, b: usize) -> Result<Option<View<'a, f32>>, OpError> {
        self.network.layout.blocks[b].temperature.map(|id| self.weight(id)).transpose()
    }
}

/// As an argument that may be absent.
pub fn optional<'v>(view: &'v Option<View<'_, f32>>) -> Any<'v> {
    Any::or_none(view.as_deref())
}
