//! A checked call: positions of tokens and heads, and the list of tiles.

use super::{HostInputs, KEYS, ROWS};
use crate::nn::{
    attention::{Attention, AttentionError, Given, HeadLayout, Lengths, length},
    dropout::{Dropout, cpu::drop_from},
    real::Real,
};
use std::ops::Range;

/// Position of a sequence's tokens, and their number.
#[derive(Clone, Copy)]
pub struct Sequence {
    /// Index of the sequence in buffers with a stride per sequence; 0 if packed.
    batch: usize,
    /// First token of queries and of keys, if packed.
    first: [usize; 2],
    /// Number of queries.
    pub lq: usize,
    /// Number of keys.
    pub lk: usize,
}

/// Queries and keys of a tile.
pub struct Tile {
    pub rows: Range<usize>,
    pub keys: Range<usize>,
}

impl Tile {
    /// Returns the keys that query `i` sees, relative to the first key of this tile.
    pub fn seen(&self, op: &Attention, i: usize, s: &Sequence) -> Range<usize> {
        let seen = op.visible(i, s.lq, s.lk);
        let inside = |key: usize| key.clamp(self.keys.start, self.keys.end) - self.keys.start;
        inside(seen.start)..inside(seen.end)
    }
}

pub struct Call<'a, R> {
    pub op: &'a Attention,
    pub inputs: HostInputs<'a, R>,
    pub given: Given,
    pub sequences: Vec<Sequence>,
}

impl<'a, R: Real> Call<'a, R> {
    /// Checks a call whose buffers of `o` and `lse` have these lengths. Fails if the declaration or a buffer is invalid, or if
    /// the lengths of a sequence exceed the declared ones.
    pub fn new(op: &'a Attention, inputs: &HostInputs<'a, R>, o: usize, lse: usize) -> Result<Self, AttentionError> {
        let given = Given {
            q: inputs.q.len(),
            k: inputs.k.len(),
            v: inputs.v.len(),
            o,
            lse,
            q_lengths: inputs.q_lengths.map(<[i32]>::len),
            k_lengths: inputs.k_lengths.map(<[i32]>::len),
            bias: inputs.bias.map(<[R]>::len),
        };
        op.check(&given)?;
        let is_packed = op.lengths == Lengths::Packed;
        let of_keys = inputs.k_lengths.or(inputs.q_lengths.filter(|_| is_packed));
        let sequences = (0..op.batch).map(|b| {
            let (first_q, lq) = tokens(op, "q_lengths", inputs.q_lengths, op.q_len, b)?;
            let (first_k, lk) = tokens(op, "k_lengths", of_keys, op.k_len, b)?;
            Ok(Sequence { batch: if is_packed { 0 } else { b }, first: [first_q, first_k], lq, lk })
        });
        let call = Self { op, inputs: *inputs, given, sequences: sequences.collect::<Result<_, _>>()? };
        call.check_lengths(&given)?;
        Ok(call)
    }

    /// Checks that the tokens of all sequences fit into buffers of these lengths.
    pub fn check_lengths(&self, given: &Given) -> Result<(), AttentionError> {
        self.op.check(given)?;
        let Attention { heads, kv_heads, head_dim, lengths, .. } = *self.op;
        if lengths != Lengths::Packed {
            return Ok(());
        }
        let end = |which: usize| move |s: &Sequence| s.first[which] + [s.lq, s.lk][which];
        let [q, k] = [0, 1].map(|which| self.sequences.iter().map(end(which)).max().unwrap_or(0));
        let of = |what, layout: &HeadLayout, tokens, heads, given| {
            length(what, layout.extent(1, tokens, heads, head_dim).unwrap_or(usize::MAX), given)
        };
        of("q", &self.op.q, q, heads, given.q)?;
        of("o", &self.op.o, q, heads, given.o)?;
        of("k", &self.op.k, k, kv_heads, given.k)?;
        of("v", &self.op.v, k, kv_heads, given.v)
    }

    /// Returns all pairs of sequence and head, for `heads` heads each.
    pub fn tasks(&self, heads: usize) -> Vec<(usize, usize)> {
        (0..self.op.batch).flat_map(|b| (0..heads).map(move |h| (b, h))).collect()
    }

    /// Returns the index of the first row of a head in `lse`.
    pub const fn row(&self, b: usize, head: usize) -> usize {
        (b * self.op.heads + head) * self.op.q_len
    }

