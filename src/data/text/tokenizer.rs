//! Tokenizers: conversion between text and tokens.

use super::tokenizer_file::{Growth, MAX_NORMALIZED, TokenizerFile};
use crate::data::{DataError, ProgressFn, messages, read_at_most};
use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// Maximum number of tokens in a vocabulary.
pub const MAX_VOCABULARY: usize = 1 << 20;
/// Maximum size of a `tokenizer.json`, bytes.
const MAX_FILE: u64 = 1 << 28;
/// Names of a token between documents, in the order in which they are searched.
const END_OF_TEXT: &[&str] = &["<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"];

#[derive(Clone)]
pub enum Tokenizer {
    /// Bytes as tokens.
    Bytes,
    /// Characters as tokens, sorted.
    Chars(Vec<char>),
    /// Tokens of a `tokenizer.json`.
    Bpe(Box<Bpe>),
}

/// Tokenizer that was loaded from a file.
#[derive(Clone)]
pub struct Bpe {
    tokenizer: tokenizers::Tokenizer,
    n_vocab: usize,
    end_of_text: Option<u32>,
    growth: Growth,
    /// Dropout that the file declares, which is ignored.
    dropout: Option<f64>,
}

/// Reason why a text cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text contains a character that the training text does not.
    #[error("the character `{}` is not in the vocabulary of {n} characters", .c.escape_debug())]
    Unknown {
        c: char,
        /// Size of the vocabulary.
        n: usize,
    },
    #[error("more than {} tokens in the vocabulary, the limit", messages::group_digits(MAX_VOCABULARY as u64))]
    TooMany,
    /// Error message of the tokenizer library.
    #[error("the tokenizer failed: {0}")]
    Failed(String),
}

impl Tokenizer {
    /// Makes a tokenizer of the distinct characters of texts. Fails if there are too many.
    pub fn chars_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, TokenError> {
        let chars: Vec<char> = texts.into_iter().flat_map(str::chars).collect::<BTreeSet<char>>().into_iter().collect();
        if chars.len() > MAX_VOCABULARY { Err(TokenError::TooMany) } else { Ok(Self::Chars(chars)) }
    }

    /// Reads a `tokenizer.json` of the `tokenizers` library. Truncation, padding and dropout in the file are ignored.
    ///
    /// # Errors
    /// Returns [`DataError::Format`] with the library's message if the file is invalid. Nothing is downloaded.
    pub fn read(path: &Path, watch: &ProgressFn) -> Result<Self, DataError> {
        let bytes = read_at_most(path, MAX_FILE, watch)?;
        Self::from_json(&bytes).map_err(|e| DataError::format(path, e.to_string()))
    }

    /// Loads the contents of a `tokenizer.json`. Fails if they are invalid or would need too much memory.
    pub fn from_json(bytes: &[u8]) -> Result<Self, TokenError> {
        // The file is parsed first, because the library panics on some texts that are not JSON.
        let TokenizerFile { growth, dropout } = TokenizerFile::check(bytes)?;
        let mut tokenizer = guarded(|| tokenizers::Tokenizer::from_bytes(bytes))?;
        guarded(|| tokenizer.with_truncation(None).map(|_| ()))?;
        tokenizer.with_padding(None);
        if dropout.is_some() {
            remove_dropout(&mut tokenizer);
        }
        let highest = tokenizer.get_vocab(true).into_values().max();
        let n_vocab = highest.map_or(0, |id| id as usize + 1);
        match n_vocab {
            0 => Err(TokenError::Failed("its vocabulary is empty".to_owned())),
            n if n > MAX_VOCABULARY => Err(TokenError::TooMany),
            _ => {
                let end_of_text = END_OF_TEXT.iter().find_map(|name| tokenizer.token_to_id(name));
                Ok(Self::Bpe(Box::new(Bpe { tokenizer, n_vocab, end_of_text, growth, dropout })))
            }
        }
    }

    /// Returns the number of tokens in the vocabulary.
    pub fn n_vocab(&self) -> usize {
        match self {
            Self::Bytes => 256,
            Self::Chars(chars) => chars.len(),
            Self::Bpe(bpe) => bpe.n_vocab,
        }
    }

