//! Symbols and their source.

use crate::{
    data::{input_file, io_reason},
    num::rng::{Draw, Purpose},
    sim::{Progress, SimError},
};
use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

/// Number of symbols: space and a to z.
pub const N_SYMBOLS: usize = 27;

/// Entropy of the Markov chain, nats per token: the lowest loss of any predictor.
pub const ENTROPY: f64 = 1.75 * std::f64::consts::LN_2;

/// Name of a symbol: its text, except for the space.
pub fn name(symbol: u8) -> String {
    if symbol == 0 { "space".to_owned() } else { text(symbol).to_string() }
}

/// Character of a symbol.
pub const fn text(symbol: u8) -> char {
    if symbol == 0 { ' ' } else { (b'a' + symbol - 1) as char }
}

/// Returns the symbol of a letter or of white space; `None` for other characters.
pub const fn symbol(c: char) -> Option<u8> {
    match c.to_ascii_lowercase() {
        ' ' | '\t' | '\r' | '\n' => Some(0),
        c @ 'a'..='z' => Some(c as u8 - b'a' + 1),
        _ => None,
    }
}

/// Source of the symbols.
pub enum Source {
    /// Markov chain: every symbol has four successors with probabilities 1/2, 1/4, 1/8, 1/8.
    Chain([[u8; 4]; N_SYMBOLS]),
    /// Text, which starts again after its end.
    Text(Vec<u8>),
}

/// Maximum size of a text, bytes.
const MAX_BYTES: u64 = 1 << 30;

impl Source {
    /// Draws the successors of every symbol.
    pub fn new(seed: u64) -> Self {
        let successors = std::array::from_fn(|symbol| {
            let words = Draw { seed, purpose: Purpose::Connectivity, step: 0, lane: symbol as u32 }.words();
            // The successors are distinct: one in each of four ranges of six symbols.
            std::array::from_fn(|i| ((symbol + 1 + 6 * i + words[i] as usize % 6) % N_SYMBOLS) as u8)
        });
        Self::Chain(successors)
    }

    /// Reads a text of letters and white space. Fails if the file cannot be read, is empty or too large, or contains
    /// another character, or if `progress` cancels.
    pub fn read(path: &Path, progress: &Progress) -> Result<Self, SimError> {
        let failed = |why: String| SimError::Input(format!("{}: {why}", path.display()));
        let file = input_file::open(path).map_err(|e| failed(io_reason(&e)))?;
        let n_bytes = file.metadata().map_err(|e| failed(io_reason(&e)))?.len();
        if n_bytes > MAX_BYTES {
            return Err(failed(format!("{n_bytes} bytes; at most {MAX_BYTES}")));
        }
        let (mut symbols, mut n_read) = (Vec::with_capacity(n_bytes as usize), 0);
        for (i, line) in BufReader::new(file.take(MAX_BYTES)).lines().enumerate() {
            let line = line.map_err(|e| failed(format!("line {}: {}", i + 1, io_reason(&e))))?;
            if i.is_multiple_of(1024) {
                progress.report("reading the text", n_read as f32 / n_bytes.max(1) as f32)?;
            }
            n_read += line.len() + 1;
            for (at, c) in line.chars().enumerate() {
                let wrong =
                    || failed(format!("line {}, column {}: `{c}` is neither a letter nor a space", i + 1, at + 1));
                symbols.push(symbol(c).ok_or_else(wrong)?);
            }
            symbols.push(0);
        }
        if symbols.is_empty() { Err(failed("the text is empty".to_owned())) } else { Ok(Self::Text(symbols)) }
    }

    /// Returns the table for the kernels: the text, or the four successors of each symbol.
    pub fn table(&self) -> &[u8] {
        match self {
            Self::Chain(successors) => successors.as_flattened(),
            Self::Text(symbols) => symbols,
        }
    }

    /// Returns the lowest loss of any predictor, nats per token; `None` if it is unknown.
    pub const fn entropy(&self) -> Option<f64> {
        match self {
            Self::Chain(_) => Some(ENTROPY),
            Self::Text(_) => None,
        }
    }

    /// Returns the symbol of step `step`, after `symbol`, given a random word.
    pub fn next(&self, step: u64, symbol: u8, word: u32) -> u8 {
        let successors = match self {
            Self::Chain(successors) => successors,
            Self::Text(symbols) => return symbols[(step % symbols.len() as u64) as usize],
        };
        let which = match word >> 29 {
            0..4 => 0,
            4..6 => 1,
            6 => 2,
            _ => 3,
        };
        successors[symbol as usize][which]
    }
}
