//! Operations on tensors.

mod activation;
pub mod attention;
mod cuda_attention;
mod cuda_attention_tolerances;
mod cuda_blocks;
mod cuda_embedding;
mod cuda_every_operation;
mod cuda_gemm;
mod cuda_gemm_bytes;
mod cuda_gemm_groups;
mod cuda_gemm_packed;
mod cuda_golden;
pub mod cuda_optimizer;
mod cuda_rows;
mod golden_embedding;
pub mod golden_files;
mod golden_transformer;
mod norm;
mod optimizer;
mod softmax;
