//! A GPU as a backend: batches are copied to the device, passes are captured into graphs, results are read when they are
//! asked for.

mod evaluate;

use super::{
    MODULES,
    batch::{BatchBuffers, BatchSizes, MAX_KEPT},
    buffers::{Trained, UpdatePlan},
    error::OpError,
    format::ModelFormat,
    kernels::{StepKernels, StepParams},
    layers::ModelOps,
    plan::BatchShape,
};
use crate::{
    gpu::{Gpu, GpuError, Graph, KernelFacts, Mark, ModuleSpec, Pass, nvtx},
    kinds::language::backend::{Backend, Batch, Counters, Decoder, Hyper, Outcome, StateBuffer, StepStats},
    nn::{
        optimizer::{LossScaler, ParameterGroups, cuda::OptimizerSettings},
        parameters::ParameterMap,
    },
    sim::{Buffers, Execution, MemoryReport, SimError},
};
use std::{
    cell::{Ref, RefCell, RefMut},
    collections::{HashMap, VecDeque},
    fmt::Debug,
    hash::Hash,
    ops::Range,
    sync::Arc,
};

/// Batches that may be in flight: the host waits for the one before.
const IN_FLIGHT: usize = 2;
/// Captured passes that are kept.
const GRAPHS: usize = 32;

/// What a model of a kind holds on a device.
pub trait ModelBuffers<T: ModelFormat>: Buffers<Memory = Arc<Gpu>> {
    /// Weights and the state of their optimiser.
    fn trained(&self) -> &Trained<T>;
    /// The same, to write.
    fn trained_mut(&mut self) -> &mut Trained<T>;
    /// A batch and its activations.
    fn batch_mut(&mut self) -> &mut BatchBuffers;
    /// The part of the sizes that depends on batches.
    fn batch_sizes(sizes: &mut Self::Sizes) -> &mut BatchSizes;
}

/// A model of a kind on a device: its layers. [`CudaBackend`] does what all models have in common.
pub trait DeviceModel: Send + Sized {
    /// Format of the weights that layers multiply.
    type Format: ModelFormat;
    /// What it holds.
    type Buffers: ModelBuffers<Self::Format, Sizes: Send> + Send;
    /// Passes that can be captured. What one launches follows from this value and from what is in memory, else the captured
    /// passes are dropped by [`CudaBackend::forget`].
    type Captured: Copy + Debug + Eq + Hash + Send;
    /// State of the backend beside buffers.
    type Own: Default + Send;
    /// Kernels of the kind.
    const MODULES: &'static [ModuleSpec];
    /// The update.
    const UPDATE: Self::Captured;

    /// Tokens of a sequence at most, and of the vocabulary.
    fn limits(&self) -> [usize; 2];
    /// Names and ranges of the parameters.
    fn map(&self) -> &Arc<ParameterMap>;
    /// Operations.
    fn ops(&self) -> &ModelOps;
    /// Seed of the model.
    fn seed(&self) -> u64;
    /// Ranges of the gradient, in order, that the first micro-batch of a step writes; to the others all of them add.
    fn first_written(&self) -> Vec<Range<usize>> {
        vec![]
    }
    /// Whether weights in bf16 are rounded stochastically after an update.
    fn rounds_stochastically(&self) -> bool {
        false
    }
    /// Sizes for batches of up to that many sequences of the context.
    fn sizes(&self, sequences: usize) -> <Self::Buffers as Buffers>::Sizes;
    /// Bytes of an arena for a batch.
    fn arena_bytes(&self, shape: &BatchShape) -> usize;
    /// Adds the memory of its tables and operations.
    fn report(&self, to: &mut MemoryReport);

    /// Launches a pass.
    fn launch(
        &self,
        kernels: &StepKernels,
        b: &mut Self::Buffers,
        what: Self::Captured,
        pass: &mut Pass,
    ) -> Result<(), OpError>;
    /// The pass that writes the [losses](BatchBuffers::losses) of a batch in memory, without gradients and random draws.
    fn losses(shape: BatchShape) -> Self::Captured;
    /// A decoder with an empty cache.
    fn decoder<'a>(&'a self, kernels: &'a StepKernels, buffers: RefMut<'a, Self::Buffers>) -> Box<dyn Decoder + 'a>;
}

/// A micro-batch of a step, in memory.
#[derive(Clone, Copy, Debug)]
pub struct MicroBatch<'a> {
    /// On the host.
    pub batch: &'a Batch<'a>,
    /// Its sizes.
    pub shape: BatchShape,
    /// Tokens of the step before it.
    pub first_token: usize,
    /// Sequences of the step before it.
    pub first_sequence: usize,
}

/// A model on a GPU.
pub struct CudaBackend<M: DeviceModel> {
    /// Passes that were computed once (`None`), or captured. Dropped before the buffers they name.
    graphs: HashMap<M::Captured, Option<Graph>>,
    /// Its layers.
    pub network: M,
    /// Kernels of steps.
    pub kernels: StepKernels,
    buffers: RefCell<M::Buffers>,
    /// The device.
    pub gpu: Arc<Gpu>,
    /// Implementations, for the report.
    pub choices: Vec<(String, String)>,
    /// Sizes of the buffers.
    pub sizes: <M::Buffers as Buffers>::Sizes,
    /// What the kind adds.
    pub own: M::Own,
    scaler: LossScaler,
    in_flight: VecDeque<Mark>,
    /// Steps recorded, and of those the ones that were read.
    recorded: u64,
    read: u64,
}

