//! Operations on tensors.

mod cuda_gemm;
mod golden_transformer;
