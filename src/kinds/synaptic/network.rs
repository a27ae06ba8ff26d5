//! The passes of the model, written once over the operations of a backend.
//!
//! ```text
//! x = wte[token]
//! for each block:  x += o(attention(LN1 x));  x += mixture(LN2 x)
//! logits = head · LN_f(x)
//! ```
//!
//! A value of a type with [`Forward`] is one pass over one batch, as those of [`nn::layers`](crate::nn::layers). Its block has the
//! activations that its backward pass reads: which ones is a matter of the backend, since attention with release is one task per
//! head on the CPU and a sequence of launches over all heads on a GPU.

use crate::gpu::nvtx;
use std::ops::DerefMut;

/// What the forward pass does.
pub trait Forward {
    /// Why an operation is refused, or that the pass was stopped.
    type Error;
    /// The residual stream, and gradients of it.
    type Stream: ?Sized;
    /// Activations of a block.
    type Block<'f>;
    /// Workspace of all blocks.
    type Shared<'f>;
    /// Input of the logits, and the losses.
    type Head<'f>;
    /// Logits of a text.
    type Logits: ?Sized;

    /// Runs a part of the pass, which is one row where parts are measured.
    fn section(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error>;
    /// Vectors of tokens.
    fn embed(&mut self, y: &mut Self::Stream) -> Result<(), Self::Error>;
    /// The norm before attention.
    fn first_norm(
        &mut self,
        b: usize,
        input: &Self::Stream,
        a: &mut Self::Block<'_>,
        s: &mut Self::Shared<'_>,
    ) -> Result<(), Self::Error>;
    /// Queries, keys and values.
    fn project(&mut self, b: usize, a: &mut Self::Block<'_>, s: &mut Self::Shared<'_>) -> Result<(), Self::Error>;
    /// Attention of all heads with release, in sections of its own; of tokens that continue a text with those in the cache, which is
    /// appended to.
    fn attend(&mut self, b: usize, a: &mut Self::Block<'_>, s: &mut Self::Shared<'_>) -> Result<(), Self::Error>;
    /// `mid = input + o(attention)`
    fn project_output(&mut self, b: usize, input: &Self::Stream, a: &mut Self::Block<'_>) -> Result<(), Self::Error>;
    /// The norm before router and experts.
    fn second_norm(&mut self, b: usize, a: &mut Self::Block<'_>) -> Result<(), Self::Error>;
    /// What the router decides.
    fn route(&mut self, b: usize, a: &mut Self::Block<'_>) -> Result<(), Self::Error>;
    /// `output = mid + mixture(LN2 mid)`
    fn mix(&mut self, b: usize, a: &mut Self::Block<'_>, output: &mut Self::Stream) -> Result<(), Self::Error>;
    /// Reads and writes the fast memory of a text at a block, and changes its output.
    fn write_memory(&mut self, b: usize, a: &mut Self::Block<'_>, output: &mut Self::Stream)
    -> Result<(), Self::Error>;
    /// The last norm.
    fn last_norm(
        &mut self,
        x: &Self::Stream,
        head: &mut Self::Head<'_>,
        s: &mut Self::Shared<'_>,
    ) -> Result<(), Self::Error>;
    /// Losses of normalised tokens.
    fn losses(&mut self, head: &mut Self::Head<'_>) -> Result<(), Self::Error>;
    /// Logits of normalised tokens, `[tokens, padded vocabulary]`.
    fn logits(&mut self, head: &Self::Head<'_>, logits: &mut Self::Logits) -> Result<(), Self::Error>;
}

/// What the backward pass does. Gradients of parameters are added to.
pub trait Backward: Forward {
    /// Gradients of all parameters.
    type Gradient: ?Sized;
    /// Gradients of activations: that of the residual stream, d, and that of the output of a norm.
    type Gradients<'f>;

    /// Losses, gradients of the matrix of logits, and that of its input.
    fn head_backward(
        &mut self,
        head: &mut Self::Head<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Sets d to the gradient through the last norm.
    fn last_norm_backward(
        &mut self,
        last: &Self::Stream,
        head: &Self::Head<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// The gradient of the output of the second norm, through experts and router, from d.
    fn mixture_backward(
        &mut self,
        b: usize,
        a: &mut Self::Block<'_>,
        s: &mut Self::Shared<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Adds the gradient through the second norm to d.
    fn second_norm_backward(
        &mut self,
        b: usize,
        a: &Self::Block<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// The gradient of the output of attention, from d.
    fn output_backward(
        &mut self,
        b: usize,
        a: &Self::Block<'_>,
        s: &mut Self::Shared<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// The gradients of queries, keys and values.
    fn attend_backward(
        &mut self,
        b: usize,
        a: &Self::Block<'_>,
        s: &mut Self::Shared<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// The gradient of the output of the first norm.
    fn project_backward(
        &mut self,
        b: usize,
        a: &Self::Block<'_>,
        s: &mut Self::Shared<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Adds the gradient through the first norm to d.
    fn first_norm_backward(
        &mut self,
        b: usize,
        input: &Self::Stream,
        a: &Self::Block<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Gradients of vectors of tokens, from d.
    fn embedding_backward(
        &mut self,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
}

/// One block: from the residual stream `input` to `output`.
fn block<O: Forward>(
    ops: &mut O,
    b: usize,
    input: &O::Stream,
    a: &mut O::Block<'_>,
    s: &mut O::Shared<'_>,
    output: &mut O::Stream,
) -> Result<(), O::Error> {
    let _range = nvtx::range_of(|| format!("block {b}"));
    ops.section("norm", |ops| ops.first_norm(b, input, a, s))?;
    ops.section("qkv", |ops| ops.project(b, a, s))?;
    ops.attend(b, a, s)?;
    ops.section("projection", |ops| ops.project_output(b, input, a))?;
    ops.section("norm", |ops| ops.second_norm(b, a))?;
    ops.section("router", |ops| ops.route(b, a))?;
    ops.section("experts", |ops| ops.mix(b, a, output))
}

/// The embedding and all blocks. `streams` are the inputs of the blocks, and the output of the last one.
pub fn forward<'f, O: Forward, T: DerefMut<Target = O::Stream>>(
    ops: &mut O,
    streams: &mut [T],
    blocks: &mut [O::Block<'f>],
    s: &mut O::Shared<'_>,
) -> Result<(), O::Error> {
    ops.section("embed", |ops| ops.embed(&mut streams[0]))?;
    for (b, a) in blocks.iter_mut().enumerate() {
        let (before, after) = streams.split_at_mut(b + 1);
        block(ops, b, &before[b], a, s, &mut after[0])?;
    }
    Ok(())
}

/// Logits of tokens that continue a text; one block is held at a time.
pub fn predict<O: Forward>(
    ops: &mut O,
    layers: usize,
    (mut x, mut next): (&mut O::Stream, &mut O::Stream),
    (a, s): (&mut O::Block<'_>, &mut O::Shared<'_>),
    head: &mut O::Head<'_>,
    logits: &mut O::Logits,
) -> Result<(), O::Error> {
    ops.section("embed", |ops| ops.embed(x))?;
    for b in 0..layers {
        block(ops, b, x, a, s, next)?;
        ops.write_memory(b, a, next)?;
        std::mem::swap(&mut x, &mut next);
    }
    ops.last_norm(x, head, s)?;
    ops.logits(head, logits)
}

/// The loss, and in d the gradient of the residual stream behind the last block.
pub fn loss_backward<O: Backward>(
    ops: &mut O,
    last: &O::Stream,
    head: &mut O::Head<'_>,
    t: &mut O::Gradients<'_>,
    gradient: &mut O::Gradient,
) -> Result<(), O::Error> {
    ops.section("head and loss", |ops| {
        ops.head_backward(head, t, gradient)?;
        ops.last_norm_backward(last, head, t, gradient)
    })
}

/// Gradients of all blocks and of the embedding. d is the gradient of a block's output, then of its input.
pub fn blocks_backward<'f, O: Backward, T: DerefMut<Target = O::Stream>>(
    ops: &mut O,
    streams: &[T],
    blocks: &mut [O::Block<'f>],
    s: &mut O::Shared<'_>,
    t: &mut O::Gradients<'_>,
    gradient: &mut O::Gradient,
) -> Result<(), O::Error> {
    for (b, a) in blocks.iter_mut().enumerate().rev() {
        let _range = nvtx::range_of(|| format!("block {b}, backward"));
        ops.section("experts backward", |ops| {
            ops.mixture_backward(b, a, s, t, gradient)?;
            ops.second_norm_backward(b, a, t, gradient)
        })?;
        ops.section("attention backward", |ops| {
            ops.output_backward(b, a, s, t, gradient)?;
            ops.attend_backward(b, a, s, t, gradient)?;
            ops.project_backward(b, a, s, t, gradient)?;
            ops.first_norm_backward(b, &streams[b], a, t, gradient)
        })?;
    }
    ops.section("embed backward", |ops| ops.embedding_backward(t, gradient))
}
