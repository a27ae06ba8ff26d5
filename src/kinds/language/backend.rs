//! Interface between the simulation of a language model and its backends: batches, optimiser settings, decoders.
//!
//! A backend contains parameters, optimiser state and workspace. The simulation determines the training tokens, the
//! learning rate of a step, frozen layers, curves and sampled texts. Values are exchanged in f32, in whatever format the
//! backend stores them.

use crate::{
    gpu::{KernelFacts, Pass},
    nn::{
        optimizer::{AdamW, Method, Muon, Rule, cpu::sum_of_squares},
        parameters::{ParameterMap, View},
        real::Real,
    },
    sim::{Execution, MemoryReport, SimError},
};
use std::sync::{Arc, Mutex};

/// Target of a token without loss, such as padding.
pub const IGNORED: i32 = -1;

/// Batch of sequences for training or evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Number of sequences, B.
    pub sequences: usize,
    /// Number of tokens per sequence, at most the context.
    pub seq_len: usize,
    /// Token ids `[B, seq_len]`, each below the vocabulary size.
    pub tokens: &'a [u32],
    /// Next token of each token, `[B, seq_len]`; [`IGNORED`] for tokens without a loss.
    pub targets: &'a [i32],
    /// Layout of the sequences.
    pub lengths: Lengths<'a>,
}

/// Layout of the sequences in a batch. A token attends only to tokens of its own sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lengths<'a> {
    /// Every sequence is full.
    #[default]
    Full,
    /// Only the first `lens[b]` tokens of sequence b are valid, with one length per sequence, `[B]`. The values of the
    /// padding have no effect.
    Padded(&'a [i32]),
    /// Concatenated sequences: sequence i has the tokens `offsets[i]..offsets[i + 1]` of the whole batch, with positions
    /// from 0. Each sequence is at most as long as the context; together they have `sequences · seq_len` tokens.
    Packed(&'a [i32]),
}

impl Batch<'_> {
    /// Returns the number of tokens, including padding.
    pub const fn n_tokens(&self) -> usize {
        self.sequences * self.seq_len
    }

    /// Returns the number of tokens with a loss. Padding has no loss.
    pub fn n_targets(&self) -> usize {
        self.masked_targets().iter().filter(|target| **target != IGNORED).count()
    }

    /// Returns the targets, `[B, seq_len]`, in which those of padding are [`IGNORED`].
    pub fn masked_targets(&self) -> Vec<i32> {
        let mut targets = self.targets.to_vec();
        if let Lengths::Padded(lens) = self.lengths {
            for (row, len) in targets.chunks_mut(self.seq_len.max(1)).zip(lens) {
                row[(*len).max(0) as usize..].fill(IGNORED);
            }
        }
        targets
    }

    /// Checks the lengths, tokens and targets against the context and vocabulary of a model. Fails with the first mistake.
    pub fn check(&self, context: usize, vocab: usize) -> Result<(), SimError> {
        let wrong = |why: String| Err(SimError::Input(format!("a batch does not fit the model: {why}")));
        if self.seq_len > context {
            return wrong(format!("sequences of {} tokens, the context is {}", self.seq_len, context));
        }
        if self.tokens.len() != self.n_tokens() || self.targets.len() != self.n_tokens() {
            return wrong(format!("{} tokens and {} targets", self.tokens.len(), self.targets.len()));
        }
        let is_target = |t: &i32| *t == IGNORED || (0..vocab as i64).contains(&i64::from(*t));
        if !self.tokens.iter().all(|t| (*t as usize) < vocab) || !self.targets.iter().all(is_target) {
            return wrong(format!("a token is not one of the {vocab} of the vocabulary"));
        }
        let fits = match self.lengths {
            Lengths::Full => true,
            Lengths::Padded(lens) => {
                lens.len() == self.sequences && lens.iter().all(|n| (0..=self.seq_len as i64).contains(&i64::from(*n)))
            }
            Lengths::Packed(offsets) => {
                let ends = (offsets.first().copied(), offsets.last().map(|end| *end as usize));
                let is_short = |pair: &[i32]| pair[0] <= pair[1] && (pair[1] - pair[0]) as usize <= context;
                ends == (Some(0), Some(self.n_tokens())) && offsets.windows(2).all(is_short)
            }
        };
        if fits { Ok(()) } else { wrong("lengths of sequences".to_owned()) }
    }
}

