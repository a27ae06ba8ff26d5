//! Products of activations with perturbed weights, for several members at a time.

use super::{Members, Noise};
use crate::{
    kinds::evolution::{
        model::{Matrix, Role, Sizes, Vector},
        noise::{Factors, LowRank, Perturbation},
    },
    nn::{
        gemm::{Epilogue, Gemm, cpu::gemm},
        quantized::cpu as quantized,
        real::{wide, wide_fn},
    },
};

/// A forward pass of several members, whose rows follow each other member by member.
pub struct Pass<'a> {
    pub sizes: &'a Sizes,
    pub members: Members<'a>,
    /// Rows per member.
    pub rows: usize,
}

impl Pass<'_> {
    /// Multiplies rows of activations by a matrix: `[rows, columns of W]` to `[rows, rows of W]`. `input_shift` is the number of
    /// fractional bits of the activations.
    pub fn product(&self, role: Role, layer: usize, x: &[i8], input_shift: u32) -> Vec<f32> {
        let at = self.sizes.index(role, layer);
        let matrix = self.sizes.matrix(at);
        let mut sums = vec![0i32; x.len() / matrix.columns * matrix.rows];
        // Members without full-rank noise share one multiplication.
        let mut first = 0;
        while first < self.members.list.len() {
            let is_full = |i: usize| matches!(self.members.list[i].noise, Noise::FullRank(_));
            let n = match is_full(first) {
                true => 1,
                false => (first..self.members.list.len()).take_while(|i| !is_full(*i)).count(),
            };
            let inputs = &x[first * self.rows * matrix.columns..][..n * self.rows * matrix.columns];
            let outputs = &mut sums[first * self.rows * matrix.rows..][..n * self.rows * matrix.rows];
            self.sums(at, &matrix, first, inputs, outputs);
            first += n;
        }
        let unit = 1.0 / (1u64 << (self.members.shift + input_shift)) as f32;
        let scale = unit / (matrix.columns as f32).sqrt();
        let mut products = vec![0.0; sums.len()];
        quantized::scaled(&sums, scale, &mut products);
        products
    }

    /// Computes `(W << shift) x + s E x` for the rows of one member with full-rank noise, or of several without.
    fn sums(&self, at: usize, matrix: &Matrix, first: usize, x: &[i8], sums: &mut [i32]) {
        let (shift, weights) = (self.members.shift, &self.members.weights.matrices[at]);
        let member = &self.members.list[first];
        let merged: Vec<i8> = match member.noise {
            Noise::FullRank(noise) => {
                let both = weights.iter().zip(&noise.matrices[at]);
                both.map(|(w, e)| quantized::merged(*w, *e, member.sign, shift)).collect()
            }
            _ => weights.iter().map(|w| quantized::merged(*w, 0, 0, shift)).collect(),
        };
        let rows = x.len() / matrix.columns;
        let op = Gemm::new(rows, matrix.rows, matrix.columns).transposed_b();
        gemm(&op, x, &merged, sums, Epilogue::None).expect("the shapes are those of the declaration");
        let of_member = sums.chunks_exact_mut(self.rows * matrix.rows).zip(x.chunks_exact(self.rows * matrix.columns));
        for (member, (sums, x)) in self.members.list[first..].iter().zip(of_member) {
            if let Noise::LowRank(noise) = member.noise {
                add_low_rank(&noise.matrices[at], (noise.rank, member.sign), matrix, x, sums);
            }
        }
    }

    /// Returns the embeddings of the tokens of all members, `[rows, H]`; [`quantized::embed`] defines `is_fixed_point`.
    pub fn embed(&self, tokens: &[u16], is_fixed_point: bool) -> Vec<i8> {
        let width = self.sizes.width;
        let (table, none) = (self.sizes.index(Role::Embedding, 0), vec![0; width]);
        let mut embedded = vec![0; tokens.len() * width];
        let mut drawn = vec![0; width];
        for (row, (y, token)) in embedded.chunks_exact_mut(width).zip(tokens).enumerate() {
            let member = &self.members.list[row / self.rows];
            let at = usize::from(*token) * width..(usize::from(*token) + 1) * width;
            let noise = match member.noise {
                Noise::None => &none[..],
                Noise::FullRank(noise) => &noise.matrices[table][at.clone()],
                Noise::LowRank(noise) => {
                    noise.matrices[table].row(noise.rank, usize::from(*token), &mut drawn);
                    &drawn
                }
            };
            let weights = &self.members.weights.matrices[table][at];
            quantized::embed(weights, noise, (member.sign, self.members.shift), is_fixed_point, y);
        }
        embedded
    }

    /// Writes elements of a vector of a member from `first` on, with their perturbation.
    pub fn vector(&self, member: usize, vector: Vector, first: usize, to: &mut [f32]) {
        let (at, member) = (vector as usize, &self.members.list[member]);
        let range = first..first + to.len();
        let values = &self.members.weights.vectors[at][range.clone()];
        let noise = match member.noise {
            Noise::None => {
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

/// Adds `sign · E x` to the sums of the rows of a member, `E = factor · A Bᵀ`.
fn add_low_rank(noise: &LowRank, (rank, sign): (usize, i8), matrix: &Matrix, x: &[i8], sums: &mut [i32]) {
    let factor = i32::from(sign) * LowRank::factor(rank);
    for (a, b) in noise.a.chunks_exact(matrix.rows).zip(noise.b.chunks_exact(matrix.columns)) {
        add_outer(a, b, factor, x, sums);
    }
}

wide_fn! {
    /// Adds `factor · a (b · x)` to the sums of each row.
    fn add_outer(a: &[i8], b: &[i8], factor: i32, x: &[i8], sums: &mut [i32]) {
        for (x, sums) in x.chunks_exact(b.len()).zip(sums.chunks_exact_mut(a.len())) {
            let mut along = 0;
            for (x, b) in x.iter().zip(b) {
                along += i32::from(*x) * i32::from(*b);
            }
            for (sum, a) in sums.iter_mut().zip(a) {
                *sum += factor * along * i32::from(*a);
            }
        }
    }
}
