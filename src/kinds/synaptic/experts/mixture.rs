//! Computes the experts: `out_t += Σ_s gate_ts y_ts`, `y = W₂ relu(W₁ x + b₁)² + b₂`, with the weights of the expert in
//! slot s.
//!
//! Tokens are gathered by group (see [`Routing`]), so that an expert is one GEMM over the rows of its group, and an expert
//! without tokens needs no computation. The backward pass overwrites activations that are no longer needed: both passes
//! together use 2 (C + hidden) elements per row.

use super::{ExpertsError, Routing, resize};
use crate::{
    gpu::StopFlag,
    nn::{
        elementwise::cpu::bias_gradient,
        gemm::{Gemm, Split, cpu::groups_parts},
        lengths,
        real::{Real, wide},
    },
};
use rayon::prelude::*;

/// Number of rows per parallel task that copies or adds.
const TASK: usize = 64;

/// Sizes of a mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixture {
    /// Number of expert slots, E.
    pub experts: usize,
    /// Number of experts per token, k.
    pub top_k: usize,
    /// Number of features per token, C.
    pub width: usize,
    /// Number of hidden features of an expert.
    pub hidden: usize,
}

/// Weights of all experts.
#[derive(Clone, Copy, Debug)]
pub struct ExpertWeights<'a, R> {
    /// First matrices, `[E, hidden, C]`.
    pub fc1_weight: &'a [R],
    /// First biases, `[E, hidden]`.
    pub fc1_bias: &'a [R],
    /// Second matrices, `[E, C, hidden]`.
    pub fc2_weight: &'a [R],
    /// Second biases, `[E, C]`.
    pub fc2_bias: &'a [R],
}

/// Buffers to which the gradients of the weights are added, in the layout of [`ExpertWeights`].
#[derive(Debug)]
pub struct ExpertGradients<'a, R> {
    /// Gradients of the first matrices, `[E, hidden, C]`.
    pub fc1_weight: &'a mut [R],
    /// Gradients of the first biases, `[E, hidden]`.
    pub fc1_bias: &'a mut [R],
    /// Gradients of the second matrices, `[E, C, hidden]`.
    pub fc2_weight: &'a mut [R],
    /// Gradients of the second biases, `[E, C]`.
    pub fc2_bias: &'a mut [R],
}

/// Activations of a layer by row of its groups, kept for the backward pass, which overwrites them.
#[derive(Clone, Debug, Default)]
pub struct MixtureWork<R> {
    /// Inputs, `[N k, C]`.
    inputs: Vec<R>,
    /// Input of the squared ReLU, `W₁ x + b₁`, `[N k, hidden]`.
    linear: Vec<R>,
    /// Output of the squared ReLU, `[N k, hidden]`.
    hidden: Vec<R>,
    /// Outputs before the gates, `[N k, C]`.
    outputs: Vec<R>,
}

impl<R: Real + Default> MixtureWork<R> {
    fn resize(&mut self, op: &Mixture, rows: usize) -> Result<(), ExpertsError> {
        for (buffer, columns) in [
            (&mut self.inputs, op.width),
            (&mut self.linear, op.hidden),
            (&mut self.hidden, op.hidden),
            (&mut self.outputs, op.width),
        ] {
            resize(buffer, rows.saturating_mul(columns))?;
        }
        Ok(())
    }

    /// Returns the outputs of the experts before the gates, by row, `[N k, C]`; valid until the backward pass.
    pub fn outputs(&self) -> &[R] {
        &self.outputs
    }
}

impl Mixture {
    /// Returns the size of the activations of `tokens` tokens, bytes.
    pub const fn n_bytes<R>(&self, tokens: usize) -> u64 {
        (tokens * self.top_k * 2 * (self.width + self.hidden) * size_of::<R>()) as u64
    }

    fn check(&self, tokens: usize, x: usize, out: usize, weights: [usize; 4]) -> Result<(), ExpertsError> {
        let [fc1_weight, fc1_bias, fc2_weight, fc2_bias] = weights;
        Ok(lengths::check([
            ("the input of a mixture", &[tokens, self.width], x),
            ("the output of a mixture", &[tokens, self.width], out),
            ("the first weight of experts", &[self.experts, self.hidden, self.width], fc1_weight),
            ("the first bias of experts", &[self.experts, self.hidden], fc1_bias),
            ("the second weight of experts", &[self.experts, self.width, self.hidden], fc2_weight),
            ("the second bias of experts", &[self.experts, self.width], fc2_bias),
        ])?)
    }

