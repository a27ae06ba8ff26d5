//! Probes and actions of the nuclei kind.

use super::lineage::ATTRIBUTES;
use crate::{
    actions, probes,
    sim::{Meaning, RooflineWork, Shape},
};
use std::f64::consts::PI;

/// Name of the set of all fields and events: the slots of the table.
pub const NUCLEI: &str = "nuclei";

probes! {
    /// Global order r = |mean of e^{iφ}| (Kuramoto 1975), and the same weighted with the coupling, R_J = √(Re Σ S_j / Σ d_j).
    /// 1: all phases are equal.
    /// With several phase fields, both are of the first; r of the other fields follows.
    #[title("Order parameter")]
    ORDER = "order", "", Shape::Series { of: "" };
    /// Number of nuclei, N.
    #[title("Population")]
    ALIVE = "alive", "", Shape::Series { of: "" };
    /// Fusions, decays, deaths, and offspring without a free slot (overflow), since the last sample.
    EVENTS = "events", "", Shape::Series { of: "" };
    /// Mean squared error f = (1/B) Σ_b (x_b·w - y_b)²: lowest, median and mean over nuclei, and of the mean output of the
    /// fittest nuclei in the ensemble.
    #[title("Error")]
    FITNESS = "fitness", "", Shape::Series { of: "" };
    /// Tunnelling probability P(R) = C exp(-(2/ħ) ΔR max(0, R_th - R)) after Gamow 1928: of the fusion, P(r), and the mean of
    /// P(R_j) over all nuclei.
    #[title("Tunnelling probability")]
    BARRIER = "barrier", "", Shape::Series { of: "" };
    /// Mean entropy H = -Σ_d p_d ln p_d of p = softmax(w), nats: ln D when all weights are equal, 0 when one dominates.
    #[title("Mean entropy")]
    ENTROPY = "entropy", "nat", Shape::Series { of: "" };
    /// Angle of the mean of e^{iφ}: the circular mean of the phases.
    MEAN_PHASE = "mean_phase", "rad", Shape::Series { of: "" };
    /// Births: every nucleus created by a decay or a fusion, by slot.
    BIRTHS = "births", "", Shape::Spikes { over: NUCLEI };
    /// Deaths: every slot that became free, by death or because a fusion absorbed its nucleus.
    DEATHS = "deaths", "", Shape::Spikes { over: NUCLEI };
    /// Phase of chosen nuclei.
    #[title("Phase of chosen nuclei")]
    PHASE_OF = "phase_of", "rad", Shape::Series { of: NUCLEI };
    /// Mean squared error of chosen nuclei.
    #[title("Error of chosen nuclei")]
    FITNESS_OF = "fitness_of", "", Shape::Series { of: NUCLEI };
    /// Phase of every nucleus, in the phase field shown; NaN in free slots.
    PHASE = "phase", "rad", Shape::Field { over: NUCLEI, range: (-PI as f32, PI as f32), meaning: Meaning::Angle };
    /// Mean squared error of every nucleus; NaN before its first evaluation.
    #[title("Error (per nucleus)")]
    FITNESS_FIELD = "fitness_field", "", Shape::Field { over: NUCLEI, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Entropy of softmax(w) of every nucleus, nats.
    #[title("Entropy (per nucleus)")]
    ENTROPY_FIELD = "entropy_field", "nat", Shape::Field { over: NUCLEI, range: (0.0, 3.0), meaning: Meaning::Number };
    /// Natural frequency of every slot, before the frequency scale.
    #[title("Natural frequency")]
    OMEGA = "omega", "", Shape::Field { over: NUCLEI, range: (-3.0, 3.0), meaning: Meaning::Number };
    /// Generations since the birth of every nucleus.
    AGE = "age", "generations", Shape::Field { over: NUCLEI, range: (0.0, 100.0), meaning: Meaning::Number };
    /// 1 in occupied slots, 0 in free ones.
    #[title("Occupied slots")]
    ALIVE_FIELD = "alive_field", "", Shape::Field { over: NUCLEI, range: (0.0, 1.0), meaning: Meaning::Mask };
    /// Local order R_j = |S_j| / d_j, with S_j = Σ_k J_jk e^{i(φ_k - φ_j)} and d_j = Σ_k J_jk: order among nuclei similar to each nucleus.
    LOCAL_ORDER = "local_order", "", Shape::Field { over: NUCLEI, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Tunnelling probability P(R_j) of every nucleus; R_j is its local order.
    #[title("Tunnelling prob. (per nucleus)")]
    P_FIELD = "p_field", "", Shape::Field { over: NUCLEI, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Ancestry. Every nucleus has an id that is never reused; nuclei alive when the recording begins have no parents.
    LINEAGE = "lineage", "", Shape::Lineage { over: NUCLEI, attributes: ATTRIBUTES };
    /// Every event as a line of text: generation, event, slots.
    #[title("Event log")]
    LOG = "log", "", Shape::Text;
}

/// Stages of a generation on the CPU, in order.
pub const SPANS: &[(&str, &str)] = &[
    ("measure", "Fitness and entropy of all nuclei. Items: nuclei."),
    ("plan", "Preparation of the coupling from fitness and entropy: sorting and merging with Fast. Items: nuclei."),
    ("draw", "Draws the spikes of the phase maps. Items: nuclei."),
    ("substep", "One substep of the phases, with one to four coupling sums. Items: nuclei."),
    ("coupling", "S, d and R with the final phases. Items: nuclei."),
    ("order", "Order parameters, tunnelling probability and means over the population. Items: nuclei."),
    ("turnover", "Fusion, decay and death. Items: nuclei."),
    ("record", "Sampling of tapped probes. Items: generations."),
    (
        VARIANTS[0],
        "The coupling by Naive, the formula with double precision sums: the reference of the other variants. Items: pairs.",
    ),
    (VARIANTS[1], "The coupling by Tiled: all pairs, with e^{iφ} computed once. Items: pairs."),
    (VARIANTS[2], "The coupling by Fast, including sorting: exact, O(N log N). Items: pairs."),
    (VARIANTS[3], "The coupling by MeanField: J = 1. Items: pairs."),
    (VARIANTS[4], "The coupling by Scan1d: entropy is ignored. Items: pairs."),
    (VARIANTS[5], "The coupling by Sparse: pairs below coupling.sparse_cutoff are skipped. Items: pairs."),
    (VARIANTS[6], "The coupling by Dense: J is stored first. Items: pairs."),
];

/// Timing rows of the coupling algorithms, the reference first; only with `measure.variants`.
pub const VARIANTS: [&str; 7] = [
    "variant_naive",
    "variant_tiled",
    "variant_fast",
    "variant_meanfield",
    "variant_scan1d",
    "variant_sparse",
    "variant_dense",
];

/// Minimum memory traffic and operations per item, for the roofline.
pub const WORK: &[RooflineWork] = &[
    // Per pair: one power of two, four additions, two fused multiply-adds. A site of 16 bytes serves the 1024 sites of a block.
    RooflineWork { row: "couple_tiled", bytes: 16.0 / 1024.0, ops: 9.0, when: "with the tiled method on a GPU" },
    RooflineWork { row: VARIANTS[1], bytes: 16.0 / 1024.0, ops: 9.0, when: "with Compare algorithms" },
    // Each pair reads one matrix element and multiplies it twice.
    RooflineWork { row: "couple_matrix", bytes: 4.0, ops: 5.0, when: "with a coupling matrix on a GPU" },
    // J is stored first: one power of two and three additions.
    RooflineWork { row: VARIANTS[6], bytes: 8.0, ops: 9.0, when: "with Compare algorithms, on the CPU" },
];

actions! {
    /// Actions on a running population.
    pub const ACTIONS;

    /// Adds an angle to the phases of the selected nuclei.
    #[title("Kick phases")]
    fn kick(over "nuclei") {
        /// Increase of the phase, radians.
        #[param(range = 0.0..=PI, hard = -1000.0..=1000.0)]
        angle: f64,
    }

    /// Holds the phases of the selected nuclei constant, or releases them. A nucleus born in their slot is not held.
    #[title("Freeze phases")]
    fn freeze(over "nuclei") {
        /// Whether the phases are held constant.
        #[param()]
        still: bool,
    }

    /// Fuses the selected nuclei now, regardless of the barrier, into one nucleus in the lowest of their slots.
    #[elements(2, u32::MAX)]
    fn fuse(over "nuclei") {}

    /// Makes the selected nuclei decay now, regardless of the barrier: each becomes 1 + c_new nuclei.
    fn decay(over "nuclei") {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_agree() {
        for (id, name) in [(ORDER, "order"), (BIRTHS, "births"), (P_FIELD, "p_field"), (LOG, "log")] {
            assert_eq!(PROBES[usize::from(id)].name, name);
        }
        assert_eq!(usize::from(LOG) + 1, PROBES.len());
    }
}
