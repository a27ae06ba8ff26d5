//! Positions of embeddings in three dimensions: projections onto the space of the first three principal components.
//!
//! Principal components have no sign, and swap when variances cross. The axes are therefore the orthonormal basis of this
//! space that is nearest to given axes (orthogonal Procrustes problem: the polar factor of `Bᵀ A`): the axes of the
//! previous projection, or the first three axes of the features. Distances are independent of the axes.

use super::FEATURES;

/// Number of dimensions of the projection.
const AXES: usize = 3;
/// Number of sweeps over all pairs after which rotations of a 24 × 24 matrix are below rounding.
const SWEEPS: usize = 16;

/// Orthonormal axes, one per dimension.
pub type Axes = [[f64; FEATURES]; AXES];

/// Projection of features to three dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// Origin: the mean of the living embeddings.
    pub mean: [f64; FEATURES],
    /// Orthonormal axes of the projection.
    pub axes: Axes,
    /// Share of the variance that the three dimensions retain, 0..=1; 1 if all points are equal.
    pub explained: f64,
}

impl Projection {
    /// Projects living experts: `embeddings` is `[E, 24]`, `alive` is `[E]`. The axes are nearest to those of `before`, or
    /// without `before` to the first three axes of the features.
    pub fn new(embeddings: &[f32], alive: &[u8], before: Option<&Axes>) -> Self {
        let rows = embeddings.chunks_exact(FEATURES).zip(alive).filter(|(_, alive)| **alive != 0);
        let rows: Vec<[f64; FEATURES]> = rows.map(|(row, _)| std::array::from_fn(|c| f64::from(row[c]))).collect();
        let n = rows.len().max(1) as f64;
        let mean = std::array::from_fn(|c| rows.iter().map(|row| row[c]).sum::<f64>() / n);
        let mut covariance = [[0.0; FEATURES]; FEATURES];
        for row in &rows {
            for (i, line) in covariance.iter_mut().enumerate() {
                line.iter_mut().enumerate().for_each(|(j, sum)| *sum += (row[i] - mean[i]) * (row[j] - mean[j]));
            }
        }
        let total: f64 = (0..FEATURES).map(|c| covariance[c][c]).sum();
        let (values, vectors) = eigenvectors(covariance);
        let principal: Axes = std::array::from_fn(|a| vectors[a]);
        let kept: f64 = values[..AXES].iter().sum();
        let first: Axes = std::array::from_fn(|a| std::array::from_fn(|c| f64::from(u8::from(a == c))));
        let explained = if total > 0.0 { (kept / total).clamp(0.0, 1.0) } else { 1.0 };
        Self { mean, axes: nearest(&principal, before.unwrap_or(&first)), explained }
    }

    /// Computes the position of a feature vector `[24]`.
    pub fn position(&self, features: &[f32]) -> [f32; AXES] {
        self.axes.map(|axis| {
            let centred = features.iter().zip(&self.mean).map(|(x, mean)| f64::from(*x) - mean);
            centred.zip(&axis).map(|(x, axis)| x * axis).sum::<f64>() as f32
        })
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the orthonormal basis of the space of `basis` that is nearest to `target`: `B M (MᵀM)^(-1/2)`, `M = Bᵀ A`. If A
/// has no component in some direction of the space, returns `basis` with the sign of each axis such that its largest
/// component is positive.
fn nearest(basis: &Axes, target: &Axes) -> Axes {
    let m: [[f64; AXES]; AXES] = std::array::from_fn(|i| std::array::from_fn(|j| dot(&basis[i], &target[j])));
    let square = std::array::from_fn(|i| std::array::from_fn(|j| (0..AXES).map(|l| m[l][i] * m[l][j]).sum()));
    let (values, vectors) = eigenvectors::<AXES>(square);
    if values[AXES - 1] < 1e-12 {
        return basis.map(|axis| {
            let largest = axis.iter().fold(0.0_f64, |a, b| if b.abs() > a.abs() { *b } else { a });
            axis.map(|x| if largest < 0.0 { -x } else { x })
        });
    }
    let root =
        |i: usize, j: usize| -> f64 { (0..AXES).map(|l| vectors[l][i] * vectors[l][j] / values[l].sqrt()).sum() };
    let rotation: [[f64; AXES]; AXES] =
        std::array::from_fn(|i| std::array::from_fn(|j| (0..AXES).map(|l| m[i][l] * root(l, j)).sum()));
    std::array::from_fn(|j| std::array::from_fn(|c| (0..AXES).map(|i| basis[i][c] * rotation[i][j]).sum()))
}

/// Returns the eigenvalues of a symmetric matrix in descending order, and their eigenvectors, by Jacobi rotations.
fn eigenvectors<const N: usize>(mut a: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    let mut v: [[f64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for _ in 0..SWEEPS {
        for p in 0..N {
            for q in p + 1..N {
                if a[p][q] == 0.0 {
                    continue;
                }
                // The rotation follows Golub and Van Loan, 8.5.2.
                let tau = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                let s = t * c;
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                for i in 0..N {
                    (a[p][i], a[q][i]) = (c * a[p][i] - s * a[q][i], s * a[p][i] + c * a[q][i]);
                    (v[p][i], v[q][i]) = (c * v[p][i] - s * v[q][i], s * v[p][i] + c * v[q][i]);
                }
            }
        }
    }
    let mut order: [usize; N] = std::array::from_fn(|i| i);
    order.sort_by(|i, j| a[*j][*j].total_cmp(&a[*i][*i]));
    (order.map(|i| a[i][i]), order.map(|i| v[i]))
}
