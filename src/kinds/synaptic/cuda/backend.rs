//! A GPU as a backend: batches are copied to the device, passes are captured into graphs, results are read when they are
//! asked for.

use super::{
    buffers::{DeviceBuffers, Sizes, arena_bytes, synapses},
    decode::CudaDecoder,
    error::OpError,
    kernels::MODULES,
    network::{Network, Ops},
    pass::{self, UpdatePlan},
    plan::BatchShape,
};
use crate::{
    gpu::{Buf, Gpu, GpuError, Graph, KernelFacts, Mark, Pass, nvtx},
    kinds::{
        language::backend::{
            self as language, Batch, Counters, Decoder, IGNORED, Lengths, MAX_WAITING_STEPS, Outcome, StateBuffer,
            StepStats, ViewNorms,
        },
        synaptic::{
            backend::{Backend, Dynamics, ExpertStep, Site, StepInput},
            experts::{
                RouterState, Routing,
                cuda::{BatchWeights, CudaExperts, StepTokens},
            },
            life::{Edit, ExpertRecord},
            model::{Config, Layout},
            postsynaptic::FastMemory,
            presynaptic::cuda::ReleaseStep,
        },
        transformer::cuda::kernels::{StepKernels, StepParams, ViewRange},
    },
    nn::optimizer::{LossScaler, cuda},
    sim::{Buffers as _, Execution, MemoryReport, Progress, SimError},
};
use std::{
    cell::{OnceCell, RefCell},
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// Batches that may be in flight: the host waits for the one before.
const IN_FLIGHT: usize = 2;
/// Captured passes that are kept.
const GRAPHS: usize = 32;

/// What is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Captured {
    /// Gradients of a batch.
    Gradients(BatchShape),
    /// The update.
    Update,
    /// The specialization of experts on a text of that many tokens.
    Specialization(usize),
}

/// A model on a GPU.
pub struct CudaBackend {
    /// Passes that were computed once (`None`), or captured. Dropped before the buffers they name.
    pub(super) graphs: HashMap<Captured, Option<Graph>>,
    pub(super) network: Network,
    kernels: StepKernels,
    pub(super) buffers: RefCell<DeviceBuffers>,
    pub(super) gpu: Arc<Gpu>,
    choices: [(&'static str, &'static str); 2],
    pub(super) sizes: Sizes,
    pub(super) update: UpdatePlan,
    in_flight: VecDeque<Mark>,
    /// Steps recorded, and of those the ones that were read.
    pub(super) recorded: u64,
    read: u64,
    /// Steps whose records of experts were read.
    pub(super) scored: u64,
    /// Tokens of the last step, and those of its last micro-batch.
    pub(super) last_tokens: Option<(u64, usize)>,
    /// What the experts did in it, once it is asked for.
    experts: OnceCell<Vec<ExpertStep>>,
}

/// An error of a device model that was asked for while another reading is under way.
pub(super) fn in_use() -> SimError {
    SimError::Input("the model is in use by another reading".to_owned())
}

impl CudaBackend {
    /// With zero weights, for batches of up to that many sequences of the context.
    pub fn new(
        gpu: &Arc<Gpu>,
        (config, layout, dynamics): (&Config, &Arc<Layout>, &Dynamics),
        seed: u64,
        sequences: usize,
        ops: Ops,
        choices: [(&'static str, &'static str); 2],
    ) -> Result<Self, SimError> {
        check_dynamics(dynamics, config)?;
        let sizes = Sizes::new(config, layout, dynamics, sequences);
        let mut buffers = DeviceBuffers::allocate(gpu, &sizes)?;
        buffers.state.write(&[cuda::initial_state(&LossScaler::fixed(1.0))])?;
        buffers.energy.write(&vec![1.0; config.layers * config.experts])?;
        buffers.alive.write(&vec![1; config.layers * config.experts])?;
        let views = layout.map.views().map(|view| ViewRange { start: view.start as u64, len: view.len() as u64 });
        buffers.views.write(&views.collect::<Vec<_>>())?;
        Ok(Self {
            graphs: HashMap::new(),
            network: Network::new(gpu, config, layout, dynamics, ops, seed)?,
            kernels: StepKernels::load(gpu)?,
            buffers: RefCell::new(buffers),
            gpu: gpu.clone(),
            choices,
            sizes,
            update: UpdatePlan::default(),
            in_flight: VecDeque::new(),
            recorded: 0,
            read: 0,
            scored: 0,
            last_tokens: None,
            experts: OnceCell::new(),
        })
    }

