//! CPU backend of the synaptic model.

use super::{decoder::CpuDecoder, trainer::Trainer};
use crate::{
    gpu::Pass,
    kinds::{
        language::{
            backend::{Decoder, Outcome},
            cpu::{self, decoder::Pooled},
        },
        synaptic::{
            backend::{Backend, Dynamics, ExpertStep, Site, SlotAverage, StepInput},
            experts::{RouterState, Routing},
            life::{Edit, ExpertArrays, ExpertRecord, slots::gradient_utility},
            model::{Config, Layout},
            postsynaptic::FastMemory,
        },
    },
    sim::{Progress, SimError},
};
use std::{ops::Range, sync::Arc};

/// Backend that computes a synaptic model in f32 on a thread pool.
pub type CpuBackend = cpu::backend::CpuBackend<Trainer<f32>>;

impl CpuBackend {
    /// Creates the backend with zero weights. Fails if the constants do not fit the sizes, or memory is exhausted.
    pub fn new(
        config: &Config,
        layout: &Arc<Layout>,
        dynamics: &Dynamics,
        seed: u64,
        threads: usize,
    ) -> Result<Self, SimError> {
        Ok(Self::of(Trainer::new(config, layout, dynamics, seed)?, threads))
    }
}

impl Backend for CpuBackend {
    fn set_dynamics(&mut self, dynamics: &Dynamics) -> Result<(), SimError> {
        dynamics.check(&self.trainer.network.config)?;
        self.trainer.network.dynamics.clone_from(dynamics);
        Ok(())
    }

    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        let Self { trainer, threads, .. } = self;
        threads.run(|| trainer.step(input, pass))
    }

    fn expert_steps(&self) -> Result<&[ExpertStep], SimError> {
        Ok(&self.trainer.experts)
    }

    fn take_expert_records(&mut self, out: &mut Vec<ExpertRecord>) -> Result<(), SimError> {
        out.append(&mut self.trainer.records);
        Ok(())
    }

    fn measure_specialization(&mut self, tokens: &[u32]) -> Result<(), SimError> {
        let Self { trainer, threads, .. } = self;
        threads.run(|| trainer.measure_specialization(tokens))
    }

    fn plastic_decoder(&self, op: &FastMemory) -> Result<Box<dyn Decoder + '_>, SimError> {
        let decoder = CpuDecoder::new(&self.trainer.network)?.plastic(*op);
        Ok(Box::new(Pooled { decoder, threads: &self.threads }))
    }

    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError> {
        progress.report("activations", 0.0)?;
        self.threads.run(|| self.trainer.network.inspect(tokens, site))
    }

    fn decisions(&self, tokens: &[u32], layer: usize) -> Result<Routing<f32>, SimError> {
        self.threads.run(|| self.trainer.network.decisions(tokens, layer))
    }

    fn edit(&mut self, edits: &[Edit]) -> Result<(), SimError> {
        self.trainer.edit(edits)
    }

    fn gradient_utility(&self, arrays: &ExpertArrays) -> Result<Vec<f64>, SimError> {
        Ok(gradient_utility(arrays, self.trainer.network.config.experts, &self.trainer.state.v))
    }

    fn slots(&self, average: SlotAverage, slots: Range<usize>) -> Result<Vec<f32>, SimError> {
        let experts = self.trainer.network.config.experts;
        let value = |slot: usize| {
            let router = self.trainer.router(slot / experts)?;
            Ok(match average {
                SlotAverage::Fatigue => router.fatigue[slot % experts],
                SlotAverage::Energy => router.energy[slot % experts],
            })
        };
        slots.map(value).collect()
    }

    fn router(&self, layer: usize) -> Result<RouterState, SimError> {
        self.trainer.router(layer).cloned()
    }

    fn set_router(&mut self, layer: usize, state: &RouterState) -> Result<(), SimError> {
        self.trainer.set_router(layer, state)
    }
}
