//! CPU layers of blocks: attention, activation functions, dropout.

use super::{layers::Layers, refused};
use crate::{
    nn::{
        activation,
        attention::{self, Attention, AttentionDropout, Gradients, Inputs},
        dropout::{self, Dropout},
        layers::{Activated, BlockBackward, BlockForward, SelfAttention, Tensors as _},
        real::Real,
        rope::{self, Rope, RopeTable},
    },
    sim::SimError,
};

/// Tables of position encodings.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a, R> {
    /// Angles of rotary positions; `None` for other positions.
    pub rope: Option<&'a RopeTable<R>>,
    /// Fixed (sinusoidal) position vectors, `[T, C]`; `None` for other positions.
    pub positions: Option<&'a [R]>,
}

impl<R> Default for Tables<'_, R> {
    fn default() -> Self {
        Self { rope: None, positions: None }
    }
}

/// Dropout of a step: probabilities and the counters of its random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Probability of dropping an element.
    pub p: f32,
    /// Probability of dropping an attention probability.
    pub attention: f32,
    /// Seed of the model.
    pub seed: u64,
    /// Index of the step.
    pub step: u64,
    /// Number of tokens of the step before this micro-batch.
    pub first: u64,
}

/// KV cache of all tokens so far.
pub struct Cache<'a, R> {
    /// Keys and values of each block, `[T, n_kv d]`.
    pub blocks: &'a mut [[Vec<R>; 2]],
}

impl<R: Real> Layers<'_, R> {
    /// Returns the attention operation. If the step uses dropout of attention probabilities, the operation includes it.
    fn dropping(&self, of: &SelfAttention) -> Attention {
        let noise = self.noise.filter(|noise| noise.attention > 0.0);
        let dropout = noise.map(|noise| {
            let drop = Dropout { p: noise.attention.into(), seed: noise.seed, layer_site: of.site, offset: 0 };
            AttentionDropout { drop, step: noise.step, first_token: noise.first, keys: of.context }
        });
        Attention { dropout, ..of.op }
    }

    /// Appends the keys and values of new tokens to the cache, and attends from the new tokens to all cached tokens. Fails
    /// if the sizes do not match.
    fn attend_to_cache(
        of: &SelfAttention,
        (cache, known, n): (&mut [Vec<R>; 2], usize, usize),
        qkv: &[R],
        y: &mut [R],
        lse: &mut [R],
    ) -> Result<(), SimError> {
        let op = &of.op;
        let (width, kv) = (op.heads * op.head_dim, op.kv_heads * op.head_dim);
        let [keys, values] = cache;
        for (token, row) in qkv.chunks_exact(width + 2 * kv).enumerate() {
            let at = (known + token) * kv;
            let (of_keys, of_values) = row[width..].split_at(kv);
            keys[at..at + kv].copy_from_slice(of_keys);
            values[at..at + kv].copy_from_slice(of_values);
        }
        let cached = Attention::cached(1, n, of.context, op.heads, op.kv_heads, op.head_dim);
        let cached = Attention { scale: op.scale, window: op.window, ..cached };
        let length = [(known + n) as i32];
        let inputs = Inputs::new(qkv, &keys[..], &values[..]).lengths(None, Some(&length[..]));
        attention::cpu::forward(&cached, &inputs, y, lse).map_err(refused)
    }
}

impl<R: Real> BlockForward for Layers<'_, R> {
    fn activate(&mut self, by: Activated, x: &[R], y: &mut [R]) -> Result<(), SimError> {
        activation::forward(by.f, y.len() / by.columns, by.columns, x, y).map_err(refused)
    }

    fn rotate(&mut self, op: &Rope, x: &mut [R], is_inverse: bool) -> Result<(), SimError> {
        let Some(table) = self.tables.rope else { return Ok(()) };
        rope::apply(op, table, self.batch.positions, x, is_inverse).map_err(refused)
    }

    fn attend(&mut self, of: &SelfAttention, qkv: &[R], y: &mut [R], lse: &mut [R]) -> Result<(), SimError> {
        if let Some(cache) = &mut self.cache {
            let (known, n) = (self.batch.offset, self.batch.shape.n_tokens());
            return Self::attend_to_cache(of, (&mut cache.blocks[of.block], known, n), qkv, y, lse);
        }
        let (op, lengths) = (self.dropping(of), self.batch.lengths);
        let inputs = Inputs::packed(qkv).lengths(lengths, lengths);
        attention::cpu::forward(&op, &inputs, y, lse).map_err(refused)
    }

    fn has_dropout(&self) -> bool {
        self.noise.is_some()
    }

    fn drop_in_place(&mut self, site: u32, x: &mut [R]) -> Result<(), SimError> {
        let Some(Noise { p, seed, step, first, .. }) = self.noise else { return Ok(()) };
        let width = x.len() / self.batch.shape.n_tokens().max(1);
        let op = Dropout { p: p.into(), seed, layer_site: site, offset: first * width as u64 };
        dropout::forward(&op, step, x);
        Ok(())
    }

    fn drop_and_add(&mut self, site: u32, x: &mut [R], residual: &[R], y: &mut [R]) -> Result<(), SimError> {
        self.drop_in_place(site, x)?;
        self.copy(residual, y)?;
        self.add(y, x)
    }
}

impl<R: Real> BlockBackward for Layers<'_, R> {
    fn activation_backward(&mut self, by: Activated, x: &[R], dy: &[R], dx: &mut [R]) -> Result<(), SimError> {
        activation::backward(by.f, dy.len() / by.columns, by.columns, x, dy, dx).map_err(refused)
    }

    fn attention_backward(
        &mut self,
        of: &SelfAttention,
        (qkv, y, lse): (&[R], &[R], &[R]),
        dy: &[R],
        dqkv: &mut [R],
    ) -> Result<(), SimError> {
        let (op, lengths) = (self.dropping(of), self.batch.lengths);
        let inputs = Inputs::packed(qkv).lengths(lengths, lengths);
        attention::cpu::backward(&op, &inputs, (y, lse), dy, Gradients::Packed(dqkv), None).map_err(refused)
    }

    fn dropped<'d>(&mut self, site: u32, d: &'d [R], room: &'d mut [R]) -> Result<&'d [R], SimError> {
        if self.noise.is_none_or(|noise| noise.p <= 0.0) {
            return Ok(d);
        }
        self.copy(d, room)?;
        self.drop_in_place(site, room)?;
        Ok(room)
    }
}
