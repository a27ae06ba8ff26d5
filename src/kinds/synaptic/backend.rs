//! Interface between the simulation and a backend. The CPU backend is the reference.
//!
//! A backend holds parameters, optimiser states, the state of the routers and workspace. The simulation determines
//! everything else: training tokens, learning rate of a step, frozen layers, life cycle and individuals of experts, curves
//! and texts. Values are exchanged in f32, whatever format the backend stores.

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

/// Mechanisms and their constants, which can change while a model trains.
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamics {
    /// Release of vesicles, as a bias of attention logits. The release is random only in training.
    pub presynaptic: Presynaptic,
    /// Selection of experts, metabolism, and updates of the router's state.
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

    /// Checks that the constants are those of a model of these sizes. Fails if number, selection or width of experts or the
    /// context differs.
    pub fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let router = (self.router.experts, self.router.top_k, self.router.width);
        if router != (config.experts, config.top_k, config.width) || self.presynaptic.context != config.context {
            return Err(ConfigError::Dynamics);
        }
        Ok(())
    }
}

/// Input of a training step.
#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a> {
    /// Number of the step from 0, which is part of the addresses of random draws.
    pub step: u64,
    /// Micro-batches, in order. The gradient is the gradient of the mean loss over all their targets. The slices are valid
    /// only during the call.
    pub batches: &'a [Batch<'a>],
    /// Optimiser settings of the step.
    pub hyper: &'a Hyper,
    /// Whether each layer ([`Layout::layer_names`](super::model::Layout::layer_names)) keeps its parameters and optimiser
    /// states.
    pub frozen: &'a [bool],
    /// Whether each expert, `[L, E]`, keeps its matrices, its row of the router and their optimiser states.
    pub frozen_experts: &'a [bool],
    /// Whether [`norms`](language::GradientBackend::norms) is read after this step.
    pub measures: bool,
}

/// Experts that some tokens selected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Number of experts per token, k.
    pub top_k: usize,
    /// Numbers of the selected experts, `[tokens, k]`.
    pub experts: Vec<u32>,
    /// Gates of the selected experts, `[tokens, k]`, with the sum 1 for each token.
    pub gates: Vec<f32>,
}

/// Statistics of the experts of a layer in a training step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpertStep {
    /// Sums over the tokens of the step.
    pub load: LoadStatistics,
    /// Rise of the mean loss if an expert is removed, to first order, `[E]`.
    pub contribution: Vec<f64>,
    /// Loss that balances the load, without its weight; k if the load is balanced.
    pub aux: f64,
    /// Selection of the last tokens of the step, at most 256.
    pub selection: Selection,
}

/// Activations that can be inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Probabilities `[tokens, tokens]` of a query head: rows attend to columns.
    Attention {
        /// Block of the model, from 0.
        layer: usize,
        /// Query head of the block, from 0.
        head: usize,
    },
    /// Logits `[tokens, tokens]` of a query head before release, which drive its synapses.
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
    /// Residual stream `[tokens, C]` after a block, numbered from 1; 0 is the output of the embedding.
    Residual(usize),
    /// Output of attention of a block before its projection, `[tokens, C]`.
    AttentionOutput(usize),
    /// Input of the router and of the experts of a block, `[tokens, C]`.
    RouterInput(usize),
}

/// Running average that a router keeps for each expert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotAverage {
    /// Share of the tokens that the expert served.
    Fatigue,
    /// Energy of the expert, 0 to 1.
    Energy,
}

/// Model that is trained and queried on one device.
pub trait Backend: language::GradientBackend {
    /// Sets the mechanisms of the following steps, evaluations and decoders. Fails if they do not match the sizes of the
    /// model.
    fn set_dynamics(&mut self, dynamics: &Dynamics) -> Result<(), SimError>;
    /// Takes a training step: gradients of all micro-batches, clipping, optimiser, state of the routers. Checks
    /// [`Pass::is_stopping`] between operations. Fails if an input is invalid or the device fails.
    fn step(&mut self, input: &StepInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Creates a decoder with an empty cache and fresh synapses, in which each token writes the fast memory. Fails if the
    /// constants do not match the model, or memory is exhausted.
    fn plastic_decoder(&self, op: &FastMemory) -> Result<Box<dyn Decoder + '_>, SimError>;
    /// Returns the activations of one sequence. Fails if the text does not fit the model, or there is no such block or
    /// head.
    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError>;
    /// Computes the decision of the router of a layer for each token of one sequence; see
    /// [`experts::inspect`](super::experts::inspect). Fails if the text does not fit the model, or there is no such block
    /// or head.
    fn decisions(&self, tokens: &[u32], layer: usize) -> Result<Routing<f32>, SimError>;
    /// Waits for the last step and returns the statistics of its experts by layer; empty before the first step. Fails if
    /// the device fails.
    fn expert_steps(&self) -> Result<&[ExpertStep], SimError>;
    /// Appends the records of experts that scores need to `out`, `[steps, L, E]`, oldest first, and removes them from the
    /// backend. At most [`MAX_WAITING_STEPS`](crate::kinds::language::backend::MAX_WAITING_STEPS) steps may wait. Fails if
    /// the device fails.
    fn take_expert_records(&mut self, out: &mut Vec<ExpertRecord>) -> Result<(), SimError>;
    /// Measures the specialization of experts on one sequence with the current model, and adds it to the records of the
    /// last step. Does not wait for a device. Fails if the device fails.
    fn measure_specialization(&mut self, tokens: &[u32]) -> Result<(), SimError>;
    /// Applies edits to parameters and their optimiser states, in order. Fails if a range is invalid or the device fails.
    fn edit(&mut self, edits: &[Edit]) -> Result<(), SimError>;
    /// Returns the mean square gradients of the experts of a layer, `[E]`: see
    /// [`life::slots::gradient_utility`](super::life::slots::gradient_utility). Fails if a range is invalid or the device
    /// fails.
    fn gradient_utility(&self, arrays: &ExpertArrays) -> Result<Vec<f64>, SimError>;
    /// Returns the averages of slots, which are numbered over all layers. Fails if a range is invalid or the device fails.
    fn slots(&self, average: SlotAverage, slots: Range<usize>) -> Result<Vec<f32>, SimError>;
    /// Returns the state of the router of a layer. The state changes only in training. Fails if there is no such layer or
    /// the device fails.
    fn router(&self, layer: usize) -> Result<RouterState, SimError>;
    /// Sets the state of the router of a layer. Fails if there is no such layer or the sizes differ.
    fn set_router(&mut self, layer: usize, state: &RouterState) -> Result<(), SimError>;
}
