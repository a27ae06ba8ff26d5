//! Parameters of a transformer project.

use super::{
    backend::{Hyper, MatrixUpdate},
    choices::{
        ActivationFunction, AttentionMethod, Checkpointing, GemmMethod, GrammarStyle, NormFunction, NormPlacement,
        PairLayout, Precision, TokenizerChoice,
    },
};
use crate::{
    interventions, one_of, param_tree, params,
    params::{PathText, Selection, one_of::NoParameters},
};

params! {
    /// Rotary positions.
    pub struct Rotary {
        /// Base of the wavelengths: the angle of pair i at position p is p · base^(-2i/d).
        #[param(title = "Base", range = 100.0..=1e6, hard = 1.0..=1e9, scale = Log, apply = Rebuild)]
        base: f64 = 1e4,

        /// Which features of a head rotate together.
        #[param(title = "Pairs", apply = Rebuild)]
        layout: PairLayout = PairLayout::Half,
    }
}

one_of! {
    /// How the model sees the position of a token.
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
        #[param(title = "Key/value heads", range = 0.0..=32.0, hard = 0.0..=1024.0, apply = Rebuild, symbol = "n_kv")]
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

        /// How the model sees the position of a token.
        #[param(title = "Positions", apply = Rebuild)]
        positions: Positions = Positions::Rope(Rotary::default()),

        /// Activation function of feed-forward layers.
        #[param(title = "Activation function", apply = Rebuild)]
        activation: ActivationFunction = ActivationFunction::GeluTanh,

        /// Normalisation of the features of a token.
        #[param(title = "Norm", apply = Rebuild)]
        norm: NormFunction = NormFunction::Layer,

        /// Where a block normalises.
        #[param(title = "Norm placement", apply = Rebuild)]
        placement: NormPlacement = NormPlacement::Pre,

        /// Added to the variance in a norm.
        #[param(title = "Norm epsilon", range = 1e-8..=1e-3, hard = 0.0..=1.0, scale = Log, apply = Rebuild, symbol = "ε")]
        eps: f64 = 1e-5,

        /// Factor of the attention logits; 0: 1/sqrt(width of a head).
        #[param(title = "Attention scale", range = 0.0..=1.0, hard = 0.0..=1e6, apply = Rebuild)]
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
    /// Which tokens attend to which.
    pub struct Mask {
        /// A token attends to itself and earlier ones. Without it the model sees the tokens that it predicts.
        #[param(title = "Causal", apply = Rebuild)]
        causal: bool = true,

        /// A token attends to that many tokens, itself included; 0: to all.
        #[param(title = "Sliding window", range = 0.0..=4096.0, hard = 0.0..=1_048_576.0, apply = Rebuild)]
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

        /// Implementation of matrix multiplications on a GPU.
        #[param(title = "Matrix multiplication", apply = Rebuild)]
        gemm: GemmMethod = GemmMethod::Auto,

        /// Threads per block of norms, activations, dropout and sums on a GPU; 0: by occupancy and size. Results are the same
        /// within the rounding of their sums.
        #[param(title = "Threads per block", range = 0.0..=1024.0, hard = 0.0..=1024.0, apply = Rebuild)]
        threads_per_block: u32 = 0,

        /// What is computed again in the backward pass instead of being kept. The CPU keeps everything.
        #[param(title = "Checkpointing", apply = Rebuild)]
        checkpointing: Checkpointing = Checkpointing::Nothing,
    }
}

params! {
    /// AdamW.
    pub struct AdamWParams {
        /// Decay of the first moment.
        #[param(title = "Beta 1", range = 0.0..=0.999, hard = 0.0..=0.999999, symbol = "β₁")]
        beta1: f64 = 0.9,

        /// Decay of the second moment.
        #[param(title = "Beta 2", range = 0.9..=0.9999, hard = 0.0..=0.9999999, symbol = "β₂")]
        beta2: f64 = 0.99,

        /// Added to the root of the second moment.
        #[param(title = "Epsilon", range = 1e-10..=1e-4, hard = 0.0..=1.0, scale = Log)]
        eps: f64 = 1e-8,
    }
}

