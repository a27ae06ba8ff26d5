//! Operations on tensors.

mod attention;
mod cuda_gemm;
mod cuda_optimizer;
mod golden_embedding;
mod golden_files;
mod golden_transformer;
mod optimizer;
