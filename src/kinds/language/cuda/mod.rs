//! Parts that models of all language kinds share on a GPU. A kind implements [`DeviceModel`]: its layers, composed of
//! operations of `nn` and its own kernels, and their buffers.
//!
//! | file | subject |
//! | --- | --- |
//! | [`model`] | trait that a kind implements |
//! | [`backend`], [`captures`] | steps, evaluations and readings; captured passes |
//! | [`buffers`], [`batch`] | weights and optimiser state; a batch and its activations |
//! | [`layers`], [`blocks`] | embedding, norms, linear layers, losses; attention, activation functions, dropout |
//! | [`call_sites`] | GEMM implementation per call site |
//! | [`decode`], [`text_copy`] | decoding in chunks; copy of the model that samples texts concurrently with steps |
//! | [`plan`] | tensor groups in an arena, batch sizes |
//! | [`format`](mod@format), [`error`] | number formats, errors of passes |
//! | [`kernels`], [`modules`] | kernels of a step, modules to load |
//!
//! # A step
//!
//! Each micro-batch is copied to the device and its gradients are accumulated; then all parameters are updated. The passes
//! of a batch, one per batch shape, and the update are captured as CUDA graphs at their second use. Values that change from
//! step to step (learning rate, step index, loss scale, number of targets) are read from device memory. The host waits only
//! for the batch before the last one, so that it can stop between batches. Losses and norms are kept in a ring until the
//! host reads them.

pub mod backend;
pub mod batch;
pub mod blocks;
pub mod buffers;
pub mod call_sites;
pub mod captures;
pub mod decode;
pub mod error;
pub mod format;
pub mod kernels;
pub mod layers;
pub mod model;
pub mod modules;
pub mod plan;
pub mod text_copy;

pub use backend::CudaBackend;
pub use kernels::MODULES;
pub use model::DeviceModel;
