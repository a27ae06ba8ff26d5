//! NVIDIA's libraries, found when the program runs. None is needed: what uses one works without it.
//!
//! A library is looked for by soname, newest first: in `NEUROPIL_CUDA_LIBS` (folders or files, separated like `PATH`),
//! in toolkits (`CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, `/opt/cuda`), in the wheels of Python environments
//! (`VIRTUAL_ENV`, `CONDA_PREFIX`, those of every `python3` on the `PATH`), in the system's folders, and last by the
//! loader's own search.

mod cublaslt;
mod find;
mod loaded;
mod matmul;

pub use cublaslt::{CUBLASLT, CublasLt, WORKSPACE};
pub use find::{Found, Wanted};
pub use matmul::{Fused, Matmul, Matrix, Scalar};

use super::GpuError;

/// Folders or files to look in first.
pub const VARIABLE: &str = "NEUROPIL_CUDA_LIBS";

/// Why a library is not used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LibraryError {
    /// It is nowhere.
    #[error(
        "{0} was not found, own kernels are used instead; install the CUDA toolkit or `pip install nvidia-cublas`, or name its folder in NEUROPIL_CUDA_LIBS"
    )]
    NotFound(&'static str),
    /// It is there and cannot be used.
    #[error("{library} cannot be used ({why}); own kernels are used instead")]
    Unusable {
        /// Its path.
        library: String,
        /// The loader's message, or what it lacks.
        why: String,
    },
    /// It has no algorithm for this.
    #[error("the library has no algorithm for these sizes, layouts and types")]
    Unsupported,
    /// A call failed that may succeed another time: nothing else may take its place, as its results have other bits.
    #[error("{call}: status {status}")]
    Call {
        /// Function.
        call: &'static str,
        /// What it returned.
        status: i32,
    },
    /// The device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}
