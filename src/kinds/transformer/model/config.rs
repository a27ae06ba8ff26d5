//! Checked sizes and options of a model.

use crate::{
    kinds::{
        language::{
            model::{ConfigError, VOCAB_ALIGN},
            plan::{BatchShape, Division},
        },
        transformer::{
            Params, Positions,
            choices::{ActivationFunction, NormFunction, NormPlacement, PairLayout},
        },
    },
    nn::{
        activation::Activation,
        attention::{Attention, Lengths},
        layers::Activated,
        norm::{Norm, NormKind},
        rope::{Rope, RopeLayout},
    },
};

/// Encoding of token positions, with its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Position {
    /// Rotary positions: queries and keys are rotated.
    Rope {
        /// Base of the wavelengths: pair i rotates by p · base^(-2i/d) at position p.
        base: f64,
        /// Pairing of the features that rotate together.
        layout: PairLayout,
    },
    /// A trained vector per position is added to the embedding.
    Learned,
    /// Sines and cosines of the position are added to the embedding.
    Sinusoidal,
}

/// Sizes and options of a model, created by [`Config::new`] or checked by [`Config::check`].
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Vocabulary size, V.
    pub vocab: usize,
    /// Maximum length of a sequence in tokens, T.
    pub context: usize,
    /// Number of blocks, L.
    pub layers: usize,
    /// Number of attention heads, n_h.
    pub heads: usize,
    /// Number of key/value heads, n_kv.
    pub kv_heads: usize,
    /// Number of features per token, C.
    pub width: usize,
    /// Width of feed-forward layers, F.
    pub hidden: usize,
    /// Encoding of token positions.
    pub positions: Position,
    /// Activation function of feed-forward layers.
    pub activation: ActivationFunction,
    /// Normalisation in blocks and before the logits.
    pub norm: NormFunction,
    /// Placement of the norms in a block.
    pub placement: NormPlacement,
    /// Constant added to the variance in a norm.
    pub eps: f64,
    /// Scale of the attention logits.
    pub scale: f32,
    /// Whether linear layers and norms have biases. An RMS norm never has a bias.
    pub bias: bool,
    /// Whether the matrix of logits is the embedding matrix.
    pub tied: bool,
    /// Whether a token attends only to itself and earlier tokens.
    pub causal: bool,
    /// Number of tokens to which a token attends, including itself (sliding window); `None` for all.
    pub window: Option<usize>,
}

impl Config {
    /// Creates the config from a project's parameters for a vocabulary of `vocab` tokens. Fails as [`Config::check`] does.
    pub fn new(params: &Params, vocab: usize) -> Result<Self, ConfigError> {
        let shape = &params.model;
        let heads = shape.heads as usize;
        let width = shape.width as usize;
        let config = Self {
            vocab,
            context: shape.context as usize,
            layers: shape.layers as usize,
            heads,
            kv_heads: if shape.kv_heads == 0 { heads } else { shape.kv_heads as usize },
            width,
            hidden: (f64::from(shape.width) * shape.hidden_factor).round() as usize,
            positions: match &shape.positions {
                Positions::Rope(rotary) => Position::Rope { base: rotary.base, layout: rotary.layout },
                Positions::Learned(_) => Position::Learned,
                Positions::Sinusoidal(_) => Position::Sinusoidal,
            },
            activation: shape.activation,
            norm: shape.norm,
            placement: shape.placement,
            eps: shape.eps,
            scale: if shape.scale > 0.0 { shape.scale as f32 } else { 1.0 / ((width / heads.max(1)) as f32).sqrt() },
            bias: shape.bias,
            tied: shape.tied,
            causal: params.mask.causal,
            window: (params.mask.window > 0).then_some(params.mask.window as usize),
        };
        config.check()?;
        Ok(config)
    }

    /// Checks that all sizes are positive and that the heads divide the width. Fails with the first mistake.
    pub fn check(&self) -> Result<(), ConfigError> {
        let sizes = [
            ("the vocabulary", self.vocab),
            ("model.context", self.context),
            ("model.layers", self.layers),
            ("model.heads", self.heads),
            ("model.kv_heads", self.kv_heads),
            ("model.width", self.width),
            ("the width of feed-forward layers", self.hidden),
        ];
        ConfigError::check_sizes(&sizes)?;
        let is_rotated = matches!(self.positions, Position::Rope { .. });
        ConfigError::check_heads(self.width, self.heads, self.kv_heads, is_rotated)
    }

    /// Returns the number of features per head, d.
    pub const fn head_dim(&self) -> usize {
        self.width / self.heads
    }

