//! Example projects of this kind.

use crate::{example, sim::Example};

/// All example projects of the spiking kind.
pub const EXAMPLES: &[Example] = &[
    example!(
        "fly",
        10,
        "Fly brain",
        "Taste neurons drive a network of the size and degrees of a fly’s brain",
        ["138,639 neurons", "CPU or GPU", "seconds to start"]
    ),
    example!(
        "balanced",
        20,
        "Balanced network",
        "Excitation and inhibition cancel, and neurons fire irregularly",
        ["4,000 neurons", "any CPU", "starts at once"]
    ),
    example!(
        "cuba",
        22,
        "Network from rules",
        "Two populations and four projections, to edit as a graph",
        ["4,000 neurons", "CPU or GPU", "starts at once"]
    ),
    example!(
        "hpc-stdp",
        24,
        "Learning synapses",
        "Spike-timing-dependent plasticity in a balanced network",
        ["2,250 neurons", "CPU or GPU", "seconds to start"]
    ),
    example!(
        "stdp-digits",
        26,
        "Digits by STDP",
        "A network learns handwriting-like digits by STDP, beside shuffled and untrained controls",
        ["272 neurons", "any CPU", "15 seconds"]
    ),
    example!(
        "taste",
        28,
        "Taste experiment",
        "Motor rate against taste input. Random wiring: no biological meaning; FlyWire files apply",
        ["180 trials", "any CPU", "FlyWire v630: 93.3 Hz"]
    ),
    example!(
        "silence-each",
        29,
        "Silence each neuron",
        "Silences 100 neurons in turn. Random wiring: no biological meaning; FlyWire files apply",
        ["202 trials", "any CPU", "seconds to start"]
    ),
    example!(
        "fastfly",
        50,
        "FastFly",
        "The noisy leaky model of FastFly on the same brain, to compare speed",
        ["138,639 neurons", "CPU or GPU", "seconds to start"]
    ),
    example!(
        "shiu",
        140,
        "Shiu 2024",
        "The whole-brain model on the FlyWire connectome",
        ["138,639 neurons", "CPU or GPU", "needs files"], needs files
    ),
];
