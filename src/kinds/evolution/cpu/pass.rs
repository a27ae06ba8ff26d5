//! Products of activations with perturbed weights, for several members at a time.

use super::{Members, Noise};
use crate::{
    kinds::evolution::{
        activation_noise::ActivationSigns,
        model::{Matrix, Role, Sizes, Vector, Weights},
        noise::{Factors, LowRank, Perturbation},
    },
    nn::{
        gemm::{Epilogue, Gemm, cpu::gemm},
        quantized::{
            cpu as quantized,
            product::{MAX_INPUTS, TernaryMatrix, dot},
        },
        real::{wide, wide_fn},
    },
};
use std::ops::Range;

/// Matrices of the unperturbed model, rearranged for products; large ones are multiplied as they are.
pub struct Shared {
    matrices: Vec<Option<TernaryMatrix>>,
}

impl Shared {
    /// Rearranges the matrices.
    pub fn new(sizes: &Sizes, weights: &Weights) -> Self {
        let matrices = sizes.matrices().into_iter().zip(&weights.matrices);
        Self { matrices: matrices.map(|(matrix, weights)| TernaryMatrix::new(weights, matrix.columns)).collect() }
    }

    /// Returns the approximate memory of the rearranged matrices, bytes.
    pub fn bytes(sizes: &Sizes) -> usize {
        let is_small = |matrix: &Matrix| matrix.columns <= MAX_INPUTS;
        sizes.matrices().iter().filter(|matrix| is_small(matrix)).map(|m| 2 * m.rows * m.columns).sum()
    }
}

/// A forward pass of several members, whose rows follow each other member by member.
pub struct Pass<'a> {
    pub sizes: &'a Sizes,
    pub members: Members<'a>,
    /// Matrices of the members' weights.
    pub shared: &'a Shared,
    /// Rows per member.
    pub rows: usize,
}

