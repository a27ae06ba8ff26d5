//! # Experts on a stream of symbols
//!
//! A demonstration kind, small enough to read in a quarter of an hour, which uses every feature available to a kind: it counts in
//! tokens, its element set grows during a run, its state is a large table of bfloat16 weights, and it publishes one probe of
//! every shape. It is compiled only with the cargo feature `demo`.
//!
//! A source emits symbols: those of a text file, or, after symbol a, one of four successors with probabilities 1/2, 1/4, 1/8,
//! 1/8. The entropy of this chain is 1.75 ln 2 nats per token, the lowest possible loss. The expert that owns a predicts the next
//! symbol b and learns:
//!
//! ```text
//! p = softmax(W_e[a])      loss = -ln p_b      W_e[a] -= η (p - 1_b), rounded stochastically to bfloat16
//! ```
//!
//! An expert with many tokens splits: two new experts share its symbols, each with a copy of its table.
//!
//! | file | subject |
//! | --- | --- |
//! | [`params`](Params) | parameters |
//! | [`source`] | the symbols and their source |
//! | [`cpu`] | a step, splits and merges: the definition |
//! | [`cuda`] | the step on a GPU, with the same bits |
//! | [`probes`] | probes and actions |
//! | [`sampler`] | samples of tapped probes |
//! | [`simulation`] | the simulation and its saved state |

pub mod cpu;
pub mod cuda;
mod kind;
mod params;
pub mod probes;
mod requests;
pub mod sampler;
pub mod simulation;
pub mod source;
pub use kind::DemoKind;
pub use params::*;
