//! # Parts that all kinds that train language models share
//!
//! | file | subject |
//! | --- | --- |
//! | [`kind`] | trait of the parts of the simulation that a kind implements |
//! | [`simulation`], [`measure`], [`saved`] | training loop, schedule of measurements, saved state |
//! | [`backend`] | interface of backends: batches, optimiser settings, decoders |
//! | [`cpu`] | parts of models on the CPU |
//! | [`cuda`] | parts of models on a GPU |
//! | [`model`] | sizes and layers that all models have |
//! | [`plan`] | tensor groups of a pass, batch sizes |
//! | [`params`], [`choices`] | parameters of the text, the optimiser, the learning rate and recording |
//! | [`probes`], [`requests`] | probes and requests of every kind |
//! | [`setup`], [`text`] | tokenised text, prompts, reference levels of loss curves |
//! | [`steps`] | tokens that a step reads, held-out loss |
//! | [`writing`], [`text_in_progress`] | sampling and scoring of text; sampling concurrent with training steps |
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
