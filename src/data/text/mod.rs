//! Texts as sequences of tokens: the data of every kind that learns language.
//!
//! [`prepare`] makes a [`Corpus`] of a generated text or of files: `.jsonl` with a field `text` per line, any other file as
//! UTF-8 text, or a folder of them. The first 90 % of the tokens are for training; the last 10 % are held out.
//!
//! | file | subject |
//! | --- | --- |
//! | [`grammar`] | generated text with an exactly known entropy rate, the floor of every loss |
//! | [`styles`] | the built-in grammars |
//! | `files` | texts of the user |
//! | [`tokenizer`] | bytes, characters, or a `tokenizer.json` |
//! | [`corpus`] | tokens, their names, hash, floor |
//! | [`ngrams`] | yardsticks: the loss of models that know one, two or three tokens |
//! | [`batches`] | training and held-out sequences |

pub mod batches;
pub mod corpus;
mod files;
pub mod grammar;
pub mod ngrams;
pub mod styles;
pub mod tokenizer;

pub use batches::{Batches, HeldOut};
pub use corpus::Corpus;
pub use styles::Style;
pub use tokenizer::{TokenError, Tokenizer};

use super::{DataError, ProgressFn, report};
use std::path::PathBuf;

/// Where a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Generated: whole tales, until there are so many bytes.
    Grammar {
        /// Which grammar.
        style: Style,
        /// Bytes, at least.
        n_bytes: u64,
        /// Seed of the draws.
        seed: u64,
    },
    /// A file or a folder.
    File(PathBuf),
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenUnit {
    /// A byte: 256 tokens.
    Byte,
    /// A character: the distinct characters of the text, sorted.
    Character,
    /// A token of this `tokenizer.json`.
    Bpe(PathBuf),
}

/// A text and where its documents start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text {
    /// All documents, one after the other, with a line break between them.
    pub text: String,
    /// First byte of each document.
    pub starts: Vec<usize>,
    /// Entropy rate where it is known, nats per byte.
    pub entropy_rate: Option<f64>,
    /// One line about the source.
    pub provenance: String,
}

/// Makes a corpus.
///
/// # Errors
/// With file and line or character for anything that cannot be read; [`DataError::Cancelled`].
pub fn prepare(source: &Source, unit: &TokenUnit, watch: &ProgressFn) -> Result<Corpus, DataError> {
    let text = read(source, watch)?;
    let tokenizer = match unit {
        TokenUnit::Byte => Tokenizer::Bytes,
        TokenUnit::Character => Tokenizer::chars_of(&text.text)
            .map_err(|e| DataError::Format { path: source.name(), what: e.to_string() })?,
        TokenUnit::Bpe(path) => Tokenizer::read(path)?,
    };
    Corpus::new(&source.name(), &text, tokenizer, watch)
}

fn read(source: &Source, watch: &ProgressFn) -> Result<Text, DataError> {
    match source {
        Source::File(path) => files::read(path, watch),
        Source::Grammar { style, n_bytes, seed } => generate(*style, *n_bytes, *seed, watch),
    }
}

/// Most bytes of a text.
pub const MAX_BYTES: u64 = 1 << 30;

fn generate(style: Style, n_bytes: u64, seed: u64, watch: &ProgressFn) -> Result<Text, DataError> {
    let (grammar, n_bytes) = (style.grammar(), n_bytes.min(MAX_BYTES) as usize);
    let (mut text, mut tale) = (String::with_capacity(n_bytes + 4096), 0);
    while text.len() < n_bytes {
        if tale % 256 == 0 {
            report(watch, "generating the text", text.len() as f32 / n_bytes as f32)?;
        }
        grammar.append_tale(seed, tale, &mut text);
        tale += 1;
    }
    let provenance =
        format!("{style:?} grammar, seed {seed}: {} bytes", super::messages::group_digits(text.len() as u64));
    Ok(Text { text, starts: vec![0], entropy_rate: Some(grammar.entropy_rate()), provenance })
}

impl Source {
    /// Its name in messages.
    fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Grammar { style, .. } => format!("{style:?} grammar"),
        }
    }
}

/// The words of a text: runs of letters.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty())
}
