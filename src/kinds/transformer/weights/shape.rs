//! Shape of the model whose weights a file holds: from the shapes of the tensors, and from `config.json` beside the file
//! where no tensor depends on a value.

use super::gpt2::{self, Gpt2Config};
use crate::{
    data::{group_digits, tensors::TensorFile},
    kinds::{
        language::choices::TokenizerChoice,
        transformer::{
            Params,
            choices::{ActivationFunction, NormFunction, NormPlacement},
            model::{Config, Position, VOCAB_ALIGN},
        },
    },
    sim::{FileValues, SimError},
};
use std::{collections::BTreeSet, path::Path};

/// Width of a head that is assumed if a GPT-2 file does not give the number of heads: that of all published GPT-2 models.
const GPT2_HEAD: usize = 64;

/// Vocabulary of a tokenizer of bytes.
const N_BYTES: usize = 256;

/// Parameter of a model that follows from a file.
pub struct Setting {
    /// Parameter and value in the syntax of `--set`.
    text: String,
    /// Whether a model has a value with which it can read the file.
    fits: Box<dyn Fn(&Config) -> bool>,
}

/// Shape of the model in a file.
pub struct FileShape {
    settings: Vec<Setting>,
    /// Rows of the token embedding.
    rows: usize,
    /// Number of features per token.
    width: usize,
    /// Whether the file states the number of heads.
    has_heads: bool,
    is_gpt2: bool,
}

/// Reads extents from the header of a file.
struct Header<'f> {
    file: &'f TensorFile,
    prefix: &'static str,
}

impl Header<'_> {
    fn shape(&self, name: &str) -> &[usize] {
        self.file.shape(&format!("{}{name}", self.prefix)).unwrap_or_default()
    }

    fn has(&self, name: &str) -> bool {
        self.file.contains(&format!("{}{name}", self.prefix))
    }

    /// Returns the number of blocks, from the first without a gap.
    fn layers(&self) -> usize {
        let index = |name: &String| name.strip_prefix(self.prefix)?.strip_prefix("h.")?.split('.').next()?.parse().ok();
        let known: BTreeSet<usize> = self.file.names().iter().filter_map(index).collect();
        known.iter().zip(0..).take_while(|(index, n)| *index == n).count()
    }
}

impl FileShape {
    /// Reads the shape from the header of an open file, and from `config.json` if the weights are those of a GPT-2 of
    /// Hugging Face. Fails if the tensors are not those of a transformer, or `config.json` is invalid.
    pub fn read(file: &TensorFile) -> Result<Self, SimError> {
        let is_gpt2 = gpt2::is_gpt2(file);
        let header = Header { file, prefix: if is_gpt2 { gpt2::prefix_of(file) } else { "" } };
        let about = if is_gpt2 { Gpt2Config::beside(file.path())? } else { None };
        let ([rows, width], layers) = (header.shape("wte.weight"), header.layers()) else {
            return Err(not_a_transformer(file.path()));
        };
        if layers == 0 || *width == 0 {
            return Err(not_a_transformer(file.path()));
        }
        let mut new = Self { settings: vec![], rows: *rows, width: *width, has_heads: false, is_gpt2 };
        let (width, kind) = (*width, header.is_shape_of(is_gpt2));
        new.push(format!("model.layers={layers}"), move |c| c.layers == layers);
        new.push(format!("model.width={width}"), move |c| c.width == width);
        new.positions(&header);
        new.feed_forward(&kind, width);
        match is_gpt2 {
            true => new.of_gpt2(about.unwrap_or_default()),
            false => new.of_own(&header),
        }
        Ok(new)
    }

    fn push(&mut self, text: String, fits: impl Fn(&Config) -> bool + 'static) {
        self.settings.push(Setting { text, fits: Box::new(fits) });
    }

    /// Adds context and positions. A shorter context reads the first positions of the file.
    fn positions(&mut self, header: &Header<'_>) {
        let [context, _] = *header.shape("wpe.weight") else { return };
        self.push("model.positions=Learned".to_owned(), |c| c.positions == Position::Learned);
        self.push(format!("model.context={context}"), move |c| c.context <= context);
    }

    /// Adds the width of feed-forward layers, their kind and the biases.
    fn feed_forward(&mut self, kind: &FeedForward, width: usize) {
        let FeedForward { hidden, is_gated, has_bias } = *kind;
        let factor = hidden as f64 / width as f64;
        // With another width, the same factor gives the width of the file.
        self.push(format!("model.hidden_factor={factor}"), move |c| c.hidden * width == hidden * c.width);
        self.push(format!("model.bias={has_bias}"), move |c| c.bias == has_bias);
        if is_gated {
            self.push("model.activation=SwiGlu".to_owned(), |c| c.activation == ActivationFunction::SwiGlu);
        }
    }

    /// Adds the settings that no tensor of Hugging Face's GPT-2 depends on, and those that all of these models have.
    fn of_gpt2(&mut self, about: Gpt2Config) {
        self.has_heads = about.n_head.is_some();
        if let Some(heads) = about.n_head {
            self.push(format!("model.heads={heads}"), move |c| c.heads == heads);
        }
        self.push("model.kv_heads=0".to_owned(), |c| c.kv_heads == c.heads);
        self.push("model.norm=Layer".to_owned(), |c| c.norm == NormFunction::Layer);
        self.push("model.placement=Pre".to_owned(), |c| c.placement == NormPlacement::Pre);
        self.push("mask.causal=true".to_owned(), |c| c.causal);
        if let Some(eps) = about.layer_norm_epsilon {
            self.push(format!("model.eps={eps:e}"), move |c| (eps - c.eps).abs() <= 1e-3 * c.eps.abs());
        }
        if let Ok(Some(activation)) = about.activation() {
            self.push(format!("model.activation={activation:?}"), move |c| c.activation == activation);
        }
        if about.scale_attn_weights == Some(false) {
            self.push("model.scale=1".to_owned(), |c| c.scale == 1.0);
        }
        if let Some(tied) = about.tie_word_embeddings {
            // An untied model reads a tied head as a copy.
            self.push(format!("model.tied={tied}"), move |c| tied || !c.tied);
        }
    }