params! {
    /// Muon for matrices of blocks, AdamW for the other parameters.
    pub struct MuonParams {
        /// Decay of the momentum of matrices.
        #[param(title = "Momentum", range = 0.0..=0.999, hard = 0.0..=0.999999, symbol = "μ")]
        momentum: f64 = 0.95,

        /// Learning rate of matrices, as a multiple of the learning rate.
        #[param(title = "Matrix rate factor", range = 0.1..=100.0, hard = 0.0..=1e6, scale = Log)]
        matrix_rate: f64 = 10.0,

        /// Decay of the first moment of other parameters.
        #[param(title = "Beta 1", range = 0.0..=0.999, hard = 0.0..=0.999999, symbol = "β₁")]
        beta1: f64 = 0.9,

        /// Decay of their second moment.
        #[param(title = "Beta 2", range = 0.9..=0.9999, hard = 0.0..=0.9999999, symbol = "β₂")]
        beta2: f64 = 0.99,

        /// Added to the root of their second moment.
        #[param(title = "Epsilon", range = 1e-10..=1e-4, hard = 0.0..=1.0, scale = Log)]
        eps: f64 = 1e-8,
    }
}

one_of! {
    /// How gradients change parameters.
    pub enum Optimizer {
        /// Adam with decoupled weight decay (Loshchilov & Hutter 2019).
        #[title("AdamW")]
        AdamW(AdamWParams),
        /// Orthogonalised momentum of matrices (Jordan 2024).
        #[title("Muon")]
        Muon(MuonParams),
    }
}

params! {
    /// Half a cosine.
    pub struct Cosine {
        /// Step at which the learning rate reaches its end value.
        #[param(title = "Decay steps", unit = Steps, range = 100.0..=100_000.0, hard = 1.0..=4e9, scale = Log)]
        steps: u32 = 2000,

        /// Learning rate at the end, as a fraction of its maximum.
        #[param(title = "Final fraction", range = 0.0..=1.0)]
        end: f64 = 0.02,
    }
}

one_of! {
    /// The learning rate after warm-up.
    pub enum RateSchedule {
        /// Falls along half a cosine, then stays.
        Cosine(Cosine),
        /// Stays.
        Constant(NoParameters),
    }
}

params! {
    /// Batches, optimiser and learning rate.
    pub struct Training {
        /// Sequences per micro-batch.
        #[param(title = "Batch", range = 1.0..=128.0, hard = 1.0..=65_536.0, scale = Log, symbol = "B")]
        batch: u32 = 4,

        /// Micro-batches per step, whose gradients are summed.
        #[param(title = "Micro-batches", range = 1.0..=64.0, hard = 1.0..=65_536.0, scale = Log)]
        micro_batches: u32 = 1,

        /// Maximum learning rate.
        #[param(title = "Learning rate", range = 1e-5..=0.1, hard = 0.0..=100.0, scale = Log, symbol = "η")]
        learning_rate: f64 = 6e-3,

        /// Steps during which the learning rate rises from 0.
        #[param(title = "Warm-up", unit = Steps, range = 0.0..=2000.0, hard = 0.0..=4e9)]
        warm_up: u32 = 50,

        /// The learning rate after warm-up.
        #[param(title = "Schedule")]
        schedule: RateSchedule = RateSchedule::Cosine(Cosine::default()),

        /// How gradients change parameters.
        #[param(title = "Optimiser")]
        optimizer: Optimizer = Optimizer::AdamW(AdamWParams::default()),

        /// Decay of matrices per step, times the learning rate. Vectors do not decay.
        #[param(title = "Weight decay", range = 0.0..=1.0, hard = 0.0..=1000.0, symbol = "λ")]
        weight_decay: f64 = 0.1,

        /// Gradients with a larger norm are scaled down to it; 0: never.
        #[param(title = "Gradient clip", range = 0.0..=10.0, hard = 0.0..=1e9)]
        clip: f64 = 1.0,

        /// Probability with which an activation is dropped in training: of the embedding, of attention outputs and of
        /// feed-forward outputs.
        #[param(title = "Dropout", range = 0.0..=0.5, hard = 0.0..=0.99, symbol = "p")]
        dropout: f64 = 0.0,
    }
}

