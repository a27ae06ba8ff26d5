//! The CUDA backend of the nuclei.

pub mod couple;
pub mod coupling;
pub mod events;
pub mod layout;
pub mod measure;

use crate::gpu::ModuleSpec;

/// All modules of this backend.
pub const MODULES: &[ModuleSpec] = &[
    couple::Couple::SPEC,
    couple::Fast::SPEC,
    measure::Measure::SPEC,
    events::Select::SPEC,
    events::Turnover::SPEC,
    events::Phases::SPEC,
];