    /// Returns the number of rows of the embedding matrix and of columns of logits: the vocabulary, rounded up to
    /// [`VOCAB_ALIGN`].
    pub const fn padded_vocab(&self) -> usize {
        self.vocab.next_multiple_of(VOCAB_ALIGN)
    }

    /// Returns the number of columns of the packed queries, keys and values: (n_h + 2 n_kv) d.
    pub const fn qkv_width(&self) -> usize {
        (self.heads + 2 * self.kv_heads) * self.head_dim()
    }

    /// Returns the number of rows of the first matrix of a feed-forward layer: F, for SwiGLU 2 F.
    pub const fn fc_width(&self) -> usize {
        if matches!(self.activation, ActivationFunction::SwiGlu) { 2 * self.hidden } else { self.hidden }
    }

    /// Whether norms have biases.
    pub const fn norm_bias(&self) -> bool {
        self.bias && matches!(self.norm, NormFunction::Layer)
    }

    /// Returns the norm operation for `rows` tokens.
    pub const fn norm_op(&self, rows: usize) -> Norm {
        let kind = match self.norm {
            NormFunction::Layer => NormKind::Layer,
            NormFunction::Rms => NormKind::Rms,
        };
        Norm { rows, columns: self.width, eps: self.eps, kind }
    }

    /// Returns the activation of a feed-forward layer with its output width.
    pub const fn activated(&self) -> Activated {
        let f = match self.activation {
            ActivationFunction::GeluTanh => Activation::GeluTanh,
            ActivationFunction::GeluErf => Activation::GeluErf,
            ActivationFunction::Relu => Activation::Relu,
            ActivationFunction::ReluSquared => Activation::ReluSquared,
            ActivationFunction::SwiGlu => Activation::SwiGlu,
        };
        Activated { f, columns: self.hidden }
    }

    /// Returns the attention operation within the sequences of a batch, on packed queries, keys and values.
    pub fn attention(&self, shape: &BatchShape) -> Attention {
        let (batch, len) = shape.attended();
        let lengths = match shape.division {
            Division::Full => Lengths::Full,
            Division::Padded => Lengths::Padded,
            Division::Packed { .. } => Lengths::Packed,
        };
        let op = Attention::packed_qkv(batch, len, self.heads, self.kv_heads, self.head_dim());
        Attention { scale: self.scale, causal: self.causal, window: self.window, lengths, ..op }
    }

    /// Returns the rotary operation on the queries and keys of a batch whose sequences begin at position `offset`; `None`
    /// without rotary positions.
    pub fn rope(&self, shape: &BatchShape, offset: usize) -> Option<Rope> {
        let Position::Rope { layout, .. } = self.positions else { return None };
        let layout = match layout {
            PairLayout::Half => RopeLayout::Half,
            PairLayout::Interleaved => RopeLayout::Interleaved,
        };
        let heads = self.heads + self.kv_heads;
        let op = Rope::new(shape.n_tokens(), heads, self.head_dim(), shape.seq_len.max(1), layout);
        Some(op.stride(self.qkv_width()).offset(offset))
    }

    /// Returns the number of floating-point operations of a training step per token by the formula of llm.c: 6 N + 6 L C T,
    /// where N is `parameters`.
    pub fn flops_per_token(&self, parameters: usize) -> f64 {
        6.0 * parameters as f64 + 6.0 * (self.layers * self.width * self.context) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::path;

    fn with(texts: &[&str]) -> Result<Config, ConfigError> {
        let mut params = Params::default();
        for text in texts {
            let change = path::parse(&params, text).expect("a parameter");
            assert!(crate::params::Params::set(&mut params, &change));
        }
        Config::new(&params, 65)
    }

    #[test]
    fn sizes_follow_from_parameters() {
        let config = with(&["model.width=48", "model.heads=6", "model.kv_heads=2", "model.activation=SwiGlu"]).unwrap();
        assert_eq!((config.head_dim(), config.qkv_width(), config.fc_width()), (8, 80, 384));
        assert_eq!(config.padded_vocab(), 128);
        assert!((config.scale - 1.0 / 8.0_f32.sqrt()).abs() < 1e-7);
    }

    #[test]
    fn sizes_that_do_not_fit_are_named() {
        for (texts, why) in [
            (&["model.width=100"][..], "model.width (100) must be a multiple of model.heads (3)"),
            (&["model.kv_heads=2"], "model.heads (3) must be a multiple of model.kv_heads (2)"),
            (&["model.width=1536"], "a head has 512 features"),
            (&["model.width=99"], "an even number of features per head, and there are 33"),
        ] {
            let error = with(texts).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
