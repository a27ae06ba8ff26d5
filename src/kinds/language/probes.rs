//! Probes of every language kind.

use crate::sim::ProbeId;

/// Declares the probes of a language kind: the probes of all kinds, then its own.
macro_rules! language_probes {
    ($($own:tt)*) => { $crate::probes! {
        /// Mean loss per token of the step, with dropout if there is any, without auxiliary losses. The levels are the
        /// losses of models that know no, one or two preceding tokens, and the entropy rate of a grammar, which no
        /// model can beat.
        #[title("Training loss")]
        LOSS = "loss", "nat/token", $crate::sim::Shape::Series { of: "" };
        /// Mean loss per token over the whole held-out text, without dropout. Nothing is learned from it.
        #[title("Held-out loss")]
        HELD_OUT = "held_out", "nat/token", $crate::sim::Shape::Series { of: "" };
        /// Learning rate of the step.
        LEARNING_RATE = "learning_rate", "", $crate::sim::Shape::Series { of: "" };
        /// Texts written by the model.
        #[title("Sampled text")]
        SAMPLES = "samples", "", $crate::sim::Shape::Samples;
        /// Loss of each token of the newest sampled text, or of the scored text if there is one, with the tokens that the
        /// model expected there.
        #[title("Token losses")]
        TOKENS = "tokens", "nat", $crate::sim::Shape::Tokens { values: "loss", categories: "" };
        $($own)*
    } };
}
pub(crate) use language_probes;

/// Declares the probes of a language kind that is trained by gradients: those of all such kinds, then its own.
macro_rules! gradient_probes {
    ($($own:tt)*) => { $crate::kinds::language::probes::language_probes! {
        /// Euclidean norm of the gradient of all parameters, before clipping.
        GRADIENT_NORM = "gradient_norm", "", $crate::sim::Shape::Series { of: "" };
        $($own)*
    } };
}
pub(crate) use gradient_probes;

pub mod common {
    //! Ids of the probes that all language kinds have, and of those that all kinds with gradients have.
    super::gradient_probes! {}
}
pub use common::{GRADIENT_NORM, HELD_OUT, LEARNING_RATE, LOSS, SAMPLES, TOKENS};

/// Name of the probe of the held-out loss.
pub const HELD_OUT_NAME: &str = common::PROBES[HELD_OUT as usize].name;

/// Valid values of a probe argument.
pub enum ArgValues {
    /// Indices `0..n` as strings.
    Numbers(usize),
    /// Names, such as those of parameters.
    Names(Vec<String>),
}

impl ArgValues {
    /// Returns all valid values as strings.
    pub fn all(self) -> Vec<String> {
        match self {
            Self::Numbers(n) => (0..n).map(|i| i.to_string()).collect(),
            Self::Names(names) => names,
        }
    }

    /// Returns the reason why `value` is invalid; `None` if the value is valid.
    pub fn refusal(&self, name: &str, value: &str) -> Option<String> {
        match self {
            Self::Numbers(n) => {
                let is_one = value.parse::<usize>().is_ok_and(|i| i < *n);
                (!is_one).then(|| format!("there is no {name} `{value}`: the model has {n}, from 0"))
            }
            Self::Names(names) if names.iter().any(|known| known == value) => None,
            Self::Names(names) if names.len() > 8 => Some(format!("there is no {name} `{value}`")),
            Self::Names(names) => Some(format!("there is no {name} `{value}`; there are {}", names.join(", "))),
        }
    }
}

/// Whether a probe is a loss, which is plotted with the levels of n-gram models.
pub const fn is_loss(probe: ProbeId) -> bool {
    matches!(probe, LOSS | HELD_OUT)
}
