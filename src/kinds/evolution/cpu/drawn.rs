//! Perturbations of pairs, and their sums weighted by the pairs' fitness.

use super::Noise;
use crate::{
    kinds::evolution::{
        activation_noise::ActivationSigns,
        model::{Sizes, Vector},
        noise::{Factors, Perturbation},
        strategy::{self, NoiseForm},
    },
    nn::real::wide_fn,
};

/// Number of pairs that are added to a weighted sum together.
pub const PAIRS_TOGETHER: usize = 16;
/// Largest magnitude of an element of a full-rank perturbation, of a factor, and of a vector's perturbation.
const LARGEST: u64 = 4;
/// Number of elements of a weighted sum that stay in registers.
const TILE: usize = 32;

/// A drawn perturbation.
pub enum Drawn {
    Full(Perturbation),
    Low(Factors),
    Activations(ActivationSigns),
}

impl Drawn {
    /// Draws the perturbation of a pair that reads `rows` tokens.
    pub fn new(sizes: &Sizes, form: NoiseForm, rows: usize, pair_seed: u64) -> Self {
        match form {
            NoiseForm::FullRank(generator) => Self::Full(Perturbation::draw(sizes, generator, pair_seed)),
            NoiseForm::LowRank(rank) => Self::Low(Factors::draw(sizes, rank, pair_seed)),
            NoiseForm::Activations => Self::Activations(ActivationSigns::draw(sizes, rows, pair_seed)),
        }
    }

    /// Returns the perturbation as that of a member, of the rows from `first` on.
    pub fn noise(&self, first: usize) -> Noise<'_> {
        match self {
            Self::Full(perturbation) => Noise::FullRank(perturbation),
            Self::Low(factors) => Noise::LowRank(factors),
            Self::Activations(signs) => Noise::Activations { signs, first },
        }
    }

    fn vectors(&self) -> Option<&[Vec<i8>; 3]> {
        match self {
            Self::Full(Perturbation { vectors, .. }) | Self::Low(Factors { vectors, .. }) => Some(vectors),
            Self::Activations(_) => None,
        }
    }
}

/// Adds the perturbed weights of at most [`PAIRS_TOGETHER`] pairs, each times its weight in units of `2^-20`, to Z of matrices and vectors.
pub fn accumulate(z: &mut [Vec<i64>], drawn: &[(Drawn, i64)]) {
    let n = z.len() - Vector::ALL.len();
    for (at, z) in z[..n].iter_mut().enumerate() {
        let full = drawn.iter().filter_map(|(drawn, weight)| match drawn {
            Drawn::Full(perturbation) => Some((&perturbation.matrices[at][..], *weight)),
            Drawn::Low(_) | Drawn::Activations(_) => None,
        });
        accumulate_rows(z, &full.collect::<Vec<_>>());
        accumulate_low_rank(z, at, drawn);
    }
    for (at, z) in z[n..].iter_mut().enumerate() {
        let elements = drawn.iter().filter_map(|(drawn, weight)| Some((&drawn.vectors()?[at][..], *weight)));
        accumulate_rows(z, &elements.collect::<Vec<_>>());
    }
}

/// Adds the low-rank perturbations of a matrix.
fn accumulate_low_rank(z: &mut [i64], at: usize, drawn: &[(Drawn, i64)]) {
    let factors = drawn.iter().filter_map(|(drawn, weight)| match drawn {
        Drawn::Low(factors) => Some((factors, *weight)),
        Drawn::Full(_) | Drawn::Activations(_) => None,
    });
    let pairs: Vec<(&[i8], &[i8], i64)> = factors
        .flat_map(|(factors, weight)| factors.pairs(at).map(move |(a, b, factor)| (a, b, weight * factor)))
        .collect();
    let Some((_, b, _)) = pairs.first() else { return };
    let mut elements = Vec::with_capacity(pairs.len());
    for (row, z) in z.chunks_exact_mut(b.len()).enumerate() {
        elements.clear();
        elements.extend(pairs.iter().map(|(a, b, weight)| (*b, weight * i64::from(a[row]))));
        for elements in elements.chunks(PAIRS_TOGETHER) {
            accumulate_rows(z, elements);
        }
    }
}

/// Adds rows of integers of at most [`LARGEST`], each times a weight.
fn accumulate_rows(z: &mut [i64], rows: &[(&[i8], i64)]) {
    if rows.iter().map(|(_, weight)| weight.unsigned_abs()).sum::<u64>() < (1 << 31) / LARGEST {
        add_small(z, rows);
    } else {
        rows.iter().for_each(|(elements, weight)| strategy::accumulate(z, elements, *weight));
    }
}

wide_fn! {
    /// Adds rows times weights, if all sums fit into 32 bits.
    fn add_small(z: &mut [i64], rows: &[(&[i8], i64)]) {
        let whole = z.len() - z.len() % TILE;
        for first in (0..whole).step_by(TILE) {
            let mut sums = [0_i32; TILE];
            for (elements, weight) in rows {
                let (weight, elements) = (*weight as i32, &elements[first..first + TILE]);
                for i in 0..TILE {
                    sums[i] += weight * i32::from(elements[i]);
                }
            }
            for (z, sum) in z[first..first + TILE].iter_mut().zip(&sums) {
                *z += i64::from(*sum);
            }
        }
        for (elements, weight) in rows {
            for (z, e) in z[whole..].iter_mut().zip(&elements[whole..]) {
                *z += weight * i64::from(*e);
            }
        }
    }
}
