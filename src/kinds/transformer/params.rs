//! Parameters of a transformer project.

use super::choices::{
    ActivationFunction, AttentionMethod, Checkpointing, GemmMethod, LayerProduct, LinearLayer, NormFunction,
    NormPlacement, PairLayout, Precision,
};
use crate::{
    interventions,
    kinds::language::params::{AdamWParams, Cosine, Data, Measure, Optimizer, RateSchedule, training},
    one_of, param_tree, params,
    params::{Selection, one_of::NoParameters},
};

params! {
    /// Rotary positions.
    pub struct Rotary {
        /// Base of the wavelengths: the angle of pair i at position p is p · base^(-2i/d).
        #[param(title = "Base", range = 100.0..=1e6, hard = 1.0..=1e9, scale = Log, apply = Rebuild)]
        base: f64 = 1e4,

        /// Pairs of features of a head that rotate together.
        #[param(title = "Pairs", apply = Rebuild)]
        layout: PairLayout = PairLayout::Half,
    }
}

one_of! {
    /// Encoding of the position of a token.
    pub enum Positions {
        /// Queries and keys are rotated by an angle proportional to the position (RoPE).
        #[title("Rotary (RoPE)")]
        Rope(Rotary),
        /// A trained vector per position is added to the embedding.
        #[title("Learned")]
        Learned(NoParameters),
        /// Sines and cosines of the position are added to the embedding.
        #[title("Sinusoidal")]
        Sinusoidal(NoParameters),
    }
}

params! {
    /// Shape of the network.
    pub struct ModelShape {
        /// Blocks of attention and feed-forward layer.
        #[param(title = "Layers", range = 1.0..=48.0, hard = 1.0..=1000.0, apply = Rebuild, symbol = "L")]
        layers: u32 = 3,

        /// Attention heads. They divide the width.
        #[param(title = "Heads", range = 1.0..=32.0, hard = 1.0..=1024.0, apply = Rebuild, symbol = "n_h")]
        heads: u32 = 3,

        /// Heads of keys and values, a divisor of the number of heads (grouped-query attention); 0: as many as heads.
        #[param(title = "Key/value heads", range = 0.0..=32.0, hard = 0.0..=1024.0, apply = Rebuild, symbol = "n_kv", zero = "All")]
        kv_heads: u32 = 0,

        /// Features of a token between layers.
        #[param(title = "Width", range = 16.0..=2048.0, hard = 2.0..=65_536.0, scale = Log, apply = Rebuild, symbol = "C")]
        width: u32 = 96,

        /// Width of the feed-forward layer, as a multiple of the width.
        #[param(title = "Feed-forward factor", range = 1.0..=8.0, hard = 0.1..=64.0, apply = Rebuild)]
        hidden_factor: f64 = 4.0,

        /// Longest sequence, tokens: the length of training sequences.
        #[param(title = "Context", range = 16.0..=4096.0, hard = 1.0..=1_048_576.0, scale = Log, apply = Rebuild, symbol = "T")]
        context: u32 = 128,

        /// Encoding of the position of a token.
        #[param(title = "Positions", apply = Rebuild)]
        positions: Positions = Positions::Rope(Rotary::default()),

        /// Activation function of feed-forward layers.
        #[param(title = "Activation function", apply = Rebuild)]
        activation: ActivationFunction = ActivationFunction::GeluTanh,

        /// Normalisation of the features of a token.
        #[param(title = "Norm", apply = Rebuild)]
        norm: NormFunction = NormFunction::Layer,

        /// Place of the norms in a block.
        #[param(title = "Norm placement", apply = Rebuild)]
        placement: NormPlacement = NormPlacement::Pre,

        /// Constant added to the variance in a norm.
        #[param(title = "Norm epsilon", range = 1e-8..=1e-3, hard = 0.0..=1.0, scale = Log, apply = Rebuild, symbol = "ε")]
        eps: f64 = 1e-5,

        /// Factor of the attention logits; 0: 1/sqrt(width of a head).
        #[param(title = "Attention scale", range = 0.0..=1.0, hard = 0.0..=1e6, apply = Rebuild, zero = "Auto")]
        scale: f64 = 0.0,

        /// Whether linear layers and norms have biases.
        #[param(title = "Biases", apply = Rebuild)]
        bias: bool = false,

        /// Whether the logits use the embedding matrix; otherwise they have a matrix of their own.
        #[param(title = "Tied head", apply = Rebuild)]
        tied: bool = true,
    }
}

params! {
    /// Rule for the tokens that a token attends to.
    pub struct Mask {
        /// A token attends to itself and earlier ones. Without it the model sees the tokens that it predicts.
        #[param(title = "Causal", apply = Rebuild)]
        causal: bool = true,

        /// Number of tokens to which a token attends, itself included; 0: all.
        #[param(title = "Sliding window", range = 0.0..=4096.0, hard = 0.0..=1_048_576.0, apply = Rebuild, zero = "All")]
        window: u32 = 0,
    }
}

