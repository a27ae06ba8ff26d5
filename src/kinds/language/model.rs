//! Sizes that every language model has, its layers, and what the simulation reads of its parameters.

use super::params::{Data, Measure};
use crate::{
    nn::parameters::{ParameterMap, Parameters},
    sim::{ElementSet, Progress, SimError},
};
use std::{path::Path, sync::Arc};

/// Rows of the embedding matrix are a multiple of this many: the tiles of matrix multiplications.
pub const VOCAB_ALIGN: usize = 64;
/// Most features of a head.
pub const MAX_HEAD: usize = 256;
/// Embedding, blocks, head: what is frozen as a whole.
pub const LAYERS: &str = "layers";

/// Why a model cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A size is 0.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// One size does not divide another.
    #[error("{what} ({value}) must be a multiple of {of} ({divisor})")]
    Multiple {
        /// The larger.
        what: &'static str,
        /// Its value.
        value: usize,
        /// The smaller.
        of: &'static str,
        /// Its value.
        divisor: usize,
    },
    /// Heads are too wide.
    #[error("a head has {0} features, at most {MAX_HEAD} are possible: use more heads")]
    WideHead(usize),
    /// Features rotate in pairs.
    #[error(
        "rotary positions need an even number of features per head, and there are {0}: change model.width or model.heads"
    )]
    OddHead(usize),
    /// More parameters than can be counted.
    #[error("the model is too large: {0}")]
    TooLarge(String),
}

impl From<ConfigError> for SimError {
    fn from(error: ConfigError) -> Self {
        Self::Input(error.to_string())
    }
}

impl ConfigError {
    /// The first of the named sizes that is 0.
    pub fn check_sizes(sizes: &[(&'static str, usize)]) -> Result<(), Self> {
        match sizes.iter().find(|(_, size)| *size == 0) {
            Some((what, _)) => Err(Self::Zero(what)),
            None => Ok(()),
        }
    }

    /// Checks that heads divide the width, and heads of keys and values the heads; that a head is not too wide, and can be
    /// rotated if it is.
    pub fn check_heads(width: usize, heads: usize, kv_heads: usize, is_rotated: bool) -> Result<(), Self> {
        let multiple = |what, value: usize, of, divisor| match value.is_multiple_of(divisor) {
            true => Ok(()),
            false => Err(Self::Multiple { what, value, of, divisor }),
        };
        multiple("model.width", width, "model.heads", heads)?;
        multiple("model.heads", heads, "model.kv_heads", kv_heads)?;
        match width / heads {
            head if head > MAX_HEAD => Err(Self::WideHead(head)),
            head if is_rotated && !head.is_multiple_of(2) => Err(Self::OddHead(head)),
            _ => Ok(()),
        }
    }
}

/// The part of the model that a parameter belongs to. Parts are frozen as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Embeddings.
    Embedding,
    /// Block of that index.
    Block(usize),
    /// The last norm, and the matrix of logits unless it is the embedding.
    Head,
}

impl Layer {
    /// Position among the layers of a model with that many blocks: embedding, blocks, head.
    pub const fn index(self, blocks: usize) -> usize {
        match self {
            Self::Embedding => 0,
            Self::Block(block) => 1 + block,
            Self::Head => 1 + blocks,
        }
    }

    /// Names of the layers of a model with that many blocks.
    pub fn names(blocks: usize) -> Vec<String> {
        let names = (0..blocks).map(|i| format!("Block {i}"));
        std::iter::once("Embedding".to_owned()).chain(names).chain(["Head".to_owned()]).collect()
    }

    /// The element set of layers, as a diagram.
    pub fn set(names: Vec<String>) -> ElementSet {
        let positions = (0..names.len()).map(|i| [0.0, i as f32 * 10.0, 0.0]).collect();
        ElementSet {
            name: LAYERS,
            len: names.len() as u32,
            names,
            positions,
            is_diagram: true,
            ..ElementSet::default()
        }
    }
}

/// Sizes of a model.
pub trait Sizes: Send {
    /// Tokens of the vocabulary.
    fn vocab(&self) -> usize;
    /// Longest sequence.
    fn context(&self) -> usize;
}

/// Ranges of the parameters of a model.
pub trait Ranges: Send + Sync {
    /// Names and ranges.
    fn map(&self) -> &Arc<ParameterMap>;
    /// Names of the layers: embedding, blocks, head.
    fn layer_names(&self) -> Vec<String>;
}

/// What the simulation reads of the parameters of a kind.
pub trait ModelParams: crate::params::Params + Send {
    /// Sizes of the model.
    type Config: Sizes;
    /// Ranges of its parameters.
    type Layout: Ranges;
    /// The model for a vocabulary, or why there is none.
    fn model(&self, vocab: usize) -> Result<(Self::Config, Arc<Self::Layout>), SimError>;
    /// Weights of a file.
    fn read_weights(
        path: &Path,
        config: &Self::Config,
        layout: &Self::Layout,
        progress: &Progress,
    ) -> Result<Parameters<f32>, SimError>;
    /// Text and tokens.
    fn data(&self) -> &Data;
    /// Curves and sampled texts.
    fn measure(&self) -> &Measure;
    /// Sequences of a micro-batch, micro-batches of a step.
    fn batches(&self) -> [usize; 2];
    /// The learning rate of a step, counted from 0.
    fn rate_at(&self, step: u64) -> f64;
}

/// Implements [`Sizes`], [`Ranges`] and what [`ModelParams`] takes from groups that kinds have in common.
macro_rules! model_params {
    ($Params:ident, $Config:ident, $Layout:ident, $read_weights:path, |$self:ident, $vocab:ident| $config:expr) => {
        impl $crate::kinds::language::model::Sizes for $Config {
            fn vocab(&self) -> usize {
                self.vocab
            }

            fn context(&self) -> usize {
                self.context
            }
        }

        impl $crate::kinds::language::model::Ranges for $Layout {
            fn map(&self) -> &std::sync::Arc<$crate::nn::parameters::ParameterMap> {
                &self.map
            }

            fn layer_names(&self) -> Vec<String> {
                Self::layer_names(self)
            }
        }

        impl $crate::kinds::language::model::ModelParams for $Params {
            type Config = $Config;
            type Layout = $Layout;

            fn model(&$self, $vocab: usize) -> Result<($Config, std::sync::Arc<$Layout>), $crate::sim::SimError> {
                let config = $config;
                let layout = std::sync::Arc::new($Layout::new(&config)?);
                Ok((config, layout))
            }

            fn read_weights(
                path: &std::path::Path,
                config: &$Config,
                layout: &$Layout,
                progress: &$crate::sim::Progress,
            ) -> Result<$crate::nn::parameters::Parameters<f32>, $crate::sim::SimError> {
                $read_weights(path, config, layout, progress)
            }

            fn data(&self) -> &$crate::kinds::language::params::Data {
                &self.data
            }

            fn measure(&self) -> &$crate::kinds::language::params::Measure {
                &self.measure
            }

            fn batches(&self) -> [usize; 2] {
                [self.training.batch, self.training.micro_batches].map(|n| n as usize)
            }

            fn rate_at(&self, step: u64) -> f64 {
                self.training.rate_at(step)
            }
        }
    };
}
pub(crate) use model_params;
