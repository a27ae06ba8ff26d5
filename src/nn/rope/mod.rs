//! Rotary position embeddings (Su et al., 2021): queries and keys are rotated by angles proportional to their position.
//!
//! Pair i of a head of `d` elements at position m is rotated by `angle = m · base^(-2i / d)`:
//!
//! `x'₀ = x₀ cos - x₁ sin`, `x'₁ = x₀ sin + x₁ cos`.
//!
//! The product of a rotated query and a rotated key depends on the difference of their positions only. The pairs are
//! neighbours or halves, see [`RopeLayout`]. A rotation is orthogonal, so the backward pass is the inverse rotation of the
//! gradient: `dx = R⁻ᵐ dx'`.
//!
//! Cosines and sines are computed in f64 and stored in a [`RopeTable`]. [`cpu`] is the definition.

pub mod cpu;
pub mod cuda;

pub use cpu::apply;

use super::{embedding::sinusoid, real::Real};

/// Which elements of a head form a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum RopeLayout {
    /// 2i and 2i + 1, as in the paper.
    Interleaved,
    /// i and i + d / 2, as in GPT-NeoX and Llama.
    #[default]
    Half,
}

impl RopeLayout {
    /// The elements of pair `i` of a head of `2 half` elements.
    #[inline(always)]
    pub const fn pair(self, i: usize, half: usize) -> (usize, usize) {
        match self {
            Self::Interleaved => (2 * i, 2 * i + 1),
            Self::Half => (i, i + half),
        }
    }
}

/// A rotation of heads in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rope {
    /// Tokens of all sequences.
    pub tokens: usize,
    /// Adjacent heads of a token that are rotated: in packed `[q, k, v]`, those of q and k.
    pub heads: usize,
    /// Elements of a head, an even number.
    pub head_dim: usize,
    /// Elements from a token to the next.
    pub stride: usize,
    /// Pairs.
    pub layout: RopeLayout,
    /// Tokens of a sequence: token i has position `offset + i mod seq_len`.
    pub seq_len: usize,
    /// Position of the first token of every sequence.
    pub offset: usize,
}

impl Rope {
    /// Dense `[tokens, heads, head_dim]`, sequences that begin at position 0.
    pub const fn new(tokens: usize, heads: usize, head_dim: usize, seq_len: usize, layout: RopeLayout) -> Self {
        Self { tokens, heads, head_dim, stride: heads * head_dim, layout, seq_len, offset: 0 }
    }

    /// With so many elements from a token to the next.
    #[must_use]
    pub const fn stride(mut self, stride: usize) -> Self {
        self.stride = stride;
        self
    }

    /// Sequences that begin at this position.
    #[must_use]
    pub const fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Checks sizes: of the data, of the table in positions and pairs, and of the position ids, if there are any.
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
    /// Cosines.
    pub cos: Vec<R>,
    /// Sines.
    pub sin: Vec<R>,
    /// Positions.
    pub len: usize,
    /// Pairs of a head.
    pub half: usize,
}

impl<R: Real> RopeTable<R> {
    /// Angles in f64, results rounded once.
    pub fn new(len: usize, head_dim: usize, base: f64) -> Self {
        let frequencies = sinusoid::frequencies(head_dim & !1, base);
        let angles = (0..len).flat_map(|m| frequencies.iter().map(move |f| (m as f64 * f).sin_cos()));
        let (sin, cos) = angles.map(|(sin, cos)| (R::of(sin), R::of(cos))).unzip();
        Self { cos, sin, len, half: head_dim / 2 }
    }
}

/// Why nothing was rotated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RopeError {
    /// An odd head, or a table for another one.
    #[error("heads of {head_dim} elements cannot be rotated by a table for {table}")]
    HeadDim {
        /// Of the declaration.
        head_dim: usize,
        /// Of the table.
        table: usize,
    },
    /// The data are too short.
    #[error("tokens of {width} elements, {stride} apart, need {needed} elements, and {given} are given")]
    Length {
        /// From the first to the last.
        needed: usize,
        /// Given.
        given: usize,
        /// From a token to the next.
        stride: usize,
        /// Rotated elements of a token.
        width: usize,
    },
    /// Not one per token.
    #[error("{needed} tokens have {given} position ids")]
    PositionIds {
        /// Tokens.
        needed: usize,
        /// Given.
        given: usize,
    },
    /// A position that the table does not have.
    #[error("position {position} is beyond the {len} of the rotary table")]
    Position {
        /// The position.
        position: usize,
        /// Positions of the table.
        len: usize,
    },
}
