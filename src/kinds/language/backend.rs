//! What the simulation of a language model asks of a backend: batches, optimiser settings, decoders.
//!
//! A backend holds parameters, optimiser states and workspace. Everything else belongs to the simulation: which tokens are
//! trained on, the learning rate of a step, what is frozen, curves and texts. Values are exchanged in f32, whatever the backend
//! stores.

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

/// Target of a token that is not predicted.
pub const IGNORED: i32 = -1;

/// Sequences of one length, to train on or to score.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Sequences, B.
    pub sequences: usize,
    /// Tokens per sequence, at most the context.
    pub seq_len: usize,
    /// `[B, seq_len]`, each less than the vocabulary.
    pub tokens: &'a [u32],
    /// `[B, seq_len]`: the token that follows, or [`IGNORED`].
    pub targets: &'a [i32],
    /// Which of the tokens belong together.
    pub lengths: Lengths<'a>,
}

/// Which tokens of a batch belong together. A token attends to tokens of its sequence only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lengths<'a> {
    /// Every sequence is full.
    #[default]
    Full,
    /// The first `lens[b]` tokens of sequence b; the others are padding, whose values change nothing.
    Padded(&'a [i32]),
    /// Sequences one behind the other: number i has the tokens `offsets[i]..offsets[i + 1]` of the whole batch, at positions
    /// from 0. None is longer than the context; `sequences · seq_len` tokens in all.
    Packed(&'a [i32]),
}

impl Batch<'_> {
    /// Tokens, padding included.
    pub const fn n_tokens(&self) -> usize {
        self.sequences * self.seq_len
    }

    /// Tokens that are predicted; those of padding are not.
    pub fn n_targets(&self) -> usize {
        self.masked_targets().iter().filter(|target| **target != IGNORED).count()
    }

    /// Targets, without those of padding.
    pub fn masked_targets(&self) -> Vec<i32> {
        let mut targets = self.targets.to_vec();
        if let Lengths::Padded(lens) = self.lengths {
            for (row, len) in targets.chunks_mut(self.seq_len.max(1)).zip(lens) {
                row[(*len).max(0) as usize..].fill(IGNORED);
            }
        }
        targets
    }

    /// Checks lengths and tokens for a model of this context and vocabulary.
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

/// Which update matrices of blocks take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MatrixUpdate {
    /// AdamW, as all other parameters.
    AdamW,
    /// Muon.
    Muon {
        /// Decay of the momentum.
        momentum: f32,
        /// Learning rate, as a multiple of that of other parameters.
        rate: f32,
    },
}

/// What the optimiser and dropout use in a step. On a device they are read from memory, so that a captured step stays
/// valid; a change of [`MatrixUpdate`] between AdamW and Muon, or of dropout between 0 and more, captures again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hyper {
    /// Learning rate.
    pub learning_rate: f32,
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Added to the root of the second moment.
    pub eps: f32,
    /// Decoupled weight decay, of embeddings and matrices.
    pub weight_decay: f32,
    /// Largest norm of the gradient; 0: any.
    pub clip: f32,
    /// Probability of dropping an activation.
    pub dropout: f32,
    /// Probability of dropping an attention probability.
    pub attention_dropout: f32,
    /// What changes matrices of blocks.
    pub matrices: MatrixUpdate,
}

impl Hyper {
    /// Constants of AdamW.
    pub fn adamw(&self) -> AdamW {
        let [beta1, beta2, eps] = [self.beta1, self.beta2, self.eps].map(f64::from);
        AdamW { beta1, beta2, eps }
    }

    /// Constants of Muon.
    pub fn muon(&self) -> Muon {
        let momentum = match self.matrices {
            MatrixUpdate::Muon { momentum, .. } => momentum.into(),
            MatrixUpdate::AdamW => 0.0,
        };
        Muon { momentum, ..Muon::default() }
    }

    /// How a parameter is updated, of which weight decay is applied to or not, and which is a matrix of a block or not.
    pub fn rule(&self, decays: bool, is_hidden_matrix: bool, is_frozen: bool) -> Rule {
        let decay = if decays { f64::from(self.weight_decay) } else { 0.0 };
        match self.matrices {
            MatrixUpdate::Muon { rate, .. } if is_hidden_matrix => {
                // The decay is of the learning rate, not of that of the matrices.
                let rate = f64::from(rate);
                Rule { decay: decay / rate.max(f64::MIN_POSITIVE), lr_factor: rate, is_frozen, method: Method::Muon }
            }
            _ => Rule { decay, is_frozen, ..Rule::default() },
        }
    }
}

