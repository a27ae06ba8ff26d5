//! The forward pass.

use super::{
    activations::{Activations, BlockActivations},
    network::{Extent, Network, refused, zeros},
};
use crate::{
    gpu::StopFlag,
    kinds::transformer::{backend::Outcome, choices::NormPlacement, model::Linear},
    nn::{
        activation,
        attention::{self, Attention, AttentionDropout, Inputs},
        dropout::{self, Dropout},
        embedding::{self, Embedding},
        real::Real,
    },
    sim::SimError,
};

/// Dropout of a step: where its random numbers are.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Probability of dropping an element.
    pub p: f32,
    /// Probability of dropping an attention probability.
    pub attention: f32,
    /// Seed of the model.
    pub seed: u64,
    /// Number of the step.
    pub step: u64,
    /// Tokens of the step before these.
    pub first: u64,
}

/// Number of the place where elements are dropped: the embedding is 0.
#[derive(Clone, Copy, Debug)]
pub enum DropSite {
    /// Output of the embedding.
    Embedding,
    /// Output of attention of a block.
    Attention(usize),
    /// Output of the feed-forward layer of a block.
    FeedForward(usize),
    /// Attention probabilities of a block.
    Probabilities(usize),
}

impl DropSite {
    /// Part of the address.
    pub const fn number(self) -> u32 {
        match self {
            Self::Embedding => 0,
            Self::Attention(block) => 1 + 2 * block as u32,
            Self::FeedForward(block) => 2 + 2 * block as u32,
            Self::Probabilities(block) => 0x8000 + block as u32,
        }
    }
}

impl Noise {
    /// Drops elements of `[tokens, width]` and scales the others. The same on a gradient is the backward pass.
    pub fn drop<R: Real>(&self, site: DropSite, width: usize, x: &mut [R]) -> Result<(), SimError> {
        let op =
            Dropout { p: self.p.into(), seed: self.seed, layer_site: site.number(), offset: self.first * width as u64 };
        dropout::forward(&op, self.step, x);
        Ok(())
    }
}

impl Noise {
    /// Dropout of the attention probabilities of a block.
    pub fn of_attention(&self, block: usize, context: usize) -> Option<AttentionDropout> {
        let drop = Dropout {
            p: self.attention.into(),
            seed: self.seed,
            layer_site: DropSite::Probabilities(block).number(),
            offset: 0,
        };
        let dropout = AttentionDropout { drop, step: self.step, first_token: self.first, keys: context };
        (self.attention > 0.0).then_some(dropout)
    }
}

impl<R: Real + Default> Network<R> {
    /// Activations of tokens up to the input of the logits. Looks at `stop` between layers.
    pub fn forward(
        &self,
        tokens: &[u32],
        extent: &Extent<'_>,
        noise: Option<&Noise>,
        acts: &mut Activations<R>,
        stop: &StopFlag,
    ) -> Result<Outcome, SimError> {
        let (n, width) = (extent.n_tokens(), self.config.width);
        acts.reserve(&self.config, n)?;
        self.embed(tokens, extent, noise, &mut acts.blocks[0].input[..n * width])?;
        for b in 0..self.config.layers {
            if stop.is_raised() {
                return Ok(Outcome::Stopped);
            }
            let (before, after) = acts.blocks.split_at_mut(b + 1);
            let output = after.first_mut().map_or(&mut acts.last, |next| &mut next.input);
            self.block(b, extent, noise, &mut before[b], &mut output[..n * width], &mut acts.branch[..n * width])?;
        }
        let last = &acts.last[..n * width];
        match self.layout.ln_f {
            Some(norm) => self.norm(norm, last, &mut acts.norm_f[..n * width], &mut acts.stats_f[..2 * n])?,
            None => acts.norm_f[..n * width].copy_from_slice(last),
        }
        Ok(Outcome::Done)
    }

    /// Vectors of tokens and positions.
    pub fn embed(
        &self,
        tokens: &[u32],
        extent: &Extent<'_>,
        noise: Option<&Noise>,
        y: &mut [R],
    ) -> Result<(), SimError> {
        let c = &self.config;
        let op = Embedding::new(tokens.len(), c.padded_vocab(), c.width, extent.seq_len.max(1));
        let positions = self.positions();
        let ids = positions.and(extent.positions);
        embedding::forward(&op, tokens, self.weight(self.layout.wte), positions, ids, y).map_err(refused)?;
        noise.map_or(Ok(()), |noise| noise.drop(DropSite::Embedding, c.width, y))
    }

