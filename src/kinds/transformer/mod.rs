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
//! | [`params`](Params) | parameters |
//! | [`model`] | sizes, names and first values of the model's parameters |
//! | [`weights`] | initial weights of files |
//! | [`backend`] | what the simulation asks of a backend |

pub mod backend;
mod choices;
pub mod model;
mod params;
pub mod presets;
pub mod weights;
pub use choices::*;
pub use params::*;
