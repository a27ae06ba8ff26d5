//! Parameters of a synaptic project.

use super::{
    choices::{FirstValues, Precision},
    mechanisms::{Experts, Life, Plasticity, Presynaptic},
};
use crate::{
    interventions,
    kinds::language::params::{AdamWParams, Data, Measure, Optimizer, RateSchedule, training},
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

        /// Source of the first values of the matrices of attention, router and experts.
        #[param(title = "First values", apply = Rebuild)]
        init: FirstValues = FirstValues::Random,

        /// Rule of the automaton: bit 4 left + 2 self + right is the next state of a cell.
        #[param(title = "Rule", range = 0.0..=255.0, apply = Rebuild)]
        #[show_if(|s| s.init == FirstValues::CellularAutomaton)]
        rule: u32 = 30,
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

training! {
    batch = 8,
    learning_rate = 3e-3,
    schedule = RateSchedule::Constant(Default::default()),
    optimizer = Optimizer::AdamW(AdamWParams { beta2: 0.95, ..Default::default() }),
    weight_decay = 0.0;
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

impl Params {
    /// Returns warnings about values that are valid but unusual.
    pub fn warnings(&self) -> Vec<ParamWarning> {
        let mut all = vec![];
        let mut warn = |applies: bool, path: &'static str, text: &str| {
            all.extend(applies.then(|| ParamWarning { path: path.into(), text: text.to_owned() }));
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
