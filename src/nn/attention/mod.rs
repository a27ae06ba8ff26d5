//! Scaled dot-product attention with grouped queries, masks, lengths, a bias on logits, and KV caches read in place.
//!
//! # Forward
//!
//! Per sequence and head, with `q` of query `i`, `k` and `v` of key `j`:
//!
//! ```text
//! s_ij = scale · q_i·k_j + bias_ij        for visible keys
//! lse_i = ln Σ_j exp(s_ij)
//! p_ij = exp(s_ij - lse_i)                else 0
//! o_i  = Σ_j p_ij v_j
//! ```
//!
//! Query head `h` reads key and value head `h / (heads / kv_heads)`. The last query of a sequence of `lq` queries and
//! `lk` keys is aligned with the last key: query `i` has position `i + lk - lq` among the keys (FlashAttention 2.1 and
//! later). [`Attention::causal`] hides later keys, and [`Attention::window`] hides keys that are `window` or more away.
//! A query without a visible key has `o = 0`, `lse = -∞` and no gradients. The rows of `lse` are the statistics that a
//! backward pass, a probability map and a caller with its own term on edges need: `p = exp(s - lse)`.
//!
//! # Backward
//!
//! ```text
//! D_i   = dO_i · o_i
//! dV_j  = Σ_i p_ij dO_i
//! dS_ij = p_ij (dO_i·v_j - D_i)
//! dQ_i  = scale Σ_j dS_ij k_j,   dK_j = scale Σ_i dS_ij q_i,   dbias_ij += dS_ij
//! ```
//!
//! Neither pass stores the matrix of probabilities: keys are processed in tiles with a running maximum and sum (Dao et al.,
//! "FlashAttention", arXiv:2205.14135; "FlashAttention-2", arXiv:2307.08691).
//!
//! # Dropout
//!
//! With [`Attention::dropout`], each probability is dropped with probability `p` after the softmax, otherwise scaled (Srivastava
//! et al. 2014; as in Vaswani et al. 2017): with factors `m_ij`, 0 or `1 / (1 - p)`,
//!
//! ```text
//! o_i  = Σ_j m_ij p_ij v_j
//! dV_j = Σ_i m_ij p_ij dO_i
//! dS_ij = p_ij (m_ij dO_i·v_j - D_i)
//! ```
//!
//! `lse` and probability maps are those before dropout. The factor is a function of its address
//! ([`dropout`](crate::nn::dropout)): site, step, query, head and key.
//!
//! # Memory
//!
//! [`HeadLayout`] gives the position of a token's heads, so that the packed projections
//! `[tokens, (heads + 2 kv_heads) head_dim]`, a cache `[batch, capacity, kv_heads, head_dim]` and
//! `[batch, heads, len, head_dim]` need no copy. `lse` is always `[batch, heads, q_len]`.
//!
//! [`cpu`] is the definition, and [`cuda::CudaAttention`] is the implementation on a GPU.

pub mod cpu;
pub mod cuda;
mod data;
mod error;

use crate::nn::dropout::Dropout;
pub use data::{Given, Gradients, Inputs};
pub use error::AttentionError;
use std::ops::Range;

/// Valid tokens of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lengths {
    /// `q_len` queries and `k_len` keys in every sequence.
    #[default]
    Full,
    /// The first `q_lengths[b]` queries and `k_lengths[b]` keys of sequence `b`; all of them if a list is absent. Other tokens
    /// are not read; their results and gradients are 0.
    Padded,
    /// Concatenated sequences: `q_lengths` and `k_lengths` are the `[batch + 1]` indices of first tokens, ascending from 0
    /// (`cu_seqlens`); if `k_lengths` is absent, `q_lengths` holds for keys too. `q_len` and `k_len` are the maxima;
    /// [`HeadLayout::batch`] is not used.
    Packed,
}

