//! Life cycle of experts: scores, health, splits, merges, removals and identities.
//!
//! | file | subject |
//! | --- | --- |
//! | [`health`] | health of an expert, from its load and its energy |
//! | [`plan`] | experts that split, merge or are removed, by the rules or on request |
//! | [`edits`] | edits of weights and moments that implement a move |
//! | [`slots`] | ranges of experts among the parameters, and the effect of a move on their router |
//! | [`identities`] | ids of experts, which are never reused, and their births and deaths |
//! | [`score`] | contribution, specialization, efficiency, resilience and fitness of experts |
//! | [`cuda`] | records of experts and edits on a GPU |
//!
//! # Rules
//!
//! Every [`LifeCycle::interval`] steps, in each layer:
//!
//! 1. A slot is made free: an empty slot, else the slot of a dead expert (health <= [`LifeCycle::dead`]), else the slot of
//!    the loser of a merge of the two most similar weak experts (health <= [`LifeCycle::weak`], cosine >
//!    [`LifeCycle::similar`]), else the slot of the weakest expert (health <= [`LifeCycle::weakest`]).
//! 2. The healthiest expert (health >= [`LifeCycle::healthy`]) splits into the free slot.
//!
//! Health is computed from load and energy, and does not predict the loss without an expert; neither does the first-order
//! contribution of [`score`]. With a [`LifeCycle::loss_limit`], this loss is measured, and an expert whose removal would
//! raise the loss by more than the limit neither ends nor merges.
//!
//! A dead or weakest expert is removed only if a child takes its slot; a merge needs no child. An expert that was changed
//! in a call is not changed again in the same call. A child is also not changed in the next call, because its averages are
//! not meaningful yet. Therefore a call frees at most one slot and fills at most one, the number of slots is constant, and
//! a slot has at most one living expert.
//!
//! With default constants, health is 0.45 at the fair load, 0.80 at twice the fair load, 0.25 at half of it, and 0.02 at
//! almost no load.

pub mod cuda;
pub mod edits;
pub mod health;
pub mod identities;
pub mod plan;
pub mod score;
pub mod slots;

pub use edits::{Edit, MoveAddress, edits};
pub use health::health;
pub use identities::{Identities, LayerReadings, SavedIdentities};
pub use plan::{LayerStatus, Wish, plan, plan_wish};
pub use score::{ExpertRecord, Score, Scoring};
pub use slots::{ExpertArray, ExpertArrays, RouterSlots};

/// Choice of the healthy expert that splits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ParentChoice {
    /// The expert with the largest health.
    #[default]
    Healthiest,
    /// The expert with the largest mean square gradient, where training changes most (utility of expert upcycling, arXiv
    /// 2604.19835).
    GradientUtility,
}

/// Constants of the life cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LifeCycle {
    /// Number of steps before the first call.
    pub warm_up: u64,
    /// Number of steps between calls; 0 disables the life cycle.
    pub interval: u64,
    /// Maximum health of a dead expert.
    pub dead: f64,
    /// Maximum health of experts that merge.
    pub weak: f64,
    /// Cosine similarity of router embeddings above which weak experts merge.
    pub similar: f64,
    /// Maximum health of a weakest expert that is removed.
    pub weakest: f64,
    /// Minimum health of an expert that splits.
    pub healthy: f64,
    /// Maximum rise of the loss when an expert ends, nats per token, measured on the batch of the last step. With an
    /// infinite limit, the rise is not measured.
    pub loss_limit: f64,
    /// Choice of the healthy expert that splits.
    pub parent: ParentChoice,
    /// Standard deviation of the noise on the weights of a child, relative to the standard deviation of each array of
    /// weights.
    pub noise: f64,
    /// Standard deviation of the mutation of each gene.
    pub mutation: f64,
    /// Length of the vector by which the router rows of parent and child move apart.
    pub tilt: f64,
    /// Standard deviation of the components of the tangent noise on the router embedding of a child.
    pub embedding_noise: f64,
}

impl Default for LifeCycle {
    fn default() -> Self {
        Self {
            warm_up: 200,
            interval: 100,
            dead: 0.02,
            weak: 0.25,
            similar: 0.85,
            weakest: 0.12,
            healthy: 0.45,
            loss_limit: f64::INFINITY,
            parent: ParentChoice::Healthiest,
            noise: 0.02,
            mutation: 0.1,
            tilt: 0.15,
            embedding_noise: 0.05,
        }
    }
}

impl LifeCycle {
    /// Whether the rules are applied after `steps` steps.
    pub const fn is_due(&self, steps: u64) -> bool {
        self.interval > 0 && steps > 0 && steps >= self.warm_up && (steps - self.warm_up).is_multiple_of(self.interval)
    }

    /// Whether an expert of age `age` is past its grace period.
    const fn is_judged(&self, age: u64) -> bool {
        age > self.interval
    }
}

/// Cause of the removal of an expert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// Almost no token selected the expert.
    Dead,
    /// The expert was the weakest.
    Weakest,
    /// The user requested the removal.
    Killed,
}

/// Change of the experts of a layer, by slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    /// Removes an expert, whose slot becomes free.
    Remove {
        /// Slot of the expert.
        slot: u32,
        /// Cause of the removal.
        cause: Removal,
    },
    /// Merges `winner <- alpha winner + (1 - alpha) loser`. The loser's slot becomes free.
    Merge {
        /// Slot of the merged expert.
        winner: u32,
        /// Slot that becomes free.
        loser: u32,
        /// Weight of the winner, 0..=1.
        alpha: f64,
    },
    /// Copies the parent, with noise and mutations, to a free slot. The parent continues.
    Split {
        /// Slot of the parent.
        parent: u32,
        /// Free slot that receives the child.
        child: u32,
    },
}

/// Reason why a request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LifeError {
    /// The slot has no living expert.
    #[error("slot {0} has no living expert: select another one")]
    Empty(u32),
    /// The expert is frozen.
    #[error("the expert in slot {0} is frozen: unfreeze it first")]
    Frozen(u32),
    /// A merge names the same expert twice.
    #[error("a merge needs two experts of one layer")]
    SameSlot,
    /// Every token needs `top_k` living experts.
    #[error("every token selects {top_k} experts, and {alive} are alive: split one first")]
    TooFew {
        /// Number of experts per token, k.
        top_k: usize,
        /// Number of living experts.
        alive: usize,
    },
    /// No slot is empty, and none can be freed.
    #[error("there is no slot for a child: every other expert is frozen")]
    NoSlot,
    /// Fewer than two experts are alive and not frozen.
    #[error("no two experts can be merged: fewer than two are alive and not frozen")]
    NoPair,
}

#[cfg(test)]
mod tests;
