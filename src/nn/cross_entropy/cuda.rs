//! [`CrossEntropy`] on a GPU: logits in f32, f16 or bf16, arithmetic in f32.
//!
//! Losses agree with [`cpu`](super::cpu) within rounding, about 1e-6 relative, and have the same bits for the same sizes. A
//! target that is not a token is recorded in a flag in device memory, see
//! [`first_invalid`](crate::nn::embedding::cuda::first_invalid), and is not counted.

use super::{CrossEntropy, CrossEntropyError};
use crate::{
    device_struct,
    gpu::{
        Any, Compile, Gpu, GpuError, Grid, ModuleSpec, Pass, Slice,
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
    /// Sizes of a block of logits.
    pub struct CrossEntropyArgs {
        /// Rows of logits
        rows: u64,
        /// Columns that are tokens
        vocab: u32,
        /// Columns of a row
        padded: u32,
        /// Whether every row begins at a multiple of 16 bytes and ends at one
        aligned: u32,
        /// Whether the logits become gradients
        writes: u32,
    }
}

device_struct! {
    /// Losses added so far.
    pub struct LossTotal {
        /// Sum of the losses of counted rows, nats
        sum: f64,
        /// Rows whose target is counted
        count: u64,
    }
}

impl LossTotal {
    /// Computes the mean loss in nats; NaN if no target was counted.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

kernels! {
    /// Cross-entropy and its gradient.
    pub struct CrossEntropyKernels in "nn/cross_entropy.cu"
        for "f32" ["-DELEMENT=float"], also "f16" ["-DELEMENT=f16"] as F16, also "bf16" ["-DELEMENT=bf16"] as BF16
        compiled (Compile::FUSED.on(Compile::NARROWS)) using [CrossEntropyArgs, LossTotal]
    {
        /// Cross-entropy and gradient of small vocabularies: one warp per row. Bound by memory bandwidth.
        #[block(256)]
        fn cross_entropy_small as CrossEntropySmall(g: Size<CrossEntropyArgs>, logits: InOutAny, targets: In<i32>, scale: InAny, losses: InOut<f32>, lse: InOut<f32>, flag: InOut<u32>);

        /// Cross-entropy and gradient: one block per row. Bound by memory bandwidth.
        #[block(512)]
        fn cross_entropy_large as CrossEntropyLarge(g: Size<CrossEntropyArgs>, logits: InOutAny, targets: In<i32>, scale: InAny, losses: InOut<f32>, lse: InOut<f32>, flag: InOut<u32>);

        /// Cross-entropy and gradient of rows that fit into shared memory: one block per row. Bound by memory bandwidth.
        #[block(512, 2)]
        fn cross_entropy_kept as CrossEntropyKept(g: Size<CrossEntropyArgs>, logits: InOutAny, targets: In<i32>, scale: InAny, losses: InOut<f32>, lse: InOut<f32>, flag: InOut<u32>);

        /// Sum of the losses of a block of logits, added to the total: one block.
        #[block(1024)]
        fn add_losses as AddLosses(g: Size<CrossEntropyArgs>, losses: In<f32>, targets: In<i32>, total: InOut<LossTotal>);

        /// Factor of gradients from the loss scale and the number of targets: one block.
        #[block(1024)]
        fn set_gradient_scale as SetGradientScale(g: Size<CrossEntropyArgs>, targets: In<i32>, loss_scale: In<f32>, scale: InOut<f32>);
    }
}

/// Kernel modules of this operation, for the kernel tests.
pub const MODULES: &[ModuleSpec] = &[CrossEntropyKernels::SPEC, CrossEntropyKernels::F16, CrossEntropyKernels::BF16];

/// Reason why no loss was computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CudaCrossEntropyError {
    /// The buffers do not match the declaration.
    #[error(transparent)]
    Declared(#[from] CrossEntropyError),
    /// The device reported an error.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// Maximum number of columns for which one warp computes a row.
const SMALL: usize = 1024;

/// Bytes of shared memory that a block needs besides its row, including those reserved by the driver.
const RESERVED: usize = 2048;

/// Computes cross-entropy losses on one device.
pub struct CudaCrossEntropy {
    kernels: ByFormat<CrossEntropyKernels>,
}

impl CudaCrossEntropy {
    /// Creates the operation; modules are loaded at their first use.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        let specs = [CrossEntropyKernels::SPEC, CrossEntropyKernels::F16, CrossEntropyKernels::BF16];
        Self { kernels: ByFormat::new(gpu, specs, CrossEntropyKernels::load_as) }
    }

    /// Loads the module of `format` in advance.
    pub fn prepare(&self, format: Format) -> Result<(), GpuError> {
        self.kernels.get(format).map(drop)
    }

    /// Computes the loss and `lse` of every row; leaves the logits unchanged.
    pub fn forward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &CrossEntropy,
        logits: &mut Slice<T>,
        targets: &Slice<i32>,
        losses: &mut Slice<f32>,
        lse: &mut Slice<f32>,
        flag: &mut Slice<u32>,
    ) -> Result<(), CudaCrossEntropyError> {
        self.rows(pass, op, logits, targets, None, losses, lse, flag)
    }

    /// Computes the loss and `lse` of every row; replaces the logits by their gradients times `scale[0]`.
    pub fn backward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &CrossEntropy,
        logits: &mut Slice<T>,
        targets: &Slice<i32>,
        scale: &Slice<f32>,
        losses: &mut Slice<f32>,
        lse: &mut Slice<f32>,
        flag: &mut Slice<u32>,
    ) -> Result<(), CudaCrossEntropyError> {
        self.rows(pass, op, logits, targets, Some(scale), losses, lse, flag)
    }

    fn rows<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &CrossEntropy,
        logits: &mut Slice<T>,
        targets: &Slice<i32>,
        scale: Option<&Slice<f32>>,
        losses: &mut Slice<f32>,
        lse: &mut Slice<f32>,
        flag: &mut Slice<u32>,
    ) -> Result<(), CudaCrossEntropyError> {
        op.check(logits.len(), [targets.len(), losses.len(), lse.len()])?;
        check_flag(flag)?;
        if let Some(scale) = scale.filter(|scale| scale.is_empty()) {
            return Err(GpuError::Length { what: scale.what, device: 0, host: 1 }.into());
        }
        if op.rows == 0 {
            return Ok(());
        }
        let is_aligned = Any::from(&*logits).is_aligned_to(16) && op.padded.is_multiple_of(16 / size_of::<T>());
        let g = CrossEntropyArgs { aligned: is_aligned.into(), writes: scale.is_some().into(), ..args(op) };
        let kernels = self.kernels.of::<T>()?;
        let (logits, scale) = (logits.into(), scale.map_or(Any::NONE, Any::from));
        let row_bytes = op.vocab * size_of::<T>();
        if op.padded <= SMALL {
            let most = u64::from(self.kernels.gpu().multiprocessors) * 32;
            let grid = blocks((op.rows as u64).div_ceil(8).min(most), 256);
            CrossEntropySmall { g, logits, targets, scale, losses, lse, flag }.launch(kernels, pass, grid)?;
        } else if is_aligned && row_bytes + RESERVED <= self.kernels.gpu().shared_per_block as usize / 2 {
            let grid = blocks(op.rows as u64, 512).with_shared(row_bytes as u32);
            CrossEntropyKept { g, logits, targets, scale, losses, lse, flag }.launch(kernels, pass, grid)?;
        } else {
            let grid = blocks(op.rows as u64, 512);
            CrossEntropyLarge { g, logits, targets, scale, losses, lse, flag }.launch(kernels, pass, grid)?;
        }
        Ok(())
    }

    /// Adds the losses of counted rows to `total[0]`, which the caller clears.
    pub fn add_losses(
        &self,
        pass: &mut Pass,
        losses: &Slice<f32>,
        targets: &Slice<i32>,
        total: &mut Slice<LossTotal>,
    ) -> Result<(), CudaCrossEntropyError> {
        if losses.len() != targets.len() || total.is_empty() {
            let (needed, given) = (targets.len(), losses.len());
            return Err(CrossEntropyError::Length { what: "the losses", needed, given }.into());
        }
        let g = CrossEntropyArgs { rows: losses.len() as u64, ..Default::default() };
        AddLosses { g, losses, targets, total }.launch(self.kernels.get(Format::F32)?, pass, blocks(1, 1024))?;
        Ok(())
    }

    /// Sets `scale[0] = loss_scale[0] / counted targets`, or 0 if no target is counted.
    pub fn set_scale(
        &self,
        pass: &mut Pass,
        targets: &Slice<i32>,
        loss_scale: &Slice<f32>,
        scale: &mut Slice<f32>,
    ) -> Result<(), CudaCrossEntropyError> {
        if let Some(what) = [loss_scale, &*scale].into_iter().find(|s| s.is_empty()).map(|s| s.what) {
            return Err(GpuError::Length { what, device: 0, host: 1 }.into());
        }
        let g = CrossEntropyArgs { rows: targets.len() as u64, ..Default::default() };
        let kernels = self.kernels.get(Format::F32)?;
        SetGradientScale { g, targets, loss_scale, scale }.launch(kernels, pass, blocks(1, 1024))?;
        Ok(())
    }
}

fn blocks(blocks: u64, threads: u32) -> Grid {
    Grid::Blocks { blocks: [blocks.max(1) as u32, 1, 1], threads: [threads, 1, 1], shared_bytes: 0 }
}

fn args(op: &CrossEntropy) -> CrossEntropyArgs {
    CrossEntropyArgs {
        rows: op.rows as u64,
        vocab: u32::try_from(op.vocab).unwrap_or(u32::MAX),
        padded: u32::try_from(op.padded).unwrap_or(u32::MAX),
        aligned: 0,
        writes: 0,
    }
}
