//! Probes, actions, and rows of the timing report.

pub use crate::kinds::language::model::{LAYERS, TENSORS};
use crate::{
    actions,
    kinds::language::probes::gradient_probes,
    sim::{Meaning, Shape},
};

gradient_probes! {
    /// Factor of the loss that keeps fp16 gradients from underflow.
    LOSS_SCALE = "loss_scale", "", Shape::Series { of: "" };
    /// Attention of the tokens of the newest sampled text (rows) to each other (columns).
    #[title("Attention map")]
    ATTENTION = "attention", "", Shape::Matrix { rows: "token", columns: "attends to" }, args {
        /// Block.
        layer: Listed,
        /// Head.
        head: Listed,
    };
    /// Activations of the newest sampled text.
    ACTIVATIONS = "activations", "", Shape::Histogram { of: "activation" }, args {
        /// Block.
        layer: Listed,
        /// Place in the block.
        site: Listed,
    };
    /// Values of the weights.
    #[title("Distribution of weights")]
    WEIGHTS = "weights", "", Shape::Histogram { of: "weight" }, args {
        /// Matrix or vector.
        tensor: Listed,
    };
    /// Euclidean norm of the weights of each layer.
    #[title("Weight norm by layer")]
    WEIGHT_NORMS = "weight_norms", "", Shape::Series { of: "" };
    /// Euclidean norm of the gradient of each layer, before clipping.
    #[title("Gradient norm by layer")]
    GRADIENT_NORMS = "gradient_norms", "", Shape::Series { of: "" };
    /// Norm of a step's change of the weights of each layer, relative to the norm of the weights.
    #[title("Update ratio by layer")]
    UPDATE_RATIOS = "update_ratios", "", Shape::Series { of: "" };
    /// Norm of the last measured change of a layer's weights, relative to the norm of the weights.
    #[title("Update ratio")]
    LAYER_UPDATE = "layer_update", "", Shape::Field { over: LAYERS, range: (0.0, 0.01), meaning: Meaning::Number };
    /// 1 for layers whose weights are frozen.
    FROZEN = "frozen", "", Shape::Field { over: LAYERS, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Root mean square of the weights of a tensor.
    #[title("RMS of weights")]
    TENSOR_RMS = "tensor_rms", "", Shape::Field { over: TENSORS, range: (0.0, 0.2), meaning: Meaning::Number };
    /// Root mean square of the gradient of a tensor.
    #[title("RMS of gradient")]
    TENSOR_GRADIENT = "tensor_gradient", "", Shape::Field { over: TENSORS, range: (0.0, 0.001), meaning: Meaning::Number };
    /// Norm of the last measured change of a tensor, relative to the norm of its weights.
    #[title("Update ratio of tensor")]
    TENSOR_UPDATE = "tensor_update", "", Shape::Field { over: TENSORS, range: (0.0, 0.01), meaning: Meaning::Number };
}

/// Values of the argument `site`, which selects activations in a block.
pub const SITES: &[&str] = &["residual stream", "attention output", "hidden layer"];

/// Timing rows of the stages of a step on the CPU, with tooltips.
pub const SPANS: &[(&str, &str)] = &[
    ("embed", "Vectors of tokens and positions. Items: tokens."),
    ("norm", "Norms of all blocks and before the logits. Items: tokens."),
    ("qkv", "Queries, keys and values. Items: tokens."),
    ("rope", "Rotation of queries and keys, and of their gradients. Items: tokens."),
    ("attention", "Softmax of the attention logits, and weighted values. Items: tokens."),
    ("projection", "Output matrix of attention, with the residual. Items: tokens."),
    ("mlp", "Both matrices of the feed-forward layer, its activation function and the residual. Items: tokens."),
    ("head and loss", "Logits, loss and the gradient of both. Items: tokens."),
    ("mlp backward", "Backward pass of the feed-forward layer. Items: tokens."),
    ("projection backward", "Backward pass of the output matrix of attention. Items: tokens."),
    ("attention backward", "Backward pass of attention. Items: tokens."),
    ("qkv backward", "Backward pass of queries, keys and values. Items: tokens."),
    ("norm backward", "Backward pass of norms. Items: tokens."),
    ("embed backward", "Gradients of the vectors of tokens and positions. Items: tokens."),
    ("zero gradient", "Sets the gradient to zero before a step. Items: parameters."),
    ("optimiser", "Clipping and AdamW or Muon. Items: parameters."),
    ("norms", "Norms of weights, gradients and updates, in steps whose norms are read. Items: parameters."),
    ("held-out", "Loss of the held-out text. Items: tokens."),
    ("sample", "Sampled texts, attention and activations. Items: texts."),
];

actions! {
    /// Actions on a model in training.
    pub const ACTIONS;

    /// Keeps the weights of the selected layers as they are.
    #[title("Freeze layers")]
    #[undo(By("unfreeze"))]
    #[state("frozen")]
    fn freeze(over "layers") {}

    /// Trains the selected layers again.
    #[title("Unfreeze layers")]
    #[undo(By("freeze"))]
    fn unfreeze(over "layers") {}

    /// Writes a text now, with the prompt and the length of the recording settings.
    #[title("Sample now")]
    #[undo(Unneeded)]
    fn sample_now(over "") {}
}
