//! Networks from rules: populations of linear neurons, projections between them, and external input. A second engine beside
//! the tuned one, for networks with several neuron models, delays and weights.
//!
//! # Definition of a step
//!
//! In step n, for every neuron, with the coefficients of [`coefficients`] and all operations in single precision, rounded one
//! by one in the written order (no fused multiply-add):
//!
//! 1. **arrivals**: the weights of all spikes of step n - delay, and of the Poisson counts of step n, are summed as integers
//!    per receptor: `in_r = (float)sum_r · unit_r`;
//! 2. **integrate**: u, the potential above rest, follows the exact solution over one step from the synaptic variables before
//!    the step, unless the neuron is refractory; then the variables decay and the arrivals are added to them. Delta synapses
//!    add their arrivals to u;
//! 3. **kicks** of stimuli are added to u, unless refractory;
//! 4. **threshold and reset**: a neuron that is not refractory and has `u >= θ` spikes; `u = reset`, which is held in the next
//!    `t_ref / dt` steps.
//!
//! This is the order of NEST: a spike of step n with a delay of d steps changes a synaptic variable in step n + d, and
//! u first in step n + d + 1, or in step n + d with delta synapses. [`RefractoryInput`] chooses the effect of arrivals
//! at a refractory neuron.
//!
//! | file | subject |
//! | --- | --- |
//! | `population`, `projection`, `positions` | parameters; positions of the neurons |
//! | [`plan`], `inputs`, `rule_size`, [`fixed_point`] | the checked network: sizes, delays, units of the weights |
//! | [`edge_file`] | edge lists of projections from files |
//! | [`draws`], [`rows`] | addressed draws, and the rows made from them, one presynaptic neuron at a time |
//! | [`connections`], [`network`] | all connections in memory, and their views |
//! | [`coefficients`] | exact propagators |
//! | [`cpu`] | the step on the CPU |
//! | [`cuda`] | the same step on an NVIDIA GPU |
//! | [`edit`] | edits while a network runs |
//! | [`homeostasis`] | adaptive thresholds, scaling of plastic weights |
//! | [`patterns`] | presented patterns, readout of their classes |
//! | [`forecast`] | prediction of a network for the graph editor |
//! | [`plasticity`] | plasticity of synapses: rules, order of events, layout |
//! | [`present`] | present weights of plastic synapses, for requests |
//! | [`without_input`] | warnings about populations that cannot spike |
//! | [`saved`] | saved states, independent of threads and backend |

pub mod coefficients;
#[cfg(test)]
mod connection_tests;
pub mod connections;
pub mod cpu;
pub mod cuda;
mod delay;
pub mod draws;
pub mod edge_file;
pub mod edit;
pub mod fixed_point;
pub mod forecast;
pub mod homeostasis;
mod inputs;
pub mod network;
pub mod patterns;
pub mod plan;
pub mod plasticity;
mod population;
mod positions;
pub mod present;
mod projection;
#[cfg(test)]
mod refusals;
pub mod rows;
mod rule_size;
pub mod saved;
pub mod without_input;
pub use homeostasis::{Adaptation, Scaling};
pub use patterns::PatternInput;
pub use plasticity::Plasticity;
pub use population::*;
pub use projection::*;
