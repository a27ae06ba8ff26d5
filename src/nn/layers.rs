//! Layers of networks, as operations over the tensors of a backend: the passes of a model are written once in terms of these
//! traits.
//!
//! | trait | operations |
//! | --- | --- |
//! | [`Tensors`] | copies and sums of tensors |
//! | [`Forward`], [`Backward`] | embedding, norm, linear layer, loss: what every model has |
//! | [`BlockForward`], [`BlockBackward`] | activation function, dropout, rotary positions, self-attention |
//!
//! An implementor is one pass over one batch: it has the weights, the tokens and targets, tables, the random numbers of dropout,
//! a KV cache, and the resources of its backend: a stop flag and threads on the CPU; stream, launches, temporaries and tuned
//! implementations on a GPU. A backend that only predicts implements the forward traits only.
//!
//! Gradients of parameters are accumulated; other gradients are overwritten unless stated otherwise. A method that
//! returns a `Result` fails if the sizes do not match, the device fails, or the pass is to be stopped.

use super::{activation::Activation, attention::Attention, norm::Norm, parameters::ViewId, rope::Rope};
use crate::gpu::{Slice, layout::CudaType};

/// A weight matrix or vector with its bias, if any.
pub type Weight = (ViewId, Option<ViewId>);

/// A tensor whose absence is represented by having no elements.
pub trait Elements {
    /// Returns the number of elements; 0 if the tensor is absent.
    fn n_elements(&self) -> usize;
}

impl<R> Elements for [R] {
    fn n_elements(&self) -> usize {
        self.len()
    }
}

impl<T: CudaType> Elements for Slice<T> {
    fn n_elements(&self) -> usize {
        self.len()
    }
}

/// Tensor types of a backend, with copies and sums.
pub trait Tensors {
    /// Storage of activations and of their gradients.
    type Tensor: ?Sized + Elements;
    /// Storage of norm and softmax statistics and of losses.
    type Stats: ?Sized + Elements;
    /// Error of an operation, or of a stopped pass.
    type Error;

