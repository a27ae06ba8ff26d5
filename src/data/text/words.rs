//! Invented words: the sentences of a grammar in another language.
//!
//! Each word of the lexicon becomes another one of the same length, different words different ones. So two texts of the grammar
//! that differ still differ, a text has one derivation, and the entropy rate stays what it was: it is as exactly known as that of
//! the grammar itself.

use crate::num::rng::{Draw, Purpose};
use std::collections::{BTreeMap, BTreeSet};

const CONSONANTS: &[u8] = b"bcdfghjklmnprstvwz";
const VOWELS: &[u8] = b"aeiou";

/// A word for each word of a lexicon. `language` counts from 1.
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

/// Consonants and vowels in turns: a byte of the draw per letter, the first byte also chooses which of them begins.
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

/// Seed of the text of a language: 0 is the grammar in its own words.
pub fn text_seed(seed: u64, language: u32) -> u64 {
    if language == 0 {
        return seed;
    }
    let [low, high, ..] =
        Draw { seed, purpose: Purpose::Words, step: u64::MAX - u64::from(language), lane: u32::MAX }.words();
    u64::from(low) | u64::from(high) << 32
}
