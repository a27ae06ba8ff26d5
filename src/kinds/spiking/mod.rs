//! # Spiking networks on a connectome
//!
//! Leaky integrate-and-fire neurons with exponential synapses, identical parameters, connected by a connectome in
//! which a connection of n synapses weighs n times one synapse (Shiu et al., *Nature* 634:210, 2024, of the fly
//! brain):
//!
//! ```text
//! τ_m   dv/dt = v_rest - v + g + I        frozen while refractory
//! τ_syn dg/dt = -g                        frozen while refractory
//! v > v_threshold        →  spike, v = v_reset, g = 0, refractory for t_refractory
//! spike of j, t_delay ago →  g += w_syn · n_ij, unless refractory
//! stimulus               →  v += weight, unless refractory; driven neurons have no refractory period
//! ```
//!
//! In double precision, spikes equal those of the authors' Brian2 model; [`cpu`] defines the order of a step and explains why
//! silent neurons have no cost. The exact propagators follow Rotter & Diesmann, *Biol. Cybern.* 81:381 (1999).
//!
//! A second model, noisy [`leaky`] units in steps of 1 ms, serves as a benchmark; connectivity, stimuli and measurements are the
//! same. A *kick* is a voltage pulse to the membrane.
//!
//! | file | subject |
//! | --- | --- |
//! | [`params`](Params) | parameters in user units |
//! | [`constants`] | conversion of user units to constants and propagators |
//! | [`leaky`] | definition of the second model's step, bit for bit |
//! | [`setup`] | neurons and connectivity from files or generators |
//! | `circuit`, `cell_models` | networks of SONATA circuits, and parameters of their neurons |
//! | `rewiring` | null wirings of a network |
//! | [`select`] | targets: queries and lists |
//! | [`stimuli`], `pattern_stimulus` | stimuli and silencing over time |
//! | [`cpu`] | the step: definition and CPU backend |
//! | [`general`] | a second engine, for networks from populations and projections |
//! | [`cuda`] | the same step on an NVIDIA GPU |
//! | [`host_state`], [`saved_state`] | shared by both backends: edits, actions, saved states |
//! | [`measure`], [`bin`], [`probes`] | measurements and probes |
//! | [`weight_readings`] | readings of plastic weights |
//! | [`weight_matrix`] | mean weights between categories of neurons |
//! | [`synapse_readings`] | readings of single plastic synapses |
//! | `edge_lists` | connections for files, without a simulation |
//! | [`predict`] | memory prediction |
//! | [`actions`] | checks of edits and actions |
//! | [`bench`] | benchmarks |

pub mod actions;
pub mod bench;
pub mod bin;
mod cell_models;
mod circuit;
pub mod constants;
pub mod cpu;
pub mod cuda;
mod edge_lists;
mod examples;
pub mod general;
pub mod host_state;
mod kind;
pub mod leaky;
pub mod measure;
mod params;
mod pattern_stimulus;
pub mod predict;
mod presets;
pub mod probes;
mod requests;
mod rewiring;
pub mod saved_state;
pub mod select;
mod semantics;
pub mod setup;
pub mod start;
pub mod stimuli;
pub mod synapse_readings;
pub mod weight_matrix;
pub mod weight_readings;
pub use kind::SpikingKind;
pub use params::*;