params! {
    /// Precision and implementations.
    pub struct Compute {
        /// Number format of weights and activations on a GPU. The CPU computes in f32.
        #[param(title = "Precision", apply = Rebuild)]
        precision: Precision = Precision::F32,

        /// Implementation of attention.
        #[param(title = "Attention", apply = Rebuild)]
        attention: AttentionMethod = AttentionMethod::Flash,

        /// Whether a GPU adds the gradients of queries by f32 atomics in one kernel with those of keys and values: 5
        /// products instead of 7, for 4 bytes more per query and channel. The order of the additions depends on the
        /// order in which blocks run, so that bits may differ from run to run. Has an effect with compute capability
        /// 9.0 and bf16 or f16; otherwise gradients stay deterministic. On an H200 the backward pass is 1.09 times as fast
        /// with 8192 tokens and heads of 128, 1.11 times with heads of 64, and 0.98 times with 1024 tokens.
        #[param(title = "Gradients by atomics", apply = Rebuild)]
        fast_nondeterministic: bool = false,

        /// Implementation of matrix multiplications on a GPU.
        #[param(title = "Matrix multiplication", apply = Rebuild)]
        gemm: GemmMethod = GemmMethod::Auto,

        /// Whether passes over memory are merged on a GPU: GELU and its derivative into matrix multiplications, dropout into
        /// the sum with the residual stream. Activations are the same within the rounding of the precision. GELU itself is not
        /// merged where it is computed again in the backward pass (checkpointing 1 and 2), so that both are the same bits.
        #[param(title = "Fused layers", apply = Rebuild)]
        fused: bool = false,

        /// Whether the bf16 copy of the weights, with which a GPU computes, is rounded stochastically after each update: up
        /// with the probability of the part that is cut off, by draws of seed, update and weight. Updates smaller than a unit
        /// of bf16 then count on average. Other formats are rounded to the nearest.
        #[param(title = "Stochastic rounding", apply = Rebuild)]
        stochastic_rounding: bool = false,

        /// Threads per block of norms, activations, dropout and sums on a GPU; 0: by occupancy and size. Results are the same
        /// within the rounding of their sums.
        #[param(title = "Threads per block", range = 0.0..=1024.0, hard = 0.0..=1024.0, apply = Rebuild, zero = "Auto")]
        threads_per_block: u32 = 0,

        /// Activations that are computed again in the backward pass instead of being kept. The CPU keeps all.
        #[param(title = "Checkpointing", apply = Rebuild)]
        checkpointing: Checkpointing = Checkpointing::Nothing,
    }
}

impl Compute {
    /// Whether [`Compute::fast_nondeterministic`] is set and has an effect with this method and precision.
    pub fn adds_gradients_of_queries(&self) -> bool {
        let is_16_bit = matches!(self.precision, Precision::Bf16 | Precision::F16);
        self.fast_nondeterministic && self.attention == AttentionMethod::Flash && is_16_bit
    }
}

params! {
    /// Another implementation of some matrix multiplications on a GPU.
    pub struct GemmException {
        /// Linear layers, of all blocks.
        #[param(title = "Layer", apply = Rebuild)]
        layer: LinearLayer = LinearLayer::AttentionQkv,

        /// Multiplications of the layer.
        #[param(title = "Multiplication", apply = Rebuild)]
        product: LayerProduct = LayerProduct::All,

        /// Implementation of the multiplications. Fastest (measured): automatic, unless all multiplications are
        /// measured.
        #[param(title = "Implementation", apply = Rebuild)]
        gemm: GemmMethod = GemmMethod::Auto,
    }
}

training! {
    batch = 4,
    learning_rate = 6e-3,
    schedule = RateSchedule::Cosine(Cosine::default()),
    optimizer = Optimizer::AdamW(AdamWParams::default()),
    weight_decay = 0.1;

    /// Probability with which an activation is dropped in training: of the embedding, of attention outputs and of
    /// feed-forward outputs.
    #[param(title = "Dropout", range = 0.0..=0.5, hard = 0.0..=0.99, symbol = "p")]
    dropout: f64 = 0.0,

    /// Probability with which an attention probability is dropped in training, after the softmax.
    #[param(title = "Attention dropout", range = 0.0..=0.5, hard = 0.0..=0.99)]
    attention_dropout: f64 = 0.0,
}

interventions! {
    /// Effect of an intervention while it is active.
    pub enum Effect {}

    /// An intervention over a span of steps.
    pub struct Intervention(u64, Count("steps")) {}
}

param_tree! {
    /// Parameters of a transformer project.
    pub struct Params {
        /// Shape of the network.
        #[title("Model")]
        model: ModelShape,
        /// Rule for the tokens that a token attends to.
        #[title("Attention mask")]
        mask: Mask,
        /// Batches, optimiser and learning rate.
        #[title("Training")]
        training: Training,
        /// Text and tokens.
        #[title("Data")]
        data: Data,
        /// Precision and implementations.
        #[title("Compute")]
        compute: Compute,
        /// Implementations of matrix multiplications that differ from that of the others; of several for the same
        /// multiplication the last counts.
        #[title("Kernel choices")]
        gemm_exceptions: [GemmException],
        /// Named sets of layers, for use in views.
        #[title("Selections")]
        #[role(Selections)]
        selections: [Selection],
        /// Values of parameters over spans of steps.
        #[title("Interventions")]
        #[role(Interventions)]
        interventions: [Intervention],
        /// Curves and sampled texts.
        #[title("Recording")]
        measure: Measure,
    }
}
