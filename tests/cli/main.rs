//! The program from outside.

mod checkpoints;
mod checks;
#[cfg(feature = "demo")]
mod demo;
mod exactness;
mod language;
mod program;
mod resume;
mod synaptic;
