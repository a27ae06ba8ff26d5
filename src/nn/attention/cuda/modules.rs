//! Kernel modules of attention.

use super::{
    Variant,
    kernels::{DecodeKernels, FlashKernels, HopperKernels, NaiveKernels},
};
use crate::{gpu::ModuleSpec, nn::storage::Format};

/// Every kernel module of this operation, for the kernel tests.
pub const MODULES: &[ModuleSpec] = &[
    NaiveKernels::SPEC,
    NaiveKernels::DROPPING,
    DecodeKernels::SPEC,
    FlashKernels::SPEC,
    FlashKernels::F16,
    FlashKernels::DROPPING,
    FlashKernels::F16_DROPPING,
    HopperKernels::SPEC,
    HopperKernels::F16,
    HopperKernels::DROPPING,
    HopperKernels::F16_DROPPING,
];

/// Modules of [`Variant::Flash`], indexed by [`place`].
pub(super) const FLASH: [ModuleSpec; 4] =
    [FlashKernels::F16, FlashKernels::F16_DROPPING, FlashKernels::SPEC, FlashKernels::DROPPING];

/// Modules of [`Variant::Hopper`], indexed by [`place`].
pub(super) const HOPPER: [ModuleSpec; 4] =
    [HopperKernels::F16, HopperKernels::F16_DROPPING, HopperKernels::SPEC, HopperKernels::DROPPING];

pub(super) const fn place(format: Format, drops: bool) -> usize {
    2 * !matches!(format, Format::F16) as usize + drops as usize
}

pub(super) const fn naive(drops: bool) -> ModuleSpec {
    if drops { NaiveKernels::DROPPING } else { NaiveKernels::SPEC }
}

/// Returns the modules that training and generation load on a device of compute capability `capability`: those of the required
/// variant, otherwise those of the fastest one for aligned rows. Gradients need a kernel of the naive variant.
pub fn expected(format: Format, drops: bool, variant: Option<Variant>, capability: u32) -> Vec<ModuleSpec> {
    let variant = variant.unwrap_or(match capability {
        _ if format == Format::F32 => Variant::Naive,
        90 => Variant::Hopper,
        80.. => Variant::Flash,
        _ => Variant::Naive,
    });
    // Evaluation of the loss uses no dropout.
    let both = [false, true].into_iter().filter(|dropping| drops || !dropping);
    let tiled = both.clone().filter_map(|drops| match variant {
        Variant::Hopper => Some(HOPPER[place(format, drops)]),
        Variant::Flash => Some(FLASH[place(format, drops)]),
        Variant::Decode | Variant::Naive => None,
    });
    let own = both.filter(|dropping| *dropping == drops || variant == Variant::Naive).map(naive);
    own.chain([DecodeKernels::SPEC]).chain(tiled).collect()
}
