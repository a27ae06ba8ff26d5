//! Linear attention of all sequences of a pass.

use super::{forward::Buffers, sequence::Sequence};
use crate::{
    kinds::evolution::network::Network,
    nn::delta_rule::{
        cpu::{Step, coefficients},
        lanes::LANES,
    },
};

/// Inputs of attention: queries, keys and values `[rows, H]`, gates `[rows]`.
#[derive(Clone, Copy)]
struct Inputs<'a> {
    query: &'a [f32],
    key: &'a [f32],
    value: &'a [f32],
    gates: &'a [f32],
}

impl<'a> Inputs<'a> {
    fn rows(&self, first: usize, n: usize, width: usize) -> Self {
        let part = |x: &'a [f32]| &x[first * width..(first + n) * width];
        let gates = &self.gates[first..first + n];
        Self { query: part(self.query), key: part(self.key), value: part(self.value), gates }
    }
}

impl Network {
    /// Applies the delta rule to every sequence, or to the next steps of `continued`. Writes the scalars of each step and the
    /// outputs.
    pub(super) fn attend(&self, buffers: &mut Buffers, continued: Option<&mut Sequence>) {
        let (width, steps) = (self.sizes.width, self.sizes.steps);
        let Buffers { query, key, value, gates, steps: scalars, output, chunks, .. } = buffers;
        let of = Inputs { query, key, value, gates };
        if let Some(sequence) = continued {
            return self.attend_alone(of, sequence, scalars, output);
        }
        let mut first = 0;
        if self.attention.state.is_none() {
            let rows = LANES * steps;
            while first + rows <= of.gates.len() {
                let Inputs { query, key, value, gates } = of.rows(first, rows, width);
                let to = (&mut scalars[first..first + rows], &mut output[first * width..(first + rows) * width]);
                chunks.compute(self.attention.method, (query, key, value), gates, to);
                first += rows;
            }
        }
        let mut sequence = Sequence::new(self);
        while first < of.gates.len() {
            let rows = steps.min(of.gates.len() - first);
            sequence.reset();
            let output = &mut output[first * width..(first + rows) * width];
            self.attend_alone(of.rows(first, rows, width), &mut sequence, &mut scalars[first..first + rows], output);
            first += rows;
        }
    }

    /// Applies the delta rule to the next steps of a sequence.
    fn attend_alone(&self, of: Inputs<'_>, sequence: &mut Sequence, scalars: &mut [Step<f32>], output: &mut [f32]) {
        let (mut query, mut key, width) = (of.query.to_vec(), of.key.to_vec(), self.sizes.width);
        let rows = query.chunks_exact_mut(width).zip(key.chunks_exact_mut(width)).zip(of.gates);
        for (to, ((query, key), gate)) in scalars.iter_mut().zip(rows) {
            *to = coefficients(self.attention.method, query, key, *gate);
        }
        let alphas: Vec<f32> = scalars.iter().map(|step| step.alpha).collect();
        sequence.extend((&query, &key, of.value), &alphas, output);
    }
}
