//! Names and shapes of the parameters, named as in nanoGPT.
//!
//! Matrices are `[out, in]`. The padding rows of the embedding have zero weights and zero gradients.

use super::{Config, ConfigError, Position};
use crate::{
    kinds::{language::model::Layer, transformer::choices::NormPlacement},
    nn::parameters::{ParameterError, ParameterMap, ViewId},
};
use std::sync::Arc;

/// Matrix with an optional bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Matrix `[out, in]`.
    pub weight: ViewId,
    /// Bias `[out]`; `None` if the layer has no bias.
    pub bias: Option<ViewId>,
}

/// Weight and bias of a norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Norm {
    /// Scale factors `[C]`.
    pub weight: ViewId,
    /// Bias `[C]`; `None` if the norm has no bias.
    pub bias: Option<ViewId>,
}

/// Parameters of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Norm before or after attention.
    pub ln_1: Norm,
    /// Projection to queries, keys and values: `[(n_h + 2 n_kv) d, C]`.
    pub qkv: Linear,
    /// Output projection of attention: `[C, C]`.
    pub attn_proj: Linear,
    /// Norm before or after the feed-forward layer.
    pub ln_2: Norm,
    /// First matrix of the feed-forward layer: `[F, C]`, for SwiGLU `[2 F, C]`, gate before up.
    pub fc: Linear,
    /// Second matrix of the feed-forward layer: `[C, F]`.
    pub mlp_proj: Linear,
}

/// Role of a parameter, which determines its initial values and its optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Token or position embedding, or matrix of logits.
    Embedding,
    /// Matrix within a block that does not write to the residual stream.
    Matrix,
    /// Matrix within a block that writes to the residual stream.
    Residual,
    /// Scale factors of a norm.
    Scale,
    /// Bias of a linear layer or a norm.
    Bias,
}

impl Role {
    /// Whether weight decay applies to the parameter.
    pub const fn decays(self) -> bool {
        matches!(self, Self::Embedding | Self::Matrix | Self::Residual)
    }

    /// Whether the parameter is a matrix within a block, which Muon updates if selected.
    pub const fn is_hidden_matrix(self) -> bool {
        matches!(self, Self::Matrix | Self::Residual)
    }
}

/// Views of all parameters of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Names and ranges of all parameters.
    pub map: Arc<ParameterMap>,
    /// Token embedding: `[Vp, C]`.
    pub wte: ViewId,
    /// Position embedding: `[T, C]`; `None` if positions are not learned.
    pub wpe: Option<ViewId>,
    /// Parameters of each block.
    pub blocks: Vec<Block>,
    /// Final norm before the logits; `None` for post-norm blocks.
    pub ln_f: Option<Norm>,
    /// Matrix of logits: `[Vp, C]`; `None` if it is tied to the token embedding.
    pub lm_head: Option<ViewId>,
    roles: Vec<(Role, Layer)>,
}

struct Builder {
    map: ParameterMap,
    roles: Vec<(Role, Layer)>,
    layer: Layer,
    has_bias: bool,
    norm_bias: bool,
}

impl Builder {
    fn add(&mut self, name: String, shape: &[usize], role: Role) -> Result<ViewId, ParameterError> {
        self.roles.push((role, self.layer));
        self.map.add(name, shape)
    }

    fn norm(&mut self, name: &str, width: usize) -> Result<Norm, ParameterError> {
        let weight = self.add(format!("{name}.weight"), &[width], Role::Scale)?;
        let bias = self.norm_bias.then(|| self.add(format!("{name}.bias"), &[width], Role::Bias)).transpose()?;
        Ok(Norm { weight, bias })
    }

    fn linear(&mut self, name: &str, outputs: usize, inputs: usize, role: Role) -> Result<Linear, ParameterError> {
        let weight = self.add(format!("{name}.weight"), &[outputs, inputs], role)?;
        let bias = self.has_bias.then(|| self.add(format!("{name}.bias"), &[outputs], Role::Bias)).transpose()?;
        Ok(Linear { weight, bias })
    }
}

