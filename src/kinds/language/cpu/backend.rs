//! Backend of a model that computes in f32 on a thread pool.

use super::{decoder::Pooled, text_copy::TextCopy, trainer::TrainingState};
use crate::{
    gpu::Pass,
    kinds::{
        language::backend::{
            Backend, Batch, Counters, Decoder, GradientBackend, Outcome, StateBuffer, StepStats, TextModel, ViewNorms,
        },
        shared::threads::Threads,
    },
    sim::{Execution, MemoryReport, SimError},
};
use std::sync::{Arc, Mutex, Weak};

/// A model with its optimiser state and workspace.
pub trait CpuTrainer: Send {
    /// Floating-point type of the weights.
    type Real;
    /// Returns all weights, in the layout of the parameter map.
    fn weights(&self) -> &[Self::Real];
    /// Returns all weights as mutable values.
    fn weights_mut(&mut self) -> &mut [Self::Real];
    /// Returns the gradient, moments, counters and step statistics.
    fn state(&self) -> &TrainingState<Self::Real>;
    /// Returns the mutable gradient, moments, counters and step statistics.
    fn state_mut(&mut self) -> &mut TrainingState<Self::Real>;
    /// Writes the losses per token without dropout. Only the workspace changes. Fails if the batch does not fit the model.
    fn evaluate(&mut self, batch: &Batch<'_>, losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Creates a decoder with an empty cache. Fails if memory is exhausted.
    fn decoder(&self) -> Result<impl Decoder + Send + '_, SimError>;
    /// Copies the weights and tables that decoders read. Fails if memory is exhausted.
    fn text_network(&self) -> Result<impl TextNetwork + 'static, SimError>;
    /// Returns the host memory of weights and tables, and that of activations, bytes.
    fn n_bytes(&self) -> [u64; 2];
}

/// Weights and tables that decoders read.
pub trait TextNetwork: Send {
    /// Creates a decoder with an empty cache. Fails if memory is exhausted.
    fn decoder(&self) -> Result<impl Decoder + Send + '_, SimError>;
}

/// A model that computes in f32 on a thread pool.
pub struct CpuBackend<T> {
    /// Model, optimiser state and workspace.
    pub trainer: T,
    /// Pool that runs the operations of the model.
    pub threads: Threads,
    /// Copy of the model that samples a text; `None` before the first text.
    texts: Option<Weak<Mutex<dyn TextModel>>>,
}

impl<T: CpuTrainer<Real = f32>> CpuBackend<T> {
    /// Wraps a model with a pool of `n_threads` threads.
    pub fn of(trainer: T, n_threads: usize) -> Self {
        Self { trainer, threads: Threads::new(n_threads), texts: None }
    }
}

impl<T: CpuTrainer<Real = f32>> Backend for CpuBackend<T> {
    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError> {
        self.trainer.state_mut().take_stats(out);
        Ok(())
    }

    fn evaluate(&mut self, batches: &[Batch<'_>], losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError> {
        // The operations of an evaluation are not listed among those of a step.
        let mut inner = Pass::default();
        inner.stop = pass.stop.clone();
        let Self { trainer, threads, .. } = self;
        let n: usize = batches.iter().map(Batch::n_tokens).sum();
        pass.span("held-out", n as u64, || {
            let mut rest = losses;
            for batch in batches {
                let (own, others) = rest.split_at_mut(batch.n_tokens());
                if threads.run(|| trainer.evaluate(batch, own, &mut inner))? == Outcome::Stopped {
                    return Ok(Outcome::Stopped);
                }
                rest = others;
            }
            Ok(Outcome::Done)
        })
    }

    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError> {
        Ok(Box::new(Pooled { decoder: self.trainer.decoder()?, threads: &self.threads }))
    }

    /// Returns a copy that runs on its own thread; `None` if training has a single thread. Fails if memory is exhausted.
    fn text_model(&mut self) -> Result<Option<Arc<Mutex<dyn TextModel>>>, SimError> {
        if self.threads.number() < 2 {
            return Ok(None);
        }
        let copy: Arc<Mutex<dyn TextModel>> = Arc::new(Mutex::new(TextCopy::new(self.trainer.text_network()?)));
        self.texts = Some(Arc::downgrade(&copy));
        Ok(Some(copy))
    }

    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError> {
        let state = self.trainer.state();
        let from = match buffer {
            StateBuffer::Weights => self.trainer.weights(),
            StateBuffer::FirstMoment => &state.m,
            StateBuffer::SecondMoment => &state.v,
        };
        to.copy_from_slice(&from[start..start + to.len()]);
        Ok(())
    }

    fn write(&mut self, buffer: StateBuffer, start: usize, from: &[f32]) -> Result<(), SimError> {
        let to = match buffer {
            StateBuffer::Weights => self.trainer.weights_mut(),
            StateBuffer::FirstMoment => &mut self.trainer.state_mut().m,
            StateBuffer::SecondMoment => &mut self.trainer.state_mut().v,
        };
        to[start..start + from.len()].copy_from_slice(from);
        Ok(())
    }

    fn counters(&self) -> Result<Counters, SimError> {
        Ok(self.trainer.state().counters)
    }

    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError> {
        self.trainer.state_mut().counters = counters;
        Ok(())
    }

    fn execution(&self) -> Execution {
        Execution::cpu()
    }

    fn memory(&self) -> MemoryReport {
        let (mut report, state) = (MemoryReport::default(), self.trainer.state());
        let [parameters, activations] = self.trainer.n_bytes();
        report.host("parameters", parameters);
        report.host("gradient", state.gradient.len() as u64 * 4);
        report.host("optimiser", state.m.len() as u64 * 8);
        report.host("activations", activations);
        if self.texts.as_ref().is_some_and(|copy| copy.strong_count() > 0) {
            report.host("copy of the model that writes texts", parameters);
        }
        report
    }
}

impl<T: CpuTrainer<Real = f32>> GradientBackend for CpuBackend<T> {
    fn norms(&mut self, ago: u64) -> Result<Vec<ViewNorms>, SimError> {
        Ok(self.trainer.state().norms(ago))
    }
}
