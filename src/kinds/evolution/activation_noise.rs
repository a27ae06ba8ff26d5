//! Perturbation of activations in place of weights: a sign for each output of each matrix at each token of a pair's text.
//!
//! ```text
//! member ± of a pair:  z = W x ± σ a e        e[row, output] is -1 or 1, a = 2 sqrt(inputs)
//! update of a pair:    Z += f Σ_rows e xᵀ     x: inputs of the unperturbed model
//! ```
//!
//! This is the perturbation of nodes (Widrow and Lehr 1990), or of activities (Ren et al. 2023, arXiv 2210.03310). With the same
//! number of draws it has a smaller variance than a perturbation of the weights where a matrix has more weights than its
//! outputs have values in a text, but the update needs the inputs: one more forward pass per pair. Vectors are added
//! to outputs of matrices and have the perturbation of these outputs.

use super::{
    model::{Matrix, Role, Sizes},
    noise::{mix, signs},
};

/// Signs of the activations of a pair, shared by its two members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivationSigns {
    /// Signs of the outputs of each matrix, `[rows, outputs]`, in the order of [`Sizes::matrices`].
    pub matrices: Vec<Vec<i8>>,
}

impl ActivationSigns {
    /// Draws the signs of `rows` rows of a pair. Sign i of a matrix is bit `i mod 64` of the word `mix(mix(pair_seed, salt), i / 64)`.
    pub fn draw(sizes: &Sizes, rows: usize, pair_seed: u64) -> Self {
        let signs = |m: &Matrix| signs(mix(pair_seed, m.salt()), rows * Self::outputs(m));
        Self { matrices: sizes.matrices().iter().map(signs).collect() }
    }

    /// Returns the number of outputs of a matrix; the embedding of a token has a row of its matrix as output.
    pub const fn outputs(matrix: &Matrix) -> usize {
        if matches!(matrix.role, Role::Embedding) { matrix.columns } else { matrix.rows }
    }

    /// Returns the magnitude of the perturbation in units of 2^-shift, before outputs are divided by the root of the number of inputs.
    /// The perturbation of an output has the standard deviation of a perturbation of the weights by 2 for inputs of
    /// magnitude 1.
    pub fn magnitude(matrix: &Matrix) -> i32 {
        let inputs = if matrix.role == Role::Embedding { 1 } else { matrix.columns };
        (2.0 * (inputs as f64).sqrt()).round_ties_even() as i32
    }
}
