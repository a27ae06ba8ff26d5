//! The CPU as a backend.

use super::{
    activations::Activations,
    network::{Extent, refused},
    trainer::Trainer,
};
use crate::{
    gpu::{Pass, StopFlag},
    kinds::{
        language::cpu,
        transformer::{
            backend::{Backend, Batch, Outcome, Site, StepInput},
            model::{Config, Layout},
        },
    },
    nn::attention::{self, Inputs},
    sim::{Progress, SimError},
};
use std::sync::Arc;

/// A model in f32 on some threads.
pub type CpuBackend = cpu::backend::CpuBackend<Trainer<f32>>;

impl CpuBackend {
    /// With zero weights.
    pub fn new(config: &Config, layout: &Arc<Layout>, seed: u64, threads: usize) -> Result<Self, SimError> {
        Ok(Self::of(Trainer::new(config, layout, seed)?, threads))
    }
}

impl Backend for CpuBackend {
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        let (stop, tokens) = (pass.stop.clone(), input.batches.iter().map(Batch::n_tokens).sum::<usize>());
        let Self { trainer, threads, .. } = self;
        trainer.reserve(input.batches)?;
        pass.span("step", tokens as u64, || threads.run(|| trainer.step(input, &stop)))
    }

    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError> {
        progress.report("activations", 0.0)?;
        let mut acts = Activations::default();
        acts.reserve(&self.trainer.network.config, tokens.len())?;
        self.threads.run(|| inspect(&self.trainer, tokens, site, acts))
    }
}

fn inspect(
    trainer: &Trainer<f32>,
    tokens: &[u32],
    site: Site,
    mut acts: Activations<f32>,
) -> Result<Vec<f32>, SimError> {
    let (network, n) = (&trainer.network, tokens.len());
    let extent = Extent { sequences: 1, seq_len: n, lens: None, offsets: None, positions: None };
    network.forward(tokens, &extent, None, &mut acts, &StopFlag::default())?;
    Ok(match site {
        Site::Residual(block) if block < network.config.layers => std::mem::take(&mut acts.blocks[block].input),
        Site::Residual(_) => acts.last,
        Site::AttentionOutput(block) => std::mem::take(&mut acts.blocks[block].attention),
        Site::Hidden(block) => std::mem::take(&mut acts.blocks[block].hidden),
        Site::Attention { layer, head } => {
            let (block, op) = (&acts.blocks[layer], network.attention(&extent));
            let mut map = super::network::zeros("attention map", n * n)?;
            let inputs = Inputs::packed(&block.qkv[..]);
            attention::cpu::map(&op, &inputs, (0, head), &block.lse, &mut map).map_err(refused)?;
            map
        }
    })
}
