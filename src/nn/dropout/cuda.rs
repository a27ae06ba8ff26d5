//! Dropout on a GPU: seed, step and probability are read from device memory.

use super::Dropout;
use crate::{
    device_constants, device_struct,
    gpu::{
        Any, AnyMut, BlockSize, Gpu, GpuError, ModuleSpec, Pass, Slice,
        compile::Compile,
        kernel::{In, InAny, InOutAny, Size},
        layout::Constant,
    },
    kernels,
    nn::{
        attention::AttentionDropout,
        by_format::ByFormat,
        storage::{Storage, pack},
    },
    num::rng::Purpose,
};
use std::sync::Arc;

const DROPOUT: u32 = Purpose::Dropout as u32;
/// Constants that kernels with dropout include.
pub const CONSTANTS: &[Constant] = device_constants![DROPOUT];

device_struct! {
    /// Values that all dropout places of a network share in a step.
    pub struct DropoutStep {
        /// Seed of the project: part of the address of every draw
        seed: u64,
        /// Step of the draws
        step: u64,
        /// Index of the first element
        offset: u64,
        /// Elements whose random word is at least this are kept
        threshold: u64,
        /// Factor of kept elements
        factor: f32,
        /// Padding to eight bytes
        pad: u32,
    }
}

kernels! {
    /// Dropout, by type of the elements.
    pub struct DropoutKernels in "nn/dropout.cu"
        for "f32" ["-DELEMENT=float"], also "f16" ["-DELEMENT=f16"] as F16, also "bf16" ["-DELEMENT=bf16"] as BF16
        compiled (Compile::FUSED.on(Compile::NARROWS)) using [DropoutStep] with [CONSTANTS]
    {
        /// A thread per 16 bytes: drops elements and scales the others. Items: elements.
        #[block(1024)]
        fn drop_elements as DropElements(
            n: Size<u64>, site: Size<u32>, is_aligned: Size<u32>, step: In<DropoutStep>, x: InOutAny
        );

        /// A thread per 16 bytes: drops and scales elements, and writes their sums with a residual to another tensor.
        /// Items: elements.
        #[block(1024)]
        fn add_dropped as AddDropped(
            n: Size<u64>, site: Size<u32>, is_aligned: Size<u32>, step: In<DropoutStep>, x: InAny, residual: InAny,
            y: InOutAny
        );
    }
}

const SPECS: [ModuleSpec; 3] = [DropoutKernels::SPEC, DropoutKernels::F16, DropoutKernels::BF16];
/// Kernel modules of dropout, one per storage format.
pub const MODULES: &[ModuleSpec] = &SPECS;

impl DropoutStep {
    /// Converts the dropout of attention probabilities; without site and number of keys.
    pub fn of_attention(of: &AttentionDropout) -> Self {
        Self::new(&Dropout { offset: of.first_token, ..of.drop }, of.step)
    }

    /// Converts the dropout of a step; without its site.
    pub fn new(op: &Dropout, step: u64) -> Self {
        Self { seed: op.seed, step, offset: op.offset, threshold: op.threshold(), factor: op.factor(), pad: 0 }
    }
}

/// Launches dropout on one device.
pub struct CudaDropout {
    kernels: ByFormat<DropoutKernels>,
    /// Number of threads per block.
    block: BlockSize,
}

impl CudaDropout {
    /// Creates the operation; modules are loaded at their first use.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self { kernels: ByFormat::new(gpu, SPECS, DropoutKernels::load_as), block: BlockSize::Automatic }
    }

    /// Sets the number of threads per block.
    #[must_use]
    pub fn with_block(self, block: BlockSize) -> Self {
        Self { block, ..self }
    }

    /// Drops elements of `x` at a site ([`Dropout::layer_site`]), in place. `step` holds one element.
    pub fn forward<T: Storage>(
        &self,
        pass: &mut Pass,
        layer_site: u32,
        step: &Slice<DropoutStep>,
        x: &mut Slice<T>,
    ) -> Result<(), GpuError> {
        if step.is_empty() {
            return Err(GpuError::Length { what: "the step of dropout", device: 0, host: 1 });
        }
        if x.is_empty() {
            return Ok(());
        }
        let kernels = self.kernels.of::<T>()?;
        let (n, x) = (x.len() as u64, AnyMut::from(x));
        let is_aligned = x.is_aligned_to(16).into();
        let grid = kernels.drop_elements.grid_of_items(n.div_ceil(pack::<T>() as u64), self.block)?;
        DropElements { n, site: layer_site, is_aligned, step, x }.launch(kernels, pass, grid)?;
        pass.last_work(n, 2 * n * size_of::<T>() as u64, 0);
        Ok(())
    }

    /// Computes `y = residual + drop(x)`, or `y = drop(x)`, in one pass over memory; bitwise equal to [`CudaDropout::forward`]
    /// and a sum.
    pub fn add<T: Storage>(
        &self,
        pass: &mut Pass,
        layer_site: u32,
        step: &Slice<DropoutStep>,
        (x, residual): (&Slice<T>, Option<&Slice<T>>),
        y: &mut Slice<T>,
    ) -> Result<(), GpuError> {
        let given = residual.map_or(x.len(), |residual| residual.len().min(x.len()));
        if step.is_empty() || given < y.len() {
            return Err(GpuError::Length { what: "the input of dropout", device: given, host: y.len() });
        }
        if y.is_empty() {
            return Ok(());
        }
        let kernels = self.kernels.of::<T>()?;
        let n = y.len() as u64;
        let (x, residual, y) = (Any::from(x), residual.map_or(Any::NONE, Any::from), AnyMut::from(y));
        let is_aligned = (x.is_aligned_to(16) && residual.is_aligned_to(16) && y.is_aligned_to(16)).into();
        let grid = kernels.add_dropped.grid_of_items(n.div_ceil(pack::<T>() as u64), self.block)?;
        AddDropped { n, site: layer_site, is_aligned, step, x, residual, y }.launch(kernels, pass, grid)?;
        pass.last_work(n, 3 * n * size_of::<T>() as u64, 0);
        Ok(())
    }

    /// Applies the mask and factor of [`CudaDropout::forward`] to the gradient of the output.
    pub fn backward<T: Storage>(
        &self,
        pass: &mut Pass,
        layer_site: u32,
        step: &Slice<DropoutStep>,
        gradient: &mut Slice<T>,
    ) -> Result<(), GpuError> {
        self.forward(pass, layer_site, step, gradient)
    }
}
