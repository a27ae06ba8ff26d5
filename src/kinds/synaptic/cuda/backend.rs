//! CUDA backend of the synaptic model.

use super::{
    buffers::{DeviceBuffers, SynapticBuffers, arena_bytes, sizes, synapses, text_arena_bytes},
    decode::{self, PieceOfText},
    life, network,
    network::Network,
    pass,
};
use crate::{
    gpu::{Buf, Gpu, GpuError, ModuleSpec, Pass},
    kinds::{
        language::{
            backend::{Batch, Decoder, Outcome},
            cuda::{
                CudaBackend, DeviceModel,
                captures::Captures,
                decode::PieceDecoder,
                error::OpError,
                format::ModelFormat,
                kernels::StepKernels,
                model::{ModelParts, SizesOf},
            },
            plan::BatchShape,
        },
        synaptic::{
            backend::{Backend, Dynamics, ExpertStep, Site, SlotAverage, StepInput},
            experts::{
                RouterState, Routing,
                cuda::{BatchWeights, CudaExperts, MatrixGradients, StepTokens},
            },
            life::{Edit, ExpertArrays, ExpertRecord},
            model::Config,
            postsynaptic::FastMemory,
            presynaptic::cuda::ReleaseStep,
        },
    },
    sim::{MemoryReport, Progress, SimError},
};
use std::{
    cell::{OnceCell, RefCell, RefMut},
    ops::Range,
    sync::Arc,
};

/// Keys of passes that are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Captured {
    /// Gradients of a batch, with the storage of the gradients of expert matrices.
    Gradients(BatchShape, MatrixGradients),
    /// Losses of a batch, without gradients.
    Losses(BatchShape),
    /// Update of parameters and routers.
    Update {
        /// Whether the update measures norms of parameters.
        measures: bool,
    },
    /// Specialization of experts on a text of this length.
    Specialization(usize),
    /// Logits of one token, whose position is in device memory.
    Token,
}

/// State of the experts that is kept on the host.
#[derive(Default)]
pub struct Experts {
    /// Number of steps whose records were read.
    pub scored: u64,
    /// Number of tokens of the last step, and of its last micro-batch; `None` before the first step.
    pub last_tokens: Option<(u64, usize)>,
    /// Statistics of the experts in the last step, read on first request.
    last_step: OnceCell<Vec<ExpertStep>>,
}

/// The backend of the synaptic model on a GPU.
pub type SynapticBackend<T> = CudaBackend<Network<T>>;

impl<T: ModelFormat> DeviceModel for Network<T> {
    type Format = T;
    type Buffers = SynapticBuffers<T>;
    type Captured = Captured;
    type HostState = Experts;
    const MODULES: &'static [ModuleSpec] = super::MODULES;

    fn parts(&self) -> ModelParts<'_> {
        let (c, map) = (&self.config, &*self.layout.map);
        let (context, vocab, ops, seed) = (c.context, c.vocab, &self.ops.model, self.seed);
        ModelParts { context, vocab, map, ops, seed, is_stochastic: false }
    }

    fn sizes(&self, sequences: usize) -> SizesOf<Self> {
        sizes::<T>(&self.config, &self.layout, &self.dynamics, sequences)
    }

    fn arena_bytes(&self, shape: &BatchShape) -> usize {
        arena_bytes::<T>(&self.config, &self.dynamics, shape)
    }

    fn text_arena_bytes(&self) -> usize {
        text_arena_bytes::<T>(&self.config, &self.dynamics)
    }

    fn report(&self, to: &mut MemoryReport) {
        network::report_tables(&self.config, self.ops.model.gemm.bytes(), to);
    }

    fn beside(&self, gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Network::beside(self, gpu)
    }

    /// Copies the states of routers. Fails if the device fails.
    fn copy_state(from: &SynapticBuffers<T>, to: &mut SynapticBuffers<T>) -> Result<(), GpuError> {
        to.embeddings.copy_from(&from.embeddings)?;
        to.fatigue.copy_from(&from.fatigue)?;
        to.energy.copy_from(&from.energy)?;
        to.balance.copy_from(&from.balance)?;
        to.alive.copy_from(&from.alive)
    }

    fn first_written(&self) -> Vec<Range<usize>> {
        let blocks = self.layout.blocks.iter();
        let mut ranges: Vec<_> = blocks.flat_map(|block| [block.fc1, block.fc2].map(|id| self.range(id))).collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    fn launch(
        &self,
        kernels: &StepKernels,
        b: &mut DeviceBuffers<T>,
        what: Captured,
        pass: &mut Pass,
    ) -> Result<(), OpError> {
        match what {
            Captured::Gradients(shape, of_matrices) => pass::accumulate(self, b, (shape, of_matrices), pass),
            Captured::Losses(shape) => pass::losses(self, b, shape, pass),
            Captured::Update { .. } => pass::update(self, kernels, b, pass),
            Captured::Specialization(n) => life::specialize(self, b, n, pass),
            Captured::Token => decode::token(self, b, pass),
        }
    }

    fn update(measures: bool) -> Captured {
        Captured::Update { measures }
    }

    fn losses(shape: BatchShape) -> Captured {
        Captured::Losses(shape)
    }

    fn decoder<'a>(
        &'a self,
        _: &'a StepKernels,
        captures: &'a RefCell<Captures<Captured>>,
        buffers: RefMut<'a, DeviceBuffers<T>>,
    ) -> Box<dyn Decoder + 'a> {
        Box::new(PieceDecoder::new(PieceOfText::new(self, Some(captures), buffers)))
    }
}