/// Strides of a token's heads in a buffer, in elements. The elements of a head are adjacent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HeadLayout {
    /// Offset of the first element.
    pub offset: usize,
    /// Elements from one sequence to the next.
    pub batch: usize,
    /// Elements from one token to the next.
    pub token: usize,
    /// Elements from one head to the next.
    pub head: usize,
}

impl HeadLayout {
    /// Returns the layout of adjacent heads per token, at `offset` of `width` elements per token, with `len` tokens per
    /// sequence.
    pub const fn tokens(len: usize, width: usize, offset: usize, head_dim: usize) -> Self {
        Self { offset, batch: len * width, token: width, head: head_dim }
    }

    /// Returns the dense layout `[batch, heads, len, head_dim]`.
    pub const fn heads_first(len: usize, heads: usize, head_dim: usize) -> Self {
        Self { offset: 0, batch: heads * len * head_dim, token: head_dim, head: len * head_dim }
    }

    /// Returns the number of elements that a buffer needs; `None` on overflow.
    fn extent(&self, batch: usize, tokens: usize, heads: usize, head_dim: usize) -> Option<usize> {
        let step = |n: usize, stride: usize| n.checked_sub(1)?.checked_mul(stride);
        if batch == 0 || tokens == 0 || heads == 0 {
            return Some(0);
        }
        let last =
            step(batch, self.batch)?.checked_add(step(tokens, self.token)?)?.checked_add(step(heads, self.head)?)?;
        last.checked_add(self.offset)?.checked_add(head_dim)
    }
}

/// Strides of the bias of a logit, in elements; a stride of 0 broadcasts one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BiasLayout {
    /// Elements from one sequence to the next.
    pub batch: usize,
    /// Elements from one query head to the next.
    pub head: usize,
    /// Elements from one query to the next; queries are counted within their sequence.
    pub query: usize,
    /// Elements from one key to the next; keys are counted within their sequence.
    pub key: usize,
}

impl BiasLayout {
    /// Returns the dense layout `[batch, heads, q_len, k_len]`.
    pub const fn dense(heads: usize, q_len: usize, k_len: usize) -> Self {
        Self { batch: heads * q_len * k_len, head: q_len * k_len, query: k_len, key: 1 }
    }
}

/// Dropout of attention probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionDropout {
    /// Probability, seed and site; its `offset` is not used.
    pub drop: Dropout,
    /// Number of the step.
    pub step: u64,
    /// Index of the first query token. Because of the index, the tokens of a batch keep their masks when the batch is processed
    /// in parts.
    pub first_token: u64,
    /// Number of keys per row of addresses, at least those of a sequence; the same for all parts of a batch.
    pub keys: usize,
}

impl AttentionDropout {
    /// Returns the index of the [`Dropout`] element for key 0, given a query token of the batch and a head.
    pub const fn row(&self, token: usize, heads: usize, head: usize) -> u64 {
        let keys = self.keys.next_multiple_of(4) as u64; // four keys share a draw
        ((self.first_token + token as u64) * heads as u64 + head as u64) * keys
    }
}

/// Sizes, layouts and options of an attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attention {
    /// Number of sequences.
    pub batch: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key and value heads, a divisor of `heads`.
    pub kv_heads: usize,
    /// Number of elements per head.
    pub head_dim: usize,
    /// Maximum number of queries per sequence.
    pub q_len: usize,
    /// Maximum number of keys per sequence.
    pub k_len: usize,
    /// Scale of `q·k`, normally `1/sqrt(head_dim)`.
    pub scale: f32,
    /// Whether later keys are hidden from a query.
    pub causal: bool,
    /// Number of keys that a query sees, up to and including the key at its own position; `None`: all. Without `causal`, the
    /// window extends equally to later keys.
    pub window: Option<usize>,
    /// Valid tokens of a batch.
    pub lengths: Lengths,
    /// Layout of queries and their gradients.
    pub q: HeadLayout,
    /// Layout of keys and their gradients.
    pub k: HeadLayout,
    /// Layout of values and their gradients.
    pub v: HeadLayout,
    /// Layout of the result and its gradient.
    pub o: HeadLayout,
    /// Layout of the bias, if any.
    pub bias: Option<BiasLayout>,
    /// Dropout of probabilities. A GPU reads all but site and keys from memory: [`Inputs::dropout`].
    pub dropout: Option<AttentionDropout>,
}

