//! Evolution strategies: a language model of 8-bit activations and ternary weights, with linear attention by the delta rule. The
//! weights follow from the losses of a perturbed population, without gradients.
//!
//! This folder holds the definition on the CPU: [`noise`] draws perturbations, [`model`] declares sizes and tensors, [`cpu`]
//! evaluates members, [`strategy`] turns losses into changed weights, and [`population`] runs whole generations. The model is
//! that of the EFLA paper (arXiv 2512.12602) in integers; the strategy that of Salimans et al. 2017 with antithetic pairs, and of
//! EGGROLL (arXiv 2511.16652) for rank r.

pub mod cpu;
pub mod model;
pub mod noise;
mod pass;
pub mod population;
pub mod schedule;
pub mod strategy;
