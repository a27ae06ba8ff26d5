//! Perturbations: integers with an address, so that they are drawn again for the update instead of being stored.
//!
//! [`Generator::SumOfFour`] repeats the numbers of the published program, bit for bit. All arithmetic is on 64 bits,
//! wrapping.

use super::{
    choices::Generator,
    model::{Matrix, Sizes, Vector},
};

/// Increment of the generator, the odd number nearest to `2^64 / φ`.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Advances the state of splitmix64 and returns its next number (Steele et al. 2014).
pub const fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// Combines two words into a seed.
pub const fn mix(a: u64, b: u64) -> u64 {
    let x = a ^ b.wrapping_add(GOLDEN).wrapping_add(a << 6).wrapping_add(a >> 2);
    let x = (x ^ x >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let x = (x ^ x >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ x >> 33
}

/// Maps the low byte of a word to -1 (85 of 256), 0 (85) or 1 (86).
pub const fn ternary(word: u64) -> i8 {
    match word as u8 {
        0..85 => -1,
        85..170 => 0,
        _ => 1,
    }
}

impl Generator {
    /// Returns element `index` of the perturbation of a tensor.
    pub const fn element(self, tensor_seed: u64, index: u64) -> i8 {
        match self {
            Self::SumOfFour => {
                let mut state = mix(tensor_seed, index);
                let (mut sum, mut j) = (0, 0);
                while j < 4 {
                    sum += ternary(splitmix64(&mut state));
                    j += 1;
                }
                sum
            }
            Self::Ternary => ternary(mix(tensor_seed, index)),
            Self::Popcount => {
                let byte = mix(tensor_seed, index / 8) >> (8 * (index % 8)) & 0xFF;
                byte.count_ones() as i8 - 4
            }
        }
    }

    /// Writes the elements of a tensor.
    pub fn fill(self, tensor_seed: u64, elements: &mut [i8]) {
        elements.iter_mut().enumerate().for_each(|(i, e)| *e = self.element(tensor_seed, i as u64));
    }
}

/// Returns the seed of a pair of members in a generation.
pub const fn pair_seed(run_seed: u64, generation: u64, pair: u64) -> u64 {
    mix(run_seed, mix(generation, pair))
}

/// Draws the starts of `sequences` windows of `steps` tokens and their targets in a text of `len` tokens. The list is
/// empty if the text is too short.
pub fn starts(batch_seed: u64, sequences: usize, steps: usize, len: usize) -> Vec<usize> {
    // The published program never draws the last place, unless it is the only one.
    let Some(n) = len.checked_sub(steps + 1).map(|n| n.max(1)) else { return vec![] };
    let mut state = batch_seed;
    (0..sequences).map(|_| (splitmix64(&mut state) % n as u64) as usize).collect()
}

/// Integer perturbation of every tensor, one integer per weight, shared by the two members of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Perturbation {
    /// Elements of each matrix, in the order of [`Sizes::matrices`].
    pub matrices: Vec<Vec<i8>>,
    /// Elements of each vector, in the order of [`Vector::ALL`].
    pub vectors: [Vec<i8>; 3],
}

impl Perturbation {
    /// Draws the full-rank perturbation of a pair.
    pub fn draw(sizes: &Sizes, generator: Generator, pair_seed: u64) -> Self {
        let tensor = |salt: u64, len: usize| {
            let mut elements = vec![0; len];
            generator.fill(mix(pair_seed, salt), &mut elements);
            elements
        };
        let matrices = sizes.matrices();
        Self {
            matrices: matrices.iter().map(|m| tensor(m.salt(), m.rows * m.columns)).collect(),
            vectors: Vector::ALL.map(|v| tensor(v.salt(), sizes.len(v))),
        }
    }
}

/// Factors of the perturbation `E = factor · A Bᵀ` of a matrix. Their elements are -1 or 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowRank {
    /// A, `[rank, rows]`.
    pub a: Vec<i8>,
    /// B, `[rank, columns]`.
    pub b: Vec<i8>,
}

impl LowRank {
    /// Returns the factor, `2 / sqrt(rank)` rounded to an integer of at least 1. The standard deviation of an element
    /// of E is `factor · sqrt(rank)`.
    pub fn factor(rank: usize) -> i32 {
        (2.0 / (rank as f64).sqrt()).round_ties_even().max(1.0) as i32
    }

