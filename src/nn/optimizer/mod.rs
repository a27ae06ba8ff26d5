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
//! For a matrix W of a hidden layer with momentum buffer B (stored where AdamW stores m):
//!
//! ```text
//! B = μ B + g
//! U = g + μ B (Nesterov), or B
//! X = U / (‖U‖ + 10⁻⁷), then five times  X = a X + (b A + c A²) X  with  A = X Xᵀ
//! W = W - η (sqrt(max(1, rows / columns)) X + λ W)
//! ```
//!
//! (a, b, c) = (3.4445, -4.7750, 2.0315) brings all singular values near 1, so that X is nearly the orthogonal matrix closest to
//! U. With more rows than columns, A = Xᵀ X and X = a X + X (b A + c A²), which gives the same result with fewer operations. A
//! matrix packed from several (queries, keys and values) is orthogonalised part by part.
//!
//! # Norm and clipping
//!
//! The gradient of all parameters that are not frozen, unscaled, is scaled to the norm c if its norm exceeds c; see [`Clip`].
//!
//! # Scale of the loss
//!
//! Gradients in 16-bit floating point underflow; multiplying the loss by a scale prevents it. [`LossScaler`] finds the scale. An
//! update with a gradient that is not finite is skipped and not counted.

pub mod cpu;
pub mod cuda;
mod groups;
mod scaler;

pub use groups::{GroupError, Method, Mode, ParameterGroup, ParameterGroups, Rule};
pub use scaler::LossScaler;

/// Hyperparameters of AdamW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Decay rate β₁ of the mean of gradients.
    pub beta1: f64,
    /// Decay rate β₂ of the mean of squared gradients.
    pub beta2: f64,
    /// Constant ε added to the denominator.
    pub eps: f64,
}

impl Default for AdamW {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.95, eps: 1e-8 }
    }
}

impl AdamW {
    /// Returns the bias corrections `1 - β₁ᵗ` and `1 - β₂ᵗ` of update t.
    pub fn bias_corrections(&self, t: u64) -> (f64, f64) {
        (1.0 - power(self.beta1, t), 1.0 - power(self.beta2, t))
    }
}

/// Returns `xⁿ` by repeated squaring, with the same bits on host and device.
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

/// Hyperparameters of Muon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Muon {
    /// Momentum coefficient μ.
    pub momentum: f64,
    /// Whether the update is the gradient plus μ times the new momentum (Nesterov).
    pub is_nesterov: bool,
    /// Number of Newton-Schulz iterations.
    pub iterations: u32,
}

impl Default for Muon {
    fn default() -> Self {
        Self { momentum: 0.95, is_nesterov: true, iterations: 5 }
    }
}

/// Coefficients of the quintic iteration (Jordan et al., 2024).
pub const NEWTON_SCHULZ: [f64; 3] = [3.4445, -4.7750, 2.0315];
/// Constant added to the norm of a matrix before the matrix is divided by the norm.
pub const MUON_EPS: f64 = 1e-7;

/// Returns the scale of the orthogonalised matrix in Muon: `sqrt(max(1, rows / columns))`.
pub fn muon_factor(rows: usize, columns: usize) -> f64 {
    (rows as f64 / columns.max(1) as f64).max(1.0).sqrt()
}

/// Maximum norm of the gradient; 0 or less disables clipping.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clip(pub f64);

impl Clip {
    /// Returns the factor that scales a gradient of norm `norm`; at most 1.
    pub fn factor(self, norm: f64) -> f64 {
        if self.0 > 0.0 && norm > self.0 { self.0 / norm } else { 1.0 }
    }
}

/// Values that change from update to update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Update {
    /// Number of the update, from 1; skipped updates do not count.
    pub t: u64,
    /// Learning rate η, before the factors of groups.
    pub learning_rate: f64,
    /// Factor of the gradient: clipping factor / loss scale.
    pub grad_scale: f64,
}

/// Adjacent matrices of the same size, each orthogonalised by Muon separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixRun {
    /// First matrix of the run.
    pub first: Matrix,
    /// Number of matrices.
    pub count: usize,
    /// Index of the first matrix among the flags that state which matrices have a gradient; `None`: all have one.
    pub used: Option<usize>,
}

impl From<Matrix> for MatrixRun {
    fn from(first: Matrix) -> Self {
        Self { first, count: 1, used: None }
    }
}

impl MatrixRun {
    /// Returns the number of elements in all matrices.
    pub const fn len(&self) -> usize {
        self.count * self.first.len()
    }

    /// Whether the run has no elements.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the range of all matrices in the buffer of the parameters.
    pub const fn range(&self) -> std::ops::Range<usize> {
        self.first.start..self.first.start + self.len()
    }
}

/// A range of the parameters that is one matrix of Muon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// Index of the first element in the buffer of the parameters.
    pub start: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns; rows are adjacent.
    pub columns: usize,
}

impl Matrix {
    /// Returns the number of elements.
    pub const fn len(&self) -> usize {
        self.rows * self.columns
    }

    /// Whether the matrix has no elements.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the range of the matrix in the buffer of the parameters.
    pub const fn range(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.len()
    }

    /// Returns the side of the Gram matrix: the smaller of rows and columns.
    pub const fn side(&self) -> usize {
        if self.rows < self.columns { self.rows } else { self.columns }
    }
}
