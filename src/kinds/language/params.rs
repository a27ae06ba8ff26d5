//! Parameters of every language kind: text, optimiser, learning rate, recording.

use super::{
    backend::{Hyper, MatrixUpdate},
    choices::{GrammarStyle, TokenizerChoice},
};
use crate::{
    one_of, params,
    params::{PathText, one_of::NoParameters},
};

params! {
    /// Constants of AdamW.
    pub struct AdamWParams {
        /// Decay of the first moment.
        #[param(title = "Beta 1", range = 0.0..=0.999, hard = 0.0..=0.999999, symbol = "β₁")]
        beta1: f64 = 0.9,

        /// Decay of the second moment.
        #[param(title = "Beta 2", range = 0.9..=0.9999, hard = 0.0..=0.9999999, symbol = "β₂")]
        beta2: f64 = 0.99,

        /// Constant added to the root of the second moment.
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

        /// Decay of the first moment of the other parameters.
        #[param(title = "Beta 1", range = 0.0..=0.999, hard = 0.0..=0.999999, symbol = "β₁")]
        beta1: f64 = 0.9,

        /// Decay of the second moment of the other parameters.
        #[param(title = "Beta 2", range = 0.9..=0.9999, hard = 0.0..=0.9999999, symbol = "β₂")]
        beta2: f64 = 0.99,

        /// Constant added to the root of the second moment of the other parameters.
        #[param(title = "Epsilon", range = 1e-10..=1e-4, hard = 0.0..=1.0, scale = Log)]
        eps: f64 = 1e-8,
    }
}

one_of! {
    /// Rule by which gradients change parameters.
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
    /// Decay of the learning rate along half a cosine.
    pub struct Cosine {
        /// Step at which the learning rate reaches its end value.
        #[param(title = "Decay steps", unit = Steps, range = 100.0..=100_000.0, hard = 1.0..=4e9, scale = Log)]
        steps: u32 = 2000,

        /// Learning rate at the end, as a fraction of its maximum.
        #[param(title = "Final fraction", range = 0.0..=1.0)]
        end: f64 = 0.02,
    }
}

params! {
    /// Constant learning rate, then decay along a straight line.
    pub struct Linear {
        /// Step at which the learning rate begins to fall.
        #[param(title = "Decay start", unit = Steps, range = 0.0..=100_000.0, hard = 0.0..=4e9)]
        start: u32 = 1400,

        /// Step at which the learning rate reaches its end value.
        #[param(title = "Decay steps", unit = Steps, range = 100.0..=100_000.0, hard = 1.0..=4e9, scale = Log)]
        steps: u32 = 2000,

        /// Learning rate at the end, as a fraction of its maximum.
        #[param(title = "Final fraction", range = 0.0..=1.0)]
        end: f64 = 0.0,
    }
}

one_of! {
    /// The learning rate after warm-up.
    pub enum RateSchedule {
        /// The learning rate falls along half a cosine, then stays constant.
        Cosine(Cosine),
        /// The learning rate stays constant.
        Constant(NoParameters),
        /// The learning rate stays constant, then falls along a straight line.
        Linear(Linear),
    }
}

