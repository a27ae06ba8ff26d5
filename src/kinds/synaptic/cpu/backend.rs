//! The CPU as a backend.

use super::{decoder::CpuDecoder, network::Extent, trainer::Trainer};
use crate::{
    gpu::Pass,
    kinds::{
        language::backend::{Batch, Counters, Decoder, Outcome, StateBuffer, StepStats, ViewNorms},
        synaptic::{
            backend::{Backend, Dynamics, ExpertStep, Site, StepInput},
            experts::{RouterState, Routing},
            life::{Edit, ExpertRecord},
            model::{Config, Layout},
            postsynaptic::FastMemory,
        },
    },
    sim::{Execution, MemoryReport, Progress, SimError},
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// A model in f32 on some threads.
pub struct CpuBackend {
    trainer: Trainer<f32>,
    pool: ThreadPool,
    /// The largest micro-batch so far.
    largest: Option<Extent>,
}

impl CpuBackend {
    /// With zero weights.
    pub fn new(
        config: &Config,
        layout: &Arc<Layout>,
        dynamics: &Dynamics,
        seed: u64,
        threads: usize,
    ) -> Result<Self, SimError> {
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        let pool = pool.map_err(|error| SimError::Device(format!("cannot start {threads} threads: {error}")))?;
        Ok(Self { trainer: Trainer::new(config, layout, dynamics, seed)?, pool, largest: None })
    }

    fn note(&mut self, batch: &Batch<'_>) {
        let extent = Extent { sequences: batch.sequences, seq_len: batch.seq_len };
        if self.largest.is_none_or(|largest| largest.n_edges(1) < extent.n_edges(1)) {
            self.largest = Some(extent);
        }
    }
}

impl Backend for CpuBackend {
    fn set_dynamics(&mut self, dynamics: &Dynamics) -> Result<(), SimError> {
        dynamics.check(&self.trainer.network.config)?;
        self.trainer.network.dynamics.clone_from(dynamics);
        Ok(())
    }

    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        input.batches.iter().for_each(|batch| self.note(batch));
        let Self { trainer, pool, .. } = self;
        pool.install(|| trainer.step(input, pass))
    }

    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError> {
        self.trainer.take_stats(out);
        Ok(())
    }

    fn norms(&mut self) -> Result<Vec<ViewNorms>, SimError> {
        Ok(self.trainer.norms().to_vec())
    }

    fn expert_steps(&self) -> Result<&[ExpertStep], SimError> {
        Ok(&self.trainer.experts)
    }

    fn take_expert_records(&mut self, out: &mut Vec<ExpertRecord>) -> Result<(), SimError> {
        out.append(&mut self.trainer.records);
        Ok(())
    }

    fn measure_specialization(&mut self, tokens: &[u32]) -> Result<(), SimError> {
        let Self { trainer, pool, .. } = self;
        pool.install(|| trainer.measure_specialization(tokens))
    }

    fn evaluate(&mut self, batch: &Batch<'_>, losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError> {
        self.note(batch);
        let Self { trainer, pool, .. } = self;
        let (mut inner, n) = (Pass::default(), batch.n_tokens() as u64);
        inner.stop = pass.stop.clone();
        pass.span("held-out", n, || pool.install(|| trainer.evaluate(batch, losses, &mut inner)))
    }

    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError> {
        let decoder = CpuDecoder::new(&self.trainer.network)?;
        Ok(Box::new(Pooled { decoder, pool: &self.pool }))
    }

    fn plastic_decoder(&self, memory: &FastMemory) -> Result<Box<dyn Decoder + '_>, SimError> {
        let decoder = CpuDecoder::new(&self.trainer.network)?.plastic(*memory);
        Ok(Box::new(Pooled { decoder, pool: &self.pool }))
    }

    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError> {
        progress.report("activations", 0.0)?;
        self.pool.install(|| self.trainer.network.inspect(tokens, site))
    }

    fn decisions(&self, tokens: &[u32], layer: usize) -> Result<Routing<f32>, SimError> {
        self.pool.install(|| self.trainer.network.decisions(tokens, layer))
    }

    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError> {
        to.copy_from_slice(&self.trainer.buffer(buffer)[start..start + to.len()]);
        Ok(())
    }

    fn write(&mut self, buffer: StateBuffer, start: usize, from: &[f32]) -> Result<(), SimError> {
        self.trainer.buffer_mut(buffer)[start..start + from.len()].copy_from_slice(from);
        Ok(())
    }

    fn edit(&mut self, edits: &[Edit]) -> Result<(), SimError> {
        self.trainer.edit(edits)
    }

    fn router(&self, layer: usize) -> Result<RouterState, SimError> {
        self.trainer.router(layer).cloned()
    }

    fn set_router(&mut self, layer: usize, state: &RouterState) -> Result<(), SimError> {
        self.trainer.set_router(layer, state)
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
        let (mut report, trainer) = (MemoryReport::default(), &self.trainer);
        report.host("parameters", trainer.network.n_bytes());
        report.host("gradient", trainer.gradient.len() as u64 * 4);
        report.host("optimiser", trainer.m.len() as u64 * 8);
        if let Some(extent) = self.largest {
            let config = &trainer.network.config;
            report.host("activations", super::activations::Activations::<f32>::bytes(config, extent));
        }
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
