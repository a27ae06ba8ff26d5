//! # A transformer that trains and writes while it is watched
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
//! A step is one update of the optimiser: the gradient of the mean loss over all micro-batches, clipped, then AdamW or
//! Muon. Which tokens a step reads, and every other random number, is a draw with an address (seed, purpose, step, lane).
//!
//! | file | subject |
//! | --- | --- |
//! | [`kind`](TransformerKind) | the declaration of the kind |
//! | [`params`](Params) | parameters |
//! | [`model`] | sizes, names and first values of the model's parameters |
//! | [`weights`] | initial weights of files |
//! | [`backend`] | what the simulation asks of a backend |
//! | [`network`], [`plan`] | the passes of the model over the layers of a backend, and the tensors that they hold |
//! | [`cpu`] | the model on the CPU: the definition |
//! | [`cuda`] | the same on a GPU |
//! | [`setup`] | the text as tokens |
//! | [`simulation`] | what the kind adds to the simulation of a language model |
//! | [`probes`], `readings`, [`sampler`] | what can be shown |
//! | [`language`](super::language) | what all kinds that learn language share: the simulation, texts, batches, writing and scoring |
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