    /// Makes room for a batch.
    fn reserve(&mut self, shape: &BatchShape) -> Result<(), SimError> {
        let (config, layout, dynamics) = (&self.network.config, &self.network.layout, &self.network.dynamics);
        let (tokens, arena) = (shape.n_tokens(), arena_bytes(config, dynamics, shape));
        let of_synapses = synapses(config, &dynamics.presynaptic);
        if tokens <= self.sizes.tokens && arena <= self.sizes.arena && of_synapses <= self.sizes.synapses {
            return Ok(());
        }
        let sequences = tokens.max(self.sizes.tokens).div_ceil(config.context);
        let sizes = Sizes::new(config, layout, dynamics, sequences);
        let sizes = Sizes { arena: sizes.arena.max(arena).max(self.sizes.arena), ..sizes };
        self.gpu.synchronize()?;
        self.graphs.clear();
        let b = self.buffers.get_mut();
        // The former activations are given back first.
        b.arena = crate::gpu::Arena::new(&self.gpu, "activations", 0)?;
        b.arena = crate::gpu::Arena::new(&self.gpu, "activations", sizes.arena)?;
        b.tokens = Buf::zeros(&self.gpu, "tokens", sizes.tokens)?;
        b.targets = Buf::zeros(&self.gpu, "targets", sizes.tokens)?;
        b.synapses = Buf::zeros(&self.gpu, "synapses of a text", sizes.synapses)?;
        self.sizes = sizes;
        Ok(())
    }

    /// Waits until at most one batch is in flight.
    fn wait_for_earlier(&mut self) -> Result<(), GpuError> {
        while self.in_flight.len() >= IN_FLIGHT {
            let Some(mark) = self.in_flight.pop_front() else { break };
            mark.wait()?;
        }
        Ok(())
    }

    /// Computes a pass: launch by launch the first time and while kernels are measured, else as a graph.
    pub(super) fn compute(
        &mut self,
        what: Captured,
        pass: &mut Pass,
        launch: impl Fn(&Network, &StepKernels, &mut DeviceBuffers, &mut Pass) -> Result<(), OpError>,
    ) -> Result<(), SimError> {
        const DOING: &str = "capturing a step as a CUDA graph";
        let _range = nvtx::range_of(|| format!("{what:?}"));
        let Self { graphs, network, kernels, buffers, gpu, .. } = self;
        let buffers = buffers.get_mut();
        if !graphs.contains_key(&what) || pass.profiled {
            launch(network, kernels, buffers, pass)?;
            if graphs.len() >= GRAPHS && !graphs.contains_key(&what) {
                graphs.clear();
            }
            graphs.entry(what).or_insert(None);
            return Ok(());
        }
        let Some(place) = graphs.get_mut(&what) else { return Ok(()) };
        if place.is_none() {
            let mut refused = None;
            let record = |pass: &mut Pass| {
                launch(network, kernels, buffers, pass).map_err(|error| error.into_gpu(DOING, &mut refused))
            };
            // SAFETY: the graph names buffers of this backend, which are not replaced without dropping it, and is dropped
            // before them.
            let graph = unsafe { Graph::capture(gpu, record) };
            if let Some(why) = refused {
                return Err(OpError::Refused(why).into());
            }
            match graph {
                Ok(graph) => *place = Some(graph),
                Err(error) if error.is_sticky() => return Err(error.into()),
                // Something else on this device invalidated the capture: the next step tries again.
                Err(error) => {
                    tracing::warn!("a training step is computed launch by launch: {error}");
                    return Ok(launch(network, kernels, buffers, pass)?);
                }
            }
        }
        place.as_mut().map_or(Ok(()), Graph::launch)?;
        Ok(())
    }

    pub(super) fn check_layer(&self, layer: usize) -> Result<(), SimError> {
        if layer < self.sizes.layers {
            return Ok(());
        }
        Err(OpError::Refused(format!("there is no block {layer}")).into())
    }
}

/// Refuses what a device cannot compute.
pub fn check_dynamics(dynamics: &Dynamics, config: &Config) -> Result<(), SimError> {
    dynamics.check(config)?;
    CudaExperts::refusal(&dynamics.router).map_or(Ok(()), |why| Err(SimError::Input(why)))
}

