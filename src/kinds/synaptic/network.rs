//! The passes of the model, written once over the operations of a backend.
//!
//! ```text
//! x = wte[token]
//! for each block:  x += o(attention(LN1 x));  x += mixture(LN2 x)
//! logits = head · LN_f(x)
//! ```
//!
//! A value of a type with [`Forward`] is one pass over one batch, like those of [`nn::layers`](crate::nn::layers).
//! `Block` contains the activations that the backward pass reads, which backends choose differently: attention with
//! release is one task per head on the CPU, and a sequence of launches over all heads on a GPU. A function that returns
//! a `Result` fails if an operation of the backend fails or the pass is to be stopped.

use crate::gpu::nvtx;
use std::ops::DerefMut;

/// Operations of the forward pass. `b` is the index of a block. Every operation fails if the sizes do not match, a launch
/// fails, or the pass is stopped.
pub trait Forward {
    /// Reason why an operation failed, or that the pass was stopped.
    type Error;
    /// Residual stream, and its gradients.
    type Stream: ?Sized;
    /// Activations of a block.
    type Block<'f>;
    /// Workspace that all blocks share.
    type Shared<'f>;
    /// Input of the logits, and the losses.
    type Head<'f>;
    /// Logits of a text.
    type Logits: ?Sized;

    /// Runs a part of the pass, which profiling measures as one row.
    fn section(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> Result<(), Self::Error>,
    ) -> Result<(), Self::Error>;
    /// Writes the embedding vectors of the tokens to `y`.
    fn embed(&mut self, y: &mut Self::Stream) -> Result<(), Self::Error>;
    /// Applies the norm before attention to `input`.
    fn first_norm(
        &mut self,
        b: usize,
        input: &Self::Stream,
        a: &mut Self::Block<'_>,
        s: &mut Self::Shared<'_>,
    ) -> Result<(), Self::Error>;
    /// Computes queries, keys and values.
    fn project(&mut self, b: usize, a: &mut Self::Block<'_>, s: &mut Self::Shared<'_>) -> Result<(), Self::Error>;
    /// Computes attention of all heads with release, in sections of its own. Tokens that continue a text are appended to
    /// the cache and attend to it.
    fn attend(&mut self, b: usize, a: &mut Self::Block<'_>, s: &mut Self::Shared<'_>) -> Result<(), Self::Error>;
    /// Computes `mid = input + o(attention)`.
    fn project_output(&mut self, b: usize, input: &Self::Stream, a: &mut Self::Block<'_>) -> Result<(), Self::Error>;
    /// Applies the norm before router and experts.
    fn second_norm(&mut self, b: usize, a: &mut Self::Block<'_>) -> Result<(), Self::Error>;
    /// Computes the decisions of the router.
    fn route(&mut self, b: usize, a: &mut Self::Block<'_>) -> Result<(), Self::Error>;
    /// Computes `output = mid + mixture(LN2 mid)`.
    fn mix(&mut self, b: usize, a: &mut Self::Block<'_>, output: &mut Self::Stream) -> Result<(), Self::Error>;
    /// Reads and writes the fast memory of a text in a block, and adds the read-out to the block's output.
    fn write_memory(&mut self, b: usize, a: &mut Self::Block<'_>, output: &mut Self::Stream)
    -> Result<(), Self::Error>;
    /// Applies the last norm to `x`.
    fn last_norm(
        &mut self,
        x: &Self::Stream,
        head: &mut Self::Head<'_>,
        s: &mut Self::Shared<'_>,
    ) -> Result<(), Self::Error>;
    /// Computes the losses of normalised tokens.
    fn losses(&mut self, head: &mut Self::Head<'_>) -> Result<(), Self::Error>;
    /// Computes the logits of normalised tokens, `[tokens, padded vocabulary]`.
    fn logits(&mut self, head: &Self::Head<'_>, logits: &mut Self::Logits) -> Result<(), Self::Error>;
}

/// Operations of the backward pass. Gradients of parameters are accumulated. Operations fail under the conditions of
/// [`Forward`].
pub trait Backward: Forward {
    /// Gradients of all parameters.
    type Gradient: ?Sized;
    /// Gradients of activations: d, the gradient of the residual stream, and the gradient of the output of a norm.
    type Gradients<'f>;

    /// Computes the losses, the gradient of the matrix of logits, and the gradient of its input.
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
    /// Backpropagates d through experts and router to the output of the second norm.
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
    /// Backpropagates d to the output of attention.
    fn output_backward(
        &mut self,
        b: usize,
        a: &Self::Block<'_>,
        s: &mut Self::Shared<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Computes the gradients of queries, keys and values.
    fn attend_backward(
        &mut self,
        b: usize,
        a: &Self::Block<'_>,
        s: &mut Self::Shared<'_>,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
    /// Backpropagates the gradients of queries, keys and values to the output of the first norm.
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
    /// Backpropagates d to the embedding vectors of the tokens.
    fn embedding_backward(
        &mut self,
        t: &mut Self::Gradients<'_>,
        gradient: &mut Self::Gradient,
    ) -> Result<(), Self::Error>;
}

/// Computes one block, from the residual stream `input` to `output`.
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

/// Computes the embedding and all blocks. `streams` receives the input of each block and the output of the last one.
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

/// Computes the logits of tokens that continue a text, with the activations of one block in memory.
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

/// Computes the loss, and sets d to the gradient of the residual stream after the last block.
pub fn loss_backward<O: Backward>(
    ops: &mut O,
    last: &O::Stream,
    head: &mut O::Head<'_>,
    t: &mut O::Gradients<'_>,
    gradient: &mut O::Gradient,
) -> Result<(), O::Error> {
    ops.section("head and loss", |ops| ops.head_backward(head, t, gradient))?;
    ops.section("norm backward", |ops| ops.last_norm_backward(last, head, t, gradient))
}

/// Computes the gradients of all blocks and of the embedding. At each block, d is the gradient of the output before and of
/// the input after the operation.
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
        ops.section("experts backward", |ops| ops.mixture_backward(b, a, s, t, gradient))?;
        ops.section("norm backward", |ops| ops.second_norm_backward(b, a, t, gradient))?;
        ops.section("projection backward", |ops| ops.output_backward(b, a, s, t, gradient))?;
        ops.section("attention backward", |ops| ops.attend_backward(b, a, s, t, gradient))?;
        ops.section("qkv backward", |ops| ops.project_backward(b, a, s, t, gradient))?;
        ops.section("norm backward", |ops| ops.first_norm_backward(b, &streams[b], a, t, gradient))?;
    }
    ops.section("embed backward", |ops| ops.embedding_backward(t, gradient))
}
