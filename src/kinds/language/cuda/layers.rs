//! Device layers that all models have: embedding, norms, linear layers, logits and losses. Layers of blocks are in
//! [`blocks`](super::blocks).

use super::{
    batch::DeviceBatch,
    blocks::{BlockOps, Cache, Noise, Tables},
    call_sites::{CallSites, Product},
    error::OpError,
    format::ModelFormat,
};
use crate::{
    gpu::{BlockSize, Frame, Gpu, GpuError, Pass, Slice, View, ViewMut},
    kinds::language::plan::chunks,
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
        layers::{Backward, Forward, HeadMatrix, LossRows, Tensors, Weight},
        norm::{Norm, cuda::CudaNorm},
        optimizer::cuda::CudaOptimizer,
        parameters::{ParameterMap, ViewId},
        storage::Storage,
    },
};
use std::sync::Arc;

/// Operations that every model uses, and their implementations.
pub struct ModelOps {
    /// Matrix multiplications and their implementations.
    pub gemm: CudaGemm,
    /// Default GEMM options.
    pub options: Options,
    /// GEMM implementations of individual multiplications.
    pub call_sites: CallSites,
    /// Layer norm and RMS norm.
    pub norm: CudaNorm,
    /// Element-wise sums and bias gradients.
    pub elementwise: CudaElementwise,
    /// Token and position embeddings.
    pub embedding: CudaEmbedding,
    /// Cross-entropy losses and their gradients.
    pub cross_entropy: CudaCrossEntropy,
    /// AdamW and Muon kernels.
    pub optimizer: CudaOptimizer,
    /// Threads per block of element-wise kernels.
    pub block: BlockSize,
    /// Operations of blocks.
    pub blocks: BlockOps,
}

impl ModelOps {
    /// Creates the operations, and loads the modules that are not loaded at first use. Fails if a module cannot be loaded or
    /// the memory of multiplications cannot be allocated.
    pub fn new(gpu: &Arc<Gpu>, options: Options, block: BlockSize) -> Result<Self, GpuError> {
        Self::with(gpu, CudaGemm::new(gpu), options, block, BlockOps::new(gpu, block))
    }

    /// Creates the same operations on the stream of another handle to the device. Fails as [`Self::new`] does.
    pub fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        let blocks = self.blocks.beside(gpu, self.block);
        let new = Self::with(gpu, self.gemm.beside(gpu), self.options, self.block, blocks)?;
        Ok(Self { call_sites: self.call_sites.clone(), ..new })
    }

    fn with(
        gpu: &Arc<Gpu>,
        gemm: CudaGemm,
        options: Options,
        block: BlockSize,
        blocks: BlockOps,
    ) -> Result<Self, GpuError> {
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
            blocks,
        })
    }
}

/// State of a pass over a batch: inputs of the layers, workspace, and the pass that collects launches.
pub struct Layers<'a, T: ModelFormat> {
    /// Operations and their implementations.
    pub ops: &'a ModelOps,
    /// Parameter map of the weights.
    pub map: &'a ParameterMap,
    /// All weights, in the layout of `map`.
    pub weights: &'a Slice<T>,
    /// Batch that the pass reads.
    pub batch: DeviceBatch<'a>,
    /// Tables of position encodings.
    pub tables: Tables<'a, T>,
    /// Dropout of the step.
    pub noise: Noise<'a>,
    /// KV cache of earlier tokens; `None` for a pass without cache.
    pub cache: Option<Cache<'a, T>>,
    /// Scale and total of the loss; `None` for a pass without gradients.
    pub loss: Option<Loss<'a>>,
    /// Flag on the device; nonzero if a token is out of range.
    pub flag: &'a mut Slice<u32>,
    /// Arena frame for temporaries.
    pub frame: &'a Frame<'a>,
    /// Pass that collects the launches.
    pub pass: &'a mut Pass,
}

