//! A GPU as a backend: batches are copied to the device, passes are captured into graphs, results are read when they are
//! asked for.

use super::{
    buffers::{DeviceBuffers, Sizes, arena_bytes},
    decode::CudaDecoder,
    error::OpError,
    format::ModelFormat,
    kernels::{MODULES, StepKernels, StepParams, ViewRange},
    network::{Drops, Network, Ops},
    pass::{self, UpdatePlan},
    plan::BatchShape,
    upload::{shape_of, upload},
};
use crate::{
    gpu::{Buf, Gpu, GpuError, Graph, KernelFacts, Mark, Pass, nvtx},
    kinds::{
        language::backend as language,
        transformer::{
            backend::{
                Backend, Batch, Counters, Decoder, Lengths, MAX_WAITING_STEPS, Outcome, Site, StateBuffer, StepInput,
                StepStats, ViewNorms,
            },
            choices::Checkpointing,
            cpu::trainer::optimizer,
            model::{Config, Layout},
        },
    },
    nn::{
        dropout::{Dropout, cuda::DropoutStep},
        optimizer::{
            LossScaler,
            cuda::{self, OptimizerSettings},
        },
    },
    sim::{Buffers as _, Execution, MemoryReport, Progress, SimError},
};
use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// Batches that may be in flight: the host waits for the one before.
const IN_FLIGHT: usize = 2;
/// Captured passes that are kept.
const GRAPHS: usize = 32;

/// What is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Captured {
    /// Gradients of a batch.
    Gradients { shape: BatchShape, drops: Drops },
    /// The update.
    Update,
}

/// How a model is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// What is computed again in the backward pass.
    pub mode: Checkpointing,
    /// The scale of the loss.
    pub scaler: LossScaler,
    /// Sequences of a batch.
    pub sequences: usize,
}

/// A model on a GPU.
pub struct CudaBackend<T: ModelFormat> {
    /// Passes that were computed once (`None`), or captured.
    graphs: HashMap<Captured, Option<Graph>>,
    pub(super) network: Network<T>,
    pub(super) kernels: StepKernels,
    pub(super) buffers: RefCell<DeviceBuffers<T>>,
    pub(super) gpu: Arc<Gpu>,
    pub(super) options: Options,
    /// Implementations, for the report.
    pub(super) choices: Vec<(String, String)>,
    pub(super) sizes: Sizes,
    update: UpdatePlan,
    in_flight: VecDeque<Mark>,
    /// Steps recorded, and of those the ones that were read.
    recorded: u64,
    read: u64,
}

/// An error of a device model that was asked for while another reading is under way.
pub(super) fn in_use() -> SimError {
    SimError::Input("the model is in use by another reading".to_owned())
}

impl<T: ModelFormat> CudaBackend<T> {
    /// With zero weights.
    pub fn new(
        gpu: &Arc<Gpu>,
        config: &Config,
        layout: &Arc<Layout>,
        seed: u64,
        ops: Ops,
        options: Options,
        choices: Vec<(String, String)>,
    ) -> Result<Self, SimError> {
        let sizes = Sizes::new::<T>(config, layout, options.sequences, options.mode);
        let mut buffers = DeviceBuffers::<T>::allocate(gpu, &sizes)?;
        buffers.state.write(&[cuda::initial_state(&options.scaler)])?;
        let views = layout.map.views().map(|view| ViewRange { start: view.start as u64, len: view.len() as u64 });
        buffers.views.write(&views.collect::<Vec<_>>())?;
        Ok(Self {
            graphs: HashMap::new(),
            network: Network::new(gpu, config, layout, ops, seed)?,
            kernels: StepKernels::load(gpu)?,
            buffers: RefCell::new(buffers),
            gpu: gpu.clone(),
            options,
            choices,
            sizes,
            update: UpdatePlan::default(),
            in_flight: VecDeque::new(),
            recorded: 0,
            read: 0,
        })
    }

