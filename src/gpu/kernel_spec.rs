//! Kernel declarations, and the resources of compiled kernels.

use super::ModuleId;

/// Declaration of a kernel, available without a GPU.
#[derive(Clone, Copy, Debug)]
pub struct KernelSpec {
    /// Name of the `__global__` function, of the row in the timing table and of the NVTX range.
    pub name: &'static str,
    /// Doc comment of the declaration, shown as the tooltip of the row.
    pub docs: &'static str,
    /// Threads per block in the declaration; a launch has at most this number.
    pub block: u32,
    /// Returns the prototype in `gen/<module>.cuh`.
    pub prototype: fn() -> String,
}

/// Registers, memory and occupancy of a compiled kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFacts {
    /// Path of the file under `kernels/`.
    pub file: &'static str,
    /// Name of the module among those compiled from the file; see [`ModuleSpec::variant`](super::ModuleSpec::variant).
    pub variant: &'static str,
    /// Name of the `__global__` function.
    pub name: &'static str,
    /// Threads per block in the declaration.
    pub block: u32,
    /// Registers that one thread uses.
    pub registers: u32,
    /// Static shared memory per block, bytes.
    pub shared_bytes: u32,
    /// Local memory per thread in bytes; more than 0 means that registers spilled.
    pub local_bytes: u32,
    /// Number of blocks that are resident on one multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Share of a multiprocessor's thread slots that resident blocks fill, 0 to 1.
    pub occupancy: f32,
}

impl KernelFacts {
    /// Returns the id of the kernel's module.
    pub const fn module(&self) -> ModuleId {
        ModuleId { file: self.file, variant: self.variant }
    }
}
