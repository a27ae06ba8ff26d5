//! B as packed codes of weights.

use super::{Gemm, GemmError, Layout, Order};
use crate::nn::quantized::{
    fp4::{self, BLOCK, Blocks, IntegerScale},
    ternary::{self, PER_WORD, WordOrder},
};

/// Number of elements to which columns of B are padded: a block of FP4, a word of ternary weights.
pub const GROUP: usize = BLOCK;
const _: () = assert!(GROUP == PER_WORD, "a group is one word or two");

/// Codes of B, a matrix of weights `[out, in]` with rows that are packed into 32-bit words and padded to whole groups of [`GROUP`]
/// elements. Every code stands for an 8-bit integer, so that sums are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codes {
    /// Weights -1, 0 and 1 in 2 bits, 16 per word: see [`ternary`].
    Ternary(WordOrder),
    /// Floats E2M1 in 4 bits, 8 per word, the first one in the low bits: see [`fp4`]. Blocks have the scale 1. A code stands for
    /// twice its value, so sums are twice the product.
    Fp4,
}

impl Codes {
    /// All codes of packed weights.
    pub const ALL: [Self; 3] = [Self::Ternary(WordOrder::Linear), Self::Ternary(WordOrder::Interleaved), Self::Fp4];

    /// Returns the number of elements in a word.
    pub const fn per_word(self) -> usize {
        match self {
            Self::Ternary(_) => PER_WORD,
            Self::Fp4 => 8,
        }
    }

    /// Returns the number of words of a row of `columns` weights.
    pub const fn words_per_row(self, columns: usize) -> usize {
        columns.next_multiple_of(GROUP) / self.per_word()
    }

    /// Packs rows of `columns` integers. Fails if a code for an integer is missing: other than -1, 0 and 1 as ternary weights,
    /// other than 0, ±1, ±2, ±3, ±4 and ±6 as FP4.
    pub fn pack(self, weights: &[i8], columns: usize) -> Result<Vec<u32>, GemmError> {
        match self {
            Self::Ternary(order) => match weights.iter().find(|weight| !(-1..=1).contains(*weight)) {
                Some(weight) => Err(GemmError::NoCode { weight: *weight }),
                None => Ok(ternary::pack(weights, columns, order)),
            },
            Self::Fp4 => {
                let is_value = |weight: &&i8| fp4::MAGNITUDES.contains(&f32::from(weight.unsigned_abs()));
                if let Some(weight) = weights.iter().find(|weight| !is_value(weight)) {
                    return Err(GemmError::NoCode { weight: *weight });
                }
                let row = |row: &[i8]| Blocks::of_integers(row, IntegerScale::ExactIfPossible);
                Self::words_of_blocks(&weights.chunks_exact(columns.max(1)).map(row).collect::<Vec<_>>())
            }
        }
    }

    /// Packs rows of FP4, which may hold halves. Fails if the scale of a block is not 1.
    pub fn words_of_blocks(rows: &[Blocks]) -> Result<Vec<u32>, GemmError> {
        use crate::num::elements::Element as _;
        if rows.iter().flat_map(|row| &row.scales).any(|scale| scale.to_f32() != 1.0) {
            return Err(GemmError::ScaledBlock);
        }
        let word = |codes: &[u8]| codes.iter().rev().fold(0, |word, code| word << 4 | u32::from(*code));
        let group = |codes: &[u8]| [codes.get(..8).unwrap_or(codes), codes.get(8..).unwrap_or(&[])].map(word);
        Ok(rows.iter().flat_map(|row| row.codes.chunks(GROUP).flat_map(group)).collect())
    }

    /// Decodes words to the integers of their elements, those of the padding included.
    pub fn decode(self, words: &[u32]) -> Vec<i8> {
        match self {
            Self::Ternary(order) => ternary::unpack(words, PER_WORD, order),
            Self::Fp4 => {
                words.iter().flat_map(|word| (0..8).map(move |k| fp4::twice((word >> (4 * k) & 15) as u8))).collect()
            }
        }
    }

    /// Checks layouts and buffer lengths, of B in words. Fails as [`Gemm::check`], or if a column of B does not begin with a group,
    /// or C is not row-major.
    pub(super) fn check<S: super::cpu::Sum>(
        self,
        gemm: &Gemm<S>,
        (a, b, c): (usize, usize, usize),
    ) -> Result<(), GemmError> {
        let Layout { order, ld, stride, outer } = gemm.b;
        let begin_with_groups = [ld, stride, outer].iter().all(|step| step.is_multiple_of(GROUP));
        if order != Order::ColMajor || !begin_with_groups || gemm.c.order != Order::RowMajor {
            return Err(GemmError::Packed);
        }
        let elements = b.saturating_mul(self.per_word());
        gemm.b.check('B', gemm.k.next_multiple_of(GROUP), gemm.n, gemm.batches(), elements)?;
        gemm.check(a, elements, c)
    }
}

impl<S> Gemm<S> {
    /// Declares that B is packed, column by column: each holds [`Codes::words_per_row`] words of weights `[out, in]`.
    #[must_use]
    pub const fn packed_b(mut self) -> Self {
        let ld = self.k.next_multiple_of(GROUP);
        let stride = if self.b.stride == 0 { 0 } else { self.n * ld };
        self.b = Layout { order: Order::ColMajor, ld, stride, ..self.b };
        self
    }
}
