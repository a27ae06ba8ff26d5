//! NVIDIA's libraries, loaded at run time. All are optional: the program's own kernels replace a missing library.
//!
//! A library is searched by soname, newest first: in `NEUROPIL_CUDA_LIBS` (folders or files, separated like `PATH`), in
//! toolkits (`CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, `/opt/cuda`), in the wheels of Python environments (`VIRTUAL_ENV`,
//! `CONDA_PREFIX`, the environment of every `python3` on the `PATH`), in system folders, and last by the search of the loader.

mod cublaslt;
mod find;
mod loaded;
mod matmul;

pub use cublaslt::{CUBLASLT, CublasLt, WORKSPACE};
pub use find::{Found, Wanted};
pub use matmul::{Fused, Matmul, Matrix, Scalar};

use super::GpuError;

/// Environment variable with folders or files that are searched first.
pub const VARIABLE: &str = "NEUROPIL_CUDA_LIBS";

/// Reasons why a library is not used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LibraryError {
    /// The library was not found.
    #[error(
        "{0} was not found, own kernels are used instead; install the CUDA toolkit or `pip install nvidia-cublas`, or name its folder in NEUROPIL_CUDA_LIBS"
    )]
    NotFound(&'static str),
    /// The library was found and cannot be used.
    #[error("{library} cannot be used ({why}); own kernels are used instead")]
    Unusable {
        /// Path of the library.
        library: String,
        /// Message of the loader, or the missing function.
        why: String,
    },
    /// The library has no algorithm for this multiplication.
    #[error("the library has no algorithm for these sizes, layouts and types")]
    Unsupported,
    /// A call failed that may succeed another time. The program's own kernels must not replace it, because their results have
    /// other bits.
    #[error("{call}: status {status}")]
    Call {
        /// Name of the function.
        call: &'static str,
        /// Status that the function returned.
        status: i32,
    },
    /// Error of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}
