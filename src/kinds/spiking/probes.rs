//! Probes, actions and timing rows of a spiking network.

use crate::{
    actions, probes,
    sim::{Meaning, ProbeSpec, RooflineWork, Shape},
};

const NEURONS: &str = "neurons";
/// Set of the projections with changing weights.
pub const PROJECTIONS: &str = "projections";

probes! {
    /// Every spike of every neuron.
    #[title("Spikes")]
    SPIKES = "spikes", "", Shape::Spikes { over: NEURONS };
    /// Mean firing rate of all neurons, silent ones included, per rate bin.
    #[title("Population rate")]
    RATE = "rate", "Hz", Shape::Series { of: "" };
    /// Mean firing rate per category of the column *Group by*, silent neurons included.
    #[title("Rates by group")]
    CLASS_RATES = "class_rates", "Hz", Shape::Series { of: "" };
    /// Membrane potential of traced neurons, at the trace interval.
    #[title("Membrane potential (traces)")]
    V = "v", "mV", Shape::Series { of: NEURONS };
    /// Synaptic drive of traced neurons, at the trace interval.
    #[title("Synaptic drive (traces)")]
    G = "g", "mV", Shape::Series { of: NEURONS };
    /// Time since each neuron's last spike; -1 before its first.
    #[title("Last spike")]
    LAST_SPIKE = "last_spike", "ms", Shape::Field { over: NEURONS, range: (0.0, 100.0), meaning: Meaning::TimeSince };
    /// Running rate of each neuron: exponential average over the rate time constant.
    #[title("Rate (per neuron)")]
    RATE_FIELD = "rate_field", "Hz", Shape::Field { over: NEURONS, range: (0.0, 100.0), meaning: Meaning::Number };
    /// Membrane potential of every neuron.
    #[title("V (per neuron)")]
    V_FIELD = "v_field", "mV", Shape::Field { over: NEURONS, range: (-60.0, -45.0), meaning: Meaning::Number };
    /// Spikes delivered over synaptic connections, per second of simulated time.
    #[title("Synaptic events")]
    SYNAPTIC_EVENTS = "synaptic_events", "1/s", Shape::Series { of: "" };
    /// Neurons evaluated per step: those with input, and those near the threshold.
    #[title("Neurons updated per step")]
    ACTIVE = "active", "", Shape::Series { of: "" };
    /// Mean weight of each projection with changing weights, in the unit of its postsynaptic model, at the weight interval.
    #[title("Mean weight")]
    MEAN_WEIGHT = "mean_weight", "", Shape::Series { of: "" };
    /// Standard deviation of the weights of each projection with changing weights, at the weight interval.
    #[title("Standard deviation of weights")]
    WEIGHT_SD = "weight_sd", "", Shape::Series { of: "" };
    /// Absolute weights of all synapses with changing weights, relative to the maximum weight, at the weight interval.
    #[title("Distribution of weights")]
    WEIGHTS = "weights", "", Shape::Histogram { of: "weight / maximum weight" };
    /// Third factor of each projection with reward-modulated STDP in its last update interval, at the weight interval.
    #[title("Third factor")]
    THIRD_FACTOR = "third_factor", "Hz", Shape::Series { of: "" };
    /// Fraction of held-out patterns to which the readout population gave the right class, of those presented so far.
    #[title("Accuracy")]
    ACCURACY = "accuracy", "", Shape::Series { of: "" };
    /// Mean present weight of plastic synapses from each category of neurons (rows) to each other (columns), in the unit of the
    /// postsynaptic model; without a value between categories without synapses.
    #[title("Mean weights between categories")]
    WEIGHT_MATRIX = "weight_matrix", "", Shape::Matrix { rows: "presynaptic", columns: "postsynaptic" }, args {
        /// Projection with changing weights, or all of them.
        projection: Listed,
        /// Column of the neuron table, or the neuron groups of the project.
        by: Listed,
    };
    /// Weight of each recorded synapse, with its sign, in the unit of the postsynaptic model, at the weight interval.
    #[title("Weight (synapses)")]
    SYNAPSE_WEIGHT = "synapse_weight", "", Shape::Series { of: "" };
    /// Presynaptic trace of each recorded synapse, at the weight interval.
    #[title("Presynaptic trace (synapses)")]
    PRESYNAPTIC_TRACE = "presynaptic_trace", "", Shape::Series { of: "" };
    /// Postsynaptic trace of each recorded synapse, at the weight interval.
    #[title("Postsynaptic trace (synapses)")]
    POSTSYNAPTIC_TRACE = "postsynaptic_trace", "", Shape::Series { of: "" };
    /// Eligibility of each recorded synapse, at the weight interval; 0 without a third factor.
    #[title("Eligibility (synapses)")]
    ELIGIBILITY = "eligibility", "", Shape::Series { of: "" };
}

