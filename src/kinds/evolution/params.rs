//! Parameters of an evolution project.

use super::{
    choices::{AttentionForm, Form, Generator, Shaping, TextChoice},
    network::{Attention, Scales},
    schedule::Schedule,
    strategy::{self, Rule},
};
use crate::{
    interventions,
    kinds::language::params::{Data, Measure},
    nn::delta_rule::Method,
    one_of, param_tree, params,
    params::{Selection, one_of::NoParameters},
};

params! {
    /// Linear attention with a state that is corrected at every step.
    pub struct DeltaRule {
        /// Method of computing linear attention. The forms round differently, so their losses differ: slightly, and
        /// more with a state of 16 bits.
        #[param(title = "Form", apply = Rebuild)]
        form: AttentionForm = AttentionForm::Chunk,
    }
}

one_of! {
    /// Method by which tokens read earlier tokens of their sequence.
    pub enum AttentionRule {
        /// Exact solution of the delta rule over an interval (Lei, Zhang and Poria 2025, arXiv 2512.12602).
        #[title("EFLA")]
        Efla(DeltaRule),
        /// One step of gradient descent with a normalised key (Yang et al. 2024).
        #[title("DeltaNet")]
        DeltaNet(DeltaRule),
        /// Tokens read no earlier tokens: each sees itself and its position.
        #[title("None")]
        Off(NoParameters),
    }
}

impl AttentionRule {
    /// Returns the rule and the format of its state; `None` without attention.
    pub fn rule(&self) -> Option<Attention> {
        match self {
            Self::Efla(rule) => Some(Attention { method: Method::Efla, state: rule.form.state() }),
            Self::DeltaNet(rule) => Some(Attention { method: Method::DeltaNet, state: rule.form.state() }),
            Self::Off(_) => None,
        }
    }
}