/// What a step was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepStats {
    /// Mean loss over the targets, nats, with dropout.
    pub loss: f32,
    /// Norm of the gradient before clipping, without the loss scale.
    pub gradient_norm: f32,
    /// Loss scale that the step used; 1 without one.
    pub loss_scale: f32,
    /// Whether the gradient was not finite, so that the step changed no parameter.
    pub is_skipped: bool,
}

/// State of the optimiser beside its moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Steps that changed parameters: the power in bias corrections.
    pub updates: u64,
    /// Current loss scale.
    pub loss_scale: f32,
    /// Finite steps since it changed.
    pub finite_steps: u32,
}

/// A buffer with the ranges of the parameters, in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateBuffer {
    /// Weights; in 16-bit precision the master weights.
    Weights,
    /// First moments, of Muon the momentum.
    FirstMoment,
    /// Second moments.
    SecondMoment,
}

impl StateBuffer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Weights, Self::FirstMoment, Self::SecondMoment];
}

/// Euclidean norms of a parameter (a view of the map).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ViewNorms {
    /// Of its values after the step.
    pub weight: f32,
    /// Of its gradient before clipping.
    pub gradient: f32,
    /// Of the change of its values.
    pub update: f32,
}

/// Norms of each parameter of a map: of the weights, of the gradient, and of the change since `before`.
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

/// Whether a step was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was.
    Done,
    /// It was interrupted: nothing changed.
    Stopped,
}

/// Reads tokens and predicts the next ones, with a cache of keys and values.
pub trait Decoder {
    /// Tokens in the cache, at most the context.
    fn len(&self) -> usize;
    /// Whether the cache is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Empties the cache.
    fn clear(&mut self);
    /// Appends tokens to the cache. Logits after each of them, `[tokens, padded vocabulary]`. More than the context are an
    /// error.
    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError>;
}

/// A copy of a model as it was, which writes a text beside later steps of the model.
pub trait TextModel: Send {
    /// A decoder with an empty cache.
    fn decoder(&mut self) -> Result<Box<dyn Decoder + '_>, SimError>;
}

/// A model on one device, whatever it computes. Traits of kinds add their training step and what they show.
pub trait Backend: Send {
    /// Moves what the steps since the last call were to the end of `out`, oldest first. Waits for the device. At most
    /// [`MAX_WAITING_STEPS`] may wait.
    fn take_stats(&mut self, out: &mut Vec<StepStats>) -> Result<(), SimError>;
    /// Losses of batches without dropout, one behind the other, per token in nats; 0 where the target is [`IGNORED`]. Changes no
    /// state. Looks at [`Pass::is_stopping`] within every 100 ms; when it is stopped the losses are incomplete.
    fn evaluate(&mut self, batches: &[Batch<'_>], losses: &mut [f32], pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Batches of the size of training to evaluate by one call.
    fn batches_at_once(&self) -> usize {
        1
    }
    /// Norms of each parameter in the step that is `ago` steps before the last one. Its input asked for them, and it is
    /// among the steps that the last call of [`take_stats`](Self::take_stats) moved.
    fn norms(&mut self, ago: u64) -> Result<Vec<ViewNorms>, SimError>;
    /// A decoder with an empty cache. Changes no state of the model.
    fn decoder(&self) -> Result<Box<dyn Decoder + '_>, SimError>;
    /// The model as it is now, for a text that is written while it takes further steps; `None` where that is not possible. The copy
    /// before it is not in use any more.
    fn text_model(&mut self) -> Result<Option<Arc<Mutex<dyn TextModel>>>, SimError> {
        Ok(None)
    }
    /// Copies a buffer to the host: the elements of the map from `start` on.
    fn read(&self, buffer: StateBuffer, start: usize, to: &mut [f32]) -> Result<(), SimError>;
    /// Copies elements of a buffer from the host, from `start` on.
    fn write(&mut self, buffer: StateBuffer, start: usize, from: &[f32]) -> Result<(), SimError>;
    /// State of the optimiser beside its moments.
    fn counters(&self) -> Result<Counters, SimError>;
    /// Sets it.
    fn set_counters(&mut self, counters: Counters) -> Result<(), SimError>;
    /// Device and implementations.
    fn execution(&self) -> Execution;
    /// What it does otherwise than asked.
    fn notices(&self) -> Vec<String> {
        vec![]
    }
    /// Memory held.
    fn memory(&self) -> MemoryReport;
    /// Registers, shared memory and occupancy of its kernels.
    fn kernels(&self) -> Vec<KernelFacts> {
        vec![]
    }
}

/// Most steps whose [`StepStats`] wait on a device.
pub const MAX_WAITING_STEPS: usize = 1024;
