//! A population of nuclei and the coupling of their phases.

pub mod cuda;
