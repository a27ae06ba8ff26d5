//! Probes, actions, and rows of the timing report.

pub use crate::kinds::language::model::{LAYERS, TENSORS};
use crate::{
    actions,
    kinds::language::probes::language_probes,
    sim::{Meaning, Shape},
};

/// Name of the element set of pairs of members.
pub const PAIRS: &str = "pairs";

language_probes! {
    /// Loss of the held-out text under the biases of the logits alone. If the held-out loss is not lower, the matrices have no
    /// effect.
    #[title("Loss of the biases alone")]
    BIAS_LOSS = "bias_loss", "nat/token", Shape::Series { of: "" };
    /// Fitness of each pair of members in the last generation: loss of the negative member less that of the positive one.
    FITNESS = "fitness", "nat/token", Shape::Field { over: PAIRS, range: (-0.2, 0.2), meaning: Meaning::Number };
    /// Quantiles of the fitness over all pairs.
    #[title("Fitness quantiles")]
    FITNESS_QUANTILES = "fitness_quantiles", "nat/token", Shape::Series { of: "" };
    /// Correlation of the losses of the two members of a pair. It is high if the text of a pair matters more than its
    /// perturbation.
    #[title("Correlation within pairs")]
    CORRELATION = "correlation", "", Shape::Series { of: "" };
    /// Share of the ternary weights of each matrix that changed in the generation.
    #[title("Changed weights")]
    CHANGED = "changed", "%", Shape::Series { of: "" };
    /// Share of the weights of each matrix whose unrounded value is at its limit, ±1.5.
    #[title("Weights at their limit")]
    SATURATION = "saturation", "%", Shape::Series { of: "" };
    /// Root of the running mean square of the weighted sum of perturbations, for each tensor.
    #[title("Weighted sums (RMS)")]
    SUM_RMS = "sum_rms", "", Shape::Series { of: "" };
    /// Scale of the perturbations, 2^-shift.
    SIGMA = "sigma", "", Shape::Series { of: "" };
    /// Magnitude of the normalised weighted sum below which a weight keeps its value, for all pairs together.
    THRESHOLD = "threshold", "", Shape::Series { of: "" };
    /// Share of the outputs of attention in each layer that are not 0 after rounding. At 0, attention has no effect.
    #[title("Live attention")]
    LIVE_ATTENTION = "live_attention", "%", Shape::Series { of: "" };
    /// Mean of 1 - exp(-β λ) in each layer: the share of an earlier value that a key overwrites.
    #[title("Overwritten share")]
    OVERWRITTEN = "overwritten", "%", Shape::Series { of: "" };
    /// Products of the queries of the newest sampled text (rows) with the keys of the same and earlier tokens (columns).
    #[title("Attention map")]
    ATTENTION = "attention", "", Shape::Matrix { rows: "token", columns: "attends to" }, args {
        /// Index of the layer.
        layer: Listed,
    };
    /// Change of the memory of a layer that each token of the newest sampled text writes under its key.
    #[title("Memory writes")]
    WRITES = "writes", "", Shape::Matrix { rows: "token", columns: "feature" }, args {
        /// Index of the layer.
        layer: Listed,
    };
    /// Ternary weights of a matrix.
    #[title("Weights")]
    WEIGHTS = "weights", "", Shape::Matrix { rows: "output", columns: "input" }, args {
        /// Name of the matrix.
        tensor: Listed,
    };
    /// Weights of a tensor before they are rounded to -1, 0 or 1.
    #[title("Weights before rounding")]
    UNROUNDED = "unrounded", "", Shape::Histogram { of: "weight" }, args {
        /// Name of the tensor.
        tensor: Listed,
    };
    /// Share of the ternary weights of a matrix that changed in the last generation.
    #[title("Changed weights of tensors")]
    TENSOR_CHANGED = "tensor_changed", "%", Shape::Field { over: TENSORS, range: (0.0, 2.0), meaning: Meaning::Number };
    /// Root of the running mean square of the weighted sum of perturbations.
    #[title("Weighted sums of tensors")]
    TENSOR_SUM = "tensor_sum", "", Shape::Field { over: TENSORS, range: (0.0, 100.0), meaning: Meaning::Number };
    /// 1 for frozen layers, 0 for the others.
    FROZEN = "frozen", "", Shape::Field { over: LAYERS, range: (0.0, 1.0), meaning: Meaning::Number };
}

/// Names of the lanes of [`FITNESS_QUANTILES`], and their shares.
pub const QUANTILES: [(&str, f64); 5] =
    [("minimum", 0.0), ("25 %", 0.25), ("median", 0.5), ("75 %", 0.75), ("maximum", 1.0)];

/// Timing rows of the stages of a generation on the CPU, with tooltips.
pub const SPANS: &[(&str, &str)] = &[
    ("members", "Draws, forward passes and losses of all members. Items: tokens of all members."),
    ("update", "Weighted sums of the perturbations, which are drawn again, and new weights. Items: pairs."),
    ("held-out", "Loss of the held-out text. Items: tokens."),
    ("sample", "Sampled texts. Items: texts."),
];

actions! {
    /// Actions on a population.
    pub const ACTIONS;

    /// Keeps the weights of the selected layers as they are.
    #[title("Freeze layers")]
    #[undo(By("unfreeze"))]
    #[state("frozen")]
    fn freeze(over "layers") {}

    /// Evolves the selected layers again.
    #[title("Unfreeze layers")]
    #[undo(By("freeze"))]
    fn unfreeze(over "layers") {}

    /// Writes a text now, with the prompt and the length of the recording settings.
    #[title("Sample now")]
    #[undo(Unneeded)]
    fn sample_now(over "") {}
}
