//! The symbols and their source.

use crate::num::rng::{Draw, Purpose};

/// Number of symbols: space and a to z.
pub const N_SYMBOLS: usize = 27;

/// Entropy of the source, nats per token: the lowest loss of any predictor.
pub const ENTROPY: f64 = 1.75 * std::f64::consts::LN_2;

/// The name of a symbol: its text, but for the space.
pub fn name(symbol: u8) -> String {
    if symbol == 0 { "space".to_owned() } else { text(symbol).to_string() }
}

/// The text of a symbol.
pub const fn text(symbol: u8) -> char {
    if symbol == 0 { ' ' } else { (b'a' + symbol - 1) as char }
}

/// A Markov chain: every symbol has four successors with probabilities 1/2, 1/4, 1/8, 1/8.
pub struct Source {
    successors: [[u8; 4]; N_SYMBOLS],
}

impl Source {
    /// Draws the successors.
    pub fn new(seed: u64) -> Self {
        let successors = std::array::from_fn(|symbol| {
            let words = Draw { seed, purpose: Purpose::Connectivity, step: 0, lane: symbol as u32 }.words();
            // Distinct: one in each of four ranges of six symbols.
            std::array::from_fn(|i| ((symbol + 1 + 6 * i + words[i] as usize % 6) % N_SYMBOLS) as u8)
        });
        Self { successors }
    }

    /// The successor of a symbol for a random word.
    pub const fn next(&self, symbol: u8, word: u32) -> u8 {
        let which = match word >> 29 {
            0..4 => 0,
            4..6 => 1,
            6 => 2,
            _ => 3,
        };
        self.successors[symbol as usize][which]
    }
}
