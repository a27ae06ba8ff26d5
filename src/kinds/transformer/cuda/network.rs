//! Operations and tables of a model on a device, and the passes that use them.

use super::buffers::BackwardPass;
use crate::{
    gpu::{BlockSize, Buf, Frame, Gpu, GpuError, Pass, Place, Slice},
    kinds::{
        language::cuda::{
            batch::DeviceBatch,
            blocks::{BlockOps, Fused, Tables},
            format::ModelFormat,
            layers::{Layers, ModelOps},
        },
        transformer::{
            backend::Hyper,
            choices::{ActivationFunction, AttentionMethod, Checkpointing},
            model::{Config, Layout, Position},
            network::Run,
        },
    },
    nn::{
        attention::cuda::Variant,
        embedding::sinusoid,
        gemm::cuda::Options,
        rope::{RopeTable, cuda::CudaRopeTable},
    },
    sim::MemoryReport,
};
use std::sync::Arc;

/// Pass over a batch on a device.
pub type CudaRun<'a, T> = Run<'a, Layers<'a, T>>;

/// Returns the operations that a model fuses. GELU is the only activation that cuBLASLt fuses; fusion in GEMM kernels of
/// this program would lose more time than a separate pass over memory.
pub fn fused(is_wanted: bool, f: ActivationFunction, mode: Checkpointing) -> Fused {
    let backward = is_wanted && f == ActivationFunction::GeluTanh;
    let forward = backward && matches!(mode, Checkpointing::Nothing | Checkpointing::Blocks);
    Fused { forward, backward, dropout: is_wanted }
}

/// Creates the operations with an attention method. `adds_queries` states whether gradients of queries are accumulated
/// by atomics. Fails if a kernel cannot be loaded.
pub fn operations(
    gpu: &Arc<Gpu>,
    options: Options,
    fused: Fused,
    (attention, adds_queries): (AttentionMethod, bool),
    block: BlockSize,
) -> Result<ModelOps, GpuError> {
    let variant = match attention {
        AttentionMethod::Flash => None,
        AttentionMethod::Naive => Some(Variant::Naive),
    };
    let blocks = BlockOps::with(gpu, block, fused, (variant, adds_queries));
    Ok(ModelOps { blocks, ..ModelOps::new(gpu, options, block)? })
}

/// Operations of a model, and tables computed from its sizes.
pub struct Network<T: ModelFormat> {
    /// Device of the model.
    pub gpu: Arc<Gpu>,
    /// Sizes and options of the model.
    pub config: Config,
    /// Parameter layout of the model.
    pub layout: Arc<Layout>,
    /// Operations and their implementations.
    pub ops: ModelOps,
    /// Angles of rotary positions; `None` for other positions.
    pub rope: Option<CudaRopeTable>,
    /// Vectors of sinusoidal positions, `[T, C]`; `None` for other positions.
    pub sinusoid: Option<Buf<T>>,
    /// Recomputation of activations in the backward pass.
    pub mode: Checkpointing,
    /// Seed of the random draws of dropout.
    pub seed: u64,
    /// Whether an update rounds bf16 weights stochastically.
    pub is_stochastic: bool,
}

impl<T: ModelFormat> Network<T> {
    /// Returns the options of the backward pass that affect its memory.
    pub fn backward_pass(&self) -> BackwardPass {
        BackwardPass { mode: self.mode, has_sums: self.ops.blocks.attention.is_fast_nondeterministic() }
    }

    /// Creates the tables of a model. Fails if memory is exhausted.
    pub fn new(
        gpu: &Arc<Gpu>,
        (config, layout): (&Config, &Arc<Layout>),
        ops: ModelOps,
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

    /// Creates the same network on the stream of another handle to the device. Fails if a module cannot be loaded.
    pub fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        let parts = (&self.config, &self.layout);
        let new = Self::new(gpu, parts, self.ops.beside(gpu)?, self.mode, self.seed)?;
        Ok(Self { is_stochastic: self.is_stochastic, ..new })
    }

    /// Adds the memory of tables and operations to the report.
    pub fn report(&self, to: &mut MemoryReport) {
        report_tables::<T>(&self.config, to);
        report_operations(self.ops.gemm.bytes(), to);
    }

    /// Creates a pass over a batch, without dropout, cache and loss.
    pub fn run<'a>(
        &'a self,
        weights: &'a Slice<T>,
        batch: DeviceBatch<'a>,
        flag: &'a mut Slice<u32>,
        frame: &'a Frame<'a>,
        pass: &'a mut Pass,
    ) -> CudaRun<'a, T> {
        let Self { config, layout, ops, .. } = self;
        let tables = Tables { rope: self.rope.as_ref(), positions: self.sinusoid.as_deref() };
        let ops = Layers { tables, ..Layers::new((ops, &layout.map), weights, batch, flag, frame, pass) };
        Run { config, layout, shape: batch.shape, offset: batch.offset, ops }
    }
}

/// Adds the memory of a model's tables to the report.
pub fn report_tables<T: ModelFormat>(config: &Config, to: &mut MemoryReport) {
    let mut add = |name, elements: usize, size: usize| to.add("tables", name, Place::Device, (elements * size) as u64);
    match config.positions {
        Position::Rope { .. } => add("rotary positions", 2 * config.context * (config.head_dim() / 2), 4),
        Position::Sinusoidal => add("sinusoidal positions", config.context * config.width, size_of::<T>()),
        Position::Learned => {}
    }
}

/// Adds the memory of the operations to the report.
pub fn report_operations(of_gemm: u64, to: &mut MemoryReport) {
    to.add("matrix multiplication", "cuBLASLt workspace", Place::Device, of_gemm);
}

/// Kinds of dropout in use. A captured step is valid for one combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Drops {
    /// Whether elements are dropped at each [`DropSite`](crate::kinds::transformer::network::DropSite).
    pub elements: bool,
    /// Whether attention probabilities are dropped.
    pub probabilities: bool,
}

impl Drops {
    /// Returns the kinds of dropout in a step with these settings.
    pub fn of(hyper: &Hyper) -> Self {
        Self { elements: hyper.dropout > 0.0, probabilities: hyper.attention_dropout > 0.0 }
    }
}
