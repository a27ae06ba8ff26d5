//! # What every kind that learns language shares
//!
//! | file | subject |
//! | --- | --- |
//! | [`params`], [`choices`] | parameters of the text, the optimiser, the learning rate and recording |
//! | [`backend`] | what a simulation exchanges with a backend: batches, optimiser settings, decoders |
//! | [`text`] | the text as tokens, prompts, levels of loss curves |
//! | [`steps`] | which tokens a step reads, the loss of the held-out text |
//! | [`writing`] | texts that a model writes and scores |
//! | [`requests`] | answers to the requests for them |
//! | [`sampler`] | samples of tapped probes |

pub mod backend;
pub mod choices;
pub mod params;
pub mod requests;
pub mod sampler;
pub mod steps;
pub mod text;
pub mod writing;
