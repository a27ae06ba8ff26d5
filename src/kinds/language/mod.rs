//! # What every kind that learns language shares
//!
//! | file | subject |
//! | --- | --- |
//! | [`kind`] | what a kind adds to the simulation |
//! | [`simulation`], [`measure`], [`saved`] | a model in training, what is measured when, its saved state |
//! | [`backend`] | what the simulation asks of a backend: batches, optimiser settings, decoders |
//! | [`cpu`] | parts of models on the CPU |
//! | [`cuda`] | parts of models on a GPU |
//! | [`model`] | sizes and layers that all models have |
//! | [`plan`] | groups of tensors of a pass, sizes of batches |
//! | [`params`], [`choices`] | parameters of the text, the optimiser, the learning rate and recording |
//! | [`probes`], [`requests`] | what all kinds show and answer |
//! | [`setup`], [`text`] | the text as tokens, prompts, levels of loss curves |
//! | [`steps`] | which tokens a step reads, the loss of the held-out text |
//! | [`writing`], [`text_in_progress`] | texts that a model writes and scores; one that is written beside the steps |
//! | [`sampler`] | samples of tapped probes |

pub mod backend;
pub mod choices;
pub mod cpu;
pub mod cuda;
pub mod kind;
pub mod measure;
pub mod model;
pub mod params;
pub mod plan;
pub mod probes;
pub mod requests;
pub mod sampler;
pub mod saved;
pub mod setup;
pub mod simulation;
pub mod steps;
pub mod text;
pub mod text_in_progress;
pub mod writing;