    /// Makes room for a batch.
    fn reserve(&mut self, shape: &BatchShape) -> Result<(), SimError> {
        let (config, layout, mode) = (&self.network.config, &self.network.layout, self.options.mode);
        let (tokens, arena) = (shape.n_tokens(), arena_bytes::<T>(config, shape, mode));
        if tokens <= self.sizes.tokens && arena <= self.sizes.arena {
            return Ok(());
        }
        let sequences = tokens.max(self.sizes.tokens).div_ceil(config.context);
        let sizes = Sizes::new::<T>(config, layout, sequences, mode);
        let sizes = Sizes { arena: sizes.arena.max(arena).max(self.sizes.arena), ..sizes };
        self.gpu.synchronize()?;
        self.graphs.clear();
        let b = self.buffers.get_mut();
        // The former activations are given back first.
        b.arena = crate::gpu::Arena::new(&self.gpu, "activations", 0)?;
        b.arena = crate::gpu::Arena::new(&self.gpu, "activations", sizes.arena)?;
        b.tokens = Buf::zeros(&self.gpu, "tokens", sizes.tokens)?;
        b.targets = Buf::zeros(&self.gpu, "targets", sizes.tokens)?;
        b.positions = Buf::zeros(&self.gpu, "positions", sizes.tokens)?;
        b.lengths = Buf::zeros(&self.gpu, "lengths", sizes.lengths)?;
        self.sizes = sizes;
        Ok(())
    }

