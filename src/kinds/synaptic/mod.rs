//! # A language model with presynaptic and postsynaptic dynamics, and experts that live, split and merge
//!
//! ```text
//! x = wte[token]
//! for each block:  x += o(attention(LN1 x));  x += mixture(LN2 x)
//! logits = head · LN_f(x)
//! attention: logits = q·k / sqrt(D) + bias of the release of key j - barrier · distance / context
//! mixture:   the k experts with the largest router logits; their outputs weighted by gates
//! ```
//!
//! A step is one update of the optimiser, then of the state of the routers; periodically experts are judged, and
//! split, merge or end. Which tokens a step reads, and every other random number, is a draw with an address (seed, purpose,
//! step, lane).
//!
//! | file, folder | subject |
//! | --- | --- |
//! | [`params`](Params), [`mechanisms`], [`choices`] | parameters |
//! | `dynamics` | parameters as the constants of operations |
//! | [`presynaptic`] | release of vesicles along a sequence, as a bias of attention logits |
//! | [`experts`] | router, genomes, metabolism, mixture of experts |
//! | [`postsynaptic`] | memory written while a text is continued |
//! | [`life`] | life cycle of experts |
//! | [`model`] | sizes, names and first values of the parameters |
//! | [`network`] | the passes of the model over the operations of a backend |
//! | [`backend`] | what the simulation asks of a backend |
//! | [`cpu`], [`cuda`] | the model on the CPU, which is the definition, and on a GPU |
//! | [`setup`] | the text as tokens |
//! | [`simulation`] | what the kind adds to the simulation of a language model |
//! | `life_cycle`, `scores`, `saved` | experts while a model trains, and in a saved state |
//! | [`probes`], `readings`, `synapses`, [`sampler`] | what can be shown |
//! | [`bench`] | speed of training, losses of variants |
//! | [`language`](super::language) | what all kinds that learn language share |

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