impl Pass<'_> {
    /// Returns ranges of members that are computed together: single members, or all if they share a multiplication by a large
    /// matrix.
    pub fn spans(&self) -> Vec<Range<usize>> {
        let n = self.members.list.len();
        let is_shared = self.members.list.iter().all(|member| !matches!(member.noise, Noise::FullRank(_)));
        if is_shared && self.shared.matrices.iter().any(Option::is_none) {
            return std::iter::once(0..n).collect();
        }
        (0..n).map(|member| member..member + 1).collect()
    }

    /// Returns the rows of a range of members.
    pub fn rows_of(&self, span: &Range<usize>) -> Range<usize> {
        span.start * self.rows..span.end * self.rows
    }

    /// Multiplies the rows of a range of members by a matrix: `[rows, columns of W]` to `[rows, rows of W]`. The input is given with
    /// the number of its fractional bits.
    pub fn product(
        &self,
        (role, layer): (Role, usize),
        span: &Range<usize>,
        (x, input_shift): (&[i8], u32),
        products: &mut [f32],
        sums: &mut Vec<i32>,
    ) {
        let at = self.sizes.index(role, layer);
        let matrix = self.sizes.matrix(at);
        sums.resize(products.len(), 0);
        let shift = match (&self.shared.matrices[at], self.members.list[span.start].noise) {
            (Some(shared), Noise::None | Noise::LowRank(_) | Noise::Activations { .. }) => {
                shared.multiply(x, sums);
                self.members.shift
            }
            _ => {
                self.multiply_merged(at, &matrix, span.start, x, sums);
                0
            }
        };
        let unit = 1.0 / (1u64 << (self.members.shift + input_shift)) as f32;
        let scale = unit / (matrix.columns as f32).sqrt();
        let (inputs, outputs) = ((self.rows * matrix.columns).max(1), (self.rows * matrix.rows).max(1));
        let of_member =
            x.chunks_exact(inputs).zip(sums.chunks_exact_mut(outputs).zip(products.chunks_exact_mut(outputs)));
        for (member, (x, (sums, products))) in self.members.list[span.clone()].iter().zip(of_member) {
            let mut factor = 1.0;
            match member.noise {
                Noise::LowRank(noise) => {
                    let by = i32::from(member.sign) * LowRank::factor(noise.rank);
                    for (k, (a, b)) in noise.matrices[at].pairs(noise.rank).enumerate() {
                        add_outer(a, b, by, if k == 0 { shift } else { 0 }, x, sums);
                    }
                }
                Noise::Activations { signs, first } => {
                    let signs = &signs.matrices[at][first * matrix.rows..][..sums.len()];
                    add_signs(signs, i32::from(member.sign) * ActivationSigns::magnitude(&matrix), shift, sums);
                }
                Noise::None | Noise::FullRank(_) => factor = (1_u64 << shift) as f32,
            }
            quantized::scaled(sums, scale * factor, products);
        }
    }

    /// Computes `(W << shift) x + s E x` for the rows of one member with full-rank noise, or `(W << shift) x` for the rows of several
    /// without.
    fn multiply_merged(&self, at: usize, matrix: &Matrix, first: usize, x: &[i8], sums: &mut [i32]) {
        let (shift, weights) = (self.members.shift, &self.members.weights.matrices[at]);
        let member = &self.members.list[first];
        let merged: Vec<i8> = match member.noise {
            Noise::FullRank(noise) => {
                let both = weights.iter().zip(&noise.matrices[at]);
                both.map(|(w, e)| quantized::merged(*w, *e, member.sign, shift)).collect()
            }
            _ => weights.iter().map(|w| quantized::merged(*w, 0, 0, shift)).collect(),
        };
        let op = Gemm::new(x.len() / matrix.columns, matrix.rows, matrix.columns).transposed_b();
        gemm(&op, x, &merged, sums, Epilogue::None).expect("the shapes are those of the declaration");
    }

    /// Writes the embeddings of the tokens of a range of members, `[rows, H]`; [`quantized::embed`] defines `is_fixed_point`.
    pub fn embed(&self, span: &Range<usize>, tokens: &[u16], is_fixed_point: bool, embedded: &mut [i8]) {
        let width = self.sizes.width;
        let (table, none) = (self.sizes.index(Role::Embedding, 0), vec![0; width]);
        let mut drawn = vec![0; width];
        for (row, (y, token)) in embedded.chunks_exact_mut(width).zip(tokens).enumerate() {
            let member = &self.members.list[span.start + row / self.rows];
            let at = usize::from(*token) * width..(usize::from(*token) + 1) * width;
            let noise = match member.noise {
                Noise::None => &none[..],
                Noise::FullRank(noise) => &noise.matrices[table][at.clone()],
                Noise::LowRank(noise) => {
                    noise.matrices[table].row(noise.rank, usize::from(*token), &mut drawn);
                    &drawn
                }
                Noise::Activations { signs, first } => {
                    let magnitude = ActivationSigns::magnitude(&self.sizes.matrix(table)) as i8;
                    let signs = &signs.matrices[table][(first + row % self.rows) * width..][..width];
                    drawn.iter_mut().zip(signs).for_each(|(e, sign)| *e = magnitude * sign);
                    &drawn
                }
            };
            let weights = &self.members.weights.matrices[table][at];
            quantized::embed(weights, noise, (member.sign, self.members.shift), is_fixed_point, y);
        }
    }

    /// Writes elements of a vector of a member from `first` on, with their perturbation.
    pub fn vector(&self, member: usize, vector: Vector, first: usize, to: &mut [f32]) {
        let (at, member) = (vector as usize, &self.members.list[member]);
        let range = first..first + to.len();
        let values = &self.members.weights.vectors[at][range.clone()];
        let noise = match member.noise {
            Noise::None | Noise::Activations { .. } => {
                to.copy_from_slice(values);
                return;
            }
            Noise::FullRank(Perturbation { vectors, .. }) | Noise::LowRank(Factors { vectors, .. }) => {
                &vectors[at][range]
            }
        };
        let unit = f32::from(member.sign) * (1.0 / (1u32 << self.members.shift) as f32);
        let elements = to.iter_mut().zip(values.iter().zip(noise));
        wide(|| {
            for (to, (value, noise)) in elements {
                *to = value + unit * f32::from(*noise);
            }
        });
    }
}

wide_fn! {
    /// Multiplies the sums of each row by 2^`shift` and adds `factor · a (b · x)`.
    fn add_outer(a: &[i8], b: &[i8], factor: i32, shift: u32, x: &[i8], sums: &mut [i32]) {
        for (x, sums) in x.chunks_exact(b.len()).zip(sums.chunks_exact_mut(a.len())) {
            let along = factor * dot(x, b);
            for (sum, a) in sums.iter_mut().zip(a) {
                *sum = (*sum << shift) + along * i32::from(*a);
            }
        }
    }
}

wide_fn! {
    /// Multiplies sums by 2^`shift` and adds signs times `magnitude`.
    fn add_signs(signs: &[i8], magnitude: i32, shift: u32, sums: &mut [i32]) {
        for (sum, sign) in sums.iter_mut().zip(signs) {
            *sum = (*sum << shift) + magnitude * i32::from(*sign);
        }
    }
}