    /// Draws the factors of a matrix: bit i of the words `mix(seed, i / 64)`, first of A, then of B.
    pub fn draw(rank: usize, matrix: &Matrix, tensor_seed: u64) -> Self {
        let n_a = rank * matrix.rows;
        let mut all = signs(tensor_seed, n_a + rank * matrix.columns);
        let b = all.split_off(n_a);
        Self { a: all, b }
    }

    /// Returns the factors of each rank: a row of A and a row of B.
    pub fn pairs(&self, rank: usize) -> impl Iterator<Item = (&[i8], &[i8])> {
        let (rows, columns) = (self.a.len() / rank, self.b.len() / rank);
        self.a.chunks_exact(rows).zip(self.b.chunks_exact(columns))
    }

    /// Writes a row of E.
    pub fn row(&self, rank: usize, row: usize, elements: &mut [i8]) {
        let (rows, columns, factor) = (self.a.len() / rank, self.b.len() / rank, Self::factor(rank));
        if rank == 1 {
            let by = factor as i8 * self.a[row];
            return elements.iter_mut().zip(&self.b).for_each(|(e, b)| *e = by * b);
        }
        elements.iter_mut().enumerate().for_each(|(column, e)| {
            let product = |k: usize| i32::from(self.a[k * rows + row]) * i32::from(self.b[k * columns + column]);
            *e = (factor * (0..rank).map(product).sum::<i32>()).clamp(-127, 127) as i8;
        });
    }
}

/// Draws `len` signs, -1 or 1: sign i is bit `i mod 64` of the word `mix(tensor_seed, i / 64)`.
pub fn signs(tensor_seed: u64, len: usize) -> Vec<i8> {
    let mut all = Vec::with_capacity(len.next_multiple_of(64));
    for word in 0..len.div_ceil(64) as u64 {
        let bits = mix(tensor_seed, word);
        all.extend((0..64).map(|i| if bits >> i & 1 == 0 { -1 } else { 1 }));
    }
    all.truncate(len);
    all
}

/// Low-rank perturbation of every matrix, and perturbation of the vectors, shared by the two members of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factors {
    pub rank: usize,
    /// Factors of each matrix, in the order of [`Sizes::matrices`].
    pub matrices: Vec<LowRank>,
    /// Elements of each vector, -2 or 2, in the order of [`Vector::ALL`].
    pub vectors: [Vec<i8>; 3],
}

impl Factors {
    /// Draws the perturbation of rank `rank` of a pair.
    pub fn draw(sizes: &Sizes, rank: usize, pair_seed: u64) -> Self {
        let matrices = sizes.matrices();
        let vector = |v: Vector| {
            let mut elements = signs(mix(pair_seed, v.salt()), sizes.len(v));
            elements.iter_mut().for_each(|e| *e *= 2);
            elements
        };
        Self {
            rank,
            matrices: matrices.iter().map(|m| LowRank::draw(rank, m, mix(pair_seed, m.salt()))).collect(),
            vectors: Vector::ALL.map(vector),
        }
    }

    /// Returns the factors of each rank of a matrix, and their common factor.
    pub fn pairs(&self, matrix: usize) -> impl Iterator<Item = (&[i8], &[i8], i64)> {
        let factor = i64::from(LowRank::factor(self.rank));
        self.matrices[matrix].pairs(self.rank).map(move |(a, b)| (a, b, factor))
    }

    /// Returns the perturbation as full matrices, with one integer per weight.
    pub fn full(&self, sizes: &Sizes) -> Perturbation {
        let matrix = |(matrix, noise): (Matrix, &LowRank)| {
            let mut elements = vec![0; matrix.rows * matrix.columns];
            let rows = elements.chunks_exact_mut(matrix.columns).enumerate();
            rows.for_each(|(row, elements)| noise.row(self.rank, row, elements));
            elements
        };
        let matrices = sizes.matrices().into_iter().zip(&self.matrices).map(matrix).collect();
        Perturbation { matrices, vectors: self.vectors.clone() }
    }
}