    /// Computes `out += Σ gate · expert(x)`; x and out are `[N, C]`. Checks the stop flag. Fails if a length does not fit
    /// or the computation was stopped.
    pub fn forward<R: Real + Default>(
        &self,
        x: &[R],
        routing: &Routing<R>,
        weights: ExpertWeights<'_, R>,
        work: &mut MixtureWork<R>,
        out: &mut [R],
        stop: &StopFlag,
    ) -> Result<(), ExpertsError> {
        let w = &weights;
        let lens = [w.fc1_weight.len(), w.fc1_bias.len(), w.fc2_weight.len(), w.fc2_bias.len()];
        self.check(routing.tokens, x.len(), out.len(), lens)?;
        let rows = routing.order.len();
        work.resize(self, rows)?;
        let MixtureWork { inputs, linear, hidden, outputs } = work;
        self.gather(x, routing, inputs);
        let split = (Split::Rows, &routing.offsets[..]);
        let up = Gemm::new(rows, self.hidden, self.width).transposed_b().groups(Split::Rows, self.experts);
        groups(&up, split, (inputs, w.fc1_weight), linear, None, stop)?;
        self.activate(routing, w.fc1_bias, linear, hidden);
        let down = Gemm::new(rows, self.width, self.hidden).transposed_b().groups(Split::Rows, self.experts);
        groups(&down, split, (hidden, w.fc2_weight), outputs, Some(w.fc2_bias), stop)?;
        self.combine(routing, outputs, out, |slot| routing.gates[slot]);
        Ok(())
    }

    /// Adds the gradients of input and weights, and writes the gradients of the gates (`[N, k]`). `work` must come from the
    /// forward pass of this batch; its contents are consumed. Checks the stop flag. Fails as the forward pass does.
    pub fn backward<R: Real + Default>(
        &self,
        routing: &Routing<R>,
        weights: ExpertWeights<'_, R>,
        work: &mut MixtureWork<R>,
        dout: &[R],
        dx: &mut [R],
        gradients: ExpertGradients<'_, R>,
        dgates: &mut [R],
        stop: &StopFlag,
    ) -> Result<(), ExpertsError> {
        let g = gradients;
        let lens = [g.fc1_weight.len(), g.fc1_bias.len(), g.fc2_weight.len(), g.fc2_bias.len()];
        self.check(routing.tokens, dx.len(), dout.len(), lens)?;
        let rows = routing.order.len();
        lengths::check([
            ("the gradient of gates", &[rows], dgates.len()),
            ("the activations of a mixture", &[rows, self.hidden], work.hidden.len()),
        ])?;
        let MixtureWork { inputs, linear, hidden, outputs } = work;
        self.scatter(routing, dout, outputs, dgates);
        // From this point on, `outputs` contains the gradients of the outputs.
        self.add_weight_gradients(routing, outputs, hidden, g.fc2_weight, g.fc2_bias, stop)?;
        let down = Gemm::new(rows, self.hidden, self.width).groups(Split::Rows, self.experts);
        let split = (Split::Rows, &routing.offsets[..]);
        groups(&down, split, (outputs, weights.fc2_weight), hidden, None, stop)?;
        hidden.par_chunks_mut(TASK * self.hidden).zip(linear.par_chunks(TASK * self.hidden)).for_each(|(d, z)| {
            let slope = |z: R| if z > R::zero() { z + z } else { R::zero() };
            wide(|| d.iter_mut().zip(z).for_each(|(d, z)| *d *= slope(*z)));
        });
        // From this point on, `hidden` contains the gradient of `linear`.
        self.add_weight_gradients(routing, hidden, inputs, g.fc1_weight, g.fc1_bias, stop)?;
        let up = Gemm::new(rows, self.width, self.hidden).groups(Split::Rows, self.experts);
        groups(&up, split, (hidden, weights.fc1_weight), inputs, None, stop)?;
        self.combine(routing, inputs, dx, |_| R::one());
        Ok(())
    }

    /// Copies tokens to the rows of their groups.
    fn gather<R: Real>(&self, x: &[R], routing: &Routing<R>, inputs: &mut [R]) {
        let width = self.width;
        let tasks = inputs.par_chunks_mut(TASK * width).zip(routing.order.par_chunks(TASK));
        tasks.for_each(|(inputs, order)| {
            for (row, assignment) in inputs.chunks_exact_mut(width).zip(order) {
                row.copy_from_slice(&x[*assignment as usize / self.top_k * width..][..width]);
            }
        });
    }

