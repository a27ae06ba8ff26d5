//! The CUDA backend of the nuclei.

pub mod couple;
pub mod coupling;
pub mod layout;

use crate::gpu::ModuleSpec;

/// All modules of this backend.
pub const MODULES: &[ModuleSpec] = &[couple::Couple::SPEC, couple::Fast::SPEC];
