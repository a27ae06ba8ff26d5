//! The model on the CPU: the definition of the kind, generic over f32 and f64.
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
//! | [`network`] | weights, states of the routers, layers that both passes use |
//! | [`activations`] | what the forward pass leaves for the backward pass |
//! | [`heads`] | attention of all heads, with presynaptic release |
//! | [`forward`], [`backward`] | the passes, written out |
//! | [`trainer`] | a step: gradients of all micro-batches, clipping, optimiser, states of the routers |
//! | [`update`] | the optimiser |
//! | [`decoder`] | prediction with a cache of keys, values and synapses |
//! | [`plastic`] | fast memory of a decoder |
//! | [`inspect`] | activations, synapses and decisions of a text |
//! | [`backend`] | all of it in f32, as a [`Backend`](super::backend::Backend) |
//!
//! Sums are taken in orders that follow from the sizes alone: the same bits for any number of threads.

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
