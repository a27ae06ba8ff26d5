//! Operations on whole buffers on a GPU. Sums are in f32, in two stages of a fixed shape: they have the same bits every time.

use super::{BLOCK, LogBins};
use crate::{
    device_constants,
    gpu::{
        Any, AnyMut, BlockSize, Frame, Gpu, GpuError, Grid, ModuleSpec, Pass, Slice,
        compile::Compile,
        kernel::{In, InAny, InOut, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    nn::{
        by_format::ByFormat,
        lengths,
        storage::{Storage, pack, packs, parts},
    },
};
use std::sync::Arc;

const CONSTANTS: &[Constant] = device_constants![BLOCK];

kernels! {
    /// Operations on whole buffers, by type of the elements.
    pub struct ElementwiseKernels in "nn/elementwise.cu"
        for "f32" ["-DELEMENT=float"], also "f16" ["-DELEMENT=f16"] as F16, also "bf16" ["-DELEMENT=bf16"] as BF16
        compiled (Compile::FUSED.on(Compile::NARROWS)) with [CONSTANTS]
    {
        /// A thread per 16 bytes: adds a buffer. Items: elements.
        #[block(1024)]
        fn add_elements as AddElements(n: Size<u64>, is_aligned: Size<u32>, y: InAny, x: InOutAny);

        /// A thread per 16 bytes: multiplies by a number in device memory. Items: elements.
        #[block(1024)]
        fn scale_elements as ScaleElements(n: Size<u64>, is_aligned: Size<u32>, factor: In<f32>, x: InOutAny);

        /// A thread per 16 bytes: sets all elements. Items: elements.
        #[block(1024)]
        fn fill_elements as FillElements(n: Size<u64>, is_aligned: Size<u32>, value: Size<f32>, x: InOutAny);

        /// A thread per 16 bytes of the result: rounds f32. Items: elements.
        #[block(1024)]
        fn round_elements as RoundElements(n: Size<u64>, is_aligned: Size<u32>, from: In<f32>, to: InOutAny);

        /// A thread per 16 bytes of the input: converts to f32. Items: elements.
        #[block(1024)]
        fn widen_elements as WidenElements(n: Size<u64>, is_aligned: Size<u32>, from: InAny, to: InOut<f32>);

        /// A block per 32 accesses of 16 bytes of a row and a part of the rows: sums of columns. Items: elements.
        #[block(256)]
        fn sum_columns as SumColumns(
            rows: Size<u64>, columns: Size<u32>, is_aligned: Size<u32>, rows_per_part: Size<u32>, x: InAny,
            partials: InOut<f32>
        );

        /// A thread per column: adds the parts, in ascending order.
        #[block(256)]
        fn add_partials as AddPartials(columns: Size<u32>, n_parts: Size<u32>, partials: In<f32>, out: InOut<f32>);

        /// A block per 16,384 elements: the sum of their squares. Items: elements.
        #[block(256)]
        fn sum_of_squares as SumOfSquares(n: Size<u64>, is_aligned: Size<u32>, x: InAny, partials: InOut<f32>);

        /// One block: the sum of partial sums.
        #[block(256)]
        fn sum_partials as SumPartials(n: Size<u32>, partials: In<f32>, out: InOut<f32>);

        /// A thread per 16 bytes: raises a flag where an element is infinite or NaN. Items: elements.
        #[block(1024)]
        fn find_non_finite as FindNonFinite(n: Size<u64>, is_aligned: Size<u32>, x: InAny, flag: InOut<u32>);

        /// A thread per 16 bytes: counts elements per bin. Items: elements.
        #[block(1024)]
        fn count_elements as CountElements(
            n: Size<u64>, is_aligned: Size<u32>, first: Size<u32>, n_bins: Size<u32>, x: InAny, counts: InOut<u32>
        );
    }
}

const SPECS: [ModuleSpec; 3] = [ElementwiseKernels::SPEC, ElementwiseKernels::F16, ElementwiseKernels::BF16];
/// Kernel modules of operations on whole buffers, one per storage format.
pub const MODULES: &[ModuleSpec] = &SPECS;

/// Launches operations on whole buffers of one device.
pub struct CudaElementwise {
    kernels: ByFormat<ElementwiseKernels>,
    /// Number of threads per block, for kernels that allow any.
    block: BlockSize,
}

/// Whether all buffers are aligned to 16 bytes (0 or 1), as an argument of kernels.
fn aligned(inputs: &[Any<'_>], output: &AnyMut<'_>) -> u32 {
    (inputs.iter().all(|a| a.is_aligned_to(16)) && output.is_aligned_to(16)).into()
}

impl CudaElementwise {
    /// Creates the operation; modules are loaded at their first use.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self { kernels: ByFormat::new(gpu, SPECS, ElementwiseKernels::load_as), block: BlockSize::Automatic }
    }

    /// Sets the number of threads per block.
    #[must_use]
    pub fn with_block(self, block: BlockSize) -> Self {
        Self { block, ..self }
    }

    /// Adds elements: `x += y`.
    pub fn add<T: Storage>(&self, pass: &mut Pass, x: &mut Slice<T>, y: &Slice<T>) -> Result<(), GpuError> {
        lengths::check([("the addend", &[x.len()], y.len())])?;
        self.each::<T>(pass, x.len(), 3 * x.bytes(), |kernels, pass, n, block| {
            let (y, x) = (Any::from(y), AnyMut::from(x));
            let grid = kernels.add_elements.grid_of_items(n.div_ceil(pack::<T>() as u64), block)?;
            AddElements { n, is_aligned: aligned(&[y], &x), y, x }.launch(kernels, pass, grid)
        })
    }

    /// Computes `x *= factor[0]`; the factor is read from device memory.
    pub fn scale<T: Storage>(&self, pass: &mut Pass, x: &mut Slice<T>, factor: &Slice<f32>) -> Result<(), GpuError> {
        lengths::check([("the factor", &[1], factor.len())])?;
        self.each::<T>(pass, x.len(), 2 * x.bytes(), |kernels, pass, n, block| {
            let x = AnyMut::from(x);
            let grid = kernels.scale_elements.grid_of_items(n.div_ceil(pack::<T>() as u64), block)?;
            ScaleElements { n, is_aligned: aligned(&[], &x), factor, x }.launch(kernels, pass, grid)
        })
    }

    /// Sets all elements to `value`.
    pub fn fill<T: Storage>(&self, pass: &mut Pass, x: &mut Slice<T>, value: f32) -> Result<(), GpuError> {
        self.each::<T>(pass, x.len(), x.bytes(), |kernels, pass, n, block| {
            let x = AnyMut::from(x);
            let grid = kernels.fill_elements.grid_of_items(n.div_ceil(pack::<T>() as u64), block)?;
            FillElements { n, is_aligned: aligned(&[], &x), value, x }.launch(kernels, pass, grid)
        })
    }

    /// Rounds f32 to another storage format, to nearest, ties to even.
    pub fn round<T: Storage>(&self, pass: &mut Pass, from: &Slice<f32>, to: &mut Slice<T>) -> Result<(), GpuError> {
        lengths::check([("the target of a conversion", &[from.len()], to.len())])?;
        self.each::<T>(pass, to.len(), from.bytes() + to.bytes(), |kernels, pass, n, block| {
            let to = AnyMut::from(to);
            let grid = kernels.round_elements.grid_of_items(n.div_ceil(pack::<T>() as u64), block)?;
            RoundElements { n, is_aligned: aligned(&[from.into()], &to), from, to }.launch(kernels, pass, grid)
        })
    }

    /// Converts to f32 without rounding.
    pub fn widen<T: Storage>(&self, pass: &mut Pass, from: &Slice<T>, to: &mut Slice<f32>) -> Result<(), GpuError> {
        lengths::check([("the target of a conversion", &[from.len()], to.len())])?;
        self.each::<T>(pass, from.len(), from.bytes() + to.bytes(), |kernels, pass, n, block| {
            let is_aligned = aligned(&[from.into()], &AnyMut::from(&mut *to));
            let grid = kernels.widen_elements.grid_of_items(n.div_ceil(pack::<T>() as u64), block)?;
            WidenElements { n, is_aligned, from: from.into(), to }.launch(kernels, pass, grid)
        })
    }

    /// Launches a kernel unless there are no elements, and records its work.
    fn each<T: Storage>(
        &self,
        pass: &mut Pass,
        n: usize,
        n_bytes: u64,
        launch: impl FnOnce(&ElementwiseKernels, &mut Pass, u64, BlockSize) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        if n == 0 {
            return Ok(());
        }
        launch(self.kernels.of::<T>()?, pass, n as u64, self.block)?;
        pass.last_work(n as u64, n_bytes, 0);
        Ok(())
    }

    /// Returns the temporaries of [`CudaElementwise::bias_gradient`], as number of elements and bytes per element.
    pub fn temporaries_of_bias_gradient(rows: usize, columns: usize) -> [(usize, usize); 1] {
        [(parts(rows).1 * columns, 4)]
    }

    /// Adds column sums: `dbias += Σ_rows dy`.
    pub fn bias_gradient<T: Storage>(
        &self,
        pass: &mut Pass,
        rows: usize,
        columns: usize,
        dy: &Slice<T>,
        dbias: &mut Slice<f32>,
        frame: &Frame<'_>,
    ) -> Result<(), GpuError> {
        lengths::check([
            ("the gradient of an output", &[rows, columns], dy.len()),
            ("the gradient of a bias", &[columns], dbias.len()),
        ])?;
        if dy.is_empty() {
            return Ok(());
        }
        let (per_part, n_parts) = parts(rows);
        let inner = frame.frame();
        let mut partials = inner.take::<f32>("partial sums of columns", n_parts * columns)?;
        let kernels = self.kernels.of::<T>()?;
        let blocks = [packs::<T>(columns).div_ceil(32) as u32, n_parts as u32, 1];
        let grid = Grid::Blocks { blocks, threads: [32, 8, 1], shared_bytes: 0 };
        let x = Any::from(dy);
        let is_aligned = (columns.is_multiple_of(pack::<T>()) && x.is_aligned_to(16)).into();
        let (rows, columns, rows_per_part) = (rows as u64, columns as u32, per_part as u32);
        SumColumns { rows, columns, is_aligned, rows_per_part, x, partials: &mut partials }
            .launch(kernels, pass, grid)?;
        pass.last_work(dy.len() as u64, dy.bytes() + partials.bytes(), 0);
        let n_parts = n_parts as u32;
        AddPartials { columns, n_parts, partials: &partials, out: dbias }.launch(kernels, pass, columns)
    }

    /// Returns the temporaries of [`CudaElementwise::sum_of_squares`], as number of elements and bytes per element.
    pub fn temporaries_of_sum_of_squares(n: usize) -> [(usize, usize); 1] {
        [(n.div_ceil(BLOCK), 4)]
    }

    /// Writes the sum of squares `Σ x²` to one element.
    pub fn sum_of_squares<T: Storage>(
        &self,
        pass: &mut Pass,
        x: &Slice<T>,
        out: &mut Slice<f32>,
        frame: &Frame<'_>,
    ) -> Result<(), GpuError> {
        lengths::check([("the sum of squares", &[1], out.len())])?;
        let kernels = self.kernels.of::<T>()?;
        let n_partials = x.len().div_ceil(BLOCK);
        let inner = frame.frame();
        let mut partials = inner.take::<f32>("sums of squares", n_partials)?;
        if n_partials > 0 {
            let (n, is_aligned) = (x.len() as u64, u32::from(Any::from(x).is_aligned_to(16)));
            let grid = Grid::Blocks { blocks: [n_partials as u32, 1, 1], threads: [256, 1, 1], shared_bytes: 0 };
            SumOfSquares { n, is_aligned, x: x.into(), partials: &mut partials }.launch(kernels, pass, grid)?;
            pass.last_work(n, x.bytes(), 2 * n);
        }
        SumPartials { n: n_partials as u32, partials: &partials, out }.launch(kernels, pass, 256)
    }

    /// Sets the flag to 1 if an element is infinite or NaN; otherwise leaves it.
    pub fn find_non_finite<T: Storage>(
        &self,
        pass: &mut Pass,
        x: &Slice<T>,
        flag: &mut Slice<u32>,
    ) -> Result<(), GpuError> {
        lengths::check([("the flag", &[1], flag.len())])?;
        self.each::<T>(pass, x.len(), x.bytes(), |kernels, pass, n, block| {
            let is_aligned = Any::from(x).is_aligned_to(16).into();
            let grid = kernels.find_non_finite.grid_of_items(n.div_ceil(pack::<T>() as u64), block)?;
            FindNonFinite { n, is_aligned, x: x.into(), flag }.launch(kernels, pass, grid)
        })
    }

    /// Adds the number of elements in each bin to `counts`.
    pub fn histogram<T: Storage>(
        &self,
        pass: &mut Pass,
        bins: LogBins,
        x: &Slice<T>,
        counts: &mut Slice<u32>,
    ) -> Result<(), GpuError> {
        lengths::check([("the counts of a histogram", &[bins.n_counts()], counts.len())])?;
        self.each::<T>(pass, x.len(), x.bytes(), |kernels, pass, n, block| {
            let is_aligned = Any::from(x).is_aligned_to(16).into();
            let grid = kernels.count_elements.grid_of_turns(n.div_ceil(pack::<T>() as u64), block)?;
            let shared_bytes = bins.n_counts() as u32 * size_of::<u32>() as u32;
            let (first, n_bins) = (bins.first(), bins.n_bins());
            CountElements { n, is_aligned, first, n_bins, x: x.into(), counts }.launch(
                kernels,
                pass,
                grid.with_shared(shared_bytes),
            )
        })
    }
}
