//! Norms on a GPU: statistics and sums in f32. The variance is that of differences from the mean, corrected for the rounding of
//! the mean. Gradients of parameters are summed in two stages of a fixed shape, so that they have the same bits every time.

use super::{Norm, NormKind};
use crate::{
    device_struct,
    gpu::{
        Any, AnyMut, BlockSize, Frame, Gpu, GpuError, Grid, ModuleSpec, Pass, Slice,
        compile::Compile,
        kernel::{In, InAny, InOut, InOutAny, Size},
    },
    kernels,
    nn::{
        by_format::ByFormat,
        storage::{KEPT_PACKS, Storage, pack, packs, parts},
    },
};
use std::sync::Arc;

device_struct! {
    /// A norm of rows.
    pub struct NormArgs {
        /// Rows of the input
        rows: u64,
        /// Elements of a row
        columns: u32,
        /// Rows of a partial sum of the gradients of parameters
        rows_per_part: u32,
        /// Constant added to the variance
        eps: f32,
        /// Whether the mean stays
        is_rms: u32,
        /// Whether packs of 16 bytes of a row are aligned
        is_aligned: u32,
        /// Padding to eight bytes
        pad: u32,
    }
}

kernels! {
    /// Norms, by type of the elements.
    pub struct NormKernels in "nn/norm.cu"
        for "f32" ["-DELEMENT=float"], also "f16" ["-DELEMENT=f16"] as F16, also "bf16" ["-DELEMENT=bf16"] as BF16
        compiled (Compile::FUSED.on(Compile::NARROWS)) using [NormArgs]
    {
        /// A warp or a block per row: output and statistics; with a residual, of its sum with the input. Items: rows.
        #[block(1024)]
        fn norm_forward as NormForward(
            a: Size<NormArgs>, x: InAny, residual: InAny, weight: InAny, bias: InAny, sum: InOutAny, y: InOutAny,
            stats: InOut<f32>
        );

        /// Narrow rows, a warp each: adds the gradient of the input; sums of a part of the rows for weight and bias. Items: rows.
        #[block(256, 2)]
        fn norm_backward_narrow as NormBackwardNarrow(
            a: Size<NormArgs>, dy: InAny, x: InAny, weight: InAny, stats: In<f32>, dx: InOutAny, partials: InOut<f32>
        );

        /// A warp or a block per wide row: adds the gradient of the input. Items: rows.
        #[block(512)]
        fn norm_backward as NormBackward(
            a: Size<NormArgs>, dy: InAny, x: InAny, weight: InAny, stats: In<f32>, dx: InOutAny, shifts: InOut<f32>
        );

        /// A block per 128 columns and part of the wide rows: that part's sums for the gradients of weight and bias.
        #[block(256)]
        fn norm_parameters as NormParameters(
            a: Size<NormArgs>, dy: InAny, x: InAny, stats: In<f32>, shifts: In<f32>, partials: InOut<f32>
        );

        /// A block per 32 columns: adds the parts to the gradients of weight and bias.
        #[block(512)]
        fn add_norm_partials as AddNormPartials(
            columns: Size<u32>, n_parts: Size<u32>, partials: In<f32>, dweight: InOut<f32>, dbias: InOutAny
        );
    }
}

const SPECS: [ModuleSpec; 3] = [NormKernels::SPEC, NormKernels::F16, NormKernels::BF16];
/// Kernel modules of norms, one per storage format.
pub const MODULES: &[ModuleSpec] = &SPECS;

/// Maximum number of 16-byte packs per lane for narrow rows, and rows per block at a time, as in kernels/nn/norm.cuh.
const NARROW: (u64, u32) = (3, 8);
/// Maximum number of row ranges with a partial sum each: about two blocks per SM of a large GPU.
const MAX_PARTS: usize = 256;

/// Splits the rows for the gradients of weight and bias: rows per range, number of ranges. Both depend only on `rows`, so that
/// the order of summation is fixed.
fn parts_of_narrow(rows: usize) -> (usize, usize) {
    let per_part = rows.div_ceil(MAX_PARTS).max(NARROW.1 as usize);
    (per_part, rows.div_ceil(per_part))
}

/// Launches norms on one device.
pub struct CudaNorm {
    kernels: ByFormat<NormKernels>,
    /// Number of threads per block.
    block: BlockSize,
}

