//! Parameters of a synaptic project.

use super::{
    choices::Precision,
    mechanisms::{Experts, Life, Plasticity, Presynaptic},
};
use crate::{
    interventions,
    kinds::language::{
        backend::Hyper,
        params::{AdamWParams, Data, Measure, Optimizer, RateSchedule},
    },
    param_tree, params,
    params::{ParamWarning, Selection},
};

params! {
    /// Shape of the network.
    pub struct ModelShape {
        /// Blocks of attention and mixture of experts.
        #[param(title = "Layers", range = 1.0..=12.0, hard = 1.0..=1000.0, apply = Rebuild, symbol = "L")]
        layers: u32 = 2,

        /// Attention heads. They divide the width.
        #[param(title = "Heads", range = 1.0..=16.0, hard = 1.0..=1024.0, apply = Rebuild, symbol = "H")]
        heads: u32 = 4,

        /// Heads of keys and values, a divisor of the number of heads (multi-query attention).
        #[param(title = "Key/value heads", range = 1.0..=16.0, hard = 1.0..=1024.0, apply = Rebuild, symbol = "H_kv")]
        kv_heads: u32 = 1,

        /// Features of a token between layers.
        #[param(title = "Width", range = 16.0..=1024.0, hard = 2.0..=65_536.0, scale = Log, apply = Rebuild, symbol = "C")]
        width: u32 = 64,

        /// Longest sequence, tokens: the length of training sequences.
        #[param(title = "Context", range = 16.0..=1024.0, hard = 2.0..=65_536.0, scale = Log, apply = Rebuild, symbol = "T")]
        context: u32 = 128,

        /// Base of the wavelengths of rotary positions: the angle of pair i at position p is p · base^(-2i/D).
        #[param(title = "Rotary base", range = 100.0..=1e6, hard = 1.0..=1e9, scale = Log, apply = Rebuild)]
        rope_base: f64 = 1e4,
    }
}

params! {
    /// Arithmetic on a GPU.
    pub struct Compute {
        /// Number format of the operands of matrix multiplications on a GPU. The CPU computes in f32.
        #[param(title = "Precision", apply = Rebuild)]
        precision: Precision = Precision::F32,
    }
}

params! {
    /// Batches, optimiser and learning rate.
    pub struct Training {
        /// Sequences per micro-batch.
        #[param(title = "Batch", range = 1.0..=128.0, hard = 1.0..=65_536.0, scale = Log, symbol = "B")]
        batch: u32 = 8,

        /// Micro-batches per step, whose gradients are summed.
        #[param(title = "Micro-batches", range = 1.0..=64.0, hard = 1.0..=65_536.0, scale = Log)]
        micro_batches: u32 = 1,

        /// Maximum learning rate.
        #[param(title = "Learning rate", range = 1e-5..=0.1, hard = 0.0..=100.0, scale = Log, symbol = "η")]
        learning_rate: f64 = 3e-3,

        /// Steps during which the learning rate rises from 0.
        #[param(title = "Warm-up", unit = Steps, range = 0.0..=2000.0, hard = 0.0..=4e9)]
        warm_up: u32 = 50,

        /// The learning rate after warm-up.
        #[param(title = "Schedule")]
        schedule: RateSchedule = RateSchedule::Constant(Default::default()),

        /// How gradients change parameters.
        #[param(title = "Optimiser")]
        optimizer: Optimizer = Optimizer::AdamW(AdamWParams { beta2: 0.95, ..Default::default() }),

        /// Decay of matrices per step, times the learning rate. Vectors do not decay.
        #[param(title = "Weight decay", range = 0.0..=1.0, hard = 0.0..=1000.0, symbol = "λ")]
        weight_decay: f64 = 0.0,

        /// Gradients with a larger norm are scaled down to it; 0: never.
        #[param(title = "Gradient clip", range = 0.0..=10.0, hard = 0.0..=1e9)]
        clip: f64 = 1.0,
    }
}

interventions! {
    /// Effect of an intervention while it is active.
    pub enum Effect {}

    /// An intervention over a span of steps.
    pub struct Intervention(u64, Count("steps")) {}
}

param_tree! {
    /// Parameters of a synaptic project.
    pub struct Params {
        /// Shape of the network.
        #[title("Model")]
        model: ModelShape,
        /// Presynaptic release.
        #[title("Presynaptic release")]
        presynaptic: Presynaptic,
        /// Router and experts.
        #[title("Experts")]
        experts: Experts,
        /// Life cycle of experts.
        #[title("Life cycle")]
        life: Life,
        /// Memory that is written while a text is continued.
        #[title("Fast memory")]
        plasticity: Plasticity,
        /// Arithmetic on a GPU.
        #[title("Compute")]
        compute: Compute,
        /// Batches, optimiser and learning rate.
        #[title("Training")]
        training: Training,
        /// Text and tokens.
        #[title("Data")]
        data: Data,
        /// Named sets of experts, for use in views.
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
    /// What the optimiser uses in a step.
    pub fn hyper(&self, step: u64) -> Hyper {
        Hyper {
            learning_rate: self.rate_at(step) as f32,
            weight_decay: self.weight_decay as f32,
            clip: self.clip as f32,
            ..self.optimizer.hyper()
        }
    }

    /// The learning rate of a step, counted from 0.
    pub fn rate_at(&self, step: u64) -> f64 {
        self.schedule.rate_at(self.learning_rate, self.warm_up, step)
    }

    /// Sequences of a step.
    pub fn sequences(&self) -> usize {
        self.batch as usize * self.micro_batches as usize
    }
}

impl Params {
    /// Warnings about values that are valid but unusual.
    pub fn warnings(&self) -> Vec<ParamWarning> {
        let mut all = vec![];
        let mut warn = |applies: bool, path, text: &str| {
            all.extend(applies.then(|| ParamWarning { path, text: text.to_owned() }));
        };
        let release = &self.presynaptic;
        warn(
            release.recycle < 1.0 && release.mode == super::choices::ReleaseMode::Scan,
            "presynaptic.recycle",
            "released vesicles are lost: the total number of a key falls along the sequence. Set it to 1 to conserve them",
        );
        warn(
            self.life.enabled && self.life.weak_health >= self.life.split_health,
            "life.weak_health",
            "life.weak_health is not below life.split_health: experts are replaced although they are as healthy as those that \
             split. Lower it",
        );
        all
    }
}
