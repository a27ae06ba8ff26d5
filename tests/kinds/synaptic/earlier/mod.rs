//! The models of bio_inspired_nanochat (MIT, see THIRD_PARTY.md) that came before the synaptic kind, on the CPU: the golden files
//! hold their results. The kind has its constants and its terms, and other rules.
//!
//! | | |
//! |---|---|
//! | [`constants`] | constants of release |
//! | [`release`] | live model of release: one step of the state per call, whatever the number of queries |
//! | [`attention`], [`self_attention`] | attention logits with it, and the layer around them |
//! | [`counts`] | its three estimators of a binomial count |
//! | [`hill`] | Hill sensors over fractions in [0, 1], not recurrent; and the recurrent kernel that is never called |
//! | [`unit`], [`linear`] | postsynaptic unit, and a linear layer with slow and fast weights that writes itself |
//! | [`hebbian`] | an expert of two such layers, which diverges |
//! | [`router`] | logits, metabolism and embeddings of the router |
//! | [`mixture`] | mixture of experts of two such layers |
//! | [`life`] | scores, choices and moves of the life cycle |
//! | [`network`] | blocks, loss and gradients |
//!
//! `[heads, …]` counts batch entries times heads. The three models of release disagree.

pub mod attention;
pub mod constants;
pub mod counts;
mod hebbian;
pub mod hill;
pub mod life;
pub mod linear;
mod matrices;
pub mod mixture;
pub mod network;
mod properties;
pub mod release;
pub mod router;
pub mod self_attention;
pub mod unit;
