//! Reference implementation of the transformer on the CPU, generic over f32 and f64.
//!
//! | file | subject |
//! | --- | --- |
//! | [`network`] | weights, tables, and the [passes](super::network) over a batch in host memory |
//! | [`trainer`] | a step: gradients of all micro-batches, clipping, optimiser |
//! | [`decoder`] | decoding with a KV cache |
//! | [`backend`] | the f32 model as a [`Backend`](super::backend::Backend) |
//!
//! Large batches are split into parts of whole sequences whose gradients are accumulated in order, so that a step checks
//! the stop flag often. The split depends only on sizes, and operations sum in a fixed order, so that results are
//! bit-identical for any number of threads.

pub mod backend;
pub mod decoder;
pub mod network;
pub mod trainer;

pub use backend::CpuBackend;
pub use network::Network;
pub use trainer::Trainer;
