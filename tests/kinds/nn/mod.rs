//! Operations on tensors.

mod activation;
mod attention;
<<<<<<< HEAD
mod cuda_embedding;
mod cuda_every_operation;
=======
mod cuda_attention;
>>>>>>> fa060a8 (nn/attention: CUDA tests; kernels compiled)
mod cuda_gemm;
mod cuda_optimizer;
mod golden_embedding;
pub mod golden_files;
mod golden_transformer;
mod norm;
mod optimizer;
mod softmax;
