//! Example projects of the kind.

use crate::{example, sim::Example};

/// Examples on the start page.
pub const EXAMPLES: &[Example] = &[example!(
    "evolution-nano",
    50,
    "Evolved language model",
    "A population of 4,096 ternary models learns a grammar without gradients",
    ["11 k parameters", "any CPU", "starts at once"]
)];
