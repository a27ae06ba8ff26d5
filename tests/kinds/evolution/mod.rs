//! The evolution kind.

mod cuda;
mod golden_draws;
mod golden_files;
mod golden_model;
mod golden_operations;
mod golden_storage;
mod simulation;
