//! # A transformer language model that is observed while it trains
//!
//! A decoder of the GPT family on tokens of a text: embeddings, L blocks of attention and feed-forward layer, logits.
//!
//! ```text
//! x = wte[token] (+ positions)
//! pre-norm block:   x += proj(attention(norm_1(x)));  x += mlp_proj(act(fc(norm_2(x))))
//! post-norm block:  x = norm_1(x + proj(attention(x)));  x = norm_2(x + mlp_proj(act(fc(x))))
//! logits = head · norm_f(x)        loss = mean over targets of (ln Σ exp logits - logit of the target)
//! ```
//!
//! A step is one update of the optimiser: the gradient of the mean loss over all micro-batches is clipped, then AdamW or
//! Muon updates the parameters. The choice of tokens and every other random number is a draw with an address (seed,
//! purpose, step, lane).
//!
//! | file | subject |
//! | --- | --- |
//! | [`kind`](TransformerKind) | declaration of the kind |
//! | [`params`](Params) | parameters of a project |
//! | [`model`] | sizes, names and initial values of the model's parameters |
//! | [`weights`] | initial weights read from files |
//! | [`backend`] | interface between the simulation and its backends |
//! | [`network`], [`plan`] | forward and backward pass over the layers of a backend, and the tensors that they hold |
//! | [`cpu`] | reference implementation on the CPU |
//! | [`cuda`] | implementation on a GPU |
//! | [`setup`] | tokenised text |
//! | [`simulation`] | the kind's implementation of [`LanguageKind`](super::language::kind::LanguageKind) |
//! | [`probes`], `readings`, [`sampler`] | probes and their readings |
//! | [`language`](super::language) | parts shared by all language kinds: simulation, texts, batches, sampling and scoring |
//! | [`bench`] | benchmark of training steps |

pub mod backend;
pub mod bench;
mod bench_rows;
mod choices;
pub mod cpu;
pub mod cuda;
mod examples;
mod kind;
pub mod model;
pub mod network;
mod params;
pub mod plan;
pub mod presets;
pub mod probes;
mod readings;
mod requests;
pub mod sampler;
mod sets;
pub mod setup;
pub mod simulation;
pub mod weights;
pub use choices::*;
pub use params::*;
pub use simulation::TransformerKind;
