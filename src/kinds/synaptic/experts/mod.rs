//! Mixture of experts: router, genomes, metabolism, dispatch.
//!
//! A token x is sent to the k experts with the largest logits; the output is the gate-weighted sum of their outputs.
//!
//! | file | subject |
//! | --- | --- |
//! | [`router`] | logits, top-k, gates and groups, forward; [`gradients`] backward |
//! | [`mixture`] | experts: gather by group, two grouped GEMMs, weighted sum |
//! | [`genome`] | genes and the rates that they encode |
//! | [`state`] | router state between steps, and the statistics of a step |
//! | [`metabolism`] | fatigue, energy and load balancing after a step |
//! | [`contrastive`] | router embeddings after a step |
//! | [`inspect`] | terms of a routing decision, gates by expert and token |
//! | [`projection`] | positions of embeddings in three dimensions |
//!
//! # Router
//!
//! ```text
//! p = W_p x                                  probe features, 24 of them
//! logit_e = (W_r x)_e                        z
//!         + 0.05 (a_e - a_f)                 gene bias, from the energy and fatigue rates of the genome of e
//!         + 0.02 cos(p, embedding_e)         alignment
//!         + m energy_e - m fatigue_e A / k   metabolism; m is the metabolic bias, A the number of living experts
//! top-k of logit_e (+ balance_e)             among living experts; the lower index wins ties
//! gate = softmax of the selected logits
//! aux = A Σ_e mean(gate_e) count_e / N       k if the load is balanced
//! ```
//!
//! Embeddings, energy, fatigue and balance are the state of the router: constants of the backward pass, which are updated
//! after a training step from its [`LoadStatistics`], and never in evaluation. Balancing by a bias that only selection uses
//! follows Wang et al. 2024 (arXiv 2408.15664). The auxiliary loss is that of Fedus et al. 2022, with gates instead of the
//! full softmax.
//!
//! # Groups
//!
//! The N k assignments are sorted by expert, then by token: expert e has the rows `offsets[e]..offsets[e + 1]`. There is no
//! capacity limit and no token is dropped, so buffers have N k rows for any routing. Sums over the tokens of an expert are
//! taken in ascending order, so that results are bit-identical for any number of threads.

pub mod contrastive;
pub mod cuda;
pub mod genome;
pub mod gradients;
pub mod inspect;
pub mod metabolism;
pub mod mixture;
pub mod projection;
pub mod router;
pub mod state;

pub use genome::Phenotype;
pub use gradients::{RouterGradients, RouterWork, backward, contribution};
pub use mixture::{ExpertGradients, ExpertWeights, Mixture, MixtureWork};
pub use router::{Routing, aux_loss, forward};
pub use state::{LoadStatistics, RouterState, update_state};

use crate::nn::{gemm::GemmError, lengths::LengthError};

/// Number of components of a router embedding and of the probe features of a token.
pub const FEATURES: usize = 24;
/// Number of genes of an expert.
pub const GENES: usize = 4;

/// Load balancing, in addition to metabolism.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Balancing {
    /// The auxiliary loss alone, with the weight of the training step.
    #[default]
    AuxLoss,
    /// A bias per expert, which is raised or lowered after every step. Selection uses the bias, and gates do not.
    Bias {
        /// Change of the bias per step.
        rate: f64,
    },
}

/// Set of tokens over which the mean gate that scales the pull of an embedding is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PullOver {
    /// All tokens, so that the embeddings of rarely selected experts hardly move.
    #[default]
    AllTokens,
    /// The tokens of the expert, so that rarely selected experts move as fast as others.
    OwnTokens,
}

/// Sizes and constants of a router, without its weights and state.
#[derive(Clone, Debug, PartialEq)]
pub struct Router {
    /// Number of expert slots, E.
    pub experts: usize,
    /// Number of experts per token, k.
    pub top_k: usize,
    /// Number of features per token, C.
    pub width: usize,
    /// Factor of the energy and fatigue terms; 0 disables metabolism.
    pub metabolic_bias: f64,
    /// Factor of the alignment with router embeddings.
    pub align: f64,
    /// Factor of the gene bias.
    pub gene: f64,
    /// Energy spent per step at the fair load, of a budget of 1.
    pub energy_cost: f64,
    /// Rate at which an embedding moves to the features that its expert serves, at a mean gate of 1.
    pub pull: f64,
    /// Tokens over which the mean gate that scales the pull is taken.
    pub pull_over: PullOver,
    /// Rate at which similar embeddings repel each other.
    pub push: f64,
    /// Method of load balancing.
    pub balancing: Balancing,
}

impl Router {
    /// Creates a router with the recommended constants.
    pub const fn new(experts: usize, top_k: usize, width: usize) -> Self {
        Self {
            experts,
            top_k,
            width,
            metabolic_bias: 0.1,
            align: 0.02,
            gene: 0.05,
            energy_cost: 0.1,
            pull: 0.05,
            pull_over: PullOver::AllTokens,
            push: 0.005,
            balancing: Balancing::AuxLoss,
        }
    }

    /// Returns the number of assignments of `tokens` tokens, which equals the number of rows.
    pub const fn rows(&self, tokens: usize) -> usize {
        tokens * self.top_k
    }
}

/// Reasons why a mixture was not computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpertsError {
    /// A buffer has the wrong length.
    #[error(transparent)]
    Length(#[from] LengthError),
    /// A GEMM was rejected.
    #[error(transparent)]
    Gemm(#[from] GemmError),
    /// The computation was stopped.
    #[error("stopped")]
    Stopped,
    /// Tokens need more experts than are alive.
    #[error("{top_k} experts per token need as many living experts, and there are {alive}")]
    TooFewAlive {
        /// Number of experts per token, k.
        top_k: usize,
        /// Number of living experts.
        alive: usize,
    },
    /// Memory is exhausted.
    #[error("no memory for {elements} elements of the mixture of experts")]
    Memory {
        /// Number of elements of the buffer.
        elements: usize,
    },
}

/// Resizes a buffer to `len` elements with unspecified contents. Fails if memory is exhausted.
fn resize<T: Copy + Default>(buffer: &mut Vec<T>, len: usize) -> Result<(), ExpertsError> {
    if len > buffer.len() {
        let more = len - buffer.len();
        buffer.try_reserve_exact(more).map_err(|_| ExpertsError::Memory { elements: len })?;
    }
    buffer.resize(len, T::default());
    Ok(())
}

#[cfg(test)]
mod tests;
