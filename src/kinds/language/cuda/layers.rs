//! Layers that models have in common: embedding, norms, linear layers, logits with their losses. Gradients of parameters are
//! added to.

use super::{
    batch::DeviceBatch,
    call_sites::{CallSites, Product},
    error::OpError,
    format::ModelFormat,
    plan::{Head, chunks},
};
use crate::{
    gpu::{BlockSize, Frame, Gpu, GpuError, Pass, Slice, View, ViewMut},
    nn::{
        cross_entropy::{
            CrossEntropy,
            cuda::{CudaCrossEntropy, LossTotal},
        },
        elementwise::cuda::CudaElementwise,
        embedding::{Embedding, cuda::CudaEmbedding},
        gemm::{
            Epilogue, Gemm,
            cuda::{CudaGemm, Options},
        },
        norm::{Norm, cuda::CudaNorm},
        optimizer::cuda::CudaOptimizer,
        parameters::{ParameterMap, ViewId},
        storage::Storage,
    },
};
use std::sync::Arc;

/// Operations that every model uses, and how multiplications are computed.
pub struct ModelOps {
    /// Matrix multiplication.
    pub gemm: CudaGemm,
    /// Its backend.
    pub options: Options,
    /// Other backends of some multiplications.
    pub call_sites: CallSites,
    /// Norms.
    pub norm: CudaNorm,
    /// Sums of tensors.
    pub elementwise: CudaElementwise,
    /// Embeddings.
    pub embedding: CudaEmbedding,
    /// Losses.
    pub cross_entropy: CudaCrossEntropy,
    /// Optimisers.
    pub optimizer: CudaOptimizer,
    /// Threads of a block.
    pub block: BlockSize,
}

impl ModelOps {
    /// Loads what is loaded ahead.
    pub fn new(gpu: &Arc<Gpu>, options: Options, block: BlockSize) -> Result<Self, GpuError> {
        Self::with(gpu, CudaGemm::new(gpu), options, block)
    }

    /// The same on another stream of the device.
    pub fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        let new = Self::with(gpu, self.gemm.beside(gpu), self.options, self.block)?;
        Ok(Self { call_sites: self.call_sites.clone(), ..new })
    }

    fn with(gpu: &Arc<Gpu>, gemm: CudaGemm, options: Options, block: BlockSize) -> Result<Self, GpuError> {
        gemm.reserve()?;
        Ok(Self {
            gemm,
            options,
            call_sites: CallSites::new(),
            norm: CudaNorm::new(gpu).with_block(block),
            elementwise: CudaElementwise::new(gpu).with_block(block),
            embedding: CudaEmbedding::new(gpu),
            cross_entropy: CudaCrossEntropy::new(gpu),
            optimizer: CudaOptimizer::load(gpu)?,
            block,
        })
    }
}

/// What layers read, and where their launches and temporaries go.
pub struct Layers<'a, T: ModelFormat> {
    /// Operations.
    pub ops: &'a ModelOps,
    /// Ranges of the weights.
    pub map: &'a ParameterMap,
    /// Weights.
    pub weights: &'a Slice<T>,
    /// The batch.
    pub batch: DeviceBatch<'a>,
    /// Raised where a token is out of range.
    pub flag: &'a mut Slice<u32>,
    /// Temporaries.
    pub frame: &'a Frame<'a>,
    /// Launches.
    pub pass: &'a mut Pass,
}

/// A weight with its bias.
pub type Weight = (ViewId, Option<ViewId>);

/// The matrix of logits.
#[derive(Clone, Copy, Debug)]
pub struct HeadMatrix {
    /// Its weights.
    pub weight: ViewId,
    /// Tokens of the vocabulary.
    pub vocab: usize,
    /// Tokens whose logits are in memory at a time.
    pub rows: usize,
}

/// What the loss needs besides activations.
pub struct Loss<'a> {
    /// Gradient of the loss of a target, one element.
    pub scale: &'a Slice<f32>,
    /// Sum of the losses.
    pub total: &'a mut Slice<LossTotal>,
}

/// The gradient of a parameter, and that of another one.
fn pair<'g>(
    gradient: &'g mut Slice<f32>,
    map: &ParameterMap,
    (weight, other): Weight,
) -> Result<(ViewMut<'g, f32>, Option<ViewMut<'g, f32>>), GpuError> {
    let range = |id: ViewId| map.view(id).range();
    match other {
        None => Ok((gradient.part_mut(range(weight))?, None)),
        Some(other) => {
            let [weight, other] = gradient.parts_mut([weight, other].map(range))?;
            Ok((weight, Some(other)))
        }
    }
}

