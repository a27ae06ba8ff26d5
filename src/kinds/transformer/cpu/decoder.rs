//! Prediction of the next token with a cache of keys and values.

use super::network::{Network, refused, zeros};
use crate::{
    kinds::transformer::{backend::Decoder, choices::NormPlacement},
    nn::{
        activation,
        attention::{self, Attention, Inputs},
        real::Real,
    },
    sim::SimError,
};

/// A cache, and room for the tokens that are pushed at once.
pub struct CpuDecoder<'a, R> {
    network: &'a Network<R>,
    len: usize,
    /// Keys and values of each block, `[T, n_kv d]`.
    caches: Vec<[Vec<R>; 2]>,
    logits: Vec<f32>,
}

/// Buffers of one call.
struct Room<R> {
    x: Vec<R>,
    norm: Vec<R>,
    stats: Vec<R>,
    qkv: Vec<R>,
    attention: Vec<R>,
    lse: Vec<R>,
    mid: Vec<R>,
    fc: Vec<R>,
    hidden: Vec<R>,
}

impl<'a, R: Real + Default> CpuDecoder<'a, R> {
    /// With an empty cache.
    pub fn new(network: &'a Network<R>) -> Result<Self, SimError> {
        let c = &network.config;
        let cache = || zeros("cache of keys and values", c.context * c.kv_heads * c.head_dim());
        let caches = (0..c.layers).map(|_| Ok([cache()?, cache()?])).collect::<Result<_, SimError>>()?;
        Ok(Self { network, len: 0, caches, logits: vec![] })
    }

    fn room(&self, n: usize) -> Result<Room<R>, SimError> {
        let c = &self.network.config;
        let rows = |columns: usize| zeros("activations of a text", n * columns);
        Ok(Room {
            x: rows(c.width)?,
            norm: rows(c.width)?,
            stats: rows(2)?,
            qkv: rows(c.qkv_width())?,
            attention: rows(c.width)?,
            lse: rows(c.heads)?,
            mid: rows(c.width)?,
            fc: rows(c.fc_width())?,
            hidden: rows(c.hidden)?,
        })
    }

    fn block(&mut self, b: usize, room: &mut Room<R>) -> Result<(), SimError> {
        let (network, n) = (self.network, room.stats.len() / 2);
        let (c, block) = (&network.config, network.layout.blocks[b]);
        let is_pre = c.placement == NormPlacement::Pre;
        let Room { x, norm, stats, qkv, attention, lse, mid, fc, hidden } = room;
        if is_pre {
            network.norm(block.ln_1, x, norm, stats)?;
        }
        network.linear(block.qkv, if is_pre { norm } else { x }, qkv, None)?;
        network.rotate((n, self.len), None, qkv, false)?;
        let kv = c.kv_heads * c.head_dim();
        for (token, row) in qkv.chunks_exact(c.qkv_width()).enumerate() {
            let at = (self.len + token) * kv;
            let (keys, values) = row[c.width..].split_at(kv);
            self.caches[b][0][at..at + kv].copy_from_slice(keys);
            self.caches[b][1][at..at + kv].copy_from_slice(values);
        }
        let op = Attention::cached(1, n, c.context, c.heads, c.kv_heads, c.head_dim());
        let op = Attention { scale: c.scale, window: c.window, ..op };
        let length = [(self.len + n) as i32];
        let [keys, values] = &self.caches[b];
        let inputs = Inputs::new(&qkv[..], &keys[..], &values[..]).lengths(None, Some(&length[..]));
        attention::cpu::forward(&op, &inputs, attention, lse).map_err(refused)?;
        network.linear(block.attn_proj, attention, mid, Some(x))?;
        if is_pre {
            network.norm(block.ln_2, mid, norm, stats)?;
        } else {
            network.norm(block.ln_1, mid, norm, stats)?;
        }
        network.linear(block.fc, norm, fc, None)?;
        activation::forward(network.activation(), n, c.hidden, fc, hidden).map_err(refused)?;
        if is_pre {
            return network.linear(block.mlp_proj, hidden, x, Some(mid));
        }
        network.linear(block.mlp_proj, hidden, mid, Some(norm))?;
        network.norm(block.ln_2, mid, x, stats)
    }
}

impl<R: Real + Default> Decoder for CpuDecoder<'_, R> {
    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.len = 0;
    }

    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError> {
        let (network, n) = (self.network, tokens.len());
        let c = &network.config;
        if self.len + n > c.context {
            return Err(SimError::Input(format!(
                "a text of {} tokens exceeds the context of {}",
                self.len + n,
                c.context
            )));
        }
        let mut room = self.room(n)?;
        network.embed_at(self.len, tokens, &mut room.x)?;
        for b in 0..c.layers {
            self.block(b, &mut room)?;
        }
        self.len += n;
        let Room { x, norm, stats, .. } = &mut room;
        match network.layout.ln_f {
            Some(ln_f) => network.norm(ln_f, x, norm, stats)?,
            None => norm.copy_from_slice(x),
        }
        let mut logits = zeros("logits", n * c.padded_vocab())?;
        network.logits(norm, &mut logits)?;
        self.logits = logits.into_iter().map(|x: R| x.f64() as f32).collect();
        Ok(&self.logits)
    }
}
