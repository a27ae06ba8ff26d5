//! A tokenized text, with a training part and a held-out part.

use super::{
    Text, TokenError, Tokenizer,
    ngrams::{self, Yardsticks},
    styles::Style,
};
use crate::{
    data::{DataError, ProgressFn, counted, memory, report},
    num::hash::StreamHash,
};
use rayon::prelude::*;
use std::{ops::Range, sync::Arc};

/// Tokenized text. The first 90 % of its tokens are for training; the other tokens are held out.
pub struct Corpus {
    /// Tokenizer of the text.
    pub tokenizer: Arc<Tokenizer>,
    tokens: Tokens,
    /// Size of the text, bytes.
    pub n_bytes: u64,
    /// Lowest expected loss of any predictor in nats per token, if known.
    pub floor: Option<f64>,
    /// Held-out losses of models with contexts of zero to two tokens.
    pub yardsticks: Yardsticks,
    /// Hash of tokens and vocabulary.
    pub hash: u64,
    /// One line about the source.
    pub provenance: String,
}

/// Tokens in 16 or 32 bits.
enum Tokens {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Corpus {
    /// Encodes a text; `name` is the text's source, for messages. Fails if the text has fewer than 20 tokens.
    pub(super) fn new(
        name: &str,
        text: &Text,
        tokenizer: Arc<Tokenizer>,
        watch: &ProgressFn,
    ) -> Result<Self, DataError> {
        let tokens = encode(name, text, &tokenizer, watch)?;
        if tokens.len() < 20 {
            let what =
                format!("the text has {}; at least 20 tokens are needed", counted(tokens.len(), "token", "tokens"));
            return Err(DataError::Format { path: name.to_owned(), what });
        }
        let mut hash = StreamHash::default();
        hash.push(tokenizer.n_vocab() as u32);
        if let Tokenizer::Chars(chars) = &*tokenizer {
            chars.iter().for_each(|c| hash.push(*c as u32));
        }
        tokens.iter().for_each(|t| hash.push(*t));
        let (n_bytes, n_tokens) = (text.text.len() as u64, tokens.len());
        let floor = text.entropy_rate.map(|rate| rate * (n_bytes as f64 / n_tokens as f64));
        let (train, held_out) = tokens.split_at(train_len(n_tokens));
        let yardsticks = ngrams::yardsticks(train, held_out, tokenizer.n_vocab(), watch)?;
        let tokens = match tokenizer.n_vocab() <= 1 << 16 {
            true => Tokens::Narrow(tokens.into_iter().map(|t| t as u16).collect()),
            false => Tokens::Wide(tokens),
        };
        Ok(Self { tokens, n_bytes, floor, yardsticks, hash: hash.0, provenance: text.provenance.clone(), tokenizer })
    }

    /// Makes a corpus of a short generated text with bytes as tokens, for tests of kinds. Fails if the text is too
    /// short.
    pub fn small(style: Style, n_bytes: u64, seed: u64) -> Result<Self, DataError> {
        let source = super::Source::Grammar { style, n_bytes, seed, languages: 0..1 };
        super::prepare(&source, &super::TokenUnit::Byte, &|_, _| true)
    }

    /// Returns the number of tokens of the vocabulary.
    pub fn n_vocab(&self) -> usize {
        self.tokenizer.n_vocab()
    }

    /// Returns the number of tokens of the text.
    pub fn len(&self) -> usize {
        match &self.tokens {
            Tokens::Narrow(tokens) => tokens.len(),
            Tokens::Wide(tokens) => tokens.len(),
        }
    }

    /// Returns false, because a corpus has at least 20 tokens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the range of the training part.
    pub fn train(&self) -> Range<usize> {
        0..train_len(self.len())
    }

    /// Returns the range of the held-out part.
    pub fn held_out(&self) -> Range<usize> {
        train_len(self.len())..self.len()
    }

    /// Copies tokens from `start` on to `to`.
    pub fn copy(&self, start: usize, to: &mut [u32]) {
        let range = start..start + to.len();
        match &self.tokens {
            Tokens::Narrow(tokens) => to.iter_mut().zip(&tokens[range]).for_each(|(to, token)| *to = (*token).into()),
            Tokens::Wide(tokens) => to.copy_from_slice(&tokens[range]),
        }
    }

