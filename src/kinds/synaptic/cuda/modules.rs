//! Modules that a synaptic model loads.

use super::MODULES;
use crate::{
    gpu::ModuleSpec,
    kinds::{language::cuda::modules::of_every_model, synaptic::choices::Precision},
    nn::{
        gemm::cuda::{Available, Format as Operands, Options},
        softmax,
        storage::Format,
    },
};

/// Returns the modules that training and decoding load.
pub fn expected(precision: Precision, on: Available) -> Vec<ModuleSpec> {
    let (logits, operands) = match precision {
        Precision::F32 | Precision::Tf32 => (Format::F32, Operands::F32),
        Precision::Bf16 => (Format::Bf16, Operands::Bf16),
    };
    let options = Options { backend: None, tf32: precision != Precision::F32, is_required: false };
    let mut modules = of_every_model(Format::F32, logits);
    modules.extend(MODULES);
    modules.push(softmax::cuda::MODULES[Format::F32 as usize]);
    // The calls add modules for projections and logits, attention, the router, and experts, in this order.
    modules.extend(on.modules(operands, options));
    modules.extend(on.modules(Operands::F32, options));
    modules.extend(on.modules(Operands::F32, Options::default()));
    modules.extend(on.modules_of_groups(operands, options));
    modules
}