/// An error of a device model that was asked for while another reading is under way.
fn in_use<E>(_: E) -> SimError {
    SimError::Input("the model is in use by another reading".to_owned())
}

impl<M: DeviceModel> CudaBackend<M> {
    /// With zero weights, for batches of up to that many sequences of the context.
    pub fn new(
        gpu: &Arc<Gpu>,
        network: M,
        sequences: usize,
        scaler: LossScaler,
        choices: &[(&str, &str)],
    ) -> Result<Self, SimError> {
        let sizes = network.sizes(sequences);
        let mut buffers = M::Buffers::allocate(gpu, &sizes)?;
        let (seed, is_stochastic) = (network.seed(), network.rounds_stochastically().into());
        let settings = OptimizerSettings { seed, is_stochastic, ..OptimizerSettings::default() };
        buffers.trained_mut().begin_training(network.map(), &scaler, settings)?;
        Ok(Self {
            graphs: HashMap::new(),
            network,
            kernels: StepKernels::load(gpu)?,
            buffers: RefCell::new(buffers),
            gpu: gpu.clone(),
            choices: choices.iter().map(|(name, by)| ((*name).to_owned(), (*by).to_owned())).collect(),
            sizes,
            own: M::Own::default(),
            scaler,
            in_flight: VecDeque::new(),
            recorded: 0,
            read: 0,
        })
    }