/// Scale and total of the loss.
pub struct Loss<'a> {
    /// Gradient of the loss of one target, one element.
    pub scale: &'a Slice<f32>,
    /// Sum of the losses of all targets.
    pub total: &'a mut Slice<LossTotal>,
}

/// Returns the mutable gradients of a weight and of its bias; `None` if it has no bias. Fails if a view exceeds the buffer.
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
    /// Creates a pass without tables, dropout, cache and loss.
    pub fn new(
        (ops, map): (&'a ModelOps, &'a ParameterMap),
        weights: &'a Slice<T>,
        batch: DeviceBatch<'a>,
        flag: &'a mut Slice<u32>,
        frame: &'a Frame<'a>,
        pass: &'a mut Pass,
    ) -> Self {
        let (tables, noise) = (Tables { rope: None, positions: None }, Noise::default());
        Self { ops, map, weights, batch, tables, noise, cache: None, loss: None, flag, frame, pass }
    }

    /// Returns the values of a parameter. Fails if the view exceeds the buffer.
    pub fn weight(&self, id: ViewId) -> Result<View<'a, T>, OpError> {
        Ok(self.weights.part(self.map.view(id).range())?)
    }

    /// Returns the numbers of outputs and inputs of a matrix. Fails if the parameter does not have two dimensions.
    fn sides(&self, id: ViewId) -> Result<[usize; 2], OpError> {
        <[usize; 2]>::try_from(&self.map.view(id).shape[..]).map_err(|_| OpError::no_matrix())
    }

    /// Computes `x Wᵀ` with an epilogue. The output may have another format than `x`. Fails if the sizes do not match or a
    /// launch fails.
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

    /// Computes `dx = dy W` with an epilogue, `dW += dyᵀ x` and `db += Σ dy`. Fails if the sizes do not match or a launch
    /// fails.
    pub fn linear_backward_with<O: Storage>(
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

    fn embedding(&self, table: ViewId) -> Result<Embedding, OpError> {
        let [rows, width] = self.sides(table)?;
        let seq_len = self.batch.shape.seq_len.max(1);
        Ok(Embedding::new(self.batch.tokens.len(), rows, width, seq_len).offset(self.batch.offset))
    }

    /// Computes the losses and gradients of the head. The gradient `dx` may have another format than the features. Fails if
    /// the sizes do not match, a launch fails, or the pass has no [`Loss`].
    pub fn head_backward_with<O: Storage>(
        &mut self,
        of: HeadMatrix,
        x: &Slice<T>,
        to: LossRows<'_, Slice<f32>>,
        dx: &mut Slice<O>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let LossRows { losses, lse } = to;
        self.head_rows(of, x, LossRows { losses: &mut *losses, lse }, Some((dx, gradient)))?;
        let Some(loss) = &mut self.loss else {
            return Err(OpError::Refused("this pass has no gradients of a loss".to_owned()));
        };
        self.ops.cross_entropy.add_losses(self.pass, losses, self.batch.targets, loss.total)?;
        Ok(())
    }

    /// Computes logits and losses in chunks of rows, and the gradients if requested. Fails if the sizes do not match or a
    /// launch fails.
    fn head_rows<O: Storage>(
        &mut self,
        of: HeadMatrix,
        x: &Slice<T>,
        to: LossRows<'_, Slice<f32>>,
        mut gradients: Option<(&mut Slice<O>, &mut Slice<f32>)>,
    ) -> Result<(), OpError> {
        let ([padded, width], ops, outer) = (self.sides(of.weight)?, &self.ops.cross_entropy, self.frame);
        let scale = self.loss.as_ref().map(|loss| loss.scale);
        for rows in chunks(self.batch.tokens.len(), of.rows) {
            let (frame, n) = (outer.frame(), rows.len());
            let mut logits = frame.take::<T>("logits", n * padded)?;
            let x = x.part(rows.start * width..rows.end * width)?;
            // The bias is omitted, because its temporaries would come from the outer frame.
            self.linear((of.weight, None), &x, &mut logits, None)?;
            let op = CrossEntropy { rows: n, vocab: of.vocab, padded };
            let targets = self.batch.targets.part(rows.clone())?;
            let (mut losses, mut lse) = (to.losses.part_mut(rows.clone())?, to.lse.part_mut(rows.clone())?);
            let (losses, lse) = (&mut losses, &mut lse);
            let (Some((dx, gradient)), Some(scale)) = (&mut gradients, scale) else {
                ops.forward(self.pass, &op, &mut logits, &targets, losses, lse, self.flag)?;
                continue;
            };
            ops.backward(self.pass, &op, &mut logits, &targets, scale, losses, lse, self.flag)?;
            let mut dx = dx.part_mut(rows.start * width..rows.end * width)?;
            self.linear_backward_with((of.weight, None), (&logits, &x), Epilogue::None, &mut *dx, gradient)?;
        }
        Ok(())
    }
}

