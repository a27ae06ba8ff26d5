//! Probes and actions of the demonstration kind.

use crate::{
    actions, probes,
    sim::{AttributeSpec, Meaning, Shape, SimError, Tap},
};

/// Name of the set of all fields and events.
pub const EXPERTS: &str = "experts";
/// Name of the set of symbols, which never changes.
pub const SYMBOLS: &str = "symbols";
/// Value of an argument `expert` that selects all experts.
pub const ALL: &str = "all";

/// Attributes of births and deaths.
const ATTRIBUTES: &[AttributeSpec] = &[
    AttributeSpec { name: "symbols", title: "", docs: "Number of symbols that the expert owns at birth.", unit: "" },
    AttributeSpec { name: "first_symbol", title: "", docs: "First symbol that the expert owns at birth.", unit: "" },
    AttributeSpec { name: "age_at_end", title: "", docs: "Tokens from birth to end.", unit: "tokens" },
];

probes! {
    /// Negative log probability of the symbol that came, running mean. The source's entropy is its lower bound.
    LOSS = "loss", "nat", Shape::Series { of: "" };
    /// Number of experts.
    #[title("Experts")]
    COUNT = "count", "", Shape::Series { of: "" };
    /// Fraction of the recent tokens that an expert predicted.
    LOAD = "load", "", Shape::Field { over: EXPERTS, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Tokens since the birth of an expert.
    AGE = "age", "tokens", Shape::Field { over: EXPERTS, range: (0.0, 10_000.0), meaning: Meaning::Number };
    /// Load of chosen experts.
    #[title("Load of chosen experts")]
    LOAD_OF = "load_of", "", Shape::Series { of: EXPERTS };
    /// The expert that predicted each token.
    ROUTE = "route", "", Shape::Spikes { over: EXPERTS };
    /// Probability of each symbol (column) after each symbol (row).
    #[title("Predicted probabilities")]
    PREDICTED = "predicted", "", Shape::Matrix { rows: "after", columns: "symbol" }, args {
        /// The expert that predicts: `all` takes the one that owns the row's symbol.
        expert: Listed,
    };
    /// Number of recent tokens by expert (row) and symbol (column).
    #[title("Routed tokens")]
    ROUTED = "routed", "tokens", Shape::Matrix { rows: "expert", columns: "symbol" };
    /// Weights, over all experts or of one.
    #[title("Distribution of weights")]
    WEIGHTS = "weights", "", Shape::Histogram { of: "weight" }, args {
        /// The expert.
        expert: Listed,
    };
    /// The newest tokens with their loss and the expert that predicted them.
    #[title("Token stream")]
    STREAM = "stream", "nat", Shape::Tokens { values: "loss", categories: "expert" };
    /// The expert that owns each symbol, weighted with its load.
    OWNERS = "owners", "", Shape::Links { from: SYMBOLS, to: EXPERTS };
    /// Splits and merges of experts.
    LINEAGE = "lineage", "", Shape::Lineage { over: EXPERTS, attributes: ATTRIBUTES };
    /// Texts drawn from the model.
    #[title("Generated text")]
    TEXT = "text", "", Shape::Samples;
    /// Splits and merges as lines of text.
    #[title("Event log")]
    LOG = "log", "", Shape::Text;
    /// Projection of an expert's weights onto a fixed direction.
    #[title("Projection 1")]
    AXIS_1 = "axis_1", "", Shape::Field { over: EXPERTS, range: (-1.0, 1.0), meaning: Meaning::Number };
    /// Projection of an expert's weights onto a second direction.
    #[title("Projection 2")]
    AXIS_2 = "axis_2", "", Shape::Field { over: EXPERTS, range: (-1.0, 1.0), meaning: Meaning::Number };
    /// Projection of an expert's weights onto a third direction.
    #[title("Projection 3")]
    AXIS_3 = "axis_3", "", Shape::Field { over: EXPERTS, range: (-1.0, 1.0), meaning: Meaning::Number };
    /// Cosine of the angle between the weights of two experts.
    SIMILARITY = "similarity", "", Shape::Links { from: EXPERTS, to: EXPERTS };
}

/// Stages of a step, for timings.
pub const SPANS: &[(&str, &str)] = &[
    ("tokens", "Prediction and gradient step. Items: tokens."),
    ("record", "Sampling of tapped probes. Items: tokens."),
];

actions! {
    /// Actions on running experts.
    pub const ACTIONS;

    /// Merges the selected experts into one that owns all their symbols.
    fn merge(over "experts") {}
}

/// Checks that the tapped probes exist.
pub fn check(taps: &[Tap]) -> Result<(), SimError> {
    match taps.iter().find(|tap| usize::from(tap.probe) >= PROBES.len()) {
        Some(tap) => Err(SimError::Input(format!("there is no probe {}", tap.probe))),
        None => Ok(()),
    }
}
