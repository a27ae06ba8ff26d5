//! Activation functions and their derivatives.
//!
//! | | forward | `dx = dy ·` |
//! |---|---|---|
//! | [`GeluTanh`](Activation::GeluTanh) | `0.5 x (1 + tanh(u))`, `u = sqrt(2/π) (x + 0.044715 x³)` | `0.5 (1 + t) + 0.5 x (1 - t²) u'`, `t = tanh(u)`, `u' = sqrt(2/π) (1 + 3 · 0.044715 x²)` |
//! | [`GeluErf`](Activation::GeluErf) | `x Φ(x)`, `Φ(x) = 0.5 (1 + erf(x / sqrt 2))` | `Φ(x) + x exp(-x²/2) / sqrt(2π)` |
//! | [`Relu`](Activation::Relu) | `max(x, 0)` | 1 where `x > 0`, else 0 |
//! | [`ReluSquared`](Activation::ReluSquared) | `max(x, 0)²` | `2 max(x, 0)` |
//! | [`SwiGlu`](Activation::SwiGlu) | `a s(a) b`, `s(a) = 1 / (1 + exp(-a))` | `da = dy b s (1 + a (1 - s))`, `db = dy a s` |
//!
//! GELU: Hendrycks and Gimpel 2016; squared ReLU: So et al. 2021; SwiGLU: Shazeer 2020. An input row of SwiGLU is `[a, b]`, twice
//! as long as an output row.

pub mod cpu;
pub mod cuda;

pub use cpu::{backward, forward};

use super::lengths::{self, LengthError};

/// An activation function, applied to each element or pair of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Activation {
    /// GELU in its tanh approximation, as in GPT-2.
    #[default]
    GeluTanh,
    /// GELU with the error function.
    GeluErf,
    /// Rectified linear unit: `max(x, 0)`.
    Relu,
    /// Squared ReLU: `max(x, 0)²`.
    ReluSquared,
    /// SiLU-gated linear unit; its input is twice as wide as its output.
    SwiGlu,
}

impl Activation {
    /// All activation functions, in the order of declaration.
    pub const ALL: [Self; 5] = [Self::GeluTanh, Self::GeluErf, Self::Relu, Self::ReluSquared, Self::SwiGlu];

    /// Returns the number of input columns per output column.
    pub const fn inputs(self) -> usize {
        if let Self::SwiGlu = self { 2 } else { 1 }
    }

    /// Checks lengths in elements; `columns` is the number of output columns. Fails if a length differs from the declaration.
    pub fn check(self, rows: usize, columns: usize, x: usize, y: usize) -> Result<(), LengthError> {
        lengths::check([
            ("the input of an activation", &[rows, columns, self.inputs()], x),
            ("the output of an activation", &[rows, columns], y),
        ])
    }
}
