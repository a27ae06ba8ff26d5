//! Reference implementation of the synaptic model on the CPU, generic over f32 and f64.
//!
//! ```text
//! x = wte[token]
//! for each block:  x += o(attention(LN1 x));  x += mixture(LN2 x)
//! logits = head · LN_f(x)
//! loss = mean cross-entropy + Σ over blocks of aux_weight · aux
//! ```
//!
//! | file | subject |
//! | --- | --- |
//! | [`network`] | weights, router states, layers that both passes use |
//! | [`activations`] | activations kept for the backward pass, workspace |
//! | [`heads`] | attention of all heads, with presynaptic release |
//! | [`forward`], [`backward`] | operations of the forward and backward pass |
//! | [`trainer`] | training step: gradients of all micro-batches, clipping, optimiser, router states |
//! | [`update`] | the optimiser |
//! | [`decoder`] | decoding with a cache of keys, values and synaptic states |
//! | [`plastic`] | fast memory of a decoder |
//! | [`inspect`] | activations, synapses and routing decisions of a text |
//! | [`backend`] | the f32 model as a [`Backend`](super::backend::Backend) |
//!
//! Sums are taken in an order that depends only on sizes: results are bit-identical for any number of threads.

pub mod activations;
pub mod backend;
pub mod backward;
pub mod decoder;
pub mod forward;
pub mod heads;
pub mod inspect;
pub mod network;
pub mod plastic;
pub mod trainer;
pub mod update;

#[cfg(test)]
mod tests;

pub use backend::CpuBackend;
pub use network::Network;
pub use trainer::Trainer;
