//! Optimisers: AdamW, Muon, the norm of the gradient, and the scale of the loss.
//!
//! # AdamW (Loshchilov and Hutter, 2019)
//!
//! With g the gradient times the gradient scale, and t = 1, 2, … the number of the update:
//!
//! ```text
//! m = β₁ m + (1 - β₁) g
//! v = β₂ v + (1 - β₂) g²
//! p = p - η (m / (1 - β₁ᵗ) / (sqrt(v / (1 - β₂ᵗ)) + ε) + λ p)
//! ```
//!
//! η is the learning rate times the factor of the parameter's group, and λ the decay of the group, which is decoupled from
//! the moments. As a rule matrices decay, and vectors (bias, norm) do not.
//!
//! # Muon (Jordan et al., 2024, <https://kellerjordan.github.io/posts/muon/>)
//!
//! For a matrix W of a hidden layer with momentum buffer B (kept where AdamW keeps m):
//!
//! ```text
//! B = μ B + g
//! U = g + μ B (Nesterov), or B
//! X = U / (‖U‖ + 10⁻⁷), then five times  X = a X + (b A + c A²) X  with  A = X Xᵀ
//! W = W - η (sqrt(max(1, rows / columns)) X + λ W)
//! ```
//!
//! (a, b, c) = (3.4445, -4.7750, 2.0315) brings all singular values near 1, so that X is nearly the orthogonal matrix
//! closest to U. With more rows than columns, A = Xᵀ X and X = a X + X (b A + c A²), which is the same with fewer
//! operations. A matrix packed of others (queries, keys and values) is orthogonalised part by part.
//!
//! # Norm and clipping
//!
//! The gradient of all parameters that are not frozen, unscaled, is scaled to the norm c if its norm exceeds c. It is what
//! [`Clip`] says.
//!
//! # Scale of the loss
//!
//! Gradients of 16-bit floating point underflow; with the loss times a scale they do not. [`LossScaler`] finds the scale: see
//! there. An update with a gradient that is not finite is skipped, and counts as no update.

pub mod cpu;
pub mod cuda;
mod groups;
mod scaler;

pub use groups::{GroupError, Method, Mode, ParameterGroup, ParameterGroups, Rule};
pub use scaler::LossScaler;

/// Constants of AdamW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Decay of the mean of gradients.
    pub beta1: f64,
    /// Decay of the mean of their squares.
    pub beta2: f64,
    /// Added to the denominator.
    pub eps: f64,
}

impl Default for AdamW {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.95, eps: 1e-8 }
    }
}

impl AdamW {
    /// `1 - β₁ᵗ` and `1 - β₂ᵗ` of update t.
    pub fn bias_corrections(&self, t: u64) -> (f64, f64) {
        (1.0 - power(self.beta1, t), 1.0 - power(self.beta2, t))
    }
}

/// `xⁿ` by repeated squaring: the same bits on host and device.
fn power(mut x: f64, mut n: u64) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            product *= x;
        }
        x *= x;
        n >>= 1;
    }
    product
}

/// Constants of Muon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Muon {
    /// Momentum μ.
    pub momentum: f64,
    /// Whether the momentum is applied once ahead.
    pub is_nesterov: bool,
    /// Newton-Schulz iterations.
    pub iterations: u32,
}

impl Default for Muon {
    fn default() -> Self {
        Self { momentum: 0.95, is_nesterov: true, iterations: 5 }
    }
}

/// Coefficients of the quintic iteration (Jordan et al., 2024).
pub const NEWTON_SCHULZ: [f64; 3] = [3.4445, -4.7750, 2.0315];
/// Added to the norm of a matrix before it divides.
pub const MUON_EPS: f64 = 1e-7;

/// Factor of the orthogonal matrix in Muon.
pub fn muon_factor(rows: usize, columns: usize) -> f64 {
    (rows as f64 / columns.max(1) as f64).max(1.0).sqrt()
}

/// Largest norm of the gradient; 0 or less does not clip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clip(pub f64);

impl Clip {
    /// Factor of a gradient of this norm.
    pub fn factor(self, norm: f64) -> f64 {
        if self.0 > 0.0 && norm > self.0 { self.0 / norm } else { 1.0 }
    }
}

/// What changes between updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// Number of the update, from 1; skipped ones do not count.
    pub t: u64,
    /// Learning rate η, before the factors of groups.
    pub learning_rate: f64,
    /// Factor of the gradient: of the clipping, and 1 / scale of the loss.
    pub grad_scale: f64,
}

/// Matrices of one size, one behind the other, each of which Muon makes orthogonal for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixRun {
    /// The first of them.
    pub first: Matrix,
    /// How many.
    pub count: usize,
    /// Where the number of the first one is among those that say which have a gradient; all have without it.
    pub used: Option<usize>,
}

impl From<Matrix> for MatrixRun {
    fn from(first: Matrix) -> Self {
        Self { first, count: 1, used: None }
    }
}

impl MatrixRun {
    /// Elements of all.
    pub const fn len(&self) -> usize {
        self.count * self.first.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements of all in the buffer.
    pub const fn range(&self) -> std::ops::Range<usize> {
        self.first.start..self.first.start + self.len()
    }
}

/// A part of the parameters that is one matrix of Muon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// First element in the buffer of the parameters.
    pub start: usize,
    /// Rows.
    pub rows: usize,
    /// Columns; rows follow each other.
    pub columns: usize,
}

impl Matrix {
    /// Elements.
    pub const fn len(&self) -> usize {
        self.rows * self.columns
    }

    /// Whether it has no elements.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its elements in the buffer.
    pub const fn range(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.len()
    }

    /// Side of its Gram matrix: the shorter one.
    pub const fn side(&self) -> usize {
        if self.rows < self.columns { self.rows } else { self.columns }
    }
}
