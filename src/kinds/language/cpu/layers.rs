//! CPU layers of models, the reference for other backends. Layers of blocks are in [`blocks`](super::blocks).

use super::{
    blocks::{Cache, Noise, Tables},
    go_on,
    head::{Head, LossRows as RowsOfHead},
    multiply, outcome_of, refused,
};
use crate::{
    gpu::{Pass, StopFlag},
    kinds::language::plan::{BatchShape, BatchView},
    nn::{
        elementwise::{self, bias_gradient},
        embedding::{self, Embedding},
        gemm::{Epilogue, Gemm, cpu::gemm},
        layers::{Backward, Forward, HeadMatrix, LossRows, Tensors, Weight},
        norm::{self, Norm},
        parameters::{ParameterMap, ViewId},
        real::Real,
    },
    sim::SimError,
};
use std::ops::Range;

/// Batch in host memory.
pub type HostBatch<'a> = BatchView<'a, [u32], [i32]>;

impl<'a> HostBatch<'a> {
    /// Creates a batch of full sequences without targets.
    pub const fn full(shape: BatchShape, tokens: &'a [u32]) -> Self {
        Self { shape, offset: 0, tokens, targets: &[], lengths: None, positions: None }
    }
}

/// State of a pass over a batch.
pub struct Layers<'a, R> {
    /// Parameter map of the weights.
    pub map: &'a ParameterMap,
    /// All weights, in the layout of `map`.
    pub weights: &'a [R],
    /// Batch that the pass reads.
    pub batch: HostBatch<'a>,
    /// Tables of position encodings.
    pub tables: Tables<'a, R>,
    /// Dropout of the step; `None` for a pass without dropout.
    pub noise: Option<Noise>,
    /// KV cache of earlier tokens; `None` for a pass without cache.
    pub cache: Option<Cache<'a, R>>,
    /// Scale, total and workspace of the loss.
    pub loss: Loss<'a, R>,
    /// Whether each parameter is frozen, so that its gradient is not needed; empty if no parameter is frozen.
    pub frozen: &'a [bool],
    /// Stop flag, checked between layers.
    pub stop: &'a StopFlag,
    /// Pass that collects the times of the operations; `None` if they are not measured.
    pub pass: Option<&'a mut Pass>,
}

/// Scale, total and workspace of the loss.
pub struct Loss<'a, R> {
    /// Gradient of the loss with respect to the loss of one target.
    pub scale: R,
    /// Sum of the losses of all targets.
    pub total: f64,
    /// Workspace for logits and then their gradients.
    pub logits: &'a mut [R],
}

/// Splits a buffer into disjoint mutable parts. The `ranges` must be ascending.
pub fn parts_mut<const N: usize, R>(buffer: &mut [R], ranges: [Range<usize>; N]) -> [&mut [R]; N] {
    let (mut rest, mut start) = (buffer, 0);
    ranges.map(|range| {
        let (part, after) = std::mem::take(&mut rest)[range.start - start..].split_at_mut(range.len());
        (rest, start) = (after, range.end);
        part
    })
}

/// Returns the mutable gradients of a weight and of its bias. The bias must follow the weight in the buffer.
fn pair<'g, R>(gradient: &'g mut [R], map: &ParameterMap, of: Weight) -> (&'g mut [R], Option<&'g mut [R]>) {
    let range = |id: ViewId| map.view(id).range();
    match of.1 {
        None => (&mut gradient[range(of.0)], None),
        Some(other) => {
            let [weight, other] = parts_mut(gradient, [of.0, other].map(range));
            (weight, Some(other))
        }
    }
}

impl<'a, R: Real> Layers<'a, R> {
    /// Creates a pass without tables, dropout, cache, loss and measured times, in which every parameter is trained.
    pub fn new(map: &'a ParameterMap, weights: &'a [R], batch: HostBatch<'a>, stop: &'a StopFlag) -> Self {
        let loss = Loss { scale: R::zero(), total: 0.0, logits: &mut [] };
        let tables = Tables::default();
        Self { map, weights, batch, tables, noise: None, cache: None, loss, frozen: &[], stop, pass: None }
    }

    /// Returns the values of a parameter.
    pub fn weight(&self, id: ViewId) -> &'a [R] {
        &self.weights[self.map.view(id).range()]
    }

    /// Returns the numbers of outputs and inputs of a matrix. Fails if the parameter does not have two dimensions.
    fn sides(&self, id: ViewId) -> Result<[usize; 2], SimError> {
        <[usize; 2]>::try_from(&self.map.view(id).shape[..]).map_err(|_| refused("no matrix"))
    }

    fn embedding(&self, table: ViewId) -> Result<Embedding, SimError> {
        let ([rows, width], batch) = (self.sides(table)?, &self.batch);
        Ok(Embedding::new(batch.tokens.len(), rows, width, batch.shape.seq_len.max(1)).offset(batch.offset))
    }

    fn head(&self, of: HeadMatrix) -> Result<Head<'a, R>, SimError> {
        Ok(Head { weight: self.weight(of.weight), width: self.sides(of.weight)?[1], vocab: of.vocab })
    }
}

impl<R: Real> Tensors for Layers<'_, R> {
    type Tensor = [R];
    type Stats = [R];
    type Error = SimError;

    fn check_stop(&self) -> Result<(), SimError> {
        go_on(self.stop)
    }

    fn section<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> Result<T, SimError>,
    ) -> Result<T, SimError> {
        // The pass is taken, so that a section within a section belongs to the row of the outer one.
        let Some(pass) = self.pass.take() else { return work(self) };
        let done = pass.span(name, self.batch.shape.n_tokens() as u64, || work(self));
        self.pass = Some(pass);
        done
    }

    fn copy(&mut self, x: &[R], y: &mut [R]) -> Result<(), SimError> {
        y.copy_from_slice(x);
        Ok(())
    }

    fn clear(&mut self, x: &mut [R]) -> Result<(), SimError> {
        x.fill(R::zero());
        Ok(())
    }

    fn add(&mut self, x: &mut [R], y: &[R]) -> Result<(), SimError> {
        elementwise::add(x, y).map_err(refused)
    }
}

