//! Operations on tensors.

mod cuda_gemm;
mod golden_embedding;
mod golden_files;
mod golden_transformer;
