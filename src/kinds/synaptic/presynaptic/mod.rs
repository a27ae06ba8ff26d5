//! Release of vesicles along a sequence, as a bias of attention logits.
//!
//! Each key `j` of an attention head is a presynaptic terminal. Each query `t >= j` drives it with the attention logit
//! `dot = q·k / sqrt(D)` ("drive"); what it releases becomes a bias of that logit. A key has the state of [`KeyState`],
//! which begins at its own query and is advanced once per query: training walks the queries of a whole sequence, decoding
//! continues with one, by the same function. One step, in this order (`sg` logistic function, `sp` softplus):
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
//! With `recycled` 1 the vesicles of a key, `RRP + RES + queue`, are conserved. [`Mode::Static`] applies the same function
//! with the first state at every edge; [`Mode::TsodyksMarkram`] has the two variables of [`tsodyks_markram`].
//!
//! The gradient is truncated: the state before a step is a constant, and so is the bias of edges that
//! [`Edges`] do not select. One number per edge is kept, `factor = dbias/ddot`, and `dL/ddot = dL/dlogit·(1 + factor)`.
//!
//! Constants are those of bio_inspired_nanochat (MIT, see THIRD_PARTY.md) unless [`Constants`] says otherwise.

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

/// What the bias of an attention logit is computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Attention logits get no bias.
    Off,
    /// The first state at every edge: a fixed function of the logit.
    Static,
    /// The state that earlier queries left.
    #[default]
    Scan,
    /// Short-term plasticity after Tsodyks and Markram.
    TsodyksMarkram,
}

/// Which visible keys a query drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edges {
    /// All of them.
    #[default]
    All,
    /// Those of the largest logits, earlier keys first among equals. The others are not driven, and get the bias of
    /// the last one that is.
    TopK(usize),
}

impl Edges {
    /// How many keys a query drives at most, if not all.
    pub const fn most(self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::TopK(k) => Some(k),
        }
    }
}

/// The operation: constants and switches, without data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Presynaptic {
    /// Source of the bias.
    pub mode: Mode,
    /// Constants of the key dynamics and of the bias.
    pub constants: Constants,
    /// Which keys a query drives.
    pub edges: Edges,
    /// Tokens over which the barrier reaches its strength.
    pub context: usize,
    /// How numbers of vesicles are drawn.
    pub release: Release,
}

impl Presynaptic {
    /// The recommended model for sequences of this many tokens.
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