params! {
    /// Text and tokens.
    pub struct Data {
        /// Text file, JSON lines file or folder. The last tenth is held out and never trained on. Without a path, a
        /// seeded grammar with a known entropy writes the text.
        #[param(title = "Text", apply = Data)]
        text: PathText = PathText::default(),

        /// How text becomes tokens.
        #[param(title = "Tokenizer", apply = Rebuild)]
        tokenizer: TokenizerChoice = TokenizerChoice::Bytes,

        /// A `tokenizer.json` file.
        #[param(title = "Tokenizer file", apply = Rebuild)]
        #[show_if(|s| s.tokenizer == TokenizerChoice::Bpe)]
        tokenizer_file: PathText = PathText::default(),

        /// Grammar that writes the text.
        #[param(title = "Grammar", apply = Data)]
        #[show_if(|s| s.text.0.trim().is_empty())]
        grammar: GrammarStyle = GrammarStyle::Animals,

        /// Bytes that the grammar writes.
        #[param(title = "Grammar text", unit = Bytes, range = 1e5..=1e8, hard = 1e4..=2e9, scale = Log, apply = Data)]
        #[show_if(|s| s.text.0.trim().is_empty())]
        grammar_bytes: u32 = 1_000_000,

        /// Weights to start from: a safetensors file, also of a GPT-2 model of Hugging Face. Without a path, random
        /// weights.
        #[param(title = "Initial weights", apply = Rebuild)]
        weights: PathText = PathText::default(),
    }
}

params! {
    /// Curves and sampled texts.
    pub struct Measure {
        /// Steps between two samples of curves.
        #[param(title = "Curve interval", unit = Steps, range = 1.0..=1000.0, hard = 1.0..=1e9, scale = Log)]
        every: u32 = 5,

        /// Steps between two evaluations of the held-out text; 0: never.
        #[param(title = "Held-out interval", unit = Steps, range = 0.0..=5000.0, hard = 0.0..=1e9)]
        held_out_every: u32 = 200,

        /// Steps between two sampled texts; 0: never.
        #[param(title = "Sample interval", unit = Steps, range = 0.0..=5000.0, hard = 0.0..=1e9)]
        sample_every: u32 = 100,

        /// Beginning of sampled texts; without one, the beginning of a document or a line.
        #[param(title = "Prompt")]
        prompt: String = String::new(),

        /// Tokens of a sampled text.
        #[param(title = "Sample length", range = 8.0..=1024.0, hard = 1.0..=65_536.0)]
        length: u32 = 200,

        /// Logits are divided by it; 0: the likeliest token.
        #[param(title = "Temperature", range = 0.0..=2.0, hard = 0.0..=100.0)]
        temperature: f64 = 0.8,

        /// Samples among that many likeliest tokens; 0: all.
        #[param(title = "Top k", range = 0.0..=1000.0, hard = 0.0..=1e9)]
        top_k: u32 = 0,

        /// Samples among the likeliest tokens with that total probability.
        #[param(title = "Top p", range = 0.0..=1.0)]
        top_p: f64 = 1.0,

        /// Text whose loss per token is shown; empty: the newest sample.
        #[param(title = "Scored text")]
        scored: String = String::new(),
    }
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
        /// Which tokens attend to which.
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

impl Training {
    /// What the optimiser and dropout use in a step.
    pub fn hyper(&self, step: u64) -> Hyper {
        let (beta1, beta2, eps, matrices) = match &self.optimizer {
            Optimizer::AdamW(a) => (a.beta1, a.beta2, a.eps, MatrixUpdate::AdamW),
            Optimizer::Muon(m) => {
                let matrices = MatrixUpdate::Muon { momentum: m.momentum as f32, rate: m.matrix_rate as f32 };
                (m.beta1, m.beta2, m.eps, matrices)
            }
        };
        Hyper {
            learning_rate: self.rate_at(step) as f32,
            beta1: beta1 as f32,
            beta2: beta2 as f32,
            eps: eps as f32,
            weight_decay: self.weight_decay as f32,
            clip: self.clip as f32,
            dropout: self.dropout as f32,
            matrices,
        }
    }

    /// The learning rate of a step, counted from 0.
    pub fn rate_at(&self, step: u64) -> f64 {
        if step < self.warm_up.into() {
            return self.learning_rate * (step + 1) as f64 / f64::from(self.warm_up);
        }
        match &self.schedule {
            RateSchedule::Constant(_) => self.learning_rate,
            RateSchedule::Cosine(cosine) => {
                let from = u64::from(self.warm_up);
                let span = u64::from(cosine.steps).saturating_sub(from).max(1);
                let done = ((step - from) as f64 / span as f64).min(1.0);
                let share = 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
                self.learning_rate * (cosine.end + (1.0 - cosine.end) * share)
            }
        }
    }

    /// Sequences of a step.
    pub fn sequences(&self) -> usize {
        self.batch as usize * self.micro_batches as usize
    }
}
