//! What can be seen of a population of nuclei, and what can be done to it.

use crate::{
    actions, probes,
    sim::{Meaning, RooflineWork, Shape},
};
use std::f64::consts::PI;

/// The set all fields and events are over: the places of the table.
pub const NUCLEI: &str = "nuclei";

probes! {
    /// Global order r = |mean of e^{iφ}| (Kuramoto 1975), and the same weighted with the coupling, R_J = √(Re Σ S_j / Σ d_j).
    /// 1: all phases agree.
    /// With several fields of phases, both are of the first, and r of each other follows.
    ORDER = "order", "", Shape::Series { of: "" };
    /// Living nuclei, N.
    ALIVE = "alive", "", Shape::Series { of: "" };
    /// Fusions, decays, deaths, and children without a place, since the last sample.
    EVENTS = "events", "", Shape::Series { of: "" };
    /// Mean squared error f = (1/B) Σ_b (x_b·w - y_b)² of the fittest, of the median, on average, and of the mean answer of
    /// the measure.ensemble fittest together.
    FITNESS = "fitness", "", Shape::Series { of: "" };
    /// Probability that a barrier is crossed, P(R) = C exp(-(2/ħ) ΔR max(0, R_th - R)) after Gamow 1928: of the fusion, P(r),
    /// and the mean of P(R_j) over all nuclei.
    BARRIER = "barrier", "", Shape::Series { of: "" };
    /// Mean entropy H = -Σ_d p_d ln p_d of p = softmax(w), nats: ln D when all weights are equal, 0 when one outweighs all.
    ENTROPY = "entropy", "nat", Shape::Series { of: "" };
    /// Angle of the mean of e^{iφ}.
    MEAN_PHASE = "mean_phase", "rad", Shape::Series { of: "" };
    /// Births: every nucleus that came out of a decay or a fusion, at its place in the table.
    BIRTHS = "births", "", Shape::Spikes { over: NUCLEI };
    /// Deaths: every place that fell free, by radioactive death or because its nucleus was absorbed by a fusion.
    DEATHS = "deaths", "", Shape::Spikes { over: NUCLEI };
    /// Phase of chosen nuclei.
    PHASE_OF = "phase_of", "rad", Shape::Series { of: NUCLEI };
    /// Mean squared error of chosen nuclei.
    FITNESS_OF = "fitness_of", "", Shape::Series { of: NUCLEI };
    /// Phase of every nucleus, in the field that measure.field names; not a number where nobody lives.
    PHASE = "phase", "rad", Shape::Field { over: NUCLEI, range: (-PI as f32, PI as f32), meaning: Meaning::Angle };
    /// Mean squared error of every nucleus; not a number before it was first measured.
    FITNESS_FIELD = "fitness_field", "", Shape::Field { over: NUCLEI, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Entropy of softmax(w) of every nucleus, nats.
    ENTROPY_FIELD = "entropy_field", "nat", Shape::Field { over: NUCLEI, range: (0.0, 3.0), meaning: Meaning::Number };
    /// Natural frequency of every place, before phases.omega_scale.
    OMEGA = "omega", "", Shape::Field { over: NUCLEI, range: (-3.0, 3.0), meaning: Meaning::Number };
    /// Generations since the birth of every nucleus.
    AGE = "age", "steps", Shape::Field { over: NUCLEI, range: (0.0, 100.0), meaning: Meaning::Number };
    /// 1 where a nucleus lives, 0 where the place is free.
    ALIVE_FIELD = "alive_field", "", Shape::Field { over: NUCLEI, range: (0.0, 1.0), meaning: Meaning::Mask };
    /// Local order R_j = |S_j| / d_j, with S_j = Σ_k J_jk e^{i(φ_k - φ_j)} and d_j = Σ_k J_jk: how far those that resemble a nucleus agree in phase.
    LOCAL_ORDER = "local_order", "", Shape::Field { over: NUCLEI, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Probability P(R_j) that each nucleus crosses its barrier; R_j is its local order.
    P_FIELD = "p_field", "", Shape::Field { over: NUCLEI, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Who came out of whom. A nucleus has a number of its own, which is not used again; those that live when the
    /// recording begins have no parents.
    LINEAGE = "lineage", "", Shape::Lineage { over: NUCLEI };
    /// Every event as a line: generation, what happened, and to whom.
    LOG = "log", "", Shape::Text;
}

/// The parts of a generation on the CPU, in their order.
pub const SPANS: &[(&str, &str)] = &[
    ("measure", "Fitness and entropy of the living. Items: nuclei."),
    ("plan", "What the coupling needs of fitness and entropy: with Fast, sorting and merging. Items: nuclei."),
    ("substep", "One substep of the phases, with one to four sums over all pairs. Items: nuclei."),
    ("coupling", "S, d and R with the final phases. Items: nuclei."),
    ("order", "Order, barrier and means over the population. Items: nuclei."),
    ("turnover", "Who fuses, decays and dies. Items: nuclei."),
    ("record", "Events and curves for probes. Items: generations."),
    (
        VARIANTS[0],
        "As the formula stands, in double precision sums: the reference of the other variants. Items: pairs.",
    ),
    (VARIANTS[1], "The coupling once more, by Tiled: pair by pair with e^{iφ} computed once. Items: pairs."),
    (VARIANTS[2], "The coupling once more, by Fast, sorting and all: exact in N log N steps. Items: pairs."),
    (VARIANTS[3], "The coupling once more, by MeanField: as if J were 1. Items: pairs."),
    (VARIANTS[4], "The coupling once more, by Scan1d: entropy is ignored. Items: pairs."),
    (VARIANTS[5], "The coupling once more, by Sparse: pairs below coupling.sparse_cutoff are left out. Items: pairs."),
    (VARIANTS[6], "The coupling once more, by Dense: J is written out first. Items: pairs."),
];

/// Rows of the ways to compute the coupling, the reference first; with `measure.variants` only.
pub const VARIANTS: [&str; 7] = [
    "variant_naive",
    "variant_tiled",
    "variant_fast",
    "variant_meanfield",
    "variant_scan1d",
    "variant_sparse",
    "variant_dense",
];

/// What no backend saves, per item.
pub const WORK: &[RooflineWork] = &[
    // A pair: one power of two, four additions, two fused multiply-adds; a site of 16 bytes serves a block's 1024 sites.
    RooflineWork { row: "couple_tiled", bytes: 16.0 / 1024.0, ops: 9.0, when: "coupling.method = Tiled on a GPU" },
    RooflineWork { row: VARIANTS[1], bytes: 16.0 / 1024.0, ops: 9.0, when: "measure.variants" },
    // A number of the table is read per pair and goes into two products.
    RooflineWork { row: "couple_given", bytes: 4.0, ops: 5.0, when: "coupling.matrix on a GPU" },
    // It is written first: one power of two and three additions.
    RooflineWork { row: VARIANTS[6], bytes: 8.0, ops: 9.0, when: "measure.variants on the CPU" },
];

actions! {
    /// What can be done to a running population.
    pub const ACTIONS;

    /// Turns the phases of the selected nuclei.
    fn kick(over "nuclei") {
        /// Added to the phase, radians.
        #[param(range = 0.0..=PI, hard = -1000.0..=1000.0)]
        angle: f64,
    }

    /// Lets the phases of the selected nuclei stand still, or move again. A nucleus born in their place moves.
    fn freeze(over "nuclei") {
        /// Whether they stand still.
        #[param()]
        still: bool,
    }

    /// Fuses the selected nuclei now, whatever the barrier: they become one, in the lowest of their places.
    fn fuse(over "nuclei") {}

    /// Lets the selected nuclei decay now, whatever the barrier: each becomes 1 + c_new children.
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
