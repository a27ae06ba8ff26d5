//! Names and shapes of the parameters.
//!
//! Matrices are `[out, in]`, and matrices of experts `[E, out, in]`. In the embedding and the matrix of logits, the rows
//! after the vocabulary are padding: zero, with zero gradients. Genomes are parameters without a gradient, which change by
//! mutation.

use super::Config;
use crate::{
    kinds::{
        language::model::{ConfigError, Layer},
        synaptic::experts::{FEATURES, GENES},
    },
    nn::parameters::{ParameterError, ParameterMap, ViewId},
};
use std::{ops::Range, sync::Arc};

/// Parameters of a LayerNorm, `[C]` each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Norm {
    /// Factor of each feature.
    pub weight: ViewId,
    /// Summand of each feature.
    pub bias: ViewId,
}

/// Parameters of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Norm before attention.
    pub ln_1: Norm,
    /// Queries: `[C, C]`.
    pub q: ViewId,
    /// Keys: `[Hkv D, C]`.
    pub k: ViewId,
    /// Values: `[Hkv D, C]`.
    pub v: ViewId,
    /// Output of attention: `[C, C]`.
    pub o: ViewId,
    /// Factors of the attention logits, `[H]`; `None` except in the ablation.
    pub temperature: Option<ViewId>,
    /// Norm before the mixture of experts.
    pub ln_2: Norm,
    /// Router: `[E, C]`.
    pub router: ViewId,
    /// Features that are compared with the embeddings of experts: `[24, C]`.
    pub probe: ViewId,
    /// Genomes of the experts: `[E, 4]`.
    pub genome: ViewId,
    /// First matrices of the experts: `[E, hidden, C]`.
    pub fc1: ViewId,
    /// First biases of the experts: `[E, hidden]`.
    pub fc1_bias: ViewId,
    /// Second matrices of the experts: `[E, C, hidden]`.
    pub fc2: ViewId,
    /// Second biases of the experts: `[E, C]`.
    pub fc2_bias: ViewId,
}

impl Block {
    /// Returns the parameters in which every expert has an equal, contiguous part: matrices, biases, row of the router and
    /// genome.
    pub const fn of_experts(&self) -> [ViewId; 6] {
        [self.fc1, self.fc1_bias, self.fc2, self.fc2_bias, self.router, self.genome]
    }
}

/// Role of a parameter, which determines its initial values and its optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Embedding vectors of tokens.
    Embedding,
    /// Matrix of the logits.
    Head,
    /// Matrix of the attention.
    Attention,
    /// Matrix of the router or of the probe features.
    Router,
    /// First matrices of experts.
    ExpertIn,
    /// Second matrices of experts.
    ExpertOut,
    /// Genomes of experts, which are not trained.
    Genome,
    /// Factors of a norm.
    Scale,
    /// Factors of attention logits.
    Temperature,
    /// Biases of norms and of experts.
    Bias,
}

impl Role {
    /// Whether weight decay applies.
    pub const fn decays(self) -> bool {
        matches!(self, Self::Embedding | Self::Head) || self.is_hidden_matrix()
    }

    /// Whether the parameter is one or several matrices within a block, which Muon can update.
    pub const fn is_hidden_matrix(self) -> bool {
        matches!(self, Self::Attention | Self::Router | Self::ExpertIn | Self::ExpertOut)
    }
}

/// Names, ranges and roles of all parameters of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Names and ranges of the parameters.
    pub map: Arc<ParameterMap>,
    /// Embedding of tokens: `[Vp, C]`.
    pub wte: ViewId,
    /// Parameters by block.
    pub blocks: Vec<Block>,
    /// Norm before the logits.
    pub ln_f: Norm,
    /// Matrix of logits: `[Vp, C]`.
    pub lm_head: ViewId,
    roles: Vec<(Role, Layer)>,
}

struct Builder {
    map: ParameterMap,
    roles: Vec<(Role, Layer)>,
    layer: Layer,
}

impl Builder {
    fn add(&mut self, name: String, shape: &[usize], role: Role) -> Result<ViewId, ParameterError> {
        self.roles.push((role, self.layer));
        self.map.add(name, shape)
    }

    fn norm(&mut self, name: &str, width: usize) -> Result<Norm, ParameterError> {
        let weight = self.add(format!("{name}.weight"), &[width], Role::Scale)?;
        let bias = self.add(format!("{name}.bias"), &[width], Role::Bias)?;
        Ok(Norm { weight, bias })
    }

