//! Softmax on a GPU: scale, bias, mask and softmax in one launch; sums in f32.

use super::{Mask, Softmax};
use crate::{
    device_struct,
    gpu::{
        Any, AnyMut, BlockSize, Gpu, GpuError, ModuleSpec, Pass, Slice,
        compile::Compile,
        kernel::{InAny, InOut, InOutAny, Size},
    },
    kernels,
    nn::{
        by_format::ByFormat,
        storage::{KEPT_PACKS, Storage, pack, packs},
    },
};
use std::sync::Arc;

device_struct! {
    /// A softmax of rows.
    pub struct SoftmaxArgs {
        /// Rows of all batch entries and heads
        rows: u64,
        /// Elements of the bias from a batch entry to the next
        bias_batch: u64,
        /// Elements of the bias from a head to the next
        bias_head: u64,
        /// Elements of the bias from a query to the next
        bias_query: u64,
        /// Elements of the bias from a key to the next
        bias_key: u64,
        /// Heads of a batch entry
        heads: u32,
        /// Rows of a head
        q_len: u32,
        /// Elements of a row
        k_len: u32,
        /// Factor of the scores
        scale: f32,
        /// Whether a query sees no later keys
        is_causal: u32,
        /// Whether packs of 16 bytes of a row are aligned
        is_aligned: u32,
    }
}

kernels! {
    /// Softmax, by type of the elements.
    pub struct SoftmaxKernels in "nn/softmax.cu"
        for "f32" ["-DELEMENT=float"], also "f16" ["-DELEMENT=f16"] as F16, also "bf16" ["-DELEMENT=bf16"] as BF16
        compiled (Compile::FUSED.on(Compile::NARROWS)) using [SoftmaxArgs]
    {
        /// A warp or a block per row: probabilities and log-sum-exp. Items: rows.
        #[block(1024)]
        fn softmax_forward as SoftmaxForward(
            a: Size<SoftmaxArgs>, x: InAny, q_lens: InAny, k_lens: InAny, bias: InAny, y: InOutAny, lse: InOut<f32>
        );

        /// A warp or a block per row: gradient of the scores before their scale. Items: rows.
        #[block(1024)]
        fn softmax_backward as SoftmaxBackward(a: Size<SoftmaxArgs>, y: InAny, dy: InAny, dx: InOutAny);
    }
}

const SPECS: [ModuleSpec; 3] = [SoftmaxKernels::SPEC, SoftmaxKernels::F16, SoftmaxKernels::BF16];
/// Kernel modules of softmax, one per storage format.
pub const MODULES: &[ModuleSpec] = &SPECS;

/// Launches softmax on one device.
pub struct CudaSoftmax {
    kernels: ByFormat<SoftmaxKernels>,
    /// Number of threads per block.
    block: BlockSize,
}

impl CudaSoftmax {
    /// Creates the operation; modules are loaded at their first use.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self { kernels: ByFormat::new(gpu, SPECS, SoftmaxKernels::load_as), block: BlockSize::Automatic }
    }

    /// Sets the number of threads per block.
    #[must_use]
    pub fn with_block(self, block: BlockSize) -> Self {
        Self { block, ..self }
    }

    /// Computes the probabilities and the log-sum-exp of each row. Lengths above the declared ones are clamped.
    pub fn forward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Softmax,
        x: &Slice<T>,
        mask: Mask<&Slice<f32>, &Slice<i32>>,
        y: &mut Slice<T>,
        lse: &mut Slice<f32>,
    ) -> Result<(), GpuError> {
        op.check(x.len(), y.len(), lse.len())?;
        op.check_mask(&mask, |bias| bias.len(), |lens| lens.len())?;
        if lse.is_empty() {
            return Ok(());
        }
        let kernels = self.kernels.of::<T>()?;
        let n_bytes = 2 * x.bytes() + lse.bytes();
        let (x, y) = (Any::from(x), AnyMut::from(y));
        let mut a = args::<T>(op, x.is_aligned_to(16) && y.is_aligned_to(16));
        if let Some(bias) = &mask.bias {
            [a.bias_batch, a.bias_head, a.bias_query, a.bias_key] = bias.strides.map(|stride| stride as u64);
        }
        let (q_lens, k_lens) = (Any::or_none(mask.q_lens), Any::or_none(mask.k_lens));
        let bias = Any::or_none(mask.bias.map(|bias| bias.values));
        let grid = kernels.softmax_forward.grid_of_rows(a.rows, packs::<T>(op.k_len), KEPT_PACKS, self.block)?;
        SoftmaxForward { a, x, q_lens, k_lens, bias, y, lse }.launch(kernels, pass, grid)?;
        pass.last_work(a.rows, n_bytes, 0);
        Ok(())
    }

    /// Computes `dx = scale y (dy - Σ y dy)`, which overwrites `dx`; keys that are not kept get 0.
    pub fn backward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Softmax,
        y: &Slice<T>,
        dy: &Slice<T>,
        dx: &mut Slice<T>,
    ) -> Result<(), GpuError> {
        op.check(y.len(), dy.len(), op.n_rows())?;
        op.check(dx.len(), dy.len(), op.n_rows())?;
        if y.is_empty() {
            return Ok(());
        }
        let kernels = self.kernels.of::<T>()?;
        let n_bytes = 3 * y.bytes();
        let (y, dy, dx) = (Any::from(y), Any::from(dy), AnyMut::from(dx));
        let is_aligned = [y, dy].iter().all(|a| a.is_aligned_to(16)) && dx.is_aligned_to(16);
        let a = args::<T>(op, is_aligned);
        let grid = kernels.softmax_backward.grid_of_rows(a.rows, packs::<T>(op.k_len), KEPT_PACKS, self.block)?;
        SoftmaxBackward { a, y, dy, dx }.launch(kernels, pass, grid)?;
        pass.last_work(a.rows, n_bytes, 0);
        Ok(())
    }
}

fn args<T: Storage>(op: &Softmax, is_aligned: bool) -> SoftmaxArgs {
    SoftmaxArgs {
        rows: op.n_rows() as u64,
        heads: op.heads as u32,
        q_len: op.q_len as u32,
        k_len: op.k_len as u32,
        scale: op.scale as f32,
        is_causal: op.causal.into(),
        is_aligned: (is_aligned && op.k_len.is_multiple_of(pack::<T>())).into(),
        ..SoftmaxArgs::default()
    }
}
