//! Example projects of this kind.

use crate::{example, sim::Example};

/// All example projects of the nuclei kind.
pub const EXAMPLES: &[Example] = &[
    example!(
        "kuramoto",
        60,
        "Kuramoto oscillators",
        "Phases alone synchronise; with less coupling they drift apart",
        ["10,000 oscillators", "any CPU", "starts at once"]
    ),
    example!(
        "nuclei",
        70,
        "Nuclei",
        "Candidate solutions synchronise, decay and fuse until one fits",
        ["1,024 nuclei", "any CPU", "starts at once"]
    ),
    example!(
        "population",
        80,
        "Birth and death",
        "Decay against fusion: the population settles where theory says",
        ["up to 1,024 nuclei", "any CPU", "starts at once"]
    ),
    example!(
        "soda",
        90,
        "SODA-QD1102",
        "The population rules as they were found, to compare with Nuclei",
        ["1,024 nuclei", "any CPU", "starts at once"]
    ),
    example!(
        "fields",
        100,
        "Three fields",
        "Three phases per nucleus: each field synchronises, then the fields with each other",
        ["128 to 1,024 nuclei", "any CPU", "starts at once"]
    ),
    example!(
        "nuclei-large",
        110,
        "A quarter of a million nuclei",
        "All coupled to all, exactly, in N log N steps",
        ["262,144 nuclei", "CPU or GPU", "seconds to start"]
    ),
];
