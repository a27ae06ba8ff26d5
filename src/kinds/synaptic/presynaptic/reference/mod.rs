//! The three presynaptic models of the reference, for comparison: they disagree.
//!
//! | | |
//! |---|---|
//! | [`release`] | the live model: one step of the state per call, whatever the number of queries |
//! | [`attention`] | attention logits with it |
//! | [`self_attention`] | the layer around them |
//! | [`counts`] | its three estimators of a binomial count |
//! | [`hill`] | Hill sensors over fractions in [0, 1], not recurrent; and the recurrent kernel that is never called |
//!
//! All in f64. `[heads, …]` counts batch entries times heads.

pub mod attention;
pub mod counts;
pub mod hill;
pub mod release;
pub mod self_attention;