    fn block(&mut self, i: usize, c: &Config) -> Result<Block, ParameterError> {
        let (width, kv, e, hidden) = (c.width, c.kv_width(), c.experts, c.hidden);
        let attn = |name: &str| format!("h.{i}.attn.{name}");
        let moe = |name: &str| format!("h.{i}.moe.{name}");
        Ok(Block {
            ln_1: self.norm(&format!("h.{i}.ln_1"), width)?,
            q: self.add(attn("q.weight"), &[width, width], Role::Attention)?,
            k: self.add(attn("k.weight"), &[kv, width], Role::Attention)?,
            v: self.add(attn("v.weight"), &[kv, width], Role::Attention)?,
            o: self.add(attn("o.weight"), &[width, width], Role::Attention)?,
            temperature: match c.temperature {
                true => Some(self.add(attn("temperature"), &[c.heads], Role::Temperature)?),
                false => None,
            },
            ln_2: self.norm(&format!("h.{i}.ln_2"), width)?,
            router: self.add(moe("router.weight"), &[e, width], Role::Router)?,
            probe: self.add(moe("probe.weight"), &[FEATURES, width], Role::Router)?,
            genome: self.add(moe("genome"), &[e, GENES], Role::Genome)?,
            fc1: self.add(moe("fc1.weight"), &[e, hidden, width], Role::ExpertIn)?,
            fc1_bias: self.add(moe("fc1.bias"), &[e, hidden], Role::Bias)?,
            fc2: self.add(moe("fc2.weight"), &[e, width, hidden], Role::ExpertOut)?,
            fc2_bias: self.add(moe("fc2.bias"), &[e, width], Role::Bias)?,
        })
    }
}

impl Layout {
    /// Creates the layout of the parameters of a model. Fails if the model is too large.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Self::build(config).map_err(|error| ConfigError::TooLarge(error.to_string()))
    }

    fn build(config: &Config) -> Result<Self, ParameterError> {
        let (width, vocab) = (config.width, config.padded_vocab());
        let mut b = Builder { map: ParameterMap::default(), roles: vec![], layer: Layer::Embedding };
        let wte = b.add("wte.weight".to_owned(), &[vocab, width], Role::Embedding)?;
        let mut blocks = Vec::with_capacity(config.layers);
        for i in 0..config.layers {
            b.layer = Layer::Block(i);
            blocks.push(b.block(i, config)?);
        }
        b.layer = Layer::Head;
        let ln_f = b.norm("ln_f", width)?;
        let lm_head = b.add("lm_head.weight".to_owned(), &[vocab, width], Role::Head)?;
        Ok(Self { map: Arc::new(b.map), wte, blocks, ln_f, lm_head, roles: b.roles })
    }

    /// Returns the range of the elements of an expert in a parameter in which every expert has an equal part.
    pub fn expert_range(&self, view: ViewId, expert: usize) -> Range<usize> {
        let view = self.map.view(view);
        let len = view.shape[1..].iter().product::<usize>();
        let start = view.start + expert * len;
        start..start + len
    }

    /// Returns the role of a parameter.
    pub fn role(&self, view: ViewId) -> Role {
        self.roles[view.0].0
    }

    /// Returns the part of the model to which a parameter belongs.
    pub fn layer(&self, view: ViewId) -> Layer {
        self.roles[view.0].1
    }

    /// Returns the names of the layers.
    pub fn layer_names(&self) -> Vec<String> {
        Layer::names(self.blocks.len())
    }

    /// Returns the number of parameters, without the padding of the vocabulary.
    pub fn count(&self, config: &Config) -> usize {
        self.map.count() - 2 * (config.padded_vocab() - config.vocab) * config.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_the_numbers_of_parameters_of_their_presets() {
        let nano = Config::nano(256);
        let small = Config { layers: 4, heads: 8, kv_heads: 2, context: 256, width: 256, ..nano.clone() };
        for (config, want) in [
            (nano.clone(), 323_264),
            (Config { experts: 16, ..nano.clone() }, 589_568),
            (Config { layers: 3, width: 128, experts: 12, hidden: 256, ..nano.clone() }, 2_577_296),
            (Config { experts: 16, hidden: 512, ..small.clone() }, 17_658_624),
            (Config { layers: 6, context: 512, width: 512, experts: 16, hidden: 1024, ..small }, 105_141_632),
            (Config { temperature: true, ..nano.clone() }, 323_272),
        ] {
            let layout = Layout::new(&config).expect("it fits");
            assert_eq!(layout.count(&config), want);
        }
        let padded = Config::nano(65);
        let layout = Layout::new(&padded).expect("it fits");
        assert_eq!(layout.count(&padded), 323_264 - 2 * (256 - 65) * 64);
    }

    #[test]
    fn parameters_have_roles_layers_and_parts_of_experts() {
        let layout = Layout::new(&Config::nano(256)).expect("it fits");
        let block = layout.blocks[1];
        assert_eq!(layout.map.view(block.fc2).name, "h.1.moe.fc2.weight");
        assert_eq!((layout.role(block.fc2), layout.layer(block.router)), (Role::ExpertOut, Layer::Block(1)));
        assert!(!layout.role(block.genome).decays() && layout.role(layout.wte).decays());
        for view in block.of_experts() {
            let range = layout.map.view(view).range();
            let parts: Vec<_> = (0..8).map(|e| layout.expert_range(view, e)).collect();
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!((parts[0].start, parts[7].end), (range.start, range.end));
        }
        assert_eq!(layout.layer_names()[layout.layer(layout.lm_head).index(2)], "Head");
    }
}
