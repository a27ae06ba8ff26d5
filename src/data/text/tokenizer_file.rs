//! Checks a `tokenizer.json` before the library loads it, for its memory needs and for the reproducibility of runs.
//!
//! A normalizer replaces parts of a text by longer ones, repeatedly: a file of a few hundred bytes can require any amount of
//! memory. [`Growth`] bounds the length of a normalized text without computing it. If the bound is too loose, as for tables of
//! Unicode normalization, [`Growth`] applies the steps to small pieces of the text and measures their lengths.

use super::{TokenError, tokenizer::MAX_VOCABULARY};
use crate::data::messages::group_digits;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use std::{borrow::Cow, fmt};
use tokenizers::{NormalizedString, Normalizer as _, NormalizerWrapper};

/// Maximum number of merges in a byte-pair encoding.
const MAX_MERGES: usize = 2 * MAX_VOCABULARY;
/// Maximum length of a token, or of a prefix or suffix of tokens, bytes.
const MAX_TOKEN: usize = 1 << 12;
/// Maximum number of steps of a normalizer.
const MAX_STEPS: usize = 64;
/// Maximum length of a text in one call after normalization, bytes. The library needs about 100 bytes of memory per byte of
/// text.
pub const MAX_NORMALIZED: usize = 4 << 20;
/// Maximum number of decoded bytes per byte of a token.
const MAX_DECODED: f64 = 64.0;
/// Size of the pieces that are normalized to measure their growth, bytes.
const WINDOW: usize = 1 << 14;

/// Properties of a tokenizer file that was checked.
#[derive(Debug, Default)]
pub struct TokenizerFile {
    /// Bound on the growth of a text by the normalizer.
    pub growth: Growth,
    /// Dropout of merges; `None` if it is 0.
    pub dropout: Option<f64>,
}

/// Parts of the file that are checked.
#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(default)]
    model: Model,
}

#[derive(Default, Deserialize)]
struct Model {
    #[serde(default)]
    dropout: Option<f64>,
    #[serde(default)]
    vocab: Entries,
    #[serde(default)]
    merges: Entries,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
}

impl TokenizerFile {
    /// Checks the contents of a `tokenizer.json`.
    ///
    /// # Errors
    /// Returns an error if the contents are not JSON, or loading or using them would take unbounded memory.
    pub fn check(bytes: &[u8]) -> Result<Self, TokenError> {
        let parts: Parts = serde_json::from_slice(bytes).map_err(|e| TokenError::Failed(e.to_string()))?;
        let model = &parts.model;
        if model.vocab.n > MAX_VOCABULARY {
            return Err(TokenError::TooMany);
        }
        if model.merges.n > MAX_MERGES {
            let (n, limit) = (group_digits(model.merges.n as u64), group_digits(MAX_MERGES as u64));
            return Err(TokenError::Failed(format!("it has {n} merges, more than {limit}, the limit")));
        }
        let affixes = [&model.continuing_subword_prefix, &model.end_of_word_suffix]
            .map(|affix| affix.as_ref().map_or(0, String::len));
        let longest = affixes.into_iter().chain([model.vocab.longest]).max().unwrap_or(0);
        if longest > MAX_TOKEN {
            let what =
                format!("it has a token of {} bytes, more than {MAX_TOKEN}, the limit", group_digits(longest as u64));
            return Err(TokenError::Failed(what));
        }
        let mut decoding = vec![];
        add_steps(&parts.decoder, "decoders", &mut decoding)?;
        let decoded: f64 = decoding.iter().map(|step| step.factor).product();
        if decoded > MAX_DECODED {
            let what =
                format!("its decoder may lengthen a token {decoded:.0} times, more than {MAX_DECODED:.0}, the limit");
            return Err(TokenError::Failed(what));
        }
        let mut steps = vec![];
        add_steps(&parts.normalizer, "normalizers", &mut steps)?;
        let dropout = model.dropout.filter(|dropout| *dropout > 0.0);
        Ok(Self { growth: Growth { steps }, dropout })
    }
}

/// Number of entries in a list or a map, and length of the longest name, bytes. The entries are not kept.
#[derive(Default)]
struct Entries {
    n: usize,
    longest: usize,
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Count;
        impl<'de> Visitor<'de> for Count {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list or a map")
            }

            fn visit_unit<E>(self) -> Result<Entries, E> {
                Ok(Entries::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Entries::default();
                while let Some((name, _)) = map.next_entry::<Cow<'de, str>, IgnoredAny>()? {
                    entries.n += 1;
                    entries.longest = entries.longest.max(name.len());
                }
                Ok(entries)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entries, A::Error> {
                let mut entries = Entries::default();
                while let Some(item) = list.next_element::<Value>()? {
                    entries.n += 1;
                    // An item is a token with its score, or two tokens that are merged.
                    let texts = item.as_array().map_or(std::slice::from_ref(&item), Vec::as_slice).iter();
                    let longest = texts.filter_map(Value::as_str).map(str::len).max().unwrap_or(0);
                    entries.longest = entries.longest.max(longest);
                }
                Ok(entries)
            }
        }
        from.deserialize_any(Count)
    }
}

