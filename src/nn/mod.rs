//! Building blocks of layered networks: operations on tensors, forward and backward, on the CPU and with CUDA.
//!
//! # One folder per operation
//!
//! - `mod.rs` declares the operation: sizes, layouts, options, errors. It runs nothing.
//! - `cpu` is the definition: generic over f32 and f64, with a stated order of summation and the same bits for any number of
//!   threads and on any processor.
//! - `cuda` is the fast implementation, with kernels under `kernels/nn/`. A library of NVIDIA, if there is one, is an
//!   additional backend of the same declaration; it is found at run time and never required.
//! - Tests are written once against the declaration and run on every backend that is present.
//!
//! | operation | |
//! | --- | --- |
//! | [`gemm`] | matrix multiplication with alpha, beta, batches and epilogues |
//! | [`norm`] | LayerNorm and RMSNorm |
//! | [`activation`] | GELU, ReLU, squared ReLU, SwiGLU |
//! | [`elementwise`] | sums, scaling, conversion, gradients of biases, sums of squares, histograms |
//! | [`dropout`] | dropout whose mask is a function of the address |
//! | [`softmax`] | softmax with scale and mask |
//! | [`attention`] | scaled dot-product attention: naive and in tiles (flash) |
//! | [`embedding`] | tokens and positions |
//! | [`rope`] | rotary positions |
//! | [`cross_entropy`] | loss and gradient of logits |
//! | [`optimizer`] | AdamW, Muon, gradient norm, loss scale |
//! | [`sampling`] | drawing a token from logits |
//! | [`delta_rule`] | linear attention whose state is corrected at every step; forward only |
//! | [`quantized`] | norms, residual additions and activations with 8-bit integer results; forward only |
//!
//! [`layers`] declares the operations as traits over the tensors of a backend; the passes of a model are written in terms of
//! these.
//!
//! # No automatic differentiation
//!
//! The backward pass of each operation is written out next to the forward pass, with the formula in the comment. The gradients
//! of a matrix multiplication are two matrix multiplications: `dA = dC Bᵀ` and `dB = Aᵀ dC`.
//!
//! # Parameters
//!
//! The weights of a model are one flat buffer with named views, see [`parameters`]. Gradients, optimiser moments and
//! master weights are buffers with the same views, so that an optimiser, a norm, a checkpoint and a copy run over one
//! buffer each.
//!
//! # Errors
//!
//! A function of `cpu` or `cuda` that returns a `Result` fails if its buffers do not have the layouts and lengths of the
//! declaration. Functions of `cuda` also fail as described in [`gpu`](crate::gpu).
//!
//! # Precision
//!
//! Storage may be f32, f16, bf16 or i8; sums are f32 (f64 on the CPU on request), and sums of integers i32. Operands of 16 bits
//! are exact in f32, so a 16-bit multiplication is defined as the f32 multiplication of the rounded operands.

#![warn(missing_docs)]

use crate::gpu::ModuleSpec;

pub mod activation;
pub mod attention;
pub mod bench;
pub mod by_format;
pub mod cross_entropy;
pub mod delta_rule;
pub mod dropout;
pub mod elementwise;
pub mod embedding;
pub mod gemm;
pub mod layers;
pub mod lengths;
pub mod norm;
pub mod optimizer;
pub mod parameters;
pub mod quantized;
pub mod real;
pub mod rope;
pub mod sampling;
pub mod softmax;
pub mod storage;
#[cfg(test)]
pub(crate) mod testing;

/// Kernel modules of every operation, for the kernel tests.
pub const MODULES: &[&[ModuleSpec]] = &[
    activation::cuda::MODULES,
    attention::cuda::MODULES,
    cross_entropy::cuda::MODULES,
    dropout::cuda::MODULES,
    elementwise::cuda::MODULES,
    embedding::cuda::MODULES,
    gemm::cuda::MODULES,
    norm::cuda::MODULES,
    optimizer::cuda::MODULES,
    rope::cuda::MODULES,
    softmax::cuda::MODULES,
];
