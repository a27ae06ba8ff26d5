//! Weighted sums for perturbed activations: products of the signs with the inputs of the unperturbed model.

use super::{
    Buffers, Member, Members, Observation, Shared,
    population::{Generation, ROWS_TOGETHER},
};
use crate::{
    gpu::StopFlag,
    kinds::evolution::{
        activation_noise::ActivationSigns,
        model::{Role, Sizes, Vector, Weights},
        noise::pair_seed,
    },
    nn::real::wide_fn,
};
use std::ops::Range;

/// Number of inputs of a tile of sums.
const TILE: usize = 32;
/// Number of rows after which sums in 16 bits are added to wider ones.
const ROWS: usize = 256;

/// Pairs with rows that are computed together: signs, and weights in units of 2^-20.
struct Group {
    signs: Vec<ActivationSigns>,
    weights: Vec<i64>,
    /// Rows of a pair that are computed.
    rows: Range<usize>,
}

impl Generation<'_> {
    /// Computes Z of all tensors from the weights of the pairs from `first` on; `None` if stopped.
    pub(super) fn activation_sums(
        &self,
        of_model: &Weights,
        (first, weights): (usize, &[i64]),
        stop: &StopFlag,
    ) -> Option<Vec<Vec<i64>>> {
        let (sizes, sequences) = (&self.network.sizes, self.settings.sequences);
        let mut z: Vec<Vec<i64>> = sizes.lengths().iter().map(|len| vec![0; *len]).collect();
        let (shared, mut buffers) = (Shared::new(sizes, of_model), Buffers::default());
        let together = (ROWS_TOGETHER / (sequences * sizes.steps)).max(1);
        let at_once = (ROWS_TOGETHER / (together * sizes.steps)).max(1);
        for (at, weights) in weights.chunks(together).enumerate() {
            let pairs = first + at * together..first + at * together + weights.len();
            let seed = |pair: usize| pair_seed(self.settings.seed, self.number, pair as u64);
            let draw = |pair| ActivationSigns::draw(sizes, sequences * sizes.steps, seed(pair));
            let mut group = Group { signs: pairs.clone().map(draw).collect(), weights: weights.to_vec(), rows: 0..0 };
            let starts: Vec<Vec<usize>> = pairs.map(|pair| self.starts(pair)).collect();
            for from in (0..starts[0].len()).step_by(at_once) {
                if stop.is_raised() {
                    return None;
                }
                let to = starts[0].len().min(from + at_once);
                group.rows = from * sizes.steps..to * sizes.steps;
                let list = vec![Member::UNPERTURBED; weights.len()];
                let members = Members { weights: of_model, shift: 0, list: &list };
                let of_pairs = starts.iter().flat_map(|starts| &starts[from..to]);
                let tokens: Vec<u16> =
                    of_pairs.flat_map(|start| &self.text[*start..][..sizes.steps]).copied().collect();
                group.add_inputs(sizes, of_model, &tokens, &mut z);
                let mut observe = |observed: Observation<'_>| group.add_observed(sizes, &observed, &mut z);
                self.network.forward((&shared, members), &tokens, &mut [], &mut buffers, Some(&mut observe));
            }
        }
        Some(z)
    }
}

impl Group {
    /// Calls `add` with the weight, the signs and the rows of each pair: `of_rows` holds `width` values per row of all pairs.
    fn pairs<T>(&self, at: usize, outputs: usize, of_rows: &[T], width: usize, mut add: impl FnMut(i64, &[i8], &[T])) {
        let of_pairs = of_rows.chunks_exact((self.rows.len() * width).max(1));
        for ((signs, weight), of_rows) in self.signs.iter().zip(&self.weights).zip(of_pairs) {
            add(*weight, &signs.matrices[at][self.rows.start * outputs..self.rows.end * outputs], of_rows);
        }
    }

    /// Adds the embedding, the input projection and the positions.
    fn add_inputs(&self, sizes: &Sizes, weights: &Weights, tokens: &[u16], z: &mut [Vec<i64>]) {
        let (width, table, positions) = (sizes.width, sizes.index(Role::Embedding, 0), vector(z, Vector::Positions));
        let of_token = |token: u16| usize::from(token) * width..(usize::from(token) + 1) * width;
        self.pairs(table, width, tokens, 1, |weight, signs, tokens| {
            for (token, signs) in tokens.iter().zip(signs.chunks_exact(width)) {
                add_signs(&mut z[table][of_token(*token)], signs, weight);
            }
        });
        let embedded: Vec<i8> =
            tokens.iter().flat_map(|token| &weights.matrices[table][of_token(*token)]).copied().collect();
        self.add_product(sizes, (Role::Input, 0), &embedded, z);
        self.pairs(sizes.index(Role::Input, 0), width, tokens, 1, |weight, signs, _| {
            for signs in signs.chunks_exact(sizes.steps * width) {
                add_signs(&mut z[positions], signs, weight);
            }
        });
    }

