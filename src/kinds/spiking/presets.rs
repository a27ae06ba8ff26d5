//! Presets: parameter values of published models.

use crate::sim::Preset;

const SHIU: &str = "Shiu et al. 2024, A Drosophila computational brain model reveals sensorimotor processing, Nature";

/// Presets in the order of the menu.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "Shiu 2024 LIF",
        docs: "The neuron of the whole-brain model: leaky integrate-and-fire with exponential synapses.",
        source: SHIU,
        set: &[
            "network.model=ExponentialLif",
            "lif.v_rest=-52 mV",
            "lif.v_reset=-52 mV",
            "lif.v_threshold=-45 mV",
            "lif.tau_m=20 ms",
            "lif.tau_syn=5 ms",
            "lif.t_refractory=2.2 ms",
            "lif.t_delay=1.8 ms",
            "lif.w_syn=0.275 mV",
            "lif.dt=0.1 ms",
        ],
    },
    Preset {
        name: "Shiu 2024 stimulus",
        docs: "Poisson input of 150 Hz; every event is a voltage pulse of 250 synapses.",
        source: SHIU,
        set: &["stimulus.rate_hz=150 Hz", "stimulus.weight_mv=68.75 mV"],
    },
    Preset {
        name: "FastFly units",
        docs: "Leaky units in steps of 1 ms with uniform noise, for benchmarks.",
        source: "The FastFly demonstration",
        set: &[
            "network.model=NoisyLeaky",
            "leaky.decay=0.9",
            "leaky.noise_amplitude=0.4",
            "leaky.mean_weight=0.03",
            "leaky.dt=1 ms",
        ],
    },
];
