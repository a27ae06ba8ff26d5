//! State of linear attention along one sequence.

use crate::{
    kinds::evolution::network::Network,
    nn::delta_rule::cpu::{self as delta_rule, Chunk, StateFormat},
};

/// Steps of a sequence so far, in a layer.
#[derive(Clone, Debug)]
pub enum Sequence {
    /// Chunk form: keys and corrections of all steps.
    Chunk {
        /// Width of keys and values.
        width: usize,
        /// Largest number of steps.
        capacity: usize,
        /// Keys and corrections.
        chunk: Chunk<f32>,
        /// Number of steps.
        len: usize,
    },
    /// Recurrence: a state matrix `[H, H]`.
    State {
        /// State that maps keys to values.
        matrix: Vec<f32>,
        /// Corrections of the last step.
        delta: Vec<f32>,
        /// Format in which the state is stored.
        format: StateFormat,
        /// Number of steps.
        len: usize,
    },
}

impl Sequence {
    /// Creates an empty sequence of a layer.
    pub fn new(network: &Network) -> Self {
        let (width, capacity) = (network.sizes.width, network.sizes.steps);
        let mut new = match network.attention.state {
            None => Self::Chunk { width, capacity, chunk: Chunk::default(), len: 0 },
            Some(format) => Self::State { matrix: vec![0.0; width * width], delta: vec![0.0; width], format, len: 0 },
        };
        new.reset();
        new
    }

    /// Empties the sequence.
    pub fn reset(&mut self) {
        match self {
            Self::Chunk { width, capacity, chunk, len } => {
                chunk.reset(*width, *capacity);
                *len = 0;
            }
            Self::State { matrix, len, .. } => {
                matrix.fill(0.0);
                *len = 0;
            }
        }
    }

    /// Returns the number of steps so far.
    pub const fn n_steps(&self) -> usize {
        match self {
            Self::Chunk { len, .. } | Self::State { len, .. } => *len,
        }
    }

    /// Adds steps: q̂, κ and v `[steps, H]`, and α of each step. `output` receives the outputs, `[steps, H]`.
    pub fn extend(&mut self, (query, key, value): (&[f32], &[f32], &[f32]), alphas: &[f32], output: &mut [f32]) {
        match self {
            Self::Chunk { chunk, len, .. } => {
                chunk.extend((query, key, value), alphas, output);
                *len += alphas.len();
            }
            Self::State { matrix, delta, format, len } => {
                let width = delta.len();
                for ((at, alpha), output) in alphas.iter().enumerate().zip(output.chunks_exact_mut(width)) {
                    let row = at * width..(at + 1) * width;
                    let of = (&query[row.clone()], &key[row.clone()], &value[row]);
                    delta_rule::step(matrix, of, *alpha, *format, delta, output);
                }
                *len += alphas.len();
            }
        }
    }
}
