//! The library below the window. The page of `src/lib.rs` describes its modules.

pub mod cli;
pub mod data;
pub mod engine;
pub mod experiment;
pub mod export;
pub mod gpu;
pub mod kinds;
pub mod nn;
pub mod num;
pub mod params;
pub mod project;
pub mod query;
pub mod sim;