/// Update rule of the weight matrices in blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MatrixUpdate {
    /// AdamW, which also updates all other parameters.
    AdamW,
    /// Muon: momentum SGD with orthogonalised updates.
    Muon {
        /// Decay of the momentum.
        momentum: f32,
        /// Learning rate as a multiple of the rate of other parameters.
        rate: f32,
    },
}

/// Optimiser and dropout settings of a step. A device reads them from memory, so that a captured step stays valid. A change
/// of [`MatrixUpdate`] between AdamW and Muon, or of dropout between 0 and a positive value, requires a new capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyper {
    /// Learning rate of the step, including warm-up and schedule.
    pub learning_rate: f32,
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Constant added to the root of the second moment.
    pub eps: f32,
    /// Decoupled weight decay of embeddings and matrices.
    pub weight_decay: f32,
    /// Maximum gradient norm; 0 for no clipping.
    pub clip: f32,
    /// Dropout probability of activations.
    pub dropout: f32,
    /// Dropout probability of attention probabilities.
    pub attention_dropout: f32,
    /// Update rule of matrices in blocks.
    pub matrices: MatrixUpdate,
}

impl Hyper {
    /// Returns the constants of AdamW.
    pub fn adamw(&self) -> AdamW {
        let [beta1, beta2, eps] = [self.beta1, self.beta2, self.eps].map(f64::from);
        AdamW { beta1, beta2, eps }
    }

    /// Returns the constants of Muon; without Muon, the momentum is 0.
    pub fn muon(&self) -> Muon {
        let momentum = match self.matrices {
            MatrixUpdate::Muon { momentum, .. } => momentum.into(),
            MatrixUpdate::AdamW => 0.0,
        };
        Muon { momentum, ..Muon::default() }
    }

    /// Returns the update rule of a parameter. `decays` states whether weight decay applies to the parameter, and
    /// `is_hidden_matrix` whether it is a matrix in a block.
    pub fn rule(&self, decays: bool, is_hidden_matrix: bool, is_frozen: bool) -> Rule {
        let decay = if decays { f64::from(self.weight_decay) } else { 0.0 };
        match self.matrices {
            MatrixUpdate::Muon { rate, .. } if is_hidden_matrix => {
                // Weight decay is relative to the base rate, not to the rate of Muon.
                let rate = f64::from(rate);
                Rule { decay: decay / rate.max(f64::MIN_POSITIVE), lr_factor: rate, is_frozen, method: Method::Muon }
            }
            _ => Rule { decay, is_frozen, ..Rule::default() },
        }
    }
}

/// Statistics of a training step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepStats {
    /// Mean loss over the targets, nats, with dropout; of a population, the mean over its members.
    pub loss: f32,
    /// Statistics of the gradient; `None` if the step computes no gradient.
    pub gradient: Option<GradientStats>,
}

impl StepStats {
    /// Whether the update was skipped because the gradient was not finite.
    pub fn is_skipped(&self) -> bool {
        self.gradient.is_some_and(|gradient| gradient.is_skipped)
    }
}

/// Statistics of the gradient of a training step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GradientStats {
    /// Gradient norm before clipping, with the loss scale divided out.
    pub norm: f32,
    /// Loss scale of the step; 1 without loss scaling.
    pub loss_scale: f32,
    /// Whether the update was skipped because the gradient was not finite.
    pub is_skipped: bool,
}

/// Optimiser state other than the moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Number of applied updates, the exponent in the bias corrections of AdamW.
    pub updates: u64,
    /// Current loss scale.
    pub loss_scale: f32,
    /// Number of finite steps since the loss scale changed.
    pub finite_steps: u32,
}

/// State buffer in the layout of the parameters, exchanged in f32. A kind declares which of them it has
/// ([`LanguageKind::buffers`](super::kind::LanguageKind::buffers)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateBuffer {
    /// Weights; the master weights if the model computes in fewer bits.
    Weights,
    /// First moments of Adam, or momentum.
    FirstMoment,
    /// Second moments of Adam.
    SecondMoment,
}

impl StateBuffer {
    /// All buffers, in the order of a saved state.
    pub const ALL: [Self; 3] = [Self::Weights, Self::FirstMoment, Self::SecondMoment];
}

/// Euclidean norms of a parameter, which is a view of the parameter map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ViewNorms {
    /// Norm of the values after the step.
    pub weight: f32,
    /// Norm of the gradient before clipping.
    pub gradient: f32,
    /// Norm of the change of the values in the step.
    pub update: f32,
}

