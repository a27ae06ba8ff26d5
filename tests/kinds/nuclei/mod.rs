//! Populations of nuclei.

mod actions;
mod allocations;
mod cuda;
mod fields;
mod files;
mod golden_nuclei;
mod golden_nuclei_fields;
mod golden_nuclei_phases;
mod phases;
mod population;
pub mod runs;