    /// Returns the ignored settings of the file, one sentence each.
    pub fn notices(&self) -> Vec<String> {
        let dropout = if let Self::Bpe(bpe) = self { bpe.dropout } else { None };
        let notice =
            |dropout| format!("The dropout of merges of the tokenizer ({dropout}) is not used: runs would not repeat.");
        dropout.map(notice).into_iter().collect()
    }

    /// Returns the maximum length of a text in one call, bytes.
    pub fn longest_text(&self) -> usize {
        match self {
            Self::Bpe(bpe) if bpe.growth.is_none() => MAX_NORMALIZED,
            Self::Bpe(_) => MAX_NORMALIZED / 2,
            Self::Bytes | Self::Chars(_) => usize::MAX,
        }
    }

    /// Returns an estimate of the memory per byte of text during encoding, bytes, given the tokens per byte.
    pub const fn encoding_bytes(&self, tokens_per_byte: f64) -> f64 {
        if let Self::Bpe(_) = self { 80.0 + 160.0 * tokens_per_byte } else { size_of::<u32>() as f64 }
    }

    /// Whether several texts of this length may be encoded concurrently, because their memory is bounded without a
    /// measurement.
    pub fn is_parallel(&self, n_bytes: usize) -> bool {
        if let Self::Bpe(bpe) = self { !bpe.growth.needs_measure(n_bytes) } else { true }
    }

    /// Returns the token between documents; `None` if the vocabulary has none.
    pub fn end_of_text(&self) -> Option<u32> {
        if let Self::Bpe(bpe) = self { bpe.end_of_text } else { None }
    }

    /// Encodes a text. Fails for characters that are not in the vocabulary, texts that grow too long, and errors of the
    /// library.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenError> {
        match self {
            Self::Bytes => Ok(text.bytes().map(u32::from).collect()),
            Self::Chars(chars) => {
                let id = |c: char| chars.binary_search(&c).map(|id| id as u32);
                text.chars().map(|c| id(c).map_err(|_| TokenError::Unknown { c, n: chars.len() })).collect()
            }
            Self::Bpe(bpe) => {
                catch_unwind(AssertUnwindSafe(|| bpe.growth.check(text))).unwrap_or_else(|_| Err(internal()))?;
                let encoding = guarded(|| bpe.tokenizer.encode_fast(text, false))?;
                let ids = encoding.get_ids().to_vec();
                match ids.iter().all(|id| (*id as usize) < bpe.n_vocab) {
                    true => Ok(ids),
                    false => Err(TokenError::Failed("it gave a token outside its vocabulary".to_owned())),
                }
            }
        }
    }

    /// Decodes tokens to text. Invalid UTF-8 and unknown tokens become �.
    pub fn decode(&self, tokens: &[u32]) -> String {
        match self {
            Self::Bytes => {
                let bytes: Vec<u8> = tokens.iter().map(|t| u8::try_from(*t).unwrap_or(0xFF)).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Self::Chars(chars) => {
                tokens.iter().map(|t| chars.get(*t as usize).copied().unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
            }
            Self::Bpe(bpe) => guarded(|| bpe.tokenizer.decode(tokens, false))
                .unwrap_or_else(|_| char::REPLACEMENT_CHARACTER.to_string()),
        }
    }

    /// Returns the display text of a token; for a part of a character, the token's number or its name in the vocabulary.
    pub fn name(&self, token: u32) -> String {
        let text = self.decode(&[token]);
        if !text.is_empty() && !text.contains(char::REPLACEMENT_CHARACTER) && !text.contains('\0') {
            return text;
        }
        match self {
            Self::Bytes => format!("\\x{token:02x}"),
            Self::Chars(_) => format!("token {token}"),
            Self::Bpe(bpe) => bpe.tokenizer.id_to_token(token).unwrap_or_else(|| format!("token {token}")),
        }
    }

    /// Returns the names of all tokens.
    pub fn names(&self) -> Vec<String> {
        (0..self.n_vocab() as u32).map(|token| self.name(token)).collect()
    }

    /// Whether equal tokens mean equal texts.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bytes, Self::Bytes) => true,
            (Self::Chars(a), Self::Chars(b)) => a == b,
            (Self::Bpe(a), Self::Bpe(b)) => {
                a.n_vocab == b.n_vocab && a.tokenizer.get_vocab(true) == b.tokenizer.get_vocab(true)
            }
            _ => false,
        }
    }
}

