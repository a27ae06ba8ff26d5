//! [`Rope`] on a GPU: f32 results are bitwise equal to [`cpu`](super::cpu); 16-bit elements are rounded once.

use super::{Rope, RopeError, RopeLayout, RopeTable};
use crate::{
    device_struct,
    gpu::{
        Any, Buf, Gpu, GpuError, Grid, ModuleSpec, Pass, Slice,
        kernel::{In, InAny, InOut, InOutAny, Size},
    },
    kernels,
    nn::{
        by_format::ByFormat,
        embedding::cuda::check_flag,
        storage::{Format, Storage},
    },
};
use std::sync::Arc;

device_struct! {
    /// A rotation of heads in place.
    pub struct RopeArgs {
        /// Tokens of all sequences
        tokens: u64,
        /// Tokens of a sequence
        seq_len: u64,
        /// Position of the first token of every sequence
        offset: u64,
        /// Elements from a token to the next
        stride: u64,
        /// Positions of the table
        len: u64,
        /// Rotated heads of a token
        heads: u32,
        /// Elements of a head
        head_dim: u32,
        /// Whether pairs are halves of a head instead of neighbours
        halves: u32,
        /// Whether the angles are negated
        inverse: u32,
        /// Whether groups of 16 bytes are aligned and within a head
        aligned: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

kernels! {
    /// Rotary position embeddings, by type of the elements.
    pub struct RopeKernels in "nn/rope.cu"
        for "f32" ["-DELEMENT=float"], also "f16" ["-DELEMENT=f16"] as F16, also "bf16" ["-DELEMENT=bf16"] as BF16
        using [RopeArgs] {
        /// Rotary positions of queries and keys, in place: one warp per token, 16 bytes per access. Bound by memory bandwidth.
        #[block(256)]
        fn rotate_heads as RotateHeads(g: Size<RopeArgs>, cos: In<f32>, sin: In<f32>, position_ids: InAny, x: InOutAny, flag: InOut<u32>);
    }
}

/// Kernel modules of this operation, for the kernel tests.
pub const MODULES: &[ModuleSpec] = &[RopeKernels::SPEC, RopeKernels::F16, RopeKernels::BF16];

/// Reason why nothing was rotated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CudaRopeError {
    /// The buffers do not match the declaration.
    #[error(transparent)]
    Declared(#[from] RopeError),
    /// The device reported an error.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// A [`RopeTable`] in device memory.
pub struct CudaRopeTable {
    cos: Buf<f32>,
    sin: Buf<f32>,
    /// Number of positions.
    pub len: usize,
    /// Number of pairs per head.
    pub half: usize,
}

impl CudaRopeTable {
    /// Copies a table to the device.
    pub fn new(gpu: &Arc<Gpu>, table: &RopeTable<f32>) -> Result<Self, GpuError> {
        let cos = Buf::from_slice(gpu, "cosines of rotary positions", &table.cos)?;
        let sin = Buf::from_slice(gpu, "sines of rotary positions", &table.sin)?;
        Ok(Self { cos, sin, len: table.len, half: table.half })
    }
}

/// Launches rotations on one device.
pub struct CudaRope {
    kernels: ByFormat<RopeKernels>,
}

impl CudaRope {
    /// Creates the operation; modules are loaded at their first use.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        let specs = [RopeKernels::SPEC, RopeKernels::F16, RopeKernels::BF16];
        Self { kernels: ByFormat::new(gpu, specs, RopeKernels::load_as) }
    }

    /// Loads the module of `format` in advance.
    pub fn prepare(&self, format: Format) -> Result<(), GpuError> {
        self.kernels.get(format).map(drop)
    }

    /// Rotates `x` in place; with `is_inverse` by the opposite angles. A token whose position id is outside the table is not
    /// rotated and is recorded in the flag, see [`first_invalid`](crate::nn::embedding::cuda::first_invalid).
    pub fn apply<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Rope,
        table: &CudaRopeTable,
        position_ids: Option<&Slice<u32>>,
        x: &mut Slice<T>,
        is_inverse: bool,
        flag: &mut Slice<u32>,
    ) -> Result<(), CudaRopeError> {
        op.check(x.len(), (table.len, table.half), position_ids.map(Slice::len))?;
        check_flag(flag)?;
        if op.tokens == 0 || op.heads == 0 || op.head_dim == 0 {
            return Ok(());
        }
        let group = 16 / size_of::<T>();
        let halves = op.layout == RopeLayout::Half;
        let within = if halves { table.half } else { op.head_dim };
        // A group has at least two neighbouring pairs, so that their angles are aligned too.
        let has_groups = within.is_multiple_of(group) && op.stride.is_multiple_of(group);
        let g = RopeArgs {
            tokens: op.tokens as u64,
            seq_len: op.seq_len.max(1) as u64,
            offset: op.offset as u64,
            stride: op.stride as u64,
            len: table.len as u64,
            heads: op.heads as u32,
            head_dim: op.head_dim as u32,
            halves: halves.into(),
            inverse: is_inverse.into(),
            aligned: (has_groups && table.half.is_multiple_of(2) && Any::from(&*x).is_aligned_to(16)).into(),
            pad: 0,
        };
        let kernels = self.kernels.of::<T>()?;
        let most = u64::from(self.kernels.gpu().multiprocessors) * 32;
        let blocks = (op.tokens.div_ceil(8) as u64).clamp(1, most.max(1)) as u32;
        let grid = Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
        let position_ids = position_ids.map_or(Any::NONE, Any::from);
        RotateHeads { g, cos: &table.cos, sin: &table.sin, position_ids, x: x.into(), flag }
            .launch(kernels, pass, grid)?;
        Ok(())
    }
}