    /// Constants of the optimiser, learning rate, and which parameter is updated how.
    fn set_optimizer(&mut self, input: &StepInput<'_>) -> Result<(), SimError> {
        let (config, layout) = (&self.network.config, &self.network.layout);
        let op = optimizer(config, layout, input.hyper, input.frozen)?;
        let scaler = &self.options.scaler;
        let settings = OptimizerSettings {
            learning_rate: input.hyper.learning_rate.into(),
            beta1: op.adamw.beta1,
            beta2: op.adamw.beta2,
            seed: self.network.seed,
            eps: op.adamw.eps as f32,
            clip: op.clip.0 as f32,
            momentum: op.muon.momentum as f32,
            growth: scaler.growth as f32,
            backoff: scaler.backoff as f32,
            interval: scaler.interval,
            is_nesterov: op.muon.is_nesterov.into(),
            is_stochastic: 0,
        };
        let b = self.buffers.get_mut();
        if b.settings.value() != settings {
            b.settings.set(settings)?;
        }
        if b.known.as_ref() != Some(&op.groups) {
            let rules = cuda::rules(&op.groups);
            b.rules.write_at(0, &rules)?;
            let table = op.groups.table(&layout.map);
            b.groups.write(&table)?;
            b.known = Some(op.groups);
        }
        let matrices = op.matrices.iter().map(|(matrix, _)| *matrix).collect();
        let update = UpdatePlan { matrices, iterations: op.muon.iterations, measures: input.measures };
        if input.measures && b.before.is_none() {
            b.before = Some(Buf::zeros(&self.gpu, "weights before a step", self.sizes.n)?);
        }
        if self.update != update {
            self.gpu.synchronize()?;
            self.graphs.remove(&Captured::Update);
            self.update = update;
        }
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
    fn compute(
        &mut self,
        what: Captured,
        pass: &mut Pass,
        launch: impl Fn(&Network<T>, &StepKernels, &mut DeviceBuffers<T>, &mut Pass) -> Result<(), OpError>,
    ) -> Result<(), SimError> {
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
                launch(network, kernels, buffers, pass).map_err(|error| match error {
                    OpError::Gpu(error) => error,
                    OpError::Refused(why) => {
                        refused = Some(why.clone());
                        GpuError::Driver { doing: "capturing a step as a CUDA graph".to_owned(), why }
                    }
                })
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
}

impl<T: ModelFormat> language::Backend for CudaBackend<T> {
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
        let is_packed = matches!(batch.lengths, Lengths::Packed(_));
        let fit = if is_packed { batch.sequences } else { self.sizes.tokens / batch.seq_len.max(1) }.max(1);
        self.reserve(&shape_of(batch, 0, fit.min(batch.sequences)))?;
        let Self { network, buffers, .. } = self;
        for from in (0..batch.sequences).step_by(fit) {
            if pass.is_stopping() {
                return Ok(Outcome::Stopped);
            }
            let to = (from + fit).min(batch.sequences);
            let b = buffers.get_mut();
            let shape = upload(b, batch, from, to)?;
            pass::losses(network, b, shape, &mut losses[from * batch.seq_len..to * batch.seq_len], pass)?;
        }
        Ok(Outcome::Done)
    }

    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError> {
        let buffers = self.buffers.try_borrow_mut().map_err(|_| in_use())?;
        Ok(Box::new(CudaDecoder::new(&self.network, &self.kernels, buffers)))
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
        match buffer {
            StateBuffer::Weights => {
                b.weights.write_at(start, from)?;
                if T::HAS_COPY {
                    self.network.ops.optimizer.round(&mut Pass::default(), &b.weights, T::copy(&mut b.copy))?;
                }
            }
            StateBuffer::FirstMoment => b.means.write_at(start, from)?,
            StateBuffer::SecondMoment => b.squares.write_at(start, from)?,
        }
        Ok(())
    }

    fn counters(&self) -> Result<Counters, SimError> {
        let b = self.buffers.try_borrow().map_err(|_| in_use())?;
        let state = b.state.read()?.first().copied().unwrap_or_default();
        Ok(Counters { updates: state.t, loss_scale: state.scale, finite_steps: state.good })
    }

    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError> {
        let mut state = cuda::initial_state(&self.options.scaler);
        (state.t, state.scale, state.good) = (counters.updates, counters.loss_scale, counters.finite_steps);
        Ok(self.buffers.get_mut().state.write(&[state])?)
    }

    fn execution(&self) -> Execution {
        Execution::cuda(&self.gpu).with(self.choices.iter().map(|(name, by)| (name.as_str(), by.as_str())))
    }

    fn notices(&self) -> Vec<String> {
        let ops = &self.network.ops;
        let gemm = ops.gemm.notice(ops.options.backend);
        gemm.map(|why| format!("compute.gemm: {why}")).into_iter().collect()
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

impl<T: ModelFormat> Backend for CudaBackend<T> {
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError> {
        pass.begin_step();
        input
            .batches
            .iter()
            .try_for_each(|batch| batch.check(self.network.config.context, self.network.config.vocab))?;
        input.batches.iter().try_for_each(|batch| self.reserve(&shape_of(batch, 0, batch.sequences)))?;
        self.set_optimizer(input)?;
        let targets = input.batches.iter().map(Batch::n_targets).sum::<usize>() as u64;
        let b = self.buffers.get_mut();
        b.params.set(StepParams { record: self.recorded, targets })?;
        pass::begin(&self.kernels, b, pass)?;
        let (drops, mode) = (Drops::of(input.hyper), self.options.mode);
        let mut first = 0;
        for batch in input.batches {
            self.wait_for_earlier()?;
            if pass.is_stopping() {
                return Ok(Outcome::Stopped);
            }
            let b = self.buffers.get_mut();
            let shape = upload(b, batch, 0, batch.sequences)?;
            let noise = |p: f32, offset: usize| {
                let drop = Dropout { p: p.into(), seed: self.network.seed, layer_site: 0, offset: offset as u64 };
                DropoutStep::new(&drop, input.step)
            };
            if drops.elements {
                b.noise.set(noise(input.hyper.dropout, first * self.network.config.width))?;
            }
            if drops.probabilities {
                b.attention_noise.set(noise(input.hyper.attention_dropout, first))?;
            }
            self.compute(Captured::Gradients { shape, drops }, pass, |network, _, b, pass| {
                pass::accumulate(network, b, shape, mode, drops, pass)
            })?;
            self.in_flight.push_back(Mark::now(&self.gpu)?);
            first += batch.n_tokens();
        }
        let update = self.update.clone();
        self.compute(Captured::Update, pass, |network, kernels, b, pass| {
            pass::update(network, kernels, b, &update, pass)
        })?;
        self.recorded += 1;
        Ok(Outcome::Done)
    }

    fn norms(&mut self) -> Result<Vec<ViewNorms>, SimError> {
        let norms = self.buffers.get_mut().norms.read()?;
        let of = |n: &[f32]| ViewNorms { weight: n[0], gradient: n[1], update: n[2] };
        Ok(norms.chunks_exact(3).map(of).collect())
    }

    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError> {
        progress.report("activations", 0.0)?;
        self.read_activations(tokens, site)
    }
}
