//! Forward and backward pass of the model, written once over the [layers](crate::nn::layers) of a backend.
//!
//! ```text
//! pre-norm block:   x += drop(proj(attention(norm_1(x))));  x += drop(mlp_proj(act(fc(norm_2(x)))))
//! post-norm block:  x = norm_1(x + drop(proj(attention(x))));  x = norm_2(x + drop(mlp_proj(act(fc(x)))))
//! ```
//!
//! A backend allocates the tensors of a [`Plan`](super::plan::Plan) and runs
//!
//! - [`Run::forward`], [`Run::loss_backward`], [`Run::blocks_backward`] for gradients;
//! - [`Run::through`], which holds one block at a time, for losses, for inspected activations, and with a KV cache for
//!   decoding.

mod backward;
mod forward;

use super::{
    model::{Config, Layout},
    plan::{BackwardTensors, BlockTensors, Plan, StreamTensors},
};
use crate::{
    kinds::language::plan::{BatchShape, HeadTensors},
    nn::{
        layers::{HeadMatrix, LossRows, SelfAttention, Tensors, Weight},
        norm,
    },
};

/// Activation tensor of a backend.
pub type Tensor<O> = <O as Tensors>::Tensor;
/// Tensor of statistics of a backend.
pub type Stats<O> = <O as Tensors>::Stats;
/// Activations of a block.
pub type Block<'a, O> = BlockTensors<&'a mut Tensor<O>, &'a mut Stats<O>>;
/// Intermediates of the head.
pub type Head<'a, O> = HeadTensors<&'a mut Tensor<O>, &'a mut Stats<O>>;
/// Gradients of the residual stream.
pub type Stream<'a, O> = StreamTensors<&'a mut Tensor<O>>;
/// Gradients within a block.
pub type Backward<'a, O> = BackwardTensors<&'a mut Tensor<O>>;

/// Place where dropout is applied.
#[derive(Clone, Copy, Debug)]
pub enum DropSite {
    /// Output of the token and position embedding.
    Embedding,
    /// Attention output of a block.
    Attention(usize),
    /// Feed-forward output of a block.
    FeedForward(usize),
    /// Attention probabilities of a block.
    Probabilities(usize),
}

impl DropSite {
    /// Returns the site number in the address of the random numbers.
    pub const fn number(self) -> u32 {
        match self {
            Self::Embedding => 0,
            Self::Attention(block) => 1 + 2 * block as u32,
            Self::FeedForward(block) => 2 + 2 * block as u32,
            Self::Probabilities(block) => 0x8000 + block as u32,
        }
    }
}

/// Pass over a batch.
pub struct Run<'a, O> {
    /// Sizes and options of the model.
    pub config: &'a Config,
    /// Parameter layout of the model.
    pub layout: &'a Layout,
    /// Sizes of the batch.
    pub shape: BatchShape,
    /// Position of the first token of every sequence.
    pub offset: usize,
    /// Layers of the backend.
    pub ops: O,
}

impl<O> Run<'_, O> {
    /// Returns the norm operation for all tokens of the batch.
    const fn norm_op(&self) -> norm::Norm {
        self.config.norm_op(self.shape.n_tokens())
    }

    /// Returns the self-attention of a block.
    pub fn self_attention(&self, block: usize) -> SelfAttention {
        let (op, site) = (self.config.attention(&self.shape), DropSite::Probabilities(block).number());
        SelfAttention { op, block, site, context: self.config.context }
    }

    /// Returns the matrix of logits, with the number of rows per chunk.
    pub fn head(&self, plan: &Plan) -> HeadMatrix {
        HeadMatrix { weight: self.layout.head(), vocab: self.config.vocab, rows: plan.logit_rows }
    }
}

/// Splits the head's tensors into the input and the outputs of the loss.
fn split<'h, T: ?Sized, S: ?Sized>(head: &'h mut HeadTensors<&mut T, &mut S>) -> (&'h T, LossRows<'h, S>) {
    (&*head.norm_f, LossRows { losses: &mut *head.losses, lse: &mut *head.lse })
}

const fn weight(of: super::model::Linear) -> Weight {
    (of.weight, of.bias)
}

const fn gain(of: super::model::Norm) -> Weight {
    (of.weight, of.bias)
}
