//! Fixed position embeddings by sine and cosine (Vaswani et al., 2017, section 3.5):
//!
//! `PE[p, 2i] = sin(p / base^(2i / D))`, `PE[p, 2i + 1] = cos(p / base^(2i / D))`.
//!
//! Frequencies and angles are f64. In f32, the rounding of a frequency alone moves an angle of 65,535 radians by up to
//! 4e-3; the f64 table rounded to f32 is within half a unit in the last place, 3e-8.

use rayon::prelude::*;

/// Base of the frequencies in the paper.
pub const BASE: f64 = 10_000.0;

/// Returns `base^(-2i / D)` for every pair i, in radians per position.
pub fn frequencies(features: usize, base: f64) -> Vec<f64> {
    (0..features.div_ceil(2)).map(|i| base.powf(-((2 * i) as f64) / features as f64)).collect()
}

/// Computes the embeddings of the positions 0 to `len - 1`: `[len, features]`. If the number of features is odd, the last sine
/// has no cosine.
pub fn table(len: usize, features: usize, base: f64) -> Vec<f64> {
    let frequencies = frequencies(features, base);
    let mut table = vec![0.0; len * features];
    table.par_chunks_mut(features.max(1)).enumerate().for_each(|(position, row)| {
        for (pair, frequency) in row.chunks_mut(2).zip(&frequencies) {
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            pair.iter_mut().zip([sin, cos]).for_each(|(to, x)| *to = x);
        }
    });
    table
}
