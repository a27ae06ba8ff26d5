//! Presets: differences from the defaults.

use crate::sim::Preset;

/// Presets of the menu.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "Balanced",
        docs: "The auxiliary loss and metabolism keep loads within a few percent of the fair share: experts stay healthy, and \
               the life cycle has nothing to do.",
        source: "measured: health stays within 0.35 to 0.56, no events in 1000 steps",
        set: &[
            "experts.metabolism=true",
            "experts.metabolic_bias=0.1",
            "experts.balancing=AuxLoss",
            "experts.aux_weight=0.01",
            "experts.pull_over=AllTokens",
            "experts.push=0.005",
            "life.enabled=true",
            "life.warm_up=200",
            "life.interval=100",
            "life.merge_health=0.25",
            "life.merge_cosine=0.85",
            "life.weak_health=0.12",
            "life.loss_limit=0",
            "life.split_health=0.45",
        ],
    },
    Preset {
        name: "Live evolution",
        docs: "Without a loss that balances them, loads drift apart: busy experts split into the slots of idle ones, most often \
               in the last layer, and weak experts that serve similar tokens merge: embeddings follow the tokens of their own \
               expert. 16 experts per layer are livelier than 8.",
        source: "measured with 16 experts, three seeds: a split per 100 steps; 3 to 16 merges in 5,000 steps",
        set: &[
            "experts.metabolism=true",
            "experts.metabolic_bias=0.02",
            "experts.balancing=AuxLoss",
            "experts.aux_weight=0",
            "experts.pull_over=OwnTokens",
            "experts.push=0.001",
            "life.enabled=true",
            "life.warm_up=200",
            "life.interval=100",
            "life.merge_health=0.25",
            "life.merge_cosine=0.85",
            "life.weak_health=0.12",
            "life.loss_limit=0.005",
            "life.split_health=0.45",
        ],
    },
];
