//! Modules that language models load, listed to show the progress of their compilation.

use super::kernels::StepKernels;
use crate::{
    gpu::ModuleSpec,
    nn::{cross_entropy, embedding, norm, optimizer::cuda::OptimizerKernels, storage::Format},
};

/// Returns the modules of every model: embedding and norms in format `layers`, cross-entropy in format `logits` and in f32
/// for the sums of losses.
pub fn of_every_model(layers: Format, logits: Format) -> Vec<ModuleSpec> {
    let mut modules = vec![
        StepKernels::SPEC,
        OptimizerKernels::SPEC,
        embedding::cuda::MODULES[layers as usize],
        norm::cuda::MODULES[layers as usize],
        cross_entropy::cuda::MODULES[logits as usize],
    ];
    if logits != Format::F32 {
        modules.push(cross_entropy::cuda::MODULES[Format::F32 as usize]);
    }
    modules
}
