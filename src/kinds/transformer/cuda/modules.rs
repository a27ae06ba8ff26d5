//! Modules that a transformer loads.

use super::{Drops, backend_of};
use crate::{
    gpu::ModuleSpec,
    kinds::{
        language::cuda::modules::of_every_model,
        transformer::{
            Params, Positions,
            choices::{AttentionMethod, Precision},
        },
    },
    nn::{
        activation, attention,
        attention::cuda::Variant,
        dropout, elementwise,
        gemm::cuda::{Available, Format as Operands, Options},
        rope,
        storage::Format,
    },
};

/// Returns the modules that training and decoding load.
pub fn expected(params: &Params, on: Available) -> Vec<ModuleSpec> {
    let (compute, shape) = (&params.compute, &params.model);
    let (format, operands) = match compute.precision {
        Precision::F32 | Precision::Tf32 => (Format::F32, Operands::F32),
        Precision::Bf16 => (Format::Bf16, Operands::Bf16),
        Precision::F16 => (Format::F16, Operands::F16),
    };
    let options =
        Options { backend: backend_of(compute.gemm), tf32: compute.precision == Precision::Tf32, is_required: false };
    let drops = Drops::of(&params.training.hyper(0));
    let variant = (compute.attention == AttentionMethod::Naive).then_some(Variant::Naive);
    let mut modules = of_every_model(format, format);
    modules.push(activation::cuda::MODULES[format as usize]);
    modules.extend(attention::cuda::expected(format, drops.probabilities, variant, on.capability));
    modules.extend(on.modules(operands, options));
    let optional = [
        (matches!(shape.positions, Positions::Rope(_)), rope::cuda::MODULES),
        (drops.elements, dropout::cuda::MODULES),
        (shape.bias, elementwise::cuda::MODULES),
    ];
    modules.extend(optional.iter().filter(|(is_used, _)| *is_used).map(|(_, modules)| modules[format as usize]));
    modules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::transformer::choices::GemmMethod;

    fn names(change: impl FnOnce(&mut Params), capability: u32, has_library: bool) -> Vec<String> {
        let mut params = Params::default();
        change(&mut params);
        let modules = expected(&params, Available { capability, has_library });
        modules.iter().map(|module| module.id().to_string().trim_start_matches("nn/").to_owned()).collect()
    }

    #[test]
    fn modules_follow_from_parameters_and_device() {
        let bf16 = |params: &mut Params| params.compute.precision = Precision::Bf16;
        let some = |names: Vec<String>, of: &[&str]| -> Vec<String> {
            names.into_iter().filter(|name| of.iter().any(|of| name.starts_with(of))).collect()
        };
        let of = ["gemm", "attention"];
        let attention = ["attention_naive", "attention_decode"];
        assert_eq!(some(names(|_| {}, 90, true), &of), attention, "fp32 with the library");
        assert_eq!(some(names(|_| {}, 90, false), &["gemm"]), ["gemm_simt"]);
        assert_eq!(some(names(bf16, 90, false), &of)[2..], ["attention_hopper_bf16", "gemm_wgmma_bf16", "gemm_bf16"]);
        assert_eq!(some(names(bf16, 86, true), &of)[2..], ["attention_flash_bf16"]);
        assert_eq!(some(names(bf16, 75, true), &of), attention);
        let by_simt = |params: &mut Params| params.compute.gemm = GemmMethod::Simt;
        assert_eq!(some(names(by_simt, 90, true), &["gemm"]), ["gemm_simt"]);
        let drops = |params: &mut Params| params.training.attention_dropout = 0.1;
        assert_eq!(some(names(drops, 90, true), &["attention_naive"]), ["attention_naive", "attention_naive_dropping"]);
    }

    #[test]
    fn no_module_is_expected_twice() {
        for precision in [Precision::F32, Precision::Tf32, Precision::Bf16, Precision::F16] {
            let names = names(|params| params.compute.precision = precision, 90, false);
            let mut once = names.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), names.len(), "{names:?}");
        }
    }
}
