//! Backend of a model on a GPU: copies batches to the device, captures passes as CUDA graphs, and reads results back on
//! request.

mod evaluate;

use super::{
    MODULES,
    batch::MAX_KEPT,
    buffers::UpdatePlan,
    captures::Captures,
    kernels::{StepKernels, StepParams},
    model::{DeviceModel, MicroBatch, ModelBuffers, ModelParts, SizesOf},
    plan::shape_of,
    text_copy::TextCopy,
};
use crate::{
    gpu::{Gpu, GpuError, KernelFacts, Mark, Pass, Place},
    kinds::language::{
        backend::{
            Backend, Batch, Counters, Decoder, GradientBackend, Hyper, Outcome, StateBuffer, StepStats, TextModel,
            ViewNorms,
        },
        plan::BatchShape,
    },
    nn::optimizer::{LossScaler, ParameterGroups, cuda::OptimizerSettings},
    sim::{Buffers as _, Execution, MemoryReport, SimError},
};
use std::{
    cell::{Cell, Ref, RefCell, RefMut},
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Maximum number of batches in flight. The host waits for an earlier batch before it submits another one.
const IN_FLIGHT: usize = 2;

/// Model on a GPU.
pub struct CudaBackend<M: DeviceModel> {
    /// Captured passes; declared first, so that they are dropped before the buffers that they reference.
    captures: RefCell<Captures<M::Captured>>,
    /// Layers and sizes of the model.
    pub network: M,
    /// Kernels of training steps.
    pub kernels: StepKernels,
    buffers: RefCell<ModelBuffers<M>>,
    /// Device of the model.
    pub gpu: Arc<Gpu>,
    /// Names of the implementations in use, for the report.
    pub choices: Vec<(String, String)>,
    /// Sizes for which the buffers are allocated.
    pub sizes: SizesOf<M>,
    /// Per-step state of the kind on the host.
    pub host: M::HostState,
    scaler: LossScaler,
    in_flight: VecDeque<Mark>,
    /// Copy of the model that samples texts; `None` before the first text is due.
    texts: Option<Arc<Mutex<TextCopy<M>>>>,
    /// Device memory of the copy `texts` at the last measurement, bytes.
    text_bytes: Cell<u64>,
    /// Number of steps recorded on the device. `read` is the number of those that the host has read.
    recorded: u64,
    read: u64,
}

/// Converts a failed borrow to an error. A borrow fails if another reading uses the model.
fn in_use<E>(_: E) -> SimError {
    SimError::Input("the model is in use by another reading".to_owned())
}

impl<M: DeviceModel> CudaBackend<M> {
    /// Allocates a model with zero weights for batches of up to `sequences` sequences of the context length. Fails if a
    /// kernel cannot be loaded or memory is exhausted.
    pub fn new(
        gpu: &Arc<Gpu>,
        network: M,
        sequences: usize,
        scaler: LossScaler,
        choices: &[(&str, &str)],
    ) -> Result<Self, SimError> {
        let sizes = network.sizes(sequences);
        let mut buffers = ModelBuffers::<M>::allocate(gpu, &sizes)?;
        let ModelParts { map, ops, seed, is_stochastic, .. } = network.parts();
        let is_stochastic = is_stochastic.into();
        let settings = OptimizerSettings { seed, is_stochastic, ..OptimizerSettings::default() };
        buffers.trained.begin_training(map, &scaler, settings)?;
        let library = ops.gemm.library().map_or_else(|_| "none".to_owned(), |library| library.name());
        if ops.options.backend.is_none() {
            ops.gemm.log_missing_library();
        }
        let own = ops.gemm.own_implementations();
        let choices = choices.iter().copied();
        let choices = choices.chain([("library of multiplications", &library[..]), ("own multiplications", own)]);
        Ok(Self {
            captures: RefCell::default(),
            kernels: StepKernels::load(gpu)?,
            buffers: RefCell::new(buffers),
            gpu: gpu.clone(),
            choices: choices.map(|(name, by)| (name.to_owned(), by.to_owned())).collect(),
            network,
            sizes,
            host: M::HostState::default(),
            scaler,
            in_flight: VecDeque::new(),
            texts: None,
            text_bytes: Cell::default(),
            recorded: 0,
            read: 0,
        })
    }

    /// Returns the buffers of the model. Fails if another reading uses them.
    pub fn buffers(&self) -> Result<Ref<'_, ModelBuffers<M>>, SimError> {
        self.buffers.try_borrow().map_err(in_use)
    }

    /// Returns the mutable buffers, for a reading that uses the workspace. Fails if another reading uses them.
    pub fn workspace(&self) -> Result<RefMut<'_, ModelBuffers<M>>, SimError> {
        self.buffers.try_borrow_mut().map_err(in_use)
    }

    /// Returns the mutable buffers. Call [`forget`](Self::forget) before replacing a buffer, because graphs reference it.
    pub fn buffers_mut(&mut self) -> &mut ModelBuffers<M> {
        self.buffers.get_mut()
    }

    /// Returns the mutable network and its mutable buffers.
    pub fn parts_mut(&mut self) -> (&mut M, &mut ModelBuffers<M>) {
        (&mut self.network, self.buffers.get_mut())
    }

    /// Synchronises, then drops all captured passes and the copy that samples texts. Fails if the device fails.
    pub fn forget(&mut self) -> Result<(), GpuError> {
        self.gpu.synchronize()?;
        self.texts = None;
        self.captures.get_mut().forget(None);
        Ok(())
    }

    /// Synchronises, then drops the captured updates. Fails if the device fails.
    pub fn forget_updates(&mut self) -> Result<(), GpuError> {
        self.gpu.synchronize()?;
        [false, true].into_iter().for_each(|measures| self.captures.get_mut().forget(Some(M::update(measures))));
        Ok(())
    }

    /// Returns the copy that samples texts, which is created at the first call; `None` if device memory is short. Fails if
    /// the device fails.
    fn text_copy(&mut self) -> Result<Option<Arc<Mutex<TextCopy<M>>>>, GpuError> {
        if self.texts.is_none() {
            self.texts = match TextCopy::new(&self.network, &self.gpu) {
                Ok(copy) => copy.map(|copy| Arc::new(Mutex::new(copy))),
                Err(GpuError::OutOfMemory { .. }) => None,
                Err(why) => return Err(why),
            };
        }
        Ok(self.texts.clone())
    }

    /// Returns the number of steps recorded.
    pub const fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Grows the batch buffers and the arena to fit a batch. Fails if memory is exhausted.
    pub fn reserve(&mut self, shape: &BatchShape) -> Result<(), SimError> {
        let (tokens, arena) = (shape.n_tokens(), self.network.arena_bytes(shape));
        let held = self.sizes.batch;
        if tokens <= held.tokens && arena <= held.arena {
            return Ok(());
        }
        let mut sizes = self.network.sizes(tokens.max(held.tokens).div_ceil(self.network.parts().context));
        sizes.batch.arena = sizes.batch.arena.max(arena).max(held.arena);
        self.forget()?;
        self.buffers.get_mut().batch.resize(&self.gpu, &sizes.batch)?;
        self.sizes = sizes;
        Ok(())
    }

    /// Sets the optimiser settings, parameter groups and plan of further updates, and whether the next update measures
    /// norms of parameters. Fails if the device fails.
    pub fn set_optimizer(
        &mut self,
        hyper: &Hyper,
        groups: ParameterGroups,
        update: UpdatePlan,
        measures: bool,
    ) -> Result<(), SimError> {
        let (muon, scaler, parts) = (hyper.muon(), &self.scaler, self.network.parts());
        let settings = OptimizerSettings {
            learning_rate: hyper.learning_rate.into(),
            beta1: hyper.beta1.into(),
            beta2: hyper.beta2.into(),
            seed: parts.seed,
            eps: hyper.eps,
            clip: hyper.clip,
            momentum: muon.momentum as f32,
            growth: scaler.growth as f32,
            backoff: scaler.backoff as f32,
            interval: scaler.interval,
            is_nesterov: muon.is_nesterov.into(),
            is_stochastic: parts.is_stochastic.into(),
        };
        let trained = &mut self.buffers.get_mut().trained;
        trained.set_measures(&self.gpu, measures)?;
        if trained.set_update(parts.map, settings, groups, update)? {
            self.forget_updates()?;
        }
        Ok(())
    }

    /// Runs a pass, launch by launch at first and as a captured graph later. Fails if the pass fails.
    pub fn compute(&mut self, what: M::Captured, pass: &mut Pass) -> Result<(), SimError> {
        let Self { captures, network, kernels, buffers, gpu, .. } = self;
        let buffers = buffers.get_mut();
        let launch = |pass: &mut Pass| network.launch(kernels, buffers, what, pass);
        Ok(captures.get_mut().run(gpu, what, pass, launch)?)
    }

    /// Waits until fewer than [`IN_FLIGHT`] batches are in flight. Fails if the device fails.
    fn wait_for_earlier(&mut self) -> Result<(), GpuError> {
        while self.in_flight.len() >= IN_FLIGHT {
            let Some(mark) = self.in_flight.pop_front() else { break };
            mark.wait()?;
        }
        Ok(())
    }

    /// Checks that the batches fit the model, and reserves memory for them. Fails if a batch does not fit or memory is
    /// exhausted.
    pub fn reserve_all(&mut self, batches: &[Batch<'_>]) -> Result<(), SimError> {
        let (ModelParts { context, vocab, .. }, is_divided) = (self.network.parts(), self.sizes.batch.is_divided);
        batches.iter().try_for_each(|batch| batch.check(context, vocab))?;
        batches.iter().try_for_each(|batch| self.reserve(&shape_of(batch, 0..batch.sequences, is_divided)?))
    }

    /// Runs a training step: the gradients of all micro-batches, then the update. For each micro-batch, `prepare` uploads
    /// the inputs and returns the key of the pass. Memory must be [reserved](Self::reserve_all) for the batches. Fails if
    /// the device fails.
    pub fn train(
        &mut self,
        batches: &[Batch<'_>],
        pass: &mut Pass,
        prepare: impl Fn(&M, &mut ModelBuffers<M>, MicroBatch<'_>) -> Result<M::Captured, SimError>,
    ) -> Result<Outcome, SimError> {
        pass.begin_step();
        let targets = batches.iter().map(Batch::n_targets).sum::<usize>() as u64;
        let params = StepParams { record: self.recorded, targets };
        let written = if batches.is_empty() { vec![] } else { self.network.first_written() };
        self.buffers.get_mut().trained.begin_step(&self.kernels, params, &written, pass)?;
        let (mut first_token, mut first_sequence) = (0, 0);
        for batch in batches {
            self.wait_for_earlier()?;
            if pass.is_stopping() {
                return Ok(Outcome::Stopped);
            }
            let b = self.buffers.get_mut();
            let shape = b.batch.upload(batch, 0..batch.sequences)?;
            let what = prepare(&self.network, b, MicroBatch { batch, shape, first_token, first_sequence })?;
            self.compute(what, pass)?;
            self.in_flight.push_back(Mark::now(&self.gpu)?);
            first_token += batch.n_tokens();
            first_sequence += batch.sequences;
        }
        let measures = self.buffers.get_mut().trained.measures;
        self.compute(M::update(measures), pass)?;
        self.recorded += 1;
        Ok(Outcome::Done)
    }
}

impl<M: DeviceModel> Backend for CudaBackend<M> {
    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError> {
        self.buffers.get_mut().trained.read_records(self.read..self.recorded, out)?;
        self.read = self.recorded;
        Ok(())
    }

    fn batches_at_once(&self) -> usize {
        MAX_KEPT
    }

    fn evaluate(&mut self, batches: &[Batch<'_>], losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError> {
        self.evaluate_parts(batches, losses, pass)
    }

    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError> {
        Ok(self.network.decoder(&self.kernels, &self.captures, self.workspace()?))
    }

    fn text_model(&mut self) -> Result<Option<Arc<Mutex<dyn TextModel>>>, SimError> {
        let Some(texts) = self.text_copy()? else { return Ok(None) };
        let mut copy = texts.lock().unwrap_or_else(PoisonError::into_inner);
        copy.copy(self.buffers.get_mut(), &self.gpu)?;
        self.text_bytes.set(copy.bytes());
        drop(copy);
        Ok(Some(texts))
    }

    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError> {
        Ok(self.buffers()?.trained.read(buffer, start, to)?)
    }

    fn write(&mut self, buffer: StateBuffer, start: usize, from: &[f32]) -> Result<(), SimError> {
        let Self { network, buffers, .. } = self;
        Ok(buffers.get_mut().trained.write(buffer, start, from, &network.parts().ops.optimizer)?)
    }

    fn counters(&self) -> Result<Counters, SimError> {
        Ok(self.buffers()?.trained.counters()?)
    }

    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError> {
        let Self { network, buffers, scaler, .. } = self;
        Ok(buffers.get_mut().trained.set_counters(counters, scaler, &network.parts().ops.optimizer)?)
    }

    fn execution(&self) -> Execution {
        Execution::cuda(&self.gpu).with(self.choices.iter().map(|(name, by)| (name.as_str(), by.as_str())))
    }

    fn notices(&self) -> Vec<String> {
        self.network.parts().ops.notice().map(|why| format!("compute.gemm: {why}")).into_iter().collect()
    }

    fn memory(&self) -> MemoryReport {
        let mut report = self.buffers.try_borrow().map(|b| b.held()).unwrap_or_default();
        self.network.report(&mut report);
        if let Some(texts) = &self.texts {
            // The copy is locked while a text is in progress. In this case the last measured size is reported.
            let _ = texts.try_lock().map(|copy| self.text_bytes.set(copy.bytes()));
            report.add("texts", "copy of the model that writes texts", Place::Device, self.text_bytes.get());
        }
        report
    }

    fn kernels(&self) -> Vec<KernelFacts> {
        let own = M::MODULES.iter().chain(MODULES);
        let is_used = |file: &str| file.starts_with("nn/") || own.clone().any(|module| module.file == file);
        self.gpu.kernel_facts().into_iter().filter(|kernel| is_used(kernel.file)).collect()
    }
}

impl<M: DeviceModel> GradientBackend for CudaBackend<M> {
    fn norms(&mut self, ago: u64) -> Result<Vec<ViewNorms>, SimError> {
        Ok(self.buffers()?.trained.view_norms(self.recorded.saturating_sub(1 + ago))?)
    }
}
