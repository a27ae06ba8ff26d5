//! Layers of networks, as operations over the tensors of a backend: what the passes of a model are written in, once for all
//! backends.
//!
//! | trait | operations |
//! | --- | --- |
//! | [`Tensors`] | copies and sums of tensors |
//! | [`Forward`], [`Backward`] | embedding, norm, linear layer, loss: what every model has |
//! | [`BlockForward`], [`BlockBackward`] | activation function, dropout, rotary positions, self-attention |
//!
//! A value of such a type is one pass over one batch: it has the weights, the tokens and targets, tables, the random numbers of
//! dropout, a cache of keys and values, and whatever its backend needs beside: a stop flag and threads on the CPU; stream,
//! launches, temporaries and tuned implementations on a GPU. A backend that only predicts implements the forward traits only.
//!
//! Gradients of parameters are added to; other gradients are overwritten where nothing else is said.

use super::{activation::Activation, attention::Attention, norm::Norm, parameters::ViewId, rope::Rope};
use crate::gpu::{Slice, layout::CudaType};

/// A weight with its bias.
pub type Weight = (ViewId, Option<ViewId>);

/// A tensor that may be absent, which is one without elements.
pub trait Elements {
    /// Number of elements.
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

/// The tensors of a backend.
pub trait Tensors {
    /// Activations and their gradients.
    type Tensor: ?Sized + Elements;
    /// Statistics of norms and of softmax, losses.
    type Stats: ?Sized + Elements;
    /// Why an operation is refused, or that the pass was stopped.
    type Error;

    /// An error if the pass is to be stopped.
    fn check_stop(&self) -> Result<(), Self::Error> {
        Ok(())
    }
    /// `y = x`
    fn copy(&mut self, x: &Self::Tensor, y: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// `x = 0`
    fn clear(&mut self, x: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// `x += y`
    fn add(&mut self, x: &mut Self::Tensor, y: &Self::Tensor) -> Result<(), Self::Error>;
}

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

/// Results of a loss by token.
pub struct LossRows<'a, S: ?Sized> {
    /// Loss of each token.
    pub losses: &'a mut S,
    /// Logarithm of the sum of the softmax over the vocabulary.
    pub lse: &'a mut S,
}

/// Layers of every model.
pub trait Forward: Tensors {
    /// Vectors of the tokens of the batch, plus those of their positions: of a table of learned ones, else those that the model
    /// may have in a table of its own.
    fn embed(&mut self, table: ViewId, positions: Option<ViewId>, y: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// `y = norm(x)`
    fn norm(
        &mut self,
        op: &Norm,
        of: Weight,
        x: &Self::Tensor,
        y: &mut Self::Tensor,
        stats: &mut Self::Stats,
    ) -> Result<(), Self::Error>;
    /// `y = x Wᵀ + b`, or with `residual` that added.
    fn linear(
        &mut self,
        of: Weight,
        x: &Self::Tensor,
        y: &mut Self::Tensor,
        residual: Option<&Self::Tensor>,
    ) -> Result<(), Self::Error>;
    /// Losses of all tokens from the normalised features `x`.
    fn losses(&mut self, of: HeadMatrix, x: &Self::Tensor, to: LossRows<'_, Self::Stats>) -> Result<(), Self::Error>;
}

/// Gradients of the layers of every model.
pub trait Backward: Forward {
    /// Gradients of all parameters.
    type Gradient: ?Sized;

    /// Whether the gradient of a parameter is needed; without it the parameter may have any.
    fn is_trained(&self, parameter: ViewId) -> bool {
        let _ = parameter;
        true
    }
    /// Adds the gradients of vectors of tokens and of learned positions.
    fn embedding_backward(
        &mut self,
        of: Weight,
        d: &Self::Tensor,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Adds the gradients of a norm, that of its input to `dx`.
    fn norm_backward(
        &mut self,
        op: &Norm,
        of: Weight,
        known: (&Self::Tensor, &Self::Tensor, &Self::Stats),
        dx: &mut Self::Tensor,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// `dx = dy W`, `dW += dyᵀ x`, `db += Σ dy`, of `(dy, x)`.
    fn linear_backward(
        &mut self,
        of: Weight,
        known: (&Self::Tensor, &Self::Tensor),
        dx: &mut Self::Tensor,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Losses, which are added to the sum of the step; gradients of the matrix of logits, and in `dx` those of its input `x`.
    fn head_backward(
        &mut self,
        of: HeadMatrix,
        x: &Self::Tensor,
        to: LossRows<'_, Self::Stats>,
        dx: &mut Self::Tensor,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
}

/// An activation function of that many outputs per token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activated {
    /// The function.
    pub f: Activation,
    /// Outputs.
    pub columns: usize,
}

/// Attention of a block over packed queries, keys and values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfAttention {
    /// Within the batch.
    pub op: Attention,
    /// The block, whose cache it is.
    pub block: usize,
    /// Place of the dropout of probabilities.
    pub site: u32,
    /// Most keys of a query.
    pub context: usize,
}

/// Layers of blocks of attention and feed-forward layer.
pub trait BlockForward: Forward {
    /// `y = f(x)`
    fn activate(&mut self, by: Activated, x: &Self::Tensor, y: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// `hidden = f(fc)`, `fc = x Wᵀ + b`
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
    /// Rotates heads by their positions, or by the opposite angles.
    fn rotate(&mut self, op: &Rope, x: &mut Self::Tensor, is_inverse: bool) -> Result<(), Self::Error>;
    /// `y = softmax(scale q kᵀ) v`; of tokens that continue a text, with the keys and values in the cache, which is appended to.
    fn attend(
        &mut self,
        of: &SelfAttention,
        qkv: &Self::Tensor,
        y: &mut Self::Tensor,
        lse: &mut Self::Stats,
    ) -> Result<(), Self::Error>;
    /// Whether elements are dropped.
    fn has_dropout(&self) -> bool;
    /// Drops elements at a place, in place; the same on a gradient is the backward pass.
    fn drop_in_place(&mut self, site: u32, x: &mut Self::Tensor) -> Result<(), Self::Error>;
    /// `y = residual + drop(x)`; `x` may change.
    fn drop_and_add(
        &mut self,
        site: u32,
        x: &mut Self::Tensor,
        residual: &Self::Tensor,
        y: &mut Self::Tensor,
    ) -> Result<(), Self::Error>;
}

/// Their gradients.
pub trait BlockBackward: BlockForward + Backward {
    /// `dx = dy f′(x)`
    fn activation_backward(
        &mut self,
        by: Activated,
        x: &Self::Tensor,
        dy: &Self::Tensor,
        dx: &mut Self::Tensor,
    ) -> Result<(), Self::Error>;
    /// Of a linear layer whose input is `x = f(fc)`: `dfc = (dy W) f′(fc)`, `dW += dyᵀ x`, `db += Σ dy`, of `(dy, x, fc)`;
    /// `dx` is workspace.
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
    /// The gradient `dqkv` of queries, keys and values from that of the output, `dy`; of `(qkv, y, lse)`.
    fn attention_backward(
        &mut self,
        of: &SelfAttention,
        known: (&Self::Tensor, &Self::Tensor, &Self::Stats),
        dy: &Self::Tensor,
        dqkv: &mut Self::Tensor,
    ) -> Result<(), Self::Error>;
    /// The gradient before dropout: `d` itself without dropout, else in `room`.
    fn dropped<'d>(
        &mut self,
        site: u32,
        d: &'d Self::Tensor,
        room: &'d mut Self::Tensor,
    ) -> Result<&'d Self::Tensor, Self::Error>;
}
