//! Linear attention with the delta rule: a state matrix S that maps keys to values and is corrected at every step.
//! There is no backward pass.
//!
//! For a step with query q, key k, value v and gate b, with S `[d, n]` and ε = [`EPSILON`]:
//!
//! | | [`Efla`](Method::Efla) | [`DeltaNet`](Method::DeltaNet) |
//! |---|---|---|
//! | λ | `max(Σ k², ε)` | the same |
//! | β | `sigmoid(b)` | the same |
//! | α | `(1 - exp(-β λ)) / (λ + ε)` | β |
//! | κ | k | `k / sqrt(λ + ε)` |
//!
//! ```text
//! q̂ = q / sqrt(Σ q² + ε)
//! δ[n]    = v[n] - Σ_d κ[d] S[d,n]
//! S[d,n] += α κ[d] δ[n]
//! o[n]    = Σ_d S[d,n] q̂[d]          S after the update
//! ```
//!
//! EFLA (Lei, Zhang and Poria 2025, arXiv 2512.12602) solves `dS/dt = -k kᵀ S + k vᵀ` exactly over an interval β. DeltaNet: Yang et
//! al. 2024.
//!
//! # Chunk form
//!
//! [`cpu::Chunk`] computes the same outputs for C steps without a state matrix between them: `o = q̂ S₀ + lower(q̂ κᵀ) U` with
//! `U[i] = α[i] (v[i] - κ[i] S₀ - Σ_{j<i} (κ[i]·κ[j]) U[j])` and `S₁ = S₀ + κᵀ U`. From S₀ = 0 a step costs `4 C H` operations in
//! place of `6 H²`.

pub mod cpu;
pub mod lanes;

/// Lower bound of λ, and addend under the roots and in the quotients.
pub const EPSILON: f64 = 1e-6;

/// Formula by which the strength of an update follows from its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Method {
    /// Exact solution over an interval β.
    #[default]
    Efla,
    /// One step of gradient descent with a normalised key.
    DeltaNet,
}
