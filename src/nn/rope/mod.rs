//! Rotary position embeddings (Su et al., 2021): queries and keys are rotated by angles proportional to their position.
//!
//! Pair i of a head of `d` elements at position m is rotated by `angle = m · base^(-2i / d)`:
//!
//! `x'₀ = x₀ cos - x₁ sin`, `x'₁ = x₀ sin + x₁ cos`.
//!
//! The product of a rotated query and a rotated key depends only on the difference of their positions. The elements of a pair are
//! neighbours or half a head apart, see [`RopeLayout`]. A rotation is orthogonal, so the backward pass is the inverse rotation of
//! the gradient: `dx = R⁻ᵐ dx'`.
//!
//! Cosines and sines are computed in f64 and stored in a [`RopeTable`]. [`cpu`] is the definition.

pub mod cpu;
pub mod cuda;

pub use cpu::apply;

use super::{embedding::sinusoid, real::Real};

/// Elements of a head that form a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum RopeLayout {
    /// Elements 2i and 2i + 1, as in the paper.
    Interleaved,
    /// Elements i and i + d / 2, as in GPT-NeoX and Llama.
    #[default]
    Half,
}

impl RopeLayout {
    /// Returns the indices of the elements of pair `i` in a head of `2 half` elements.
    #[inline(always)]
    pub const fn pair(self, i: usize, half: usize) -> (usize, usize) {
        match self {
            Self::Interleaved => (2 * i, 2 * i + 1),
            Self::Half => (i, i + half),
        }
    }
}

/// A rotation of heads, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rope {
    /// Number of tokens in all sequences.
    pub tokens: usize,
    /// Number of adjacent heads per token that are rotated: in packed `[q, k, v]`, those of q and k.
    pub heads: usize,
    /// Number of elements per head, even.
    pub head_dim: usize,
    /// Elements from one token to the next.
    pub stride: usize,
    /// Layout of the pairs.
    pub layout: RopeLayout,
    /// Number of tokens per sequence: token i has position `offset + i mod seq_len`.
    pub seq_len: usize,
    /// Position of the first token of every sequence.
    pub offset: usize,
}

impl Rope {
    /// Declares dense `[tokens, heads, head_dim]` data; sequences begin at position 0.
    pub const fn new(tokens: usize, heads: usize, head_dim: usize, seq_len: usize, layout: RopeLayout) -> Self {
        Self { tokens, heads, head_dim, stride: heads * head_dim, layout, seq_len, offset: 0 }
    }

    /// Sets the number of elements from one token to the next.
    #[must_use]
    pub const fn stride(mut self, stride: usize) -> Self {
        self.stride = stride;
        self
    }

    /// Sets the position of the first token of every sequence.
    #[must_use]
    pub const fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Checks the lengths of the data, of the table in positions and pairs, and of the position ids, if any. Fails if a length
    /// is wrong, the heads overlap, or a position without ids is outside the table.
    pub fn check(&self, x: usize, (len, half): (usize, usize), position_ids: Option<usize>) -> Result<(), RopeError> {
        if !self.head_dim.is_multiple_of(2) || self.head_dim / 2 != half {
            return Err(RopeError::HeadDim { head_dim: self.head_dim, table: 2 * half });
        }
        let width = self.heads.saturating_mul(self.head_dim);
        if self.tokens == 0 || width == 0 {
            return Ok(());
        }
        let rows = (self.tokens - 1).checked_mul(self.stride).and_then(|n| n.checked_add(width));
        let needed = rows.unwrap_or(usize::MAX);
        if self.stride < width || needed > x {
            return Err(RopeError::Length { needed: needed.max(width), given: x, stride: self.stride, width });
        }
        match position_ids {
            Some(given) if given != self.tokens => Err(RopeError::PositionIds { needed: self.tokens, given }),
            Some(_) => Ok(()),
            None => {
                let position = self.offset + self.tokens.min(self.seq_len.max(1)) - 1;
                if position < len { Ok(()) } else { Err(RopeError::Position { position, len }) }
            }
        }
    }
}

/// Cosines and sines of every position and pair, `[len, head_dim / 2]` each.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeTable<R = f32> {
    /// Cosines, `[len, half]`.
    pub cos: Vec<R>,
    /// Sines, `[len, half]`.
    pub sin: Vec<R>,
    /// Number of positions.
    pub len: usize,
    /// Number of pairs per head.
    pub half: usize,
}

impl<R: Real> RopeTable<R> {
    /// Computes the table; angles are f64, and results are rounded once.
    pub fn new(len: usize, head_dim: usize, base: f64) -> Self {
        let frequencies = sinusoid::frequencies(head_dim & !1, base);
        let angles = (0..len).flat_map(|m| frequencies.iter().map(move |f| (m as f64 * f).sin_cos()));
        let (sin, cos) = angles.map(|(sin, cos)| (R::of(sin), R::of(cos))).unzip();
        Self { cos, sin, len, half: head_dim / 2 }
    }
}

/// Reason why nothing was rotated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RopeError {
    /// The head dimension is odd, or differs from that of the table.
    #[error("heads of {head_dim} elements cannot be rotated by a table for {table}")]
    HeadDim {
        /// Head dimension of the declaration.
        head_dim: usize,
        /// Head dimension of the table.
        table: usize,
    },
    /// The data are too short.
    #[error("tokens of {width} elements, {stride} apart, need {needed} elements, and {given} are given")]
    Length {
        /// Elements from the first to the last rotated one.
        needed: usize,
        /// Number of elements given.
        given: usize,
        /// Elements from one token to the next.
        stride: usize,
        /// Number of rotated elements per token.
        width: usize,
    },
    /// The number of position ids differs from that of tokens.
    #[error("{needed} tokens have {given} position ids")]
    PositionIds {
        /// Number of tokens.
        needed: usize,
        /// Number of position ids given.
        given: usize,
    },
    /// A position is outside the table.
    #[error("position {position} is beyond the {len} of the rotary table")]
    Position {
        /// Position of the token.
        position: usize,
        /// Number of positions in the table.
        len: usize,
    },
}