    /// Adds the bias to `linear`, and writes its squared ReLU to `hidden`.
    fn activate<R: Real>(&self, routing: &Routing<R>, bias: &[R], linear: &mut [R], hidden: &mut [R]) {
        let n = self.hidden;
        let tasks = linear.par_chunks_mut(TASK * n).zip(hidden.par_chunks_mut(TASK * n));
        tasks.zip(routing.order.par_chunks(TASK)).for_each(|((linear, hidden), order)| {
            wide(|| {
                let rows = linear.chunks_exact_mut(n).zip(hidden.chunks_exact_mut(n));
                for ((linear, hidden), assignment) in rows.zip(order) {
                    let bias = &bias[routing.indices[*assignment as usize] as usize * n..][..n];
                    for ((z, h), bias) in linear.iter_mut().zip(hidden).zip(bias) {
                        *z += *bias;
                        let positive = if *z > R::zero() { *z } else { R::zero() };
                        *h = positive * positive;
                    }
                }
            });
        });
    }

    /// Computes `out_t += Σ_s scale_ts rows_ts`, with slots in order.
    fn combine<R: Real>(&self, routing: &Routing<R>, rows: &[R], out: &mut [R], scale: impl Fn(usize) -> R + Sync) {
        let (width, k) = (self.width, self.top_k);
        out.par_chunks_mut(TASK * width).enumerate().for_each(|(task, out)| {
            wide(|| {
                for (token, out) in (task * TASK..).zip(out.chunks_exact_mut(width)) {
                    for slot in token * k..(token + 1) * k {
                        let (scale, row) = (scale(slot), &rows[routing.ranks[slot] as usize * width..][..width]);
                        out.iter_mut().zip(row).for_each(|(out, y)| *out += scale * *y);
                    }
                }
            });
        });
    }

    /// Computes the gradients of the gates, `dgate = dout · y`, then replaces the rows of y by their gradients, `gate ·
    /// dout`.
    fn scatter<R: Real>(&self, routing: &Routing<R>, dout: &[R], outputs: &mut [R], dgates: &mut [R]) {
        let width = self.width;
        let mut by_row = vec![R::zero(); outputs.len() / width.max(1)];
        let tasks = outputs.par_chunks_mut(TASK * width).zip(routing.order.par_chunks(TASK));
        tasks.zip(by_row.par_chunks_mut(TASK)).for_each(|((outputs, order), by_row)| {
            wide(|| {
                let rows = outputs.chunks_exact_mut(width).zip(order).zip(by_row);
                for ((y, assignment), dgate) in rows {
                    let (gate, token) = (routing.gates[*assignment as usize], *assignment as usize / self.top_k);
                    let dout = &dout[token * width..][..width];
                    let [dot] = crate::nn::real::sums([&*y, dout], |[y, d]| [y * d]);
                    *dgate = R::of(dot);
                    y.iter_mut().zip(dout).for_each(|(y, d)| *y = gate * *d);
                }
            });
        });
        dgates.iter_mut().zip(&routing.ranks).for_each(|(dgate, row)| *dgate = by_row[*row as usize]);
    }

    /// Computes `dW += dyᵀ x` and `db += Σ dy` for every expert, with dy `[rows, outputs]` and x `[rows, inputs]`. Fails if
    /// the sizes do not match or the pass is stopped.
    fn add_weight_gradients<R: Real>(
        &self,
        routing: &Routing<R>,
        dy: &[R],
        x: &[R],
        dweight: &mut [R],
        dbias: &mut [R],
        stop: &StopFlag,
    ) -> Result<(), ExpertsError> {
        let (rows, outputs) = (routing.order.len(), dbias.len() / self.experts);
        let inputs = dweight.len() / dbias.len();
        let op = Gemm::new(outputs, inputs, rows).transposed_a().scaled(R::one(), R::one());
        let op = op.groups(Split::Depth, self.experts);
        groups(&op, (Split::Depth, &routing.offsets), (dy, x), dweight, None, stop)?;
        dbias.par_chunks_exact_mut(outputs).enumerate().try_for_each(|(e, dbias)| {
            let rows = routing.rows(e);
            bias_gradient(rows.len(), outputs, &dy[rows.start * outputs..rows.end * outputs], dbias)
        })?;
        Ok(())
    }
}

fn groups<R: Real>(
    op: &Gemm<R>,
    split: (Split, &[u32]),
    factors: (&[R], &[R]),
    c: &mut [R],
    bias: Option<&[R]>,
    stop: &StopFlag,
) -> Result<(), ExpertsError> {
    if groups_parts(op, split, factors, c, bias, stop)? { Ok(()) } else { Err(ExpertsError::Stopped) }
}