/// Step of a normalizer or decoder.
#[derive(Clone, Debug)]
struct Step {
    /// Maximum number of bytes of the result per byte of text.
    factor: f64,
    /// Maximum number of additional bytes.
    added: usize,
    /// Whether the result for a piece of text depends on that piece alone.
    is_local: bool,
    declared: Value,
}

impl Step {
    fn bound(&self, n_bytes: usize) -> f64 {
        n_bytes as f64 * self.factor + self.added as f64
    }
}

/// Adds the steps of a normalizer or decoder to `to`, those of a sequence one by one. Fails if there are too many.
fn add_steps(declared: &Value, inner: &str, to: &mut Vec<Step>) -> Result<(), TokenError> {
    let text = |name: &str| declared.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("type") == "Sequence" {
        let steps = declared.get(inner).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        return steps.iter().try_for_each(|step| add_steps(step, inner, to));
    }
    if declared.is_null() {
        return Ok(());
    }
    if to.len() >= MAX_STEPS {
        return Err(TokenError::Failed(format!("it has a sequence of more than {MAX_STEPS} steps, the limit")));
    }
    let (factor, added, is_local) = match text("type") {
        "Replace" => {
            let content = text("content").len() as f64;
            match declared.get("pattern").and_then(|pattern| pattern.get("String")).and_then(Value::as_str) {
                Some(pattern) if !pattern.is_empty() => ((content / pattern.len() as f64).max(1.0), 0, true),
                // A pattern may match between any two bytes, and may examine the whole text.
                _ => (1.0 + content, content as usize, false),
            }
        }
        "Prepend" => (1.0, text("prepend").len(), true),
        "Precompiled" => (longest_replacement(text("precompiled_charsmap")).max(1) as f64, 0, true),
        // The character U+FDFA has 3 bytes and becomes 18 characters of 33 bytes.
        "NFKC" | "NFKD" => (11.0, 0, true),
        "NFC" | "NFD" | "ByteFallback" | "ByteLevel" => (3.0, 0, true),
        "BertNormalizer" => (6.0, 0, true),
        "Lowercase" | "WordPiece" | "CTC" => (2.0, 0, true),
        _ => (1.0, 0, true),
    };
    to.push(Step { factor, added, is_local, declared: declared.clone() });
    Ok(())
}

/// Returns the length of the longest replacement in a table of the SentencePiece library: a trie, which begins with its size,
/// and replacements that end with a zero byte. Returns 0 if the base 64 is invalid, because `tokenizers` rejects such a file.
fn longest_replacement(text: &str) -> usize {
    let table = base64::decode(text).unwrap_or_default();
    let n_trie_bytes = table.first_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size) as usize);
    let replacements = table.get(n_trie_bytes.saturating_add(4)..).unwrap_or(&table);
    replacements.split(|byte| *byte == 0).map(<[u8]>::len).max().unwrap_or(0)
}

/// Bound on the growth of texts by a normalizer.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    steps: Vec<Step>,
}

impl Growth {
    /// Whether there is no normalizer.
    pub const fn is_none(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether the bound is so loose that the result has to be measured.
    pub fn needs_measure(&self, n_bytes: usize) -> bool {
        self.steps.iter().fold(n_bytes as f64, |n, step| n * step.factor + step.added as f64) > MAX_NORMALIZED as f64
    }

    /// Fails if the normalized text would be too long.
    pub fn check(&self, text: &str) -> Result<(), TokenError> {
        if self.is_none() || !self.needs_measure(text.len()) {
            return Ok(());
        }
        let normalizers: Vec<(NormalizerWrapper, &Step)> = self
            .steps
            .iter()
            .map(|step| Ok((serde_json::from_value(step.declared.clone())?, step)))
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|e| TokenError::Failed(e.to_string()))?;
        let mut total = 0.0;
        for window in windows(text) {
            total += measure(window, &normalizers)?;
            if total > MAX_NORMALIZED as f64 {
                return Err(too_long(text.len()));
            }
        }
        Ok(())
    }
}

/// Returns an upper bound for the length of a normalized piece of text, bytes. Fails if the piece grows too long.
fn measure(window: &str, normalizers: &[(NormalizerWrapper, &Step)]) -> Result<f64, TokenError> {
    let (mut normalized, mut scale) = (NormalizedString::from(window), 1.0);
    for (normalizer, step) in normalizers {
        let bound = step.bound(normalized.get().len());
        if bound > MAX_NORMALIZED as f64 {
            return Err(too_long(window.len()));
        }
        normalizer.normalize(&mut normalized).map_err(|e| TokenError::Failed(e.to_string()))?;
        if !step.is_local {
            scale *= (bound / normalized.get().len().max(1) as f64).max(1.0);
        }
    }
    Ok(normalized.get().len() as f64 * scale)
}

fn too_long(n_bytes: usize) -> TokenError {
    TokenError::Failed(format!(
        "its normalizer lengthens a text of {} bytes to more than {} MB, the limit",
        group_digits(n_bytes as u64),
        MAX_NORMALIZED >> 20
    ))
}

/// Iterates over the pieces of a text, of at most [`WINDOW`] bytes.
fn windows(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let end = text.floor_char_boundary(WINDOW.min(text.len()));
        let (window, rest) = text.split_at(end);
        text = rest;
        (!window.is_empty()).then_some(window)
    })
}

#[cfg(test)]
mod tests;
