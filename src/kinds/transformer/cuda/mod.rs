//! Transformer on a GPU: the [passes](super::network) over layers on a device.
//!
//! # Precision
//!
//! | | weights and activations | sums, statistics, losses, gradients of parameters, master weights, moments |
//! |---|---|---|
//! | fp32 | f32 | f32 |
//! | tf32 | f32, rounded to tf32 as operands of multiplications | f32 |
//! | bf16 | bf16 | f32 |
//! | fp16 | f16, with a dynamic loss scale | f32 |
//!
//! # Memory
//!
//! All activations are in one arena, whose size is planned in [`plan`](super::plan). Checkpointing keeps fewer activations
//! for the backward pass and recomputes the others by the same kernels from the same values, so that gradients are
//! bit-identical. Logits are computed in chunks of rows.

mod backend;
mod buffers;
mod decode;
mod inspect;
pub mod modules;
mod network;
mod pass;
mod tuning;

pub use crate::kinds::language::cuda::MODULES;

use super::{
    Params,
    backend::Backend,
    choices::{AttentionMethod, GemmMethod, LayerProduct, LinearLayer, Precision},
    model::{Config, Layout},
    params::GemmException,
};
use crate::{
    gpu::Gpu,
    kinds::language::cuda::{
        CudaBackend,
        call_sites::{CallSites, Product},
        format::ModelFormat,
        layers::ModelOps,
    },
    nn::{
        gemm::cuda::{Backend as GemmBackend, CudaGemm, Options as GemmOptions},
        optimizer::LossScaler,
        parameters::ViewId,
    },
    num::elements::{Bf16, F16},
    sim::{Buffers as _, BuildContext, MemoryReport, SimError},
};
use buffers::{BackwardPass, DeviceBuffers, sizes};
use network::{Drops, Network, fused, operations};
use std::sync::Arc;
use tuning::Tuning;

/// Creates a backend with zero weights. Uses the implementations in [`BuildContext::kernels`] if there are any. Fails if a
/// kernel cannot be loaded or memory is exhausted.
pub fn create(
    gpu: &Arc<Gpu>,
    params: &Params,
    config: &Config,
    layout: &Arc<Layout>,
    context: &BuildContext,
) -> Result<Box<dyn Backend>, SimError> {
    let compute = &params.compute;
    let (backend, tf32) = (backend_of(compute.gemm), compute.precision == Precision::Tf32);
    let mut ops = operations(
        gpu,
        GemmOptions { backend, tf32, is_required: false },
        fused(compute.fused, config.activation, compute.checkpointing),
        (compute.attention, compute.adds_gradients_of_queries()),
        compute.threads_per_block.into(),
    )?;
    ops.call_sites = call_sites(&params.gemm_exceptions, layout);
    Ok(match compute.precision {
        Precision::F32 | Precision::Tf32 => Box::new(start::<f32>(gpu, params, (config, layout), context, ops)?),
        Precision::Bf16 => Box::new(start::<Bf16>(gpu, params, (config, layout), context, ops)?),
        Precision::F16 => Box::new(start::<F16>(gpu, params, (config, layout), context, ops)?),
    })
}

fn start<T: ModelFormat>(
    gpu: &Arc<Gpu>,
    params: &Params,
    (config, layout): (&Config, &Arc<Layout>),
    context: &BuildContext,
    ops: ModelOps,
) -> Result<CudaBackend<Network<T>>, SimError> {
    let compute = &params.compute;
    let mut choices = vec![
        ("precision", precision_name(compute.precision)),
        ("gemm", gemm_name(compute.gemm)),
        ("attention", if compute.attention == AttentionMethod::Naive { "naive" } else { "flash" }),
        ("checkpointing", ["0", "1", "2", "3"][usize::from(compute.checkpointing.mode().min(3))]),
    ];
    let atomics = ("gradients of attention", "by atomics: bits may differ from run to run");
    choices.extend(ops.blocks.attention.is_nondeterministic().then_some(atomics));
    let scaler = if compute.precision == Precision::F16 { LossScaler::default() } else { LossScaler::fixed(1.0) };
    let sequences = params.training.batch as usize;
    let mut network = Network::new(gpu, (config, layout), ops, compute.checkpointing, context.seed)?;
    network.is_stochastic = compute.stochastic_rounding && compute.precision == Precision::Bf16;
    let sites: Vec<String> = params.gemm_exceptions.iter().map(site_name).collect();
    choices.extend(sites.iter().zip(&params.gemm_exceptions).map(|(name, by)| (name.as_str(), gemm_name(by.gemm))));
    choices.extend(network.is_stochastic.then_some(("rounding of weights", "stochastic")));
    let mut backend = CudaBackend::new(gpu, network, sequences, scaler, &choices)?;
    let tuning = if compute.gemm == GemmMethod::Measured { Tuning::measured(context) } else { Tuning::Default };
    backend.tune(tuning, sequences, Drops::of(&params.training.hyper(0)))?;
    Ok(backend)
}

