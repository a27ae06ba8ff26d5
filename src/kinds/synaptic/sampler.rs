//! What the sampler needs to know about the probes.

use super::probes;
use crate::{kinds::language::sampler::Probes, sim::ProbeId};

/// Probes that are measured on the newest sampled text.
pub const OF_TEXT: &[ProbeId] = &[
    probes::SAMPLES,
    probes::TOKENS,
    probes::ATTENTION,
    probes::RELEASE_BIAS,
    probes::SYNAPSE,
    probes::VESICLES,
    probes::ROUTED,
    probes::DECISION,
    probes::ROUTES,
    probes::MAP_1,
    probes::MAP_2,
    probes::MAP_3,
    probes::PARITY,
];
/// Series of chosen experts.
pub const OF_EXPERTS: &[ProbeId] = &[probes::LOAD_OF, probes::ENERGY_OF, probes::HEALTH_OF];

/// All of it.
pub const PROBES: Probes = Probes { specs: probes::PROBES, of_text: OF_TEXT, limit: |_| 1.0 };