impl<R: Real> Forward for Layers<'_, R> {
    fn embed(&mut self, table: ViewId, learned: Option<ViewId>, y: &mut [R]) -> Result<(), SimError> {
        let positions = learned.map(|learned| self.weight(learned)).or(self.tables.positions);
        let (op, batch) = (self.embedding(table)?, &self.batch);
        let ids = positions.and(batch.positions);
        embedding::forward(&op, batch.tokens, self.weight(table), positions, ids, y).map_err(refused)
    }

    fn norm(&mut self, op: &Norm, of: Weight, x: &[R], y: &mut [R], stats: &mut [R]) -> Result<(), SimError> {
        let (weight, bias) = (self.weight(of.0), of.1.map(|bias| self.weight(bias)));
        norm::forward(op, x, weight, bias, y, stats).map_err(refused)
    }

    fn linear(&mut self, of: Weight, x: &[R], y: &mut [R], residual: Option<&[R]>) -> Result<(), SimError> {
        let [outputs, inputs] = self.sides(of.0)?;
        let op = Gemm::new(x.len() / inputs, outputs, inputs).transposed_b();
        let epilogue = match (of.1.map(|bias| self.weight(bias)), residual) {
            (None, residual) => return multiply(&op, x, self.weight(of.0), y, residual, self.stop),
            (Some(bias), None) => Epilogue::Bias(bias),
            (Some(bias), Some(residual)) => Epilogue::BiasResidual(bias, residual),
        };
        gemm(&op, x, self.weight(of.0), y, epilogue).map_err(refused)
    }

    fn losses(&mut self, of: HeadMatrix, x: &[R], to: LossRows<'_, [R]>) -> Result<(), SimError> {
        let head = self.head(of)?;
        let rows = RowsOfHead { logits: &mut *self.loss.logits, losses: to.losses, lse: to.lse };
        outcome_of(head.losses(x, self.batch.targets, rows, self.stop)?)
    }
}

impl<R: Real> Backward for Layers<'_, R> {
    type Gradient = [R];

    fn is_trained(&self, parameter: ViewId) -> bool {
        !self.frozen.get(parameter.0).copied().unwrap_or(false)
    }

    fn embedding_backward(&mut self, of: Weight, d: &[R], gradient: &mut [R]) -> Result<(), SimError> {
        let (op, batch) = (self.embedding(of.0)?, &self.batch);
        let (table, positions) = pair(gradient, self.map, of);
        let ids = of.1.and(batch.positions);
        embedding::backward(&op, batch.tokens, d, table, positions, ids).map_err(refused)
    }

    fn norm_backward(
        &mut self,
        op: &Norm,
        of: Weight,
        (dy, x, stats): (&[R], &[R], &[R]),
        dx: &mut [R],
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (dweight, dbias) = pair(gradient, self.map, of);
        norm::backward(op, dy, x, self.weight(of.0), stats, dx, dweight, dbias).map_err(refused)
    }

    fn linear_backward(
        &mut self,
        of: Weight,
        (dy, x): (&[R], &[R]),
        dx: &mut [R],
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        self.linear_backward_into(of, (dy, x), (dx, R::zero()), gradient)
    }

    fn head_backward(
        &mut self,
        of: HeadMatrix,
        x: &[R],
        to: LossRows<'_, [R]>,
        dx: &mut [R],
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (head, losses) = (self.head(of)?, to.losses);
        let dweight = self.is_trained(of.weight).then(|| &mut gradient[self.map.view(of.weight).range()]);
        let (targets, Loss { scale, total, logits }) = (self.batch.targets, &mut self.loss);
        let rows = RowsOfHead { logits, losses: &mut *losses, lse: to.lse };
        outcome_of(head.backward(x, (targets, *scale), rows, dx, dweight, self.stop)?)?;
        *total += losses[..targets.len()].iter().map(|loss| loss.f64()).sum::<f64>();
        Ok(())
    }
}

impl<R: Real> Layers<'_, R> {
    /// Computes `dx = dy W + beta dx`, `dW += dyᵀ x` and `db += Σ dy`. For a frozen layer, only `dx` is computed. Fails if
    /// the sizes do not match or the pass is stopped.
    pub fn linear_backward_into(
        &mut self,
        (weight, bias): Weight,
        (dy, x): (&[R], &[R]),
        (dx, beta): (&mut [R], R),
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let [outputs, inputs] = self.sides(weight)?;
        let (rows, range) = (dy.len() / outputs, |id: ViewId| self.map.view(id).range());
        let by_weight = Gemm::new(rows, inputs, outputs).scaled(R::one(), beta);
        multiply(&by_weight, dy, self.weight(weight), dx, None, self.stop)?;
        if !self.is_trained(weight) {
            return Ok(());
        }
        let by_input = Gemm::new(outputs, inputs, rows).transposed_a().scaled(R::one(), R::one());
        multiply(&by_input, dy, x, &mut gradient[range(weight)], None, self.stop)?;
        match bias {
            Some(bias) => bias_gradient(rows, outputs, dy, &mut gradient[range(bias)]).map_err(refused),
            None => Ok(()),
        }
    }
}
