//! Products of rows of 8-bit integers with a small matrix of weights -1, 0 and 1.
//!
//! A vector runs over the outputs, and its 16-bit sums stay in registers: the magnitude of a sum is at most 127 times the number of
//! inputs. The matrix is rearranged once for many products. [`gemm`](crate::nn::gemm) multiplies matrices that are larger, and
//! weights of other values.

use crate::nn::real::wide_fn;

/// Largest number of inputs, at which sums fit into 16 bits.
pub const MAX_INPUTS: usize = 256;
/// Number of outputs of a tile.
const TILE: usize = 32;
/// Number of rows that share the loads of a tile.
const ROWS: usize = 4;
/// Number of outputs after the last whole tile that are computed one by one.
const FEW: usize = 4;

/// Matrix `[outputs, inputs]` of weights -1, 0 and 1.
#[derive(Clone, Debug)]
pub struct TernaryMatrix {
    inputs: usize,
    outputs: usize,
    /// Weights of each tile, `[tiles, inputs]`; the last one is padded with 0.
    tiles: Vec<[i16; TILE]>,
    /// Weights of the outputs after the tiles, `[outputs, inputs]`.
    rest: Vec<i8>,
}

impl TernaryMatrix {
    /// Rearranges weights `[outputs, inputs]`; `None` if there are no inputs or more than [`MAX_INPUTS`].
    pub fn new(weights: &[i8], inputs: usize) -> Option<Self> {
        if inputs == 0 || inputs > MAX_INPUTS {
            return None;
        }
        let outputs = weights.len() / inputs;
        let whole = if outputs % TILE <= FEW { outputs - outputs % TILE } else { outputs };
        let mut tiles = vec![[0; TILE]; whole.div_ceil(TILE) * inputs];
        for (output, row) in weights.chunks_exact(inputs).take(whole).enumerate() {
            let tile = &mut tiles[output / TILE * inputs..][..inputs];
            tile.iter_mut().zip(row).for_each(|(to, weight)| to[output % TILE] = i16::from(*weight));
        }
        Some(Self { inputs, outputs, tiles, rest: weights[whole * inputs..].to_vec() })
    }

    /// Returns the number of inputs.
    pub const fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the number of outputs.
    pub const fn outputs(&self) -> usize {
        self.outputs
    }

    /// Multiplies rows `[rows, inputs]`; writes sums `[rows, outputs]`.
    ///
    /// # Panics
    /// Panics if the number of sums is not that of the rows.
    pub fn multiply(&self, x: &[i8], sums: &mut [i32]) {
        assert_eq!(x.len() / self.inputs * self.outputs, sums.len(), "sums of all rows");
        multiply(self, x, sums);
    }
}

wide_fn! {
    fn multiply(matrix: &TernaryMatrix, x: &[i8], sums: &mut [i32]) {
        let (inputs, outputs) = (matrix.inputs, matrix.outputs);
        let rows = x.len() / inputs;
        let mut wide = [[0; MAX_INPUTS]; ROWS];
        for first in (0..rows).step_by(ROWS) {
            let n = ROWS.min(rows - first);
            let (x, sums) = (&x[first * inputs..][..n * inputs], &mut sums[first * outputs..][..n * outputs]);
            for (wide, x) in wide.iter_mut().zip(x.chunks_exact(inputs)) {
                for (wide, x) in wide.iter_mut().zip(x) {
                    *wide = i16::from(*x);
                }
            }
            let mut output = 0;
            for tile in matrix.tiles.chunks_exact(inputs) {
                let of_tile = products(tile, &wide);
                for (sums, of_tile) in sums.chunks_exact_mut(outputs).zip(&of_tile) {
                    let to = &mut sums[output..];
                    if to.len() >= TILE {
                        for (to, sum) in to[..TILE].iter_mut().zip(of_tile) {
                            *to = i32::from(*sum);
                        }
                    } else {
                        for (to, sum) in to.iter_mut().zip(of_tile) {
                            *to = i32::from(*sum);
                        }
                    }
                }
                output += TILE;
            }
            for (of_output, weights) in matrix.rest.chunks_exact(inputs).enumerate() {
                for (x, sums) in x.chunks_exact(inputs).zip(sums.chunks_exact_mut(outputs)) {
                    sums[output + of_output] = dot(x, weights);
                }
            }
        }
    }
}

/// Returns the sums of a tile for [`ROWS`] rows.
#[inline(always)]
fn products(tile: &[[i16; TILE]], rows: &[[i16; MAX_INPUTS]; ROWS]) -> [[i16; TILE]; ROWS] {
    let mut sums = [[0_i16; TILE]; ROWS];
    for (input, weights) in tile.iter().enumerate().take(MAX_INPUTS) {
        for row in 0..ROWS {
            let x = rows[row][input];
            for output in 0..TILE {
                sums[row][output] = sums[row][output].wrapping_add(x.wrapping_mul(weights[output]));
            }
        }
    }
    sums
}

/// Returns the product of two rows of 8-bit integers.
#[inline(always)]
pub fn dot(a: &[i8], b: &[i8]) -> i32 {
    let mut sum = 0;
    for (a, b) in a.iter().zip(b) {
        sum += i32::from(i16::from(*a)) * i32::from(i16::from(*b));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::rng::philox4x32;

    #[test]
    fn sums_are_those_of_the_plain_product() {
        for (outputs, inputs) in [(1, 32), (65, 32), (32, 64), (96, 33), (36, 7), (37, 1), (3, 256)] {
            let word = |i: usize, purpose| philox4x32([i as u32, purpose, 0, 0], [3, 4])[0];
            let weights: Vec<i8> = (0..outputs * inputs).map(|i| (word(i, 0) % 3) as i8 - 1).collect();
            let matrix = TernaryMatrix::new(&weights, inputs).expect("a small matrix");
            for rows in [0, 1, 3, 4, 9] {
                let x: Vec<i8> = (0..rows * inputs).map(|i| (word(i, 1) % 255) as u8 as i8).collect();
                let x: Vec<i8> = x.iter().map(|x| (*x).max(-127)).collect();
                let mut sums = vec![i32::MIN; rows * outputs];
                matrix.multiply(&x, &mut sums);
                let rows = x.chunks_exact(inputs);
                let want = rows.flat_map(|x| weights.chunks_exact(inputs).map(|w| dot(x, w)).collect::<Vec<i32>>());
                assert!(want.eq(sums.iter().copied()), "{rows:?} rows, {outputs} x {inputs}", rows = x.len() / inputs);
            }
        }
        let (x, ones) = ([-127; MAX_INPUTS], [1; MAX_INPUTS]);
        let mut sums = [0];
        TernaryMatrix::new(&ones, MAX_INPUTS).expect("a small matrix").multiply(&x, &mut sums);
        assert_eq!(sums, [-127 * 256], "the largest magnitude");
        assert!(TernaryMatrix::new(&[1; MAX_INPUTS + 1], MAX_INPUTS + 1).is_none());
    }
}