    /// Returns all tokens in 16 bits; `None` if the vocabulary has more than 65,536 tokens.
    pub fn narrow(&self) -> Option<&[u16]> {
        if let Tokens::Narrow(tokens) = &self.tokens { Some(tokens) } else { None }
    }

    /// Returns the text of a range of tokens.
    pub fn text(&self, range: Range<usize>) -> String {
        let mut tokens = vec![0; range.len()];
        self.copy(range.start, &mut tokens);
        self.tokenizer.decode(&tokens)
    }

    /// Returns the host memory of the tokens, bytes.
    pub fn n_resident_bytes(&self) -> u64 {
        self.len() as u64 * if matches!(self.tokens, Tokens::Narrow(_)) { 2 } else { 4 }
    }

    /// Returns reference values of a loss: names and nats per token, from the shortest context to the longest, then the floor.
    pub fn levels(&self) -> Vec<(&'static str, f64)> {
        let y = &self.yardsticks;
        let mut levels =
            vec![("uniform", y.uniform), ("unigram", y.unigram), ("bigram", y.bigram), ("trigram", y.trigram)];
        levels.extend(self.floor.map(|floor| ("entropy rate of the grammar", floor)));
        levels
    }

    /// Fails unless a sequence of `length` tokens and its last target fit into the training part.
    pub fn check_length(&self, length: usize) -> Result<(), String> {
        let n = self.train().len();
        if length < n {
            return Ok(());
        }
        Err({
            let tokens = counted(n, "token", "tokens");
            format!("the text has {tokens} to train on; sequences of {length} need at least {}", length + 1)
        })
    }
}

/// Returns the number of training tokens in a corpus of `n` tokens.
fn train_len(n: usize) -> usize {
    n - n / 10
}

/// Size of a part that is encoded at once, bytes.
const PART: usize = 1 << 20;
/// Maximum number of parts that are encoded concurrently.
const PARALLEL: usize = 8;

fn encode(name: &str, text: &Text, tokenizer: &Tokenizer, watch: &ProgressFn) -> Result<Vec<u32>, DataError> {
    let ends = text.starts.iter().skip(1).copied().chain([text.text.len()]);
    let (mut tokens, mut n_read) = (Vec::with_capacity(text.text.len() / 2), 0);
    let failed = |e: TokenError| DataError::Format { path: name.to_owned(), what: e.to_string() };
    let separator = tokenizer.end_of_text().filter(|_| text.starts.len() > 1);
    for (start, end) in text.starts.iter().zip(ends) {
        let parts = parts(&text.text[*start..end], tokenizer.longest_text())
            .map_err(|what| DataError::Format { path: name.to_owned(), what })?;
        let mut rest = &parts[..];
        while !rest.is_empty() {
            report(watch, "encoding the text", n_read as f32 / text.text.len() as f32)?;
            let (group, others) = rest.split_at(n_parallel(rest, tokenizer, (n_read, tokens.len()), text.text.len()));
            let encoded: Vec<Vec<u32>> =
                group.par_iter().map(|part| tokenizer.encode(part)).collect::<Result<_, _>>().map_err(failed)?;
            tokens.extend(encoded.into_iter().flatten());
            n_read += group.iter().map(|part| part.len()).sum::<usize>();
            rest = others;
        }
        tokens.extend(separator);
    }
    Ok(tokens)
}

/// Returns the number of next parts to encode concurrently: one if a part is long or the tokenizer may lengthen it; otherwise
/// the number that fits into the memory for a text of this size, at the number of tokens per byte so far.
fn n_parallel(parts: &[&str], tokenizer: &Tokenizer, (n_read, n_tokens): (usize, usize), n_bytes: usize) -> usize {
    let next = &parts[..parts.len().min(PARALLEL)];
    if next.iter().any(|part| part.len() > 2 * PART || !tokenizer.is_parallel(part.len())) {
        return 1;
    }
    let tokens_per_byte = if n_read == 0 { 1.0 } else { n_tokens as f64 / n_read as f64 };
    let held = n_bytes as f64 * (1.0 + tokens_per_byte * size_of::<u32>() as f64);
    let left = memory::limit(n_bytes as u64) as f64 - held;
    let fits = left / (PART as f64 * tokenizer.encoding_bytes(tokens_per_byte));
    (fits as usize).clamp(1, next.len())
}

/// Divides a text into parts of about [`PART`] bytes. A part ends after a line break between two non-blank lines, where
/// tokenizers that split at white space also split. A part that would exceed `longest` bytes ends before a space between two
/// words; without such a space, an error is returned.
fn parts(mut text: &str, longest: usize) -> Result<Vec<&str>, String> {
    let mut parts = vec![];
    while text.len() > PART {
        let bytes = text.as_bytes();
        let is_end = |i: &usize| {
            bytes[*i] == b'\n'
                && !bytes[i - 1].is_ascii_whitespace()
                && bytes.get(i + 1).is_some_and(|b| b.is_ascii_graphic())
        };
        let is_word_end = |i: &usize| {
            bytes[*i] == b' '
                && bytes[i - 1].is_ascii_alphanumeric()
                && bytes.get(i + 1).is_some_and(u8::is_ascii_alphanumeric)
        };
        let end = match (PART..bytes.len().min(longest)).find(is_end) {
            Some(end) => end + 1,
            None if bytes.len() <= longest => break,
            None => (PART..longest).rfind(is_word_end).ok_or_else(|| {
                format!(
                    "the text has {} MB without a space or line break, more than the tokenizer takes",
                    longest >> 20
                )
            })?,
        };
        let (part, rest) = text.split_at(end);
        parts.push(part);
        text = rest;
    }
    parts.push(text);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::{Source, TokenUnit, prepare};
    use std::path::Path;

    #[test]
    fn a_generated_text_has_its_floor_and_yardsticks_above_it() {
        let corpus = Corpus::small(Style::Animals, 200_000, 3).unwrap();
        let levels: Vec<f64> = corpus.levels().iter().map(|l| l.1).collect();
        assert_eq!(levels.len(), 5);
        assert!(levels.windows(2).all(|pair| pair[0] > pair[1]), "{levels:?}");
        assert_eq!(corpus.held_out().len(), corpus.len() / 10);
        assert_eq!(corpus.floor, Some(Style::Animals.grammar().entropy_rate()));
        let again = Corpus::small(Style::Animals, 200_000, 3).unwrap();
        let other = Corpus::small(Style::Animals, 200_000, 4).unwrap();
        assert!(corpus.hash == again.hash && corpus.hash != other.hash);
        let lexicon = Style::Animals.grammar().lexicon();
        assert!(super::super::words(&corpus.text(0..corpus.len())).all(|word| lexicon.contains(word)));
        assert!(corpus.check_length(181_000).unwrap_err().contains("to train on"));
    }

    #[test]
    fn parts_are_the_whole_text() {
        let text = "one two\nthree\n\n four\n".repeat(120_000);
        let parts = super::parts(&text, usize::MAX).unwrap();
        assert_eq!(parts.len(), 3);
        assert_eq!(parts.concat(), text);
        assert!(parts[..2].iter().all(|part| part.ends_with("two\n") || part.ends_with("four\n")));
    }

    #[test]
    fn long_lines_are_parted_between_words() {
        let text = "some words ".repeat(500_000);
        let parts = super::parts(&text, 2 << 20).unwrap();
        assert_eq!((parts.concat() == text, parts.len()), (true, 3));
        assert!(parts[1..].iter().all(|part| part.starts_with(" words") || part.starts_with(" some")));
        assert_eq!(super::parts(&text, usize::MAX).unwrap().len(), 1);
        let error = super::parts(&"a".repeat(3 << 20), 2 << 20).unwrap_err();
        assert!(error.starts_with("the text has 2 MB without a space"), "{error}");
    }

    /// The Shakespeare corpus gives the expected values. The test is skipped without the file.
    #[test]
    fn shakespeare_when_it_is_present() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/text/shakespeare.txt");
        if !path.is_file() {
            return eprintln!("SKIPPED: no {}", path.display());
        }
        let corpus = prepare(&Source::File(path.clone()), &TokenUnit::Character, &|_, _| true).unwrap();
        assert_eq!((corpus.len(), corpus.n_bytes, corpus.n_vocab()), (1_115_394, 1_115_394, 65));
        let bytes = prepare(&Source::File(path), &TokenUnit::Byte, &|_, _| true).unwrap();
        for (found, expected) in bytes.levels().iter().zip([5.545, 3.347, 2.485, 2.048]) {
            assert!((found.1 - expected).abs() < 0.01, "{found:?}, expected {expected}");
        }
        assert!(corpus.text(0..14) == "First Citizen:" && bytes.text(0..14) == "First Citizen:");
    }
}