impl<T: ModelFormat> Tensors for Layers<'_, T> {
    type Tensor = Slice<T>;
    type Stats = Slice<f32>;
    type Error = OpError;

    fn copy(&mut self, x: &Slice<T>, y: &mut Slice<T>) -> Result<(), OpError> {
        Ok(y.copy_from(x)?)
    }

    fn clear(&mut self, x: &mut Slice<T>) -> Result<(), OpError> {
        Ok(x.clear()?)
    }

    fn add(&mut self, x: &mut Slice<T>, y: &Slice<T>) -> Result<(), OpError> {
        Ok(self.ops.elementwise.add(self.pass, x, y)?)
    }
}

impl<T: ModelFormat> Forward for Layers<'_, T> {
    fn embed(&mut self, table: ViewId, learned: Option<ViewId>, y: &mut Slice<T>) -> Result<(), OpError> {
        let (op, batch) = (self.embedding(table)?, self.batch);
        let learned = learned.map(|learned| self.weight(learned)).transpose()?;
        let positions = learned.as_deref().or(self.tables.positions);
        let table = self.weight(table)?;
        let ids = positions.and(batch.positions);
        self.ops.embedding.forward(self.pass, &op, batch.tokens, &table, positions, ids, y, self.flag)?;
        Ok(())
    }

    fn norm(
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

    fn linear(
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

    fn losses(&mut self, of: HeadMatrix, x: &Slice<T>, to: LossRows<'_, Slice<f32>>) -> Result<(), OpError> {
        self.head_rows::<T>(of, x, to, None)
    }
}

impl<T: ModelFormat> Backward for Layers<'_, T> {
    type Gradient = Slice<f32>;

    fn embedding_backward(&mut self, of: Weight, d: &Slice<T>, gradient: &mut Slice<f32>) -> Result<(), OpError> {
        let (op, batch) = (self.embedding(of.0)?, self.batch);
        let (mut dtable, mut dpositions) = pair(gradient, self.map, of)?;
        let ids = of.1.and(batch.positions);
        let (dtable, dpositions) = (&mut *dtable, dpositions.as_deref_mut());
        let ops = &self.ops.embedding;
        ops.backward(self.pass, &op, batch.tokens, d, dtable, dpositions, ids, self.flag, self.frame)?;
        Ok(())
    }

    fn norm_backward(
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

    fn linear_backward(
        &mut self,
        of: Weight,
        known: (&Slice<T>, &Slice<T>),
        dx: &mut Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        self.linear_backward_with(of, known, Epilogue::None, dx, gradient)
    }

    fn head_backward(
        &mut self,
        of: HeadMatrix,
        x: &Slice<T>,
        to: LossRows<'_, Slice<f32>>,
        dx: &mut Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        self.head_backward_with(of, x, to, dx, gradient)
    }
}

/// Converts the elements of a tensor to f32.
pub fn widened<T: Storage>(x: &[T]) -> Vec<f32> {
    x.iter().map(|x| x.widen()).collect()
}