/// Declares the factors of the activations with the defaults of a set of scales.
macro_rules! scales {
    ($(#[doc = $docs:literal])* $Group:ident, $activation:literal) => {
        params! {
            $(#[doc = $docs])*
            pub struct $Group {
                /// Factor of the activations after the input projection.
                #[param(title = "Input scale", range = 0.1..=8.0, hard = 0.0..=127.0, scale = Log, apply = Rebuild)]
                activation: f64 = $activation,

                /// Factor of the activations in the feed-forward layer.
                #[param(title = "Feed-forward scale", range = 0.1..=8.0, hard = 0.0..=127.0, scale = Log, apply = Rebuild)]
                mlp_activation: f64 = $activation,

                /// Factor of normalised activations.
                #[param(title = "Norm scale", range = 0.1..=8.0, hard = 0.0..=127.0, scale = Log, apply = Rebuild)]
                norm: f64 = 1.0,

                /// Factor of attention before it is rounded and added to the residual stream.
                #[param(title = "Attention scale", range = 0.0..=64.0, hard = 0.0..=1e6, apply = Rebuild)]
                residual: f64 = 1.0,

                /// Factor of the feed-forward layer before it is rounded and added to the residual stream.
                #[param(title = "Feed-forward output scale", range = 0.0..=64.0, hard = 0.0..=1e6, apply = Rebuild)]
                mlp_residual: f64 = 1.0,
            }
        }

        impl $Group {
            fn factors(&self, is_live: bool) -> Scales {
                Scales {
                    activation: self.activation as f32,
                    mlp_activation: self.mlp_activation as f32,
                    norm: self.norm as f32,
                    residual: self.residual as f32,
                    mlp_residual: self.mlp_residual as f32,
                    is_live,
                }
            }
        }
    };
}

scales! {
    /// Attention is divided by its mean magnitude, and embeddings keep their perturbation in fixed point.
    LiveScales, 3.0
}
scales! {
    /// Attention and embeddings are rounded to whole numbers as they are.
    SeedScales, 1.0
}

one_of! {
    /// Factors of 8-bit activations.
    pub enum ActivationScales {
        /// Every matrix has an effect.
        #[title("Live")]
        Live(LiveScales),
        /// Scales of the published program, at which attention and the perturbation of embeddings round to 0.
        #[title("Published program")]
        SeedFaithful(SeedScales),
    }
}

impl ActivationScales {
    /// Returns the factors; without attention, its factor is 0.
    pub fn factors(&self, has_attention: bool) -> Scales {
        let scales = match self {
            Self::Live(scales) => scales.factors(true),
            Self::SeedFaithful(scales) => scales.factors(false),
        };
        if has_attention { scales } else { Scales { residual: 0.0, ..scales } }
    }
}

params! {
    /// Shape of the network. Weights are -1, 0 or 1, activations are 8-bit integers.
    pub struct ModelShape {
        /// Number of layers, each of attention and a feed-forward layer.
        #[param(title = "Layers", range = 1.0..=12.0, hard = 1.0..=100.0, apply = Rebuild, symbol = "L")]
        layers: u32 = 1,

        /// Features of a token between layers.
        #[param(title = "Width", range = 16.0..=1024.0, hard = 1.0..=8192.0, scale = Log, apply = Rebuild, symbol = "H")]
        width: u32 = 32,

        /// Width of the feed-forward layer, as a multiple of the width.
        #[param(title = "Feed-forward factor", range = 1.0..=8.0, hard = 1.0..=64.0, apply = Rebuild, symbol = "m")]
        hidden_factor: u32 = 2,

        /// Length of training sequences, and of the longest sequence that the model reads, tokens.
        #[param(title = "Context", range = 8.0..=512.0, hard = 1.0..=8192.0, scale = Log, apply = Rebuild, symbol = "T")]
        context: u32 = 32,

        /// Method by which tokens read earlier tokens of their sequence.
        #[param(title = "Attention", apply = Rebuild)]
        attention: AttentionRule = AttentionRule::Efla(DeltaRule::default()),

        /// Factors of 8-bit activations.
        #[param(title = "Activation scales", apply = Rebuild)]
        scales: ActivationScales = ActivationScales::Live(LiveScales::default()),
    }
}

params! {
    /// Products of thin factors of -1 and 1.
    pub struct LowRankNoise {
        /// Rank of the perturbation of a matrix. One multiplication by the unperturbed weights is shared by all members.
        #[param(title = "Rank", range = 1.0..=16.0, hard = 1.0..=64.0, symbol = "r")]
        rank: u32 = 1,
    }
}

params! {
    /// One integer per weight.
    pub struct FullRankNoise {
        /// Generator of the integers.
        #[param(title = "Generator")]
        generator: Generator = Generator::SumOfFour,
    }
}

one_of! {
    /// Perturbation of a pair of members.
    pub enum Noise {
        /// The product of two thin factors per matrix, as in EGGROLL (arXiv 2511.16652).
        LowRank(LowRankNoise),
        /// One integer per weight.
        FullRank(FullRankNoise),
        /// A sign per output of each matrix and token, in place of perturbed weights (node perturbation, Widrow and Lehr 1990; Ren et
        /// al. 2023, arXiv 2210.03310). The update takes one more forward pass per pair.
        Activations(NoParameters),
    }
}

params! {
    /// Running mean of the normalised sums.
    pub struct MomentumRule {
        /// Share of the earlier mean in the new one.
        #[param(title = "Momentum", range = 0.0..=0.99, hard = 0.0..=0.99999, symbol = "μ", apply = Rebuild)]
        momentum: f64 = 0.9,
    }
}

params! {
    /// Adam's rule for each weight.
    pub struct AdamRule {
        /// Decay of the first moment.
        #[param(title = "Beta 1", range = 0.0..=0.999, hard = 0.0..=0.99999, symbol = "β₁", apply = Rebuild)]
        beta1: f64 = 0.9,

        /// Decay of the second moment.
        #[param(title = "Beta 2", range = 0.9..=0.9999, hard = 0.0..=0.999999, symbol = "β₂", apply = Rebuild)]
        beta2: f64 = 0.95,
    }
}

one_of! {
    /// Rule by which the weighted sum of the perturbations changes the weights.
    pub enum UpdateRule {
        /// The sum, divided by the running mean of its magnitude in the tensor.
        Normalised(NoParameters),
        /// Mean of the latest normalised sums.
        Momentum(MomentumRule),
        /// The sum, divided by the running mean of its magnitude in each weight (Kingma and Ba 2015).
        Adam(AdamRule),
    }
}

impl UpdateRule {
    /// Returns the rule with its constants.
    pub fn rule(&self) -> Rule {
        match self {
            Self::Normalised(_) => Rule::Normalised,
            Self::Momentum(rule) => Rule::Momentum { decay: rule.momentum as f32 },
            Self::Adam(rule) => Rule::Adam { decay: [rule.beta1 as f32, rule.beta2 as f32] },
        }
    }
}

params! {
    /// Population, perturbations and update. The weights change once per generation.
    pub struct Strategy {
        /// Members of the population, in pairs with opposite perturbations.
        #[param(title = "Population", range = 64.0..=262_144.0, hard = 2.0..=1_048_576.0, scale = Log, apply = Rebuild, symbol = "N")]
        population: u32 = 4096,

        /// Sequences that a member reads per generation.
        #[param(title = "Sequences", range = 1.0..=64.0, hard = 1.0..=4096.0, scale = Log, symbol = "B")]
        sequences: u32 = 1,

        /// Texts that the members read.
        #[param(title = "Texts")]
        texts: TextChoice = TextChoice::PerPair,

        /// Perturbation of a pair: of its weights, or of its activations.
        #[param(title = "Noise")]
        noise: Noise = Noise::LowRank(LowRankNoise::default()),

        /// Scale of the perturbations at the start: σ = 2^-shift.
        #[param(title = "Sigma shift", range = 0.0..=6.0, formula = "σ = 2^-shift")]
        sigma_shift: u32 = 3,

        /// Course of the sigma shift over the generations.
        #[param(title = "Sigma course")]
        sigma_course: Form = Form::Constant,

        /// Sigma shift at the end of its course.
        #[param(title = "Final sigma shift", range = 0.0..=6.0)]
        #[show_if(|s| s.sigma_course != Form::Constant)]
        final_sigma_shift: u32 = 4,

        /// Weight of a pair in the update.
        #[param(title = "Fitness shaping")]
        shaping: Shaping = Shaping::CentredRank,

        /// Largest weight of a pair.
        #[param(title = "Fitness clip", range = 1.0..=10.0, hard = 0.001..=1e6)]
        #[show_if(|s| s.shaping != Shaping::Sign)]
        clip: f64 = 3.0,

        /// Whether early generations evaluate only a part of the pairs: half of them up to 15 % of the course, three
        /// quarters up to 35 %.
        #[param(title = "Growing population")]
        growing: bool = false,

        /// Rule by which the weighted sum of the perturbations changes the weights.
        #[param(title = "Update", apply = Rebuild)]
        update: UpdateRule = UpdateRule::Normalised(NoParameters {}),

        /// Learning rate at the start.
        #[param(title = "Learning rate", range = 0.001..=1.0, hard = 0.0..=100.0, scale = Log, symbol = "η")]
        learning_rate: f64 = 0.1,

        /// Course of the learning rate over the generations.
        #[param(title = "Rate course")]
        rate_course: Form = Form::Exponential,

        /// Learning rate at the end of its course.
        #[param(title = "Final learning rate", range = 0.0001..=1.0, hard = 0.0..=100.0, scale = Log)]
        #[show_if(|s| s.rate_course != Form::Constant)]
        final_learning_rate: f64 = 0.002,

        /// Learning rate of biases and positions, as a multiple of the learning rate.
        #[param(title = "Vector rate factor", range = 0.0..=2.0, hard = 0.0..=1000.0)]
        vector_rate: f64 = 0.2,

        /// Whether positions are trained.
        #[param(title = "Trained positions")]
        trained_positions: bool = true,

        /// Magnitude of the normalised sum below which a weight keeps its value, for one pair; for n pairs it is
        /// sqrt(n) times as large.
        #[param(title = "Threshold", range = 0.0..=0.2, hard = 0.0..=100.0)]
        threshold: f64 = 0.0,

        /// Course of the threshold over the generations.
        #[param(title = "Threshold course")]
        threshold_course: Form = Form::Constant,

        /// Threshold at the end of its course.
        #[param(title = "Final threshold", range = 0.0..=0.2, hard = 0.0..=100.0)]
        #[show_if(|s| s.threshold_course != Form::Constant)]
        final_threshold: f64 = 0.01,

        /// Whether the rounding error of a weight is kept in 8 bits instead of 32.
        #[param(title = "8-bit rounding error")]
        byte_residual: bool = false,

        /// Length of the courses.
        #[param(title = "Course length", unit = Count("generations"), range = 50.0..=10_000.0, hard = 1.0..=4e9, scale = Log)]
        generations: u32 = 1500,
    }
}

impl Strategy {
    /// Returns the number of pairs of members.
    pub fn pairs(&self) -> usize {
        (self.population as usize / 2).max(1)
    }

    /// Returns the learning rate of a generation.
    pub fn rate_at(&self, generation: u64) -> f64 {
        let course = Schedule { form: self.rate_course, first: self.learning_rate, last: self.final_learning_rate };
        course.at(generation, self.generations.into())
    }

    /// Returns the settings that change from generation to generation.
    pub fn course(&self, generation: u64) -> strategy::Course {
        let n = self.generations.into();
        let schedule = |form, first: f64, last: f64| Schedule { form, first, last };
        let threshold = schedule(self.threshold_course, self.threshold, self.final_threshold);
        let shift = schedule(self.sigma_course, self.sigma_shift.into(), self.final_sigma_shift.into());
        strategy::Course {
            rate: self.rate_at(generation) as f32,
            threshold: threshold.at(generation, n) as f32,
            shift: shift.whole_at(generation, n).min(strategy::MAX_SHIFT),
            pairs: self.pairs_at(generation),
        }
    }

    /// Returns the number of pairs that a generation evaluates.
    fn pairs_at(&self, generation: u64) -> usize {
        let done = generation as f64 / f64::from(self.generations.max(1));
        let quarters = match done {
            _ if !self.growing => 4,
            done if done < 0.15 => 2,
            done if done < 0.35 => 3,
            _ => 4,
        };
        (self.pairs() * quarters).div_ceil(4)
    }
}

interventions! {
    /// Effect of an intervention while it is active.
    pub enum Effect {}

    /// An intervention over a span of generations.
    pub struct Intervention(u64, Count("generations")) {}
}

param_tree! {
    /// Parameters of an evolution project.
    pub struct Params {
        /// Shape of the network.
        #[title("Model")]
        model: ModelShape,
        /// Population, perturbations and update.
        #[title("Strategy")]
        strategy: Strategy,
        /// Text and tokens.
        #[title("Data")]
        #[steps("generations")]
        data: Data,
        /// Named sets of layers, tensors or pairs, for use in views.
        #[title("Selections")]
        #[role(Selections)]
        selections: [Selection],
        /// Values of parameters over spans of generations.
        #[title("Interventions")]
        #[role(Interventions)]
        interventions: [Intervention],
        /// Curves and sampled texts.
        #[title("Recording")]
        #[steps("generations")]
        measure: Measure,
    }
}
