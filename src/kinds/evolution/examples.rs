//! Example projects of the kind.

use crate::{example, sim::Example};

/// Examples on the start page.
pub const EXAMPLES: &[Example] = &[example!(
    "evolution-nano",
    50,
    "Evolved language model",
    "A model of ternary weights learns a grammar without gradients: a population of 4,096 members, drawn anew each generation",
    ["11 k parameters", "any CPU", "starts at once"]
)];
