//! Sizes and layers that every language model has, and the parameters that the simulation reads.

use super::params::{Data, Measure};
use crate::{
    nn::parameters::{ParameterMap, Parameters},
    sim::{Column, ElementSet, Progress, SimError},
};
use std::{path::Path, sync::Arc};

/// The embedding matrix is padded to a multiple of this number of rows, for the tiles of matrix multiplications.
pub const VOCAB_ALIGN: usize = 64;
/// Maximum number of features per head.
pub const MAX_HEAD: usize = 256;
/// Name of the element set of layers: embedding, blocks and head, each frozen as a whole.
pub const LAYERS: &str = "layers";
/// Name of the element set of parameter tensors.
pub const TENSORS: &str = "tensors";

/// Reason why a model cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A size is 0; contains its name.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// One size does not divide another.
    #[error("{what} ({value}) must be a multiple of {of} ({divisor})")]
    Multiple {
        /// Name of the dividend.
        what: &'static str,
        /// Value of the dividend.
        value: usize,
        /// Name of the divisor.
        of: &'static str,
        /// Value of the divisor.
        divisor: usize,
    },
    /// A head has more than [`MAX_HEAD`] features.
    #[error("a head has {0} features, at most {MAX_HEAD} are possible: use more heads")]
    WideHead(usize),
    /// The number of features per head is odd, but rotary positions rotate pairs of features.
    #[error(
        "rotary positions need an even number of features per head, and there are {0}: change model.width or model.heads"
    )]
    OddHead(usize),
    /// The number of parameters overflows the index type.
    #[error("the model is too large: {0}")]
    TooLarge(String),
}

impl From<ConfigError> for SimError {
    fn from(error: ConfigError) -> Self {
        Self::Input(error.to_string())
    }
}

impl ConfigError {
    /// Fails if a size is 0. The error names the first such size.
    pub fn check_sizes(sizes: &[(&'static str, usize)]) -> Result<(), Self> {
        match sizes.iter().find(|(_, size)| *size == 0) {
            Some((what, _)) => Err(Self::Zero(what)),
            None => Ok(()),
        }
    }

    /// Fails unless `heads` divides the width, `kv_heads` divides `heads`, a head has at most [`MAX_HEAD`] features, and
    /// the number of features per head is even if positions are rotary.
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

/// Part of the model to which a parameter belongs. Each layer is frozen as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Token and position embeddings.
    Embedding,
    /// Block with the given index.
    Block(usize),
    /// Final norm, and the matrix of logits unless it is tied to the embedding.
    Head,
}

impl Layer {
    /// Returns the index among the layers of a model with `blocks` blocks, in the order embedding, blocks, head.
    pub const fn index(self, blocks: usize) -> usize {
        match self {
            Self::Embedding => 0,
            Self::Block(block) => 1 + block,
            Self::Head => 1 + blocks,
        }
    }

    /// Returns the names of the layers of a model with `blocks` blocks.
    pub fn names(blocks: usize) -> Vec<String> {
        let names = (0..blocks).map(|i| format!("Block {i}"));
        std::iter::once("Embedding".to_owned()).chain(names).chain(["Head".to_owned()]).collect()
    }

    /// Creates the element set of layers, drawn as a diagram.
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

/// Creates the diagram of all tensors of a model with a row per layer. `row` returns the layer of a tensor, an index
/// into `layer_names`; `kind` returns its name without its layer.
pub fn tensor_set(
    map: &ParameterMap,
    layer_names: &[String],
    row: impl Fn(usize) -> usize,
    kind: impl Fn(usize, &str) -> String,
) -> ElementSet {
    const STEP: f32 = 10.0;
    let (mut positions, mut columns) = (Vec::with_capacity(map.views().len()), vec![0; layer_names.len()]);
    for i in 0..map.views().len() {
        positions.push([columns[row(i)] as f32 * STEP, row(i) as f32 * STEP, 0.0]);
        columns[row(i)] += 1;
    }
    let kinds: Vec<String> = map.views().enumerate().map(|(i, view)| kind(i, &view.name)).collect();
    let of_layer: Vec<&String> = (0..kinds.len()).map(|i| &layer_names[row(i)]).collect();
    ElementSet {
        name: TENSORS,
        len: kinds.len() as u32,
        names: map.views().map(|view| view.name.clone()).collect(),
        positions,
        is_diagram: true,
        columns: vec![Column::from_texts("type", &kinds), Column::from_texts("layer", &of_layer)],
        ..ElementSet::default()
    }
}

/// Sizes of a model.
pub trait Sizes: Send {
    /// Returns the vocabulary size in tokens.
    fn vocab(&self) -> usize;
    /// Returns the maximum length of a sequence in tokens.
    fn context(&self) -> usize;
}

/// Parameter layout of a model.
pub trait Ranges: Send + Sync {
    /// Returns the names and ranges of all parameters.
    fn map(&self) -> &Arc<ParameterMap>;
    /// Returns the names of the layers: embedding, blocks, head.
    fn layer_names(&self) -> Vec<String>;
}

/// Access to the parameters of a kind that the simulation reads.
pub trait ModelParams: crate::params::Params + Send {
    /// Sizes of the model.
    type Config: Sizes;
    /// Parameter layout of the model.
    type Layout: Ranges;
    /// Returns the sizes and layout for a vocabulary of `vocab` tokens. Fails if the model cannot be built.
    fn model(&self, vocab: usize) -> Result<(Self::Config, Arc<Self::Layout>), SimError>;
    /// Reads initial weights from a file. Fails if the file is unreadable or does not fit the model.
    fn read_weights(
        path: &Path,
        config: &Self::Config,
        layout: &Self::Layout,
        progress: &Progress,
    ) -> Result<Parameters<f32>, SimError>;
    /// Returns the parameters of the text and tokenizer.
    fn data(&self) -> &Data;
    /// Returns the parameters of curves and sampled texts.
    fn measure(&self) -> &Measure;
    /// Returns the number of sequences per micro-batch and of micro-batches that are drawn for a step. With 0 micro-batches the
    /// backend draws the tokens of a step itself, and the first number is that of an evaluation.
    fn batches(&self) -> [usize; 2];
    /// Returns the number of tokens of the text that a step reads.
    fn tokens_per_step(&self, context: usize) -> usize {
        self.batches().into_iter().product::<usize>() * context
    }
    /// Returns the learning rate of step `step`, counted from 0.
    fn rate_at(&self, step: u64) -> f64;
}

/// Implements [`Sizes`], [`Ranges`] and [`ModelParams`] from the parameter groups that kinds share.
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
