//! Converts texts to sequences of tokens, the data of every kind that learns language.
//!
//! [`prepare`] makes a [`Corpus`] of a generated text or of files: `.jsonl` with a field `text` per line, any other file as
//! UTF-8 text, or a folder of them. The first 90 % of the tokens are for training; the last 10 % are held out.
//!
//! | file | subject |
//! | --- | --- |
//! | [`grammar`] | generated text with an exactly known entropy rate, the floor of every loss |
//! | [`styles`], [`words`] | the built-in grammars, their sentences in invented words |
//! | `files` | texts of the user |
//! | [`tokenizer`] | bytes, characters, or a `tokenizer.json` |
//! | `tokenizer_file` | checks of a `tokenizer.json`: memory, repetition |
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
mod tokenizer_file;
pub mod words;

pub use batches::{Batches, HeldOut};
pub use corpus::Corpus;
pub use styles::Style;
pub use tokenizer::{TokenError, Tokenizer};

use super::{DataError, ProgressFn, report};
use crate::num::rng::{Draw, Purpose};
use std::{ops::Range, path::PathBuf, sync::Arc};

/// Source of the text of a corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Generated text: whole tales, until the minimum size is reached.
    Grammar {
        /// Grammar of the tales.
        style: Style,
        /// Minimum size, bytes.
        n_bytes: u64,
        /// Seed of the draws.
        seed: u64,
        /// Languages of the tales, one per tale: 0 has the words of the grammar, the others have invented words.
        languages: Range<u32>,
    },
    /// A file or a folder of the user.
    File(PathBuf),
}

/// Unit of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenUnit {
    /// Bytes as tokens: 256 tokens.
    Byte,
    /// Characters as tokens: the distinct characters of the text, sorted.
    Character,
    /// Tokens of this `tokenizer.json`.
    Bpe(PathBuf),
}

/// A text, with the offsets at which its documents start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text {
    /// All documents in sequence, with a line break between them.
    pub text: String,
    /// Offset of the first byte of each document.
    pub starts: Vec<usize>,
    /// Entropy rate in nats per byte, if known.
    pub entropy_rate: Option<f64>,
    /// One line about the source.
    pub provenance: String,
}

/// Makes a corpus of a source.
///
/// # Errors
/// Returns an error with file and line or character for anything that cannot be read, and [`DataError::Cancelled`] if `watch`
/// cancels.
pub fn prepare(source: &Source, unit: &TokenUnit, watch: &ProgressFn) -> Result<Corpus, DataError> {
    let text = read(source, watch)?;
    let tokenizer = Arc::new(tokenizer(unit, &source.name(), &[&text], watch)?);
    Corpus::new(&source.name(), &text, tokenizer, watch)
}

/// Makes a corpus of each source. All corpora have one vocabulary.
///
/// # Errors
/// Returns the errors of [`prepare`].
pub fn prepare_all(sources: &[Source], unit: &TokenUnit, watch: &ProgressFn) -> Result<Vec<Corpus>, DataError> {
    let texts: Vec<Text> = sources.iter().map(|source| read(source, watch)).collect::<Result<_, _>>()?;
    let name = sources.first().map(Source::name).unwrap_or_default();
    let tokenizer = Arc::new(tokenizer(unit, &name, &texts.iter().collect::<Vec<_>>(), watch)?);
    let corpora = sources.iter().zip(&texts);
    corpora.map(|(source, text)| Corpus::new(&source.name(), text, tokenizer.clone(), watch)).collect()
}

fn tokenizer(unit: &TokenUnit, name: &str, texts: &[&Text], watch: &ProgressFn) -> Result<Tokenizer, DataError> {
    match unit {
        TokenUnit::Byte => Ok(Tokenizer::Bytes),
        TokenUnit::Character => Tokenizer::chars_of(texts.iter().map(|text| &text.text[..]))
            .map_err(|e| DataError::Format { path: name.to_owned(), what: e.to_string() }),
        TokenUnit::Bpe(path) => Tokenizer::read(path, watch),
    }
}

fn read(source: &Source, watch: &ProgressFn) -> Result<Text, DataError> {
    match source {
        Source::File(path) => files::read(path, watch),
        Source::Grammar { style, n_bytes, seed, languages } => generate(*style, *n_bytes, *seed, languages, watch),
    }
}

/// Maximum size of a text, bytes.
pub const MAX_BYTES: u64 = 1 << 30;

fn generate(
    style: Style,
    n_bytes: u64,
    seed: u64,
    languages: &Range<u32>,
    watch: &ProgressFn,
) -> Result<Text, DataError> {
    let (n_bytes, n) = (n_bytes.min(MAX_BYTES) as usize, languages.len().max(1));
    let grammars: Vec<_> = (languages.start..).take(n).map(|language| style.in_language(seed, language)).collect();
    let text_seed = words::text_seed(seed, languages.start);
    let (mut text, mut tale) = (String::with_capacity(n_bytes + 4096), 0);
    while text.len() < n_bytes {
        if tale % 256 == 0 {
            report(watch, "generating the text", text.len() as f32 / n_bytes as f32)?;
        }
        let [word, ..] = Draw { seed: text_seed, purpose: Purpose::Words, step: tale, lane: u32::MAX }.words();
        grammars[((u64::from(word) * n as u64) >> 32) as usize].append_tale(text_seed, tale, &mut text);
        tale += 1;
    }
    let bytes = super::messages::group_digits(text.len() as u64);
    let provenance = match (languages.start, n) {
        (0, 1) => format!("{style:?} grammar, seed {seed}: {bytes} bytes"),
        (first, 1) => format!("{style:?} grammar, seed {seed}, language {first}: {bytes} bytes"),
        (first, n) => format!("{style:?} grammar, seed {seed}, {n} languages from {first}: {bytes} bytes"),
    };
    // The words of a tale determine its language, which is independent of the tales before it.
    let (nats, mean_bytes) = grammars[0].entropy_and_bytes();
    Ok(Text { text, starts: vec![0], entropy_rate: Some((nats + (n as f64).ln()) / mean_bytes), provenance })
}

impl Source {
    /// Returns the name of the source for messages.
    fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Grammar { style, .. } => format!("{style:?} grammar"),
        }
    }
}

/// Iterates over the words of a text, which are runs of letters.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty())
}
