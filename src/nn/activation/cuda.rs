//! Activation functions on a GPU: computed in f32, rounded to the format.

use super::Activation;
use crate::{
    device_constants, device_struct,
    gpu::{
        Any, AnyMut, BlockSize, Gpu, GpuError, ModuleSpec, Pass, Slice,
        compile::Compile,
        kernel::{InAny, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    nn::{
        by_format::ByFormat,
        storage::{Storage, pack},
    },
};
use std::sync::Arc;

const GELU_TANH: u32 = Activation::GeluTanh as u32;
const GELU_ERF: u32 = Activation::GeluErf as u32;
const RELU: u32 = Activation::Relu as u32;
const RELU_SQUARED: u32 = Activation::ReluSquared as u32;

const CONSTANTS: &[Constant] = device_constants![GELU_TANH, GELU_ERF, RELU, RELU_SQUARED];

device_struct! {
    /// An activation function of rows.
    pub struct ActivationArgs {
        /// Rows of the output
        rows: u64,
        /// Columns of the output
        columns: u64,
        /// Number of the function, as in Activation
        function: u32,
        /// Whether packs of 16 bytes are aligned
        is_aligned: u32,
    }
}

kernels! {
    /// Activation functions, by type of the elements.
    pub struct ActivationKernels in "nn/activation.cu"
        for "f32" ["-DELEMENT=float"], also "f16" ["-DELEMENT=f16"] as F16, also "bf16" ["-DELEMENT=bf16"] as BF16
        compiled (Compile::FUSED.on(Compile::NARROWS)) using [ActivationArgs] with [CONSTANTS]
    {
        /// A thread per 16 bytes of the output. Items: elements of it.
        #[block(1024)]
        fn activation_forward as ActivationForward(a: Size<ActivationArgs>, x: InAny, y: InOutAny);

        /// A thread per 16 bytes of the gradient of the output. Items: elements of it.
        #[block(512, 3)]
        fn activation_backward as ActivationBackward(a: Size<ActivationArgs>, x: InAny, dy: InAny, dx: InOutAny);
    }
}

const SPECS: [ModuleSpec; 3] = [ActivationKernels::SPEC, ActivationKernels::F16, ActivationKernels::BF16];
/// Kernel modules of activation functions, one per storage format.
pub const MODULES: &[ModuleSpec] = &SPECS;

/// Launches activation functions on one device.
pub struct CudaActivation {
    kernels: ByFormat<ActivationKernels>,
    /// Number of threads per block.
    block: BlockSize,
}

impl CudaActivation {
    /// Creates the operation; modules are loaded at their first use.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self { kernels: ByFormat::new(gpu, SPECS, ActivationKernels::load_as), block: BlockSize::Automatic }
    }

    /// Sets the number of threads per block.
    #[must_use]
    pub fn with_block(self, block: BlockSize) -> Self {
        Self { block, ..self }
    }

    /// Computes `y = act(x)`; `x` is `[rows, columns]`, or `[rows, 2 columns]` for SwiGLU.
    pub fn forward<T: Storage>(
        &self,
        pass: &mut Pass,
        act: Activation,
        rows: usize,
        columns: usize,
        x: &Slice<T>,
        y: &mut Slice<T>,
    ) -> Result<(), GpuError> {
        act.check(rows, columns, x.len(), y.len())?;
        if y.is_empty() {
            return Ok(());
        }
        let kernels = self.kernels.of::<T>()?;
        let (x, y) = (Any::from(x), AnyMut::from(y));
        let a = args::<T>(act, rows, columns, x.is_aligned_to(16) && y.is_aligned_to(16));
        let grid = kernels.activation_forward.grid_of_items(n_packs::<T>(rows, columns), self.block)?;
        ActivationForward { a, x, y }.launch(kernels, pass, grid)?;
        let n = (rows * columns) as u64;
        pass.last_work(n, n * (1 + act.inputs() as u64) * size_of::<T>() as u64, 0);
        Ok(())
    }

    /// Computes `dx = dy · act'(x)`; overwrites `dx`.
    pub fn backward<T: Storage>(
        &self,
        pass: &mut Pass,
        act: Activation,
        rows: usize,
        columns: usize,
        x: &Slice<T>,
        dy: &Slice<T>,
        dx: &mut Slice<T>,
    ) -> Result<(), GpuError> {
        act.check(rows, columns, x.len(), dy.len())?;
        act.check(rows, columns, dx.len(), dy.len())?;
        if dy.is_empty() {
            return Ok(());
        }
        let kernels = self.kernels.of::<T>()?;
        let (x, dy, dx) = (Any::from(x), Any::from(dy), AnyMut::from(dx));
        let is_aligned = [x, dy].iter().all(|a| a.is_aligned_to(16)) && dx.is_aligned_to(16);
        let a = args::<T>(act, rows, columns, is_aligned);
        let grid = kernels.activation_backward.grid_of_items(n_packs::<T>(rows, columns), self.block)?;
        ActivationBackward { a, x, dy, dx }.launch(kernels, pass, grid)?;
        let n = (rows * columns) as u64;
        pass.last_work(n, n * (1 + 2 * act.inputs() as u64) * size_of::<T>() as u64, 0);
        Ok(())
    }
}

/// Returns the number of 16-byte packs in the output; no pack spans two rows.
fn n_packs<T>(rows: usize, columns: usize) -> u64 {
    rows as u64 * columns.div_ceil(pack::<T>()) as u64
}

fn args<T: Storage>(act: Activation, rows: usize, columns: usize, is_aligned: bool) -> ActivationArgs {
    // SwiGLU reads from the middle of its rows, which must be aligned too.
    let is_aligned = is_aligned && (act != Activation::SwiGlu || columns.is_multiple_of(pack::<T>()));
    let (rows, columns) = (rows as u64, columns as u64);
    ActivationArgs { rows, columns, function: act as u32, is_aligned: is_aligned.into() }
}