impl Attention {
    /// Declares self-attention over packed projections `[batch · len, (heads + 2 kv_heads) head_dim]`: queries, keys, values.
    /// The result is `[batch · len, heads · head_dim]`. The scale is `1/sqrt(head_dim)`; there is no mask.
    pub fn packed_qkv(batch: usize, len: usize, heads: usize, kv_heads: usize, head_dim: usize) -> Self {
        let width = (heads + 2 * kv_heads) * head_dim;
        let at = |head: usize| HeadLayout::tokens(len, width, head * head_dim, head_dim);
        Self {
            batch,
            heads,
            kv_heads,
            head_dim,
            q_len: len,
            k_len: len,
            scale: 1.0 / (head_dim as f32).sqrt(),
            causal: false,
            window: None,
            lengths: Lengths::Full,
            q: at(0),
            k: at(heads),
            v: at(heads + kv_heads),
            o: HeadLayout::tokens(len, heads * head_dim, 0, head_dim),
            bias: None,
            dropout: None,
        }
    }

    /// Declares causal attention of `q_len` new tokens to KV caches `[batch, capacity, kv_heads, head_dim]`, which already
    /// include the new tokens: `k_lengths[b]` tokens are valid. Queries are the first part of packed projections
    /// `[batch · q_len, (heads + 2 kv_heads) head_dim]`.
    pub fn cached(batch: usize, q_len: usize, capacity: usize, heads: usize, kv_heads: usize, head_dim: usize) -> Self {
        let cache = HeadLayout::tokens(capacity, kv_heads * head_dim, 0, head_dim);
        let new = Self::packed_qkv(batch, q_len, heads, kv_heads, head_dim);
        Self { k_len: capacity, k: cache, v: cache, lengths: Lengths::Padded, causal: true, ..new }
    }

    /// Declares attention with queries, keys, values and result in `[batch, heads, len, head_dim]`.
    pub fn heads_first(
        batch: usize,
        (q_len, k_len): (usize, usize),
        heads: usize,
        kv_heads: usize,
        head_dim: usize,
    ) -> Self {
        let q = HeadLayout::heads_first(q_len, heads, head_dim);
        let k = HeadLayout::heads_first(k_len, kv_heads, head_dim);
        Self { q_len, k_len, q, k, v: k, o: q, ..Self::packed_qkv(batch, q_len, heads, kv_heads, head_dim) }
    }

    /// Hides later keys from each query.
    #[must_use]
    pub const fn causal(mut self) -> Self {
        self.causal = true;
        self
    }

    /// Sets the rule for the valid tokens.
    #[must_use]
    pub const fn lengths(mut self, lengths: Lengths) -> Self {
        self.lengths = lengths;
        self
    }

    /// Sets the window in keys.
    #[must_use]
    pub const fn window(mut self, window: usize) -> Self {
        self.window = Some(window);
        self
    }

    /// Sets the layout of the bias.
    #[must_use]
    pub const fn bias(mut self, bias: BiasLayout) -> Self {
        self.bias = Some(bias);
        self
    }

    /// Returns the number of query heads per key and value head.
    pub const fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// Returns the range of the keys that query `i` sees in a sequence with `lq` queries and `lk` keys.
    pub fn visible(&self, i: usize, lq: usize, lk: usize) -> Range<usize> {
        let own = i as isize + lk as isize - lq as isize;
        let inside = |key: isize| key.clamp(0, lk as isize) as usize;
        let window = self.window.map(|w| w.min(isize::MAX as usize / 4) as isize);
        let first = window.map_or(0, |w| inside(own + 1 - w));
        let end = match window {
            _ if self.causal => inside(own + 1),
            Some(w) => inside(own + w),
            None => lk,
        };
        first..end.max(first)
    }

