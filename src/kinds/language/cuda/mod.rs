//! What models of all language kinds share on a GPU. A kind implements [`DeviceModel`]: its layers, by operations of `nn` and
//! its own kernels, and what they hold.
//!
//! | file | subject |
//! | --- | --- |
//! | [`model`] | what a kind declares |
//! | [`backend`], [`captures`] | steps, evaluations and readings; captured passes |
//! | [`buffers`], [`batch`] | weights and the state of their optimiser; a batch and its activations |
//! | [`layers`], [`blocks`] | embedding, norms, linear layers, losses; attention, activation functions, dropout |
//! | [`call_sites`] | which implementation multiplies where |
//! | [`decode`], [`text_copy`] | texts in pieces; a copy of the model that writes them beside the steps |
//! | [`plan`] | groups of tensors in an arena, sizes of batches |
//! | [`format`](mod@format), [`error`], [`kernels`], [`modules`] | formats of weights, errors of passes, kernels of a step, modules to load |
//!
//! # A step
//!
//! Tokens of a micro-batch are copied to the device, its gradients are computed and added up, then all parameters are
//! updated. Gradients and losses of a batch and the update are captured as CUDA graphs at their second use, one per size of a batch;
//! what changes from step to step (learning rate, number of the step, loss scale, number of targets) is read from device
//! memory. The host waits for the batch before the last one only, so that it can stop between two batches; losses and norms
//! wait in a ring until they are read.

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
