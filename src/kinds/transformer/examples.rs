//! Example projects of the kind.

use crate::{example, sim::Example};

/// Examples on the start page.
pub const EXAMPLES: &[Example] = &[
    example!(
        "nano",
        30,
        "Language model",
        "A small transformer learns a grammar and writes while you watch",
        ["0.36 M parameters", "any CPU", "starts at once"]
    ),
    example!(
        "chars",
        120,
        "Character model",
        "The character model of nanoGPT, on your own text",
        ["10.8 M parameters", "GPU", "starts at once"]
    ),
    example!(
        "gpt2",
        130,
        "GPT-2",
        "Train GPT-2 from scratch, or continue from its weights",
        ["124 M parameters", "large GPU", "needs files"], needs files
    ),
];