    /// Returns the number of multiplications and additions in the two products of a forward pass over visible pairs, with all
    /// sequences at full length. A backward pass has 2.5 times as many operations.
    pub fn ops(&self) -> u64 {
        let pairs: usize = (0..self.q_len).map(|i| self.visible(i, self.q_len, self.k_len).len()).sum();
        4 * (pairs * self.head_dim * self.heads * self.batch) as u64
    }

    /// Returns the number of elements in `lse`.
    pub const fn lse_len(&self) -> usize {
        self.batch * self.heads * self.q_len
    }

    fn check_index(&self, batch: usize, head: usize) -> Result<(), AttentionError> {
        for (what, index, count) in [("sequence", batch, self.batch), ("head", head, self.heads)] {
            if index >= count {
                return Err(AttentionError::Index { what, index, count });
            }
        }
        Ok(())
    }

    /// Checks sizes, and those buffer lengths that the declaration alone determines. Fails if sizes contradict each other, a
    /// buffer is too short, or an optional buffer is missing or unused.
    pub fn check(&self, given: &Given) -> Result<(), AttentionError> {
        let Self { batch, heads, kv_heads, head_dim, q_len, k_len, .. } = *self;
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(AttentionError::Heads { heads, kv_heads });
        }
        if head_dim == 0 || self.window == Some(0) {
            return Err(AttentionError::Empty { what: if head_dim == 0 { "head_dim" } else { "window" } });
        }
        if let Some(dropout) = self.dropout {
            length("a row of the mask of dropout", k_len, dropout.keys)?;
        }
        let (sequences, starts) = if self.lengths == Lengths::Packed { (1, batch + 1) } else { (batch, batch) };
        let of = |what, layout: &HeadLayout, tokens: usize, heads: usize, given: usize| {
            if tokens > 1 && layout.token < head_dim || heads > 1 && layout.head < head_dim {
                return Err(AttentionError::Strides { what, head_dim });
            }
            let needed = layout.extent(sequences, tokens, heads, head_dim);
            length(what, needed.unwrap_or(usize::MAX), given)
        };
        of("q", &self.q, q_len, heads, given.q)?;
        of("o", &self.o, q_len, heads, given.o)?;
        of("k", &self.k, k_len, kv_heads, given.k)?;
        of("v", &self.v, k_len, kv_heads, given.v)?;
        length("lse", self.lse_len(), given.lse)?;
        match (self.lengths, given.q_lengths, given.k_lengths) {
            (Lengths::Full, None, None) => {}
            (Lengths::Full, ..) => return Err(AttentionError::Unused { what: "lengths" }),
            (Lengths::Packed, None, _) => return Err(AttentionError::Missing { what: "q_lengths" }),
            (_, q, k) => {
                for (what, given) in [("q_lengths", q), ("k_lengths", k)] {
                    given.map_or(Ok(()), |given| length(what, starts, given))?;
                }
            }
        }
        match (&self.bias, given.bias) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(AttentionError::Unused { what: "bias" }),
            (Some(_), None) => Err(AttentionError::Missing { what: "bias" }),
            (Some(b), Some(given)) => {
                let sizes = [(batch, b.batch), (heads, b.head), (q_len, b.query), (k_len, b.key)];
                let last = sizes
                    .iter()
                    .try_fold(0, |sum: usize, (n, stride)| sum.checked_add(n.saturating_sub(1).checked_mul(*stride)?));
                length("bias", last.map_or(usize::MAX, |last| last.saturating_add(1)), given)
            }
        }
    }
}

fn length(what: &'static str, needed: usize, given: usize) -> Result<(), AttentionError> {
    if given < needed { Err(AttentionError::Length { what, needed, given }) } else { Ok(()) }
}
