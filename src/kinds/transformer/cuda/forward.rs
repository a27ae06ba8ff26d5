//! The forward pass; formulas are those of the CPU model.

use super::{
    network::Run,
    plan::{Block, BlockTensors},
};
use crate::{
    gpu::{Slice, ViewMut, nvtx},
    kinds::{
        language::cuda::{error::OpError, format::ModelFormat, plan::Head},
        transformer::{
            choices::NormPlacement,
            cpu::forward::DropSite,
            model::{self, Linear},
        },
    },
    nn::attention::Inputs,
};

impl<T: ModelFormat> Run<'_, T> {
    /// Vectors of tokens and positions.
    pub fn embed(&mut self, y: &mut Slice<T>) -> Result<(), OpError> {
        let network = self.network;
        let mut layers = self.layers();
        let learned = network.layout.wpe.map(|wpe| layers.weight(wpe)).transpose()?;
        layers.embed(network.layout.wte, learned.as_deref().or(network.sinusoid.as_deref()), y)?;
        self.drop(DropSite::Embedding, y)
    }

    /// One block: from the residual stream `input` to `output`. Without `output` only what the backward pass reads.
    pub fn block(
        &mut self,
        b: usize,
        input: &Slice<T>,
        a: &mut Block<'_, T>,
        output: Option<&mut Slice<T>>,
        branch: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let _range = nvtx::range_of(|| format!("block {b}"));
        let network = self.network;
        let block = network.layout.blocks[b];
        if network.config.placement == NormPlacement::Pre {
            self.norm(block.ln_1, input, a.norm_1, a.stats_1)?;
            self.linear(block.qkv, a.norm_1, a.qkv, None)?;
        } else {
            self.linear(block.qkv, input, a.qkv, None)?;
        }
        self.rotate(a.qkv, false)?;
        if self.cache.is_some() {
            self.attend_to_cache(b, a)?;
        } else {
            self.attend(b, a)?;
        }
        self.add(block.attn_proj, DropSite::Attention(b), a.attention, input, a.mid, branch)?;
        self.second_half(b, &block, a, output, branch)
    }

    /// `attention = softmax(scale q kᵀ) v`.
    fn attend(&mut self, b: usize, a: &mut Block<'_, T>) -> Result<(), OpError> {
        let network = self.network;
        let (op, lengths) = (self.attention(b), self.batch.lengths);
        let inputs = Inputs::packed(&*a.qkv).lengths(lengths, lengths).dropout(self.noise.probabilities);
        let (variant, frame) = (network.ops.variant, self.frame.frame());
        network.ops.attention.forward(self.pass, &op, &inputs, a.attention, a.lse, variant, &frame)?;
        Ok(())
    }

    /// The feed-forward layer and the norms around it.
    fn second_half(
        &mut self,
        b: usize,
        block: &model::Block,
        a: &mut Block<'_, T>,
        output: Option<&mut Slice<T>>,
        branch: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let is_pre = self.network.config.placement == NormPlacement::Pre;
        if is_pre {
            self.norm(block.ln_2, a.mid, a.norm_2, a.stats_2)?;
            self.linear_activated(block.fc, a.norm_2, a.fc, a.hidden)?;
        } else {
            self.norm(block.ln_1, a.mid, a.norm_1, a.stats_1)?;
            self.linear_activated(block.fc, a.norm_1, a.fc, a.hidden)?;
        }
        let site = DropSite::FeedForward(b);
        match (is_pre, output) {
            (true, Some(output)) => self.add(block.mlp_proj, site, a.hidden, a.mid, output, branch),
            (true, None) => Ok(()),
            (false, output) => {
                self.add(block.mlp_proj, site, a.hidden, a.norm_1, a.sum, branch)?;
                match output {
                    Some(output) => self.norm(block.ln_2, a.sum, output, a.stats_2),
                    // For the statistics only.
                    None => self.norm(block.ln_2, a.sum, a.norm_2, a.stats_2),
                }
            }
        }
    }

    /// `hidden = f(fc)`.
    pub fn activate(&mut self, fc: &Slice<T>, hidden: &mut Slice<T>) -> Result<(), OpError> {
        let (network, columns) = (self.network, self.network.config.hidden);
        let rows = hidden.len() / columns;
        network.ops.activation.forward(self.pass, network.activation(), rows, columns, fc, hidden)?;
        Ok(())
    }

    /// `y = residual + drop(x Wᵀ + b)`.
    fn add(
        &mut self,
        linear: Linear,
        site: DropSite,
        x: &Slice<T>,
        residual: &Slice<T>,
        y: &mut Slice<T>,
        branch: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let Some(noise) = self.noise.elements else { return self.linear(linear, x, y, Some(residual)) };
        self.linear(linear, x, branch, None)?;
        let ops = &self.network.ops;
        if ops.fused.dropout {
            return Ok(ops.dropout.add(self.pass, site.number(), noise, (branch, Some(residual)), y)?);
        }
        self.drop(site, branch)?;
        y.copy_from(residual)?;
        self.network.ops.model.elementwise.add(self.pass, y, branch)?;
        Ok(())
    }

    /// All blocks; each leaves what `held` holds.
    pub fn forward(
        &mut self,
        streams: &mut [ViewMut<'_, T>],
        held: &mut [BlockTensors<'_, T>],
        shared: &mut BlockTensors<'_, T>,
        branch: &mut Slice<T>,
    ) -> Result<(), OpError> {
        self.embed(&mut streams[0])?;
        for (b, held) in held.iter_mut().enumerate() {
            let (before, after) = streams.split_at_mut(b + 1);
            let mut a = Block::of(held, shared);
            self.block(b, &before[b], &mut a, Some(&mut after[0]), branch)?;
        }
        Ok(())
    }

    /// The last norm; post-norm blocks have none.
    pub fn last_norm(&mut self, x: &Slice<T>, head: &mut Head<'_, T>) -> Result<(), OpError> {
        match self.network.layout.ln_f {
            Some(norm) => self.norm(norm, x, head.norm_f, head.stats_f),
            None => Ok(head.norm_f.copy_from(x)?),
        }
    }

    /// Logits of normalised tokens, `[tokens, padded vocabulary]`.
    pub fn logits(&mut self, x: &Slice<T>, logits: &mut Slice<T>) -> Result<(), OpError> {
        let head = self.network.layout.head();
        self.layers().linear((head, None), x, logits, None)
    }
}
