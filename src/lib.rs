//! Neuropil: a workbench for neural simulation.

pub mod app;
pub mod cli;
pub mod data;
pub mod engine;
pub mod export;
pub mod gpu;
pub mod kinds;
pub mod num;
pub mod params;
pub mod project;
pub mod sim;
pub mod view3d;
