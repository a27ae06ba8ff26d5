//! The CPU as a backend.

use super::{
    activations::Activations,
    decoder::CpuDecoder,
    network::{Extent, refused},
    trainer::Trainer,
};
use crate::{
    gpu::{Pass, StopFlag},
    kinds::transformer::{
        backend::{Backend, Batch, Counters, Decoder, Outcome, Site, StateBuffer, StepInput, StepStats, ViewNorms},
        model::{Config, Layout},
    },
    nn::attention::{self, Inputs},
    sim::{Execution, MemoryReport, Progress, SimError},
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// A model in f32 on some threads.
pub struct CpuBackend {
    trainer: Trainer<f32>,
    pool: ThreadPool,
}

impl CpuBackend {
    /// With zero weights.
    pub fn new(config: &Config, layout: &Arc<Layout>, seed: u64, threads: usize) -> Result<Self, SimError> {
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        let pool = pool.map_err(|error| SimError::Device(format!("cannot start {threads} threads: {error}")))?;
        Ok(Self { trainer: Trainer::new(config, layout, seed)?, pool })
    }
}

impl Backend for CpuBackend {
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        let (stop, tokens) = (pass.stop.clone(), input.batches.iter().map(Batch::n_tokens).sum::<usize>());
        let Self { trainer, pool } = self;
        trainer.reserve(input.batches)?;
        pass.span("step", tokens as u64, || pool.install(|| trainer.step(input, &stop)))
    }

    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError> {
        self.trainer.take_stats(out);
        Ok(())
    }

    fn norms(&mut self) -> Result<Vec<ViewNorms>, SimError> {
        Ok(self.trainer.norms().to_vec())
    }

    fn evaluate(&mut self, batch: &Batch<'_>, losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError> {
        let stop = pass.stop.clone();
        let Self { trainer, pool } = self;
        trainer.reserve([batch])?;
        pass.span("held-out", batch.n_tokens() as u64, || pool.install(|| trainer.evaluate(batch, losses, &stop)))
    }

    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError> {
        let decoder = CpuDecoder::new(&self.trainer.network)?;
        Ok(Box::new(Pooled { decoder, pool: &self.pool }))
    }

    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError> {
        progress.report("activations", 0.0)?;
        let mut acts = Activations::default();
        acts.reserve(&self.trainer.network.config, tokens.len())?;
        self.pool.install(|| inspect(&self.trainer, tokens, site, acts))
    }

    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError> {
        to.copy_from_slice(&self.trainer.buffer(buffer)[start..start + to.len()]);
        Ok(())
    }

    fn write(&mut self, buffer: StateBuffer, from: &[f32]) -> Result<(), SimError> {
        self.trainer.buffer_mut(buffer).copy_from_slice(from);
        Ok(())
    }

    fn counters(&self) -> Result<Counters, SimError> {
        Ok(self.trainer.counters)
    }

    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError> {
        self.trainer.counters = counters;
        Ok(())
    }

    fn execution(&self) -> Execution {
        Execution::cpu()
    }

    fn memory(&self) -> MemoryReport {
        let mut report = MemoryReport::default();
        report.host("parameters", self.trainer.network.n_bytes());
        report.host("gradient", self.trainer.gradient.len() as u64 * 4);
        report.host("optimiser", self.trainer.m.len() as u64 * 8);
        report.host("activations", self.trainer.activation_bytes());
        report
    }
}

/// A decoder that runs on the threads of its backend.
struct Pooled<'a> {
    decoder: CpuDecoder<'a, f32>,
    pool: &'a ThreadPool,
}

impl Decoder for Pooled<'_> {
    fn len(&self) -> usize {
        self.decoder.len()
    }

    fn clear(&mut self) {
        self.decoder.clear();
    }

    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError> {
        let Self { decoder, pool } = self;
        pool.install(|| decoder.push(tokens))
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
