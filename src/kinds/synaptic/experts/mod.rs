//! The mixture of experts: router, genomes, metabolism, dispatch.
//!
//! A token x is sent to the k experts with the largest logits; the output is the sum of what they compute, weighted by gates.
//!
//! | file | subject |
//! | --- | --- |
//! | [`router`] | logits, top-k, gates and groups, forward; [`gradients`] backward |
//! | [`mixture`] | the experts: gather by groups, two grouped multiplications, weighted sum |
//! | [`genome`] | genes and the rates that they stand for |
//! | [`state`] | what the router keeps between steps, and the statistics of a step |
//! | [`metabolism`] | fatigue, energy and load balancing after a step |
//! | [`contrastive`] | router embeddings after a step |
//! | [`inspect`] | terms of a decision, gates by expert and token |
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
//! top-k of logit_e (+ balance_e)             living experts; ties go to the lower index
//! gate = softmax of the selected logits
//! aux = A Σ_e mean(gate_e) count_e / N       k when balanced
//! ```
//!
//! Embeddings, energy, fatigue and balance are state: constants of the backward pass, updated after a training step from its
//! [`LoadStatistics`], never in validation. Balancing by a bias that selection alone sees: Wang et al. 2024 (arXiv 2408.15664).
//! The auxiliary loss is that of Fedus et al. 2022 with gates in place of the full softmax.
//!
//! # Groups
//!
//! The N k assignments are sorted by expert, then by token: expert e has the rows `offsets[e]..offsets[e + 1]`. There is no
//! capacity limit and no token is dropped, so buffers have N k rows whatever the router decides. Sums over the tokens of an
//! expert run in ascending order: the same bits for any number of threads.

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

/// Components of a router embedding and of the probe features of a token.
pub const FEATURES: usize = 24;
/// Genes of an expert.
pub const GENES: usize = 4;

/// How load is balanced, besides metabolism.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Balancing {
    /// By the auxiliary loss alone, with the weight that the training step gives it.
    #[default]
    AuxLoss,
    /// By a bias per expert that selection sees and gates do not, raised or lowered after every step.
    Bias {
        /// Change of the bias per step.
        rate: f64,
    },
}

/// Tokens whose mean gate is the factor of the pull of an embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PullOver {
    /// All of them: the embeddings of idle experts hardly move, whatever they serve.
    #[default]
    AllTokens,
    /// Those that the expert serves: idle experts move as fast as busy ones.
    OwnTokens,
}

/// A router, without its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Router {
    /// Slots of experts, E.
    pub experts: usize,
    /// Experts per token, k.
    pub top_k: usize,
    /// Components of a token, C.
    pub width: usize,
    /// Factor of the energy and fatigue terms; 0 switches metabolism off.
    pub metabolic_bias: f64,
    /// Factor of the alignment with router embeddings.
    pub align: f64,
    /// Factor of the gene bias.
    pub gene: f64,
    /// Energy spent per step at the fair load, of a budget of 1.
    pub energy_cost: f64,
    /// Rate at which an embedding moves to the features that its expert serves, at a mean gate of 1.
    pub pull: f64,
    /// Tokens of that mean.
    pub pull_over: PullOver,
    /// Rate at which similar embeddings repel each other.
    pub push: f64,
    /// How load is balanced.
    pub balancing: Balancing,
}

impl Router {
    /// Recommended constants.
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

    /// Rows of sorted assignments.
    pub const fn rows(&self, tokens: usize) -> usize {
        tokens * self.top_k
    }
}

/// Why a mixture was not computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpertsError {
    /// A buffer of another length.
    #[error(transparent)]
    Length(#[from] LengthError),
    /// A multiplication was refused.
    #[error(transparent)]
    Gemm(#[from] GemmError),
    /// It was stopped.
    #[error("stopped")]
    Stopped,
    /// A token needs more experts than there are.
    #[error("{top_k} experts per token need as many living experts, and there are {alive}")]
    TooFewAlive {
        /// Experts per token.
        top_k: usize,
        /// Living experts.
        alive: usize,
    },
    /// Memory is exhausted.
    #[error("no memory for {elements} elements of the mixture of experts")]
    Memory {
        /// Elements of the buffer.
        elements: usize,
    },
}

/// Makes a buffer of that length, whose contents may be anything.
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