const fn backend_of(gemm: GemmMethod) -> Option<GemmBackend> {
    match gemm {
        GemmMethod::Auto | GemmMethod::Measured => None,
        GemmMethod::Simt => Some(GemmBackend::Simt),
        GemmMethod::Wmma => Some(GemmBackend::Wmma),
        GemmMethod::Mma => Some(GemmBackend::TensorCores),
        GemmMethod::Wgmma => Some(GemmBackend::Wgmma),
        GemmMethod::CublasLt => Some(GemmBackend::CublasLt),
    }
}

/// Returns the GEMM implementation of each weight and product that the exceptions select.
fn call_sites(exceptions: &[GemmException], layout: &Layout) -> CallSites {
    let mut sites = CallSites::new();
    for exception in exceptions {
        let weights: Vec<ViewId> = match exception.layer {
            LinearLayer::AttentionQkv => layout.blocks.iter().map(|block| block.qkv.weight).collect(),
            LinearLayer::AttentionOut => layout.blocks.iter().map(|block| block.attn_proj.weight).collect(),
            LinearLayer::MlpUp => layout.blocks.iter().map(|block| block.fc.weight).collect(),
            LinearLayer::MlpDown => layout.blocks.iter().map(|block| block.mlp_proj.weight).collect(),
            LinearLayer::Head => vec![layout.head()],
        };
        let products = match exception.product {
            LayerProduct::All => &Product::OF_PASSES[..],
            LayerProduct::Forward => &[Product::Outputs],
            LayerProduct::BackwardInputs => &[Product::InputGradients],
            LayerProduct::BackwardWeights => &[Product::WeightGradients],
            LayerProduct::Muon => &[Product::Update],
        };
        let of = |weight: ViewId| products.iter().map(move |product| (weight, *product));
        sites.extend(weights.into_iter().flat_map(of).map(|site| (site, backend_of(exception.gemm))));
    }
    sites
}

/// Returns the name of an exception in the manifest.
fn site_name(exception: &GemmException) -> String {
    format!("multiplication {:?} {:?}", exception.layer, exception.product)
}

const fn precision_name(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "fp32",
        Precision::Tf32 => "tf32",
        Precision::Bf16 => "bf16",
        Precision::F16 => "fp16",
    }
}

const fn gemm_name(gemm: GemmMethod) -> &'static str {
    match gemm {
        GemmMethod::Auto => "auto",
        GemmMethod::Measured => "measured",
        GemmMethod::Simt => "SIMT",
        GemmMethod::Wmma => "WMMA",
        GemmMethod::Mma => "mma.sync",
        GemmMethod::Wgmma => "wgmma",
        GemmMethod::CublasLt => "cuBLASLt",
    }
}

/// Predicts the memory that [`create`] allocates.
pub fn memory(params: &Params, config: &Config, layout: &Layout) -> MemoryReport {
    match params.compute.precision {
        Precision::F32 | Precision::Tf32 => memory_as::<f32>(params, config, layout),
        Precision::Bf16 => memory_as::<Bf16>(params, config, layout),
        Precision::F16 => memory_as::<F16>(params, config, layout),
    }
}

fn memory_as<T: ModelFormat>(params: &Params, config: &Config, layout: &Layout) -> MemoryReport {
    let (sequences, compute) = (params.training.batch as usize, &params.compute);
    let backward = BackwardPass { mode: compute.checkpointing, has_sums: compute.adds_gradients_of_queries() };
    let mut report = DeviceBuffers::<T>::predict(&sizes::<T>(config, layout, sequences, backward));
    network::report_tables::<T>(config, &mut report);
    network::report_operations(CudaGemm::predicted_bytes(), &mut report);
    report
}