/// Declares the parameter group `Training` of a kind: defaults of the common parameters, then the kind's own parameters,
/// which must also be fields of [`Hyper`].
macro_rules! training {
    (
        batch = $batch:literal, learning_rate = $rate:literal, schedule = $schedule:expr, optimizer = $optimizer:expr,
        weight_decay = $decay:literal;
        $( $(#[doc = $docs:literal])* #[param($($keys:tt)*)] $own:ident: f64 = $value:literal, )*
    ) => {
        $crate::params! {
            /// Batches, optimiser and learning rate.
            pub struct Training {
                /// Sequences per micro-batch.
                #[param(title = "Batch", range = 1.0..=128.0, hard = 1.0..=65_536.0, scale = Log, symbol = "B")]
                batch: u32 = $batch,

                /// Micro-batches per step, whose gradients are summed.
                #[param(title = "Micro-batches", range = 1.0..=64.0, hard = 1.0..=65_536.0, scale = Log)]
                micro_batches: u32 = 1,

                /// Maximum learning rate.
                #[param(title = "Learning rate", range = 1e-5..=0.1, hard = 0.0..=100.0, scale = Log, symbol = "η")]
                learning_rate: f64 = $rate,

                /// Steps during which the learning rate rises from 0.
                #[param(title = "Warm-up", unit = Steps, range = 0.0..=2000.0, hard = 0.0..=4e9)]
                warm_up: u32 = 50,

                /// The learning rate after warm-up.
                #[param(title = "Schedule")]
                schedule: $crate::kinds::language::params::RateSchedule = $schedule,

                /// Rule by which gradients change parameters.
                #[param(title = "Optimiser")]
                optimizer: $crate::kinds::language::params::Optimizer = $optimizer,

                /// Weight decay. Matrices and embeddings decay by this value times the learning rate per step; vectors do
                /// not decay.
                #[param(title = "Weight decay", range = 0.0..=1.0, hard = 0.0..=1000.0, symbol = "λ")]
                weight_decay: f64 = $decay,

                /// Maximum norm of the gradient. A larger gradient is scaled down to this norm; 0: never.
                #[param(title = "Gradient clip", range = 0.0..=10.0, hard = 0.0..=1e9, zero = "Never")]
                clip: f64 = 1.0,

                $( $(#[doc = $docs])* #[param($($keys)*)] $own: f64 = $value, )*
            }
        }

        impl Training {
            /// Returns the optimiser settings of step `step`, counted from 0.
            pub fn hyper(&self, step: u64) -> $crate::kinds::language::backend::Hyper {
                $crate::kinds::language::backend::Hyper {
                    learning_rate: self.rate_at(step) as f32,
                    weight_decay: self.weight_decay as f32,
                    clip: self.clip as f32,
                    $( $own: self.$own as f32, )*
                    ..self.optimizer.hyper()
                }
            }

            /// Returns the learning rate of step `step`, counted from 0.
            pub fn rate_at(&self, step: u64) -> f64 {
                self.schedule.rate_at(self.learning_rate, self.warm_up, step)
            }

            /// Returns the number of sequences per step.
            pub fn sequences(&self) -> usize {
                self.batch as usize * self.micro_batches as usize
            }
        }
    };
}
pub(crate) use training;

params! {
    /// Text and tokens.
    pub struct Data {
        /// Text file, JSON lines file or folder. The last tenth is held out and never trained on. Without a path, a
        /// seeded grammar with a known entropy writes the text.
        #[param(title = "Text", apply = Data)]
        text: PathText = PathText::default(),

        /// Conversion of text into tokens.
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

        /// Bytes that the grammar writes for each text.
        #[param(title = "Grammar text", unit = Bytes, range = 1e5..=1e8, hard = 1e4..=2e9, scale = Log, apply = Data)]
        #[show_if(|s| s.text.0.trim().is_empty())]
        grammar_bytes: u32 = 1_000_000,

        /// Languages of the grammar: its own words, then invented words of the same lengths in the same sentences.
        #[param(title = "Languages", range = 1.0..=128.0, apply = Data)]
        #[show_if(|s| s.text.0.trim().is_empty())]
        languages: u32 = 1,

        /// Number of languages in a text; each tale is in one language. If a text does not contain all languages, several
        /// texts follow one another, and the first text follows the last: the source is not stationary, and the words of
        /// one text do not occur in the next. Held-out text and loss levels are those of the current text.
        #[param(title = "Languages at once", range = 1.0..=128.0, apply = Data)]
        #[show_if(|s| s.text.0.trim().is_empty() && s.languages > 1)]
        languages_at_once: u32 = 1,

        /// Interval until the next text.
        #[param(title = "Text interval", unit = Steps, range = 50.0..=10_000.0, hard = 1.0..=4e9, scale = Log, apply = Data)]
        #[show_if(|s| s.n_texts() > 1)]
        text_steps: u32 = 1000,

        /// Initial weights: a safetensors file, also of a GPT-2 model of Hugging Face. Without a path, the weights are
        /// random.
        #[param(title = "Initial weights", apply = Rebuild)]
        weights: PathText = PathText::default(),
    }
}

impl Data {
    /// Returns the number of texts that are read in turn.
    pub fn n_texts(&self) -> u32 {
        let is_generated = self.text.0.trim().is_empty();
        if is_generated { self.languages.div_ceil(self.languages_at_once.max(1)).max(1) } else { 1 }
    }

    /// Returns the total size of the generated texts, bytes.
    pub fn generated_bytes(&self) -> u64 {
        u64::from(self.grammar_bytes) * u64::from(self.n_texts())
    }
}

params! {
    /// Curves and sampled texts.
    pub struct Measure {
        /// Interval between two samples of curves.
        #[param(title = "Curve interval", unit = Steps, range = 1.0..=1000.0, hard = 1.0..=1e9, scale = Log)]
        every: u32 = 5,

        /// Interval between two evaluations of the held-out text; 0: never.
        #[param(title = "Held-out interval", unit = Steps, range = 0.0..=5000.0, hard = 0.0..=1e9, zero = "Never")]
        held_out_every: u32 = 200,

        /// Interval between two sampled texts; 0: never.
        #[param(title = "Sample interval", unit = Steps, range = 0.0..=5000.0, hard = 0.0..=1e9, zero = "Never")]
        sample_every: u32 = 100,

        /// Beginning of sampled texts. If it is empty, a text begins after an end-of-text token or a line break.
        #[param(title = "Prompt")]
        prompt: String = String::new(),

        /// Tokens of a sampled text.
        #[param(title = "Sample length", range = 8.0..=1024.0, hard = 1.0..=65_536.0)]
        length: u32 = 200,

        /// Divisor of the logits; 0: the likeliest token is chosen.
        #[param(title = "Temperature", range = 0.0..=2.0, hard = 0.0..=100.0, zero = "Greedy")]
        temperature: f64 = 0.8,

        /// Number of likeliest tokens among which the next token is drawn; 0: all.
        #[param(title = "Top k", range = 0.0..=1000.0, hard = 0.0..=1e9, zero = "All")]
        top_k: u32 = 0,

        /// Total probability of the likeliest tokens among which the next token is drawn.
        #[param(title = "Top p", range = 0.0..=1.0)]
        top_p: f64 = 1.0,

        /// Text whose loss per token is shown; empty: the newest sample.
        #[param(title = "Scored text")]
        scored: String = String::new(),
    }
}

impl Optimizer {
    /// Returns the optimiser settings of a step, in which learning rate, weight decay, clip and dropout are 0.
    pub fn hyper(&self) -> Hyper {
        let (beta1, beta2, eps, matrices) = match self {
            Self::AdamW(a) => (a.beta1, a.beta2, a.eps, MatrixUpdate::AdamW),
            Self::Muon(m) => {
                let matrices = MatrixUpdate::Muon { momentum: m.momentum as f32, rate: m.matrix_rate as f32 };
                (m.beta1, m.beta2, m.eps, matrices)
            }
        };
        Hyper {
            beta1: beta1 as f32,
            beta2: beta2 as f32,
            eps: eps as f32,
            matrices,
            learning_rate: 0.0,
            weight_decay: 0.0,
            clip: 0.0,
            dropout: 0.0,
            attention_dropout: 0.0,
        }
    }
}

impl RateSchedule {
    /// Returns the learning rate of step `step`, counted from 0, for a maximum rate of `max` and `warm_up` warm-up steps.
    pub fn rate_at(&self, max: f64, warm_up: u32, step: u64) -> f64 {
        if step < warm_up.into() {
            return max * (step + 1) as f64 / f64::from(warm_up);
        }
        match self {
            Self::Constant(_) => max,
            Self::Linear(line) => {
                let (start, span) = (u64::from(line.start), line.steps.saturating_sub(line.start).max(1));
                let done = (step.saturating_sub(start) as f64 / f64::from(span)).min(1.0);
                max * (1.0 + (line.end - 1.0) * done)
            }
            Self::Cosine(cosine) => {
                let from = u64::from(warm_up);
                let span = u64::from(cosine.steps).saturating_sub(from).max(1);
                let done = ((step - from) as f64 / span as f64).min(1.0);
                let share = 0.5 * (1.0 + (std::f64::consts::PI * done).cos());
                max * (cosine.end + (1.0 - cosine.end) * share)
            }
        }
    }
}
