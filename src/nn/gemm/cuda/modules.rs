//! Kernel modules of multiplications.

use super::{Backend, Format, MmaKernels, Options, PackedKernels, SimtKernels, WgmmaKernels, WmmaKernels};
use crate::{
    gpu::{Gpu, ModuleSpec, library::CUBLASLT},
    nn::{gemm::Codes, quantized::ternary::WordOrder},
};

pub(super) fn mma(format: Format) -> ModuleSpec {
    match format {
        Format::F32 => MmaKernels::TF32,
        Format::F16 => MmaKernels::F16,
        Format::Bf16 => MmaKernels::SPEC,
        Format::S8 | Format::Bytes => MmaKernels::S8,
    }
}

pub(super) fn wmma(format: Format) -> ModuleSpec {
    if format == Format::F16 { WmmaKernels::F16 } else { WmmaKernels::SPEC }
}

pub(super) fn wgmma(format: Format) -> ModuleSpec {
    if format == Format::F16 { WgmmaKernels::F16 } else { WgmmaKernels::SPEC }
}

pub(super) fn packed(codes: Codes) -> ModuleSpec {
    match codes {
        Codes::Ternary(WordOrder::Linear) => PackedKernels::SPEC,
        Codes::Ternary(WordOrder::Interleaved) => PackedKernels::INTERLEAVED,
        Codes::Fp4 => PackedKernels::FP4,
    }
}

/// Properties of a device that determine the choice of modules.
#[derive(Clone, Copy, Debug)]
pub struct Available {
    /// Compute capability as one number: 90 is 9.0.
    pub capability: u32,
    /// Whether cuBLASLt is found.
    pub has_library: bool,
}

impl Available {
    /// Queries the properties of `gpu`, and searches for cuBLASLt.
    pub fn on(gpu: &Gpu) -> Self {
        Self { capability: gpu.capability, has_library: CUBLASLT.find().is_ok() }
    }

    /// Returns the modules that multiply operands of `format`: those of the wanted backend, otherwise those of the first
    /// choice.
    pub fn modules(self, format: Format, options: Options) -> Vec<ModuleSpec> {
        let (is_narrow, has_tensor_cores) = (matches!(format, Format::F16 | Format::Bf16), self.capability >= 80);
        match options.backend {
            Some(Backend::Simt) => vec![SimtKernels::SPEC],
            Some(Backend::Wmma) if is_narrow && has_tensor_cores => vec![wmma(format)],
            Some(Backend::Wgmma) if is_narrow && self.capability == 90 => vec![wgmma(format)],
            Some(Backend::TensorCores) if has_tensor_cores => vec![mma(format)],
            _ if self.has_library => vec![],
            _ => self.own(format, options.tf32),
        }
    }

    /// Returns the modules that multiply groups, which the library does not support.
    pub fn modules_of_groups(self, format: Format, options: Options) -> Vec<ModuleSpec> {
        self.own(format, options.tf32)
    }

    fn own(self, format: Format, tf32: bool) -> Vec<ModuleSpec> {
        let is_exact = format == Format::F32 && !tf32;
        match self.capability {
            _ if is_exact => vec![SimtKernels::SPEC],
            ..80 => vec![SimtKernels::SPEC],
            90 if matches!(format, Format::F16 | Format::Bf16) => vec![wgmma(format), mma(format)],
            _ => vec![mma(format)],
        }
    }
}
