//! The model on a GPU: the formulas of the CPU model, with the operations of `nn` on a device and kernels for release, heads and
//! routing.
//!
//! A change of mechanisms captures passes again.
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
mod forward;
mod inspect;
pub mod kernels;
mod life;
mod network;
mod optimizer;
mod pass;
pub mod plan;

pub use backend::check_dynamics as check;
pub use kernels::MODULES;

use super::{
    backend::{Backend, Dynamics},
    choices::Precision,
    model::{Config, Layout},
};
use crate::{
    gpu::Gpu,
    kinds::language::cuda::CudaBackend,
    nn::{
        gemm::cuda::{CudaGemm, Options},
        optimizer::LossScaler,
    },
    sim::{Buffers as _, MemoryReport, SimError},
};
use buffers::{DeviceBuffers, Sizes};
use network::{Network, Ops};
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
    check(dynamics, config)?;
    let network = Network::new(gpu, config, layout, dynamics, ops, seed)?;
    let mut backend = CudaBackend::new(gpu, network, sequences, LossScaler::fixed(1.0), &choices)?;
    backend.begin()?;
    Ok(Box::new(backend))
}

/// Memory that [`create`] allocates.
pub fn memory(config: &Config, layout: &Layout, dynamics: &Dynamics, sequences: usize) -> MemoryReport {
    let mut report = DeviceBuffers::predict(&Sizes::new(config, layout, dynamics, sequences));
    network::report_tables(config, CudaGemm::predicted_bytes(), &mut report);
    report
}
