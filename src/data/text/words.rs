//! Invents words, to express the sentences of a grammar in another language.
//!
//! Each word of the lexicon is mapped to a different word of the same length. Distinct texts of the grammar therefore
//! stay distinct and keep a single derivation, so the entropy rate is unchanged and known as exactly as that of the
//! grammar.

use crate::num::rng::{Draw, Purpose};
use std::collections::{BTreeMap, BTreeSet};

const CONSONANTS: &[u8] = b"bcdfghjklmnprstvwz";
const VOWELS: &[u8] = b"aeiou";

/// Maps each word of a lexicon to an invented word of equal length. `language` counts from 1.
pub fn invented(lexicon: &BTreeSet<String>, seed: u64, language: u32) -> BTreeMap<String, String> {
    let (mut words, mut used) = (BTreeMap::new(), BTreeSet::new());
    for (i, word) in (0_u32..).zip(lexicon) {
        let mut attempt = 0;
        let new = loop {
            let new = draw(word.len(), seed, language, i << 16 | attempt << 4);
            if used.insert(new.clone()) {
                break new;
            }
            attempt += 1;
        };
        words.insert(word.clone(), new);
    }
    words
}

/// Draws a word of alternating consonants and vowels: one byte of the draw per letter. The first byte also chooses whether a
/// consonant or a vowel comes first.
fn draw(len: usize, seed: u64, language: u32, first_lane: u32) -> String {
    let byte = |i: usize| {
        let lane = first_lane + (i / 16) as u32;
        let words = Draw { seed, purpose: Purpose::Words, step: language.into(), lane }.words();
        words[i / 4 % 4].to_le_bytes()[i % 4]
    };
    let of = |letters: &[u8], x: u8| char::from(letters[usize::from(x) % letters.len()]);
    let first = usize::from(byte(0) >> 7);
    (0..len).map(|i| if (i + first) % 2 == 0 { of(CONSONANTS, byte(i)) } else { of(VOWELS, byte(i)) }).collect()
}

/// Returns the seed for the text of a language. Language 0, the grammar with its own words, has the seed `seed`.
pub fn text_seed(seed: u64, language: u32) -> u64 {
    if language == 0 {
        return seed;
    }
    let [low, high, ..] =
        Draw { seed, purpose: Purpose::Words, step: u64::MAX - u64::from(language), lane: u32::MAX }.words();
    u64::from(low) | u64::from(high) << 32
}
