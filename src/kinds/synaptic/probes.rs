//! Probes, actions and timing rows.

use super::life::identities;
pub use crate::kinds::language::model::LAYERS;
use crate::{
    actions,
    kinds::language::probes::gradient_probes,
    sim::{Meaning, Shape},
};

/// Name of the set of the expert slots of all layers, layer 0 first.
pub const EXPERTS: &str = "experts";
/// Name of the set of the experts and tokens of all layers, placed in the space of the router's features.
pub const MAP: &str = "router_map";

gradient_probes! {
    /// Attention of the tokens of the newest sampled text (rows) to each other (columns).
    #[title("Attention map")]
    ATTENTION = "attention", "", Shape::Matrix { rows: "token", columns: "attends to" }, args {
        /// Block.
        layer: Listed,
        /// Head.
        head: Listed,
    };
    /// Bias of presynaptic release in the attention logits of tokens (rows) for keys (columns), without the distance
    /// penalty.
    #[title("Release bias")]
    RELEASE_BIAS = "release_bias", "nat", Shape::Matrix { rows: "token", columns: "key" }, args {
        /// Block.
        layer: Listed,
        /// Head.
        head: Listed,
    };
    /// State of the synapse of one key along the newest sampled text: calcium, vesicle pools, sensors, energy, release. The
    /// total number of vesicles is constant while all of them are recycled.
    #[title("Synapse")]
    SYNAPSE = "synapse", "", Shape::Matrix { rows: "quantity", columns: "token" }, args {
        /// Block.
        layer: Listed,
        /// Head.
        head: Listed,
        /// Position of the key in the text.
        key: Listed,
    };
    /// Vesicles per key at the end of the newest sampled text, mean over the keys of the first layer: by pool, and in total.
    #[title("Vesicles")]
    VESICLES = "vesicles", "", Shape::Series { of: "" };
    /// Gates of the experts of a layer (rows) for the last tokens of the last step (columns).
    #[title("Gates")]
    GATES = "gates", "", Shape::Matrix { rows: "expert", columns: "token" }, args {
        /// Block.
        layer: Listed,
    };
    /// The expert with the largest gate for each token of the newest sampled text, and its gate.
    #[title("Routed tokens")]
    ROUTED = "routed", "", Shape::Tokens { values: "gate", categories: "expert" }, args {
        /// Block.
        layer: Listed,
    };
    /// Terms of the router logits of the experts (rows) for one token of the newest sampled text.
    #[title("Router decision")]
    DECISION = "decision", "", Shape::Matrix { rows: "expert", columns: "term" }, args {
        /// Block.
        layer: Listed,
        /// Position of the token in the text.
        token: Listed,
    };
    /// Births, splits and merges of experts.
    LINEAGE = "lineage", "", Shape::Lineage { over: EXPERTS, attributes: identities::ATTRIBUTES };
    /// Events of the life cycle as lines of text.
    #[title("Event log")]
    LOG = "log", "", Shape::Text;
    /// Splits, merges and removals of experts since step 0.
    #[title("Events")]
    EVENTS = "events", "", Shape::Series { of: "" };
    /// Change of the loss of fixed held-out sequences by the events of a call of the life cycle.
    #[title("Loss change of events")]
    EVENT_LOSS = "event_loss", "nat", Shape::Series { of: "" };
    /// Load of an expert relative to the fair share, average of the last steps.
    LOAD = "load", "", Shape::Field { over: EXPERTS, range: (0.0, 2.0), meaning: Meaning::Number };
    /// Energy of an expert: its budget minus the cost of its load, average of the last steps.
    ENERGY = "energy", "", Shape::Field { over: EXPERTS, range: (0.5, 1.0), meaning: Meaning::Number };
    /// Average share of the tokens that an expert served.
    FATIGUE = "fatigue", "", Shape::Field { over: EXPERTS, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Health of an expert: min(1, load / 2) times energy. It decides splits and merges.
    HEALTH = "health", "", Shape::Field { over: EXPERTS, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Steps since the birth of an expert.
    AGE = "age", "steps", Shape::Field { over: EXPERTS, range: (0.0, 5000.0), meaning: Meaning::Number };
    /// 1 for experts whose weights are frozen.
    FROZEN = "frozen", "", Shape::Field { over: EXPERTS, range: (0.0, 1.0), meaning: Meaning::Number };
    /// 1 for living experts, 0 for empty slots.
    ALIVE = "alive", "", Shape::Field { over: EXPERTS, range: (0.0, 1.0), meaning: Meaning::Mask };
    /// Rate of the average of the load, first gene.
    #[title("Gene: fatigue rate")]
    FATIGUE_RATE = "fatigue_rate", "", Shape::Field { over: EXPERTS, range: (0.001, 0.021), meaning: Meaning::Number };
    /// Rate of the average of the energy, second gene.
    #[title("Gene: energy rate")]
    ENERGY_RATE = "energy_rate", "", Shape::Field { over: EXPERTS, range: (0.0005, 0.0105), meaning: Meaning::Number };
    /// Factor of the rise of CaMKII, third gene.
    #[title("Gene: CaMKII gain")]
    CAMKII_GAIN = "camkii_gain", "", Shape::Field { over: EXPERTS, range: (0.5, 2.5), meaning: Meaning::Number };
    /// Factor of the rate of PP1, fourth gene.
    #[title("Gene: PP1 gain")]
    PP1_GAIN = "pp1_gain", "", Shape::Field { over: EXPERTS, range: (0.5, 2.0), meaning: Meaning::Number };
    /// First-order rise of the loss without an expert, per token, from the gradients of its gates; average of the last
    /// steps. It is small where training has settled, and does not predict the rise of the loss at the end of an
    /// expert: see the limit of the life cycle.
    CONTRIBUTION = "contribution", "nat", Shape::Field { over: EXPERTS, range: (-0.1, 0.1), meaning: Meaning::Number };
    /// Contribution per energy.
    EFFICIENCY = "efficiency", "", Shape::Field { over: EXPERTS, range: (-0.1, 0.1), meaning: Meaning::Number };
    /// Steadiness of the contribution: the reciprocal of its variance; 0 of unused experts.
    RESILIENCE = "resilience", "", Shape::Field { over: EXPERTS, range: (0.0, 10_000.0), meaning: Meaning::Number };
    /// Difference between the mean token of an expert and the mean of all tokens: 1 minus the cosine of the means.
    SPECIALIZATION = "specialization", "", Shape::Field { over: EXPERTS, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Mean rank of efficiency, specialization and resilience in its layer, 0 to 1.
    FITNESS = "fitness", "", Shape::Field { over: EXPERTS, range: (0.0, 1.0), meaning: Meaning::Number };
    /// Load of chosen experts.
    #[title("Load of chosen experts")]
    LOAD_OF = "load_of", "", Shape::Series { of: EXPERTS };
    /// Energy of chosen experts.
    #[title("Energy of chosen experts")]
    ENERGY_OF = "energy_of", "", Shape::Series { of: EXPERTS };
    /// Health of chosen experts.
    #[title("Health of chosen experts")]
    HEALTH_OF = "health_of", "", Shape::Series { of: EXPERTS };
    /// Router embedding of an expert, on the first principal axis of its layer.
    #[title("Embedding, axis 1")]
    AXIS_1 = "axis_1", "", Shape::Field { over: EXPERTS, range: (-1.0, 1.0), meaning: Meaning::Number };
    /// Router embedding, on the second axis.
    #[title("Embedding, axis 2")]
    AXIS_2 = "axis_2", "", Shape::Field { over: EXPERTS, range: (-1.0, 1.0), meaning: Meaning::Number };
    /// Router embedding, on the third axis.
    #[title("Embedding, axis 3")]
    AXIS_3 = "axis_3", "", Shape::Field { over: EXPERTS, range: (-1.0, 1.0), meaning: Meaning::Number };
    /// Cosine of the router embeddings of two experts of a layer.
    SIMILARITY = "similarity", "", Shape::Links { from: EXPERTS, to: EXPERTS };
    /// Gates of the tokens of the newest sampled text: links from tokens to experts of the same layer.
    #[title("Routes")]
    ROUTES = "routes", "", Shape::Links { from: MAP, to: MAP };
    /// Position on the first axis of a layer's features: of experts by their embeddings, of tokens by their features.
    #[title("Map, axis 1")]
    MAP_1 = "map_1", "", Shape::Field { over: MAP, range: (-1.0, 1.0), meaning: Meaning::Number };
    /// Position on the second axis.
    #[title("Map, axis 2")]
    MAP_2 = "map_2", "", Shape::Field { over: MAP, range: (-1.0, 1.0), meaning: Meaning::Number };
    /// Position on the third axis.
    #[title("Map, axis 3")]
    MAP_3 = "map_3", "", Shape::Field { over: MAP, range: (-1.0, 1.0), meaning: Meaning::Number };
    /// Load of experts; a small constant for tokens.
    #[title("Map, load")]
    MAP_LOAD = "map_load", "", Shape::Field { over: MAP, range: (0.0, 2.0), meaning: Meaning::Number };
    /// Energy of experts; tokens have no energy.
    #[title("Map, energy")]
    MAP_ENERGY = "map_energy", "", Shape::Field { over: MAP, range: (0.5, 1.0), meaning: Meaning::Number };
    /// Differences on the newest sampled text: of the vectorised scan from the plain recurrence of each key in double
    /// precision, which defines the scan, and of the whole-sequence form from token-by-token decoding. Largest absolute
    /// and relative difference, and the first token whose difference exceeds 1e-4.
    #[title("Parity")]
    PARITY = "parity", "", Shape::Matrix { rows: "quantity", columns: "difference" }, args {
        /// Block.
        layer: Listed,
        /// Head.
        head: Listed,
    };
}

/// Names of the lanes of [`VESICLES`].
pub const POOLS: &[&str] = &["ready", "reserve", "endocytosis", "total"];
/// Names of the lanes of [`EVENTS`].
pub const EVENT_LANES: &[&str] = &["splits", "merges", "removals"];
/// Names of the columns of [`PARITY`].
pub const PARITY_COLUMNS: &[&str] = &["Largest absolute", "Largest relative", "First divergent token"];

/// Timing rows of the stages of a step, with tooltips.
pub const SPANS: &[(&str, &str)] = &[
    ("embed", "Vectors of tokens. Items: tokens."),
    ("norm", "Layer norms. Items: tokens."),
    ("qkv", "Queries, keys and values. Items: tokens."),
    ("rope", "Rotation and norm of queries and keys. Items: tokens."),
    ("scores", "Attention logits, q·k. Items: tokens."),
    ("release", "Presynaptic release: calcium, vesicles, bias of the logits. Items: tokens."),
    ("softmax", "Softmax of attention. Items: tokens."),
    ("values", "Weighted values. Items: tokens."),
    ("projection", "Output of attention. Items: tokens."),
    ("router", "Router logits, selection, gates and groups. Items: tokens."),
    ("experts", "Both matrices of the selected experts. Items: tokens."),
    ("head and loss", "Logits, loss and the gradient of both. Items: tokens."),
    ("experts backward", "Backward pass of experts and router. Items: tokens."),
    ("projection backward", "Backward pass of the output matrix of attention. Items: tokens."),
    ("attention backward", "Backward pass of attention and release. Items: tokens."),
    ("qkv backward", "Backward pass of queries, keys and values, with their rotation and norm. Items: tokens."),
    ("norm backward", "Backward pass of layer norms. Items: tokens."),
    ("embed backward", "Gradients of the vectors of tokens. Items: tokens."),
    ("zero gradient", "Sets the gradient to zero before a step. Items: parameters."),
    ("optimiser", "Clipping and AdamW or Muon. Items: parameters."),
    ("norms", "Norms of weights, gradients and updates, in steps whose norms are read. Items: parameters."),
    ("metabolism", "Energy, fatigue and embeddings of experts. Items: steps."),
    ("life cycle", "Splits and merges of experts. Items: calls."),
    ("held-out", "Loss of the held-out text. Items: tokens."),
    ("sample", "Sampled texts and what is shown of them. Items: texts."),
];

actions! {
    /// Actions on a model in training.
    pub const ACTIONS;

    /// Splits the selected expert: a copy with noise and mutated genes begins in an empty slot of its layer, or in that of the
    /// weakest other expert, which ends.
    #[title("Split expert")]
    #[elements(1, 1)]
    fn split(over "experts") {}

    /// Merges the two selected experts of a layer: the mean of their weights begins in the slot of the healthier
    /// expert, and the other slot becomes empty.
    #[title("Merge experts")]
    #[elements(2, 2)]
    fn merge(over "experts") {}

    /// Merges the two most similar experts of the weaker half of a layer, in the layer where they are most similar.
    #[title("Merge most similar weak pair")]
    fn merge_weak(over "") {}

    /// Ends the selected experts. Their slots are empty until another expert splits into them.
    #[title("End experts")]
    fn kill(over "experts") {}

    /// Keeps the weights of the selected experts as they are.
    #[title("Freeze experts")]
    #[undo(By("unfreeze"))]
    #[state("frozen")]
    fn freeze(over "experts") {}

    /// Trains the selected experts again.
    #[title("Unfreeze experts")]
    #[undo(By("freeze"))]
    fn unfreeze(over "experts") {}

    /// Keeps the weights of the selected layers as they are.
    #[title("Freeze layers")]
    #[undo(By("unfreeze_layers"))]
    #[state("frozen")]
    fn freeze_layers(over "layers") {}

    /// Trains the selected layers again.
    #[title("Unfreeze layers")]
    #[undo(By("freeze_layers"))]
    fn unfreeze_layers(over "layers") {}

    /// Writes a text now, with the prompt and the length of the recording settings.
    #[title("Sample now")]
    #[undo(Unneeded)]
    fn sample_now(over "") {}
}
