//! Errors of the operations of a pass.

use crate::{
    gpu::GpuError,
    nn::{
        attention::cuda::CudaAttentionError, cross_entropy::cuda::CudaCrossEntropyError,
        embedding::cuda::CudaEmbeddingError, gemm::cuda::CudaGemmError, lengths::LengthError,
        rope::cuda::CudaRopeError,
    },
    sim::SimError,
};

/// Reason why a pass failed.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// The driver or the device failed.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// An operation rejected its sizes or its backend.
    #[error("the model cannot compute this batch: {0}")]
    Refused(String),
}

impl OpError {
    /// Creates the error for a weight that does not have two dimensions.
    pub fn no_matrix() -> Self {
        Self::Refused("a weight is no matrix".to_owned())
    }

    /// Converts the error to a [`GpuError`]. The message of a rejection is stored in `refused`.
    pub fn into_gpu(self, doing: &str, refused: &mut Option<String>) -> GpuError {
        match self {
            Self::Gpu(error) => error,
            Self::Refused(why) => {
                *refused = Some(why.clone());
                GpuError::Driver { doing: doing.to_owned(), why }
            }
        }
    }
}

impl From<OpError> for SimError {
    fn from(error: OpError) -> Self {
        match error {
            OpError::Gpu(error) => error.into(),
            OpError::Refused(_) => Self::Input(error.to_string()),
        }
    }
}

macro_rules! refusals {
    ($($Error:ident),*) => { $(
        impl From<$Error> for OpError {
            fn from(error: $Error) -> Self {
                match error {
                    $Error::Gpu(error) => Self::Gpu(error),
                    other => Self::Refused(other.to_string()),
                }
            }
        }
    )* };
}
refusals!(CudaGemmError, CudaAttentionError, CudaEmbeddingError, CudaRopeError, CudaCrossEntropyError);

impl From<LengthError> for OpError {
    fn from(error: LengthError) -> Self {
        Self::Refused(error.to_string())
    }
}
