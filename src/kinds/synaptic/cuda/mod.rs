//! The model on a GPU: the formulas of the CPU model, with the operations of `nn` on a device and kernels for release, heads and
//! routing.
//!
//! # A step
//!
//! Tokens of a micro-batch are copied to the device, its gradients are computed and added up, then parameters and routers are
//! updated. Gradients of a batch and the update are captured as CUDA graphs at their second use, one per size of a batch; what
//! changes from step to step (learning rate, number of the step, targets) is read from device memory. A change of mechanisms
//! captures again. The host waits for the batch before the last one only; losses, statistics of experts and norms wait on the
//! device until they are read.
//!
//! # Attention
//!
//! Queries, keys and values are `[B, heads, T, D]`: the query heads that share a head of keys are rows of one multiplication.
//! Logits of all edges are in memory: release walks them by columns, softmax by rows. In place of each block's logits its
//! probabilities and derivatives of the bias are held.
//!
//! # Precision
//!
//! f32; with tf32 operands of multiplications are rounded to 11 bits, but not those of the router, whose decisions small
//! differences change. Sums of gradients, statistics and states are f32 and f64, in orders that the sizes fix: the same bits every
//! time.

mod backend;
mod backward;
mod buffers;
mod decode;
mod error;
mod forward;
mod inspect;
mod kernels;
mod life;
mod network;
mod optimizer;
mod pass;
pub mod plan;

pub use backend::{CudaBackend, check_dynamics as check};
pub use kernels::MODULES;

use super::{
    backend::{Backend, Dynamics},
    choices::Precision,
    model::{Config, Layout},
};
use crate::{
    gpu::Gpu,
    nn::gemm::cuda::{CudaGemm, Options},
    sim::{Buffers as _, MemoryReport, SimError},
};
use buffers::{DeviceBuffers, Sizes};
use network::Ops;
use std::sync::Arc;

/// A model with zero weights, for batches of up to that many sequences of the context.
pub fn create(
    gpu: &Arc<Gpu>,
    (config, layout, dynamics): (&Config, &Arc<Layout>, &Dynamics),
    seed: u64,
    sequences: usize,
    precision: Precision,
) -> Result<Box<dyn Backend>, SimError> {
    let tf32 = precision == Precision::Tf32;
    let ops = Ops::new(gpu, Options { backend: None, is_required: false, tf32 })?;
    let choices = [("precision", if tf32 { "tf32" } else { "fp32" }), ("release", "fused")];
    Ok(Box::new(CudaBackend::new(gpu, (config, layout, dynamics), seed, sequences, ops, choices)?))
}

/// Memory that [`create`] allocates.
pub fn memory(config: &Config, layout: &Layout, dynamics: &Dynamics, sequences: usize) -> MemoryReport {
    let mut report = DeviceBuffers::predict(&Sizes::new(config, layout, dynamics, sequences));
    network::report_tables(config, CudaGemm::predicted_bytes(), &mut report);
    report
}
