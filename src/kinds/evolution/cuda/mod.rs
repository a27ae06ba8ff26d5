//! CUDA backend: the generation of [`cpu`](super::cpu) with the same bits.
//!
//! A layer is computed for the rows of several members together. `nn::gemm` multiplies 8-bit integers: with low-rank
//! noise all members share one multiplication by the unperturbed weights, to which the kernels add the perturbation;
//! with full-rank noise each member has one by its merged weights. Losses of members are summed as integers on the
//! device, which also shapes them: within a generation nothing waits for the host. The launches of a group of pairs and of
//! the update are captured as CUDA graphs.
//!
//! | file | subject |
//! | --- | --- |
//! | [`kernels`] | declarations of the kernels |
//! | [`memory`] | device buffers, and how many members are evaluated together |
//! | [`forward`] | launches of a forward pass |
//! | [`attention`] | launches of linear attention |
//! | [`activations`] | launches for perturbed activations |
//! | `products` | matrix multiplications |
//! | [`rows`] | rows of a pass, and their perturbation |
//! | [`shaping`] | launches of fitness shaping |
//! | [`update`] | launches of an update |
//! | `generation` | a generation: groups of pairs and the update, captured |
//! | [`backend`] | backend of the simulation |
//! | `evaluation` | losses of the unperturbed model |

pub mod activations;
pub mod attention;
pub mod backend;
mod evaluation;
pub mod forward;
mod generation;
pub mod kernels;
pub mod memory;
mod products;
pub mod rows;
pub mod shaping;
pub mod update;

use crate::{gpu::ModuleSpec, nn::gemm::cuda::MmaKernels, nn::gemm::cuda::SimtKernels};

/// Modules of the kind.
pub const MODULES: &[ModuleSpec] = &[
    kernels::PopulationKernels::SPEC,
    kernels::AttentionKernels::SPEC,
    kernels::ActivationKernels::SPEC,
    kernels::ShapingKernels::SPEC,
    kernels::UpdateKernels::SPEC,
];

/// Modules of other folders that a generation loads.
pub const SHARED: &[ModuleSpec] = &[MmaKernels::S8, SimtKernels::SPEC];