/// Computes the norms of each parameter: of its values, its gradient, and its change since `before`.
pub fn view_norms<R: Real>(map: &ParameterMap, before: &[R], weights: &[R], gradient: &[R]) -> Vec<ViewNorms> {
    let norm = |x: &[R]| sum_of_squares(x).sqrt() as f32;
    let of = |view: &View| {
        let range = view.range();
        let pairs = weights[range.clone()].iter().zip(&before[range.clone()]);
        let change: f64 = pairs.map(|(w, b)| (w.f64() - b.f64()).powi(2)).sum();
        ViewNorms {
            weight: norm(&weights[range.clone()]),
            gradient: norm(&gradient[range]),
            update: change.sqrt() as f32,
        }
    };
    map.views().map(of).collect()
}

/// Result of a step or an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The step or evaluation was completed.
    Done,
    /// The step or evaluation was interrupted; the state is unchanged.
    Stopped,
}

/// Decoder that reads tokens into a KV cache and predicts the next token.
pub trait Decoder {
    /// Returns the number of cached tokens, at most the context.
    fn len(&self) -> usize;
    /// Whether the cache is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Empties the cache.
    fn clear(&mut self);
    /// Appends tokens to the cache. Returns the logits after each token, `[tokens, padded vocabulary]`. Fails if the cache
    /// would exceed the context, or if the device fails.
    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError>;
}

/// Snapshot of a model that samples a text concurrently with further training steps.
pub trait TextModel: Send {
    /// Creates a decoder with an empty cache. Fails if the device fails.
    fn decoder(&mut self) -> Result<Box<dyn Decoder + '_>, SimError>;
}

/// Model on one device. Kinds add traits with their training step and their readings.
pub trait Backend: Send {
    /// Appends the statistics of the steps since the last call to `out`, oldest first. Waits for the device. At most
    /// [`MAX_WAITING_STEPS`] steps may be pending. Fails if the device fails.
    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError>;
    /// Writes the loss of each token of the batches, concatenated, in nats and without dropout; 0 for the target
    /// [`IGNORED`]. Changes no state. Checks [`Pass::is_stopping`] at least every 100 ms; the losses of a stopped call are
    /// incomplete. Fails if a batch does not fit the model or the device fails.
    fn evaluate(&mut self, batches: &[Batch<'_>], losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Returns the number of training-sized batches that one call of `evaluate` should process.
    fn batches_at_once(&self) -> usize {
        1
    }
    /// Creates a decoder with an empty cache. The state of the model does not change. Fails if memory is exhausted or
    /// another reading uses the model.
    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError>;
    /// Returns a snapshot of the model for a text that is sampled concurrently with further steps; `None` if the backend
    /// cannot create one. The previous snapshot must no longer be in use. Fails if the device fails.
    fn text_model(&mut self) -> Result<Option<Arc<Mutex<dyn TextModel>>>, SimError> {
        Ok(None)
    }
    /// Copies elements `start..start + to.len()` of a buffer to the host. Fails if the device fails.
    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError>;
    /// Copies `from` to the elements of a buffer that begin at `start`. Fails if the device fails.
    fn write(&mut self, buffer: StateBuffer, start: usize, from: &[f32]) -> Result<(), SimError>;
    /// Returns the optimiser state other than the moments. Fails if the device fails.
    fn counters(&self) -> Result<Counters, SimError>;
    /// Sets the optimiser state other than the moments. Fails if the device fails.
    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError>;
    /// Returns the device and implementations in use, for the report.
    fn execution(&self) -> Execution;
    /// Returns the deviations from the requested settings, one sentence each.
    fn notices(&self) -> Vec<String> {
        vec![]
    }
    /// Returns the memory in use, by owner.
    fn memory(&self) -> MemoryReport;
    /// Returns the registers, shared memory and occupancy of the kernels in use.
    fn kernels(&self) -> Vec<KernelFacts> {
        vec![]
    }
}

/// Model that is trained by gradients on one device.
pub trait GradientBackend: Backend {
    /// Returns the norms of each parameter in the step that is `ago` steps before the last one. The input of this step must
    /// have requested norms, and the last call of [`take_stats`](Backend::take_stats) must have collected the step. Fails if
    /// the device fails.
    fn norms(&mut self, ago: u64) -> Result<Vec<ViewNorms>, SimError>;
}

/// Maximum number of steps whose [`StepStats`] may be pending on a device.
pub const MAX_WAITING_STEPS: usize = 1024;