/// Targets; padding at the end changes no other loss, as tokens see earlier ones only.
fn masked(batch: &Batch<'_>) -> Result<Vec<i32>, SimError> {
    if matches!(batch.lengths, Lengths::Packed(_)) {
        let why = "sequences of different lengths in one row are not possible here";
        return Err(OpError::Refused(why.to_owned()).into());
    }
    Ok(batch.masked_targets())
}

const fn shape_of(batch: &Batch<'_>) -> BatchShape {
    BatchShape { sequences: batch.sequences, seq_len: batch.seq_len }
}

impl language::Backend for CudaBackend {
    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError> {
        let b = self.buffers.get_mut();
        let most = MAX_WAITING_STEPS as u64;
        self.read = self.read.max(self.recorded.saturating_sub(most));
        while self.read < self.recorded {
            let start = (self.read % most) as usize;
            let n = ((self.recorded - self.read) as usize).min(MAX_WAITING_STEPS - start);
            for record in b.records.read_range(start..start + n)? {
                out.push(StepStats {
                    loss: record.loss,
                    gradient_norm: record.norm,
                    loss_scale: record.scale,
                    is_skipped: record.is_applied == 0 || !record.loss.is_finite(),
                });
            }
            self.read += n as u64;
        }
        Ok(())
    }

    fn evaluate(&mut self, batch: &Batch<'_>, losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError> {
        batch.check(self.network.config.context, self.network.config.vocab)?;
        let (targets, len) = (masked(batch)?, batch.seq_len.max(1));
        let fit = (self.sizes.tokens / len).clamp(1, batch.sequences.max(1));
        self.reserve(&BatchShape { sequences: fit, seq_len: batch.seq_len })?;
        let Self { network, buffers, .. } = self;
        // One row, which is no part of the forward pass of training.
        let mut inner = Pass::default();
        inner.stop = pass.stop.clone();
        pass.span("held-out", batch.n_tokens() as u64, || {
            for from in (0..batch.sequences).step_by(fit) {
                if inner.is_stopping() {
                    return Ok(Outcome::Stopped);
                }
                let to = (from + fit).min(batch.sequences);
                let (b, range) = (buffers.get_mut(), from * batch.seq_len..to * batch.seq_len);
                b.tokens.write_at(0, &batch.tokens[range.clone()])?;
                b.targets.write_at(0, &targets[range.clone()])?;
                let shape = BatchShape { sequences: to - from, seq_len: batch.seq_len };
                pass::losses(network, b, shape, &mut losses[range], &mut inner)?;
            }
            Ok(Outcome::Done)
        })
    }

    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError> {
        let buffers = self.buffers.try_borrow_mut().map_err(|_| in_use())?;
        Ok(Box::new(CudaDecoder::new(&self.network, buffers)))
    }

    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError> {
        let b = self.buffers.try_borrow().map_err(|_| in_use())?;
        let from = match buffer {
            StateBuffer::Weights => &b.weights,
            StateBuffer::FirstMoment => &b.means,
            StateBuffer::SecondMoment => &b.squares,
        };
        Ok(from.read_into(start, to)?)
    }

    fn write(&mut self, buffer: StateBuffer, start: usize, from: &[f32]) -> Result<(), SimError> {
        let b = self.buffers.get_mut();
        let to = match buffer {
            StateBuffer::Weights => &mut b.weights,
            StateBuffer::FirstMoment => &mut b.means,
            StateBuffer::SecondMoment => &mut b.squares,
        };
        Ok(to.write_at(start, from)?)
    }

    fn counters(&self) -> Result<Counters, SimError> {
        let b = self.buffers.try_borrow().map_err(|_| in_use())?;
        let state = b.state.read()?.first().copied().unwrap_or_default();
        Ok(Counters { updates: state.t, loss_scale: state.scale, finite_steps: state.good })
    }

    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError> {
        let mut state = cuda::initial_state(&LossScaler::fixed(1.0));
        (state.t, state.good) = (counters.updates, counters.finite_steps);
        Ok(self.buffers.get_mut().state.write(&[state])?)
    }

    fn execution(&self) -> Execution {
        Execution::cuda(&self.gpu).with(self.choices)
    }

    fn memory(&self) -> MemoryReport {
        let mut report = self.buffers.try_borrow().map(|b| b.held()).unwrap_or_default();
        self.network.report(&mut report);
        report
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        let is_used = |file: &str| file.starts_with("nn/") || MODULES.iter().any(|module| module.file == file);
        self.gpu.kernel_facts().into_iter().filter(|kernel| is_used(kernel.file)).collect()
    }
}