/// Calls the library and converts its errors and panics.
fn guarded<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, TokenError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(done) => done.map_err(|e| TokenError::Failed(messages::truncated_to(&e.to_string(), 300))),
        Err(_) => Err(internal()),
    }
}

fn internal() -> TokenError {
    TokenError::Failed("an internal error of the library".to_owned())
}

/// Disables dropout, so that every merge is applied.
fn remove_dropout(tokenizer: &mut tokenizers::Tokenizer) {
    if let tokenizers::ModelWrapper::BPE(model) = tokenizer.get_model() {
        let mut model = model.clone();
        model.dropout = None;
        tokenizer.with_model(model);
    }
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Bytes => "bytes",
            Self::Chars(_) => "characters",
            Self::Bpe(_) => "tokenizer.json",
        };
        write!(f, "{name}, {} tokens", self.n_vocab())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte-level tokenizer with two merges, as the library writes it.
    const JSON: &str = r#"{"version":"1.0","truncation":null,"padding":null,
        "added_tokens":[{"id":6,"content":"<|endoftext|>","single_word":false,"lstrip":false,"rstrip":false,
        "normalized":false,"special":true}],"normalizer":null,
        "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
        "post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
        "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
        "fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
        "vocab":{"a":0,"b":1,"Ġ":2,"ab":3,"Ġab":4,"Ã":5},"merges":["a b","Ġ ab"]}}"#;

    #[test]
    fn bytes_and_characters_are_read_back() {
        for (tokenizer, text, tokens) in
            [(Tokenizer::Bytes, "aé", vec![97, 0xC3, 0xA9]), (Tokenizer::chars_of(["bé a"]).unwrap(), "aé", vec![1, 3])]
        {
            assert_eq!(tokenizer.encode(text).unwrap(), tokens);
            assert_eq!(tokenizer.decode(&tokens), text);
        }
        assert_eq!([0x61, 0xC3, 0].map(|t| Tokenizer::Bytes.name(t)), ["a", "\\xc3", "\\x00"]);
        let error = Tokenizer::chars_of(["a", "b"]).unwrap().encode("a\n").unwrap_err().to_string();
        assert_eq!(error, "the character `\\n` is not in the vocabulary of 2 characters");
    }

    #[test]
    fn a_tokenizer_file_is_used_and_mistakes_are_errors() {
        let tokenizer = Tokenizer::from_json(JSON.as_bytes()).unwrap();
        assert_eq!((tokenizer.n_vocab(), tokenizer.end_of_text()), (7, Some(6)));
        assert_eq!(tokenizer.encode("ab ab a").unwrap(), [3, 4, 2, 0]);
        assert_eq!(tokenizer.decode(&[3, 4, 2, 0]), "ab ab a");
        assert_eq!([4, 5, 6].map(|t| tokenizer.name(t)), [" ab", "Ã", "<|endoftext|>"]);
        assert!(tokenizer.is_same(&Tokenizer::from_json(JSON.as_bytes()).unwrap()));
        for (broken, why) in [
            (JSON.replace("\"BPE\"", "\"BPF\""), "the tokenizer failed"),
            (JSON.replace("a b", "a c"), "the tokenizer failed"),
            (JSON[..400].to_owned(), "the tokenizer failed: EOF"),
        ] {
            let error = Tokenizer::from_json(broken.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn dropout_of_a_file_is_not_used_and_said() {
        let plain = Tokenizer::from_json(JSON.as_bytes()).unwrap();
        let with = |dropout: &str| {
            let json = JSON.replace("\"dropout\":null", &format!("\"dropout\":{dropout}"));
            Tokenizer::from_json(json.as_bytes()).unwrap()
        };
        let (text, half) = ("ab ".repeat(100), with("0.5"));
        for _ in 0..3 {
            assert_eq!(half.encode(&text).unwrap(), plain.encode(&text).unwrap());
        }
        let notice = "The dropout of merges of the tokenizer (0.5) is not used: runs would not repeat.";
        assert_eq!(half.notices(), [notice]);
        assert!(plain.notices().is_empty() && with("0.0").notices().is_empty());
    }
}
