//! One declaration per kernel.

/// What the program knows about a kernel without a GPU in sight.
#[derive(Clone, Copy, Debug)]
pub struct KernelSpec {
    /// `__global__` name, timing row, NVTX range.
    pub name: &'static str,
    /// Doc comment: the row's tooltip.
    pub docs: &'static str,
    /// Threads per block.
    pub block: u32,
    /// The prototype `gen/<module>.cuh` declares.
    pub prototype: fn() -> String,
}

/// A `.cu` file and the kernels it must define.
#[derive(Clone, Copy, Debug)]
pub struct ModuleSpec {
    /// File under `kernels/`.
    pub file: &'static str,
    /// Its kernels, in launch order.
    pub kernels: &'static [KernelSpec],
}
