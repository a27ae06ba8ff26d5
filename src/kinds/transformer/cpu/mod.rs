//! The model on the CPU: the definition of the kind, generic over f32 and f64.
//!
//! | file | subject |
//! | --- | --- |
//! | [`network`] | weights, tables, and the [passes](super::network) over a batch in memory |
//! | [`trainer`] | a step: gradients of all micro-batches, clipping, optimiser |
//! | [`decoder`] | prediction with a cache of keys and values |
//! | [`backend`] | all of it in f32, as a [`Backend`](super::backend::Backend) |
//!
//! Large batches are passed in parts of whole sequences whose gradients are added in order, so that a step looks at the stop
//! flag often. Which parts follows from the sizes alone, and operations sum in orders of their own: the same bits for any
//! number of threads.

pub mod backend;
pub mod decoder;
pub mod network;
pub mod trainer;

pub use backend::CpuBackend;
pub use network::Network;
pub use trainer::Trainer;