impl<'a, T: ModelFormat> Layers<'a, T> {
    /// A parameter.
    pub fn weight(&self, id: ViewId) -> Result<View<'a, T>, OpError> {
        Ok(self.weights.part(self.map.view(id).range())?)
    }

    /// Outputs and inputs of a matrix.
    fn sides(&self, id: ViewId) -> Result<[usize; 2], OpError> {
        <[usize; 2]>::try_from(&self.map.view(id).shape[..]).map_err(|_| OpError::no_matrix())
    }

    /// `y = x Wᵀ + b`, or with `residual` that added.
    pub fn linear(
        &mut self,
        (weight, bias): Weight,
        x: &Slice<T>,
        y: &mut Slice<T>,
        residual: Option<&Slice<T>>,
    ) -> Result<(), OpError> {
        let bias = bias.map(|bias| self.weight(bias)).transpose()?;
        let epilogue = match (bias.as_deref(), residual) {
            (None, None) => Epilogue::None,
            (Some(bias), None) => Epilogue::Bias(bias),
            (None, Some(residual)) => Epilogue::Residual(residual),
            (Some(bias), Some(residual)) => Epilogue::BiasResidual(bias, residual),
        };
        self.linear_with(weight, x, y, epilogue)
    }

    /// `x Wᵀ` with what follows it, in a format that may be another.
    pub fn linear_with<O: Storage>(
        &mut self,
        weight: ViewId,
        x: &Slice<T>,
        y: &mut Slice<O>,
        epilogue: Epilogue<&Slice<O>, &mut Slice<O>>,
    ) -> Result<(), OpError> {
        let [outputs, inputs] = self.sides(weight)?;
        let op = Gemm::new(x.len() / inputs, outputs, inputs).transposed_b();
        let (matrix, options) = (self.weight(weight)?, self.ops.options_of(weight, Product::Outputs));
        self.ops.gemm.run(self.pass, &op, (x, &matrix), y, epilogue, options)?;
        Ok(())
    }

    /// `dx = dy W`, `dW += dyᵀ x`, `db += Σ dy`; `epilogue` follows the first.
    pub fn linear_backward<O: Storage>(
        &mut self,
        (weight, bias): Weight,
        (dy, x): (&Slice<T>, &Slice<T>),
        epilogue: Epilogue<&Slice<O>, &mut Slice<O>>,
        dx: &mut Slice<O>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (ops, [outputs, inputs]) = (self.ops, self.sides(weight)?);
        let (n, matrix) = (dy.len() / outputs, self.weight(weight)?);
        let options = |product| ops.options_of(weight, product);
        let by_weight = Gemm::new(n, inputs, outputs);
        ops.gemm.run(self.pass, &by_weight, (dy, &matrix), dx, epilogue, options(Product::InputGradients))?;
        let by_input = Gemm::new(outputs, inputs, n).transposed_a().scaled(1.0, 1.0);
        let mut to = gradient.part_mut(self.map.view(weight).range())?;
        ops.gemm.run(self.pass, &by_input, (dy, x), &mut *to, Epilogue::None, options(Product::WeightGradients))?;
        drop(to);
        if let Some(bias) = bias {
            let mut dbias = gradient.part_mut(self.map.view(bias).range())?;
            ops.elementwise.bias_gradient(self.pass, n, outputs, dy, &mut dbias, self.frame)?;
        }
        Ok(())
    }

    /// `y = norm(x)`.
    pub fn norm(
        &mut self,
        op: &Norm,
        (weight, bias): Weight,
        x: &Slice<T>,
        y: &mut Slice<T>,
        stats: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (weight, bias) = (self.weight(weight)?, bias.map(|bias| self.weight(bias)).transpose()?);
        self.ops.norm.forward(self.pass, op, x, &weight, bias.as_deref(), y, stats)?;
        Ok(())
    }

    /// Adds the gradients of a norm.
    pub fn norm_backward(
        &mut self,
        op: &Norm,
        of: Weight,
        (dy, x, stats): (&Slice<T>, &Slice<T>, &Slice<f32>),
        dx: &mut Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let weight = self.weight(of.0)?;
        let (mut dweight, mut dbias) = pair(gradient, self.map, of)?;
        let (dweight, dbias) = (&mut *dweight, dbias.as_deref_mut());
        self.ops.norm.backward(self.pass, op, dy, x, &weight, stats, dx, dweight, dbias, self.frame)?;
        Ok(())
    }

    fn embedding(&self, table: ViewId) -> Result<Embedding, OpError> {
        let [rows, width] = self.sides(table)?;
        let seq_len = self.batch.shape.seq_len.max(1);
        Ok(Embedding::new(self.batch.tokens.len(), rows, width, seq_len).offset(self.batch.offset))
    }

    /// Vectors of tokens, plus those of their positions.
    pub fn embed(&mut self, table: ViewId, positions: Option<&Slice<T>>, y: &mut Slice<T>) -> Result<(), OpError> {
        let (op, batch) = (self.embedding(table)?, self.batch);
        let table = self.weight(table)?;
        let ids = positions.and(batch.positions);
        self.ops.embedding.forward(self.pass, &op, batch.tokens, &table, positions, ids, y, self.flag)?;
        Ok(())
    }

    /// Adds the gradients of vectors of tokens and of learned positions.
    pub fn embedding_backward(
        &mut self,
        (table, positions): Weight,
        d: &Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (op, batch) = (self.embedding(table)?, self.batch);
        let (mut dtable, mut dpositions) = pair(gradient, self.map, (table, positions))?;
        let ids = positions.and(batch.positions);
        let (dtable, dpositions) = (&mut *dtable, dpositions.as_deref_mut());
        let ops = &self.ops.embedding;
        ops.backward(self.pass, &op, batch.tokens, d, dtable, dpositions, ids, self.flag, self.frame)?;
        Ok(())
    }

    /// Losses of all tokens, without gradients.
    pub fn losses(&mut self, of: HeadMatrix, head: &mut Head<'_, T>) -> Result<(), OpError> {
        self.head_rows::<T>(of, head, None)
    }

    /// Losses and their sum, gradients of the matrix of logits, and in `dx` those of its input.
    pub fn head_backward<O: Storage>(
        &mut self,
        of: HeadMatrix,
        head: &mut Head<'_, T>,
        loss: &mut Loss<'_>,
        dx: &mut Slice<O>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        self.head_rows(of, head, Some((loss.scale, dx, gradient)))?;
        self.ops.cross_entropy.add_losses(self.pass, head.losses, self.batch.targets, loss.total)?;
        Ok(())
    }

    /// Logits and losses of some tokens at a time, and with a scale the gradients.
    fn head_rows<O: Storage>(
        &mut self,
        of: HeadMatrix,
        head: &mut Head<'_, T>,
        mut to: Option<(&Slice<f32>, &mut Slice<O>, &mut Slice<f32>)>,
    ) -> Result<(), OpError> {
        let ([padded, width], ops) = (self.sides(of.weight)?, &self.ops.cross_entropy);
        for rows in chunks(self.batch.tokens.len(), of.rows) {
            let (outer, n) = (self.frame, rows.len());
            let frame = outer.frame();
            let mut logits = frame.take::<T>("logits", n * padded)?;
            let x = head.norm_f.part(rows.start * width..rows.end * width)?;
            let mut inner = Layers { frame: &frame, flag: &mut *self.flag, pass: &mut *self.pass, ..*self };
            inner.linear((of.weight, None), &x, &mut logits, None)?;
            let (op, targets) =
                (CrossEntropy { rows: n, vocab: of.vocab, padded }, inner.batch.targets.part(rows.clone())?);
            let (mut losses, mut lse) = (head.losses.part_mut(rows.clone())?, head.lse.part_mut(rows.clone())?);
            let (losses, lse) = (&mut losses, &mut lse);
            let Some((scale, dx, gradient)) = &mut to else {
                ops.forward(inner.pass, &op, &mut logits, &targets, losses, lse, inner.flag)?;
                continue;
            };
            ops.backward(inner.pass, &op, &mut logits, &targets, scale, losses, lse, inner.flag)?;
            let mut dx = dx.part_mut(rows.start * width..rows.end * width)?;
            inner.linear_backward((of.weight, None), (&logits, &x), Epilogue::None, &mut dx, gradient)?;
        }
        Ok(())
    }
}

/// Numbers of a tensor in f32.
pub fn widened<T: Storage>(x: &[T]) -> Vec<f32> {
    x.iter().map(|x| x.widen()).collect()
}