impl CudaNorm {
    /// Creates the operation; modules are loaded at their first use.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self { kernels: ByFormat::new(gpu, SPECS, NormKernels::load_as), block: BlockSize::Automatic }
    }

    /// Sets the number of threads per block.
    #[must_use]
    pub fn with_block(self, block: BlockSize) -> Self {
        Self { block, ..self }
    }

    /// Computes `y = norm(x)`; also writes the statistics of each row, `[rows, 2]`.
    pub fn forward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Norm,
        x: &Slice<T>,
        weight: &Slice<T>,
        bias: Option<&Slice<T>>,
        y: &mut Slice<T>,
        stats: &mut Slice<f32>,
    ) -> Result<(), GpuError> {
        op.check(x.len(), y.len(), weight.len(), bias.map(|b| b.len()), stats.len())?;
        self.launch_forward(pass, op, (x, None, None), weight, bias, y, stats)
    }

    /// Computes `sum = x + residual`, `y = norm(sum)`, in one pass. The norm is that of the rounded sum.
    pub fn add_forward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Norm,
        (x, residual): (&Slice<T>, &Slice<T>),
        weight: &Slice<T>,
        bias: Option<&Slice<T>>,
        sum: &mut Slice<T>,
        y: &mut Slice<T>,
        stats: &mut Slice<f32>,
    ) -> Result<(), GpuError> {
        op.check(x.len(), y.len(), weight.len(), bias.map(|b| b.len()), stats.len())?;
        op.check(residual.len(), sum.len(), weight.len(), None, stats.len())?;
        self.launch_forward(pass, op, (x, Some(residual), Some(sum)), weight, bias, y, stats)
    }

    fn launch_forward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Norm,
        (x, residual, sum): (&Slice<T>, Option<&Slice<T>>, Option<&mut Slice<T>>),
        weight: &Slice<T>,
        bias: Option<&Slice<T>>,
        y: &mut Slice<T>,
        stats: &mut Slice<f32>,
    ) -> Result<(), GpuError> {
        if x.is_empty() {
            return Ok(());
        }
        let kernels = self.kernels.of::<T>()?;
        let n_bytes = (if residual.is_some() { 4 } else { 2 }) * x.bytes() + stats.bytes();
        let (x, residual, weight, bias) = (Any::from(x), Any::or_none(residual), Any::from(weight), Any::or_none(bias));
        let (sum, y) = (sum.map_or(AnyMut::none(), AnyMut::from), AnyMut::from(y));
        let is_aligned = [x, residual, weight, bias].iter().all(|a| a.is_aligned_to(16))
            && [&sum, &y].iter().all(|a| a.is_aligned_to(16));
        let a = args::<T>(op, is_aligned);
        let grid = kernels.norm_forward.grid_of_rows(op.rows as u64, packs::<T>(op.columns), KEPT_PACKS, self.block)?;
        NormForward { a, x, residual, weight, bias, sum, y, stats }.launch(kernels, pass, grid)?;
        pass.last_work(a.rows, n_bytes, 0);
        Ok(())
    }

    /// Returns the temporaries of [`CudaNorm::backward`], as number of elements and bytes per element: see
    /// [`Arena::bytes_of`](crate::gpu::Arena::bytes_of).
    pub fn temporaries(op: &Norm) -> [(usize, usize); 2] {
        let n_parts = parts(op.rows).1.max(parts_of_narrow(op.rows).1);
        [(op.rows, 4), (n_parts * 2 * op.columns, 4)]
    }

    /// Adds the gradients of input, weight and bias to `dx`, `dweight` and `dbias`.
    pub fn backward<T: Storage>(
        &self,
        pass: &mut Pass,
        op: &Norm,
        dy: &Slice<T>,
        x: &Slice<T>,
        weight: &Slice<T>,
        stats: &Slice<f32>,
        dx: &mut Slice<T>,
        dweight: &mut Slice<f32>,
        dbias: Option<&mut Slice<f32>>,
        frame: &Frame<'_>,
    ) -> Result<(), GpuError> {
        op.check(x.len(), dy.len(), weight.len(), dbias.as_ref().map(|b| b.len()), stats.len())?;
        op.check(dx.len(), dy.len(), dweight.len(), None, stats.len())?;
        if x.is_empty() {
            return Ok(());
        }
        let kernels = self.kernels.of::<T>()?;
        let inner = frame.frame();
        let is_narrow = packs::<T>(op.columns) <= 32 * NARROW.0;
        let (rows_per_part, n_parts) = if is_narrow { parts_of_narrow(op.rows) } else { parts(op.rows) };
        let n_bytes = x.bytes();
        let mut partials = inner.take::<f32>("partial sums of a norm", n_parts * 2 * op.columns)?;
        let (dy, x, weight, dx) = (Any::from(dy), Any::from(x), Any::from(weight), AnyMut::from(dx));
        let is_aligned = [dy, x, weight].iter().all(|a| a.is_aligned_to(16)) && dx.is_aligned_to(16);
        let a = NormArgs { rows_per_part: rows_per_part as u32, ..args::<T>(op, is_aligned) };
        if is_narrow {
            let grid = Grid::Blocks { blocks: [n_parts as u32, 1, 1], threads: [32, NARROW.1, 1], shared_bytes: 0 };
            NormBackwardNarrow { a, dy, x, weight, stats, dx, partials: &mut partials }.launch(kernels, pass, grid)?;
            pass.last_work(a.rows, 4 * n_bytes, 0);
        } else {
            let mut shifts = inner.take::<f32>("remainders of means", op.rows)?;
            let grid =
                kernels.norm_backward.grid_of_rows(op.rows as u64, packs::<T>(op.columns), KEPT_PACKS, self.block)?;
            NormBackward { a, dy, x, weight, stats, dx, shifts: &mut shifts }.launch(kernels, pass, grid)?;
            pass.last_work(a.rows, 4 * n_bytes, 0);
            let blocks = [op.columns.div_ceil(128) as u32, n_parts as u32, 1];
            let grid = Grid::Blocks { blocks, threads: [32, 8, 1], shared_bytes: 0 };
            NormParameters { a, dy, x, stats, shifts: &shifts, partials: &mut partials }.launch(kernels, pass, grid)?;
            pass.last_work(a.rows, 2 * n_bytes, 0);
        }
        let dbias = dbias.map_or(AnyMut::none(), AnyMut::from);
        let blocks = [op.columns.div_ceil(32) as u32, 2, 1];
        let grid = Grid::Blocks { blocks, threads: [32, 16, 1], shared_bytes: 0 };
        AddNormPartials { columns: op.columns as u32, n_parts: n_parts as u32, partials: &partials, dweight, dbias }
            .launch(kernels, pass, grid)
    }
}

fn args<T: Storage>(op: &Norm, is_aligned: bool) -> NormArgs {
    NormArgs {
        rows: op.rows as u64,
        columns: op.columns as u32,
        rows_per_part: 0,
        eps: op.eps as f32,
        is_rms: (op.kind == NormKind::Rms).into(),
        is_aligned: (is_aligned && op.columns.is_multiple_of(pack::<T>())).into(),
        pad: 0,
    }
}
