//! The life cycle of experts: scores, health, splits, merges and removals, identities.
//!
//! | file | subject |
//! | --- | --- |
//! | [`health`] | health of an expert, from its load and its energy |
//! | [`plan`] | which experts split, merge or make room: by the rules, or as the user asks |
//! | [`edits`] | what a move does to weights and states of the optimiser: copies and sums of ranges |
//! | [`slots`] | where experts are among the parameters, and what a move does to their router |
//! | [`identities`] | ids of experts, which are never used again, and their births and deaths |
//! | [`score`] | contribution, specialization, efficiency, resilience and fitness of experts |
//! | [`cuda`] | records of experts and edits on a GPU |
//!
//! # Rules
//!
//! Every [`LifeCycle::interval`] steps, in each layer:
//!
//! 1. A slot is made free: an empty one, else that of a dead expert (health <= [`LifeCycle::dead`]), else that of the loser
//!    of a merge of the most similar two weak experts (health <= [`LifeCycle::weak`], cosine > [`LifeCycle::similar`]), else
//!    that of the weakest expert (health <= [`LifeCycle::weakest`]).
//! 2. The healthiest expert (health >= [`LifeCycle::healthy`]) splits into it.
//!
//! Health is load and energy: it does not say what the loss would be without an expert. With a [`LifeCycle::loss_limit`] that is
//! measured, and an expert that the loss needs more neither ends nor merges. The first-order contribution of
//! [`score`] does not foresee it: its correlation with the measured rise is -0.2 (988 weak experts, two runs of 5,000 steps).
//!
//! A dead or weakest expert leaves only if another takes its slot; a merge needs no successor. An expert that a call changed
//! is not changed again in that call, and not in the next one if it was born: its averages say nothing yet. So a call makes
//! at most one slot free and fills at most one, the number of slots is constant, and a slot has at most one living expert.
//!
//! Health 0.45 is that of the fair load, 0.80 of twice the fair load, 0.25 of half of it, 0.02 of nearly none.

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

/// Which healthy expert splits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ParentChoice {
    /// The healthiest.
    #[default]
    Healthiest,
    /// The one with the largest mean square gradient: where training changes most (utility of expert upcycling,
    /// arXiv 2604.19835).
    GradientUtility,
}

/// Constants of the life cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LifeCycle {
    /// Steps before the first call.
    pub warm_up: u64,
    /// Steps between calls; 0 switches the life cycle off.
    pub interval: u64,
    /// Health up to which an expert is dead.
    pub dead: f64,
    /// Health up to which similar experts merge.
    pub weak: f64,
    /// Cosine of router embeddings above which weak experts merge.
    pub similar: f64,
    /// Health up to which the weakest expert makes room.
    pub weakest: f64,
    /// Health from which an expert splits.
    pub healthy: f64,
    /// Largest rise of the loss by the end of an expert, nats per token: without it on the batch of the last step. Infinite: it is
    /// not measured.
    pub loss_limit: f64,
    /// Which healthy expert splits.
    pub parent: ParentChoice,
    /// Standard deviation of the noise on the weights of a child, relative to that of each array of weights.
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
    /// Whether experts are judged after this number of steps.
    pub const fn is_due(&self, steps: u64) -> bool {
        self.interval > 0 && steps > 0 && steps >= self.warm_up && (steps - self.warm_up).is_multiple_of(self.interval)
    }

    /// Whether an expert of this age is past its grace period.
    const fn is_judged(&self, age: u64) -> bool {
        age > self.interval
    }
}

/// Why an expert without offspring in its place was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// Nearly no token selected it.
    Dead,
    /// It was the weakest.
    Weakest,
    /// On request.
    Killed,
}

/// A change of the experts of a layer, by slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    /// The expert leaves; its slot is free.
    Remove {
        /// Its slot.
        slot: u32,
        /// Why.
        cause: Removal,
    },
    /// `winner <- alpha winner + (1 - alpha) loser`; the loser's slot is free.
    Merge {
        /// Slot that stays.
        winner: u32,
        /// Slot that becomes free.
        loser: u32,
        /// Part of the winner.
        alpha: f64,
    },
    /// A copy of the parent, with noise and mutations, begins in a free slot. The parent lives on.
    Split {
        /// Slot of the parent.
        parent: u32,
        /// The free slot.
        child: u32,
    },
}

/// Why a request of the user cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LifeError {
    /// There is no expert.
    #[error("slot {0} has no living expert: select another one")]
    Empty(u32),
    /// Its state must not change.
    #[error("the expert in slot {0} is frozen: unfreeze it first")]
    Frozen(u32),
    /// A merge of one.
    #[error("a merge needs two experts of one layer")]
    SameSlot,
    /// Tokens need that many.
    #[error("every token selects {top_k} experts, and {alive} are alive: split one first")]
    TooFew {
        /// Experts per token.
        top_k: usize,
        /// Alive.
        alive: usize,
    },
    /// No slot, and none that may be made free.
    #[error("there is no slot for a child: every other expert is frozen")]
    NoSlot,
    /// No weak similar pair.
    #[error("no two experts can be merged: fewer than two are alive and not frozen")]
    NoPair,
}

#[cfg(test)]
mod tests;
