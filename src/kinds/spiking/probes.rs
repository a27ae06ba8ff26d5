//! What can be seen of a spiking network, and what can be done to it.

use crate::{
    actions, probes,
    sim::{Meaning, ProbeSpec, RooflineWork, Shape},
};

const NEURONS: &str = "neurons";

probes! {
    /// Every spike of every neuron.
    SPIKES = "spikes", "", Shape::Spikes { over: NEURONS };
    /// Mean firing rate of all neurons, per bin of measure.rate_bin_ms.
    RATE = "rate", "Hz", Shape::Series { of: "" };
    /// Mean firing rate per category of measure.group_by.
    CLASS_RATES = "class_rates", "Hz", Shape::Series { of: "" };
    /// Membrane potential of chosen neurons, every measure.trace_every_ms.
    V = "v", "mV", Shape::Series { of: NEURONS };
    /// Synaptic drive of chosen neurons, every measure.trace_every_ms.
    G = "g", "mV", Shape::Series { of: NEURONS };
    /// Time since each neuron's last spike; -1 for those that never fired. Small is recent: a glow that fades.
    LAST_SPIKE = "last_spike", "ms", Shape::Field { over: NEURONS, range: (0.0, 100.0), meaning: Meaning::TimeSince };
    /// Running rate of each neuron, averaged exponentially over measure.rate_tau_ms.
    RATE_FIELD = "rate_field", "Hz", Shape::Field { over: NEURONS, range: (0.0, 100.0), meaning: Meaning::Number };
    /// Membrane potential of every neuron.
    V_FIELD = "v_field", "mV", Shape::Field { over: NEURONS, range: (-60.0, -45.0), meaning: Meaning::Number };
    /// Deliveries of a spike over a synapse, per second of simulated time.
    SYNAPTIC_EVENTS = "synaptic_events", "1/s", Shape::Series { of: "" };
    /// Neurons that had to be looked at per step: those with input, and those near the threshold.
    ACTIVE = "active", "", Shape::Series { of: "" };
}

/// [`PROBES`] of leaky units, whose potentials lie mostly between 0 and the threshold of 1 mV.
pub const LEAKY_PROBES: &[ProbeSpec] = &leaky();

const fn leaky() -> [ProbeSpec; PROBES.len()] {
    let mut probes = [PROBES[0]; PROBES.len()];
    probes.copy_from_slice(PROBES);
    probes[V_FIELD as usize].shape = Shape::Field { over: NEURONS, range: (-1.0, 1.0), meaning: Meaning::Number };
    probes
}

/// The parts of a step on the CPU, in their order.
pub const SPANS: &[(&str, &str)] = &[
    ("threshold", "Who is above the threshold: looks at the neurons near it. Items: neurons looked at."),
    ("drive", "Draws the kicks that stimuli give in this step. Items: kicks."),
    ("deliver", "Adds the spikes of one delay ago to their targets. Items: synaptic events."),
    ("noise", "Draws the noise of leaky units, for four steps at a time. Items: neurons."),
    (
        "integrate",
        "Whoever got a kick or a spike takes it up, unless refractory; leaky units all step. Items: neurons.",
    ),
    ("collect", "Gathers spikes and traces of all threads in their canonical order, for probes. Items: steps."),
    (VARIANTS[0], "The last delivery once more, by `deliver`: rows in chunks, integer sums. Items: synaptic events."),
    (
        VARIANTS[1],
        "The last delivery once more, a warp per spike with weights in eight bits, as FastFly does. Items: synaptic events.",
    ),
    (VARIANTS[2], "The last delivery once more, every target looking its sources up. Items: synaptic events."),
];

/// Rows of the ways to deliver, the reference first; with `measure.variants` only.
pub const VARIANTS: [&str; 3] = ["variant_push", "variant_rows", "variant_pull"];

/// What no backend saves, per item.
pub const WORK: &[RooflineWork] = &[
    // A word of the connection read; a sum read, added to and written.
    RooflineWork { row: "deliver", bytes: 12.0, ops: 1.0, when: "" },
    RooflineWork { row: "deliver_driven", bytes: 12.0, ops: 1.0, when: "on a GPU" },
    RooflineWork { row: "reside", bytes: 12.0, ops: 1.0, when: "on a GPU" },
];

actions! {
    /// What can be done to a running network.
    pub const ACTIONS;

    /// Kicks the membranes of the selected neurons in the next step. Refractory neurons do not notice.
    fn kick(over "neurons") {
        /// Added to the membrane potential.
        #[param(unit = Mv, range = 0.0..=100.0, hard = -1000.0..=1000.0)]
        weight_mv: f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_agree() {
        for (id, name) in [(SPIKES, "spikes"), (V, "v"), (RATE_FIELD, "rate_field"), (ACTIVE, "active")] {
            assert_eq!(PROBES[usize::from(id)].name, name);
        }
        assert_eq!(usize::from(ACTIVE) + 1, PROBES.len());
    }
}
