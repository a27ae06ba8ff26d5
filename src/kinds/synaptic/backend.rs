//! What the simulation asks of a backend. The CPU is the definition.
//!
//! A backend holds parameters, optimiser states, the state of the routers and workspace. Everything else belongs to the
//! simulation: which tokens are trained on, the learning rate of a step, what is frozen, when the life cycle of experts
//! acts, individuals, curves and texts. Values are exchanged in f32, whatever the backend stores.

use crate::{
    gpu::Pass,
    kinds::{
        language::backend::{self as language, Batch, Decoder, Hyper, Outcome},
        synaptic::{
            experts::{LoadStatistics, Router, RouterState, Routing},
            life::{Edit, ExpertArrays, ExpertRecord},
            model::{Config, ConfigError},
            postsynaptic::FastMemory,
            presynaptic::Presynaptic,
        },
    },
    sim::{Progress, SimError},
};
use std::ops::Range;

/// What may change while a model trains: mechanisms and their constants.
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamics {
    /// Release of vesicles, as a bias of attention logits. Random in training only.
    pub presynaptic: Presynaptic,
    /// Selection of experts, metabolism, updates of the router's state.
    pub router: Router,
    /// Weight of the loss that balances the load of experts.
    pub aux_weight: f32,
}

impl Dynamics {
    /// Returns the recommended constants for a model of these sizes.
    pub fn new(config: &Config) -> Self {
        Self {
            presynaptic: Presynaptic::recommended(config.context),
            router: Router::new(config.experts, config.top_k, config.width),
            aux_weight: 0.01,
        }
    }

    /// Checks that they are of a model of these sizes.
    pub fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let router = (self.router.experts, self.router.top_k, self.router.width);
        if router != (config.experts, config.top_k, config.width) || self.presynaptic.context != config.context {
            return Err(ConfigError::Dynamics);
        }
        Ok(())
    }
}

/// A training step.
#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a> {
    /// Its number from 0: part of the addresses of random draws.
    pub step: u64,
    /// Micro-batches, in order. The gradient is that of the mean loss over all their targets. The slices are valid during
    /// the call only.
    pub batches: &'a [Batch<'a>],
    /// Learning rate and others.
    pub hyper: &'a Hyper,
    /// For each layer ([`Layout::layer_names`](super::model::Layout::layer_names)) whether it keeps its parameters and
    /// optimiser states.
    pub frozen: &'a [bool],
    /// For each expert, `[L, E]`, whether it keeps its matrices, its row of the router and their optimiser states.
    pub frozen_experts: &'a [bool],
    /// Whether [`norms`](language::Backend::norms) is read after this step.
    pub measures: bool,
}

/// Which experts some tokens selected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Experts per token, k.
    pub top_k: usize,
    /// Numbers of the selected experts, `[tokens, k]`.
    pub experts: Vec<u32>,
    /// `[tokens, k]`, of a token 1 in sum.
    pub gates: Vec<f32>,
}

/// What the experts of a layer did in a training step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpertStep {
    /// Sums over the tokens of the step.
    pub load: LoadStatistics,
    /// Rise of the mean loss if an expert is removed, to first order, `[E]`.
    pub contribution: Vec<f64>,
    /// Loss that balances the load, without its weight; k when it is balanced.
    pub aux: f64,
    /// What the last tokens of the step selected, 256 at most.
    pub selection: Selection,
}

/// Activations that can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Probabilities `[tokens, tokens]` of a query head: rows attend to columns.
    Attention {
        /// Block of the model, from 0.
        layer: usize,
        /// Query head of the block, from 0.
        head: usize,
    },
    /// Logits `[tokens, tokens]` of a query head before release: what drives its synapses.
    Drive {
        /// Block of the model, from 0.
        layer: usize,
        /// Query head of the block, from 0.
        head: usize,
    },
    /// Presynaptic bias `[tokens, tokens]` of the logits of a query head, without the barrier; 0 where invisible.
    Bias {
        /// Block of the model, from 0.
        layer: usize,
        /// Query head of the block, from 0.
        head: usize,
    },
    /// The residual stream behind a block, `[tokens, C]`; of `layers` blocks, number 0 is the embedding.
    Residual(usize),
    /// The output of attention of a block before its projection, `[tokens, C]`.
    AttentionOutput(usize),
    /// Input of the router and of the experts of a block, `[tokens, C]`.
    RouterInput(usize),
}

/// An average that a router keeps of each expert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotAverage {
    /// Share of the tokens that it served.
    Fatigue,
    /// Energy of the expert, 0 to 1.
    Energy,
}

/// A model that is trained and asked on one device.
pub trait Backend: language::Backend {
    /// Sets what the following steps, evaluations and decoders use.
    fn set_dynamics(&mut self, dynamics: &Dynamics) -> Result<(), SimError>;
    /// Takes a training step: gradients of all micro-batches, clipping, optimiser, state of the routers. Looks at
    /// [`Pass::is_stopping`] between operations.
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Creates a decoder with an empty cache and fresh synapses, in which each token writes.
    fn plastic_decoder(&self, op: &FastMemory) -> Result<Box<dyn Decoder + '_>, SimError>;
    /// Returns the activations of one sequence.
    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError>;
    /// What the router of a layer decides for each token of one sequence; see [`experts::inspect`](super::experts::inspect).
    fn decisions(&self, tokens: &[u32], layer: usize) -> Result<Routing<f32>, SimError>;
    /// What the experts of each layer did in the last step; none before the first. Waits for it.
    fn expert_steps(&self) -> Result<&[ExpertStep], SimError>;
    /// Moves what scores take from the steps since the last call to the end of `out`, `[steps, L, E]`, oldest first. At most
    /// [`MAX_WAITING_STEPS`](crate::kinds::language::backend::MAX_WAITING_STEPS) may wait.
    fn take_expert_records(&mut self, out: &mut Vec<ExpertRecord>) -> Result<(), SimError>;
    /// Measures the specialization of experts on one sequence, with the model as it is now. It is part of the records of the last
    /// step. Does not wait for a device.
    fn measure_specialization(&mut self, tokens: &[u32]) -> Result<(), SimError>;
    /// Changes parameters and the state of their optimiser by edits, in their order.
    fn edit(&mut self, edits: &[Edit]) -> Result<(), SimError>;
    /// Returns the mean square gradients of the experts of a layer, `[E]`: see
    /// [`life::slots::gradient_utility`](super::life::slots::gradient_utility).
    fn gradient_utility(&self, arrays: &ExpertArrays) -> Result<Vec<f64>, SimError>;
    /// Averages of slots, which are numbered over all layers.
    fn slots(&self, average: SlotAverage, slots: Range<usize>) -> Result<Vec<f32>, SimError>;
    /// Returns the state of the router of a layer. It changes in training only.
    fn router(&self, layer: usize) -> Result<RouterState, SimError>;
    /// Sets the state of the router of a layer.
    fn set_router(&mut self, layer: usize, state: &RouterState) -> Result<(), SimError>;
}
