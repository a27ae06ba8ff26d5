//! CPU backend of the transformer.

use super::trainer::Trainer;
use crate::{
    gpu::Pass,
    kinds::{
        language::{
            cpu::{self, layers::HostBatch},
            plan::BatchShape,
        },
        transformer::{
            backend::{Backend, Outcome, Site, StepInput},
            model::{Config, Layout},
        },
    },
    sim::{Progress, SimError},
};
use std::sync::Arc;

/// Backend that computes a transformer in f32 on a thread pool.
pub type CpuBackend = cpu::backend::CpuBackend<Trainer<f32>>;

impl CpuBackend {
    /// Creates the backend with zero weights. Fails if memory is exhausted.
    pub fn new(config: &Config, layout: &Arc<Layout>, seed: u64, threads: usize) -> Result<Self, SimError> {
        Ok(Self::of(Trainer::new(config, layout, seed)?, threads))
    }
}

impl Backend for CpuBackend {
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        let Self { trainer, threads, .. } = self;
        trainer.reserve(input.batches)?;
        threads.run(|| trainer.step(input, pass))
    }

    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError> {
        progress.report("activations", 0.0)?;
        let batch = HostBatch::full(BatchShape::full(1, tokens.len()), tokens);
        self.threads.run(|| self.trainer.network.read(batch, site))
    }
}