    /// Adds the settings that the tensors of a file of this program determine in addition.
    fn of_own(&mut self, header: &Header<'_>) {
        let (is_tied, is_pre) = (!header.has(gpt2::HEAD), header.has("ln_f.weight"));
        self.push(format!("model.tied={is_tied}"), move |c| c.tied == is_tied);
        let placement = if is_pre { NormPlacement::Pre } else { NormPlacement::Post };
        self.push(format!("model.placement={placement:?}"), move |c| c.placement == placement);
        if header.has("h.0.attn.qkv.bias") {
            let norm = if header.has("h.0.ln_1.bias") { NormFunction::Layer } else { NormFunction::Rms };
            self.push(format!("model.norm={norm:?}"), move |c| c.norm == norm);
        }
        if header.shape("h.0.attn.qkv.weight").first() == Some(&(3 * self.width)) {
            self.push("model.kv_heads=0".to_owned(), |c| c.kv_heads == c.heads);
        }
    }

    /// Whether the embedding has the rows of a vocabulary, with or without padding.
    fn has_vocab(&self, vocab: usize) -> bool {
        self.rows >= vocab && self.rows - vocab < VOCAB_ALIGN
    }

    /// Returns, as sentences, the changes that a model needs to read the file; empty if nothing contradicts.
    pub fn mismatches(&self, config: &Config) -> Vec<String> {
        let mut wrong = vec![];
        let other: Vec<&str> = self.settings.iter().filter(|s| !(s.fits)(config)).map(|s| &s.text[..]).collect();
        if !other.is_empty() {
            wrong.push(format!("set {}", other.join(", ")));
        }
        if !self.has_vocab(config.vocab) {
            let [rows, vocab] = [self.rows, config.vocab].map(|n| group_digits(n as u64));
            wrong.push(format!(
                "the vocabulary has {rows} tokens and that of the tokenizer {vocab}: choose its tokenizer"
            ));
        }
        wrong
    }

    /// Returns the values of all parameters that follow from the file, and a note about each assumption. `tokenizer` is the
    /// path of a tokenizer beside the weights, if there is one.
    pub fn values(&self, params: &Params, tokenizer: Option<String>) -> FileValues {
        let mut values = FileValues::default();
        let kept = params.model.heads as usize;
        let assumed = match self.is_gpt2 {
            true if self.width.is_multiple_of(GPT2_HEAD) => self.width / GPT2_HEAD,
            _ if kept > 0 && self.width.is_multiple_of(kept) => kept,
            _ => 1,
        };
        // The number of heads precedes the width, so that no link or check sees a width that it does not divide.
        if !self.has_heads {
            values.set.push(format!("model.heads={assumed}"));
            let source = if self.is_gpt2 { " There is no config.json beside it." } else { "" };
            values
                .notes
                .push(format!("The file does not say the number of heads; it is assumed to be {assumed}.{source}"));
        }
        values.set.extend(self.settings.iter().map(|setting| setting.text.clone()));
        let needs_tokenizer = self.is_gpt2
            && match params.data.tokenizer {
                TokenizerChoice::Bpe => params.data.tokenizer_file.0.trim().is_empty(),
                TokenizerChoice::Bytes => !self.has_vocab(N_BYTES),
                TokenizerChoice::Chars => true,
            };
        match tokenizer {
            Some(path) if needs_tokenizer => {
                values.set.push("data.tokenizer=Bpe".to_owned());
                values.set.push(format!("data.tokenizer_file={path}"));
            }
            None if needs_tokenizer => values.notes.push(format!(
                "The vocabulary has {} tokens; choose the tokenizer.json of the model, which is not beside the weights.",
                group_digits(self.rows as u64)
            )),
            _ => {}
        }
        values
    }
}

/// Feed-forward layer of the first block.
struct FeedForward {
    hidden: usize,
    is_gated: bool,
    has_bias: bool,
}

impl Header<'_> {
    /// Returns the sizes of the feed-forward layer; 0 if the first block has none.
    fn is_shape_of(&self, is_gpt2: bool) -> FeedForward {
        let end = |name: &str, at: usize| self.shape(name).get(at).copied().unwrap_or(0);
        match is_gpt2 {
            // Matrices are [in, out].
            true => FeedForward {
                hidden: end("h.0.mlp.c_proj.weight", 0),
                is_gated: false,
                has_bias: self.has("h.0.mlp.c_fc.bias"),
            },
            false => {
                let hidden = end("h.0.mlp.proj.weight", 1);
                let is_gated = hidden > 0 && end("h.0.mlp.fc.weight", 0) == 2 * hidden;
                FeedForward { hidden, is_gated, has_bias: self.has("h.0.mlp.fc.bias") }
            }
        }
    }
}

fn not_a_transformer(path: &Path) -> SimError {
    let what = "the tensors are not those of a transformer: there is no wte.weight, or no block h.0";
    SimError::Input(format!("{}: {what}", path.display()))
}
