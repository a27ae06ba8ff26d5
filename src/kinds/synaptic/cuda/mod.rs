//! Synaptic model on a GPU: the formulas of the CPU model, computed by device operations of `nn` and kernels for release,
//! heads and routing.
//!
//! A change of the mechanisms invalidates all captured passes.
//!
//! # Attention
//!
//! Queries, keys and values are `[B, heads, T, D]`: query heads that share a key/value head are rows of one GEMM. The
//! logits of all edges are in memory: release traverses them by column, softmax by row. For each block the probabilities
//! and the derivatives of the bias are kept, and not the logits.
//!
//! # Precision
//!
//! | | operands of multiplications: projections, experts, logits | products of queries, keys and values | else |
//! |---|---|---|---|
//! | fp32 | f32 | f32 | f32 |
//! | tf32 | f32, rounded to tf32 | f32, rounded to tf32 | f32 |
//! | bf16 | bf16, weights by a rounded copy, logits of tokens too | f32, rounded to tf32 | f32 |
//!
//! The router is f32 in all of them, because its decisions are sensitive to small differences. Release, norms, the residual
//! stream and all parameter gradients are f32 too. Gradients, statistics and states are summed in f32 or f64 in an order
//! that depends only on sizes, so that results are bit-identical.

mod backend;
mod backward;
mod buffers;
mod decode;
mod forward;
mod inspect;
pub mod kernels;
mod life;
pub mod modules;
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
    kinds::language::cuda::{CudaBackend, format::ModelFormat},
    nn::{
        gemm::cuda::{CudaGemm, Options},
        optimizer::LossScaler,
    },
    num::elements::Bf16,
    sim::{Buffers as _, MemoryReport, SimError},
};
use buffers::{DeviceBuffers, sizes};
use network::{Network, Ops};
use std::sync::Arc;

/// Creates a backend with zero weights, for batches of up to `sequences` sequences of the context length. Fails if the
/// constants do not fit the sizes, a kernel cannot be loaded, or memory is exhausted.
pub fn create(
    gpu: &Arc<Gpu>,
    (config, layout, dynamics): (&Config, &Arc<Layout>, &Dynamics),
    seed: u64,
    sequences: usize,
    precision: Precision,
) -> Result<Box<dyn Backend>, SimError> {
    match precision {
        Precision::F32 => start::<f32>(gpu, (config, layout, dynamics), seed, sequences, (false, "fp32")),
        Precision::Tf32 => start::<f32>(gpu, (config, layout, dynamics), seed, sequences, (true, "tf32")),
        Precision::Bf16 => start::<Bf16>(gpu, (config, layout, dynamics), seed, sequences, (true, "bf16")),
    }
}

fn start<T: ModelFormat>(
    gpu: &Arc<Gpu>,
    (config, layout, dynamics): (&Config, &Arc<Layout>, &Dynamics),
    seed: u64,
    sequences: usize,
    (tf32, name): (bool, &str),
) -> Result<Box<dyn Backend>, SimError> {
    check(dynamics, config)?;
    let ops = Ops::new(gpu, Options { backend: None, is_required: false, tf32 })?;
    let network = Network::<T>::new(gpu, config, layout, dynamics, ops, seed)?;
    let choices = [("precision", name), ("release", "fused")];
    let mut backend = CudaBackend::new(gpu, network, sequences, LossScaler::fixed(1.0), &choices)?;
    backend.begin()?;
    Ok(Box::new(backend))
}

/// Predicts the memory that [`create`] allocates.
pub fn memory(
    config: &Config,
    layout: &Layout,
    dynamics: &Dynamics,
    sequences: usize,
    precision: Precision,
) -> MemoryReport {
    let of = match precision {
        Precision::F32 | Precision::Tf32 => memory_as::<f32>,
        Precision::Bf16 => memory_as::<Bf16>,
    };
    let mut report = of(config, layout, dynamics, sequences);
    network::report_tables(config, CudaGemm::predicted_bytes(), &mut report);
    report
}

fn memory_as<T: ModelFormat>(config: &Config, layout: &Layout, dynamics: &Dynamics, sequences: usize) -> MemoryReport {
    DeviceBuffers::<T>::predict(&sizes::<T>(config, layout, dynamics, sequences))
}