impl<T: ModelFormat> SynapticBackend<T> {
    /// Initialises the routers: all experts alive with full energy. Fails if the device fails.
    pub fn begin(&mut self) -> Result<(), SimError> {
        let n = self.sizes.kind.layers * self.sizes.kind.experts;
        let b = &mut self.buffers_mut().kind;
        b.energy.write(&vec![1.0; n])?;
        Ok(b.alive.write(&vec![1; n])?)
    }

    /// Returns an error if there is no block `layer`.
    pub fn check_layer(&self, layer: usize) -> Result<(), SimError> {
        if layer < self.sizes.kind.layers {
            return Ok(());
        }
        Err(OpError::Refused(format!("there is no block {layer}")).into())
    }
}

/// Fails if the mechanisms are invalid, or if the device kernels do not support one.
pub fn check_dynamics(dynamics: &Dynamics, config: &Config) -> Result<(), SimError> {
    dynamics.check(config)?;
    CudaExperts::refusal(&dynamics.router).map_or(Ok(()), |why| Err(SimError::Input(why)))
}

impl<T: ModelFormat> Backend for SynapticBackend<T> {
    fn set_dynamics(&mut self, dynamics: &Dynamics) -> Result<(), SimError> {
        check_dynamics(dynamics, &self.network.config)?;
        if self.network.dynamics != *dynamics {
            // Constants are arguments of captured launches, so all captures are dropped.
            self.forget()?;
            self.network.dynamics.clone_from(dynamics);
            let (context, n) = (self.network.config.context, synapses(&self.network.config, &dynamics.presynaptic));
            let shape = BatchShape::full(self.sizes.batch.tokens.div_ceil(context), context);
            self.reserve(&shape)?;
            let gpu = self.gpu.clone();
            let held = &mut self.buffers_mut().kind.synapses;
            if held.len() < n {
                *held = Buf::zeros(&gpu, "synapses of a text", n)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        self.reserve_all(input.batches)?;
        self.set_update(input)?;
        let n_targets = input.batches.iter().map(Batch::n_targets).sum::<usize>().max(1) as f64;
        let tokens = input.batches.iter().map(|batch| batch.n_tokens() as u64).sum();
        let sequences: usize = input.batches.iter().map(|batch| batch.sequences).sum();
        let b = &mut self.buffers_mut().kind;
        b.step_tokens.set(StepTokens { tokens })?;
        b.statistics.clear()?;
        b.aux.clear()?;
        let done = self.train(input.batches, pass, |network, b, of| {
            b.kind.micro_batch.set(BatchWeights { share: (of.batch.n_targets() as f64 / n_targets) as f32 })?;
            let (seed, first) = (network.seed, of.first_sequence as u32);
            b.kind.draws.set(ReleaseStep { seed, step: input.step, first, sequences: sequences as u32 })?;
            let of_matrices = if of.first_token == 0 { MatrixGradients::Written } else { MatrixGradients::Added };
            Ok(Captured::Gradients(of.shape, of_matrices))
        })?;
        if done == Outcome::Done {
            self.host.last_step.take();
            self.host.last_tokens = Some((tokens, input.batches.last().map_or(0, |batch| batch.n_tokens())));
        }
        Ok(done)
    }

    fn plastic_decoder(&self, op: &FastMemory) -> Result<Box<dyn Decoder + '_>, SimError> {
        let reader = PieceOfText::new(&self.network, None, self.workspace()?);
        Ok(Box::new(PieceDecoder::new(reader.plastic(*op)?)))
    }

    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError> {
        progress.report("activations", 0.0)?;
        self.read_activations(tokens, site)
    }

    fn decisions(&self, tokens: &[u32], layer: usize) -> Result<Routing<f32>, SimError> {
        self.check_layer(layer)?;
        self.read_decisions(tokens, layer)
    }

    fn expert_steps(&self) -> Result<&[ExpertStep], SimError> {
        if self.host.last_step.get().is_none() {
            let read = self.read_experts()?;
            let _ = self.host.last_step.set(read);
        }
        Ok(self.host.last_step.get().map_or(&[], Vec::as_slice))
    }

    fn take_expert_records(&mut self, out: &mut Vec<ExpertRecord>) -> Result<(), SimError> {
        self.read_expert_records(out)
    }

    fn measure_specialization(&mut self, tokens: &[u32]) -> Result<(), SimError> {
        self.specialize(tokens)
    }

    fn edit(&mut self, edits: &[Edit]) -> Result<(), SimError> {
        Ok(self.apply_edits(edits)?)
    }

    fn gradient_utility(&self, arrays: &ExpertArrays) -> Result<Vec<f64>, SimError> {
        self.utility(arrays)
    }

    fn slots(&self, average: SlotAverage, slots: Range<usize>) -> Result<Vec<f32>, SimError> {
        self.read_slots(average, slots)
    }

    fn router(&self, layer: usize) -> Result<RouterState, SimError> {
        self.read_router(layer)
    }

    fn set_router(&mut self, layer: usize, state: &RouterState) -> Result<(), SimError> {
        self.write_router(layer, state)
    }
}