impl Backend for CudaBackend {
    fn set_dynamics(&mut self, dynamics: &Dynamics) -> Result<(), SimError> {
        check_dynamics(dynamics, &self.network.config)?;
        if self.network.dynamics != *dynamics {
            self.gpu.synchronize()?;
            // Constants are arguments of captured launches.
            self.graphs.clear();
            self.network.dynamics.clone_from(dynamics);
            let context = self.network.config.context;
            let sequences = self.sizes.tokens.div_ceil(context);
            self.reserve(&BatchShape { sequences, seq_len: context })?;
        }
        Ok(())
    }

    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        pass.begin_step();
        let (context, vocab) = (self.network.config.context, self.network.config.vocab);
        input.batches.iter().try_for_each(|batch| batch.check(context, vocab))?;
        input.batches.iter().try_for_each(|batch| self.reserve(&shape_of(batch)))?;
        let all = input.batches.iter().map(masked).collect::<Result<Vec<_>, _>>()?;
        self.set_optimizer(input)?;
        let counted = |targets: &[i32]| targets.iter().filter(|target| **target != IGNORED).count() as u64;
        let n_targets = all.iter().map(|targets| counted(targets)).sum::<u64>();
        let tokens = input.batches.iter().map(|batch| batch.n_tokens() as u64).sum();
        let sequences: usize = input.batches.iter().map(|batch| batch.sequences).sum();
        let b = self.buffers.get_mut();
        b.params.set(StepParams { record: self.recorded, targets: n_targets })?;
        b.step_tokens.set(StepTokens { tokens })?;
        pass::begin(&self.kernels, b, pass)?;
        let mut first = 0;
        for (batch, targets) in input.batches.iter().zip(&all) {
            self.wait_for_earlier()?;
            if pass.is_stopping() {
                return Ok(Outcome::Stopped);
            }
            let b = self.buffers.get_mut();
            b.tokens.write_at(0, batch.tokens)?;
            b.targets.write_at(0, targets)?;
            b.batch.set(BatchWeights { share: (counted(targets) as f64 / n_targets.max(1) as f64) as f32 })?;
            let (seed, step) = (self.network.seed, input.step);
            b.draws.set(ReleaseStep { seed, step, first: first as u32, sequences: sequences as u32 })?;
            let shape = shape_of(batch);
            self.compute(Captured::Gradients(shape), pass, |network, _, b, pass| {
                pass::accumulate(network, b, shape, pass)
            })?;
            self.in_flight.push_back(Mark::now(&self.gpu)?);
            first += batch.sequences;
        }
        let update = self.update.clone();
        self.compute(Captured::Update, pass, |network, kernels, b, pass| {
            pass::update(network, kernels, b, &update, pass)
        })?;
        self.recorded += 1;
        self.experts.take();
        self.last_tokens = Some((tokens, input.batches.last().map_or(0, |batch| batch.n_tokens())));
        Ok(Outcome::Done)
    }

    fn norms(&mut self) -> Result<Vec<ViewNorms>, SimError> {
        let norms = self.buffers.get_mut().norms.read()?;
        let of = |n: &[f32]| ViewNorms { weight: n[0], gradient: n[1], update: n[2] };
        Ok(norms.chunks_exact(3).map(of).collect())
    }

    fn plastic_decoder(&self, memory: &FastMemory) -> Result<Box<dyn Decoder + '_>, SimError> {
        let buffers = self.buffers.try_borrow_mut().map_err(|_| in_use())?;
        Ok(Box::new(CudaDecoder::new(&self.network, buffers).plastic(*memory)?))
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
        if self.experts.get().is_none() {
            let read = self.read_experts()?;
            let _ = self.experts.set(read);
        }
        Ok(self.experts.get().map_or(&[], Vec::as_slice))
    }

    fn take_expert_records(&mut self, out: &mut Vec<ExpertRecord>) -> Result<(), SimError> {
        self.read_records(out)
    }

    fn measure_specialization(&mut self, tokens: &[u32]) -> Result<(), SimError> {
        self.specialize(tokens)
    }

    fn edit(&mut self, edits: &[Edit]) -> Result<(), SimError> {
        Ok(self.apply_edits(edits)?)
    }

    fn router(&self, layer: usize) -> Result<RouterState, SimError> {
        self.read_router(layer)
    }

    fn set_router(&mut self, layer: usize, state: &RouterState) -> Result<(), SimError> {
        self.write_router(layer, state)
    }
}
