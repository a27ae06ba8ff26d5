//! # A population of nuclei with coupled phases
//!
//! Candidate solutions ("nuclei") of a regression carry a phase each. Phases of nuclei that resemble each other, in
//! fitness f and in the entropy H of their weights, pull at each other; the more order there is, the lower the barrier
//! through which bad nuclei decay into children of good ones and the most promising fuse. After the public SODA-QD1102
//! (2025), with its law of the population and without its defects.
//!
//! ```text
//! f_j = (1/B) Σ_b (x_b·w_j - y_b)²     H_j = entropy of softmax(w_j)     T = 1 + standard deviation of f
//! S_j = Σ_k e^{-|f_j - f_k|/T} e^{-|H_j - H_k|} e^{i(φ_k - φ_j)}          d_j: the same with φ = 0
//! dφ_j/dt = ω_j + (K/d_j) Im S_j       r = |mean e^{iφ}|                 R_j = |S_j| / d_j
//! P(R) = C exp(-(2/ħ) ΔR max(0, R_th - R))
//! the k worst decay with P(R_j): 1 → 1 + c      the m best-keyed fuse with P(r): m → 1      all die at rate λ
//! ```
//!
//! A step is one generation. [`cpu`] says in which order it goes.
//!
//! | file | subject |
//! | --- | --- |
//! | [`params`](Params) | what a user can set; presets |
//! | [`task`] | samples, generated or read, and their exact compression |
//! | [`state`], [`start`] | the table, and what it holds at step 0 |
//! | [`draw`] | addresses of random numbers |
//! | [`tunnel`] | the barrier |
//! | [`ledger`] | who came and went |

pub mod draw;
pub mod ledger;
mod params;
pub mod real;
pub mod start;
pub mod state;
pub mod task;
pub mod tunnel;
pub use params::*;
