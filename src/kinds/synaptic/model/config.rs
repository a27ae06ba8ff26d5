//! Sizes of a model, and checks that they fit together.

use crate::{
    kinds::{
        language::model::{ConfigError as SizeError, VOCAB_ALIGN},
        synaptic::experts::FEATURES,
    },
    sim::SimError,
};

/// Sizes of a model, which determine its parameters. Constants that can change during training are in
/// [`Dynamics`](super::super::backend::Dynamics).
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Number of tokens of the vocabulary, V.
    pub vocab: usize,
    /// Maximum length of a sequence, T.
    pub context: usize,
    /// Number of blocks of the model, L.
    pub layers: usize,
    /// Number of query heads, H.
    pub heads: usize,
    /// Number of key/value heads, Hkv. Query head h uses key/value head h / (H / Hkv).
    pub kv_heads: usize,
    /// Number of features of a token, C.
    pub width: usize,
    /// Number of experts of a layer, E.
    pub experts: usize,
    /// Number of experts per token, k.
    pub top_k: usize,
    /// Number of hidden features of an expert.
    pub hidden: usize,
    /// Base of the rotary angles: the angle of pair i at position p is p · base^(-2i/D).
    pub rope_base: f64,
    /// Whether attention has a trained factor per query head instead of presynaptic release, as in the ablation.
    pub temperature: bool,
    /// Rule of the cellular automaton that initialises hidden matrices; `None` for random values.
    pub automaton: Option<u8>,
}

/// Reason why a model cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// Sizes do not fit together.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// A token selects more experts than a layer has.
    #[error("{top_k} experts per token, and a layer has {experts}: change experts.top_k or experts.count")]
    TopK {
        /// Number of experts that each token selects.
        top_k: usize,
        /// Number of experts of a layer.
        experts: usize,
    },
    /// Mechanisms were made for a model of other sizes.
    #[error("the mechanisms are of a model of other sizes")]
    Dynamics,
}

impl From<ConfigError> for SimError {
    fn from(error: ConfigError) -> Self {
        Self::Input(error.to_string())
    }
}

impl Config {
    /// Returns the sizes of the smallest preset, nano.
    pub const fn nano(vocab: usize) -> Self {
        Self {
            vocab,
            context: 128,
            layers: 2,
            heads: 4,
            kv_heads: 1,
            width: 64,
            experts: 8,
            top_k: 2,
            hidden: 128,
            rope_base: 1e4,
            temperature: false,
            automaton: None,
        }
    }

    /// Checks that the sizes fit together. Fails with the first mistake.
    pub fn check(&self) -> Result<(), ConfigError> {
        let sizes = [
            ("the vocabulary", self.vocab),
            ("model.context", self.context),
            ("model.layers", self.layers),
            ("model.heads", self.heads),
            ("model.kv_heads", self.kv_heads),
            ("model.width", self.width),
            ("experts.count", self.experts),
            ("experts.top_k", self.top_k),
            ("experts.hidden", self.hidden),
        ];
        SizeError::check_sizes(&sizes)?;
        SizeError::check_heads(self.width, self.heads, self.kv_heads, true)?;
        if self.top_k > self.experts {
            return Err(ConfigError::TopK { top_k: self.top_k, experts: self.experts });
        }
        Ok(())
    }

    /// Returns the number of features of a head, D.
    pub const fn head_dim(&self) -> usize {
        self.width / self.heads
    }

    /// Returns the number of features of the keys, or values, of a token.
    pub const fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim()
    }

    /// Returns the number of query heads that share keys and values.
    pub const fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// Returns the number of rows of the embedding matrix and of columns of logits: the vocabulary, rounded up.
    pub const fn padded_vocab(&self) -> usize {
        self.vocab.next_multiple_of(VOCAB_ALIGN)
    }

    /// Returns the number of floating-point operations of a training step per token at the full context: three times the
    /// operations of the forward pass, in which each edge of attention takes 60 for presynaptic release.
    pub fn flops_per_token(&self) -> f64 {
        let [v, t, l, h] = [self.vocab, self.context, self.layers, self.heads].map(|n| n as f64);
        let [c, kv, e, k] = [self.width, self.kv_width(), self.experts, self.top_k].map(|n| n as f64);
        let (features, hidden) = (FEATURES as f64, self.hidden as f64);
        let attention = 2.0 * (2.0 * c * c + 2.0 * c * kv) + 2.0 * c * t + 30.0 * h * t;
        let mixture = 4.0 * k * c * hidden + 2.0 * (c * e + features * c + features * e);
        3.0 * (2.0 * v * c + l * (attention + mixture))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_per_token_is_that_of_the_presets() {
        let nano = Config::nano(256);
        assert!((nano.flops_per_token() / 0.83e6 - 1.0).abs() < 0.02, "{:e}", nano.flops_per_token());
        let large = Config {
            context: 512,
            layers: 6,
            heads: 8,
            kv_heads: 2,
            width: 512,
            experts: 16,
            hidden: 1024,
            ..Config::nano(256)
        };
        assert!((large.flops_per_token() / 112e6 - 1.0).abs() < 0.02, "{:e}", large.flops_per_token());
    }

    #[test]
    fn sizes_that_do_not_fit_are_named() {
        let nano = Config::nano(256);
        nano.check().expect("it fits");
        for (config, why) in [
            (Config { width: 66, ..nano.clone() }, "model.width (66) must be a multiple of model.heads (4)"),
            (Config { kv_heads: 3, ..nano.clone() }, "model.heads (4) must be a multiple of model.kv_heads (3)"),
            (Config { top_k: 9, ..nano.clone() }, "9 experts per token, and a layer has 8"),
            (Config { width: 2048, ..nano.clone() }, "a head has 512 features"),
            (Config { width: 60, ..nano.clone() }, "an even number of features per head, and there are 15"),
            (Config { hidden: 0, ..nano }, "experts.hidden must be at least 1"),
        ] {
            let error = config.check().expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
