//! Homeostasis: slow changes of thresholds and of plastic weights by the activity of each neuron. The host computes them from the
//! spikes that it has counted, between two steps, so that both backends have equal bits.
//!
//! # Times
//!
//! An item has an interval of R steps. Before each step that is a multiple R, 2R, 3R, …, the spikes of the last R steps take effect:
//!
//! - [`Adaptation`]: the threshold of a neuron with n spikes is raised, `θ ← θ exp(-R dt / τ) + Δ n`, in double precision;
//! - [`Scaling`]: all plastic synapses of the projection are brought up to date, and the weights of neuron j are multiplied by a
//!   factor f_j, rounded to single precision, and bounded by the maximum weight. A projection without learning is not scaled.
//!
//! # Sums
//!
//! The sum of the weights of a neuron is an integer, `Σ trunc(|w| · 2^k)` with 30 binary digits below the maximum weight, so that it
//! does not depend on the order of the synapses: [`plan::ScalingPlan::scale`].
//!
//! | file | subject |
//! | --- | --- |
//! | `rules` | parameters |
//! | [`plan`] | checked parameters: intervals in steps, factors |
//! | [`counts`] | spikes of single neurons in an interval |
//! | [`state`] | thresholds and counts of a running network; saved states |

pub mod counts;
pub mod plan;
mod rules;
pub mod state;
pub use rules::*;