    /// Returns an error if the pass is to be stopped.
    fn check_stop(&self) -> Result<(), Self::Error> {
        Ok(())
    }
    /// Runs a part of the pass, which profiling measures as one row of the timing table. Backends that measure every launch
    /// only run it.
    fn section<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error> {
        let _ = name;
        work(self)
    }
    /// Copies elements: `y = x`.
    fn copy(&mut self, x: &Self::Tensor, y: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// Sets all elements to zero: `x = 0`.
    fn clear(&mut self, x: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// Adds elements: `x += y`.
    fn add(&mut self, x: &mut Self::Tensor, y: &Self::Tensor) -> Result<(), Self::Error>;
}

/// The output matrix, which maps features to logits.
#[derive(Clone, Copy, Debug)]
pub struct HeadMatrix {
    /// View of the matrix in the parameters.
    pub weight: ViewId,
    /// Number of tokens in the vocabulary.
    pub vocab: usize,
    /// Number of tokens (rows) whose logits are in memory at a time.
    pub rows: usize,
}

/// Results of the loss, one element per token.
pub struct LossRows<'a, S: ?Sized> {
    /// Loss of each token, nats.
    pub losses: &'a mut S,
    /// Log-sum-exp of each token's logits over the vocabulary.
    pub lse: &'a mut S,
}

/// Forward passes of the layers that every model has.
pub trait Forward: Tensors {
    /// Computes `y[i] = table[token i]`, plus the vector of the token's position: from the learned table `positions`, otherwise
    /// from a fixed table if the model has one.
    fn embed(&mut self, table: ViewId, positions: Option<ViewId>, y: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// Normalises rows: `y = norm(x)`; writes the statistics of each row for the backward pass.
    fn norm(
        &mut self,
        op: &Norm,
        of: Weight,
        x: &Self::Tensor,
        y: &mut Self::Tensor,
        stats: &mut Self::Stats,
    ) -> Result<(), Self::Error>;
    /// Computes `y = x Wᵀ + b`, plus `residual` if given.
    fn linear(
        &mut self,
        of: Weight,
        x: &Self::Tensor,
        y: &mut Self::Tensor,
        residual: Option<&Self::Tensor>,
    ) -> Result<(), Self::Error>;
    /// Computes the loss and the log-sum-exp of each token from the normalised features `x`.
    fn losses(&mut self, of: HeadMatrix, x: &Self::Tensor, to: LossRows<'_, Self::Stats>) -> Result<(), Self::Error>;
}

/// Backward passes of the layers that every model has.
pub trait Backward: Forward {
    /// Gradient buffer of all parameters.
    type Gradient: ?Sized;

    /// Whether the gradient of a parameter is needed. If not, an implementation may leave any values in it.
    fn is_trained(&self, parameter: ViewId) -> bool {
        let _ = parameter;
        true
    }
    /// Adds the gradients of the token table and of the learned positions.
    fn embedding_backward(
        &mut self,
        of: Weight,
        d: &Self::Tensor,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Adds the gradients of the norm's parameters to `gradient`, and the gradient of the norm's input to `dx`.
    fn norm_backward(
        &mut self,
        op: &Norm,
        of: Weight,
        known: (&Self::Tensor, &Self::Tensor, &Self::Stats),
        dx: &mut Self::Tensor,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Computes `dx = dy W` and adds `dW += dyᵀ x`, `db += Σ dy`, where the pair is `(dy, x)`.
    fn linear_backward(
        &mut self,
        of: Weight,
        known: (&Self::Tensor, &Self::Tensor),
        dx: &mut Self::Tensor,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Adds the losses to the sum of the step, adds the gradient of the output matrix to `gradient`, and writes the gradient of
    /// the features `x` to `dx`.
    fn head_backward(
        &mut self,
        of: HeadMatrix,
        x: &Self::Tensor,
        to: LossRows<'_, Self::Stats>,
        dx: &mut Self::Tensor,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
}

/// An activation function with its width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activated {
    /// The activation function.
    pub f: Activation,
    /// Number of outputs per token.
    pub columns: usize,
}

/// Self-attention of a block over packed queries, keys and values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfAttention {
    /// The attention within the batch.
    pub op: Attention,
    /// Index of the block, which selects its KV cache.
    pub block: usize,
    /// Dropout site of the attention probabilities.
    pub site: u32,
    /// Maximum number of keys per query.
    pub context: usize,
}

/// Forward passes of transformer blocks: attention and feed-forward layer.
pub trait BlockForward: Forward {
    /// Applies the activation function: `y = f(x)`.
    fn activate(&mut self, by: Activated, x: &Self::Tensor, y: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// Computes a linear layer with activation: `fc = x Wᵀ + b`, `hidden = f(fc)`.
    fn linear_activated(
        &mut self,
        of: Weight,
        by: Activated,
        x: &Self::Tensor,
        fc: &mut Self::Tensor,
        hidden: &mut Self::Tensor,
    ) -> Result<(), Self::Error> {
        self.linear(of, x, fc, None)?;
        self.activate(by, fc, hidden)
    }
    /// Rotates heads by the angles of their positions; with `is_inverse` by the opposite angles.
    fn rotate(&mut self, op: &Rope, x: &mut Self::Tensor, is_inverse: bool) -> Result<(), Self::Error>;
    /// Computes `y = softmax(scale q kᵀ) v`. When a text is continued, appends keys and values to the KV cache and attends to
    /// the whole cache.
    fn attend(
        &mut self,
        of: &SelfAttention,
        qkv: &Self::Tensor,
        y: &mut Self::Tensor,
        lse: &mut Self::Stats,
    ) -> Result<(), Self::Error>;
    /// Whether dropout is active in this pass.
    fn has_dropout(&self) -> bool;
    /// Applies the dropout of `site` in place; applied to a gradient, it is the backward pass.
    fn drop_in_place(&mut self, site: u32, x: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// Computes `y = residual + drop(x)`; `x` may change.
    fn drop_and_add(
        &mut self,
        site: u32,
        x: &mut Self::Tensor,
        residual: &Self::Tensor,
        y: &mut Self::Tensor,
    ) -> Result<(), Self::Error>;
}

/// Backward passes of transformer blocks.
pub trait BlockBackward: BlockForward + Backward {
    /// Computes the gradient of the activation: `dx = dy f′(x)`.
    fn activation_backward(
        &mut self,
        by: Activated,
        x: &Self::Tensor,
        dy: &Self::Tensor,
        dx: &mut Self::Tensor,
    ) -> Result<(), Self::Error>;
    /// Backpropagates through a linear layer whose input is `x = f(fc)`: `dfc = (dy W) f′(fc)`, `dW += dyᵀ x`, `db += Σ dy`.
    /// The triple is `(dy, x, fc)`; `dx` is workspace.
    fn linear_activated_backward(
        &mut self,
        of: Weight,
        by: Activated,
        (dy, x, fc): (&Self::Tensor, &Self::Tensor, &Self::Tensor),
        dx: &mut Self::Tensor,
        dfc: &mut Self::Tensor,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error> {
        self.linear_backward(of, (dy, x), dx, gradient)?;
        self.activation_backward(by, fc, dx, dfc)
    }
    /// Writes `dqkv`, the gradient of the packed queries, keys and values, from `dy`, the gradient of the output; `known` is
    /// `(qkv, y, lse)`.
    fn attention_backward(
        &mut self,
        of: &SelfAttention,
        known: (&Self::Tensor, &Self::Tensor, &Self::Stats),
        dy: &Self::Tensor,
        dqkv: &mut Self::Tensor,
    ) -> Result<(), Self::Error>;
    /// Returns the gradient before dropout: `d` itself without dropout, otherwise computed in `room`.
    fn dropped<'d>(
        &mut self,
        site: u32,
        d: &'d Self::Tensor,
        room: &'d mut Self::Tensor,
    ) -> Result<&'d Self::Tensor, Self::Error>;
}