    /// Vectors of tokens that follow that many others.
    pub fn embed_at(&self, offset: usize, tokens: &[u32], y: &mut [R]) -> Result<(), SimError> {
        let op = Embedding::new(tokens.len(), self.config.padded_vocab(), self.config.width, tokens.len().max(1));
        let (table, positions) = (self.weight(self.layout.wte), self.positions());
        embedding::forward(&op.offset(offset), tokens, table, positions, None, y).map_err(refused)
    }

    fn block(
        &self,
        b: usize,
        extent: &Extent<'_>,
        noise: Option<&Noise>,
        a: &mut BlockActivations<R>,
        output: &mut [R],
        branch: &mut [R],
    ) -> Result<(), SimError> {
        let (n, c, block) = (extent.n_tokens(), &self.config, self.layout.blocks[b]);
        let rows = |columns: usize| n * columns;
        let is_pre = c.placement == NormPlacement::Pre;
        let input = &a.input[..rows(c.width)];
        let (norm_1, stats_1) = (&mut a.norm_1[..rows(c.width)], &mut a.stats_1[..rows(2)]);
        let qkv = &mut a.qkv[..rows(c.qkv_width())];
        if is_pre {
            self.norm(block.ln_1, input, norm_1, stats_1)?;
        }
        self.linear(block.qkv, if is_pre { norm_1 } else { input }, qkv, None)?;
        self.rotate((extent.seq_len, 0), extent.positions, qkv, false)?;
        let dropout = noise.and_then(|noise| noise.of_attention(b, c.context));
        let op = Attention { dropout, ..self.attention(extent) };
        if a.lse.len() < op.lse_len() {
            a.lse = zeros("statistics of attention", op.lse_len())?; // packed sequences of different lengths
        }
        let lengths = extent.offsets.or(extent.lens);
        let inputs = Inputs::packed(qkv).lengths(lengths, lengths);
        let attended = &mut a.attention[..rows(c.width)];
        attention::cpu::forward(&op, &inputs, attended, &mut a.lse[..op.lse_len()]).map_err(refused)?;
        let mid = &mut a.mid[..rows(c.width)];
        self.add(block.attn_proj, DropSite::Attention(b), noise, attended, input, mid, branch)?;
        if !is_pre {
            self.norm(block.ln_1, mid, norm_1, stats_1)?;
        }
        if is_pre {
            self.norm(block.ln_2, mid, &mut a.norm_2[..rows(c.width)], &mut a.stats_2[..rows(2)])?;
        }
        let (x, residual) = if is_pre { (&a.norm_2[..rows(c.width)], &*mid) } else { (&*norm_1, &*norm_1) };
        let (fc, hidden) = (&mut a.fc[..rows(c.fc_width())], &mut a.hidden[..rows(c.hidden)]);
        self.linear(block.fc, x, fc, None)?;
        activation::forward(self.activation(), n, c.hidden, fc, hidden).map_err(refused)?;
        let site = DropSite::FeedForward(b);
        if is_pre {
            return self.add(block.mlp_proj, site, noise, hidden, residual, output, branch);
        }
        let sum = &mut a.sum[..rows(c.width)];
        self.add(block.mlp_proj, site, noise, hidden, residual, sum, branch)?;
        self.norm(block.ln_2, sum, output, &mut a.stats_2[..rows(2)])
    }

    /// `y = residual + drop(x Wᵀ + b)`.
    fn add(
        &self,
        linear: Linear,
        site: DropSite,
        noise: Option<&Noise>,
        x: &[R],
        residual: &[R],
        y: &mut [R],
        branch: &mut [R],
    ) -> Result<(), SimError> {
        let Some(noise) = noise else { return self.linear(linear, x, y, Some(residual)) };
        self.linear(linear, x, branch, None)?;
        noise.drop(site, self.config.width, branch)?;
        for ((y, r), b) in y.iter_mut().zip(residual).zip(branch) {
            *y = *r + *b;
        }
        Ok(())
    }
}