    /// Adds a layer, or the head.
    fn add_observed(&self, sizes: &Sizes, observed: &Observation<'_>, z: &mut [Vec<i64>]) {
        match observed {
            Observation::Layer(of) => {
                for role in [Role::Query, Role::Key, Role::Value, Role::Gate] {
                    self.add_product(sizes, (role, of.layer), of.y, z);
                }
                self.add_product(sizes, (Role::Up, of.layer), of.y_mlp, z);
                self.add_product(sizes, (Role::Down, of.layer), of.hidden, z);
                let (gate, biases) = (sizes.index(Role::Gate, of.layer), vector(z, Vector::GateBias));
                self.pairs(gate, 1, of.y, sizes.width, |weight, signs, _| {
                    z[biases][of.layer] += weight * signs.iter().map(|sign| i64::from(*sign)).sum::<i64>();
                });
            }
            Observation::Head { y, .. } => {
                self.add_product(sizes, (Role::Head, 0), y, z);
                let (head, biases) = (sizes.index(Role::Head, 0), vector(z, Vector::HeadBias));
                self.pairs(head, sizes.vocabulary, y, sizes.width, |weight, signs, _| {
                    for signs in signs.chunks_exact(sizes.vocabulary) {
                        add_signs(&mut z[biases], signs, weight);
                    }
                });
            }
        }
    }

    /// Adds a matrix with the inputs `x`.
    fn add_product(&self, sizes: &Sizes, (role, layer): (Role, usize), x: &[i8], z: &mut [Vec<i64>]) {
        let at = sizes.index(role, layer);
        let matrix = sizes.matrix(at);
        let outputs = matrix.rows;
        self.pairs(at, outputs, x, matrix.columns, |weight, signs, x| {
            if weight != 0 {
                add_outer_products(&mut z[at], signs, x, matrix.columns, weight);
            }
        });
    }
}

/// Returns the index of a vector in Z.
const fn vector(z: &[Vec<i64>], vector: Vector) -> usize {
    z.len() - Vector::ALL.len() + vector as usize
}

wide_fn! {
    fn add_signs(z: &mut [i64], signs: &[i8], weight: i64) {
        for (z, sign) in z.iter_mut().zip(signs) {
            *z += weight * i64::from(*sign);
        }
    }
}

wide_fn! {
    /// Adds `weight · Σ signs[row, output] x[row, input]` to `z[output, input]`; `x` has `inputs` values per row.
    fn add_outer_products(z: &mut [i64], signs: &[i8], x: &[i8], inputs: usize, weight: i64) {
        let outputs = z.len() / inputs;
        for (signs, x) in signs.chunks(ROWS * outputs).zip(x.chunks(ROWS * inputs)) {
            for first in (0..inputs).step_by(TILE) {
                let n = TILE.min(inputs - first);
                for output in 0..outputs {
                    let mut sums = [0_i16; TILE];
                    if n == TILE {
                        for (row, x) in x.chunks_exact(inputs).enumerate() {
                            let (sign, x) = (i16::from(signs[row * outputs + output]), &x[first..first + TILE]);
                            for i in 0..TILE {
                                sums[i] = sums[i].wrapping_add(sign.wrapping_mul(i16::from(x[i])));
                            }
                        }
                    } else {
                        for (row, x) in x.chunks_exact(inputs).enumerate() {
                            let sign = i16::from(signs[row * outputs + output]);
                            for (sum, x) in sums.iter_mut().zip(&x[first..]) {
                                *sum = sum.wrapping_add(sign.wrapping_mul(i16::from(*x)));
                            }
                        }
                    }
                    for (z, sum) in z[output * inputs + first..][..n].iter_mut().zip(&sums) {
                        *z += weight * i64::from(*sum);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outer_products_are_the_plain_sums() {
        for (rows, outputs, inputs) in [(1, 1, 1), (7, 3, 40), (600, 2, 64)] {
            let signs: Vec<i8> = (0..rows * outputs).map(|i| if i * i % 7 < 3 { -1 } else { 1 }).collect();
            let x: Vec<i8> = (0..rows * inputs).map(|i| (i * 31 % 255) as i8).map(|x| x.max(-127)).collect();
            let mut z = vec![5; outputs * inputs];
            add_outer_products(&mut z, &signs, &x, inputs, -3);
            for (i, z) in z.iter().enumerate() {
                let (output, input) = (i / inputs, i % inputs);
                let product =
                    |row: usize| i64::from(signs[row * outputs + output]) * i64::from(x[row * inputs + input]);
                assert_eq!(
                    *z,
                    5 - 3 * (0..rows).map(product).sum::<i64>(),
                    "{rows} rows, output {output}, input {input}"
                );
            }
        }
    }
}