    /// Returns the tiles with visible keys, in order.
    pub fn tiles(&self, s: Sequence) -> impl Iterator<Item = Tile> + use<'_, 'a, R> {
        let Sequence { lq, lk, .. } = s;
        (0..lq).step_by(ROWS).flat_map(move |row| {
            let rows = row..(row + ROWS).min(lq);
            let (first, end) = (self.op.visible(row, lq, lk).start, self.op.visible(rows.end - 1, lq, lk).end);
            (first..end).step_by(KEYS).map(move |key| Tile { rows: rows.clone(), keys: key..(key + KEYS).min(end) })
        })
    }

    /// Returns the offset of a query's head in its buffer.
    pub const fn query(&self, layout: &HeadLayout, s: &Sequence, i: usize, head: usize) -> usize {
        layout.offset + s.batch * layout.batch + (s.first[0] + i) * layout.token + head * layout.head
    }

    /// Returns the index of a query's token in the batch.
    fn token(&self, b: usize, i: usize) -> usize {
        let s = &self.sequences[b];
        s.batch * self.op.q_len + s.first[0] + i
    }

    /// Applies dropout to the probabilities of a tile, or to their gradients.
    pub fn drop(&self, b: usize, head: usize, t: &Tile, x: &mut [R]) {
        let Some(dropout) = &self.op.dropout else { return };
        let drop = Dropout { offset: 0, ..dropout.drop };
        for (row, i) in x.chunks_exact_mut(t.keys.len()).zip(t.rows.clone()) {
            let first = dropout.row(self.token(b, i), self.op.heads, head) + t.keys.start as u64;
            drop_from(first, &drop, dropout.step, row);
        }
    }

    /// Returns the offset of a key's head in its buffer.
    pub const fn key(&self, layout: &HeadLayout, s: &Sequence, j: usize, head: usize) -> usize {
        layout.offset + s.batch * layout.batch + (s.first[1] + j) * layout.token + head * layout.head
    }

    /// Copies rows of queries to their positions in `out`, and writes 0 to padding.
    pub fn put_queries(&self, layout: &HeadLayout, b: usize, head: usize, rows: &[R], out: &mut [R]) {
        let s = &self.sequences[b];
        self.put(rows, self.op.q_len, |i| self.query(layout, s, i, head), out);
    }

    /// Copies rows of keys to their positions in `out`, and writes 0 to padding.
    pub fn put_keys(&self, layout: &HeadLayout, b: usize, head: usize, rows: &[R], out: &mut [R]) {
        let s = &self.sequences[b];
        self.put(rows, self.op.k_len, |j| self.key(layout, s, j, head), out);
    }

    fn put(&self, rows: &[R], len: usize, at: impl Fn(usize) -> usize, out: &mut [R]) {
        let dim = self.op.head_dim;
        for (i, row) in rows.chunks_exact(dim).enumerate() {
            out[at(i)..][..dim].copy_from_slice(row);
        }
        if self.op.lengths == Lengths::Padded {
            (rows.len() / dim..len).for_each(|i| out[at(i)..][..dim].fill(R::zero()));
        }
    }

    /// Returns the offset of a bias in its buffer.
    pub fn bias(&self, b: usize, head: usize, i: usize, j: usize) -> usize {
        let layout = self.op.bias.unwrap_or_default();
        b * layout.batch + head * layout.head + i * layout.query + j * layout.key
    }

    /// Adds gradients of logits `[lq, lk]` to the gradients of the bias.
    pub fn add_bias(&self, b: usize, head: usize, ds: &[R], dbias: &mut [R]) {
        let lk = self.sequences[b].lk;
        for (i, row) in ds.chunks_exact(lk.max(1)).enumerate() {
            for (j, x) in row.iter().enumerate() {
                dbias[self.bias(b, head, i, j)] += *x;
            }
        }
    }
}

/// Returns the first token and number of tokens of a sequence. Fails if the length of the sequence is negative or exceeds
/// `limit`.
fn tokens(
    op: &Attention,
    what: &'static str,
    values: Option<&[i32]>,
    limit: usize,
    b: usize,
) -> Result<(usize, usize), AttentionError> {
    let Some(values) = values else { return Ok((0, limit)) };
    let bad = |index: usize| AttentionError::Value { what, index, value: values[index], limit };
    let get = |index: usize| usize::try_from(values[index]).map_err(|_| bad(index));
    if op.lengths == Lengths::Packed {
        let (first, end) = (get(b)?, get(b + 1)?);
        let len = end.checked_sub(first).filter(|len| *len <= limit).ok_or_else(|| bad(b + 1))?;
        Ok((first, len))
    } else {
        get(b).and_then(|len| if len <= limit { Ok((0, len)) } else { Err(bad(b)) })
    }
}