impl Layout {
    /// Creates the layout of the parameters of a model. Fails if the model is too large.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Self::build(config).map_err(|error| ConfigError::TooLarge(error.to_string()))
    }

    fn build(config: &Config) -> Result<Self, ParameterError> {
        let (width, vocab) = (config.width, config.padded_vocab());
        let mut builder = Builder {
            map: ParameterMap::default(),
            roles: vec![],
            layer: Layer::Embedding,
            has_bias: config.bias,
            norm_bias: config.norm_bias(),
        };
        let b = &mut builder;
        let wte = b.add("wte.weight".to_owned(), &[vocab, width], Role::Embedding)?;
        let is_learned = config.positions == Position::Learned;
        let wpe = is_learned
            .then(|| b.add("wpe.weight".to_owned(), &[config.context, width], Role::Embedding))
            .transpose()?;
        let mut blocks = Vec::with_capacity(config.layers);
        for i in 0..config.layers {
            b.layer = Layer::Block(i);
            blocks.push(Block {
                ln_1: b.norm(&format!("h.{i}.ln_1"), width)?,
                qkv: b.linear(&format!("h.{i}.attn.qkv"), config.qkv_width(), width, Role::Matrix)?,
                attn_proj: b.linear(&format!("h.{i}.attn.proj"), width, width, Role::Residual)?,
                ln_2: b.norm(&format!("h.{i}.ln_2"), width)?,
                fc: b.linear(&format!("h.{i}.mlp.fc"), config.fc_width(), width, Role::Matrix)?,
                mlp_proj: b.linear(&format!("h.{i}.mlp.proj"), width, config.hidden, Role::Residual)?,
            });
        }
        b.layer = Layer::Head;
        let is_pre = config.placement == NormPlacement::Pre;
        let ln_f = is_pre.then(|| b.norm("ln_f", width)).transpose()?;
        let lm_head =
            (!config.tied).then(|| b.add("lm_head.weight".to_owned(), &[vocab, width], Role::Embedding)).transpose()?;
        Ok(Self { map: Arc::new(builder.map), wte, wpe, blocks, ln_f, lm_head, roles: builder.roles })
    }

    /// Returns the matrix of logits, `[Vp, C]`, which is the token embedding in a tied model.
    pub fn head(&self) -> ViewId {
        self.lm_head.unwrap_or(self.wte)
    }

    /// Returns the role of a parameter.
    pub fn role(&self, view: ViewId) -> Role {
        self.roles[view.0].0
    }

    /// Returns the layer to which a parameter belongs.
    pub fn layer(&self, view: ViewId) -> Layer {
        self.roles[view.0].1
    }

    /// Returns the number of layers: embedding, blocks and head.
    pub fn n_layers(&self) -> usize {
        self.blocks.len() + 2
    }

    /// Returns the names of the layers, in the order embedding, blocks, head.
    pub fn layer_names(&self) -> Vec<String> {
        Layer::names(self.blocks.len())
    }

    /// Returns the number of parameters, excluding the padding of the vocabulary.
    pub fn count(&self, config: &Config) -> usize {
        let padding = (config.padded_vocab() - config.vocab) * config.width;
        self.map.count() - padding * (1 + usize::from(self.lm_head.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::transformer::{Params, presets::PRESETS},
        params::{Params as _, path},
    };

    fn preset(name: &str, vocab: usize) -> (Config, Layout) {
        let mut params = Params::default();
        let preset = PRESETS.iter().find(|p| p.name.starts_with(name)).expect("a preset");
        for text in preset.set {
            let change = path::parse(&params, text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert!(params.set(&change), "{text}");
        }
        let config = Config::new(&params, vocab).expect("it fits");
        let layout = Layout::new(&config).expect("it fits");
        (config, layout)
    }

    #[test]
    fn models_have_the_published_numbers_of_parameters() {
        let (config, layout) = preset("GPT-2", 50_257);
        assert_eq!(layout.count(&config), 124_439_808);
        assert_eq!(layout.map.count(), 124_475_904, "with a vocabulary of 50,304 as in llm.c");
        assert_eq!(layout.map.view(layout.blocks[11].qkv.weight).name, "h.11.attn.qkv.weight");
        assert!((config.flops_per_token(124_475_904) - 8.03e8).abs() < 1e6);
        let (config, layout) = preset("Characters", 65);
        assert_eq!(layout.count(&config), 10_745_088, "10.65 M in nanoGPT, which does not count 256 positions of 384");
        let (config, layout) = preset("Nano", 256);
        assert_eq!(layout.count(&config), 357_024);
    }

    #[test]
    fn parameters_have_roles_and_layers() {
        let (_, layout) = preset("GPT-2", 50_257);
        let block = layout.blocks[2];
        assert_eq!(
            (layout.role(block.mlp_proj.weight), layout.layer(block.fc.weight)),
            (Role::Residual, Layer::Block(2))
        );
        assert!(!layout.role(block.ln_1.weight).decays() && layout.role(layout.wte).decays());
        let named = layout.layer(layout.ln_f.expect("pre-norm").weight);
        assert_eq!(layout.layer_names()[named.index(12)], "Head");
    }
}
