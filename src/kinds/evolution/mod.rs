//! # Evolution strategies: a low-precision language model that is trained without gradients
//!
//! Activations are 8-bit integers, weights are -1, 0 or 1, and attention is linear by the delta rule (EFLA, arXiv
//! 2512.12602). The weights follow from the losses of a population:
//!
//! ```text
//! member ± of pair p:  W ± σ E_p      E_p drawn at (seed, generation, pair, tensor), σ = 2^-shift
//! fitness of a pair:   f_p = loss of - less loss of +
//! update:              Z = Σ_p shape(f)_p E_p;  shadow += rate · Z / RMS(Z);  W = round(shadow)
//! ```
//!
//! A step is a generation. Losses and Z are sums of integers and every perturbation has an address, so results do not depend on
//! threads, on the number of members that are evaluated together, or on interruptions. The strategy is that of Salimans et al.
//! 2017 with antithetic pairs, and of EGGROLL (arXiv 2511.16652) for rank r.
//!
//! | file | subject |
//! | --- | --- |
//! | [`kind`] | declaration of the kind |
//! | [`params`](Params), [`choices`], [`presets`], [`schedule`] | parameters of a project |
//! | [`model`], [`network`] | tensors, initial weights; sizes and options |
//! | [`noise`], [`activation_noise`] | perturbations of weights, and of activations |
//! | [`strategy`] | update of the weights from the losses |
//! | [`backend`] | interface between the simulation and its backends |
//! | [`cpu`] | definition on the CPU |
//! | [`cuda`] | CUDA backend, with the bits of the CPU |
//! | [`bench`] | benchmark of generations |
//! | [`simulation`] | the kind's implementation of [`LanguageKind`](super::language::kind::LanguageKind) |
//! | [`probes`], [`readings`], [`sets`] | probes and their readings, element sets |
//! | [`language`](super::language) | parts shared by all language kinds |

pub mod activation_noise;
pub mod backend;
pub mod bench;
pub mod choices;
pub mod cpu;
pub mod cuda;
mod examples;
pub mod kind;
pub mod model;
pub mod network;
pub mod noise;
mod params;
pub mod presets;
pub mod probes;
pub mod readings;
mod requests;
pub mod schedule;
pub mod sets;
pub mod simulation;
pub mod strategy;
pub use params::*;
pub use simulation::EvolutionKind;
