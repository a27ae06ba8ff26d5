//! Weights of -1, 0 and 1 in 2 bits, 16 per 32-bit word.
//!
//! Codes are 1, 2 and 3 for the weights -1, 0 and 1; code 0 also decodes to 0. Rows are padded with code 2 to whole
//! words.

/// Number of weights in a word.
pub const PER_WORD: usize = 16;

/// Order of the weights within a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordOrder {
    /// Weight k in bits 2k and 2k + 1.
    Linear,
    /// Weight `4 (k mod 4) + floor(k / 4)` in bits 2k and 2k + 1, so that byte m of `(word >> 2i) & 0x03030303` is weight 4i + m.
    Interleaved,
}

impl WordOrder {
    /// Returns the index of the weight at position k of a word. The mapping is its own inverse.
    pub const fn weight_at(self, k: usize) -> usize {
        match self {
            Self::Linear => k,
            Self::Interleaved => 4 * (k % 4) + k / 4,
        }
    }
}

/// Returns the number of words of a row of `columns` weights.
pub const fn words_per_row(columns: usize) -> usize {
    columns.div_ceil(PER_WORD)
}

/// Packs rows of `columns` weights, one word after the other; values other than -1 and 1 count as 0.
pub fn pack(weights: &[i8], columns: usize, order: WordOrder) -> Vec<u32> {
    let code = |w: Option<&i8>| match w {
        Some(-1) => 1,
        Some(1) => 3,
        _ => 2,
    };
    let word = |group: &[i8]| (0..PER_WORD).fold(0u32, |word, k| word | code(group.get(order.weight_at(k))) << (2 * k));
    weights.chunks_exact(columns.max(1)).flat_map(|row| row.chunks(PER_WORD).map(word)).collect()
}

/// Unpacks rows of `columns` weights that [`pack`] packed in the same order.
pub fn unpack(words: &[u32], columns: usize, order: WordOrder) -> Vec<i8> {
    let value = |word: u32, k: usize| match word >> (2 * k) & 3 {
        1 => -1,
        3 => 1,
        _ => 0,
    };
    let row = |words: &[u32]| -> Vec<i8> {
        (0..columns).map(|c| value(words[c / PER_WORD], order.weight_at(c % PER_WORD))).collect()
    };
    words.chunks_exact(words_per_row(columns).max(1)).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_weights_come_back_for_any_number_of_columns() {
        for columns in [1, 15, 16, 17, 33, 416] {
            let weights: Vec<i8> = (0..3 * columns).map(|i| (i * 7 % 3) as i8 - 1).collect();
            for order in [WordOrder::Linear, WordOrder::Interleaved] {
                let words = pack(&weights, columns, order);
                assert_eq!(words.len(), 3 * words_per_row(columns));
                assert_eq!(unpack(&words, columns, order), weights, "{columns} columns, {order:?}");
            }
        }
    }

    #[test]
    fn bytes_of_an_interleaved_word_are_contiguous_weights() {
        let weights: Vec<i8> = vec![1, 0, -1, 1, -1, -1, 0, 1, 0, 0, 1, -1, 1, 1, -1, 0];
        let word = pack(&weights, 16, WordOrder::Interleaved)[0];
        for i in 0..4 {
            let bytes = (word >> (2 * i) & 0x0303_0303).to_le_bytes().map(|b| b as i8 - 2);
            assert_eq!(bytes, weights[4 * i..][..4], "group {i}");
        }
    }
}