    /// What it holds.
    pub fn buffers(&self) -> Result<Ref<'_, M::Buffers>, SimError> {
        self.buffers.try_borrow().map_err(in_use)
    }

    /// What it holds, for a reading that uses memory of activations.
    pub fn workspace(&self) -> Result<RefMut<'_, M::Buffers>, SimError> {
        self.buffers.try_borrow_mut().map_err(in_use)
    }

    /// What it holds, to write. Call [`forget`](Self::forget) before a buffer is replaced: graphs name it.
    pub fn buffers_mut(&mut self) -> &mut M::Buffers {
        self.buffers.get_mut()
    }

    /// Network and buffers.
    pub fn parts_mut(&mut self) -> (&mut M, &mut M::Buffers) {
        (&mut self.network, self.buffers.get_mut())
    }

    /// Waits, and drops a captured pass, or all of them.
    pub fn forget(&mut self, what: Option<M::Captured>) -> Result<(), GpuError> {
        self.gpu.synchronize()?;
        match what {
            Some(what) => drop(self.graphs.remove(&what)),
            None => self.graphs.clear(),
        }
        Ok(())
    }

    /// Steps recorded.
    pub const fn recorded(&self) -> u64 {
        self.recorded
    }

    fn is_divided(&mut self) -> bool {
        M::Buffers::batch_sizes(&mut self.sizes).is_divided
    }

    /// Makes room for a batch.
    pub fn reserve(&mut self, shape: &BatchShape) -> Result<(), SimError> {
        let (tokens, arena) = (shape.n_tokens(), self.network.arena_bytes(shape));
        let held = *M::Buffers::batch_sizes(&mut self.sizes);
        if tokens <= held.tokens && arena <= held.arena {
            return Ok(());
        }
        let [context, _] = self.network.limits();
        let mut sizes = self.network.sizes(tokens.max(held.tokens).div_ceil(context));
        let of_batch = M::Buffers::batch_sizes(&mut sizes);
        of_batch.arena = of_batch.arena.max(arena).max(held.arena);
        let of_batch = *of_batch;
        self.forget(None)?;
        self.buffers.get_mut().batch_mut().resize(&self.gpu, &of_batch)?;
        self.sizes = sizes;
        Ok(())
    }

    /// Learning rate and other constants of the next update, which parameter it changes how, and by which plan.
    pub fn set_optimizer(
        &mut self,
        hyper: &Hyper,
        groups: ParameterGroups,
        update: UpdatePlan,
    ) -> Result<(), SimError> {
        let (muon, scaler) = (hyper.muon(), &self.scaler);
        let settings = OptimizerSettings {
            learning_rate: hyper.learning_rate.into(),
            beta1: hyper.beta1.into(),
            beta2: hyper.beta2.into(),
            seed: self.network.seed(),
            eps: hyper.eps,
            clip: hyper.clip,
            momentum: muon.momentum as f32,
            growth: scaler.growth as f32,
            backoff: scaler.backoff as f32,
            interval: scaler.interval,
            is_nesterov: muon.is_nesterov.into(),
            is_stochastic: self.network.rounds_stochastically().into(),
        };
        let trained = self.buffers.get_mut().trained_mut();
        if trained.set_update(&self.gpu, self.network.map(), settings, groups, update)? {
            self.forget(Some(M::UPDATE))?;
        }
        Ok(())
    }

    /// Computes a pass: launch by launch the first time and while kernels are measured, else as a graph.
    pub fn compute(&mut self, what: M::Captured, pass: &mut Pass) -> Result<(), SimError> {
        const DOING: &str = "capturing a step as a CUDA graph";
        let _range = nvtx::range_of(|| format!("{what:?}"));
        let Self { graphs, network, kernels, buffers, gpu, .. } = self;
        let buffers = buffers.get_mut();
        if !graphs.contains_key(&what) || pass.profiled {
            network.launch(kernels, buffers, what, pass)?;
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
                network.launch(kernels, buffers, what, pass).map_err(|error| error.into_gpu(DOING, &mut refused))
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
                    return Ok(network.launch(kernels, buffers, what, pass)?);
                }
            }
        }
        place.as_mut().map_or(Ok(()), Graph::launch)?;
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

    /// An error unless there is room for these batches, and they fit the model.
    pub fn reserve_all(&mut self, batches: &[Batch<'_>]) -> Result<(), SimError> {
        let ([context, vocab], is_divided) = (self.network.limits(), self.is_divided());
        batches.iter().try_for_each(|batch| batch.check(context, vocab))?;
        batches.iter().try_for_each(|batch| self.reserve(&BatchShape::of(batch, 0..batch.sequences, is_divided)?))
    }

    /// Takes a step by the optimiser that was set: gradients of micro-batches, for each of which `prepare` writes what its pass
    /// reads and names the pass, then the update. There is [room](Self::reserve_all) for the batches.
    pub fn train(
        &mut self,
        batches: &[Batch<'_>],
        pass: &mut Pass,
        prepare: impl Fn(&M, &mut M::Buffers, MicroBatch<'_>) -> Result<M::Captured, SimError>,
    ) -> Result<Outcome, SimError> {
        pass.begin_step();
        let targets = batches.iter().map(Batch::n_targets).sum::<usize>() as u64;
        let params = StepParams { record: self.recorded, targets };
        let written = if batches.is_empty() { vec![] } else { self.network.first_written() };
        self.buffers.get_mut().trained_mut().begin_step(&self.kernels, params, &written, pass)?;
        let (mut first_token, mut first_sequence) = (0, 0);
        for batch in batches {
            self.wait_for_earlier()?;
            if pass.is_stopping() {
                return Ok(Outcome::Stopped);
            }
            let b = self.buffers.get_mut();
            let shape = b.batch_mut().upload(batch, 0..batch.sequences)?;
            let what = prepare(&self.network, b, MicroBatch { batch, shape, first_token, first_sequence })?;
            self.compute(what, pass)?;
            self.in_flight.push_back(Mark::now(&self.gpu)?);
            first_token += batch.n_tokens();
            first_sequence += batch.sequences;
        }
        self.compute(M::UPDATE, pass)?;
        self.recorded += 1;
        Ok(Outcome::Done)
    }
}

impl<M: DeviceModel> Backend for CudaBackend<M> {
    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError> {
        self.buffers.get_mut().trained().read_records(self.read..self.recorded, out)?;
        self.read = self.recorded;
        Ok(())
    }

    fn evaluate(&mut self, batch: &Batch<'_>, losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError> {
        self.evaluate_all(&[*batch], losses, pass)
    }

    fn batches_at_once(&self) -> usize {
        MAX_KEPT
    }

    fn evaluate_all(
        &mut self,
        batches: &[Batch<'_>],
        losses: &mut [f32],
        pass: &mut Pass,
    ) -> Result<Outcome, SimError> {
        self.evaluate_parts(batches, losses, pass)
    }

    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError> {
        Ok(self.network.decoder(&self.kernels, self.workspace()?))
    }

    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError> {
        Ok(self.buffers()?.trained().read(buffer, start, to)?)
    }

    fn write(&mut self, buffer: StateBuffer, start: usize, from: &[f32]) -> Result<(), SimError> {
        let Self { network, buffers, .. } = self;
        Ok(buffers.get_mut().trained_mut().write(buffer, start, from, &network.ops().optimizer)?)
    }

    fn counters(&self) -> Result<Counters, SimError> {
        Ok(self.buffers()?.trained().counters()?)
    }

    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError> {
        let Self { network, buffers, scaler, .. } = self;
        Ok(buffers.get_mut().trained_mut().set_counters(counters, scaler, &network.ops().optimizer)?)
    }

    fn execution(&self) -> Execution {
        Execution::cuda(&self.gpu).with(self.choices.iter().map(|(name, by)| (name.as_str(), by.as_str())))
    }

    fn notices(&self) -> Vec<String> {
        self.network.ops().notice().map(|why| format!("compute.gemm: {why}")).into_iter().collect()
    }

    fn memory(&self) -> MemoryReport {
        let mut report = self.buffers.try_borrow().map(|b| b.held()).unwrap_or_default();
        self.network.report(&mut report);
        report
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        let own = M::MODULES.iter().chain(MODULES);
        let is_used = |file: &str| file.starts_with("nn/") || own.clone().any(|module| module.file == file);
        self.gpu.kernel_facts().into_iter().filter(|kernel| is_used(kernel.file)).collect()
    }
}
