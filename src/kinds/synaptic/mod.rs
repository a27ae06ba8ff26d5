//! # A language model with presynaptic and postsynaptic dynamics, and experts that split, merge and die
//!
//! ```text
//! x = wte[token]
//! for each block:  x += o(attention(LN1 x));  x += mixture(LN2 x)
//! logits = head · LN_f(x)
//! attention: logits = q·k / sqrt(D) + bias of the release of key j - barrier · distance / context
//! mixture:   sum of the outputs of the k experts with the largest router logits, weighted by gates
//! ```
//!
//! A step is one update of the optimiser, then of the state of the routers. Periodically, the life cycle evaluates experts,
//! which then split, merge or die. The choice of tokens and every other random number is a draw with an address (seed,
//! purpose, step, lane).
//!
//! | file, folder | subject |
//! | --- | --- |
//! | [`params`](Params), [`mechanisms`], [`choices`] | parameters |
//! | `dynamics` | conversion of parameters to the constants of operations |
//! | [`presynaptic`] | release of vesicles along a sequence, as a bias of attention logits |
//! | [`experts`] | router, genomes, metabolism, mixture of experts |
//! | [`postsynaptic`] | memory that each token writes while a text is continued |
//! | [`life`] | life cycle of experts |
//! | [`model`] | sizes, names and first values of the parameters |
//! | [`network`] | passes of the model over the operations of a backend |
//! | [`backend`] | interface between the simulation and a backend |
//! | [`cpu`], [`cuda`] | the model on the CPU, which is the reference, and on a GPU |
//! | [`setup`] | the text as tokens |
//! | [`simulation`] | parts of the simulation that differ from other language models |
//! | `life_cycle`, `scores`, `saved` | experts while a model trains, and in a saved state |
//! | [`probes`], `readings`, `synapses`, [`sampler`] | probes and their readings |
//! | [`bench`] | speed of training, losses of variants |
//! | [`language`](super::language) | parts shared by all language models |

pub mod backend;
pub mod bench;
mod bench_rows;
pub mod choices;
pub mod cpu;
pub mod cuda;
mod dynamics;
mod examples;
pub mod experts;
mod kind;
pub mod life;
mod life_cycle;
pub mod mechanisms;
pub mod model;
pub mod network;
mod params;
pub mod postsynaptic;
pub mod presets;
pub mod presynaptic;
pub mod probes;
mod readings;
mod requests;
pub mod sampler;
mod saved;
mod scores;
mod sets;
pub mod setup;
pub mod simulation;
mod synapses;
pub use choices::*;
pub use params::*;
pub use simulation::SynapticKind;
