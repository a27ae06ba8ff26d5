//! Plasticity of the synapses of a projection, on the CPU the definition. A synapse is updated when a presynaptic spike is
//! delivered; the result is that of updates at every spike.
//!
//! # Times
//!
//! A projection has an axonal delay `d_a`, the same for all its synapses; the rest of the delay of a synapse, `d - d_a`, is its
//! dendritic delay `d_d`, at least one step. A presynaptic spike of step n reaches the synapse at the *synapse time* `n + d_a` and
//! the neuron in step `n + d`. A postsynaptic spike of step m returns to the synapse at the synapse time `m + d_d`.
//!
//! # Order of events
//!
//! Events of a synapse take effect by ascending synapse time. Of two spikes with one synapse time, the postsynaptic one takes
//! effect first, and they do not pair with each other, as in NEST:
//!
//! 1. a **postsynaptic** spike at t reads the presynaptic traces of all presynaptic spikes before t, and changes the weight;
//! 2. a **presynaptic** spike at t reads the postsynaptic traces of all postsynaptic spikes before t, and changes the weight;
//! 3. the weight after both is delivered by the presynaptic spike; the spike is then added to the presynaptic traces.
//!
//! With [`Plasticity::RewardStdp`](super::Plasticity::RewardStdp), steps 1 and 2 change the eligibility. After all events of each
//! synapse time that is a multiple R, 2R, 3R, … of the update interval R, weights change: `w ← w + w_max d c R dt`. The
//! third factor is d = d_0 + k (r - r_0), with the rate r of a population over the R steps up to `R' - d_a`, for the interval that
//! ends at the synapse time R'.
//!
//! # Updates on delivery
//!
//! In step D, before the weights of the spikes of step `n = D - delay_min` are added to the sums, their rows are brought to the
//! synapse time `n + d_a = D - d_min`, where `d_min` is the smallest dendritic delay. The postsynaptic spikes up to then are those
//! of step D - 2 or before. All values at a synapse are functions of the times of events, not of the time of an update: traces are
//! stored at spikes and decay by [`decay`] of whole steps, and weights change at events only. An additional update of a row to a
//! synapse time at which all events are known ([`part::Part::bring_up_to_date`]: `now - 1 - d_min` before step `now`) thus changes
//! no bit. Such an update precedes saved states, readings of weights, actions on them, changes of parameters, and the overwriting of
//! histories. Eligibilities are an exception: they decay to the time of an update. With them, rows are updated by presynaptic spikes
//! and at multiples of R only.
//!
//! # Learning
//!
//! Without [`Projection::learning`](super::Projection::learning), steps 1 and 2 change neither weight nor eligibility, and weights
//! do not change at multiples of R: an update moves the time up to which a row is up to date, and nothing else. Spikes are added to
//! the traces as before. Learning is switched before a step, as are all parameters: all synapses are brought up to date first.
//! Projections with eligibilities are not, so that for them the switch acts from the last update of each row on, at most R before.
//!
//! # Layout
//!
//! Each thread has these arrays for its neurons, by projection ([`part::Part`]). f32 unless noted; times are steps modulo 2^32,
//! compared by the sign of their difference.
//!
//! | array | length | content |
//! | --- | --- | --- |
//! | `weights` | synapses | weight, in the order of the rows; the sign bit is constant |
//! | `eligibility` | synapses | reward-modulated STDP only: c at `rows.updated` of the row |
//! | `rows.updated` (u32) | presynaptic neurons | synapse time up to which the row is up to date |
//! | `rows.last` (u32) | presynaptic neurons | synapse time of the last presynaptic spike |
//! | `rows.trace` | presynaptic neurons | K_+ (r_1) at `last`, that spike included; Tsodyks-Markram: u |
//! | `rows.second` | presynaptic neurons | triplets: r_2, that spike included; Tsodyks-Markram: x |
//! | `history.cursor` (u32) | postsynaptic neurons | number of spikes so far; the next one has the place `cursor % depth` |
//! | `history.steps` (u32) | postsynaptic neurons · `depth` | steps of the most recent spikes |
//! | `history.traces` | as `steps` | K_- (o_1) at the spike, that spike included |
//! | `history.seconds` | as `steps` | triplets: o_2 before the spike |
//!
//! Every operation is in single precision and rounded by itself, in the order written; powers are those of [`num::exact`].
//! The delivered weight is converted to the units of the sums: `round_half_even(w / unit)`.
//!
//! [`num::exact`]: crate::num::exact
//!
//! | file | subject |
//! | --- | --- |
//! | `rules` | parameters |
//! | [`plan`] | check of a plastic projection; delays and depth of its histories |
//! | [`decay`] | exponential decay over whole steps |
//! | [`laws`] | changes of a weight by one event |
//! | [`history`] | recent spikes of the postsynaptic neurons |
//! | [`part`] | synapses of one thread: updates and delivery |
//! | [`present`] | weight, traces and eligibility of single synapses, for requests |
//! | [`shuffle`] | permutation of the weights of a neuron |
//! | [`saved`] | saved states |

pub mod decay;
pub mod history;
pub mod laws;
pub mod part;
pub mod plan;
pub mod present;
mod rules;
pub mod saved;
pub mod shuffle;
pub use rules::*;
