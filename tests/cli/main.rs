//! The program from outside.

mod checkpoints;
mod checks;
#[cfg(feature = "demo")]
mod demo;
mod early_stop;
mod exactness;
mod experiments;
mod exports;
mod gpt2_weights;
mod language;
mod plasticity;
mod processes;
mod program;
mod refusals;
mod resume;
mod runs;
mod sweeps;
mod synaptic;
