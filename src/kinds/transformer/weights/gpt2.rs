//! Names, orientation and configuration of GPT-2 models at Hugging Face.
//!
//! Their tensors have the names below, with or without the prefix `transformer.`. Matrices of blocks are `[in, out]`
//! (Conv1D), embedding and logits share one matrix, and the buffers `attn.bias` and `attn.masked_bias` are masks:
//!
//! | this program | Hugging Face |
//! | --- | --- |
//! | `h.0.attn.qkv` | `h.0.attn.c_attn` |
//! | `h.0.attn.proj` | `h.0.attn.c_proj` |
//! | `h.0.mlp.fc` | `h.0.mlp.c_fc` |
//! | `h.0.mlp.proj` | `h.0.mlp.c_proj` |

use crate::{
    data::{input_file, tensors::TensorFile},
    kinds::{shared::weights::TensorSource, transformer::choices::ActivationFunction},
    sim::SimError,
};
use std::{fs, path::Path};

/// File with the settings of a model, beside its weights.
pub const CONFIG_FILE: &str = "config.json";
/// Prefix of all tensors except the matrix of logits.
pub const PREFIX: &str = "transformer.";
/// Name of the matrix of logits, at Hugging Face and in this program.
pub const HEAD: &str = "lm_head.weight";

/// Names of matrices in blocks: in this program and at Hugging Face.
pub const MATRICES: &[(&str, &str)] =
    &[("attn.qkv", "attn.c_attn"), ("attn.proj", "attn.c_proj"), ("mlp.fc", "mlp.c_fc"), ("mlp.proj", "mlp.c_proj")];
/// Activation functions that both know, with the names at Hugging Face; the first name of a function is written.
const ACTIVATIONS: &[(ActivationFunction, &str)] = &[
    (ActivationFunction::GeluTanh, "gelu_new"),
    (ActivationFunction::GeluTanh, "gelu_pytorch_tanh"),
    (ActivationFunction::GeluErf, "gelu"),
    (ActivationFunction::Relu, "relu"),
];
/// Size limit of `config.json` in bytes.
const MAX_CONFIG: u64 = 1 << 20;

/// Whether the tensors of a file have the names of Hugging Face's GPT-2.
pub fn is_gpt2(file: &TensorFile) -> bool {
    file.names().iter().any(|name| name.ends_with("attn.c_attn.weight"))
}

/// Returns the prefix of the names in a file.
pub fn prefix_of(file: &TensorFile) -> &'static str {
    if file.contains("transformer.wte.weight") { PREFIX } else { "" }
}

/// Returns the name of a tensor at Hugging Face, without the prefix, and whether the matrix is transposed there.
pub fn name_of(ours: &str) -> (String, bool) {
    match MATRICES.iter().find(|(name, _)| ours.contains(name)) {
        Some((name, theirs)) => (ours.replace(name, theirs), ours.ends_with(".weight")),
        None => (ours.to_owned(), false),
    }
}

/// Maps a tensor to its name and orientation at Hugging Face. A model without a matrix of logits has that of the embedding.
pub fn source(mut source: TensorSource, prefix: &str, has_head: bool) -> TensorSource {
    if source.name == HEAD {
        if !has_head {
            source.name = format!("{prefix}wte.weight");
        }
        return source;
    }
    let (name, is_transposed) = name_of(&source.name);
    TensorSource { name: format!("{prefix}{name}"), is_transposed, ..source }
}

/// Whether a tensor of a file holds no weights that a model reads: a mask, or a tied head that is stored twice.
pub fn is_other(name: &str, is_tied: bool) -> bool {
    name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") || is_tied && name == HEAD
}

/// Fields of `config.json` that determine a model. Missing fields are `None`.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default)]
pub struct Gpt2Config {
    pub model_type: Option<String>,
    pub n_layer: Option<usize>,
    pub n_head: Option<usize>,
    pub n_embd: Option<usize>,
    pub n_inner: Option<usize>,
    pub n_positions: Option<usize>,
    pub vocab_size: Option<usize>,
    pub layer_norm_epsilon: Option<f64>,
    pub activation_function: Option<String>,
    pub tie_word_embeddings: Option<bool>,
    pub scale_attn_weights: Option<bool>,
    pub scale_attn_by_inverse_layer_idx: Option<bool>,
}

impl Gpt2Config {
    /// Reads the `config.json` in the folder of the weights; `None` without such a file. Fails if the file is invalid or
    /// describes a model that this program does not have.
    pub fn beside(weights: &Path) -> Result<Option<Self>, SimError> {
        let path = weights.with_file_name(CONFIG_FILE);
        let Ok(about) = fs::metadata(&path) else { return Ok(None) };
        let wrong = |what: String| SimError::Input(format!("{}: {what}", path.display()));
        if about.len() > MAX_CONFIG {
            return Err(wrong(format!("more than {} KiB, the limit of a configuration", MAX_CONFIG >> 10)));
        }
        let text = input_file::read_to_string(&path).map_err(|e| wrong(e.to_string()))?;
        let config: Self = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        if let Some(other) = config.model_type.as_deref().filter(|kind| *kind != "gpt2") {
            return Err(wrong(format!("a model of the type `{other}`; only `gpt2` can be read")));
        }
        if config.scale_attn_by_inverse_layer_idx == Some(true) {
            return Err(wrong("attention that is scaled by the index of its layer is not possible here".to_owned()));
        }
        config.activation().map_err(wrong)?;
        Ok(Some(config))
    }

    /// Returns the activation function; `None` if the file does not name one. Fails with the name of an unknown one.
    pub fn activation(&self) -> Result<Option<ActivationFunction>, String> {
        let Some(name) = self.activation_function.as_deref() else { return Ok(None) };
        match ACTIVATIONS.iter().find(|(_, theirs)| *theirs == name) {
            Some((function, _)) => Ok(Some(*function)),
            None => Err(format!("the activation function `{name}` is not known")),
        }
    }
}

/// Returns the name of an activation function at Hugging Face; `None` if GPT-2 has no such function there.
pub fn activation_name(function: ActivationFunction) -> Option<&'static str> {
    ACTIVATIONS.iter().find(|(ours, _)| *ours == function).map(|(_, theirs)| *theirs)
}
