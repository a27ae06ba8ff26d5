//! # A population of nuclei with coupled phases
//!
//! Candidate solutions ("nuclei") of a regression are phase oscillators. Nuclei of similar fitness f and similar entropy H of
//! their weights are coupled. The higher the order parameter, the lower the barrier through which unfit nuclei decay into
//! offspring of fit ones and the highest-ranked nuclei fuse. The model follows SODA-QD1102 (2025): it has the same population
//! dynamics, without the defects.
//!
//! ```text
//! f_j = (1/B) Σ_b (x_b·w_j - y_b)²     H_j = entropy of softmax(w_j)     T = 1 + standard deviation of f
//! S_j = Σ_k e^{-|f_j - f_k|/T} e^{-|H_j - H_k|} e^{i(φ_k - φ_j)}          d_j: the same with φ = 0
//! dφ_j/dt = ω_j + (K/d_j) Im S_j       r = |mean e^{iφ}|                 R_j = |S_j| / d_j
//! P(R) = C exp(-(2/ħ) ΔR max(0, R_th - R))
//! the k least fit decay with P(R_j): 1 → 1 + c      the m of highest key fuse with P(r): m → 1      all die at rate λ
//! ```
//!
//! A step is one generation. [`cpu`] defines its order.
//!
//! | file | subject |
//! | --- | --- |
//! | [`params`](Params), `choices`, `presets` | parameters and presets |
//! | [`task`] | samples, generated or read, and their QR compression |
//! | [`state`], [`initial`] | the table of the population, and its initial values |
//! | [`random`] | addressed random numbers |
//! | [`tunnelling`] | probability of crossing the barrier |
//! | [`mixing`] | coupling between several phase fields |
//! | [`ledger`], [`events`], [`lineage`] | totals, events and ancestry |
//! | [`cpu`] | CPU backend: the definition of a generation |
//! | [`host_state`], [`saved`] | state shared by the backends: parameters, actions, saved states |
//! | [`sampler`], [`probes`], [`fields`] | sampled curves, probes and fields |
//! | [`predict`] | predicted memory |
//! | [`bench`](mod@bench) | benchmarks |

pub mod bench;
mod choices;
pub mod counts;
pub mod cpu;
pub mod cuda;
mod event_log;
pub mod events;
mod examples;
pub mod fields;
pub mod host_state;
pub mod initial;
mod kind;
pub mod layout;
pub mod ledger;
pub mod lineage;
pub mod mixing;
mod params;
pub mod predict;
mod presets;
pub mod probes;
pub mod random;
mod requests;
pub mod sampler;
pub mod saved;
pub mod state;
pub mod task;
pub mod tunnelling;
pub use super::shared::real::{self, StatePrecision};
pub use choices::*;
pub use kind::NucleiKind;
pub use params::*;