/// [`PROBES`] of leaky units, whose potentials are mostly between 0 and the threshold of 1 mV.
pub const LEAKY_PROBES: &[ProbeSpec] = &leaky();

const fn leaky() -> [ProbeSpec; PROBES.len()] {
    let mut probes = [PROBES[0]; PROBES.len()];
    probes.copy_from_slice(PROBES);
    probes[V_FIELD as usize].shape = Shape::Field { over: NEURONS, range: (-1.0, 1.0), meaning: Meaning::Number };
    probes
}

/// Stages of a step on the CPU, in order.
pub const SPANS: &[(&str, &str)] = &[
    ("threshold", "Evaluates the neurons near the threshold. Items: neurons evaluated."),
    ("drive", "Draws the voltage pulses of the stimuli in this step. Items: pulses."),
    ("deliver", "Adds the spikes of one delay ago to their targets. Items: synaptic events."),
    ("noise", "Draws the noise of leaky units, four steps at a time. Items: neurons."),
    (
        "integrate",
        "Integrates the input of neurons that received any, unless refractory; leaky units: all. Items: neurons.",
    ),
    ("reset", "Resets the neurons that spiked, and sends their spikes. Items: spikes."),
    ("trace", "Reads the neurons whose traces are recorded or shown. Items: neurons."),
    ("collect", "Collects spikes and traces of all threads in canonical order, for probes. Items: steps."),
    ("weights", "Brings plastic synapses up to date and reads their weights, for probes. Items: synapses."),
    (
        VARIANTS[0],
        "Repeats the last delivery with `deliver_spikes`: rows in chunks, integer sums. Items: synaptic events.",
    ),
    (
        VARIANTS[1],
        "Repeats the last delivery with a warp per spike and 8-bit weights, as FastFly does. Items: synaptic events.",
    ),
    (VARIANTS[2], "Repeats the last delivery by pull: every target looks up its sources. Items: synaptic events."),
];

/// Timing rows of the delivery methods, the reference first; only with `measure.variants`.
pub const VARIANTS: [&str; 3] = ["variant_push", "variant_rows", "variant_pull"];

/// Minimum memory traffic and arithmetic per item.
pub const WORK: &[RooflineWork] = &[
    // Reads one connection word; reads and writes one sum.
    RooflineWork { row: "deliver", bytes: 12.0, ops: 1.0, when: "" },
    RooflineWork { row: "deliver_spikes", bytes: 12.0, ops: 1.0, when: "on a GPU" },
    RooflineWork { row: "deliver_spikes_driven", bytes: 12.0, ops: 1.0, when: "on a GPU" },
    RooflineWork { row: "step_lif_persistent", bytes: 12.0, ops: 1.0, when: "on a GPU" },
    // One random draw of about 20 integer operations; reads and writes one sum.
    RooflineWork { row: "drive", bytes: 8.0, ops: 20.0, when: "" },
    // Reads and writes membrane potential and synaptic input, reads and clears one input sum; two exponential decays.
    RooflineWork { row: "integrate", bytes: 24.0, ops: 6.0, when: "" },
];

actions! {
    /// Actions on a running network.
    pub const ACTIONS;

    /// Applies a voltage pulse to the selected neurons in the next step. Refractory neurons ignore it.
    #[title("Voltage pulse")]
    fn kick(over "neurons") {
        /// Increase of the membrane potential.
        #[param(title = "Pulse amplitude", unit = Mv, range = 0.0..=100.0, hard = -1000.0..=1000.0)]
        weight_mv: f64
    }

    /// Returns the weights of the selected projections to those at step 0. Traces and eligibilities stay.
    #[title("Reset weights")]
    fn reset_weights(over "projections") {}

    /// Permutes the weights of each postsynaptic neuron of the selected projections: a control that keeps the distribution of weights.
    #[title("Shuffle weights")]
    fn shuffle_weights(over "projections") {}

    /// Multiplies the weights of the selected projections, up to the maximum weight.
    #[title("Scale plastic weights")]
    fn scale_weights(over "projections") {
        /// Factor of the weights, at least 0.
        #[param(title = "Factor of weights", range = 0.0..=4.0, hard = 0.0..=1e6)]
        factor: f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_agree() {
        for (id, name) in [(SPIKES, "spikes"), (V, "v"), (RATE_FIELD, "rate_field"), (WEIGHTS, "weights")] {
            assert_eq!(PROBES[usize::from(id)].name, name);
        }
        assert_eq!(usize::from(ELIGIBILITY) + 1, PROBES.len());
    }
}
