//! Release of vesicles along a sequence, as a bias of attention logits.
//!
//! Each key `j` of an attention head is a presynaptic terminal. Each query `t >= j` drives the terminal with the attention
//! logit `dot = q·k / sqrt(D)` ("drive"), and the released vesicles determine a bias of this logit. A key has the state of
//! [`KeyState`], which begins at the key's own query and is advanced once per query. Training computes all queries of a
//! sequence and decoding one at a time, by the same function. One step, in this order (`sg` logistic function, `sp`
//! softplus):
//!
//! | | |
//! |---|---|
//! | calcium | `c = κ·C + α·sp(dot)`; `C ← c` |
//! | sensors | `M = 0.8·sg(k_syt1·(c - 0.55)) + 0.2·sg(k_syt7·(c - 0.25)) + w_doc2·sg(4·(c - 0.12))` |
//! | complexin gate | `G = sg(8·(c - c_cpx) - 2·(CL + b_cpx))` |
//! | release probability | `p = min(M·G·PR, 0.999)` |
//! | released vesicles, effect | `r = p·RRP`, `e = r·AMP` |
//! | bias | `λ·ln(floor + e)` |
//! | endocytosis | `RES += queue[0]`; the queue shifts, and `recycled·r` enters it at the end |
//! | priming | `take = k_prime·min(RES, 1)·E/(E + E_half)` moves from `RES` to `RRP - r` |
//! | SNARE, clamp | `PR ← PR·(1 - unprime·r) + k_nsf·(1 - PR)`, `CL ← 0.995·CL + 0.005 - unprime·r`, both in [0, 1] |
//! | amplitude | `AMP += load·(1.2 - AMP) - leak·AMP` |
//! | energy | `E += fill·(E_max - E) - E_r·r` |
//!
//! With `recycled` 1, the vesicles of a key, `RRP + RES + queue`, are conserved. [`Mode::Static`] applies the same function
//! with the first state to every edge; [`Mode::TsodyksMarkram`] has the two variables of [`tsodyks_markram`].
//!
//! The gradient is truncated: the state before a step and the bias of edges that [`Edges`] does not select are constants.
//! One value per edge is kept, `factor = dbias/ddot`, and `dL/ddot = dL/dlogit·(1 + factor)`.
//!
//! Constants are those of bio_inspired_nanochat (MIT, see THIRD_PARTY.md) unless [`Constants`] states otherwise.

pub mod constants;
pub mod cpu;
pub mod cuda;
pub mod parity;
pub mod release;
pub mod state;
pub mod step;
pub mod trace;
pub mod tsodyks_markram;

pub use constants::Constants;
pub use cpu::{backward, forward};
pub use release::{Draws, Release};
pub use state::KeyState;

/// Source of the bias of an attention logit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Attention logits get no bias.
    Off,
    /// The bias is a fixed function of the logit, computed from the first state of a key.
    Static,
    /// The bias is computed from the state that earlier queries left.
    #[default]
    Scan,
    /// Short-term plasticity after Tsodyks and Markram.
    TsodyksMarkram,
}

/// Visible keys that a query drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edges {
    /// All visible keys.
    #[default]
    All,
    /// The keys of the `k` largest logits, earlier keys first among equals. The others are not driven, and have the bias of
    /// the selected key with the smallest logit.
    TopK(usize),
}

impl Edges {
    /// Returns the maximum number of keys that a query drives; `None` if a query drives all keys.
    pub const fn most(self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::TopK(k) => Some(k),
        }
    }
}

/// Operation of release: constants and switches, without data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Presynaptic {
    /// Source of the bias.
    pub mode: Mode,
    /// Constants of the key dynamics and of the bias.
    pub constants: Constants,
    /// Visible keys that a query drives.
    pub edges: Edges,
    /// Number of tokens over which the barrier reaches its full strength.
    pub context: usize,
    /// Method by which numbers of vesicles are determined.
    pub release: Release,
}

impl Presynaptic {
    /// Creates the recommended model for sequences of `context` tokens.
    pub fn recommended(context: usize) -> Self {
        Self {
            mode: Mode::Scan,
            constants: Constants::default(),
            edges: Edges::All,
            context,
            release: Release::Deterministic,
        }
    }
}

#[cfg(test)]
mod tests;
