//! Homeostatic rules of populations and projections, and their parameters.

use crate::{one_of, params, params::one_of::NoParameters};

params! {
    /// Threshold that rises with each spike of its neuron and decays slowly, so that no neuron spikes for most inputs.
    pub struct AdaptiveThreshold {
        /// Rise of the threshold per spike.
        #[param(title = "Rise per spike", unit = Mv, range = 0.0..=1.0, hard = 0.0..=1000.0, symbol = "Δ", formula = "V_th + θ, θ ← θ exp(-R / τ_θ) + Δ n", source = "Diehl & Cook 2015")]
        increase: f64 = 0.05,

        /// Decay time constant of the rise.
        #[param(title = "Threshold time constant", unit = Ms, range = 100.0..=1e7, hard = 1.0..=1e12, scale = Log, symbol = "τ_θ", formula = "dθ/dt = -θ / τ_θ", source = "Diehl & Cook 2015")]
        tau: f64 = 1e7,

        /// Interval after which the spikes of a neuron raise its threshold, rounded to time steps.
        #[param(title = "Update interval", unit = Ms, range = 1.0..=1000.0, hard = 0.001..=1e6, scale = Log, symbol = "R", apply = Rebuild)]
        interval: f64 = 50.0,
    }
}

one_of! {
    /// Adaptation of the neurons of a population to their own activity.
    pub enum Adaptation {
        /// Thresholds are constant.
        #[title("None")]
        Constant(NoParameters),
        /// The threshold of a neuron rises with its spikes.
        #[title("Adaptive threshold")]
        Threshold(AdaptiveThreshold),
    }
}

params! {
    /// The weights of a neuron are scaled to a target sum: normalisation.
    pub struct SumScaling {
        /// Sum of the absolute weights of the synapses of the projection onto one neuron, in the unit of the postsynaptic model.
        #[param(title = "Target sum", range = 1.0..=100_000.0, hard = 0.0..=1e12, scale = Log, symbol = "S", formula = "w_j ← w_j S / Σ_k |w_k|", source = "Diehl & Cook 2015")]
        sum: f64 = 1000.0,

        /// Interval between two scalings, rounded to time steps.
        #[param(title = "Scaling interval", unit = Ms, range = 1.0..=10_000.0, hard = 0.001..=1e7, scale = Log, symbol = "R", apply = Rebuild)]
        interval: f64 = 100.0,
    }
}

params! {
    /// The weights of a neuron are scaled so that its rate approaches a target: synaptic scaling (Turrigiano 2008).
    pub struct RateScaling {
        /// Target rate of the postsynaptic neurons.
        #[param(title = "Target rate", unit = Hz, range = 0.0..=50.0, hard = 0.0..=1000.0, symbol = "ρ_0", formula = "w ← w (1 + β (ρ_0 R - n))", source = "van Rossum, Bi & Turrigiano 2000")]
        rate: f64 = 5.0,

        /// Relative change of a weight per spike more or less than the target.
        #[param(title = "Change per spike", range = 1e-5..=0.1, hard = 0.0..=1.0, scale = Log, symbol = "β", formula = "dw/dt = β w (ρ_0 - r)", source = "van Rossum, Bi & Turrigiano 2000")]
        beta: f64 = 1e-3,

        /// Interval between two scalings, rounded to time steps.
        #[param(title = "Scaling interval", unit = Ms, range = 1.0..=10_000.0, hard = 0.001..=1e7, scale = Log, symbol = "R", apply = Rebuild)]
        interval: f64 = 100.0,
    }
}

one_of! {
    /// Homeostatic scaling of the plastic weights of each postsynaptic neuron.
    pub enum Scaling {
        /// Weights are not scaled.
        #[title("None")]
        Unscaled(NoParameters),
        /// The sum of the weights of a neuron is kept.
        #[title("Target sum")]
        Sum(SumScaling),
        /// The rate of a neuron approaches a target.
        #[title("Target rate")]
        Rate(RateScaling),
    }
}
