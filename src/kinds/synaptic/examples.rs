//! Example projects of the synaptic language model.

use crate::{example, sim::Example};

/// Example projects of this kind.
pub const EXAMPLES: &[Example] = &[example!(
    "synaptic-nano",
    40,
    "Synaptic language model",
    "Keys run out of vesicles; experts with energy and genes split, merge and die",
    ["0.32 M parameters", "any CPU", "starts at once"]
)];
